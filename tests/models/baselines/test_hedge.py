"""The baseline that errors in pixels reward without memory: turned by hand, beside another warp, and at its limits."""

import dataclasses
import math

import numpy as np
import pytest

from worldgauge.core.actions import Actions
from worldgauge.core.episode import Context, Episode
from worldgauge.core.errors import NotApplicableError, UsageError
from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch
from worldgauge.core.model import RolloutRequest, checked_rollout
from worldgauge.core.video import Clip
from worldgauge.metrics.psnr_ssim import mse
from worldgauge.models.baselines.trivial import Hedge, Mean
from worldgauge.models.baselines.warp import _turned as turned_to_the_border
from worldgauge.suites.mind.actions import walk_look

CAMERA = Camera.from_horizontal_fov(64, 36, 90.0)
BLACK_AND = np.zeros((2, 36, 64, 3), np.uint8)


def asked(frames: np.ndarray, yaws_deg: list[float], camera: Camera | Panorama = CAMERA) -> RolloutRequest:
    """What lies ahead when the camera stands at yaw 0 and then has these yaws."""
    space = walk_look(1.0, 2.0)
    still = np.zeros((len(frames) - 1, len(space)), np.float32)
    at = pose_from_yaw_pitch(np.zeros((len(frames), 3)), np.zeros(len(frames)), np.zeros(len(frames)))
    context = Context(Clip.from_array(frames, 10.0), at, Actions(space, still), camera)
    yaws = np.radians(yaws_deg)
    poses = pose_from_yaw_pitch(np.zeros((len(yaws), 3)), yaws, np.zeros(len(yaws)))
    actions = Actions(space, np.zeros((len(yaws), len(space)), np.float32))
    return RolloutRequest(context, len(yaws), 0, actions=actions, poses=poses)


def drawn(model: Hedge, request: RolloutRequest) -> np.ndarray:
    return np.concatenate(list(checked_rollout(model, request)))


def test_hedge_by_hand() -> None:
    # Fades by hand.
    frames = BLACK_AND.copy()
    frames[1] = 200  # mean 100
    # Frame k is 0.1 (k + 1) s ahead: 100 + 100 exp(-t / 0.5).
    found = drawn(Hedge(fade_s=0.5), asked(frames, [0, 0, 0, 0, 0]))
    expected = [round(100 + 100 * math.exp(-0.2 * (k + 1))) for k in range(5)]
    assert found[:, 18, 32].tolist() == [[value] * 3 for value in expected]
    assert (found == found[:, :1, :1]).all()
    # Turns against the camera by hand.
    frames = BLACK_AND.copy()
    frames[:, :, 40:44] = 240  # 4 columns to the right of the middle
    # Turning right by the angle of 8 columns, atan(8 / 32), brings them 8 columns to the left, for a distant scene.
    found = drawn(Hedge(fade_s=1e9), asked(frames, [0.0, -math.degrees(math.atan(8 / 32))]))
    assert found[0, 18].argmax(0)[0] in range(40, 44)
    assert found[1, 18].argmax(0)[0] in range(30, 36)
    # What comes into view at the right is the mean, here the same frame.
    assert np.array_equal(found[1, :, -2:], frames[0, :, -2:])


def test_hedge_turns_as_warp_does(walk: tuple[Episode, int]) -> None:
    # Equals the turn of warp where the last frame shows it.
    rng = np.random.default_rng(0)
    frames = rng.integers(0, 256, (2, 36, 64, 3), dtype=np.uint8)
    request = asked(frames, [20.0])
    last, pose = request.context.poses[-1], request.poses[0]
    want = turned_to_the_border(frames[-1], CAMERA, last[:3, :3].T @ pose[:3, :3])
    found = drawn(Hedge(fade_s=1e9), request)[0]
    inside = slice(30, 62)  # a turn to the left by 20 degrees leaves the right part of the picture
    assert np.abs(found[2:-2, inside].astype(int) - want[2:-2, inside]).max() <= 1
    # Where the walk is does not matter.
    episode, start = walk
    request = RolloutRequest(episode.context(0, start), 3, 0, poses=episode.poses[start : start + 3])
    shift = np.eye(4)
    shift[:3, 3] = (7.0, -3.0, 1.0)
    context = dataclasses.replace(request.context, poses=shift @ request.context.poses)
    moved = dataclasses.replace(request, context=context, poses=shift @ request.poses)
    assert np.array_equal(drawn(Hedge(), request), drawn(Hedge(), moved))
    # Behind the camera there is the mean frame.
    frames = BLACK_AND.copy()
    frames[1] = 200
    found = drawn(Hedge(), asked(frames, [180.0, 90.5, 179.0, -135.0]))
    assert (found[[0, 2, 3]] == 100).all()
    for one in found[1:2]:
        assert set(np.unique(one)) <= set(range(100, 201))


def test_one_frame_is_its_own_mean() -> None:
    frames = np.full((1, 36, 64, 3), 70, np.uint8)
    assert (drawn(Hedge(), asked(frames, [0.0, 60.0, 170.0])) == 70).all()


def test_is_better_than_standing_still_and_the_mean(walk: tuple[Episode, int]) -> None:
    """What it is for: the error of a model without memory that knows what the error rewards."""
    episode, start = walk
    truth = episode.clip[start : start + 40].to_array()
    request = RolloutRequest(
        episode.context(0, start),
        40,
        0,
        actions=episode.actions[start - 1 : start + 39],
        poses=episode.poses[start : start + 40],
    )
    error = {
        type(model).__name__: np.mean(
            [mse(a, b) for a, b in zip(np.concatenate(list(model.rollout(request))), truth, strict=True)]
        )
        for model in (Hedge(), Mean())
    }
    error["still"] = np.mean([mse(episode.clip[start - 1], one) for one in truth])
    assert error["Hedge"] < min(error["Mean"], error["still"])


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan, math.inf])
def test_refuses_a_time_that_is_none(seconds: float) -> None:
    with pytest.raises(UsageError, match="fade_s must be a time above 0"):
        Hedge(fade_s=seconds)


def test_draws_no_panoramas() -> None:
    request = asked(np.zeros((1, 36, 72, 3), np.uint8), [0.0], Panorama(72, 36))
    with pytest.raises(NotApplicableError, match="draws no panoramas"):
        list(Hedge().rollout(request))
