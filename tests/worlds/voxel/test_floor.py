"""Where a walker can stand in a voxel world."""

import numpy as np
import pytest

from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.blocks import block
from worldgauge.worlds.voxel.floor import CELL_M, floor_of
from worldgauge.worlds.voxel.world import VoxelWorld

GROUND_Z = 3
TOP_M = GROUND_Z + 1.0


@pytest.fixture
def states() -> np.ndarray:
    """A meadow of 12 x 12 cells, stone below, air above."""
    cells = np.zeros((12, 12, 12), np.uint8)
    cells[..., :GROUND_Z] = block("stone")
    cells[..., GROUND_Z] = block("grass_block")
    return cells


def plan(states: np.ndarray):
    return floor_of(VoxelWorld("plains", 0, states, np.zeros(states.shape, np.uint16), (6, 6)))


def parts(array: np.ndarray, x: int, y: int) -> np.ndarray:
    return array[4 * x : 4 * x + 4, 4 * y : 4 * y + 4]


def test_a_meadow_is_free_and_as_high_as_its_grass(states: np.ndarray) -> None:
    floor = plan(states)
    assert floor.free.shape == (48, 48)
    assert (floor.cell_m, floor.origin) == (CELL_M, (0.0, 0.0))
    assert floor.free.all()
    assert (floor.height_m == TOP_M).all()


@pytest.mark.parametrize("name", ["tall_grass", "poppy"])
def test_plants_are_walked_through(states: np.ndarray, name: str) -> None:
    states[5, 5, 4] = block(name)
    assert plan(states).free.all()


def test_a_pillar_blocks_its_own_parts_only(states: np.ndarray) -> None:
    states[5, 5, 4:6] = block("lantern_post")
    floor = plan(states)
    expected = np.ones((4, 4), bool)
    expected[1:3, 1:3] = False
    np.testing.assert_array_equal(parts(floor.free, 5, 5), expected)
    assert floor.free.sum() == 48 * 48 - 4


def test_a_fence_reaches_to_its_neighbours(states: np.ndarray) -> None:
    states[5, 5, 4] = states[6, 5, 4] = block("oak_fence")
    free = plan(states).free
    assert not parts(free, 5, 5)[1:, 1:3].any()
    assert parts(free, 5, 5)[0].all()
    assert not parts(free, 6, 5)[:3, 1:3].any()


def test_under_a_roof_is_free_from_the_height_of_a_walker(states: np.ndarray) -> None:
    states[5, 5, 6] = block("oak_planks")
    states[8, 5, 5] = block("oak_planks")
    states[8, 8, 5] = block("oak_top_slab")
    floor = plan(states)
    assert parts(floor.free, 5, 5).all()
    assert (parts(floor.height_m, 5, 5) == TOP_M).all()
    assert not parts(floor.free, 8, 5).any()
    assert not parts(floor.free, 8, 8).any()


def test_water_is_not_free_and_a_bridge_over_it_is(states: np.ndarray) -> None:
    states[5, :, GROUND_Z] = block("water")
    states[5, 6, GROUND_Z] = block("oak_planks")
    free = plan(states).free
    assert parts(free, 5, 6).all()
    assert free[20:24].sum() == 16


def test_half_steps_are_taken_and_whole_ones_are_not(states: np.ndarray) -> None:
    states[6:, :, 4] = block("grass_block")
    free = plan(states).free
    assert free[:24].all()
    assert not free[24].any()
    assert free[25:].all()
    states[5, 4, 4] = block("oak_stairs[facing=east]")
    floor = plan(states)
    np.testing.assert_array_equal(parts(floor.height_m, 5, 4)[:, 1], [4.5, 4.5, 5.0, 5.0])
    # The middle of the stair is clear of the edges beside it.
    assert floor.free[20:28, 17:19].all()


def test_what_cannot_be_walked_to_is_not_free(states: np.ndarray) -> None:
    states[4:8, 4:8, 4:7] = block("stone_bricks")
    free = plan(states).free
    assert not free[16:32, 16:32].any()
    assert free.sum() == 48 * 48 - 16 * 16


def test_a_room_is_free_inside_when_it_has_a_door(states: np.ndarray) -> None:
    states[3:9, 3:9, 4:8] = block("oak_planks")
    states[4:8, 4:8, 4:7] = 0
    states[4:8, 4:8, GROUND_Z] = block("oak_planks")
    assert not plan(states).free[16:32, 16:32].any()
    states[3, 5, 4:6] = 0
    floor = plan(states)
    assert floor.free[16:32, 16:32].all()
    assert (floor.height_m[16:32, 16:32] == TOP_M).all()


def test_a_quarter_turn_of_the_world_turns_the_plan(states: np.ndarray) -> None:
    rng = np.random.default_rng(3)
    for x, y in rng.integers(0, 12, (14, 2)):
        states[x, y, 4] = block(("oak_slab", "stone", "lantern_post", "water", "oak_fence")[int(rng.integers(5))])
    here, turned = plan(states), plan(np.rot90(states))
    np.testing.assert_array_equal(np.rot90(here.free), turned.free)
    np.testing.assert_array_equal(np.rot90(here.height_m), turned.height_m)


def test_in_a_settlement_one_can_walk_into_houses() -> None:
    world = Voxel("plains", 5, (160, 160, 56))
    floor = world.floor
    assert world.floor is floor
    assert floor.free.shape == (640, 640)
    assert 0.6 < floor.free.mean() < 0.99
    houses = [one for one in world.landmarks if one.category in ("cottage", "library", "longhouse")]
    entered = 0
    for house in houses:
        middle = floor.cells_of(house.centre[:2])
        inside = floor.free[middle[0] - 6 : middle[0] + 6, middle[1] - 6 : middle[1] + 6]
        entered += inside.mean() > 0.5
    assert entered >= len(houses) / 2
