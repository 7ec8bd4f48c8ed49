"""When a reconstruction may be believed, and whether a camera moves at all."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from worldgauge.core.geometry import pose_from_yaw_pitch
from worldgauge.perception.decoders import DecodedPath, DecodeRequest
from worldgauge.perception.decoders._reconstruction import Model, difference, elect
from worldgauge.perception.decoders.frames import (
    PathQuality,
    anchor_too_far,
    displacement_px,
    from_start,
    judge,
    prefix,
    walkable,
)
from worldgauge.perception.decoders.poses import ground_path

SOUND = PathQuality(np.ones(20, bool), True, 0.5, 300.0, 0.6)


def without(*missing: int) -> np.ndarray:
    placed = np.ones(20, bool)
    placed[list(missing)] = False
    return placed


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({}, "ok"),
        ({"registered": without(5, 6)}, "ok"),
        ({"registered": without(5, 6, 7)}, "partial"),
        ({"registered": without(19)}, "partial"),
        ({"registered": without(*range(10, 20))}, "partial"),
        ({"registered": without(*range(9, 20))}, "failed"),
        ({"registered": without(0)}, "failed"),
        ({"registered": np.zeros(0, bool)}, "failed"),
        ({"anchor": False}, "no_scale"),
        ({"anchor": None}, "ok"),
        ({"reprojection_px": 2.0}, "ok"),
        ({"reprojection_px": 2.01}, "failed"),
        ({"reprojection_px": float("nan")}, "failed"),
        ({"points_per_frame": 10.0}, "ok"),
        ({"points_per_frame": 9.9}, "failed"),
        ({"focal_widths": 0.4}, "ok"),
        ({"focal_widths": 0.39}, "failed"),
        ({"focal_widths": 2.51}, "failed"),
        # A given field of view is the middle of what is allowed: 107.5 degrees are 0.3666 widths.
        ({"focal_widths": 0.367, "given_widths": 0.3666}, "ok"),
        ({"focal_widths": 3.0, "given_widths": 2.9}, "ok"),
        ({"focal_widths": 0.6, "given_widths": 0.3666}, "failed"),
        ({"focal_widths": 0.5, "given_widths": 0.71}, "failed"),
    ],
)
def test_gates(changed: dict, status: str) -> None:
    found, reason = judge(replace(SOUND, **changed))
    assert found == status
    assert bool(reason) == (status != "ok")


def test_prefixes_and_fields_of_view_that_do_not_fit() -> None:
    assert "Give the field of view" in judge(replace(SOUND, focal_widths=0.35))[1]
    said = judge(replace(SOUND, focal_widths=0.35, given_widths=0.6))[1]
    assert said == "found a field of view of 110 degrees; 80 is given. Check the given value"
    assert (prefix(np.array([True, True, False, True])), prefix(np.array([True, True]))) == (2, 2)
    assert prefix(np.array([False, True])) == 0
    _, shown, fault = from_start(np.arange(33) < 3, np.arange(33), np.arange(0, 33, 4))
    assert (shown.tolist(), fault) == ([0], "only 3 frames from the start were placed")


@pytest.mark.parametrize(("back", "sound"), [(0.5, True), (3.9, True), (4.1, False), (307.8, False)])
def test_an_anchor_farther_away_than_the_path_is_long_gives_no_scale(back: float, sound: bool) -> None:
    poses = pose_from_yaw_pitch(np.array([[0.0, 0, 0], [2, 0, 0], [2, 2, 0], [-back, 0, 0]]), np.zeros(4))
    path = ground_path(poses[:3], poses[3], 1.0)
    assert ("too far for a scale" in anchor_too_far(path)) == (not sound)
    assert anchor_too_far(path._replace(anchor_estimated=None)) == ""


@pytest.mark.parametrize(
    ("count", "points", "said"),
    [
        (1, 1, "only 1 frame from the start was placed"),
        (2, 2, "only 2 frames from the start were placed"),
        (3, 3, ""),
        (12, 12, ""),
    ],
)
def test_one_or_two_frames_from_the_start_are_no_path(count: int, points: int, said: str) -> None:
    placed = np.arange(20) != count
    kept, shown, fault = from_start(placed, np.arange(20), np.arange(20))
    assert (len(kept), len(shown), fault) == (count, points, said)


@pytest.mark.parametrize(
    ("metres", "fps", "limit", "status"),
    [
        (2.9, 1.0, 3.0, "ok"),
        (3.1, 1.0, 3.0, "failed"),
        (3.1, 0.5, 3.0, "ok"),
        (3.1, 0.0, 3.0, "ok"),
        (3.1, float("nan"), 3.0, "ok"),
        (3.1, 1.0, 5.6, "ok"),
        (300.0, 1.0, None, "ok"),
    ],
)
def test_a_path_that_is_too_fast_for_the_data_is_failed(
    metres: float, fps: float, limit: float | None, status: str
) -> None:
    positions = np.array([[0, 0, 0], [0, 0, metres], [0, 0, 0]])
    frames = np.array([4, 5, 6])
    given = DecodedPath("ok", "d", xy=positions[:, [0, 2]], positions=positions, frame_indices=frames, scale=2.0)
    request = DecodeRequest(SimpleNamespace(fps=fps), None, None, max_speed_m_s=limit)
    path = walkable(given, request)
    assert path.status == status
    assert (path.xy is None, "m/s" in path.reason) == (status == "failed",) * 2
    assert (path.positions is positions, path.scale) == (True, 2.0)
    shape = replace(given, status="no_scale", xy=None)
    assert walkable(shape, request) is shape


def model(bend: float, observations: int = 100, scale: float = 1.0, anchor_m: float = 1.0) -> Model:
    """Anchor and ten cameras on an arc of 4 m that turns by `bend` radians."""
    yaw = np.r_[0.0, np.linspace(0, bend, 10)]
    steps = np.stack([np.cos(yaw[1:-1]), np.sin(yaw[1:-1]), np.zeros(9)], -1) * 4 / 9
    at = np.concatenate([[[-anchor_m, 0.0, 0.0], [0.0, 0.0, 0.0]], np.cumsum(steps, axis=0)]) * scale
    return Model(dict(enumerate(pose_from_yaw_pitch(at, yaw))), 400.0, 0.5, 50.0, observations)


def test_models_differ_by_their_paths_and_by_an_anchor_that_matters() -> None:
    assert difference(model(0.5), model(0.5, scale=7.0), anchored=True) == pytest.approx(0.0, abs=1e-12)
    assert difference(model(0.5), model(0.9), anchored=True) > 0.05
    assert difference(model(0.5), model(0.9), anchored=True) == difference(model(0.9), model(0.5), anchored=True)
    assert difference(model(0.5), model(0.5, anchor_m=0.5), anchored=True) > 0.3
    shape = {i: pose for i, pose in model(0.5).poses.items() if i > 0}
    far = {i: pose for i, pose in model(0.5, anchor_m=0.5, scale=3.0).poses.items() if i > 0}
    one, other = replace(model(0.5), poses=shape), replace(model(0.5), poses=far)
    assert difference(one, other, anchored=False) == pytest.approx(0.0, abs=1e-9)
    assert difference(one, other, anchored=True) == np.inf


def test_elections_need_two_models_that_agree() -> None:
    drawn = []

    def ballot(number: int, bend: float):
        return lambda: drawn.append(number) or model(bend)

    election = elect([ballot(0, 0.5), ballot(1, 0.5), ballot(2, 0.9), ballot(3, 0.9)], anchored=True)
    assert election.agreed
    assert (drawn, election.starts) == ([0, 1], 2)
    votes = [model(0.1, 50), model(0.9, 80), model(0.1, 50), model(0.9, 70)]
    election = elect([lambda vote=vote: vote for vote in votes], anchored=True)
    assert election.agreed
    assert election.model is votes[1]
    assert election.starts == 4
    votes = [model(bend, int(100 * bend)) for bend in (0.1, 0.6, 1.1, 1.6)]
    election = elect([lambda vote=vote: vote for vote in votes], anchored=True)
    assert not election.agreed
    assert election.model is votes[3]
    assert elect([lambda: None] * 4, anchored=True) is None
    alone = elect([lambda: votes[0], *[lambda: None] * 3], anchored=True)
    assert (alone.agreed, alone.difference) == (False, None)


@pytest.mark.parametrize("scale", [0.003, 0.5, 9.0])
def test_models_with_the_anchor_at_different_distances_have_no_scale(scale: float) -> None:
    """One path, and each start places the anchor elsewhere: the shape stands, the scale does not."""
    votes = [model(0.5, anchor_m=scale**n) for n in range(1, 5)]
    election = elect([lambda vote=vote: vote for vote in votes], anchored=True)
    assert (election.agreed, election.starts, sorted(election.model.poses)) == (True, 4, list(range(1, 11)))


def picture(shift: float, seed: int = 0) -> np.ndarray:
    """Blurred noise, moved to the right by `shift` pixels."""
    import cv2

    noise = np.random.default_rng(seed).normal(size=(360, 700)).astype(np.float32)
    wide = cv2.GaussianBlur(noise, (0, 0), 3)
    wide = 128 + 40 * wide / wide.std()
    moved = cv2.warpAffine(wide, np.array([[1.0, 0.0, shift], [0.0, 1.0, 0.0]]), (700, 360), flags=cv2.INTER_CUBIC)
    return np.clip(moved[:, 30:670], 0, 255).astype(np.uint8)


@pytest.mark.parametrize(("shift", "still"), [(0.0, True), (0.3, True), (0.7, False), (12.0, False)])
def test_stillness_is_half_a_pixel(shift: float, still: bool) -> None:
    frames = [picture(0.0), picture(shift), picture(0.0)]
    assert (displacement_px(frames) < 0.5) == still
    if shift < 1:
        assert displacement_px(frames) == pytest.approx(shift, abs=0.1)


def test_displacement_is_of_the_picture_and_not_of_a_thing_in_it() -> None:
    assert displacement_px([picture(s) for s in (0, 5, 10, 5, 0)]) >= 0.5
    assert displacement_px([picture(0.0), picture(0.0, seed=1)]) > 0.5
    assert displacement_px([np.full((360, 640), 90, np.uint8)] * 3) is None
    assert displacement_px([picture(0.0)]) == 0.0
    second = picture(0.0)
    second[100:200, 100:300] = picture(0.0, seed=3)[100:200, 100:300]
    assert displacement_px([picture(0.0), second]) < 0.1
