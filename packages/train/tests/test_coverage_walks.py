"""Walks that cover a home, and the expert at the table."""

import heapq
import itertools
import math
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from support.vectors import cases
from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.tabletop import Done, Tabletop, carried_out
from worldgauge.worlds.tabletop.simulation import Move, Simulation, TableState
from worldgauge.worlds.walking.floor import FloorPlan
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import Primitive, walked
from worldgauge_train import demonstrations as way
from worldgauge_train.coverage_walks import (
    ARRIVED_M,
    PAPER,
    RELEASED,
    CoverageWalk,
    PathLengths,
    Tour,
    TourRules,
    coverage_walk,
    leaf_count,
    leaf_scores,
    point_count,
    ranked,
)
from worldgauge_train.demonstrations import FRAMES, Solution, demonstrate, replay


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
    assert (legs[0].start, len(legs)) == (expected["start"], len(expected["segments"]))
    for leg, path, segment in zip(legs, paths, expected["segments"], strict=True):
        assert (leg.start, leg.goal, path) == (segment["start"], segment["goal"], segment["path"])
        assert (list(leg.visited), list(leg.waypoints)) == (segment["visited"], segment["W_after"])
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
    assert (leaf_count(100, TourRules(leaf_ratio=0.07)), leaf_count(1, RELEASED)) == (7, 1)


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
        assert (legs[0].start, [leg.goal for leg in legs]) == (3, goals)


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


CELL_M = 0.05


def plan(free: np.ndarray) -> FloorPlan:
    return FloorPlan(free, np.zeros(free.shape, np.float32), (-1.0, 2.0), CELL_M)


@cache
def home() -> Geodesic:
    return Geodesic(Home(3).floor)


@cache
def paper_walk() -> CoverageWalk:
    return coverage_walk(home(), np.random.default_rng(0), points=300)


def two_rooms() -> np.ndarray:
    """6 m by 3 m, and a wall between that is open for 1 m at its end."""
    free = np.zeros((122, 62), bool)
    free[1:-1, 1:-1] = True
    free[60:62, :41] = False
    return free


def test_ways_round_a_wall_by_hand() -> None:
    geodesic = Geodesic(plan(two_rooms()))
    ways = PathLengths(geodesic)
    a, b = (0.0, 3.0), (4.0, 3.0)
    free = geodesic.navigable
    column = np.flatnonzero(free[60])[0]
    corner = column * CELL_M + 2.0
    left, right = np.flatnonzero(~free[:, column - 1] & (np.arange(122) > 5) & (np.arange(122) < 116))[[0, -1]]
    x0, x1 = left * CELL_M - 1.0, (right + 1) * CELL_M - 1.0
    # The corners of the grown wall are round: the way may also bend at cells before its ends.
    by_hand = math.dist(a, (x0, corner)) + (x1 - x0) + math.dist((x1, corner), b)
    assert float(ways.distances([a], [b])[0, 0]) == pytest.approx(by_hand, abs=0.05)
    assert float(ways.distances([a], [(1.0, 4.0)])[0, 0]) == pytest.approx(math.sqrt(2))


@pytest.mark.parametrize("seed", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (0, 1))])
def test_ways_are_those_of_a_visibility_graph_over_all_corners_of_all_cells(seed: int) -> None:
    """Random floors; sight is tested by dense samples along the line, the graph by scipy."""
    rng = np.random.default_rng(seed)
    free = np.zeros((13, 11), bool)
    free[1:-1, 1:-1] = rng.random((11, 9)) > 0.15
    geodesic = Geodesic(plan(free), radius_m=0.04)
    inset = np.array([1e-4, 1 - 1e-4])
    cells = np.argwhere(geodesic.navigable)
    corners = (cells[:, None, None] + np.stack(np.meshgrid(inset, inset, indexing="ij"), -1)[None]).reshape(-1, 2)
    places = np.stack([geodesic.random_point(rng) for _ in range(8)])
    nodes = np.concatenate([(places - np.array(geodesic.floor.origin)) / CELL_M, corners])

    def seen(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Whether (n) lines from a (2,) to b (n, 2) cross free cells only; a hair wider, so that no corner is cut."""
        along = np.linspace(0, 1, 200)[:, None, None]
        on = a * (1 - along) + b[None] * along
        ok = np.ones(len(b), bool)
        for shift in ((5e-5, 5e-5), (-5e-5, 5e-5), (5e-5, -5e-5), (-5e-5, -5e-5)):
            u, v = np.floor(on + shift).astype(int).transpose(2, 0, 1)
            ok &= geodesic.navigable[u, v].all(0)
        return ok

    lengths = np.zeros((len(nodes), len(nodes)))
    for i, node in enumerate(nodes):
        lengths[i] = np.where(seen(node, nodes), np.linalg.norm(nodes - node, axis=1), 0)
    expected = dijkstra(lengths, directed=False, indices=range(8))[:, :8] * CELL_M
    np.testing.assert_allclose(PathLengths(geodesic).all_pairs(places), expected, atol=2e-3)


def test_ways_in_a_home_are_never_longer_than_those_of_the_grid_and_never_shorter_than_a_line() -> None:
    geodesic, rng = home(), np.random.default_rng(1)
    places = np.stack([geodesic.random_point(rng) for _ in range(25)])
    metres = PathLengths(geodesic).all_pairs(places)
    lines = np.linalg.norm(places[:, None] - places, axis=-1)
    assert (metres >= lines - 1e-9).all()
    assert (metres == metres.T).all()
    assert (np.diag(metres) == 0).all()
    for i, j in rng.integers(25, size=(40, 2)):
        slower = geodesic.distance(places[i], places[j])
        assert slower * 0.98 - 0.01 <= metres[i, j] <= slower + 1e-4


def test_no_way_leads_through_a_wall_or_from_where_no_one_can_stand() -> None:
    free = two_rooms()
    free[60:62] = False
    metres = PathLengths(Geodesic(plan(free))).distances([(0.0, 3.0), (-1.0, 2.0)], [(0.5, 3.0), (4.0, 3.0)])
    assert np.isfinite(metres).tolist() == [[True, False], [False, False]]
    with pytest.raises(ShapeError, match=r"\(n, 2\)"):
        PathLengths(Geodesic(plan(free))).distances([0.0, 3.0], [(0.5, 3.0)])


@pytest.mark.parametrize("rules", [TourRules(), RELEASED], ids=["paper", "released"])
def test_every_row_follows_from_the_one_before(rules: TourRules) -> None:
    walk = paper_walk() if rules == TourRules() else coverage_walk(home(), np.random.default_rng(0), rules=rules)
    assert len(walk.clips) == (len(walk.goals) if rules.turned else 1)
    for clip in walk.clips:
        assert clip[0].action is Primitive.STOP
        assert not clip[0].collided
        for before, row in pairwise(clip):
            assert row.action is not Primitive.STOP
            assert walked(home().floor, before.stance, row.action) == (row.stance, row.collided)
    rows = [row for clip in walk.clips for row in clip]
    assert walk.frames == len(rows)
    for leg, goal in enumerate(walk.goals):
        last = [row for row in rows if row.goal_index == leg][-1]
        assert math.dist(last.stance[:2], walk.points[goal]) <= ARRIVED_M
    places = {clip[-1].stance[:2] for clip in walk.clips[:-1]}
    assert places == {clip[0].stance[:2] for clip in walk.clips[1:]}


def test_a_walk_comes_within_3_m_of_the_floor_of_a_home() -> None:
    walk = paper_walk()
    assert walk.covered(3.0) > 0.98
    assert 0.5 < walk.covered(1.0) <= walk.covered(3.0)
    waypoints = walk.points[list(walk.waypoints)]
    apart = PathLengths(home()).all_pairs(waypoints) + 9 * np.eye(len(waypoints))
    assert apart.min() >= 3.0
    # All of them are visited: what else would the walk end for?
    assert (walk.near_m[list(walk.waypoints)] < 3.0).all()


def test_the_released_rules_turn_the_walker_towards_the_way_and_sample_less() -> None:
    walk = coverage_walk(home(), np.random.default_rng(0), rules=RELEASED)
    assert len(walk.points) == int(4 * walk.area_m2) < 1400
    straight = [clip[1].action is Primitive.FORWARD for clip in walk.clips if len(clip) > 1]
    assert np.mean(straight) > 0.9
    assert walk.covered(1.0) > paper_walk().covered(1.0)


def test_steps_end_a_walk_and_the_same_seed_begins_it_the_same() -> None:
    short = coverage_walk(home(), np.random.default_rng(0), points=300, most_steps=25)
    assert (short.frames, short.clips[0]) == (26, paper_walk().clips[0][:26])
    assert (short.points == paper_walk().points).all()
    assert short.covered(3.0) < paper_walk().covered(3.0)
    other = coverage_walk(home(), np.random.default_rng(1), points=300, most_steps=25)
    assert other.clips != short.clips


def test_a_cupboard_is_one_view() -> None:
    free = np.zeros((30, 30), bool)
    free[1:-1, 1:-1] = True
    walk = coverage_walk(Geodesic(plan(free)), np.random.default_rng(0), points=40)
    assert (walk.frames, walk.goals, len(walk.waypoints), walk.covered(3.0)) == (1, (), 1, 1.0)


def test_what_cannot_be_meant_is_refused() -> None:
    for bad in ({"points": 0}, {"most_steps": 0}):
        with pytest.raises(UsageError, match="at least 1 point and 1 step"):
            coverage_walk(home(), np.random.default_rng(0), **bad)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def table() -> Tabletop:
    return Tabletop("push_buttons", 1, 1_000_000)


@pytest.fixture(scope="module")
def solved(table: Tabletop) -> Solution:
    found = demonstrate(table)
    assert isinstance(found, Solution)
    return found


def test_every_end_of_a_move_is_a_frame(table: Tabletop, solved: Solution) -> None:
    done = carried_out(table)
    states = [solved.start, *(state for _, kept in solved.moves for state in kept)]
    assert len(solved) == len(states) == solved.reached[-1] + 1
    assert [states[frame] for frame in solved.reached] == [move.states[-1] for move in done.moves]
    assert tuple(pose for pose, _ in solved.moves) == done.poses
    assert len(set(states)) == len(states), "none twice"
    assert (solved.stride, solved.fps) == (2, 25.0)
    clock = [state.physics[0] for state in states]
    assert solved.seconds == pytest.approx(clock[-1] - clock[0])
    assert (np.diff(clock) > 0).all()


def test_states_put_back_are_what_was_there(table: Tabletop, solved: Solution) -> None:
    simulation = Simulation(table)
    hands, progress = [], []
    for k, shown in enumerate(replay(simulation, solved)):
        assert shown.asked == solved.moves[shown.sub_goal][0]
        assert shown.sub_goal == np.searchsorted(solved.reached, k)
        np.testing.assert_array_equal(simulation.hand, shown.hand)
        assert shown.things.shape == (3, 3)
        hands.append(shown.hand)
        progress.append(shown.progress)
    assert progress == sorted(progress)
    assert (progress[0], progress[-1]) == (0.0, 1.0)
    ends = np.array([hands[frame][:3] for frame in solved.reached])
    asked = np.array([pose[:3] for pose, _ in solved.moves])
    assert np.linalg.norm(ends - asked, axis=1).max() < 0.03


def test_a_things_place_is_its_middle(table: Tabletop, solved: Solution) -> None:
    simulation = Simulation(table)
    task = simulation.task
    things = tuple(replace(thing, middle_m=0.1) for thing in task.things)
    low = next(iter(replay(simulation, solved))).things
    task.things, kept = things, task.things
    try:
        high = next(iter(replay(simulation, solved))).things
    finally:
        task.things = kept
    np.testing.assert_allclose(high - low, [[0, 0, 0.1]] * 3, atol=1e-6)


def test_fewer_states_are_kept_of_a_long_way(table: Tabletop, solved: Solution) -> None:
    whole, fewer = demonstrate(table, frames=10_000), demonstrate(table, frames=len(solved) // 3)
    assert isinstance(whole, Solution)
    assert isinstance(fewer, Solution)
    assert whole.stride == 1 < solved.stride < fewer.stride
    assert (fewer.fps, fewer.seconds) == (pytest.approx(50 / fewer.stride), solved.seconds)
    for (pose, kept), (same, all_) in zip(fewer.moves, whole.moves, strict=True):
        assert (pose, kept, kept[-1]) == (same, all_[::-1][:: fewer.stride][::-1], all_[-1])


@pytest.mark.parametrize(
    ("counts", "every"),
    [([40, 40], 1), ([149], 1), ([298], 2), ([100, 100, 100], 2), ([198], 1), ([199], 2), ([1] * 400, 1)],
)
def test_as_many_as_come_nearest(counts: list[int], every: int) -> None:
    """By hand: 1 + the sum of counts over `every`, rounded up, is nearest to 150."""
    assert way._stride(counts, FRAMES) == every


@pytest.mark.parametrize(
    ("done", "why"),
    [
        (Done((), (), "it has no plan"), "it has no plan"),
        (
            Done((), (Move("(9.00, 0.00, 1.00) lies outside", True, (), 0.0),), "outside"),
            "a pose cannot be carried out",
        ),
        (
            Done((), (Move(None, False, (TableState((0.0,), (), 1.0),), 1.0),), "not solved after 15 poses"),
            "not solved after",
        ),
        (Done((), (), None), "it is solved from the start"),
    ],
)
def test_what_is_no_demonstration(table: Tabletop, monkeypatch: pytest.MonkeyPatch, done: Done, why: str) -> None:
    monkeypatch.setattr(way, "carried_out", lambda table: done)
    found = demonstrate(table)
    assert isinstance(found, str)
    assert found.startswith(why)
