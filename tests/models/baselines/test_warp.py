"""`warp`: the frame itself where nothing moves, the true view where it was seen, stated colours where it was not."""

from dataclasses import replace

import numpy as np
import pytest

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import Camera, FloatArray, Panorama, pose_from_yaw_pitch
from worldgauge.core.model import checked_rollout
from worldgauge.models.baselines.warp import DepthMesh, Warp
from worldgauge.suites.worldinworld.trial_questions import StepQuestions
from worldgauge.worlds import open_world
from worldgauge.worlds.walking.primitives import Primitive, poses_of

HOME = WorldFacts("indoor", {"seed": 1})
CAMERAS = (Camera.from_horizontal_fov(96, 96, 90), Panorama(192, 108))
FORWARD, LEFT = Primitive.FORWARD, Primitive.TURN_LEFT


def pose(x: float = 0.0, yaw: float = 0.0) -> FloatArray:
    return pose_from_yaw_pitch((x, 0.0, 1.0), yaw)


def wall(camera: Camera, metres: float) -> np.ndarray:
    return np.full((camera.height, camera.width), metres, np.float32)


@pytest.mark.parametrize("view", ["perspective", "panorama"])
def test_a_step_shows_what_is_there(view: str) -> None:
    """Nearer the true view than the picture is that it started from, by far; at 20 cm most of it was seen."""
    model = Warp(view)  # type: ignore[arg-type]
    # From the roomiest place: nothing is in the way.
    question = StepQuestions().question(model.spec, start=1, horizon=2, seed=1)
    ahead = poses_of((FORWARD, LEFT if view == "panorama" else FORWARD), question.context.poses[-1])
    frames = np.concatenate(list(checked_rollout(model, replace(question, poses=ahead))))
    for frame, there in zip(frames, ahead, strict=True):
        true = open_world(HOME).view(there, question.context.camera).rgb
        error = np.abs(frame.astype(int) - true).mean()
        assert error < 0.3 * np.abs(question.context.clip[0].astype(int) - true).mean()
        assert error < 7


@pytest.mark.parametrize("camera", CAMERAS)
def test_standing_still_changes_no_pixel(camera: Camera | Panorama) -> None:
    question = StepQuestions().question(Warp().spec, start=60, horizon=1, seed=1)
    here = question.context.poses[0]
    seen = open_world(HOME).view(here, camera)
    np.testing.assert_array_equal(DepthMesh(seen.rgb, seen.depth, camera, here).render(here), seen.rgb)


def test_panoramas_turn_and_walls_grow() -> None:
    # Whatever its depth: where nothing moves, nothing comes to light.
    rng = np.random.default_rng(1)
    camera = Panorama(64, 32)
    image = rng.integers(0, 256, (32, 64, 3), dtype=np.uint8)
    depth = np.full((32, 64), 3.0, np.float32)
    turned = DepthMesh(image, depth, camera, pose()).render(pose(yaw=np.pi / 8))  # left by 4 columns
    np.testing.assert_array_equal(turned, np.roll(image, 4, axis=1))
    # Halfway to a wall it is twice as large.
    camera = Camera.from_horizontal_fov(64, 64, 90)
    image = np.zeros((64, 64, 3), np.uint8)
    image[24:40, 24:40] = 255
    closer = DepthMesh(image, wall(camera, 2.0), camera, pose()).render(pose(1.0))
    np.testing.assert_array_equal(closer[18:46, 18:46], 255)
    assert closer[:14].max() == closer[50:].max() == closer[:, :14].max() == 0


def test_what_is_nearer_hides_and_moves_more() -> None:
    """A post at 1 m before a wall at 4 m, seen from 25 cm to the right: 8 pixels to the left, the wall 2."""
    camera = Camera.from_horizontal_fov(64, 64, 90)
    image = np.full((64, 64, 3), 90, np.uint8)
    image[:, 10] = (0, 0, 250)
    image[:, 30:36] = (250, 0, 0)
    depth = wall(camera, 4.0)
    depth[:, 30:36] = 1.0
    aside = pose()
    aside[1, 3] = -0.25
    row = DepthMesh(image, depth, camera, pose()).render(aside)[32]
    assert np.flatnonzero(row[:, 0] == 250).tolist() == list(range(22, 28))
    assert np.flatnonzero(row[:, 2] == 250).tolist() == [8]
    # What the post hid is filled from the wall, not from the post.
    assert (row[28:36] == 90).all()


def test_borders_and_missing_depth() -> None:
    # Beyond the border a row goes on.
    camera = Camera.from_horizontal_fov(64, 64, 90)
    image = np.repeat(np.arange(64, dtype=np.uint8)[:, None, None], 64, axis=1).repeat(3, axis=2)
    turned = DepthMesh(image, wall(camera, 50.0), camera, pose()).render(pose(yaw=0.3))
    unseen = turned[32, :12]
    assert (unseen == unseen[-1]).all(), "left of what was seen the middle row is of one colour"
    assert abs(int(unseen[0, 0]) - 32) <= 1
    away = DepthMesh(image, wall(camera, 50.0), camera, pose()).render(pose(yaw=np.pi))
    assert away.shape == image.shape, "also where nothing of it was seen"
    # Pixels without a depth are left out.
    camera = Camera.from_horizontal_fov(32, 32, 90)
    image = np.full((32, 32, 3), 90, np.uint8)
    image[10:20, 10:20] = 255
    depth = wall(camera, 3.0)
    depth[8:22, 8:22] = np.nan
    assert DepthMesh(image, depth, camera, pose()).render(pose()).max() == 90
    # Without depth it says so.
    question = StepQuestions().question(Warp().spec, start=60, horizon=1, seed=1)
    blind = replace(question, context=replace(question.context, depth=None))
    with pytest.raises(NotApplicableError, match="'warp' needs the depth"):
        list(Warp().rollout(blind))
