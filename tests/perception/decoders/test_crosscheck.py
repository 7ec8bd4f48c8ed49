"""Disagreement of two paths: by hand, against another optimiser, what must not matter, and degenerate paths."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from worldgauge.core.errors import ShapeError
from worldgauge.core.umeyama import align
from worldgauge.perception.decoders.crosscheck import align_path, disagreement

CURVE = np.stack([np.sin(np.linspace(0, 1.5, 9)), np.zeros(9), np.linspace(0, 4, 9)], -1)


def test_disagreement_is_the_largest_distance_after_the_best_alignment() -> None:
    # A straight line and a roof over it.
    line = np.array([[-1.0, 0, 0], [0, 0, 0], [1, 0, 0]])
    roof = np.array([[-1.0, 0, 0], [0, 0, 1.5], [1, 0, 0]])
    # Centred, the roof is (-1, -0.5), (0, 1), (1, -0.5). The line over it keeps its size (2 / 2) and misses it by 0.5,
    # 1 and 0.5: 1 over the length of the roof, 2 sqrt(1 + 1.5^2).
    # The roof over the line shrinks to 2 / (2 + 1.5): (-0.571, -0.286), (0, 0.571), (0.571, -0.286).
    there = 1 / (2 * np.sqrt(3.25))
    back = max(0.571428571, np.hypot(1 - 0.571428571, 0.285714286)) / 2
    assert disagreement(line, roof) == pytest.approx(max(there, back), abs=1e-6)
    rng = np.random.default_rng(0)
    source, target = CURVE + rng.normal(0, 0.1, CURVE.shape), CURVE * 2 + rng.normal(0, 0.1, CURVE.shape)

    def squares(values: np.ndarray) -> float:
        moved = np.exp(values[6]) * Rotation.from_rotvec(values[:3]).apply(source) + values[3:6]
        return float(((moved - target) ** 2).sum())

    theirs = minimize(squares, np.zeros(7), method="BFGS", options={"gtol": 1e-10})
    ours = float(((align_path(source, target).apply(source) - target) ** 2).sum())
    assert ours == pytest.approx(theirs.fun, rel=1e-6)
    umeyama = align(source, target, with_scale=True)
    assert align_path(source, target).apply(source) == pytest.approx(umeyama.apply(source), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.01, 100.0))
def test_unit_heading_origin_and_order_do_not_matter(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    other = CURVE + rng.normal(0, 0.2, CURVE.shape)
    turn = Rotation.from_rotvec(rng.normal(0, 2, 3))
    moved = scale * turn.apply(other) + rng.normal(0, 10, 3)
    expected = disagreement(CURVE, other)
    assert disagreement(CURVE, moved) == pytest.approx(expected, abs=1e-7)
    assert disagreement(moved, CURVE) == pytest.approx(expected, abs=1e-7)
    assert 0 < expected <= 1
    assert disagreement(other, moved) == pytest.approx(0.0, abs=1e-7)


def test_disagreement_of_special_paths() -> None:
    lost = CURVE.copy()
    lost[-2:, 0] += [0.8, 1.6]
    assert disagreement(CURVE, lost) > 0.1
    assert disagreement(CURVE, CURVE + np.random.default_rng(0).normal(0, 0.01, CURVE.shape)) < 0.02
    line = np.linspace(0, 1, 9)[:, None] * [[0.0, 0.0, 4.0]]
    assert disagreement(line, 3 * line[:, ::-1] + 1) == pytest.approx(0.0, abs=1e-9)
    uneven = line.copy()
    uneven[4, 2] += 0.4
    assert 0.05 < disagreement(line, uneven) < 0.15
    assert disagreement(line, CURVE) == pytest.approx(disagreement(CURVE, line))
    assert disagreement(line[:2], line[3:5]) == pytest.approx(0.0, abs=1e-9)
    still = np.full((9, 3), 2.5)
    assert disagreement(still, still + 1) == 0.0
    assert disagreement(still, CURVE) == disagreement(CURVE, still) == 1.0
    helix = np.stack([np.cos(np.linspace(0, 9, 30)), np.sin(np.linspace(0, 9, 30)), np.linspace(0, 2, 30)], -1)
    assert disagreement(helix, helix * [1, 1, -1]) > 0.05


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (CURVE, CURVE[:-1]),
        (CURVE[:, :2], CURVE[:, :2]),
        (CURVE[:1], CURVE[:1]),
        (CURVE, np.where(np.arange(9)[:, None] == 3, np.nan, CURVE)),
    ],
)
def test_what_is_no_pair_of_paths_is_refused(a: np.ndarray, b: np.ndarray) -> None:
    with pytest.raises(ShapeError):
        disagreement(a, b)
