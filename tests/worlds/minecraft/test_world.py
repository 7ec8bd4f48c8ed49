"""The registered world of cells that a grid file holds: where it lies, what it shows, and which files it takes."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from support.toyworld import hills
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, WorldError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.worlds import files_of, located, open_world
from worldgauge.worlds.minecraft import Minecraft
from worldgauge.worlds.minecraft import cells as grid
from worldgauge.worlds.minecraft.names import cells_of
from worldgauge.worlds.voxel import Voxel

CAMERA = Camera.from_vertical_fov(64, 36, 75.0)


@pytest.fixture(scope="module")
def placed(tmp_path_factory):
    """Hills whose cells lie far from the game's origin, and the file that holds them."""
    voxels = hills(size=96, huts=8)
    path = tmp_path_factory.mktemp("grids") / "hills.grid.gz"
    grid.write(path, cells_of(voxels, at=(700, 40, -330)))
    return voxels, path


def test_the_frame_is_the_games_with_its_axes_changed(placed):
    voxels, path = placed
    world = Minecraft(str(path))
    # The lowest corner of our cell (0, 0, 0): west at x = 700, south at z = -330 + 96, low at y = 40.
    assert world.origin == (700.0, 234.0, 40.0)
    np.testing.assert_array_equal(world.voxels.states, voxels.states)


def test_what_is_seen_is_what_the_same_cells_show_elsewhere(placed):
    voxels, path = placed
    world, plain = Minecraft(str(path)), Voxel.from_cells(voxels)
    pose = pose_from_yaw_pitch((48.5, 48.5, 22.0), 0.7, -0.2)
    moved = pose.copy()
    moved[:3, 3] += world.origin
    before = moved.copy()
    one, two = plain.view(pose, CAMERA, position=True), world.view(moved, CAMERA, position=True)
    np.testing.assert_array_equal(moved, before)
    np.testing.assert_array_equal(one.rgb, two.rgb)
    np.testing.assert_array_equal(one.depth, two.depth)
    np.testing.assert_array_equal(one.category, two.category)
    np.testing.assert_allclose(one.position + np.array(world.origin), two.position, atol=1e-3)
    assert np.isfinite(two.depth).any()


def test_floor_and_landmarks_lie_where_the_world_does(placed):
    voxels, path = placed
    world, plain = Minecraft(str(path)), Voxel.from_cells(voxels)
    x, y, z = world.origin
    free = np.argwhere(plain.floor.free)[100]
    point = plain.floor.points_of(free)
    assert world.floor.height_at(point + np.array([x, y])) == pytest.approx(float(plain.floor.height_at(point)) + z)
    for mine, theirs in zip(world.landmarks, plain.landmarks, strict=True):
        np.testing.assert_allclose(np.subtract(mine.low, theirs.low), world.origin)


def test_other_cells_and_other_places_have_other_digests(placed, tmp_path):
    voxels, path = placed
    world = Minecraft(str(path))
    elsewhere = tmp_path / "elsewhere.grid.gz"
    grid.write(elsewhere, cells_of(voxels, at=(0, 0, 0)))
    assert Minecraft(str(elsewhere)).facts.digest != world.facts.digest
    with pytest.raises(WorldError, match="collect the data again"):
        open_world(WorldFacts("minecraft", {"grid": str(elsewhere)}, world.facts.digest))


def test_the_same_cells_are_the_same_file(placed, tmp_path):
    voxels, path = placed
    grid.write(tmp_path / "again.grid.gz", cells_of(voxels, at=(700, 40, -330)))
    assert (tmp_path / "again.grid.gz").read_bytes() == path.read_bytes()


def test_files_that_hold_no_cells_are_refused_without_reading_more_than_they_announce(placed, tmp_path):
    _, path = placed
    data = path.read_bytes()
    raw = gzip.decompress(data)
    header = json.loads(raw[: raw.index(b"\n")])
    bomb = json.dumps({**header, "size": [1, 1, 1]}).encode() + b"\n" + bytes(64 << 20)
    wrong = {
        "none": None,
        "plain": raw,
        "cut": data[: len(data) // 2],
        "empty": b"",
        "bomb": gzip.compress(bomb, 1),
        "huge": gzip.compress(json.dumps({**header, "size": [2**20] * 3}).encode() + b"\n"),
    }
    for name, content in wrong.items():
        file = tmp_path / f"{name}.grid.gz"
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(WorldError):
            Minecraft(str(file))


def test_files_of_a_data_set_lie_within_its_folder(tmp_path):
    facts = WorldFacts("minecraft", {"grid": "worlds/a_1.grid.gz"}, "0" * 64)
    assert files_of("minecraft") == {"grid"}
    assert located(facts, tmp_path).params == {"grid": str(tmp_path / "worlds" / "a_1.grid.gz")}
    for wrong in ("../a.grid.gz", "/etc/passwd", "a//b", "", "worlds/../../a", ".hidden", 7, None):
        with pytest.raises(DataError, match="within the folder"):
            located(WorldFacts("minecraft", {"grid": wrong}, None), tmp_path)


def test_worlds_without_files_stay_as_they_are(tmp_path):
    for facts in (WorldFacts("voxel", {"kind": "plains"}, None), WorldFacts("of-somebody", {"grid": "../x"}, None)):
        assert located(facts, tmp_path) == facts


def test_the_example_is_small_and_shows_something():
    path = Path(files_example())
    assert path.stat().st_size < 20_000
    world = Minecraft(str(path))
    x, y, z = world.origin
    above = pose_from_yaw_pitch((x + 28.0, y + 28.0, z + 38.0), 0.0, -1.2)
    assert len(np.unique(world.view(above, CAMERA).category)) > 3


def files_example() -> str:
    from worldgauge.worlds import worlds

    return str(worlds.entry("minecraft").facts["example"]["grid"])
