"""Starts of mirrored paths: every path is free, in both perspectives, and where there is no room that is said."""

from types import SimpleNamespace

import numpy as np
import pytest

from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import Camera, yaw_pitch_from_pose
from worldgauge.suites.mind.actions import MIRROR_PATHS, mirror_poses, walk_look
from worldgauge.suites.mind.key_walks import PITCH_DEG, UNEVEN_M, find_mirror_start
from worldgauge.worlds.third_person import ARM_M, ThirdPerson, feet_of, figure_mask
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.walking.floor import FloorPlan

CAMERA = Camera.from_vertical_fov(48, 27, 59)
SIZE = (192, 192, 64)


@pytest.mark.parametrize(("perspective", "kind"), [("1st", "urban"), ("3rd", "urban"), ("3rd", "interior")])
def test_every_path_is_free_and_level_and_shows_what_it_should(perspective: str, kind: str) -> None:
    third = perspective == "3rd"
    world = (ThirdPerson if third else Voxel)(kind, 3, SIZE)
    start = find_mirror_start(world, np.random.default_rng(0), space=walk_look(), perspective=perspective)
    low, high = np.radians(PITCH_DEG[perspective])
    assert low <= yaw_pitch_from_pose(start)[1] <= high
    for name in MIRROR_PATHS:
        poses = mirror_poses(name, start, walk_look(), arm_m=ARM_M if third else 0.0)
        feet = feet_of(poses) if third else poses[:, :3, 3] - [0.0, 0.0, 1.62]
        assert world.floor.clearance_at(feet[:, :2]).min() >= 0.3
        assert np.abs(world.floor.height_at(feet[:, :2]) - feet[:, 2]).max() <= UNEVEN_M + 1e-6
        for pose in poses[[5, 11, 17, 23]]:
            view = world.view(pose, CAMERA)
            assert view.depth.min() > 0.1, f"{name}: the camera is inside something"
            if third:
                seen, still = figure_mask(view).sum(), world.still(pose, CAMERA)
                assert seen > 10
                # Nothing of the world is nearer than the figure's back where the figure is looked for.
                middle = still.depth[CAMERA.height // 2, CAMERA.width // 2]
                assert middle > ARM_M - 0.5, f"{name}: something stands before the figure"


def test_same_dice_same_start() -> None:
    world = Voxel("urban", 3, SIZE)
    one, again, other = (
        find_mirror_start(world, np.random.default_rng(seed), space=walk_look(), perspective="1st")
        for seed in (4, 4, 5)
    )
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("side_m", [0.0, 2.5])
def test_without_room_there_is_no_start(side_m: float) -> None:
    free = np.zeros((40, 40), bool)
    free[: round(side_m * 4), : round(side_m * 4)] = True
    world = SimpleNamespace(floor=FloorPlan(free, np.zeros(free.shape, np.float32), (0.0, 0.0), 0.25))
    with pytest.raises(WorldError, match="no place in this world from which the ten paths are free"):
        find_mirror_start(world, np.random.default_rng(0), space=walk_look(), perspective="1st")


def test_a_start_is_found_in_just_enough_room() -> None:
    free = np.zeros((40, 40), bool)
    free[4:28, 4:28] = True  # 6 m: 2 m to each side, and the body
    world = SimpleNamespace(floor=FloorPlan(free, np.zeros(free.shape, np.float32), (0.0, 0.0), 0.25))
    start = find_mirror_start(world, np.random.default_rng(0), space=walk_look(), perspective="1st")
    assert np.abs(start[:2, 3] - 4.0).max() <= 3.0 - 0.3 - 2.0 * np.sqrt(0.5)  # at most turned by half a quarter
    assert start[2, 3] == pytest.approx(1.62)
