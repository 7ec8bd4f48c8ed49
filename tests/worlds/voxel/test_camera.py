"""The camera against hand-worked views, and what must hold of every view."""

from dataclasses import replace

import numpy as np
import pytest

from support.cells import FACE_NAMES, SKY_LABEL, litter, world_of
from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch
from worldgauge.worlds.voxel.blocks import AIR, CATEGORIES, CATEGORY_OF, block
from worldgauge.worlds.voxel.camera import Grid, render
from worldgauge.worlds.voxel.textures import SHADES, SKY, SKY_ZENITH, texture_of
from worldgauge.worlds.voxel.world import VoxelWorld


def single(name: str, cell: tuple[int, int, int] = (4, 4, 0)) -> Grid:
    states = np.zeros((9, 9, 6), np.uint8)
    states[cell] = block(name)
    return Grid.of(world_of(states))


def test_a_wall_straight_ahead_has_one_depth_in_every_pixel() -> None:
    states = np.zeros((12, 30, 30), np.uint8)
    states[10] = block("bricks")
    pose = pose_from_yaw_pitch([2.5, 15.2, 15.3], 0.0)
    view = render(Grid.of(world_of(states)), pose, Camera.from_vertical_fov(64, 48, 60), position=True)
    np.testing.assert_allclose(view.depth, 7.5, rtol=0, atol=2e-6)
    np.testing.assert_allclose(view.position[..., 0], 10.0, rtol=0, atol=2e-6)
    assert (view.category == CATEGORIES.index("building")).all()
    # The first pixel of the first row looks left (+y) and up.
    assert view.position[0, 0, 1] > 15.2
    assert view.position[0, 0, 2] > 15.3
    panorama = render(Grid.of(world_of(states)), pose, Panorama(64, 32))
    assert panorama.depth[16, 32] == pytest.approx(7.5 / np.cos(np.pi / 64) ** 2, rel=1e-5)


@pytest.mark.parametrize("yaw", [0.0, np.pi / 2, np.pi, -np.pi / 2])
def test_all_four_walls_are_as_far_as_they_are(yaw: float) -> None:
    states = np.full((9, 9, 9), block("stone"), np.uint8)
    states[2:7, 3:7, 1:8] = AIR
    view = render(Grid.of(world_of(states)), pose_from_yaw_pitch([4.5, 4.0, 4.0], yaw), Camera(1, 1, 1, 1, 0.5, 0.5))
    gaps = {0.0: 7 - 4.5, np.pi / 2: 7 - 4.0, np.pi: 4.5 - 2, -np.pi / 2: 4.0 - 3}
    assert view.depth[0, 0] == pytest.approx(gaps[yaw], abs=1e-6)


HEIGHTS = """
    stone:1.0 oak_slab:0.5 oak_top_slab:1.0 snow_layer:0.125 water:0.875 white_carpet:0.0625 lantern_post:1.0
    torch:0.8125 oak_fence:1.0 oak_leaves:1.0
"""


@pytest.mark.parametrize(("name", "height"), [pair.split(":") for pair in HEIGHTS.split()])
def test_heights_of_shapes_seen_from_above(name: str, height: str) -> None:
    view = render(single(name), pose_from_yaw_pitch([4.52, 4.47, 5.0], 0.0, -np.pi / 2), Camera(1, 1, 1, 1, 0.5, 0.5))
    assert view.depth[0, 0] == pytest.approx(5.0 - float(height), abs=1e-5)
    assert view.category[0, 0] == CATEGORY_OF[block(name)]


@pytest.mark.parametrize(
    ("facing", "high"), [("east", (1, 0)), ("north", (0, 1)), ("west", (-1, 0)), ("south", (0, -1))]
)
def test_stairs_are_high_on_the_side_they_face(facing: str, high: tuple[int, int]) -> None:
    grid, down = single(f"oak_stairs[facing={facing}]"), Camera(1, 1, 1, 1, 0.5, 0.5)
    for sign, height in ((1, 1.0), (-1, 0.5)):
        eye = [4.5 + 0.3 * sign * high[0], 4.5 + 0.3 * sign * high[1], 3.0]
        assert render(grid, pose_from_yaw_pitch(eye, 0.0, -np.pi / 2), down).depth[0, 0] == pytest.approx(3.0 - height)


def test_what_is_painted_is_seen() -> None:
    # 16 x 16 pixels, one a texel: the west face of a block seen from 16 m with focal 256 px.
    states = np.zeros((20, 9, 6), np.uint8)
    states[18, 4, 2] = block("poppy")
    camera = Camera(16, 16, 256.0, 256.0, 8.0, 8.0)
    for name, face in (("bookshelf", "west"), ("pumpkin", "west")):
        states[18, 4, 2] = block(name)
        view = render(Grid.of(world_of(states)), pose_from_yaw_pitch([2.0, 4.5, 2.5], 0.0), camera)
        expected = np.rint(texture_of(name, face)[..., :3] * SHADES[FACE_NAMES.index(face)])
        assert np.array_equal(view.rgb, expected)
    # A plant is seen only where it is painted.
    view = render(single("poppy"), pose_from_yaw_pitch([0.5, 4.5, 0.5], 0.0), Camera(64, 64, 256.0, 256.0, 32.0, 32.0))
    flower = view.category == CATEGORIES.index("flower")
    assert 0.15 < flower.mean() < 0.5
    assert (view.category[~flower] == SKY_LABEL).all()
    assert np.isinf(view.depth[~flower]).all()
    petals = view.rgb[flower].astype(int)
    assert (petals[:, 0] > petals[:, 1] + 80).any()
    # One sees through glass but not its frame.
    states = np.zeros((9, 9, 6), np.uint8)
    states[4, 3:6, 1:4] = block("glass")
    states[8] = block("bricks")
    view = render(
        Grid.of(world_of(states)), pose_from_yaw_pitch([1.5, 4.5, 2.5], 0.0), Camera.from_vertical_fov(96, 96, 50)
    )
    assert 0.1 < np.isclose(view.depth, 2.5).mean() < 0.5
    assert np.isclose(view.depth, 6.5).mean() > 0.4


def test_sky_is_what_nothing_hides() -> None:
    states = np.zeros((12, 9, 9), np.uint8)
    states[10] = block("bricks")
    grid, camera = Grid.of(world_of(states)), Camera(1, 1, 1, 1, 0.5, 0.5)
    pose = pose_from_yaw_pitch([2.5, 4.5, 4.5], 0.0)
    assert render(grid, pose, camera, view_m=7.6).category[0, 0] == CATEGORIES.index("building")
    assert render(grid, pose, camera, view_m=7.4).category[0, 0] == SKY_LABEL
    # Sky has no depth no place and a colour of its height.
    grid = Grid.of(world_of(np.zeros((4, 4, 4), np.uint8)))
    for pitch, colour in ((-0.5, SKY), (np.pi / 2, SKY_ZENITH)):
        view = render(grid, pose_from_yaw_pitch([2, 2, 2], 0.3, pitch), Camera(1, 1, 1, 1, 0.5, 0.5), position=True)
        assert np.isinf(view.depth).all()
        assert np.isnan(view.position).all()
        assert (view.category == SKY_LABEL).all()
        assert tuple(view.rgb[0, 0]) == colour


def test_water_from_above_and_below() -> None:
    states = np.zeros((9, 9, 9), np.uint8)
    states[6, :, 2:4] = block("water")
    grid, camera = Grid.of(world_of(states)), Camera(1, 1, 1, 1, 0.5, 0.5)
    hits = [
        np.isfinite(render(grid, pose_from_yaw_pitch([2, 4.5, z], 0.0), camera).depth[0, 0]) for z in (2.95, 3.8, 3.95)
    ]
    assert hits == [True, True, False]
    # Under water the water is clear.
    states[:, :, 0] = block("sand")
    states[:, :, 1:5] = block("water")
    grid, camera = Grid.of(world_of(states)), Camera(1, 1, 1, 1, 0.5, 0.5)
    below = render(grid, pose_from_yaw_pitch([4.5, 4.5, 4.5], 0, -np.pi / 2), camera)
    assert below.category[0, 0] == CATEGORIES.index("sand")
    above = render(grid, pose_from_yaw_pitch([4.5, 4.5, 4.95], 0, -np.pi / 2), camera)
    assert above.category[0, 0] == CATEGORIES.index("water")
    assert above.depth[0, 0] == pytest.approx(0.075, abs=1e-5)


# ---- what must hold of every view


@pytest.fixture(scope="module")
def scene() -> tuple[VoxelWorld, Grid]:
    world = litter(7, (24, 26, 9), 0.12)
    return world, Grid.of(world)


CAMERAS = [Camera.from_vertical_fov(96, 54, 75), Panorama(96, 48)]


@pytest.mark.parametrize("camera", CAMERAS, ids=["perspective", "panorama"])
def test_position_and_labels_are_those_of_the_cells(scene: tuple[VoxelWorld, Grid], camera: Camera | Panorama) -> None:
    pose = pose_from_yaw_pitch([12.3, 13.1, 3.2], 1.1, -0.2)
    view = render(scene[1], pose, camera, position=True)
    hit = np.isfinite(view.depth)
    lifted = (camera.rays() * np.where(hit, view.depth, 0)[..., None]) @ pose[:3, :3].T + pose[:3, 3]
    np.testing.assert_allclose(view.position[hit], lifted[hit], atol=2e-5)
    assert np.isnan(view.position[~hit]).all()
    # Labels are those of the block at the position.
    world, grid = scene
    pose = pose_from_yaw_pitch([12.3, 13.1, 3.2], -2.0, -0.2)
    view = render(grid, pose, camera, position=True)
    hit = np.isfinite(view.depth)
    beyond = view.position[hit] + 2e-4 * (camera.rays() @ pose[:3, :3].T)[hit]
    cells = np.floor(beyond).astype(int)
    inside = (cells >= 0).all(1) & (cells < world.shape).all(1)
    states = world.states[tuple(cells[inside].T)]
    same = (CATEGORY_OF[states] == view.category[hit][inside]) & (
        world.instances[tuple(cells[inside].T)] == view.instance[hit][inside]
    )
    assert inside.mean() > 0.99
    assert same.mean() > 0.99


def test_panorama_and_perspective_meet_the_same_surfaces(scene: tuple[VoxelWorld, Grid]) -> None:
    pose = pose_from_yaw_pitch([12.3, 13.1, 3.2], 0.4, 0.1)
    panorama = Panorama(32, 16)
    around = render(scene[1], pose, panorama, position=True)
    rays = panorama.rays() @ pose[:3, :3].T
    same = 0
    for row, column in np.ndindex(16, 32):
        # A camera of one pixel that looks along the panorama's ray.
        x, y, z = rays[row, column]
        ahead = pose_from_yaw_pitch(pose[:3, 3], np.arctan2(y, x), np.arcsin(z))
        view = render(scene[1], ahead, Camera(1, 1, 1, 1, 0.5, 0.5))
        same += bool(
            np.isclose(view.depth[0, 0], around.depth[row, column], atol=1e-3, rtol=0)
            and view.category[0, 0] == around.category[row, column]
            and view.instance[0, 0] == around.instance[row, column]
        )
    assert same >= 0.99 * 16 * 32


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_same_bytes_for_any_number_of_threads(scene: tuple[VoxelWorld, Grid], threads: int) -> None:
    pose, camera = pose_from_yaw_pitch([12.3, 13.1, 3.2], 2.5, -0.1), Camera.from_vertical_fov(80, 45, 75)
    one, many = (render(scene[1], pose, camera, position=True, threads=n) for n in (1, threads))
    for name in ("rgb", "depth", "category", "instance", "position"):
        assert getattr(one, name).tobytes() == getattr(many, name).tobytes()


@pytest.mark.parametrize("camera", [Camera.from_vertical_fov(52, 44, 75), Camera.from_vertical_fov(52, 44, 8)])
@pytest.mark.parametrize("density", [0.01, 0.3])
def test_a_view_is_its_windows_side_by_side(camera: Camera, density: float) -> None:
    # What pixels have in common is found for many at once in a view, and for few in a window.
    grid = Grid.of(litter(4, (30, 28, 12), density))
    for yaw, pitch in ((0.4, -0.1), (2.5, 0.5), (-1.6, -0.9)):
        pose = pose_from_yaw_pitch([14.3, 13.1, 5.2], yaw, pitch)
        whole = render(grid, pose, camera)
        for top in range(0, camera.height, 11):
            for left in range(0, camera.width, 13):
                window = replace(camera, width=13, height=11, cx=camera.cx - left, cy=camera.cy - top)
                part = render(grid, pose, window)
                for name in ("rgb", "depth", "category", "instance"):
                    seen = getattr(whole, name)[top : top + 11, left : left + 13]
                    assert np.array_equal(getattr(part, name), seen)


@pytest.mark.parametrize("camera", [Camera.from_vertical_fov(40, 30, 75), Panorama(40, 20)])
def test_a_world_without_blocks_is_all_sky(camera: Camera | Panorama) -> None:
    grid = Grid.of(world_of(np.zeros((9, 9, 9), np.uint8)))
    for place in ([4.5, 4.5, 0.5], [-3.0, 2.0, 0.5]):
        view = render(grid, pose_from_yaw_pitch(place, 0.3, 0.1), camera)
        assert np.isinf(view.depth).all()
        assert (view.category == SKY_LABEL).all()


def test_moving_the_world_moves_the_view_with_it() -> None:
    small = litter(3, (10, 10, 6), 0.2)
    states = np.zeros((26, 26, 6), np.uint8)
    states[13:23, 9:19] = small.states
    pose = pose_from_yaw_pitch([5.3, -4.2, 4.1], 1.5, -0.3)
    there = pose.copy()
    there[:3, 3] += [13, 9, 0]
    camera = Camera.from_vertical_fov(64, 36, 60)
    here, moved = render(Grid.of(small), pose, camera), render(Grid.of(world_of(states)), there, camera)
    assert np.isclose(here.depth, moved.depth, atol=1e-4).mean() > 0.998
    assert (here.rgb == moved.rgb).mean() > 0.99


# ---- places a camera should not be, and worlds with nothing in them


@pytest.mark.parametrize(
    "place",
    [(4.5, 4.5, 2.5), (-30, 4, 3), (4, 4, 400), (4, 4, -5), (1e9, -1e9, 1e12), (9.0, 6.0, 3.0), (0.0, 0.0, 0.0)],
)
@pytest.mark.parametrize("camera", [Camera(8, 6, 4, 4, 4, 3), Panorama(16, 8)], ids=["perspective", "panorama"])
def test_a_camera_may_stand_anywhere(place: tuple[float, float, float], camera: Camera | Panorama) -> None:
    grid = Grid.of(litter(1, (9, 9, 6), 0.9))
    for yaw, pitch in ((0.0, 0.0), (np.pi / 2, -np.pi / 2), (np.pi, np.pi / 2), (0.7, -0.4)):
        view = render(grid, pose_from_yaw_pitch(place, yaw, pitch), camera)
        assert (view.depth[np.isfinite(view.depth)] >= 0).all()
        assert ((view.category == SKY_LABEL) == np.isinf(view.depth)).all()


def test_a_camera_in_a_block_and_poses_that_are_none() -> None:
    states = np.full((5, 5, 5), block("stone"), np.uint8)
    view = render(Grid.of(world_of(states)), pose_from_yaw_pitch([2.5, 2.5, 2.5], 0.0), Camera(1, 1, 1, 1, 0.5, 0.5))
    assert view.depth[0, 0] == pytest.approx(0.5)
    # A pose that is none is refused.
    grid = single("stone")
    for pose in (np.eye(3), np.full((4, 4), np.nan)):
        with pytest.raises(ShapeError, match="4, 4"):
            render(grid, pose, CAMERAS[0])
