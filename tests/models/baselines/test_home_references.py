"""Baselines of the closed loop: what each knows and what it does not, in a home and as panoramas."""

from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import NotApplicableError, UsageError
from worldgauge.core.geometry import wrap_angle, yaw_pitch_from_pose
from worldgauge.core.model import RolloutRequest, WorldModel, checked_rollout, imagines
from worldgauge.core.panorama import perspective, rolled
from worldgauge.metrics.psnr_ssim import psnr
from worldgauge.models import models
from worldgauge.models.baselines.forgetful import _lay_indoors, _other_place
from worldgauge.models.baselines.truth import noise_of_all_scales
from worldgauge.suites.worldinworld.trial_questions import StepQuestions
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.primitives import Primitive, as_actions, poses_of, stands

FORWARD, LEFT, RIGHT = Primitive.FORWARD, Primitive.TURN_LEFT, Primitive.TURN_RIGHT
HOME = WorldFacts("indoor", {"seed": 1})


def made(name: str, **settings: Any) -> WorldModel:
    model: WorldModel = models.get(name)(**settings)
    return model


def asked(model: WorldModel, horizon: int = 3, seed: int = 1, start: int = 60) -> RolloutRequest:
    return StepQuestions().question(model.spec, start=start, horizon=horizon, seed=seed)


def frames(model: WorldModel, request: RolloutRequest) -> np.ndarray:
    return np.concatenate(list(checked_rollout(model, request)))


def test_none_imagines_nothing() -> None:
    model = made("none")
    assert not imagines(model)
    assert imagines(made("freeze"))
    with pytest.raises(NotApplicableError, match="generates nothing"):
        list(model.rollout(asked(model)))


@pytest.mark.parametrize("view", ["perspective", "panorama"])
def test_oracle_is_truth(view: str) -> None:
    truth, oracle = made("truth", view=view), made("oracle", view=view)
    assert oracle.spec.name == "oracle"
    assert oracle.spec.privileged
    request = asked(oracle)
    np.testing.assert_array_equal(frames(oracle, request), frames(truth, request))
    with pytest.raises(NotApplicableError, match="'oracle' needs the recorded future"):
        list(oracle.rollout(replace(request, truth=None)))


@pytest.mark.parametrize("name", ["truth", "freeze", "noise", "degraded", "forgetful", "warp", "roll", "zoom"])
def test_a_view_that_cannot_be_meant_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="view is 'fisheye'"):
        made(name, view="fisheye")


@pytest.mark.parametrize("name", ["freeze", "noise", "zoom"])
def test_panoramas_are_frames_like_others(name: str) -> None:
    model = made(name, view="panorama")
    assert frames(model, asked(model)).shape == (3, 144, 256, 3)


def test_panoramas_and_roll() -> None:
    # Memory refuses panoramas.
    request = asked(made("warp", view="panorama"))
    with pytest.raises(NotApplicableError, match="'memory' remembers perspective views"):
        list(made("memory").rollout(request))
    # Roll turns a panorama exactly and goes nowhere.
    model = made("roll")
    request = asked(model)
    here = request.context.poses[-1]
    drawn = frames(model, replace(request, horizon=4, poses=poses_of((LEFT, FORWARD, RIGHT, RIGHT), here)))
    seen = request.context.clip[0]
    for frame, right_deg in zip(drawn, (-22.5, -22.5, 0, 22.5), strict=True):
        np.testing.assert_array_equal(frame, rolled(seen, right_deg))
    np.testing.assert_array_equal(drawn[2], seen)
    # As a panorama of the same place shows it; beyond the border the last column goes on.
    around, ahead = made("roll"), made("roll", view="perspective")
    request = asked(ahead)
    here = request.context.poses[-1]
    turned = frames(ahead, replace(request, horizon=1, poses=poses_of((LEFT,), here)))[0]
    fine = StepQuestions().question(around.spec, start=60, horizon=1, seed=1, size=(1024, 512), turn=None)
    whole = frames(around, replace(fine, poses=poses_of((LEFT,), here)))[0]
    true = perspective(whole, request.context.camera)  # type: ignore[arg-type]
    known = slice(64, None)  # 45 - 22.5 degrees left of the middle lies the old border
    assert psnr(turned[:, known], true[:, known]) > 28
    left = turned[64, :20].astype(int)
    assert np.abs(np.diff(left, axis=0)).max() <= 3


def test_zoom_enlarges_ahead_and_rolls_with_turns() -> None:
    around, ahead = made("zoom", view="panorama", metres=2), made("zoom", metres=2)
    request = asked(around)
    seen = request.context.clip[0]
    turned = frames(around, replace(request, horizon=2, actions=as_actions((LEFT, LEFT))))[-1]
    np.testing.assert_allclose(turned.astype(int), rolled(seen, -45).astype(int), atol=2)
    request = asked(ahead)
    seen = request.context.clip[0]
    steps = (FORWARD,) * 5  # a metre of two: twice as large
    nearer = frames(ahead, replace(request, horizon=5, actions=as_actions(steps)))[-1]
    side = seen.shape[0]
    middle = slice(side // 2 - 8, side // 2 + 8)
    quarter = slice(side // 2 - 4, side // 2 + 4)
    enlarged = np.asarray(cv2.resize(seen[quarter, quarter], (16, 16)))
    assert psnr(nearer[middle, middle], enlarged) > 24
    far = frames(ahead, replace(request, horizon=40, actions=as_actions((FORWARD,) * 40)))
    assert far.shape == (40, *seen.shape)  # beyond the sphere
    with pytest.raises(NotApplicableError, match="follows steps and turns"):
        list(ahead.rollout(replace(request, actions=None)))


def test_degraded_goes_from_the_truth_to_nothing() -> None:
    truth = frames(made("truth"), asked(made("truth")))
    np.testing.assert_array_equal(frames(made("degraded", level=0), asked(made("degraded"))), truth)
    quality = []
    for level in (0.1, 0.3, 0.6, 1.0):
        model = made("degraded", level=level)
        drawn = frames(model, asked(model))
        quality.append(float(np.mean([psnr(a, b) for a, b in zip(drawn, truth, strict=True)])))
    assert quality == sorted(quality, reverse=True)
    assert quality[0] > quality[-1] + 15
    blind = made("degraded", level=1.0)
    dark = replace(asked(blind), truth=frames_of_black(asked(blind)))
    np.testing.assert_array_equal(frames(blind, dark), frames(blind, asked(blind)))


def frames_of_black(request: RolloutRequest) -> Any:
    from worldgauge.core.video import Clip

    return Clip.from_array(np.zeros_like(request.truth.to_array()), 5.0)


def test_its_noise_is_as_strong_at_every_scale() -> None:
    """Means over squares of twice the side lose the same variance each time."""
    noise = noise_of_all_scales(256, 256, np.random.default_rng(1)).astype(np.float64)
    assert abs(noise.mean()) < 0.3
    assert noise.var() == pytest.approx(1, abs=0.25)
    kept = []
    for side in (1, 2, 4, 8, 16):
        part = noise.reshape(256 // side, side, 256 // side, side, 3).mean((1, 3))
        kept.append(part.var())
    lost = -np.diff(kept)
    assert lost.min() > 0.06
    assert lost.max() < 0.3


@pytest.mark.parametrize("level", [-0.1, 1.5, float("nan")])
def test_degraded_refuses_other_levels(level: float) -> None:
    with pytest.raises(UsageError, match="level"):
        made("degraded", level=level)


def test_forgetful_walks_another_home_on_its_floor() -> None:
    model = made("forgetful")
    request = asked(model, horizon=12)
    assert request.poses is not None
    other = _other_place(HOME)
    assert isinstance(other, Home)
    assert other.seed != 1
    here = request.context.poses[-1, :3, 3]
    laid = _lay_indoors(other.floor, here, request.poses)
    assert stands(other.floor.clearance_at(laid[:, :2, 3])).all()
    yaw, _ = yaw_pitch_from_pose(laid)
    wanted, _ = yaw_pitch_from_pose(request.poses)
    assert np.abs(wrap_angle(yaw - wanted)).max() < 1e-9, "it turns as it is asked to"
    np.testing.assert_array_equal(laid[:, 2, 3], request.poses[:, 2, 3])
    drawn = frames(model, request)
    np.testing.assert_array_equal(drawn[0], other.view(laid[0], request.context.camera).rgb)


def test_one_other_place_per_start_with_walls() -> None:
    # Also after turning there: candidates of a decision are then seen in one home.
    model = made("forgetful")
    one, other = asked(model, seed=1), asked(model, seed=2)
    np.testing.assert_array_equal(frames(model, one), frames(model, other))
    # A path stops at walls.
    floor = _other_place(HOME).floor  # type: ignore[attr-defined]
    start = asked(made("forgetful")).context.poses[-1]
    laid = _lay_indoors(floor, start[:3, 3], poses_of((FORWARD,) * 100, start))
    assert stands(floor.clearance_at(laid[:, :2, 3])).all()
    np.testing.assert_array_equal(laid[-1], laid[-2])
