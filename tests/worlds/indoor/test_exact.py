"""What a camera says of a home is exact: masks, depth and positions, and a panorama is what its views are."""

from functools import cache

import numpy as np
import pytest

from worldgauge.core.geometry import Camera, FloatArray, Panorama, pose_from_yaw_pitch
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import TURN_DEG

SEEDS = (1, 1_000_003, 3_000_007)
PANORAMA = Panorama(512, 288)


@cache
def home(seed: int) -> Home:
    return Home(seed)


def poses(seed: int, n: int) -> list[FloatArray]:
    rng = np.random.default_rng(seed)
    geodesic = Geodesic(home(seed).floor)
    return [
        pose_from_yaw_pitch((*geodesic.random_point(rng), 1.0), rng.uniform(-np.pi, np.pi), rng.uniform(-0.4, 0.2))
        for _ in range(n)
    ]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("camera", [Camera.from_horizontal_fov(40, 40, 90), Panorama(64, 36)], ids=["flat", "around"])
def test_masks_and_depth_are_those_of_every_ray_against_every_box(seed: int, camera: Camera | Panorama) -> None:
    boxes = home(seed).plan.boxes
    for pose in poses(seed, 3):
        view = home(seed).view(pose, camera, position=True)
        rays = (camera.rays() @ pose[:3, :3].T).reshape(-1, 3)
        with np.errstate(divide="ignore"):
            a = (boxes.bounds[None, :, :3] - pose[:3, 3]) / rays[:, None]
            b = (boxes.bounds[None, :, 3:] - pose[:3, 3]) / rays[:, None]
        near, far = np.minimum(a, b).max(-1), np.maximum(a, b).min(-1)
        depth = np.where((near < far) & (near > 0), near, np.inf)
        first = depth.argmin(1)
        shape = view.depth.shape
        np.testing.assert_allclose(view.depth, depth.min(1).reshape(shape), rtol=1e-6)
        # Where two boxes touch, rounding decides between them.
        tie = (depth < depth.min(1)[:, None] * (1 + 1e-9)).sum(1) > 1
        same = view.instance.reshape(-1) == boxes.instance[first]
        assert (same | tie).all()
        assert (view.category.reshape(-1) == boxes.category[first])[~tie].all()
        assert tie.mean() < 0.05
        places = pose[:3, 3] + rays * view.depth.reshape(-1, 1)
        np.testing.assert_allclose(view.position.reshape(-1, 3), places, atol=2e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_position_lies_in_the_box_of_the_object_it_belongs_to(seed: int) -> None:
    world = home(seed)
    low, high = (np.array([(0, 0, 0), *(getattr(thing, name) for thing in world.objects)]) for name in ("low", "high"))
    for pose in poses(seed, 4):
        view = world.view(pose, PANORAMA, position=True)
        found = view.instance > 0
        owner = view.instance[found]
        assert (view.position[found] > low[owner] - 1e-4).all()
        assert (view.position[found] < high[owner] + 1e-4).all()
        names = np.array(["", *(thing.category for thing in world.objects)])
        assert (np.array(world.categories)[view.category[found]] == names[owner]).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_panoramas_show_what_views_show_and_roll_by_whole_pixels(seed: int) -> None:
    """Each pixel of a panorama against the pixel of a view that its ray meets; edges aside, where a ray may slip by."""
    world, flat = home(seed), Camera.from_horizontal_fov(384, 384, 90)
    rays = PANORAMA.rays()
    pixels, ahead = flat.project(rays)
    inside = (ahead > 0) & (pixels >= 1).all(-1) & (pixels < 383).all(-1)
    u, v = np.floor(pixels[inside]).astype(int).T
    for pose in poses(seed, 3):
        around, view = world.view(pose, PANORAMA), world.view(pose, flat)
        near = np.stack([view.instance[v + dv, u + du] for dv in (-1, 0, 1) for du in (-1, 0, 1)])
        even = (near == near[0]).all(0)
        assert even.mean() > 0.8
        assert (around.instance[inside] == near[4])[even].all()
        # Depth along the ray becomes depth along the axis; the next pixels' depths bound it.
        depth = around.depth[inside] * rays[..., 2][inside]
        by = np.stack([view.depth[v + dv, u + du] for dv in (-1, 0, 1) for du in (-1, 0, 1)])
        held = (depth >= by.min(0) - 1e-4) & (depth <= by.max(0) + 1e-4)
        assert held[even].mean() > 0.99
        assert np.abs(around.rgb[inside].astype(int) - view.rgb[v, u])[even].mean() < 8
    # A turn rolls the panorama by whole pixels.
    world = home(seed)
    shift = PANORAMA.width // round(360 / TURN_DEG)
    for pose in poses(seed, 2):
        yaw = float(np.arctan2(pose[1, 2], pose[0, 2]))
        here, left = (world.view(pose_from_yaw_pitch(pose[:3, 3], yaw + turn), PANORAMA) for turn in (0, np.pi / 8))
        same = np.roll(here.instance, shift, axis=1) == left.instance
        assert same.mean() > 0.9999
        np.testing.assert_allclose(np.roll(here.depth, shift, axis=1)[same], left.depth[same], rtol=1e-4)
        assert (np.abs(np.roll(here.rgb, shift, axis=1).astype(int) - left.rgb) <= 1).mean() > 0.999
