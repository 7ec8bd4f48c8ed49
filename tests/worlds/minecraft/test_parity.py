"""Our physics beside the game's: the same obstacles in every cell, the same bodies on random walks."""

import itertools

import numpy as np
import pytest

from support.toyworld import meadow
from worldgauge.core.errors import UsageError, WorldError
from worldgauge.worlds.blocks import table
from worldgauge.worlds.minecraft import names
from worldgauge.worlds.minecraft.cells import split_state
from worldgauge.worlds.minecraft.offline import Offline
from worldgauge.worlds.voxel import _body
from worldgauge.worlds.voxel.blocks import FACINGS, SHAPE_OF, SHAPES, STATES, block
from worldgauge.worlds.voxel.generate import generate
from worldgauge.worlds.voxel.player import TABLES, Action, PlayerState
from worldgauge.worlds.voxel.world import FAMILIES, KINDS, VoxelWorld

parity = pytest.importorskip("worldgauge_lab.minecraft_physics")
CAUSES, EQUAL_M, deviation = parity.CAUSES, parity.EQUAL_M, parity.deviation
PANES = np.flatnonzero(np.isin(SHAPE_OF, SHAPES.index("pane"))).tolist()
THIN = ("oak_fence", "cobblestone_wall", "glass_pane", "steel_rail")
ODD = (*THIN, "cactus", "cobweb", "water", "water", "ice", "oak_slab", "oak_top_slab", "snow_layer", "lantern_post")


def heap(seed: int, size: int = 128, height: int = 6) -> VoxelWorld:
    """Blocks of every kind, most of them odd ones, strewn about a floor round the centre."""
    rng = np.random.default_rng(seed)
    shape = (64, 64, height)
    kinds = np.where(rng.random(shape) < 0.6, rng.choice([block(name) for name in ODD], shape), 0)
    kinds = np.where(kinds == 0, rng.integers(0, len(STATES), shape), kinds)
    world = meadow(size)
    low = size // 2 - 32
    part = world.states[low : low + 64, low : low + 64, 3 : 3 + height]
    part[:] = np.where(rng.random(shape) < 0.3, kinds, part)
    return world


def test_thin_walls_join_by_the_rule_by_which_their_names_are_written():
    world = heap(1)
    cells = names.cells_of(world)
    wrong = 0
    panes = np.argwhere(np.isin(world.states, PANES))
    for x, y, z in panes.tolist():
        sides = [FACINGS[n] for n in range(4) if _body.joined(world.states, TABLES, x, y, z, n)]
        text = cells.palette[cells.index[x, z, world.shape[1] - 1 - y]]
        wrong += text != names.state_of(world.states[x, y, z], sides)
    assert (wrong, len(panes) > 500) == (0, True)


def test_nothing_joins_beyond_the_world():
    world = meadow(size=3, blocks={(x, y, 4): "oak_fence" for x, y in itertools.product(range(3), repeat=2)})
    outward = {0: (2, 1), 1: (1, 2), 2: (0, 1), 3: (1, 0)}
    assert not any(_body.joined(world.states, TABLES, x, y, 4, n) for n, (x, y) in outward.items())
    assert all(_body.joined(world.states, TABLES, 1, 1, 4, n) for n in range(4))


def test_a_body_meets_in_every_cell_what_the_game_has_there():
    # The table is of 1.20.4; no block of ours has changed since 1.16.5.
    for state in range(len(STATES)):
        own = TABLES.boxes[state, : TABLES.counts[state]]
        for mask in range(16) if state in PANES else (0,):
            sides = [side for bit, side in enumerate(FACINGS) if mask >> bit & 1]
            there = [box for n, box in enumerate(own) if state not in PANES or n == 0 or mask >> (n - 1) & 1]
            text = names.state_of(state, sides)
            theirs = table.boxes(*split_state(text))
            frame = [(x0, 16 - z1, y0, x1, 16 - z0, y1) for x0, y0, z0, x1, y1, z1 in theirs]
            np.testing.assert_array_equal(_filled(16 * np.array(there)), _filled(frame), text)


def _filled(boxes):
    """Which sixteenths of a cell and the half cell above it are filled."""
    cell = np.zeros((16, 16, 24), bool)
    for box in np.reshape(boxes, (-1, 6)).tolist():
        assert all(value == int(value) for value in box)
        cell[tuple(slice(int(a), int(b)) for a, b in zip(box[:3], box[3:], strict=True))] = True
    return cell


def test_a_deviation_where_rounding_may_be_the_cause_is_named_so():
    inside = PlayerState.standing((32.3, 40.0, 4.0))
    assert inside.position[0] - 0.3 < 32
    assert parity._cause(inside) == "rounding"
    assert parity._cause(PlayerState.standing((33.3, 40.1, 4.0))) == "other"


@pytest.mark.minecraft
@pytest.mark.parametrize("kind", [*KINDS, *FAMILIES])
def test_the_embedded_physics_is_the_games(packages, kind):
    world = generate(kind, 3, (160, 160, 56)) if kind in KINDS else generate(kind, 3)
    with Offline(names.cells_of(world), packages=packages) as offline:
        said = deviation(world, offline, seed=1, walks=10, ticks=200)
    assert (said.ticks, said.equal, said.causes) == (2000, 1.0, {})
    assert said.worst < EQUAL_M
    assert said.walked < EQUAL_M


@pytest.mark.minecraft
def test_the_embedded_physics_is_the_games_among_every_kind_of_obstacle(packages):
    world = heap(2)
    with Offline(names.cells_of(world), packages=packages) as offline:
        said = deviation(world, offline, seed=1, walks=40, ticks=200)
        again = deviation(world, offline, seed=1, walks=40, ticks=200)
        with pytest.raises(UsageError, match="compare nothing"):
            deviation(world, offline, walks=0)
    assert said == again
    assert (said.ticks, said.equal, said.causes) == (8000, 1.0, {})
    assert said.walked < EQUAL_M


@pytest.mark.minecraft
def test_a_deviation_is_seen(packages):
    world = heap(2)
    other = heap(3)
    with Offline(names.cells_of(other), packages=packages) as offline:
        said = deviation(world, offline, walks=5, ticks=100)
    assert said.worst > EQUAL_M
    assert sum(said.causes.values()) == round((1 - said.equal) * said.ticks) > 0
    assert set(said.causes) <= set(CAUSES)


@pytest.mark.minecraft
def test_the_game_lets_a_body_into_a_wall_that_ends_at_32_and_ours_holds(packages):
    world = meadow(size=64, blocks={(31, y, z): "stone" for y in range(64) for z in (4, 5)})
    with Offline(names.cells_of(world), packages=packages) as offline:
        offline.teleport((32.3, 40.0, 4.0), np.pi)
        assert offline.step([Action(forward=True)] * 5)[-1].position[0] < 32.0
        said = deviation(world, offline, seed=1, walks=20, ticks=200)
    assert set(said.causes) == {"rounding"}
    assert said.equal > 0.9


def test_without_a_place_to_stand_nothing_is_compared():
    with pytest.raises(WorldError, match="no place to stand"):
        parity._spots(VoxelWorld("plains", 0, np.zeros((8, 8, 8), np.uint8), np.zeros((8, 8, 8), np.uint16), (4, 4)))
