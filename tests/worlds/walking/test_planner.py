"""Paths: their cost against an independent search, and each rule of the move table by hand."""

import itertools
import math

import numpy as np
import pytest

from support.toyworld import hills, meadow
from worldgauge.core.errors import WorldError
from worldgauge.worlds.voxel.blocks import SOLID
from worldgauge.worlds.walking.planner import DIAGONAL_COST, Planner, _estimate
from worldgauge.worlds.walking.walk import WalkGoal


def cells(path: np.ndarray) -> list[tuple[int, int, int]]:
    return [tuple(math.floor(v) for v in feet) for feet in path]


def plan(world, start, goal):
    path = Planner(world).plan(start, WalkGoal(*goal))
    return None if path is None else cells(path)


def test_flat_ground_and_diagonals():
    assert plan(meadow(), (10, 10, 4), (14, 10, 4)) == [(11, 10, 4), (12, 10, 4), (13, 10, 4), (14, 10, 4)]
    # Feet are in the middle of the cell and on low blocks.
    blocks = {(11, 10, 4): "oak_slab", (12, 10, 4): "white_carpet", (13, 10, 4): "snow_layer"}
    path = Planner(meadow(blocks=blocks)).plan((10, 10, 4), WalkGoal(14, 10, 4))
    np.testing.assert_allclose(path, [[11.5, 10.5, 4.5], [12.5, 10.5, 4.0625], [13.5, 10.5, 4.125], [14.5, 10.5, 4]])
    # A pavement of a quarter is a step up, three quarters are a jump that no diagonal passes.
    blocks = {(11, 10, 4): "pavement_quarter", (12, 10, 4): "turf_three_quarter"}
    path = Planner(meadow(blocks=blocks)).plan((10, 10, 4), WalkGoal(12, 10, 4))
    np.testing.assert_allclose(path, [[11.5, 10.5, 4.25], [12.5, 10.5, 4.75]])
    assert plan(meadow(blocks={(11, 10, 4): "pavement_quarter"}), (10, 10, 4), (11, 11, 4)) == [(11, 11, 4)]
    assert len(plan(meadow(blocks={(11, 10, 4): "turf_three_quarter"}), (10, 10, 4), (11, 11, 4))) == 2
    # A diagonal is taken in the open and forbidden past one solid corner.
    assert plan(meadow(), (10, 10, 4), (11, 11, 4)) == [(11, 11, 4)]
    blocked = plan(meadow(blocks={(11, 10, 4): "stone"}), (10, 10, 4), (11, 11, 4))
    assert blocked == [(10, 11, 4), (11, 11, 4)]


def test_climbs_and_drops():
    ring = [(x, y) for x, y in itertools.product(range(18, 23), repeat=2) if max(abs(x - 20), abs(y - 20)) == 2]
    one = meadow(blocks={(x, y, 4): "stone" for x, y in ring})
    assert plan(one, (10, 20, 4), (20, 20, 4)) is not None
    two = meadow(blocks={(x, y, z): "stone" for x, y in ring for z in (4, 5)})
    assert plan(two, (10, 20, 4), (20, 20, 4)) is None
    assert plan(one, (20, 20, 4), (10, 20, 4)) is not None
    # Height difference counts from the feet: slab to 1.5 higher is 1.0, ground to 1.5 is too high.
    wall = {(20, y, z): "stone" for y in range(48) for z in (4,)} | {(20, y, 5): "oak_slab" for y in range(48)}
    assert plan(meadow(blocks=wall), (10, 20, 4), (30, 20, 4)) is None
    assert plan(meadow(blocks=wall | {(19, 20, 4): "oak_slab"}), (10, 20, 4), (30, 20, 4)) is not None

    # A drop of four is taken and of five only into water.
    def tower(height, landing=None):
        blocks = {(20, 20, z): "stone" for z in range(4, 4 + height)}
        if landing:
            blocks |= {(x, y, 3): landing for x in range(18, 24) for y in range(18, 24) if (x, y) != (20, 20)}
        return meadow(blocks=blocks)

    assert plan(tower(4), (20, 20, 8), (30, 20, 4)) is not None
    assert plan(tower(5), (20, 20, 9), (30, 20, 4)) is None
    assert plan(tower(5, "water"), (20, 20, 9), (30, 20, 4)) is not None
    assert plan(tower(9, "water"), (20, 20, 13), (30, 20, 4)) is not None


def test_what_is_avoided():
    fence = meadow(blocks={(20, y, 4): "oak_fence" for y in range(48)})
    assert plan(fence, (10, 20, 4), (30, 20, 4)) is None
    assert not Planner(fence).standable(20, 20, 5)
    web = meadow(blocks={(20, y, z): "cobweb" for y in range(48) for z in (4, 5)})
    assert plan(web, (10, 20, 4), (30, 20, 4)) is None
    low_gate = {(20, y, z): "stone" for y in range(48) for z in (4, 5)} | {(20, 20, 4): "air"}
    assert plan(meadow(blocks=low_gate), (10, 20, 4), (30, 20, 4)) is None
    doorway = low_gate | {(20, 20, 5): "air"}
    assert (20, 20, 4) in plan(meadow(blocks=doorway), (10, 20, 4), (30, 20, 4))
    # Water is avoided when the way round is shorter than its price.
    pond = {(x, y, 3): "water" for x in range(15, 25) for y in range(20, 22)}
    around = plan(meadow(blocks=pond), (12, 20, 4), (28, 20, 4))
    assert all(z == 4 for _, _, z in around)
    lake = {(x, y, 3): "water" for x in range(15, 25) for y in range(48)}
    assert any(z == 3 for _, _, z in plan(meadow(blocks=lake), (12, 20, 4), (28, 20, 4)))


def test_starts_and_goals():
    planner = Planner(meadow())
    path = planner.plan((10, 10, 4), WalkGoal(20, 10, range_sq=1))
    assert cells(path)[-1] == (19, 10, 4)
    assert len(planner.plan((19, 10, 4), WalkGoal(20, 10, range_sq=1))) == 0
    assert len(planner.plan((20, 10, 4), WalkGoal(20, 10, 4))) == 0
    # A start in a wall is refused and a goal in a wall has no path.
    planner = Planner(meadow(blocks={(20, 20, 4): "stone"}))
    with pytest.raises(WorldError, match="nobody can stand"):
        planner.plan((20, 20, 4), WalkGoal(10, 10, 4))
    assert planner.plan((10, 10, 4), WalkGoal(20, 20, 4)) is None
    assert planner.plan((10, 10, 4), WalkGoal(20, 200, 4)) is None
    # Cell of a body that overhangs an edge is the cell that carries it.
    planner = Planner(meadow(blocks={(20, 20, z): "stone" for z in range(4, 12)}))
    assert planner.cell_of((21.2, 20.5, 12.0)) == (20, 20, 12)
    assert planner.cell_of((30.9, 30.1, 4.0)) == (30, 30, 4)
    assert planner.cell_of((30.9, 30.1, 14.0)) is None
    # A drop of four costs one move, the estimate says five: kept, and said so, because the release has it.
    tower = meadow(blocks={(20, 20, z): "stone" for z in range(4, 8)})
    assert len(plan(tower, (20, 20, 8), (21, 20, 4))) == 1
    assert _estimate(20, 20, 8, 21, 20, 4) == 5


def test_costs_equal_an_independent_shortest_path_search():
    """Bellman-Ford over moves written out a second time, on flat ground with solid blocks."""
    rng = np.random.default_rng(11)
    size = 14
    blocks = {(int(x), int(y), z): "stone" for x, y in rng.integers(0, size, (45, 2)) for z in (4, 5, 6)}
    blocks = {cell: name for cell, name in blocks.items() if cell[:2] != (1, 1)}
    world = meadow(size=size, blocks=blocks)
    free = ~SOLID[world.states[:, :, 4]]
    cost = np.full((size, size), np.inf)
    cost[1, 1] = 0
    for _ in range(size * size):
        for x, y in np.argwhere(free):
            for dx, dy in itertools.product((-1, 0, 1), repeat=2):
                a, b = x + dx, y + dy
                if (dx, dy) == (0, 0) or not (0 <= a < size and 0 <= b < size) or not free[a, b]:
                    continue
                if dx and dy and not (free[a, y] and free[x, b]):
                    continue
                cost[a, b] = min(cost[a, b], cost[x, y] + (DIAGONAL_COST if dx and dy else 1))
    planner = Planner(world)
    reached = 0
    for a, b in np.argwhere(free):
        path = planner.plan((1, 1, 4), WalkGoal(int(a), int(b), 4))
        if path is None:
            assert np.isinf(cost[a, b])
            continue
        steps = np.abs(np.diff(np.vstack([[1.5, 1.5, 4], path]), axis=0))[:, :2].sum(1)
        # The estimate of the release is below every price of flat moves, so the path found is the cheapest.
        assert np.where(steps == 2, DIAGONAL_COST, 1.0).sum() == pytest.approx(cost[a, b])
        reached += 1
    assert reached > 50


def test_same_question_same_path_even_from_another_planner():
    world = hills()
    goal = WalkGoal(150, 60, world.surface(150, 60) + 1)
    start = (60, 140, world.surface(60, 140) + 1)
    first, second = (Planner(world).plan(start, goal) for _ in range(2))
    assert first is not None
    np.testing.assert_array_equal(first, second)
