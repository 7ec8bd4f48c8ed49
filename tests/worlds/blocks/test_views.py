import hashlib
import subprocess
import sys

import numpy as np
import pytest

from worldgauge.core.geometry import Camera
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.blocks.mesh import mesh_of
from worldgauge.worlds.blocks.render import BACKGROUND, in_world
from worldgauge.worlds.blocks.views import (
    AROUND_FOV_DEG,
    RENDERER,
    contact_sheet,
    flag_lines,
    flags_of,
    picture,
    pose_around,
    standard_poses,
    standard_views,
)

# A cube of stone with a coloured middle on each side: what is seen says from where.
SIDES = {"south": "red_wool", "east": "yellow_wool", "north": "blue_wool", "west": "lime_wool", "top": "white_wool"}


def marked() -> Blueprint:
    cells = np.full((3, 3, 3), 1)
    cells[1, 2, 1], cells[1, 1, 2], cells[1, 0, 1], cells[1, 1, 0], cells[2, 1, 1] = 2, 3, 4, 5, 6
    return Blueprint(cells, ("stone", *SIDES.values()))


def sides_seen(image: np.ndarray) -> set[str]:
    """Sides of the marked cube whose colour covers at least a thousandth of a picture."""
    pixels = image.reshape(-1, 3).astype(int)
    tests = {
        "south": (pixels[:, 0] > 90) & (pixels[:, 1] < 60) & (pixels[:, 2] < 60),
        "east": (pixels[:, 0] > 130) & (pixels[:, 1] > 110) & (pixels[:, 2] < 60),
        "north": (pixels[:, 2] > 90) & (pixels[:, 0] < 80) & (pixels[:, 1] < 80),
        "west": (pixels[:, 1] > 110) & (pixels[:, 0] < 110) & (pixels[:, 2] < 60),
        "top": (pixels > 229).all(1) & (np.ptp(pixels, axis=1) < 8),
    }
    return {side for side, seen in tests.items() if seen.mean() > 1e-3}


AROUND = "0:south 45:south,east 90:east 135:east,north 180:north 225:north,west 270:west 315:west,south -45:west,south"


@pytest.mark.parametrize(("azimuth", "sides"), [pair.split(":") for pair in AROUND.split()])
def test_the_azimuth_says_where_the_camera_stands(azimuth, sides):
    azimuth_deg, seen = float(azimuth), set(sides.split(","))
    assert sides_seen(picture(marked(), azimuth_deg=azimuth_deg, size_px=128)) == {*seen, "top"}
    assert sides_seen(picture(marked(), azimuth_deg=azimuth_deg, elevation_deg=0, size_px=128)) == seen


def test_north_is_up_and_pictures_are_squares():
    cells = np.full((1, 5, 5), -1)
    cells[0, 0, :], cells[0, :, 4] = 1, 2
    image = picture(Blueprint(cells, ("red_wool", "blue_wool")), azimuth_deg=0.0, elevation_deg=90.0, size_px=100)
    rows, columns = np.nonzero((image[..., 0] > 120) & (image[..., 1] < 80))
    assert rows.max() < 40, "the northern row is at the top"
    rows, columns = np.nonzero((image[..., 2] > 120) & (image[..., 0] < 90))
    assert columns.min() > 60, "the eastern row is at the right"
    # Pictures are squares of the size asked for.
    image = picture(marked(), size_px=37)
    assert (image.shape, image.dtype) == ((37, 37, 3), np.uint8)
    assert (image[0] == BACKGROUND).all()
    # Empty builds have empty pictures.
    empty = Blueprint(np.full((1, 1, 1), -1), ())
    assert (picture(empty, size_px=20) == BACKGROUND).all()
    assert contact_sheet(empty, tile_px=64).shape == (168, 256, 3)
    # Facts for records name renderer palette and version.
    assert set(RENDERER) == {"renderer", "version", "palette"}


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 9, 2), (12, 2, 3), (4, 4, 4), (2, 30, 30)])
def test_the_whole_build_is_in_the_picture(shape):
    build = Blueprint(np.ones(shape, int), ("stone",))
    corners = in_world(mesh_of(build).quads).reshape(-1, 3)
    camera = Camera.from_vertical_fov(64, 64, AROUND_FOV_DEG)
    for azimuth_deg in range(0, 360, 45):
        for elevation_deg in (-90, 0, 30, 90):
            pose = pose_around(build, azimuth_deg, elevation_deg)
            pixels, depth = camera.project((corners - pose[:3, 3]) @ pose[:3, :3])
            assert (depth > 0).all()
            assert pixels.min() >= 0
            assert pixels.max() <= 64
            centre = (corners.min(0) + corners.max(0)) / 2
            middle, _ = camera.project((centre - pose[:3, 3]) @ pose[:3, :3])
            assert middle == pytest.approx([32, 32])


def test_the_standard_rig_and_the_contact_sheet():
    build = Blueprint(np.ones((4, 6, 10), int), ("stone",))
    poses = standard_poses(build, top=True)
    assert list(poses) == [
        *("south", "north", "east", "west"),
        *("south-east", "north-east", "north-west", "south-west"),
        "top",
    ]
    # Centre (5, -3, 2): two up, and half the box and eight out.
    places = {name: pose[:3, 3].round(9).tolist() for name, (pose, _) in poses.items()}
    assert places["south"] == [5.0, -3.0 - 3 - 8, 4.0]
    assert places["north"] == [5.0, -3.0 + 3 + 8, 4.0]
    assert places["east"] == [5.0 + 5 + 8, -3.0, 4.0]
    assert places["west"] == [5.0 - 5 - 8, -3.0, 4.0]
    for name in ("south", "north", "east", "west"):
        forward = poses[name][0][:3, 2]
        assert forward[2] == pytest.approx(0)
        assert forward @ (np.array([5, -3, 4]) - poses[name][0][:3, 3]) > 0
    out = poses["north-west"][0][:3, 3] - (5, -3, 2)
    assert out[0] < 0 < out[1]
    assert out[2] / np.linalg.norm(out) == pytest.approx(0.5), "raised by 30 degrees"
    views = standard_views(marked(), size_px=64, top=True)
    assert sides_seen(views["south"]) == {"south"}
    assert sides_seen(views["south-west"]) == {"south", "west", "top"}
    assert sides_seen(views["top"]) == {"top"}
    assert "top" not in standard_views(marked(), size_px=16)
    # The contact sheet has eight labelled tiles.
    sheet = contact_sheet(marked(), tile_px=96)
    assert (sheet.shape, sheet.dtype) == ((2 * (96 + 20), 4 * 96, 3), np.uint8)
    views = standard_views(marked(), size_px=96)
    tile = sheet[20:116, 96 : 2 * 96 - 1]
    assert (tile == views["north"][:, :-1]).all()
    labels = sheet[:20].astype(int)
    assert all((labels[:, n * 96 : (n + 1) * 96] > 150).any() for n in range(4))


@pytest.mark.parametrize(
    "shape",
    [(60, 1, 1), (1, 60, 1), (1, 1, 60), (28, 20, 21), (12, 12, 12), (7, 11, 11), (2, 40, 3), (1, 1, 1), (130, 9, 9)],
)
def test_every_standard_view_shows_the_whole_build(shape):
    """All corners are inside, and no pixel at the border is of the build."""
    build = Blueprint(np.ones(shape, int), ("red_wool",))
    corners = in_world(mesh_of(build).quads).reshape(-1, 3)
    for name, (pose, fov_deg) in standard_poses(build, top=True).items():
        camera = Camera.from_vertical_fov(64, 64, fov_deg)
        pixels, depth = camera.project((corners - pose[:3, 3]) @ pose[:3, :3])
        assert depth.min() > 0, name
        assert 0 < pixels.min() <= pixels.max() < 64, name
    for name, view in standard_views(build, size_px=96, top=True).items():
        border = np.concatenate([view[0], view[-1], view[:, 0], view[:, -1]])
        assert (border == BACKGROUND).all(), name
        assert (view != BACKGROUND).any(), name


def test_flags_name_what_pictures_cannot_show():
    cells = np.array([[[1, 2, 3, 4, 5, 6, -1]]])
    names = "oak_stairs birch_stairs[facing=east] magic_box oak_log stone minecraft:oak_door[half=lower] ladder"
    build = Blueprint(cells, tuple(names.split()))
    assert flags_of(build) == {
        "unknown_names": ["magic_box"],
        "states_missing": ["minecraft:oak_door[half=lower]", "oak_stairs"],
    }
    first, second = flag_lines(build)
    assert first.endswith("magic_box")
    assert second.endswith("oak_stairs")
    assert flags_of(marked()) == {}
    assert flag_lines(marked()) == ()
    many = Blueprint(np.arange(1, 31).reshape(1, 1, -1), tuple(f"x{n}" for n in range(30)))
    assert flag_lines(many)[0].endswith("and 18 more")


def test_the_same_bytes_in_another_process():
    names = ("glass", "oak_fence", "oak_stairs[facing=east]", "who")
    code = f"""
import hashlib, numpy as np
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.blocks.views import picture
build = Blueprint(np.arange(60).reshape(3, 4, 5) % 4 + 1, {names})
print(hashlib.sha256(picture(build, size_px=80).tobytes()).hexdigest())
"""
    command = [sys.executable, "-c", code]
    environments = [{"PYTHONHASHSEED": seed, "PATH": ""} for seed in ("1", "2")]
    said = {subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout for env in environments}
    here = picture(Blueprint(np.arange(60).reshape(3, 4, 5) % 4 + 1, names), size_px=80)
    assert said == {hashlib.sha256(here.tobytes()).hexdigest() + "\n"}
