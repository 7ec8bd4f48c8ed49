"""The path of a camera from a first frame with known depth: metric, exact, and honest about what it cannot see."""

import numpy as np
import pytest

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch, relative, rotation_angle
from worldgauge.worlds import open_world
from worldgauge_lab.calibrate import Start, find_start, poses_from_depth

CAMERA = Camera.from_horizontal_fov(256, 144, 90.0)


@pytest.fixture(scope="module")
def start() -> Start:
    return find_start("home", WorldFacts("indoor", {"seed": 0}), CAMERA, 0)


def seen(start: Start, moves: np.ndarray, camera: Camera = CAMERA) -> tuple[np.ndarray, np.ndarray]:
    """True poses (n, 4, 4) relative to the start for moves (n, 4): x, y, yaw, pitch; and what is seen from them."""
    base = start.pose
    path = np.stack([base @ _local(move) for move in moves])
    world = open_world(start.world)
    return relative(base, path), np.stack([world.view(pose, camera).rgb for pose in path])


def _local(move: np.ndarray) -> np.ndarray:
    level = pose_from_yaw_pitch((0, 0, 0), 0.0)
    return relative(level, pose_from_yaw_pitch((*move[:2], 0.0), move[2], move[3]))


def path_of(n: int) -> np.ndarray:
    t = np.arange(1, n + 1)
    return np.stack([0.03 * t, -0.02 * t, np.radians(0.8) * t, np.radians(-0.3) * t], 1)


def test_a_path_is_found_in_metres_and_radians(start: Start) -> None:
    truth, frames = seen(start, path_of(12))
    track = poses_from_depth(start.image, start.depth, CAMERA, frames)
    assert track.status == "ok"
    assert track.poses is not None
    off_m = np.linalg.norm(track.poses[:, :3, 3] - truth[:, :3, 3], axis=1)
    off_deg = np.degrees(rotation_angle(np.swapaxes(track.poses[:, :3, :3], 1, 2) @ truth[:, :3, :3]))
    assert np.median(off_m) < 0.012
    assert off_m.max() < 0.03
    assert np.median(off_deg) < 0.25
    assert off_deg.max() < 0.6


def test_twice_the_depth_is_twice_the_path(start: Start) -> None:
    _, frames = seen(start, path_of(6))
    one = poses_from_depth(start.image, start.depth, CAMERA, frames)
    two = poses_from_depth(start.image, 2 * start.depth, CAMERA, frames)
    assert one.poses is not None
    assert two.poses is not None
    assert np.allclose(two.poses[:, :3, 3], 2 * one.poses[:, :3, 3], atol=2e-3)
    assert np.allclose(two.poses[:, :3, :3], one.poses[:, :3, :3], atol=2e-3)


def test_pixels_need_not_be_square(start: Start) -> None:
    wide = CAMERA.resized(256, 180)
    view = open_world(start.world).view(start.pose, wide)
    truth, frames = seen(start, path_of(8), wide)
    track = poses_from_depth(view.rgb, view.depth, wide, frames)
    assert track.poses is not None
    assert np.abs(track.poses[-1, :3, 3] - truth[-1, :3, 3]).max() < 0.02


def test_a_camera_that_stands_still_has_poses_at_the_start(start: Start) -> None:
    track = poses_from_depth(start.image, start.depth, CAMERA, np.stack([start.image] * 3))
    assert track.poses is not None
    assert np.abs(track.poses - np.eye(4)).max() < 1e-3


def test_noise_has_no_path(start: Start) -> None:
    frames = np.random.default_rng(0).integers(0, 256, (4, 144, 256, 3), np.uint8)
    track = poses_from_depth(start.image, start.depth, CAMERA, frames)
    assert track.status == "failed"
    assert track.poses is None
    assert track.reason


def test_frames_after_a_cut_have_no_pose(start: Start) -> None:
    _, frames = seen(start, path_of(3))
    _, behind = seen(start, np.array([[0.0, 0.0, np.pi, 0.0]] * 2))
    track = poses_from_depth(start.image, start.depth, CAMERA, np.concatenate([frames, behind]))
    assert track.status == "partial"
    assert track.frames.tolist() == [0, 1, 2]
    assert "3 of 5" in track.reason


def test_a_start_without_depth_says_so(start: Start) -> None:
    sky = np.full(start.depth.shape, np.inf)
    track = poses_from_depth(start.image, sky, CAMERA, np.stack([start.image]))
    assert track.status == "failed"
    assert "too few points" in track.reason


def test_sizes_that_differ_are_refused(start: Start) -> None:
    with pytest.raises(ShapeError, match="need the size of the camera"):
        poses_from_depth(start.image, start.depth[1:], CAMERA, np.stack([start.image]))
