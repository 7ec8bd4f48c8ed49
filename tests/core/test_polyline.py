"""Places along a polyline: by hand, by walking it in tiny steps, however it is turned, and where there is no way."""

from itertools import pairwise

import numpy as np
import pytest

from worldgauge.core import geometry
from worldgauge.core.errors import ShapeError

CORNER = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 5.0]])


def test_by_hand() -> None:
    np.testing.assert_array_equal(geometry.along(CORNER), [0, 5, 6])
    np.testing.assert_allclose(geometry.at(CORNER, [0, 2.5, 5.5, 6]), [[0, 0], [1.5, 2], [3, 4.5], [3, 5]])
    np.testing.assert_array_equal(geometry.at(CORNER, [-1, 7]), CORNER[[0, -1]])
    assert geometry.at(CORNER, 1.0).shape == (2,)


def test_as_when_it_is_walked_in_tiny_steps() -> None:
    points = np.random.default_rng(3).normal(size=(12, 3)).cumsum(0)
    fine = np.concatenate([np.linspace(a, b, 2000) for a, b in pairwise(points)])
    walked = np.cumsum(np.sqrt((np.diff(fine, axis=0) ** 2).sum(1)))
    for metres in (0.1, 3.3, 0.7 * walked[-1]):
        there = fine[1:][np.argmax(walked >= metres)]
        np.testing.assert_allclose(geometry.at(points, metres), there, atol=0.01)
    assert geometry.along(points)[-1] == pytest.approx(geometry.length(points))


def test_turned_moved_and_with_points_added_it_is_the_same_way() -> None:
    rng = np.random.default_rng(4)
    points = rng.normal(size=(9, 2))
    metres = np.linspace(0, geometry.length(points), 20)
    turn, move = np.array([[0.0, -1.0], [1.0, 0.0]]), np.array([5.0, -2.0])
    np.testing.assert_allclose(
        geometry.at(points @ turn.T + move, metres), geometry.at(points, metres) @ turn.T + move, atol=1e-12
    )
    denser = np.insert(points, 3, (points[2] + points[3]) / 2, axis=0)
    np.testing.assert_allclose(geometry.at(denser, metres), geometry.at(points, metres), atol=1e-12)


def test_without_a_way() -> None:
    one = np.array([[2.0, 3.0]])
    np.testing.assert_array_equal(geometry.along(one), [0])
    np.testing.assert_array_equal(geometry.at(one, [0.0, 1.0]), [[2, 3], [2, 3]])
    np.testing.assert_array_equal(geometry.at(np.repeat(one, 3, 0), 0.5), [2, 3])
    for bad in (np.zeros((0, 2)), np.zeros(3), np.array([[0.0, np.nan]])):
        with pytest.raises(ShapeError):
            geometry.along(bad)
        with pytest.raises(ShapeError):
            geometry.at(bad, 0.0)
