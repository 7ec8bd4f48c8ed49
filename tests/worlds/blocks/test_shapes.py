from itertools import product

import numpy as np
import pytest

from worldgauge.worlds.blocks import table
from worldgauge.worlds.blocks.colours import OPAQUE, PAINTS, PALETTE, Look, _made_of, look_of, mixed, shorter_names
from worldgauge.worlds.blocks.fittings import SIDES, Shape, along, covered, flipped, squares_of, turned
from worldgauge.worlds.blocks.mesh import shape_of

COMPASS = ("north", "east", "south", "west")
UNSEEN = {"air", "cave_air", "void_air", "structure_void", "barrier", "light", "moving_piston"}


def filled(shape: Shape) -> np.ndarray:
    """(16, 16, 16) [x, y, z], the sixteenths that the boxes fill."""
    space = np.zeros((16, 16, 16), bool)
    for (x0, y0, z0, x1, y1, z1), _ in shape.parts:
        space[x0:x1, max(y0, 0) : y1, z0:z1] = True
    return space


def boxes_of(name: str, **states: str) -> set[tuple[int, ...]]:
    return {part.box for part in shape_of(name, states).parts}


@pytest.mark.parametrize("facing", COMPASS)
@pytest.mark.parametrize("half", ["bottom", "top"])
@pytest.mark.parametrize("corner", ["straight", "inner_left", "inner_right", "outer_left", "outer_right"])
def test_stairs_are_a_slab_and_quarters(facing, half, corner):
    # Quarters of the upper half as seen by somebody who faces `facing`: ahead left, ahead right, behind left and right.
    quarters = {
        "straight": {"ahead left", "ahead right"},
        "inner_left": {"ahead left", "ahead right", "behind left"},
        "inner_right": {"ahead left", "ahead right", "behind right"},
        "outer_left": {"ahead left"},
        "outer_right": {"ahead right"},
    }[corner]
    ahead = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}
    (ax, az), (rx, rz) = ahead[facing], ahead[COMPASS[(COMPASS.index(facing) + 1) % 4]]
    expected = np.zeros((16, 16, 16), bool)
    expected[:, :8] = True
    for quarter in quarters:
        a, r = (1 if "ahead" in quarter else -1), (1 if "right" in quarter else -1)
        x, z = a * ax + r * rx, a * az + r * rz
        expected[slice(8, 16) if x > 0 else slice(0, 8), 8:, slice(8, 16) if z > 0 else slice(0, 8)] = True
    if half == "top":
        expected = expected[:, ::-1]
    shape = shape_of("oak_stairs", {"facing": facing, "half": half, "shape": corner})
    assert (filled(shape) == expected).all()


def test_shapes_of_the_specification():
    post = (6, 0, 6, 10, 16, 10)
    assert boxes_of("oak_fence") == {post}
    assert boxes_of("oak_fence", north="true") == {post, (7, 6, 0, 9, 9, 6), (7, 12, 0, 9, 15, 6)}
    assert boxes_of("oak_fence", east="true") == {post, (10, 6, 7, 16, 9, 9), (10, 12, 7, 16, 15, 9)}
    assert boxes_of("cobblestone_wall", up="true") == {(4, 0, 4, 12, 16, 12)}
    assert boxes_of("cobblestone_wall", up="false", north="low", south="tall") == {
        (5, 0, 0, 11, 14, 8),
        (5, 0, 8, 11, 16, 16),
    }
    assert boxes_of("glass_pane", west="true") == {(7, 0, 7, 9, 16, 9), (0, 0, 7, 7, 16, 9)}
    assert {(0, 5, 7, 2, 16, 9), (14, 5, 7, 16, 16, 9)} < boxes_of("oak_fence_gate")
    assert {(7, 5, 0, 9, 16, 2), (7, 5, 14, 9, 16, 16)} < boxes_of("oak_fence_gate", facing="east")
    assert boxes_of("white_carpet") == {(0, 0, 0, 16, 1, 16)}
    assert boxes_of("snow", layers="3") == {(0, 0, 0, 16, 6, 16)}
    assert boxes_of("stone_pressure_plate") == {(1, 0, 1, 15, 1, 15)}
    assert boxes_of("stone_button", face="floor") == {(5, 0, 6, 11, 2, 10)}
    assert boxes_of("stone_button", face="wall", facing="north") == {(5, 6, 14, 11, 10, 16)}
    assert filled(shape_of("torch", {}))[7:9, :10, 7:9].all()
    assert filled(shape_of("torch", {})).sum() == 2 * 10 * 2
    assert len(shape_of("poppy", {}).sheets) == 4
    assert shape_of("poppy", {}).parts == ()


def test_gates_doors_and_fluids():
    # Facing north: both leaves reach to the low z side and leave the middle free.
    gate = filled(shape_of("oak_fence_gate", {"facing": "north", "open": "true"}))
    assert not gate[2:14].any()
    assert gate[:2, 6:15, 1:7].any()
    assert not gate[:, :, 9:].any()
    lowered = shape_of("oak_fence_gate", {"in_wall": "true"})
    assert min(part.box[1] for part in lowered.parts) == 2
    # Doors are leaves that some have openings in.
    for states in ({"facing": "south"}, {"facing": "west", "open": "true", "hinge": "right"}):
        leaf = filled(shape_of("oak_door", {"half": "lower", **states}))
        upper = filled(shape_of("oak_door", {"half": "upper", **states}))
        assert leaf.sum() == 16 * 16 * 3
        assert leaf.sum() - upper.sum() == 2 * 4 * 8 * 3
        assert not (upper & ~leaf).any()
        assert filled(shape_of("dark_oak_door", {"half": "upper", **states})).sum() == leaf.sum()
    # Fluids fall by level and fill under their own.
    heights = [filled(shape_of("water", {"level": str(level)})).any((0, 2)).sum() for level in range(9)]
    assert heights == [14, 12, 10, 8, 6, 4, 2, 1, 16]
    assert filled(shape_of("water", {"full": "true"})).all()


def test_every_block_has_a_shape_that_turns_with_it():
    for name in table.names():
        properties = table.properties(name)
        combinations = list(product(*properties.values()))
        for values in combinations[:: max(1, len(combinations) // 60)]:
            shape = shape_of(name, dict(zip(properties, values, strict=True)))
            assert bool(shape.parts or shape.sheets) != (name in UNSEEN), (name, values)
            for (x0, y0, z0, x1, y1, z1), _ in shape.parts:
                assert 0 <= x0 <= x1 <= 16, (name, values)
                assert 0 <= z0 <= z1 <= 16, (name, values)
                assert -16 <= y0 <= y1 <= 32, (name, values)
            for corners, _ in shape.sheets:
                flat = np.array(corners)
                assert flat.min() >= 0, (name, values)
                assert flat.max() <= 17, (name, values)
                normal = np.cross(flat[1] - flat[0], flat[2] - flat[0])
                assert normal.any(), (name, values)
                assert (((flat - flat[0]) @ normal) == 0).all(), "its four corners lie in one plane"
    # What faces another way is the same turned.
    for name in ("oak_stairs", "oak_door", "ladder", "red_bed", "chest", "oak_wall_sign", "wall_torch", "lectern"):
        north = filled(shape_of(name, {"facing": "north"}))
        for quarter, facing in enumerate(COMPASS):
            # From above x to the right and z down: a turn to the right takes (x, z) to (-z, x).
            turned_space = np.rot90(north, quarter, (0, 2))
            assert (filled(shape_of(name, {"facing": facing})) == turned_space).all(), (name, facing)
    # Unknown names are full cubes.
    assert filled(shape_of("no_such_block", {"facing": "up"})).all()
    assert filled(shape_of("modded_stairs", {})).all()
    assert filled(shape_of("modded_torch", {})).all()
    for name in ("sea_lantern", "jack_o_lantern", "soul_sand", "shulker_box", "pumpkin"):
        assert filled(shape_of(name, {})).all()


def test_turning_flipping_and_covering():
    for name in ("rail", "lever", "lantern", "wheat", "oak_stairs"):
        shape = shape_of(name, {"shape": "ascending_east"})
        whole = shape
        for _ in range(4):
            whole = turned(whole, "east")
        assert whole == shape
        assert flipped(flipped(shape)) == shape
    chain = shape_of("chain", {"axis": "x"})
    assert {part.box for part in chain.parts} == {(0, 7, 7, 16, 9, 9)}
    assert along(shape_of("chain", {"axis": "y"}), "y") == shape_of("chain", {"axis": "y"})
    # Covered squares are those that touch the side.
    space = filled(shape_of("oak_stairs", {"facing": "east", "shape": "outer_left"}))
    bits = covered(shape_of("oak_stairs", {"facing": "east", "shape": "outer_left"}))
    for side, normal in enumerate(SIDES):
        axis = side // 2
        layer = np.take(space, 15 if sum(normal) > 0 else 0, axis)
        assert bits[side].bit_count() == layer.sum()
        assert bits[side] == sum(1 << 16 * a + b for a, b in np.argwhere(layer).tolist())
    assert squares_of((1, 0, 1, 15, 4, 15), 2) == 0


def test_every_block_and_paint_has_a_colour():
    without = [name for name in table.names() if _made_of(name) is None and shape_of(name, {}).parts]
    assert without == []
    for name in table.names():
        look = look_of(name)
        assert 0 < look.opacity <= OPAQUE
        assert all(0 <= value <= 255 and isinstance(value, int) for face in look[:3] for value in face)
    # Every paint of a shape is mixed.
    used = {
        part.paint
        for name in table.names()
        for shape in [shape_of(name, {}), shape_of(name, {"lit": "true"})]
        for part in (*shape.parts, *shape.sheets)
    }
    assert used - {None} <= set(PAINTS)


MADE_OF = """
    oak_stairs:oak_planks dark_oak_fence_gate:dark_oak_planks birch_pressure_plate:birch_planks
    stone_brick_wall:stone_bricks brick_slab:bricks nether_brick_fence:nether_bricks
    deepslate_tile_stairs:deepslate_tiles polished_blackstone_brick_slab:polished_blackstone_bricks
    waxed_weathered_cut_copper_slab:weathered_cut_copper
    quartz_stairs:quartz_block moss_carpet:moss_block glass_pane:glass cyan_stained_glass_pane:cyan_stained_glass
    infested_stone:stone damaged_anvil:anvil stripped_oak_wood:oak_planks potted_poppy:poppy
    tube_coral_wall_fan:tube_coral player_wall_head:player_head red_wall_banner:red_banner
"""


@pytest.mark.parametrize(("made", "of"), [pair.split(":") for pair in MADE_OF.split()])
def test_what_is_made_of_a_material_has_its_colour(made, of):
    assert look_of(made).side == look_of(of).side
    assert look_of(made).opacity == look_of(of).opacity


def test_colours_of_goods():
    kinds = ("wool", "concrete", "terracotta", "concrete_powder", "glazed_terracotta")
    colours = {look_of(f"{dye}_{kind}").side for dye in PALETTE["dyes"] for kind in kinds}
    assert len(colours) == len(PALETTE["dyes"]) * len(kinds)
    for kind in ("wool", "concrete"):
        dyed = np.array([look_of(f"{dye}_{kind}").side for dye in PALETTE["dyes"]], float)
        apart = np.linalg.norm(dyed[:, None] - dyed[None], axis=2)
        assert apart[~np.eye(len(dyed), dtype=bool)].min() > 25
    red, green, blue = (look_of(f"{dye}_wool").side for dye in ("red", "lime", "blue"))
    assert (np.argmax(red), np.argmax(green), np.argmax(blue)) == (0, 1, 2)
    # Names that begin like a dye are no dyed goods.
    assert (
        look_of("red_sandstone") == look_of("cut_red_sandstone")
        or look_of("red_sandstone").side != look_of("red_wool").side
    )
    assert look_of("blue_ice").opacity == OPAQUE
    assert look_of("red_mushroom").side != look_of("red_wool").side
    assert look_of("light_blue_wool") != look_of("blue_wool")
    # What lets light through.
    for name in ("glass", "glass_pane", "white_stained_glass", "water", "ice", "oak_leaves", "slime_block"):
        assert look_of(name).opacity < OPAQUE, name
    for name in ("stone", "lava", "packed_ice", "oak_door", "iron_bars", "snow"):
        assert look_of(name).opacity == OPAQUE, name
    # Logs show their wood at the ends.
    log = look_of("oak_log")
    assert log.top == log.bottom != log.side
    assert sum(log.top) > sum(log.side)
    assert look_of("oak_wood") == Look(log.side, log.side, log.side)


def test_names_that_lead_nowhere_and_mixing():
    one, other = look_of("no_such_block"), look_of("another_block_name")
    assert one != other
    assert one.side == (102, 105, 80), "the same on every machine"
    assert _made_of("no_such_block") is None
    assert look_of("") is not None
    assert look_of("_slab_slab_slab" * 50) is not None
    # Shorter names are the materials nearest first.
    assert "stone_bricks" in shorter_names("stone_brick_wall")
    assert shorter_names("oak_stairs")[:4] == ("oak", "oaks", "oak_block", "oak_planks")
    assert "name" not in shorter_names("name")
    # Names from elsewhere may be long.
    for hostile in ("smooth_" * 20_000, "waxed_" * 9_000 + "_block" * 9_000, "_slab" * 12, "waxed_" * 5 + "_block" * 5):
        assert look_of(hostile).opacity == OPAQUE
        assert len(shorter_names(hostile)) < 500
    # Mixing by hand.
    assert mixed((0, 100, 200), (100, 100, 0), 0.25) == (25, 100, 150)
    assert mixed((1, 2, 3), (9, 9, 9), 0.0) == (1, 2, 3)
