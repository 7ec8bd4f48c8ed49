"""Our blocks as Minecraft's and back: settlements return as they went, foreign blocks become like ones, counted."""

import numpy as np
import pytest

from support.toyworld import meadow
from worldgauge.core.errors import UnknownNameError, WorldError
from worldgauge.worlds.blocks import table
from worldgauge.worlds.minecraft import names
from worldgauge.worlds.minecraft.cells import AIR, Cells, split_state
from worldgauge.worlds.voxel.blocks import KINDS, SETTLED_STATES, SHAPE_OF, SHAPES, SOLID, STATES, block, boxes_of
from worldgauge.worlds.voxel.generate import generate


@pytest.mark.parametrize("kind", ["plains", "snowy"])
def test_a_settlement_comes_back_as_it_went(kind):
    world = generate(kind, 5, (160, 160, 56))
    cells = names.cells_of(world)
    back = names.voxels_of(cells, world)
    assert back.digest() == world.digest()
    assert names.substitutions(cells) == []
    np.testing.assert_array_equal(names.voxels_of(cells).states, world.states)


def test_every_state_of_a_settlement_has_a_block_of_its_own():
    texts = [names.state_of(state) for state in range(SETTLED_STATES)]
    assert len(set(texts)) == SETTLED_STATES
    for state, text in enumerate(texts):
        assert names.nearest(text) == (state, True)


def test_every_state_is_a_block_of_the_game_with_all_its_states_said():
    for state in range(len(STATES)):
        name, said = split_state(names.state_of(state))
        assert table.known(name), name
        # The table is of 1.20.4, where leaves can stand in water.
        later = {"waterlogged"} if name.endswith("_leaves") else set()
        assert set(said) | later == set(table.properties(name)), name
        assert all(value in table.properties(name)[key] for key, value in said.items()), name


def test_the_game_stops_a_body_where_we_do():
    apart = {"cactus", "cobweb"}
    for state in range(len(STATES)):
        kind = KINDS[STATES[state].kind]
        if kind.shape == "pane" or kind.name in apart:
            continue
        ours = (
            {(x0, z0, 1 - y1, x1, z1, 1 - y0) for x0, y0, z0, x1, y1, z1 in boxes_of(state)} if SOLID[state] else set()
        )
        name, said = split_state(names.state_of(state))
        theirs = {tuple(v / 16 for v in box) for box in table.boxes(name, said)}
        assert _filled(theirs) == _filled(ours), (kind.name, name)


def _filled(boxes):
    """A cell in eighths: which are filled by boxes x0, y0, z0, x1, y1, z1; sixteenths count as heights."""
    cell = np.zeros((16, 16, 16), bool)
    for x0, y0, z0, x1, y1, z1 in boxes:
        cell[tuple(slice(round(16 * a), round(16 * b)) for a, b in ((x0, x1), (y0, y1), (z0, z1)))] = True
    return cell.tobytes()


def test_axes_and_directions_keep_their_sense():
    world = meadow(size=8, blocks={(2, 6, 4): "oak_stairs[facing=north]", (5, 1, 7): "stone"})
    cells = names.cells_of(world)
    assert cells.origin == (0, 0, -8)
    assert cells.size == (8, 20, 8)
    # Our y is north, the game's z is south: cell y = 6 of 8 is z = -7, index 1.
    assert cells.palette[cells.index[2, 4, 1]].startswith("minecraft:oak_stairs[facing=north,half=bottom")
    assert cells.palette[cells.index[5, 7, 6]] == "minecraft:stone"
    assert cells.ours((2.5, 4.0, -6.5)) == (2.5, 6.5, 4.0)


def test_thin_walls_reach_out_to_full_blocks_and_to_each_other():
    row = {(3, 3, 4): "oak_fence", (4, 3, 4): "oak_fence", (3, 4, 4): "stone", (5, 3, 4): "poppy"}
    cells = names.cells_of(meadow(size=8, blocks=row))
    texts = [cells.palette[cells.index[x, 4, 4]] for x in (3, 4)]
    assert texts[0] == "minecraft:oak_fence[east=true,north=true,south=false,waterlogged=false,west=false]"
    assert texts[1] == "minecraft:oak_fence[east=false,north=false,south=false,waterlogged=false,west=true]"
    wall = names.state_of(block("cobblestone_wall"), ["south"])
    assert wall == "minecraft:cobblestone_wall[east=none,north=none,south=low,up=true,waterlogged=false,west=none]"


FOREIGN = {
    "minecraft:oak_stairs[facing=east,half=top,shape=inner_left,waterlogged=true]": "oak_stairs[facing=east]",
    "minecraft:birch_slab[type=double,waterlogged=false]": "boards",
    "minecraft:stone_slab[type=bottom,waterlogged=false]": "cobblestone_slab",
    "minecraft:oak_log[axis=x]": "oak_log",
    "minecraft:oak_door[facing=east,half=lower,hinge=left,open=false,powered=false]": "oak_fence",
    "minecraft:white_stained_glass_pane": "glass_pane",
    "minecraft:snow[layers=1]": "snow_layer",
    "minecraft:grass_path": "path",
    "minecraft:farmland[moisture=7]": "farmland",
    "minecraft:cave_air": "air",
    "minecraft:lava[level=3]": "lava",
    "minecraft:water[level=3]": "water",
    "minecraft:red_tulip": "poppy",
    "minecraft:oak_button": "torch",
    "minecraft:jungle_leaves[distance=1,persistent=false]": "oak_leaves",
    "minecraft:iron_ore": "stone",
    "minecraft:deepslate_gold_ore[lit=false]": "stone",
    "minecraft:basalt[axis=y]": "stone",
    "minecraft:quartz_pillar": "marble_shaft",
    "minecraft:brown_mushroom_block[down=false,east=true,north=true,south=true,up=true,west=true]": "brown_enamel",
    "mod:nothing_like_it": "stone",
}


@pytest.mark.parametrize(("foreign", "ours"), FOREIGN.items())
def test_a_foreign_block_becomes_one_like_it(foreign, ours):
    state, exact = names.nearest(foreign)
    assert STATES[state].name == ours
    assert not exact


def test_no_block_that_nature_makes_becomes_a_road_or_a_metal():
    """Exact states are the families' own: they come back as what was written."""
    made = {"path", "hull", "steel", "plating", "crossing_x", "lane_x", "rails_x", "snowy_leaves", "picture_1"}
    for name in table.names():
        state, exact = names.nearest(f"minecraft:{name}")
        if STATES[state].name in made:
            assert exact or name in ("dirt_path", "iron_bars"), name


def test_every_block_of_the_game_has_a_nearest_one_and_bodies_pass_where_they_did():
    for name in table.names():
        state, _ = names.nearest(f"minecraft:{name}")
        boxes = table.boxes(name, {})
        if boxes == ((0, 0, 0, 16, 16, 16),) and not name.endswith(("_stairs", "_slab")):
            assert SHAPES[SHAPE_OF[state]] == "cube", name
        if not boxes and name not in ("snow",):
            assert not SOLID[state], name


def test_what_is_replaced_is_counted():
    index = np.zeros((2, 2, 2), np.uint16)
    index[0] = 1
    index[1, 1, 1] = 2
    cells = Cells((0, 0, 0), (AIR, "minecraft:grass_path", "mod:thing", "minecraft:bedrock"), index)
    said = names.substitutions(cells)
    assert said == [("minecraft:grass_path", "path", 4), ("mod:thing", "stone", 1)]


def test_states_and_airs_that_are_the_same_block_are_no_substitution():
    same = ("minecraft:cave_air", "minecraft:oak_leaves[distance=1,persistent=false]", "minecraft:water[level=3]")
    others = ("minecraft:jungle_leaves[distance=1,persistent=false]", "minecraft:seagrass", "minecraft:light")
    cells = Cells((0, 0, 0), (AIR, *same, *others), np.arange(8, dtype=np.uint16).reshape(2, 2, 2) % 7)
    assert {one.foreign: one.ours for one in names.substitutions(cells)} == dict(
        zip(others, ("oak_leaves", "water", "air"), strict=True)
    )


def test_objects_are_connected_parts_or_those_known():
    blocks = {(x, 2, z): "oak_planks" for x in (1, 2) for z in (4, 5)} | {(6, 6, 4): "oak_log", (6, 6, 5): "oak_leaves"}
    world = meadow(size=8, blocks=blocks)
    cells = names.cells_of(world)
    parts = names.voxels_of(cells).instances
    assert len({parts[x, 2, z] for x in (1, 2) for z in (4, 5)}) == 1
    assert parts[6, 6, 4] == parts[6, 6, 5] != parts[1, 2, 4]
    assert parts[0, 0, 0] == 0

    world.instances[1, 2, 4] = 7
    changed = Cells(cells.origin, cells.palette, cells.index.copy())
    changed.index[0, 4, 7] = cells.palette.index(names.state_of(block("oak_log")))
    back = names.voxels_of(changed, world).instances
    assert back[1, 2, 4] == 7
    assert back[0, 0, 4] > 7
    with pytest.raises(WorldError, match="not those"):
        names.voxels_of(cells, meadow(size=9))


def test_another_version_has_its_own_names():
    world = meadow(size=8, blocks={(3, 3, 4): "tall_grass"})
    cells = names.cells_of(world, version="1.20.4")
    assert "minecraft:short_grass" in cells.palette
    assert all(table.known(split_state(text)[0]) for text in cells.palette)
    assert names.voxels_of(cells, world).digest() == world.digest()
    assert names.substitutions(cells) == []
    with pytest.raises(UnknownNameError, match=r"no version of the game '1\.18'"):
        names.cells_of(world, version="1.18")
