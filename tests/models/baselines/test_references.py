"""What each baseline is known to do, and what all models must keep."""

import dataclasses

import numpy as np
import pytest

from worldgauge.core.episode import Context, Episode, WorldFacts
from worldgauge.core.errors import NotApplicableError, UsageError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.core.model import RolloutRequest, checked_rollout
from worldgauge.core.video import Clip
from worldgauge.models import models
from worldgauge.models.baselines import forgetful
from worldgauge.models.baselines.memory import MemoryModel, plane_depth
from worldgauge.suites.loopnav.protocol import make_request
from worldgauge.suites.loopnav.settings import LoopNavSettings
from worldgauge.suites.mind.actions import actions_of, walk_look
from worldgauge.worlds import open_world
from worldgauge.worlds.third_person import feet_of, figure_mask
from worldgauge.worlds.voxel.blocks import GROUND

REFERENCES = (
    *("truth", "reencoded", "late", "freeze", "noise", "mean", "replay"),
    *("forgetful", "memory", "memory-plane", "drift"),
)


def ask(name: str, walk: tuple[Episode, int], *, horizon: int = 12, seed: int = 5, **settings: object) -> np.ndarray:
    """The first frames that model `name` imagines on the walk."""
    model = models.get(name)(**settings)
    return np.concatenate(list(checked_rollout(model, request_for(model, walk, horizon, seed))))


def request_for(model: object, walk: tuple[Episode, int], horizon: int, seed: int) -> RolloutRequest:
    episode, start = walk
    short = dataclasses.replace(
        episode,
        clip=episode.clip[: start + horizon],
        poses=episode.poses[: start + horizon],
        actions=episode.actions[: start + horizon - 1],
    )
    return make_request(short, start, model.spec, LoopNavSettings(), seed=seed)


def test_every_reference_of_the_suite_is_registered() -> None:
    assert set(REFERENCES) <= set(models.names())


@pytest.mark.parametrize("name", REFERENCES)
def test_same_request_same_frames(name: str, walk: tuple[Episode, int]) -> None:
    first, again = ask(name, walk, horizon=4), ask(name, walk, horizon=4)
    assert first.shape == (4, 90, 160, 3)
    assert np.array_equal(first, again)


def test_baselines_of_the_recording(walk: tuple[Episode, int]) -> None:
    # Truth is the recording.
    episode, start = walk
    assert np.array_equal(ask("truth", walk), episode.clip[start : start + 12].to_array())
    # Coarse is the recording averaged over areas.
    episode, start = walk
    truth = episode.clip[start : start + 12].to_array().astype(float)
    frames = ask("coarse", walk, width=32, height=18)
    np.testing.assert_allclose(frames, truth.reshape(12, 18, 5, 32, 5, 3).mean((2, 4)), atol=0.51)
    with pytest.raises(UsageError, match="0x36 is no size"):
        models.get("coarse")(width=0)
    # Late is the recording one frame late.
    episode, start = walk
    frames = ask("late", walk)
    assert np.array_equal(frames[0], episode.clip[start - 1])
    assert np.array_equal(frames[1:], episode.clip[start : start + 11].to_array())
    assert len(ask("late", walk, horizon=1)) == 1
    # As a browser would be shown it: near the truth, and not it.
    from worldgauge.metrics.psnr_ssim import psnr

    frames, truth = ask("reencoded", walk), ask("truth", walk)
    error = [psnr(a, b) for a, b in zip(frames, truth, strict=True)]
    assert 24 < min(error) <= max(error) < 45


def test_reencoded_keeps_odd_sizes(walk: tuple[Episode, int]) -> None:
    episode, start = walk
    model = models.get("reencoded")()
    truth = episode.clip[start : start + 3].resized(53, 37)
    context = episode.context(0, start).resized(53, 37)
    asked = RolloutRequest(context, 3, 0, actions=episode.actions[start - 1 : start + 2], truth=truth)
    frames = np.concatenate(list(checked_rollout(model, asked)))
    assert frames.shape == (3, 37, 53, 3)
    assert np.abs(frames.astype(int) - truth.to_array()).mean() < 12


@pytest.mark.parametrize("name", ["late", "reencoded", "truth"])
def test_without_a_recorded_future_they_say_so(name: str, walk: tuple[Episode, int]) -> None:
    episode, start = walk
    request = RolloutRequest(episode.context(0, start), 3, 0)
    with pytest.raises(NotApplicableError, match="recorded future"):
        list(models.get(name)().rollout(request))


def test_baselines_without_a_world(walk: tuple[Episode, int]) -> None:
    # Freeze repeats the last context frame.
    episode, start = walk
    assert (ask("freeze", walk) == episode.clip[start - 1]).all()
    # Mean is the mean of the context.
    episode, start = walk
    expected = episode.clip[:start].to_array().astype(np.float64).mean(0)
    assert np.abs(ask("mean", walk)[0] - expected).max() <= 0.5 + 1e-9
    # Noise differs by seed and frame and is uniform.
    one, other = ask("noise", walk, seed=1), ask("noise", walk, seed=2)
    assert not np.array_equal(one, other)
    assert not np.array_equal(one[0], one[1])
    assert abs(float(one.mean()) - 127.5) < 4
    # Noise refuses squares of no size.
    with pytest.raises(UsageError, match="block_px"):
        models.get("noise")(block_px=0)


def test_replay_runs_backwards_then_forwards(walk: tuple[Episode, int]) -> None:
    episode, start = walk
    context = episode.context(start - 4, start)
    model = models.get("replay")()
    request = RolloutRequest(context, horizon=9, seed=0, actions=episode.actions[:9])
    frames = np.concatenate(list(model.rollout(request)))
    order = [int(np.flatnonzero([(f == c).all() for c in context.clip])[0]) for f in frames]
    assert order == [3, 2, 1, 0, 1, 2, 3, 2, 1]


def test_baselines_that_render(walk: tuple[Episode, int]) -> None:
    # Drift without error is the rendered truth.
    episode, start = walk
    frames = ask("drift", walk, horizon=2, step_m=0.0, turn_rad=0.0)
    assert episode.world is not None
    assert np.array_equal(frames[0], open_world(episode.world).view(episode.poses[start], episode.camera).rgb)
    # Drift grows.
    clean = ask("drift", walk, horizon=12, step_m=0.0, turn_rad=0.0).astype(int)
    drifted = ask("drift", walk, horizon=12, step_m=0.05, turn_rad=0.01).astype(int)
    error = np.abs(clean - drifted).mean((1, 2, 3))
    assert error[-3:].mean() > error[:3].mean() > 0
    # Forgetful is as sharp and another place.
    from worldgauge.metrics.psnr_ssim import psnr, sharpness

    episode, start = walk
    frames = ask("forgetful", walk)
    truth = episode.clip[start : start + 12].to_array()
    assert max(psnr(a, b) for a, b in zip(frames, truth, strict=True)) < 22
    assert 0.4 < np.mean([sharpness(f) for f in frames]) / np.mean([sharpness(f) for f in truth]) < 2.5


def test_memory_with_depth_draws_what_it_saw(walk: tuple[Episode, int]) -> None:
    """Asked for the pose of a frame it was shown, it must give that frame back, up to its points' size."""
    from worldgauge.metrics.psnr_ssim import psnr

    episode, _ = walk
    world = open_world(episode.world)
    depth = world.view(episode.poses[0], episode.camera).depth
    context = dataclasses.replace(episode.context(0, 1), depth=lambda i: depth)
    request = RolloutRequest(context, horizon=1, seed=0, poses=episode.poses[:1])
    frame = next(iter(MemoryModel().rollout(request)))[0]
    assert psnr(frame, episode.clip[0]) > 19


def test_memory_forgets_what_moves_with_the_camera(walk: tuple[Episode, int]) -> None:
    """Pixels of unknown depth leave no point and no colour behind, whatever they show."""
    episode, _ = walk
    world = open_world(episode.world)
    depth = world.view(episode.poses[0], episode.camera).depth.copy()
    depth[20:70, 60:100] = np.nan
    frames = []
    for colour in (0, 255):
        image = episode.clip[0].copy()
        image[20:70, 60:100] = colour
        clip = Clip.from_array(image[None], 20)
        context = dataclasses.replace(episode.context(0, 1), clip=clip, depth=lambda i: depth)
        request = RolloutRequest(context, horizon=2, seed=0, poses=episode.poses[[0, 30]])
        frames.append(np.concatenate(list(MemoryModel().rollout(request))))
    assert np.array_equal(*frames)


def test_memory_and_its_guess(walk: tuple[Episode, int]) -> None:
    # Memory beats freeze.
    episode, start = walk
    truth = episode.clip[start : start + 12].to_array().astype(int)
    error = {name: np.abs(ask(name, walk).astype(int) - truth)[6:].mean() for name in ("memory", "freeze")}
    assert error["memory"] < 0.8 * error["freeze"]
    # Ground at 1.6 m below the eye: the lowest row looks down by v/f, so depth is 1.6 f / v.
    episode, _ = walk
    depth = plane_depth(episode.camera, episode.poses[0])
    expected = 1.6 * episode.camera.fy / (89.5 - episode.camera.cy)
    assert depth[-1] == pytest.approx(np.full(160, expected), rel=1e-3)
    assert (depth[:45] == 20.0).all()


def test_forgetful_lays_a_third_person_walk_on_the_ground_of_another_place() -> None:
    """The figure stands free on natural ground, and the camera is as far from it as it was."""
    world = open_world(WorldFacts("third-person", {"kind": "plains", "seed": 1, "size": (160, 160, 56)}))
    poses = pose_from_yaw_pitch(np.linspace((70, 75, 24.0), (74, 75, 24.6), 30), np.linspace(0, 0.5, 30), -0.2)
    camera = Camera.from_vertical_fov(96, 54, 60)
    clip = Clip.from_array(np.zeros((1, 54, 96, 3), np.uint8), 24)
    context = Context(clip, poses[:1], actions_of(np.zeros((0, 4)), walk_look()), camera)
    model = models.get("forgetful")()
    frames = np.concatenate(
        list(checked_rollout(model, RolloutRequest(context, 30, 3, poses=poses, world=world.facts)))
    )
    seed = 1 + forgetful.SEED_STEP
    other = open_world(WorldFacts("third-person", {"kind": "plains", "seed": seed, "size": (160, 160, 56)}))
    feet = feet_of(poses)
    laid = forgetful._lay_path(other.voxels, poses, feet, np.random.default_rng(3))
    assert np.array_equal(frames[7], other.view(laid[7], camera).rgb)
    assert figure_mask(other.view(laid[7], camera)).any()
    np.testing.assert_array_equal(laid[:, :3, :3], poses[:, :3, :3])
    stands = feet_of(laid)
    np.testing.assert_allclose(np.diff(stands[:, :2], axis=0), np.diff(feet[:, :2], axis=0), atol=1e-9)
    cells = np.floor(stands[:, :2]).astype(int)
    top = [max(np.flatnonzero(GROUND[other.voxels.states[x, y]])) + 1 for x, y in cells]
    assert np.abs(stands[:, 2] - top).max() <= 1
    assert np.abs(stands[:, 2] - top).mean() < 0.3


@pytest.mark.parametrize(("name", "needs"), [("drift", "world"), ("forgetful", "village or home"), ("memory", "depth")])
def test_references_say_what_a_published_recording_lacks(name: str, needs: str, walk: tuple[Episode, int]) -> None:
    episode, start = walk
    published = dataclasses.replace(episode, world=None)
    model = models.get(name)()
    request = make_request(published, start, model.spec, LoopNavSettings(), seed=0)
    with pytest.raises(NotApplicableError, match=needs):
        list(checked_rollout(model, request))


def test_memory_from_pictures_alone_needs_no_world(walk: tuple[Episode, int]) -> None:
    episode, start = walk
    model = models.get("memory-plane")()
    assert not model.spec.privileged
    assert not model.spec.inputs
    request = make_request(dataclasses.replace(episode, world=None), start, model.spec, LoopNavSettings(), seed=0)
    assert next(iter(model.rollout(request))).shape == (1, 90, 160, 3)
