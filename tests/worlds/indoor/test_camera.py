"""The camera of box worlds against plain ray and box arithmetic, and what must hold of its pictures."""

import numpy as np
import pytest

from worldgauge.core.errors import ShapeError, WorldError
from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch
from worldgauge.core.panorama import perspective
from worldgauge.worlds.indoor.boxes import PATTERNS, Box, Boxes, Paint
from worldgauge.worlds.indoor.camera import BoxScene, render

PLAIN = Paint("plain", (128, 128, 128))
SMALL = Camera.from_vertical_fov(48, 32, 60)


def scattered(seed: int, n: int = 60) -> Boxes:
    """Boxes in a hall of 8 x 6 x 3 m, touching and overlapping, objects of several boxes among them."""
    rng = np.random.default_rng(seed)
    listed = [
        Box((-1, -1, -0.2), (9, 7, 0.0), 1, 0, PLAIN),
        Box((-1, -1, 3.0), (9, 7, 3.2), 2, 0, PLAIN),
        Box((-1, -1, 0.0), (0, 7, 3.0), 3, 0, PLAIN),
    ]
    for i in range(n):
        low = rng.uniform((0, 0, 0), (7.5, 5.5, 2.4))
        high = low + rng.uniform(0.05, 0.6, 3)
        low[2] *= rng.integers(2)
        listed.append(Box(tuple(low), tuple(high), int(rng.integers(4, 9)), 1 + i // 3, PLAIN))
    return Boxes.of(listed, seed)


def nearest(boxes: Boxes, origin: np.ndarray, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Depth and box of every ray (N, 3), each against every box: the slab method, without lists or groups."""
    with np.errstate(divide="ignore", invalid="ignore"):
        a = (boxes.bounds[None, :, :3] - origin) / directions[:, None]
        b = (boxes.bounds[None, :, 3:] - origin) / directions[:, None]
    near, far = np.minimum(a, b).max(-1), np.maximum(a, b).min(-1)
    depth = np.where((near < far) & (near > 0), near, np.inf)
    box = depth.argmin(1)
    depth = depth.min(1)
    return depth, np.where(np.isfinite(depth), box, -1)


@pytest.mark.parametrize("air", [None, (0.0, 3.0)])
@pytest.mark.parametrize("camera", [SMALL, Panorama(64, 32)], ids=["pinhole", "panorama"])
def test_depth_and_instance_are_those_of_plain_arithmetic(air: tuple[float, float] | None, camera: Camera) -> None:
    rng = np.random.default_rng(7)
    for seed in range(6):
        boxes = scattered(seed)
        scene = BoxScene.of(boxes, air)
        for _ in range(4):
            eye = rng.uniform((-3, -3, -1), (11, 9, 5)) if seed % 2 else rng.uniform((0.2, 0.2, 0.2), (7.8, 5.8, 2.8))
            pose = pose_from_yaw_pitch(eye, rng.uniform(-np.pi, np.pi), rng.uniform(-0.8, 0.8))
            view = render(scene, pose, camera, position=True)
            depth, box = nearest(boxes, eye, (camera.rays() @ pose[:3, :3].T).reshape(-1, 3))
            shape = view.depth.shape
            np.testing.assert_allclose(view.depth, depth.reshape(shape).astype(np.float32), rtol=1e-6)
            np.testing.assert_array_equal(view.instance, np.where(box < 0, 0, boxes.instance[box]).reshape(shape))
            np.testing.assert_array_equal(view.category, np.where(box < 0, 0, boxes.category[box]).reshape(shape))
            rays = camera.rays() @ pose[:3, :3].T
            seen = np.isfinite(view.depth)
            places = eye + rays[seen] * view.depth[seen, None]
            np.testing.assert_allclose(view.position[seen], places, atol=1e-5)
            assert np.isnan(view.position[~seen]).all()


def test_walls_ahead_and_panoramas() -> None:
    boxes = Boxes.of([Box((5, -9, -9), (6, 9, 9), 1, 3, PLAIN), Box((-1, -1, -1), (1, 1, 1), 2, 4, PLAIN)], 0)
    view = render(BoxScene.of(boxes), pose_from_yaw_pitch((0, 0, 0), 0.0), SMALL)
    np.testing.assert_allclose(view.depth, 5.0, atol=1e-6)
    assert (view.instance == 3).all()
    nothing = render(BoxScene.of(boxes), pose_from_yaw_pitch((0, 0, 0), np.pi), SMALL)
    assert np.isinf(nothing.depth).all()
    assert not nothing.rgb.any()
    # Panorama and perspective agree.
    scene = BoxScene.of(scattered(3, 10), (0.0, 3.0))
    pose = pose_from_yaw_pitch((1.0, 3.0, 1.4), 0.0)
    flat = render(scene, pose, Camera.from_vertical_fov(90, 60, 50))
    around = render(scene, pose, Panorama(1440, 720))
    cut = perspective(around.rgb, Camera.from_vertical_fov(90, 60, 50))
    assert np.median(np.abs(cut.astype(int) - flat.rgb)) <= 3
    assert set(np.unique(flat.instance)) <= set(np.unique(around.instance))


def test_far_surfaces_do_not_flicker() -> None:
    # A view is close to the mean of many finer ones: what is too fine for a pixel has been left out.
    boxes = Boxes.of([Box((6, -20, -20), (7, 20, 20), 1, 0, Paint("posters", (128, 126, 122)))], 5)
    scene, pose = BoxScene.of(boxes), pose_from_yaw_pitch((0, 0, 0), 0.4)
    fine = render(scene, pose, SMALL.resized(48 * 8, 32 * 8)).rgb.reshape(32, 8, 48, 8, 3).mean((1, 3))
    coarse = render(scene, pose, SMALL).rgb
    picked = render(scene, pose, SMALL.resized(48 * 8, 32 * 8)).rgb[4::8, 4::8]
    assert np.abs(coarse - fine).mean() < 0.6 * np.abs(picked - fine).mean()


def test_every_pattern_varies_on_every_face_and_no_two_faces_are_alike() -> None:
    seen = {}
    cameras = Camera.from_vertical_fov(40, 40, 40)
    for pattern in PATTERNS:
        boxes = Boxes.of([Box((-1, -1, -1), (1, 1, 1), 1, 1, Paint(pattern, (150, 130, 110), (80, 90, 120)))], 2)
        scene = BoxScene.of(boxes)
        for n, yaw in enumerate((0, np.pi / 2, np.pi, -np.pi / 2)):
            eye = (-3 * np.cos(yaw), -3 * np.sin(yaw), 0.0)
            rgb = render(scene, pose_from_yaw_pitch(eye, yaw), cameras).rgb[6:34, 6:34]
            assert rgb.std() > 0.8, (pattern, n)
            seen[pattern, n] = rgb
    keys = list(seen)
    for i, one in enumerate(keys):
        for other in keys[:i]:
            assert not np.array_equal(seen[one], seen[other])


def test_textures_follow_their_box_and_its_bytes() -> None:
    boxes = Boxes.of([Box((4, -1, -1), (5, 1, 1), 1, 1, Paint("posters", (128, 126, 122)))], 2)
    camera = Camera.from_vertical_fov(40, 40, 20)
    here = render(BoxScene.of(boxes), pose_from_yaw_pitch((0, 0, 0), 0.0), camera)
    there = render(BoxScene.of(boxes.moved(0, (1.5, 2.5, 0.0))), pose_from_yaw_pitch((1.5, 2.5, 0), 0.0), camera)
    np.testing.assert_allclose(here.rgb.astype(int), there.rgb, atol=1)
    # Same boxes same bytes.
    pose = pose_from_yaw_pitch((3.0, 3.0, 1.4), 0.8)
    one, two = (render(BoxScene.of(scattered(1), (0.0, 3.0)), pose, SMALL) for _ in range(2))
    assert one.rgb.tobytes() == two.rgb.tobytes()
    assert scattered(1).digest() == scattered(1).digest() != scattered(2).digest()
    # Bad boxes and poses are refused.
    with pytest.raises(WorldError, match="box 1"):
        Boxes.of([Box((0, 0, 0), (1, 1, 1), 1, 0, PLAIN), Box((0, 0, 0), (1, 0, 1), 1, 0, PLAIN)], 0)
    with pytest.raises(ShapeError, match="pose"):
        render(BoxScene.of(scattered(0)), np.full((4, 4), np.nan), SMALL)
