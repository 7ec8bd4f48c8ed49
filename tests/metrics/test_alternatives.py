"""Which alternative a frame shows, and twins: by hand, beside plain loops, what changes nothing, and at the limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from worldgauge.core.errors import DataError, ShapeError
from worldgauge.metrics.alternatives import shown_alternative, twin_accuracy, twin_ahead, twin_frames, twin_gain

DARK = np.zeros((2, 2, 3), np.uint8)


def lit(*pixels: tuple[int, int], level: int = 100) -> np.ndarray:
    frame = DARK.copy()
    for pixel in pixels:
        frame[pixel] = level
    return frame


def noise(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (*shape, 3), np.uint8)


def reading(frame: np.ndarray, alternatives: np.ndarray, null: int) -> tuple[int | None, Any]:
    """Index and fit."""
    shown = shown_alternative(frame, alternatives, null)
    return shown.index, pytest.approx(shown.fit)


def test_shown_alternatives_by_hand() -> None:
    # The alternatives differ in the upper row; its two pixels are lit one at a time, by 100 levels in 3 channels.
    three = np.stack([DARK, lit((0, 0)), lit((0, 1))])
    assert reading(three[1], three, 0) == (1, 0.0)
    # 60 of 100 levels: 40^2 from the alternative, 100^2 between it and null.
    assert reading(lit((0, 0), level=60), three, 0) == (1, 0.16)
    # A frame of null is judged by the nearest of the others: 20^2 of 100^2.
    assert reading(lit((0, 0), level=20), three, 0) == (0, 0.04)
    # Half way is neither.
    half = shown_alternative(lit((0, 0), level=50), three, 0)
    assert half.index is None
    assert half.fit == pytest.approx(0.25)
    assert not half.readable
    # Another picture: 200 in both pixels is (100^2 + 200^2) from either.
    far = shown_alternative(lit((0, 0), level=250), three, 0)
    assert far.index == 1
    assert far.fit == pytest.approx(2.25)
    assert not far.readable
    # A drift of 7 levels is measured in the lower row, where all agree, and removed.
    assert reading(three[2] + np.uint8(7), three, 0) == (2, 0.0)
    # Differences of up to 6 levels are not asked about.
    rounded = three.copy()
    rounded[1, 1] += 6
    assert reading(rounded[2], rounded, 0) == (2, 0.0)


def loops(frame: np.ndarray, alternatives: np.ndarray, null: int) -> tuple[int, float]:
    """The same by plain loops over pixels."""
    height, width = frame.shape[:2]
    inside = [
        (y, x)
        for y in range(height)
        for x in range(width)
        if any(int(max(alternatives[:, y, x, c])) - int(min(alternatives[:, y, x, c])) > 6 for c in range(3))
    ]
    outside = [(y, x) for y in range(height) for x in range(width) if (y, x) not in inside]
    drift = [0.0] * 3
    if len(outside) >= 0.01 * height * width:
        drift = [
            sum(float(frame[p][c]) - float(alternatives[null][p][c]) for p in outside) / len(outside) for c in range(3)
        ]

    def squared(one: Any, other: np.ndarray, less: list[float]) -> float:
        return sum((float(one[p][c]) - less[c] - float(other[p][c])) ** 2 for p in inside for c in range(3))

    distances = [squared(frame, each, drift) for each in alternatives]
    nearest = distances.index(min(distances))
    apart = [squared(each, alternatives[null], [0.0] * 3) for each in alternatives]
    least = min(value for k, value in enumerate(apart) if k != null) if nearest == null else apart[nearest]
    return nearest, distances[nearest] / least


@pytest.mark.parametrize("seed", range(6))
def test_shown_alternatives_equal_plain_loops(seed: int) -> None:
    alternatives = np.repeat(noise(seed, 1, 9, 12), 5, axis=0)
    alternatives[:, 2:7, 3:9] = noise(seed + 100, 5, 5, 6)
    frame = np.clip(alternatives[seed % 5] * 0.5 + noise(seed + 200, 9, 12) * 0.5, 0, 255).astype(np.uint8)
    index, fit = loops(frame, alternatives, null=seed % 3)
    assert reading(frame, alternatives, seed % 3) == (index, fit)


def test_what_does_not_change_a_reading() -> None:
    alternatives = np.repeat(noise(1, 1, 9, 12) // 2, 4, axis=0)
    alternatives[:, 2:7, 3:9] = noise(2, 4, 5, 6) // 2
    frame = (alternatives[2] * 0.7 + noise(3, 9, 12) * 0.1).astype(np.uint8)
    before = shown_alternative(frame, alternatives, 0)
    assert before.readable
    colour = np.array([30, 0, 60], np.uint8)
    assert reading(frame + colour, alternatives, 0) == (before.index, before.fit)
    order = [3, 2, 0, 1]
    assert reading(frame, alternatives[order], 2) == (1, before.fit)
    # A change across the line between null and an alternative moves a frame from both alike.
    three = np.stack([DARK, lit((0, 0)), lit((0, 1), (0, 0))])
    for level in (0, 10, 45):
        assert shown_alternative(lit((0, 0), level=90) + lit((0, 1), level=level), three, 0).index == 1


def test_the_limits_of_a_reading() -> None:
    two = np.stack([DARK, lit((0, 0))])
    for few in (two[:1], np.stack([DARK, DARK]), np.stack([DARK, DARK + np.uint8(6)])):
        with pytest.raises(DataError, match="no pixel differs"):
            shown_alternative(DARK, few, 0)
    with pytest.raises(DataError, match="equals `null`"):
        shown_alternative(DARK, np.stack([DARK, DARK, lit((0, 0))]), 0)
    assert reading(two[1], two[[0, 1, 1]], 0) == (None, 0.0), "equal alternatives are equally near"
    for frame, each, null in ((noise(1, 2, 3), two, 0), (DARK, two, 2), (DARK, two, -1), (DARK, two[0], 0)):
        with pytest.raises(ShapeError, match="alternatives"):
            shown_alternative(frame, each, null)
    with pytest.raises(ShapeError, match="uint8"):
        shown_alternative(DARK.astype(float), two, 0)


def twins(seed: int) -> list[np.ndarray]:
    return [noise(seed + n, 3, 5, 7) for n in range(4)]


def test_twins_by_hand() -> None:
    # Truths of one pixel at 0 and 100 levels. Twin a is drawn at 40, nearer to its own; b at 45, nearer to the other's.
    low, high = (np.full((1, 1, 1, 3), level, np.uint8) for level in (0, 100))
    a, b = (np.full((1, 1, 1, 3), level, np.uint8) for level in (40, 45))
    assert twin_accuracy(a, b, low, high) == 0.5
    assert twin_gain(a, b, low, high) == pytest.approx(0.05)  # 5 of 100 levels
    assert twin_accuracy(np.full_like(a, 50), high, low, high) == 0.75, "equally near is half"
    assert twin_ahead(a, b) == 25.0
    # A frame whose truths differ by one level does not count, one by two does.
    low, high = np.zeros((2, 1, 1, 3), np.uint8), np.array([1, 2], np.uint8).reshape(2, 1, 1, 1).repeat(3, -1)
    assert [frame is None for frame in twin_frames(low, high, low, high)] == [True, False]
    assert twin_gain(low, high, low, high) == 1.0


@pytest.mark.parametrize("seed", range(4))
def test_twins_equal_plain_loops_and_their_margins_add_up(seed: int) -> None:
    a, b, real_a, real_b = (frames.astype(int) for frames in twins(seed))
    right, along, apart = 0.0, 0, 0
    for n in range(3):
        near = {
            (drawn, real): sum((int(x) - int(y)) ** 2 for x, y in zip(frame[n].flat, truth[n].flat, strict=True))
            for drawn, frame in (("a", a), ("b", b))
            for real, truth in (("a", real_a), ("b", real_b))
        }
        margins = near["a", "b"] - near["a", "a"], near["b", "a"] - near["b", "b"]
        right += sum(1.0 if m > 0 else 0.5 if m == 0 else 0.0 for m in margins) / 2
        inner = sum(int(x) * int(y) for x, y in zip((a - b)[n].flat, (real_a - real_b)[n].flat, strict=True))
        assert sum(margins) == 2 * inner
        along += inner
        apart += int(((real_a - real_b)[n] ** 2).sum())
    assert twin_accuracy(*twins(seed)) == pytest.approx(right / 3)
    assert twin_gain(*twins(seed)) == pytest.approx(along / apart)


def test_what_twins_are_worth() -> None:
    a, b, real_a, real_b = twins(9)
    assert (twin_accuracy(real_a, real_b, real_a, real_b), twin_gain(real_a, real_b, real_a, real_b)) == (1.0, 1.0)
    assert (twin_accuracy(real_b, real_a, real_a, real_b), twin_gain(real_b, real_a, real_a, real_b)) == (0.0, -1.0)
    assert (twin_accuracy(a, a, real_a, real_b), twin_gain(a, a, real_a, real_b)) == (0.5, 0.0)
    # Both twins of all: the order of twins does not matter.
    assert twin_accuracy(a, b, real_a, real_b) == twin_accuracy(b, a, real_b, real_a)
    assert twin_gain(a, b, real_a, real_b) == twin_gain(b, a, real_b, real_a)
    # One picture added to both does not change the gain.
    shift = noise(5, 3, 5, 7) // 4
    half_a, half_b = a // 2, b // 2
    before = twin_gain(half_a, half_b, real_a, real_b)
    assert twin_gain(half_a + shift, half_b + shift, real_a, real_b) == pytest.approx(before)
    # A model that mixes in the mean of both truths shows that much less.
    mean = real_a / 2 + real_b / 2
    mixed_a, mixed_b = ((0.7 * one + 0.3 * mean).round().astype(np.uint8) for one in (real_a, real_b))
    assert twin_gain(mixed_a, mixed_b, real_a, real_b) == pytest.approx(0.7, abs=0.002)


def test_the_limits_of_twins() -> None:
    a, b, real_a, real_b = twins(1)
    assert twin_accuracy(a, b, real_a, real_a) is twin_gain(a, b, real_a, real_a) is None, "a wall before both"
    assert twin_accuracy(a[:0], b[:0], a[:0], b[:0]) is twin_ahead(a[:0], b[:0]) is None
    for function in (twin_accuracy, twin_gain):
        with pytest.raises(ShapeError, match="length"):
            function(a[:2], b, real_a, real_b)
        with pytest.raises(ShapeError, match="shape"):
            function(a[:, :4], b, real_a, real_b)
        with pytest.raises(ShapeError, match="uint8"):
            function(a.astype(float), b, real_a, real_b)
    with pytest.raises(ShapeError, match="differ"):
        twin_ahead(a, b[:2])
    with pytest.raises(ShapeError, match="uint8"):
        twin_ahead(a[..., 0], b[..., 0])
