"""The sampling rule: its support, its statistics, and each rejection."""

import numpy as np
import pytest

from support.toyworld import hills, meadow
from worldgauge.core.errors import WorldError
from worldgauge.worlds.minecraft.cells import AIR, Cells
from worldgauge.worlds.walking.planner import (
    GroundColumns,
    Planner,
    embedded_ground,
    released_ground,
    sample_offset,
    sample_place,
    start_place,
)


@pytest.mark.parametrize("rule", ["released", "continuous"])
@pytest.mark.parametrize("radius", [5, 15, 30, 50])
def test_distances_lie_between_08_r_and_the_corner_of_the_square_and_average_r(rule, radius):
    rng = np.random.default_rng(radius)
    offsets = np.array([sample_offset(radius, rng, rule) for _ in range(2000)])
    ratio = np.hypot(*offsets.T) / radius
    slack = 0.0 if rule == "released" else 0.71 / radius
    assert ratio.min() >= 0.8 - slack
    assert ratio.max() <= np.sqrt(2) + slack
    assert 0.98 < ratio.mean() < 1.02


def test_released_offsets_are_the_lattice_minus_r_to_r_minus_1_of_the_game_axes():
    rng = np.random.default_rng(0)
    offsets = np.array([sample_offset(5, rng) for _ in range(4000)])
    assert (offsets[:, 0].min(), offsets[:, 0].max()) == (-5, 4)
    assert (offsets[:, 1].min(), offsets[:, 1].max()) == (-4, 5)
    assert len(np.unique(offsets, axis=0)) == 55


@pytest.mark.parametrize(("radius", "acceptance"), [(5, 0.550), (15, 0.514), (30, 0.503), (50, 0.499)])
def test_acceptance_is_that_of_the_lattice(radius, acceptance):
    grid = np.arange(-radius, radius)
    far = (grid[:, None] ** 2 + grid**2) >= (0.8 * radius) ** 2
    assert far.mean() == pytest.approx(acceptance, abs=6e-4)

    class Counted:
        def __init__(self):
            self.rng, self.draws = np.random.default_rng(1), 0

        def random(self, n):
            self.draws += 1
            return self.rng.random(n)

    counted = Counted()
    for _ in range(2000):
        sample_offset(radius, counted)
    assert 2000 / counted.draws == pytest.approx(acceptance, abs=0.03)


def test_places_are_on_the_ground_and_not_on_roofs():
    world = hills()
    rng = np.random.default_rng(2)
    start = start_place(world)
    for _ in range(200):
        x, y, z = sample_place(world, start, 30, rng)
        assert world.surface(x, y) == z - 1
        assert embedded_ground(world).is_natural(x, y)
        assert 0.8 * 30 <= np.hypot(x - start[0], y - start[1]) <= 30 * np.sqrt(2)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"max_from_centre": 3}, "too far from the centre"),
        ({"max_height_difference": -1}, "at another height"),
        ({}, "not on natural ground"),
        ({"far": True}, "outside the world"),
    ],
)
def test_every_rejection_is_counted_and_a_thousand_are_an_error(options, reason):
    roofed = {(x, y, 6): "oak_planks" for x in range(48) for y in range(48)} if not options else None
    world = meadow(blocks=roofed)
    around = (500, 500, 4) if options.pop("far", False) else (24, 24, 4)
    with pytest.raises(WorldError, match=f"1000 {reason}"):
        sample_place(world, around, 5, np.random.default_rng(0), **options)


def test_the_printed_rule_takes_every_block_that_can_be_stood_on():
    roofed = meadow(blocks={(x, y, 6): "oak_planks" for x in range(48) for y in range(48)})
    rng = np.random.default_rng(3)
    limits = {"max_from_centre": 3, "max_height_difference": 0}
    places = [sample_place(roofed, (24, 24, 4), 10, rng, rule="continuous", **limits) for _ in range(200)]
    assert {z for _, _, z in places} == {7}, "on the roof, three cells higher"
    distances = [np.hypot(x - 24, y - 24) for x, y, _ in places]
    assert min(distances) > 8 - 0.71
    assert max(distances) > 12, "far from the centre"
    planner = Planner(roofed)
    assert all(planner.standable(*place) for place in places)


LEVELS = {"stone": 5, "oak_slab": 4, "snow_layer": 4, "poppy": 4}


@pytest.mark.parametrize("name", [*LEVELS, "water", "oak_fence", "lantern_post", "cobweb"])
def test_what_the_printed_rule_calls_a_valid_block(name):
    level = LEVELS.get(name)
    world = meadow(blocks={(x, y, 4): name for x in range(48) for y in range(48)})
    sample = lambda: sample_place(world, (24, 24, 4), 5, np.random.default_rng(0), rule="continuous")  # noqa: E731
    if level is None:
        with pytest.raises(WorldError, match="1000 nowhere to stand"):
            sample()
    else:
        assert sample()[2] == level
    with pytest.raises(WorldError, match="1000 outside the world"):
        sample_place(world, (500, 500, 4), 5, np.random.default_rng(0), rule="continuous")


def test_what_is_natural_ground():
    assert not embedded_ground(meadow(blocks={(5, 5, 2): "oak_planks"})).is_natural(5, 5)
    assert not embedded_ground(meadow(blocks={(5, 5, 3): "water"})).is_natural(5, 5)
    assert embedded_ground(meadow(blocks={(5, 5, 4): "poppy"})).is_natural(5, 5)
    # Lying snow is ground and the feet are in its cell.
    world = meadow(blocks={(5, 5, 4): "snow_layer"})
    assert embedded_ground(world).is_natural(5, 5)
    assert embedded_ground(world).standing_level(5, 5) == 4
    assert embedded_ground(world).standing_level(6, 5) == 4
    # The start is the ground nearest to the centre.
    world = meadow(blocks={(24, 24, 4): "cobblestone"})
    x, y, z = start_place(world)
    assert abs(x - 24) + abs(y - 24) == 1
    assert z == 4
    covered = {(x, y, 3): "oak_planks" for x in range(48) for y in range(48)}
    with pytest.raises(WorldError, match="no natural ground"):
        start_place(meadow(blocks=covered))


def game_ground(columns: dict[tuple[int, int], str], ground: int = 62) -> GroundColumns:
    """8 x 8 columns of grass up to y = ground, each other one a list of states from there on, from y = 56."""
    palette = [AIR, "minecraft:grass_block[snowy=false]"]
    index = np.zeros((8, 24, 8), np.uint16)
    index[:, : ground - 55, :] = 1
    for (x, z), states in columns.items():
        for at, name in enumerate(states.split()):
            text = f"minecraft:{name}"
            palette += [] if text in palette else [text]
            index[x, ground - 55 + at, z] = palette.index(text)
    return released_ground(Cells((0, 56, 0), tuple(palette), index))


def test_the_released_ground_is_looked_for_from_y_64():
    """Up to the first air, or down to the first that is none; a canopy high above does not hide the ground."""
    deep = "dirt " * 6
    columns = {(1, 0): "air air air oak_leaves", (2, 0): deep, (3, 0): "poppy", (4, 0): deep + "oak_planks"}
    ground = game_ground(columns | {(5, 0): deep + "air oak_leaves", (6, 0): "snow[layers=1]"})
    # z = 0 of the game is the northern edge: y = 7 of ours. Heights are of ours, from y = 56.
    assert [ground.surface(x, 7) for x in range(7)] == [6, 6, 12, 7, 13, 12, 7]
    assert [ground.is_natural(x, 7) for x in range(7)] == [True, True, True, False, False, True, True]
    assert ground.standing_level(0, 7) == 7
    assert ground.standing_level(6, 7) == 7  # in the snow, not on it
    assert not ground.inside(8, 0)


@pytest.mark.parametrize(
    "name", ["oak_planks", "white_wool", "cobblestone_slab[type=bottom,waterlogged=false]", "water"]
)
def test_what_is_drawn_like_ground_is_not_ground_by_its_name(name):
    assert not game_ground({(0, 0): name}).is_natural(0, 7)
    assert game_ground({(0, 0): "nether_bricks"}, ground=61).is_natural(0, 7)


def test_goals_of_a_place_of_the_game_keep_to_its_ground():
    """Half of it is covered with planks."""
    ground = game_ground({(x, z): "birch_planks" for x in range(4) for z in range(8)})
    world = meadow(size=8)
    places = {
        sample_place(world, (6, 4, 7), 2, np.random.default_rng(n), ground=ground, max_from_centre=99)
        for n in range(40)
    }
    assert {x for x, _, _ in places} <= {4, 5, 6, 7}
    assert {z for _, _, z in places} == {7}
    assert start_place(world, ground)[0] == 4
