"""The answer to a key: by hand, beside a plain search, whatever the speed, and where nothing answers."""

import numpy as np
import pytest

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import pose_from_yaw_pitch
from worldgauge.suites.mind.metrics.action_accuracy import (
    AFTER,
    BEFORE,
    LATEST,
    LEAST_LIKENESS,
    Answer,
    camera_steps,
    key_answers,
    key_latency,
    keys_answered,
)

FPS = 24.0


def held(seed: int, n: int) -> np.ndarray:
    """Key codes of phases of 10 to 40 frames."""
    rng = np.random.default_rng(seed)
    rows: list[list[int]] = []
    while len(rows) < n:
        rows += [[*rng.integers(0, 3, 2).tolist(), 0, int(rng.integers(0, 3))]] * int(rng.integers(10, 40))
    return np.array(rows[:n], np.uint8)


def driven(keys: np.ndarray, *, gain: float = 1.0, delay: int = 0, drift: float = 0.0) -> np.ndarray:
    """Poses of a camera that does what keys say; row i leads to frame i."""
    late = np.concatenate([np.zeros((delay, 4), np.uint8), keys])[: len(keys)].astype(float)
    sign = np.where(late == 2, -1.0, late)
    yaw = np.cumsum(gain * np.radians(1.0) * sign[:, 3] + drift)
    ahead, left = np.stack([np.cos(yaw), np.sin(yaw)], -1), np.stack([-np.sin(yaw), np.cos(yaw)], -1)
    xy = np.cumsum(gain * 0.08 * (sign[:, :1] * ahead + sign[:, 1:2] * left), 0)
    return pose_from_yaw_pitch(np.column_stack([xy, np.zeros(len(xy))]), yaw)


def test_one_change_by_hand() -> None:
    keys = np.zeros((100, 4), np.uint8)
    keys[30:, 0] = 1  # forward from row 30 on: step 29 is the first that moves
    found = key_answers(driven(keys), driven(keys, delay=5), keys)
    assert [(one.step, one.keys, one.frames) for one in found] == [(29, "walk", 5)]
    assert found[0].likeness == pytest.approx(1)
    assert key_latency(driven(keys), driven(keys, delay=5), keys, FPS) == pytest.approx(5 / 24)
    assert keys_answered(driven(keys), driven(keys, delay=5), keys) == 1


@pytest.mark.parametrize("delay", [0, 1, 7, LATEST])
def test_a_delay_is_found_exactly_whatever_gain_and_drift(delay: int) -> None:
    keys = held(2, 400)
    shown = driven(keys, gain=0.3, delay=delay, drift=0.004)
    found = key_answers(driven(keys), shown, keys)
    assert len(found) > 12
    assert {one.keys for one in found} == {"walk", "look"}
    assert {one.frames for one in found} == {delay}


def test_answers_equal_those_of_a_plain_search() -> None:
    keys = held(5, 200)
    rng = np.random.default_rng(1)
    shown = driven(keys, delay=3)
    shown[:, :3, 3] += rng.normal(0, 0.01, (200, 3))
    true, imagined = camera_steps(driven(keys)), camera_steps(shown)
    for one in key_answers(driven(keys), shown, keys):
        columns = slice(0, 3) if one.keys == "walk" else slice(3, 6)
        here = slice(one.step - BEFORE, one.step + AFTER)
        best = []
        for lag in range(LATEST + 1):
            a, b = true[here, columns], imagined[here.start + lag : here.stop + lag, columns]
            a, b = a - a.mean(0), b - b.mean(0)
            power = (a**2).sum() * (b**2).sum()
            best.append((a * b).sum() / np.sqrt(power) if power > 1e-20 else 0.0)
        assert one.likeness == pytest.approx(max(best))
        assert one.frames == (int(np.argmax(best)) if max(best) >= LEAST_LIKENESS else None)


def test_the_world_frame_and_size_of_the_imagined_path_do_not_count() -> None:
    keys = held(3, 300)
    shown = driven(keys, delay=4)
    moved = pose_from_yaw_pitch((3.0, 4.0, 5.0), 1.0) @ shown
    moved[:, :3, 3] *= 40
    assert [one[:3] for one in key_answers(driven(keys), moved, keys)] == [
        one[:3] for one in key_answers(driven(keys), shown, keys)
    ]


def test_rest_and_chance_do_not_answer() -> None:
    keys = held(4, 3000)
    true = driven(keys)
    assert keys_answered(true, np.tile(np.eye(4), (3000, 1, 1)), keys) == 0
    assert key_latency(true, np.tile(np.eye(4), (3000, 1, 1)), keys, FPS) is None
    rng = np.random.default_rng(0)
    noisy = pose_from_yaw_pitch(np.cumsum(rng.normal(0, 0.1, (3000, 3)), 0), np.cumsum(rng.normal(0, 0.02, 3000)))
    share = keys_answered(true, noisy, keys)
    assert share is not None
    assert share < 0.1


def test_what_cannot_be_judged_is_left_out() -> None:
    keys = held(2, 200)
    true = driven(keys)
    still = np.tile(np.eye(4), (200, 1, 1))
    assert key_answers(still, true, keys) == []  # a walker before a wall: nothing changes
    assert keys_answered(still, true, keys) is None
    assert key_latency(still, true, keys, FPS) is None
    gap = true.copy()
    gap[100] = np.nan
    near = [one.step for one in key_answers(true, gap, keys)]
    assert all(not one - BEFORE <= 100 <= one + AFTER + LATEST for one in near)
    assert near
    assert key_answers(true[:40], true[:40], keys[:40]) == []
    for shown, codes in ((true[:-1], keys), (true, keys[:-1]), (true, keys[:, :3])):
        with pytest.raises(ShapeError):
            key_answers(true, shown, codes)
    assert isinstance(key_answers(true, true, keys)[0], Answer)
