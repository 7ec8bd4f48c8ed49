"""Shortest ways between many points against another program, and walks through rooms and homes."""

import math
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.suites.closedloop.training_data.walks import (
    ARRIVED_M,
    RELEASED,
    CoverageWalk,
    PathLengths,
    TourRules,
    coverage_walk,
)
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.floor import FloorPlan
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import Primitive, walked

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
    assert short.frames == 26
    assert short.clips[0] == paper_walk().clips[0][:26]
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
