"""Shortest ways over a floor, against other ways to compute them, and walks that arrive."""

import heapq
import itertools
import math
from functools import cache

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, dijkstra

from worldgauge.core.errors import ShapeError, WorldError
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.floor import FloorPlan
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import RADIUS_M, Primitive, Stance, stands, walked

CELL_M = 0.05


def plan(free: np.ndarray, origin: tuple[float, float] = (0.0, 0.0)) -> FloorPlan:
    return FloorPlan(free, np.zeros(free.shape, np.float32), origin, CELL_M)


def hall(shape: tuple[int, int] = (80, 60)) -> np.ndarray:
    return np.ones(shape, bool)


@cache
def home(seed: int) -> tuple[Home, Geodesic]:
    world = Home(seed)
    return world, Geodesic(world.floor)


def graph(navigable: np.ndarray) -> csr_matrix:
    """Edges between free neighbours; diagonal ones only past two free cells."""
    nx, ny = navigable.shape
    number = np.arange(nx * ny).reshape(nx, ny)
    rows, columns, lengths = [], [], []
    for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)):
        a = (slice(0, nx - dx), slice(max(-dy, 0), ny - max(dy, 0)))
        b = (slice(dx, nx), slice(max(dy, 0), ny + min(dy, 0)))
        joined = navigable[a] & navigable[b]
        if dx and dy:
            joined &= navigable[b[0], a[1]] & navigable[a[0], b[1]]
        rows.append(number[a][joined])
        columns.append(number[b][joined])
        lengths.append(np.full(joined.sum(), CELL_M * math.hypot(dx, dy)))
    row, column, length = (np.concatenate(parts) for parts in (rows, columns, lengths))
    return csr_matrix((length, (row, column)), shape=(nx * ny, nx * ny))


@pytest.mark.parametrize("seed", range(4))
def test_fields_are_those_of_another_dijkstra_on_random_floors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    free = rng.random((60, 50)) > 0.04
    geodesic = Geodesic(plan(free, (-2.0, 1.0)))
    goal = geodesic.random_point(rng)
    cell = tuple(geodesic.floor.cells_of(goal))
    expected = dijkstra(graph(geodesic.navigable), directed=False, indices=int(cell[0] * 50 + cell[1])).reshape(60, 50)
    field = geodesic.field(goal)
    np.testing.assert_allclose(field, np.where(geodesic.navigable, expected, np.inf), rtol=1e-12, atol=1e-12)
    assert np.isinf(field[~geodesic.navigable]).all()
    count, label = connected_components(graph(geodesic.navigable), directed=False)
    sizes = np.bincount(label[geodesic.navigable.ravel()], minlength=count)
    largest = (label == sizes.argmax()).reshape(60, 50) & geodesic.navigable
    assert sizes.max() == geodesic.main.sum()
    if (sizes == sizes.max()).sum() == 1:
        np.testing.assert_array_equal(geodesic.main, largest)


def test_fields_and_distances_by_hand() -> None:
    geodesic = Geodesic(plan(hall()))
    field = geodesic.field((1.025, 1.025))
    assert field[20, 20] == 0
    assert field[24, 20] == pytest.approx(4 * CELL_M)
    assert field[24, 23] == pytest.approx((3 * math.sqrt(2) + 1) * CELL_M)
    # Two rows of cells at the border have less than 0.1 m to what is outside.
    assert np.isinf(field[0]).all()
    assert np.isfinite(field[1, 1:-1]).all()
    assert not field.flags.writeable
    # Distance is euclidean where nothing is between even within a cell.
    assert geodesic.distance((1.01, 1.01), (1.04, 1.02)) == pytest.approx(math.hypot(0.03, 0.01))
    assert geodesic.distance((0.5, 0.5), (3.0, 1.7)) == pytest.approx(math.hypot(2.5, 1.2))
    assert geodesic.distance((1.0, 1.0), (1.0, 1.0)) == 0


def exact(navigable: np.ndarray, start: np.ndarray, goal: np.ndarray) -> float:
    """Shortest way through the corners of what is not navigable, in cells: a visibility graph, tested by sampling."""
    blocked = ~np.pad(navigable, 1)[1:-1, 1:-1]
    corners = []
    for x, y in np.argwhere(navigable):
        for dx, dy in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            u, v = x + dx, y + dy
            inside = 0 <= u < navigable.shape[0] and 0 <= v < navigable.shape[1]
            if inside and blocked[u, v] and navigable[u, y] and navigable[x, v]:
                corners.append((x + 0.5 + dx * 0.4999, y + 0.5 + dy * 0.4999))
    points = np.array([start, *corners, goal])

    def clear(a: np.ndarray, b: np.ndarray) -> bool:
        n = max(2, int(40 * np.hypot(*(b - a))))
        cells = np.floor(a + np.linspace(0, 1, n)[:, None] * (b - a)).astype(int)
        return bool(navigable[cells[:, 0], cells[:, 1]].all())

    best = np.full(len(points), np.inf)
    best[0] = 0.0
    queue = [(0.0, 0)]
    while queue:
        length, i = heapq.heappop(queue)
        if length > best[i]:
            continue
        for j in range(len(points)):
            reach = length + float(np.hypot(*(points[j] - points[i])))
            if reach < best[j] and clear(points[i], points[j]):
                best[j] = reach
                heapq.heappush(queue, (reach, j))
    return float(best[-1])


@pytest.mark.parametrize("seed", range(3))
def test_distances_are_near_those_of_a_visibility_graph(seed: int) -> None:
    rng = np.random.default_rng(seed)
    free = hall((70, 70))
    for _ in range(6):
        x, y = rng.integers(8, 50, 2)
        free[x : x + int(rng.integers(3, 14)), y : y + int(rng.integers(3, 14))] = False
    geodesic = Geodesic(plan(free))
    bends = 0
    for _ in range(8):
        a, b = geodesic.random_point(rng), geodesic.random_point(rng)
        metres, truth = geodesic.distance(a, b), exact(geodesic.navigable, a / CELL_M, b / CELL_M) * CELL_M
        assert truth - 1e-3 <= metres <= 1.01 * truth + 1e-3
        bends += truth > math.dist(a, b) + 1e-3
    assert bends


def test_what_cannot_be_reached_and_wide_walkers() -> None:
    free = hall()
    free[40:42] = False
    geodesic = Geodesic(plan(free))
    assert geodesic.distance((1.0, 1.0), (3.0, 1.0)) == math.inf
    assert geodesic.path((1.0, 1.0), (3.0, 1.0)) is None
    assert geodesic.steps_to(Stance(1.0, 1.0, 0.0), (3.0, 1.0), 0.5) is None
    assert geodesic.distance((1.0, 1.0), (2.05, 1.0)) == math.inf, "in the wall"
    assert geodesic.distance((1.0, 1.0), (9.0, 9.0)) == math.inf, "outside"
    assert np.isinf(geodesic.field((9.0, 9.0))).all()
    assert not geodesic.stands((2.05, 1.0))
    # The main part is the larger one of the two.
    assert geodesic.main[:40].sum() > 0
    assert geodesic.main[42:].sum() == 0
    assert geodesic.main[20, 20]
    # A wider walker finds fewer ways.
    free[40:44] = False
    free[40:44, 20:26] = True
    # A gap of 30 cm: its middle is 15 cm off the cells beside it.
    narrow, wide = Geodesic(plan(free)), Geodesic(plan(free), radius_m=0.2)
    assert math.isfinite(narrow.distance((1.0, 1.0), (3.0, 1.0)))
    assert wide.distance((1.0, 1.0), (3.0, 1.0)) == math.inf
    assert narrow.radius_m == RADIUS_M
    # Misuse is refused.
    geodesic = Geodesic(plan(hall()))
    with pytest.raises(ShapeError, match="two finite numbers"):
        geodesic.distance((0.0, math.nan), (1.0, 1.0))
    with pytest.raises(ShapeError, match="two finite numbers"):
        geodesic.field((0.0, 1.0, 2.0))
    with pytest.raises(WorldError, match="nowhere"):
        Geodesic(plan(np.zeros((5, 5), bool))).random_point(np.random.default_rng(0))


@pytest.mark.parametrize("seed", range(3))
def test_paths_keep_off_walls_and_distances_are_a_metric_but_for_a_hair(seed: int) -> None:
    world, geodesic = home(seed)
    rng = np.random.default_rng(seed)
    places = [geodesic.random_point(rng) for _ in range(8)]
    for a, b, c in zip(places, places[1:], places[2:], strict=False):
        path = geodesic.path(a, b)
        np.testing.assert_array_equal(path[[0, -1]], [a, b])
        along = np.concatenate([np.linspace(p, q, 200) for p, q in itertools.pairwise(path)])
        assert stands(world.floor.clearance_at(along)).all()
        there, back = geodesic.distance(a, b), geodesic.distance(b, a)
        assert there == pytest.approx(back, rel=0.01)
        assert there >= math.dist(a, b) - 1e-9
        cells = geodesic.field(b)[tuple(world.floor.cells_of(a))]
        assert there <= cells + 2 * CELL_M
        assert cells <= 1.083 * there + 3 * CELL_M
        assert geodesic.distance(a, c) <= 1.01 * (there + geodesic.distance(b, c)) + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_steps_arrive_and_are_not_many_more_than_needed(seed: int) -> None:
    world, geodesic = home(seed)
    rng = np.random.default_rng([seed, 1])
    for _ in range(6):
        a, b = geodesic.random_point(rng), geodesic.random_point(rng)
        here = Stance(float(a[0]), float(a[1]), float(rng.uniform(-np.pi, np.pi)))
        steps = geodesic.steps_to(here, b, 0.5)
        assert steps is not None
        assert Primitive.STOP not in steps
        needed = math.ceil(max(geodesic.distance(a, b) - 0.5, 0) / 0.2 - 1e-9)
        forward = steps.count(Primitive.FORWARD)
        assert needed <= forward <= 1.15 * needed + 3
        for n, step in enumerate(steps):
            assert geodesic.distance(here[:2], b) > 0.5, f"arrived after {n} of {len(steps)}"
            here, _ = walked(world.floor, here, step)
        assert geodesic.distance(here[:2], b) <= 0.5
    assert geodesic.steps_to(here, here[:2], 0.5) == ()


def test_random_points_cover_the_main_part_and_the_nearest_is_in_it() -> None:
    world, geodesic = home(1)
    rng = np.random.default_rng(0)
    points = np.array([geodesic.random_point(rng) for _ in range(2000)])
    cells = world.floor.cells_of(points)
    assert geodesic.main[tuple(cells.T)].all()
    assert {world.room_at(point) for point in points} == {room.kind for room in world.plan.rooms}
    again = np.random.default_rng(0)
    np.testing.assert_array_equal(points[0], geodesic.random_point(again))
    np.testing.assert_array_equal(geodesic.nearest(points[3]), points[3])
    centres = world.floor.points_of(np.argwhere(geodesic.main))
    for far in ((-5.0, 3.0), (4.0, 4.4), (50.0, 50.0)):
        near = geodesic.nearest(far)
        assert geodesic.main[tuple(world.floor.cells_of(near))]
        if not geodesic.stands(far):
            assert math.dist(near, far) == pytest.approx(np.hypot(*(centres - far).T).min())
