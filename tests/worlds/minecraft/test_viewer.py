"""Pictures by the package prismarine-viewer: what is in them, and that they are those of our own camera's geometry."""

import hashlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError, UsageError, WorldError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.worlds.minecraft.bridge import BridgeLostError
from worldgauge.worlds.minecraft.cells import AIR, Cells
from worldgauge.worlds.minecraft.install import VIEWER, find_node, find_packages
from worldgauge.worlds.minecraft.names import cells_of
from worldgauge.worlds.minecraft.viewer import MinecraftViewer
from worldgauge.worlds.voxel.blocks import CATEGORIES
from worldgauge.worlds.voxel.camera import Grid, render
from worldgauge.worlds.voxel.generate import generate

SKY = (173, 216, 230)
FOCAL = 180 / np.tan(np.radians(75) / 2)
STAIR = "minecraft:oak_stairs[facing=east,half=bottom,shape=straight,waterlogged=false]"
SLAB = "minecraft:stone_slab[type=bottom,waterlogged=false]"
FENCE = "minecraft:oak_fence[east=false,north=false,south=false,waterlogged=false,west=false]"
CAMERA = Camera.from_vertical_fov(640, 360, 75.0)


@pytest.fixture(scope="module")
def viewer_packages() -> Path:
    """The folder of the viewer's packages: WORLDGAUGE_VIEWER_PACKAGES, or the cache folder."""
    try:
        find_node()
        return find_packages(kind=VIEWER)
    except WorldError as error:
        pytest.skip(f"the viewer needs Node and its packages: {error}")


@pytest.fixture(scope="module")
def village():
    return generate("plains", 3, (160, 160, 56))


@pytest.fixture(scope="module")
def viewer(viewer_packages: Path, village) -> Iterator[MinecraftViewer]:
    with MinecraftViewer(cells_of(village), packages=viewer_packages) as viewer:
        viewer.frame(walk(village, 1)[0])
        yield viewer


def one_block(text: str) -> Cells:
    """A block alone in the middle of five metres of air."""
    index = np.zeros((5, 5, 5), np.uint16)
    index[2, 2, 2] = 1
    return Cells((100, 64, -100), (AIR, text), index)


def walk(village, count: int) -> list[NDArray[np.float64]]:
    """Eyes that go over the village and turn."""
    x, y = village.centre
    top = village.surface(x, y) + 12.3
    return [pose_from_yaw_pitch((x + 0.7 * i, y + 0.5, top), 0.4 * i, -0.02 * i) for i in range(count)]


def seen(picture: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Where a picture (height, width, 3) shows something else than the sky."""
    return (picture != SKY).any(-1)


def left(group: int) -> list[int]:
    """The processes of a group that still run, after giving them a while."""
    for _ in range(250):
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                state, _, pgrp = stat.read_text().rpartition(")")[2].split()[:3]
            except OSError:
                continue
            if int(pgrp) == group and state != "Z":
                found.append(int(stat.parent.name))
        if not found:
            return []
        time.sleep(0.02)
    return found


@pytest.mark.minecraft
@pytest.mark.parametrize(
    ("text", "height", "face", "depth"),
    [(STAIR, 0.5, 1.0, 2.0), (SLAB, 0.25, 0.5, 2.0), (FENCE, 0.5, 0.25, 2.375)],
    ids=["stair", "slab", "fence"],
)
@pytest.mark.parametrize("released", [False, True])
def test_a_block_is_as_large_as_its_front_face(viewer_packages, text, height, face, depth, released):
    # Looking west at the face of `face` square metres, `depth` metres away, from its middle: no other face is seen.
    pose = pose_from_yaw_pitch((5.0, 2.5, 2 + height), np.pi)
    with MinecraftViewer(one_block(text), released=released, packages=viewer_packages) as viewer:
        count = seen(viewer.frame(pose)).sum()
    assert count == (0 if released and text == STAIR else pytest.approx(face * (FOCAL / depth) ** 2, rel=0.04))


@pytest.mark.minecraft
def test_the_frame_is_ours_also_with_roll(viewer_packages):
    """A block above and to the right of the eye's axis is there in the picture, also after a quarter of roll."""
    pose = pose_from_yaw_pitch((5.0, 1.8, 1.8), np.pi)
    rolled = pose.copy()
    rolled[:3, 0], rolled[:3, 1] = -pose[:3, 1], pose[:3, 0]
    with MinecraftViewer(one_block("minecraft:stone"), packages=viewer_packages) as viewer:
        centres = [np.argwhere(seen(viewer.frame(one))).mean(0) - (179.5, 319.5) for one in (pose, rolled)]
    # Middle of the block: 2.5 m ahead (its near face 2 m), 0.7 m to the right of west, which is north, and 0.7 m up.
    (v, u), (v_rolled, u_rolled) = centres
    assert v == pytest.approx(-0.7 * FOCAL / 2, rel=0.2)
    assert u == pytest.approx(0.7 * FOCAL / 2, rel=0.2)
    # Its x axis now points up: what was above is to the right, what was to the right is below.
    assert (v_rolled, u_rolled) == (pytest.approx(u, rel=0.02), pytest.approx(-v, rel=0.02))


@pytest.mark.minecraft
def test_two_runs_draw_the_same_frames(viewer, viewer_packages, village):
    poses = walk(village, 20)
    with MinecraftViewer(cells_of(village), packages=viewer_packages) as other:
        runs = [[hashlib.sha256(one.frame(pose).tobytes()).hexdigest() for pose in poses] for one in (viewer, other)]
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 20


@pytest.mark.minecraft
def test_a_picture_does_not_depend_on_those_before(viewer, viewer_packages, village):
    first, last = walk(village, 12)[::11]
    far = pose_from_yaw_pitch((-40.0, 3.0, 30.0), 0.8)
    there = [viewer.frame(pose).tobytes() for pose in (first, far, last)]
    with MinecraftViewer(cells_of(village), packages=viewer_packages) as other:
        back = [other.frame(pose).tobytes() for pose in (far, last, first)]
    assert there == [back[2], back[0], back[1]]


@pytest.mark.minecraft
def test_what_is_solid_is_where_our_own_camera_sees_it(viewer, village):
    grid = Grid.of(village)
    for pose in walk(village, 6):
        picture = viewer.frame(pose)
        assert (picture.shape, picture.dtype) == ((360, 640, 3), np.uint8)
        ours = render(grid, pose, CAMERA, view_m=200.0).category != CATEGORIES.index("sky")
        for a, b in ((seen(picture), ours), (~seen(picture), ~ours)):
            assert (a & b).sum() / (a | b).sum() > 0.97
        assert (seen(picture)[:, 20:] & ours[:, :-20]).sum() < (seen(picture) & ours).sum()


@pytest.mark.minecraft
def test_the_released_frames_lack_the_roofs(viewer, viewer_packages, village):
    x, y = village.centre
    pose = pose_from_yaw_pitch((x - 20.0, y - 20.0, village.surface(x, y) + 15.0), np.pi / 4, -0.3)
    with MinecraftViewer(cells_of(village), released=True, packages=viewer_packages) as released:
        assert (viewer.frame(pose) != released.frame(pose)).any(-1).mean() > 0.01


@pytest.mark.minecraft
def test_a_killed_viewer_is_a_clear_error_and_leaves_nothing(viewer_packages):
    viewer = MinecraftViewer(one_block(STAIR), packages=viewer_packages)
    group = viewer._bridge.pid
    os.kill(group, signal.SIGKILL)
    with pytest.raises(BridgeLostError, match=r"viewer.frame: the bridge .*SIGKILL"):
        viewer.frame(np.eye(4))
    assert left(group) == []


@pytest.mark.minecraft
def test_no_process_is_left_behind(viewer_packages):
    with MinecraftViewer(one_block(STAIR), packages=viewer_packages) as viewer:
        viewer.frame(np.eye(4))
        group = viewer._bridge.pid
    assert left(group) == []


@pytest.mark.minecraft
def test_the_viewer_and_its_display_end_with_a_process_that_is_killed(viewer_packages):
    program = """
        import os, signal, sys
        from pathlib import Path
        import numpy as np
        from worldgauge.worlds.minecraft.cells import AIR, Cells
        from worldgauge.worlds.minecraft.viewer import MinecraftViewer
        viewer = MinecraftViewer(Cells((0, 0, 0), (AIR,), np.zeros((1, 1, 1), np.uint16)), packages=Path(sys.argv[1]))
        print(viewer._bridge.pid, flush=True)
        os.kill(viewer._bridge.pid, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(viewer_packages)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert left(int(ran.stdout)) == []


@pytest.mark.minecraft
def test_what_cannot_be_drawn_is_refused(viewer_packages):
    for version in ("1.20.4", "1.12.2", "no"):
        with pytest.raises(WorldError, match=rf"cannot draw {version} exactly; it can draw 1\.13\.2, .*1\.16\.5"):
            MinecraftViewer(one_block(STAIR), version=version, packages=viewer_packages)
    with pytest.raises(WorldError, match="no_such_block"):
        MinecraftViewer(one_block("minecraft:no_such_block"), packages=viewer_packages)
    with pytest.raises(WorldError, match="heights 0 to 255, not -3 to 0"):
        MinecraftViewer(Cells((0, -3, 0), (AIR,), np.zeros((1, 4, 1), np.uint16)), packages=viewer_packages)


@pytest.mark.minecraft
def test_a_pose_that_is_none_is_refused_and_the_viewer_goes_on(viewer, village):
    for pose in (np.eye(3), np.full((4, 4), np.nan)):
        with pytest.raises(ShapeError, match=r"one finite \(4, 4\)"):
            viewer.frame(pose)
    assert viewer.frame(walk(village, 1)[0]).any()


@pytest.mark.minecraft
def test_without_xvfb_it_is_said_what_to_install(viewer_packages, tmp_path, monkeypatch):
    (tmp_path / "node").symlink_to(find_node().resolve())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorldError, match="Xvfb does not start: ENOENT; Debian: apt install xvfb"):
        MinecraftViewer(one_block(STAIR), packages=viewer_packages)


def test_without_packages_it_is_said_what_to_run(tmp_path):
    with pytest.raises(WorldError, match="run `worldgauge minecraft install --viewer`"):
        MinecraftViewer(one_block(STAIR), packages=tmp_path)
    for size in ({"width": 0}, {"height": 5000}):
        with pytest.raises(UsageError, match="1 to 4096 pixels"):
            MinecraftViewer(one_block(STAIR), packages=tmp_path, **size)
