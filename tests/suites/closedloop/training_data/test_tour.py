"""Algorithm 1 on the reference graphs, and its rules on distances worked out by hand."""

import heapq
import itertools
from typing import Any

import numpy as np
import pytest

from support.vectors import cases
from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.suites.closedloop.training_data.walks import (
    PAPER,
    RELEASED,
    Tour,
    TourRules,
    leaf_count,
    leaf_scores,
    point_count,
    ranked,
)


def shortest(edges: dict[int, dict[int, float]], start: int, goal: int) -> list[int]:
    """The smallest of the shortest lists of vertices."""
    queue: list[tuple[float, list[int]]] = [(0.0, [start])]
    done: set[int] = set()
    while queue:
        length, path = heapq.heappop(queue)
        if path[-1] == goal:
            return path
        if path[-1] not in done:
            done.add(path[-1])
            for vertex, metres in edges[path[-1]].items():
                heapq.heappush(queue, (round(length + metres, 6), [*path, vertex]))
    raise AssertionError("no way")


def edges_of(case: dict[str, Any]) -> dict[int, dict[int, float]]:
    edges: dict[int, dict[int, float]] = {vertex: {} for vertex in range(case["n"])}
    for a, b, metres in case["edges_m"]:
        edges[a][b] = edges[b][a] = metres
    return edges


@pytest.mark.parametrize("case", cases("wiw_waypoints", "cases"))
def test_reference_traces(case: dict[str, Any]) -> None:
    expected, metres = case["expected"], np.array(case["geodesic_m"])
    rules = TourRules(alpha=case["alpha"], spacing_m=case["r_f"], visit_radius_m=case["r_f"])
    scores = leaf_scores(metres, case["P"], rules.alpha)
    np.testing.assert_allclose(scores, [expected["leaf_score"][str(v)] for v in case["P"]], atol=1e-6)
    assert list(ranked(metres, case["P"], rules.alpha)) == expected["order"]
    tour = Tour(metres, case["n_leaf"], rules, points=case["P"])
    assert (list(tour.waypoints), list(tour.leaves)) == (expected["W"], expected["U"])
    paths: list[list[int]] = []

    def go(start: int, goal: int) -> np.ndarray:
        paths.append(shortest(edges_of(case), start, goal))
        near: np.ndarray = metres[paths[-1]].min(0)
        return near

    legs = list(tour.legs(go, tour.leaves[case["start_rank"] % len(tour.leaves)]))
    assert legs[0].start == expected["start"]
    assert len(legs) == len(expected["segments"])
    for leg, path, segment in zip(legs, paths, expected["segments"], strict=True):
        assert (leg.start, leg.goal, path) == (segment["start"], segment["goal"], segment["path"])
        assert list(leg.visited) == segment["visited"]
        assert list(leg.waypoints) == segment["W_after"]
        assert list(leg.leaves) == segment["U_after"]
        after = leaf_scores(metres, leg.waypoints, rules.alpha)
        told = [segment["score_after"][str(v)] for v in leg.waypoints]
        np.testing.assert_allclose(after, told, atol=1e-6)
    total = sum(metres[a, b] for path in paths for a, b in itertools.pairwise(path))
    assert total == pytest.approx(expected["total_length_m"], abs=1e-6)


@pytest.mark.parametrize("case", cases("wiw_waypoints", "counts"))
def test_reference_counts(case: dict[str, Any]) -> None:
    paper = TourRules(density_m2=case["rho"], leaf_ratio=case["eta_example"])
    released = TourRules(density_m2=case["rho"], leaf_ratio=case["eta_example"], n_points="min")
    assert point_count(case["area_m2"], paper) == case["paper_n"]
    assert point_count(case["area_m2"], released) == case["released_n"]
    assert leaf_count(case["paper_n"], paper) == case["paper_n_leaf"]
    assert leaf_count(case["released_n"], released) == case["released_n_leaf"]


def test_a_share_that_is_whole_is_not_rounded_up() -> None:
    """In floating point 0.07 * 100 is a little more than 7."""
    assert leaf_count(100, TourRules(leaf_ratio=0.07)) == 7
    assert leaf_count(1, RELEASED) == 1


def test_a_walk_may_start_outside_the_leaves() -> None:
    metres = line(0, 5, 10, 20)
    legs = list(Tour(metres, 1, PAPER, points=[0, 2, 3]).legs(along(metres), 1))
    assert [(leg.start, leg.goal) for leg in legs] == [(1, 0), (0, 2), (2, 3)]


def line(*places: float) -> np.ndarray:
    at = np.array(places)
    return np.abs(at[:, None] - at)


def along(distances: np.ndarray) -> Any:
    """Goes straight to the goal, seeing what is on the way at its two ends."""
    return lambda start, goal: distances[[start, goal]].min(0)


def test_scores_by_hand() -> None:
    np.testing.assert_allclose(leaf_scores(line(0, 1, 5), [0, 1, 2], 2.0), [5 + 6, 4 + 5, 5 + 9])
    assert leaf_scores(line(0, 1, 5), [1], 2.0).tolist() == [0.0]


def test_equal_scores_are_ranked_by_number_whatever_the_order_of_their_sums() -> None:
    rng = np.random.default_rng(0)
    circle = np.arange(60)
    steps = np.abs(circle[:, None] - circle)
    around = np.minimum(steps, 60 - steps) * 0.1
    assert ranked(around, rng.permutation(60).tolist(), 1.7) == tuple(range(60))


def test_the_next_goal_is_the_nearest_or_the_one_2_m_away() -> None:
    metres = line(0, 1, 2.1, 30)
    for next_goal, goals in (("nearest", [2, 1, 0]), ("near_2m", [2, 0, 1])):
        rules = TourRules(spacing_m=0.5, visit_radius_m=0.5, next_goal=next_goal)  # type: ignore[arg-type]
        tour = Tour(metres, 4, rules)
        legs = list(tour.legs(along(metres), 3))
        assert legs[0].start == 3
        assert [leg.goal for leg in legs] == goals


def test_leaves_are_few_at_a_time_and_what_is_passed_is_done() -> None:
    metres = line(*range(0, 40, 4))
    tour = Tour(metres, 2, TourRules())
    assert len(tour.waypoints) == 10
    assert tour.leaves == (0, 9)
    legs = list(tour.legs(lambda start, goal: metres[[start, goal]].min(0), 0))
    assert legs[0] == (0, 9, True, (0, 9), (1, 8, 2, 7, 3, 6, 4, 5), (1, 8))
    assert sorted(point for leg in legs for point in leg.visited) == list(range(10))


def test_the_released_rules_keep_a_reserve_that_becomes_leaves_later() -> None:
    metres = line(*np.arange(0, 20, 0.5))
    paper, released = Tour(metres, 2, PAPER), Tour(metres, 2, RELEASED)
    assert len(paper.waypoints) == 7
    assert released.leaves == (0, 39)
    # What is within 3 m of the two leaves is gone for good, the rest stays.
    assert set(released.waypoints) == {0, 39, *range(6, 34)}
    legs = list(released.legs(along(metres), 0))
    assert {leg.goal for leg in legs} - {0, 39} <= set(range(6, 34))
    assert len(legs) > 2


def test_a_goal_that_cannot_be_walked_to_is_given_up_and_the_walk_goes_on_from_where_it_was() -> None:
    metres = line(0, 5, 10, 20)
    tour = Tour(metres, 4, PAPER)
    go = along(metres)
    legs = list(tour.legs(lambda start, goal: None if goal == 1 else go(start, goal), 0))
    assert [(leg.start, leg.goal, leg.reached) for leg in legs] == [(0, 1, False), (0, 2, True), (2, 3, True)]
    assert legs[0].visited == (1,)
    assert list(Tour(metres, 4, PAPER).legs(lambda start, goal: None, 0))[-1].waypoints == (0,)


def test_pairs_without_a_way_count_as_15_m() -> None:
    apart = np.array([[0, 4, np.inf], [4, 0, np.inf], [np.inf, np.inf, 0]])
    assert Tour(apart, 3).waypoints == Tour(np.where(np.isfinite(apart), apart, 15), 3).waypoints == (2, 0, 1)


def test_one_point_is_a_tour_without_legs() -> None:
    tour = Tour([[0.0]], 1)
    assert tour.leaves == (0,)
    assert list(tour.legs(lambda start, goal: pytest.fail("went"), 0)) == []


def test_invalid_arguments_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"\(n, n\)"):
        Tour(np.zeros((2, 3)), 1)
    with pytest.raises(ShapeError, match="below 0"):
        Tour([[0.0, -1.0], [-1.0, 0.0]], 1)
    with pytest.raises(UsageError, match="at least 1 point and 1 leaf"):
        Tour([[0.0]], 0)
    with pytest.raises(UsageError, match="floor area must be positive"):
        point_count(0.0)
