"""Gains, signs, delays and cross-talk of models whose motion is known."""

import math
from dataclasses import replace

import numpy as np
import pytest

from support.calibrated_starts import responses
from support.wrong_movers import WrongMover
from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import pose_from_yaw_pitch, relative
from worldgauge_lab.calibrate_estimate import (
    SPACES,
    ControlEstimates,
    ControlResult,
    displacement,
    estimate,
    expected,
    slope,
)

GAINS = {"forward": 0.5, "back": 1.6, "left": -1.3, "right": -1.3, "yaw_left": 2.0, "yaw_right": 0.25, "pitch_up": -0.7}


def by_name(found: ControlEstimates) -> dict[str, ControlResult]:
    return {one.control: one for one in found.controls}


@pytest.mark.parametrize("lengths", [None, "20n+1", "80n+1 to 81"])
@pytest.mark.parametrize("control", ["camera", "actions", "text"])
def test_made_up_gains_signs_and_delay_are_found(control: str, lengths: str | None) -> None:
    found = estimate(responses(WrongMover(GAINS, control=control, delay=3, lengths=lengths, fps=20.0)))
    assert found.frames == 3
    assert found.delay is not None
    assert (found.delay.low, found.delay.high) == (3.0, 3.0)
    for name, one in by_name(found).items():
        true = GAINS.get(name, 1.0)
        assert one.status == "follows"
        assert one.gain is not None
        assert one.gain.n == 4
        assert abs(one.gain.mean / true - 1) < 0.05
        assert one.gain.low <= one.gain.mean <= one.gain.high
        assert np.sign(one.gain.mean) == np.sign(true)
    assert (found.moving.whose, found.turning.whose) == ("asked", "asked")


@pytest.mark.parametrize("delay", [0, 1, 7])
def test_every_delay_that_can_be_told_is_found(delay: int) -> None:
    assert estimate(responses(WrongMover(delay=delay), starts=2)).frames == delay


def test_a_later_model_has_no_delay_and_says_why() -> None:
    found = estimate(responses(WrongMover(delay=9), starts=2))
    assert found.frames is None
    assert found.delay is None
    assert "later than 7 frames" in found.late


def test_an_ignored_control_does_not_follow_and_has_no_gain() -> None:
    one = by_name(estimate(responses(WrongMover({"back": 0.0}))))["back"]
    assert (one.status, one.gain, one.a_frame) == ("does not follow", None, None)
    assert one.reason
    assert (one.asked, one.decoded) == (12, 12)


def test_a_frozen_model_follows_nothing_and_has_no_delay() -> None:
    found = estimate(responses(WrongMover(dict.fromkeys((*GAINS, "pitch_down"), 0.0))))
    assert {one.status for one in found.controls} == {"does not follow"}
    assert found.frames is None
    assert found.late == "nothing moves"


def test_what_has_no_path_is_unknown() -> None:
    blind = [
        replace(one, shown=np.full_like(one.shown, np.nan), reason="its points are found nowhere")
        for one in responses(WrongMover())
    ]
    found = estimate(blind)
    assert {one.status for one in found.controls} == {"unknown"}
    assert all(one.gain is None and one.decoded == 0 and "found nowhere" in one.reason for one in found.controls)
    assert found.moving.whose == "unknown"
    assert not found.drift


def test_half_of_the_answers_are_enough_and_fewer_are_not() -> None:
    every = responses(WrongMover())
    hidden = np.full_like(every[0].shown, np.nan)

    def without(lost: int) -> ControlResult:
        forward = [one for one in every if one.control == "forward"]
        kept = [replace(one, shown=hidden) if n < lost else one for n, one in enumerate(forward)]
        return by_name(estimate([*kept, *(one for one in every if one.control != "forward")]))["forward"]

    assert (without(6).status, without(6).decoded) == ("follows", 6)
    assert without(7).status == "unknown"


def test_random_motion_does_not_follow() -> None:
    rng = np.random.default_rng(3)
    walked = [
        replace(one, shown=np.cumsum(rng.normal(0, 0.03, one.shown.shape), axis=0)) for one in responses(WrongMover())
    ]
    found = estimate(walked).controls
    assert not [one.control for one in found if one.status == "follows"]
    assert [one.status for one in found].count("does not follow") >= 6
    assert all(one.reason and one.gain is None for one in found)


def test_motion_that_starts_disagree_about_goes_either_way_and_a_few_that_agree_are_too_few() -> None:
    factors = {"start-0": 0.1, "start-1": 1.9}

    def forward(signs: dict[str, float]) -> ControlResult:
        told = [replace(one, shown=one.shown * signs[one.start]) for one in responses(WrongMover(), starts=2)]
        return by_name(estimate(told))["forward"]

    agreed, torn = forward(factors), forward({"start-0": -0.8, "start-1": 1.0})
    assert (agreed.status, agreed.gain) == ("unknown", None)
    assert "over 2 start images; ask from more" in agreed.reason
    assert (torn.status, torn.gain) == ("does not follow", None)
    assert "either way" in torn.reason


def test_a_model_with_its_own_speed_is_told_from_one_that_does_what_is_asked() -> None:
    found = estimate(responses(WrongMover(fixed_m=0.06)))
    assert (found.moving.whose, found.turning.whose) == ("own", "own")
    forward = by_name(found)["forward"]
    assert forward.a_frame is not None
    assert abs(forward.a_frame / 0.06 - 1) < 0.05


def test_motion_without_controls_is_taken_off() -> None:
    found = estimate(responses(WrongMover({"forward": 0.5}, drift_m=0.02)))
    assert abs(found.drift["forward"].mean - 0.02) < 0.001
    assert by_name(found)["forward"].gain is not None
    assert abs(by_name(found)["forward"].gain.mean / 0.5 - 1) < 0.05  # type: ignore[union-attr]
    only = estimate(responses(WrongMover(dict.fromkeys((*GAINS, "pitch_down"), 0.0), drift_m=0.05)))
    assert {one.status for one in only.controls} == {"does not follow"}


def test_diagonals_tell_what_is_left_of_each_control() -> None:
    found = estimate(responses(WrongMover(diagonal=0.7)))
    assert set(found.together) == {"forward+left", "back+right", "forward+yaw_left", "yaw_right+pitch_down"}
    assert all(abs(left.mean - 0.7) < 0.05 for parts in found.together.values() for left in parts.values())


def test_cross_talk_is_told_beside_the_control() -> None:
    forward = by_name(estimate(responses(WrongMover(leak=0.2))))["forward"]
    frames_worth = 0.2 * 0.05 / math.radians(1.0)
    assert abs(forward.beside["yaw"].mean / frames_worth - 1) < 0.05
    assert abs(forward.beside["pitch"].mean) < 0.05


@pytest.mark.parametrize("space", SPACES)
def test_every_space_is_asked_what_its_axes_can_express(space: str) -> None:
    found = by_name(estimate(responses(WrongMover({"forward": 0.4}, control="actions"), starts=2, space=space)))
    assert ("left" in found) == ("back" in found) == (space == "walk-look")
    assert ("pitch_up" in found) == (space != "nav-steps")
    assert abs(found["forward"].gain.mean / 0.4 - 1) < 0.05  # type: ignore[union-attr]
    assert found["yaw_right"].status == "follows"


def test_one_start_has_a_mean_and_no_interval() -> None:
    gain = by_name(estimate(responses(WrongMover(), starts=1)))["forward"].gain
    assert gain is not None
    assert (gain.low, gain.high, gain.n) == (None, None, 1)


def test_displacement_by_hand() -> None:
    """One metre ahead, a quarter turn left, one metre ahead: two metres forward in the walker's own frame."""
    world = [
        pose_from_yaw_pitch((1.0, 0.0, 0.0), 0.0),
        pose_from_yaw_pitch((1.0, 0.0, 0.0), math.pi / 2),
        pose_from_yaw_pitch((1.0, 1.0, 0.5), math.pi / 2, 0.2),
    ]
    shown = displacement(relative(pose_from_yaw_pitch((0, 0, 0), 0.0), np.stack(world)))
    assert np.allclose(shown[-1], [2.0, 0.0, 0.5, math.pi / 2, 0.2, 0.0])


def test_displacement_passes_over_gaps_and_does_not_depend_on_the_start() -> None:
    base = pose_from_yaw_pitch((5.0, -2.0, 1.0), 2.0)
    path = np.stack([pose_from_yaw_pitch((0.1 * t, 0.05 * t, 0.0), 0.02 * t, -0.01 * t) for t in range(1, 9)])
    level = pose_from_yaw_pitch((0, 0, 0), 0.0)
    plain = displacement(relative(level, path))
    moved = displacement(relative(base, base @ relative(level, path)))
    assert np.allclose(plain, moved)
    holed = relative(level, path)
    holed[3] = np.nan
    assert np.isnan(displacement(holed)[3]).all()
    assert np.allclose(displacement(holed)[-1], plain[-1], atol=1e-3)
    with pytest.raises(ShapeError):
        displacement(np.eye(4))


def test_a_slope_by_hand_and_by_numpy() -> None:
    course = expected(np.array([1.0, 1.0, 0.0, 0.0]), 1)
    assert course.tolist() == [0.0, 1.0, 2.0, 2.0]
    shown = np.array([0.0, 0.4, 1.1, np.nan])
    known = np.isfinite(shown)
    wanted = np.linalg.lstsq(course[known, None], shown[known], rcond=None)[0][0]
    assert slope(course, shown) == pytest.approx(wanted) == pytest.approx((0.4 + 2.2) / 5)
    assert slope(np.zeros(4), shown) is None
