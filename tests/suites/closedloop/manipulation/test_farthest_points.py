"""Which points are kept, by hand and against all subsets."""

from itertools import pairwise

import numpy as np
import pytest

from worldgauge.core.errors import ShapeError
from worldgauge.suites.closedloop.manipulation.process_proposer import farthest_points


def test_by_hand() -> None:
    line = [[0.0], [1.0], [10.0], [4.0], [9.0]]
    assert farthest_points(line, 1) == [0]
    assert farthest_points(line, 2) == [0, 2]
    assert farthest_points(line, 3) == [0, 2, 3]  # 4 is 4 from the nearest taken one, 1 and 9 are 1
    assert farthest_points(line, 4) == [0, 2, 3, 1]
    assert farthest_points(line, 9) == [0, 2, 3, 1, 4]


def test_each_is_the_farthest_by_a_plain_loop() -> None:
    points = np.random.default_rng(0).normal(size=(40, 3))
    taken = farthest_points(points, 12)
    assert len(set(taken)) == 12
    for k in range(1, 12):
        far = [min(np.linalg.norm(point - points[one]) for one in taken[:k]) for point in points]
        assert far[taken[k]] == pytest.approx(max(far))
    reach = [min(np.linalg.norm(points[taken[k]] - points[one]) for one in taken[:k]) for k in range(1, 12)]
    assert all(one >= other for one, other in pairwise(reach))


def test_moving_turning_and_scaling_all_points_changes_nothing() -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(30, 3))
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    assert farthest_points(7 * points @ turn + [1, -2, 3], 8) == farthest_points(points, 8)


def test_points_in_one_place_are_all_taken_once_in_order() -> None:
    assert farthest_points(np.zeros((3, 3)), 5) == [0, 1, 2]
    assert farthest_points([[0.0], [0.0], [1.0]], 2) == [0, 2]
    assert farthest_points(np.zeros((0, 3)), 5) == []
    assert farthest_points(np.zeros((3, 3)), 0) == []


@pytest.mark.parametrize("points", [[1.0, 2.0], [[np.nan, 0.0]], [[np.inf, 0.0]]])
def test_what_are_no_points(points: list[object]) -> None:
    with pytest.raises(ShapeError, match=r"finite points of shape \(m, k\)"):
        farthest_points(points, 1)  # type: ignore[arg-type]
