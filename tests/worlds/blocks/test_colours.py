import numpy as np
import pytest

from worldgauge.worlds.blocks import colours as palette
from worldgauge.worlds.blocks import table
from worldgauge.worlds.blocks.colours import OPAQUE, PAINTS, Look, has_colour, look_of, mixed, shorter_names
from worldgauge.worlds.blocks.mesh import shape_of


def test_every_block_that_is_seen_has_a_colour_of_its_material():
    without = [name for name in table.names() if not has_colour(name) and shape_of(name, {}).parts]
    assert without == []
    for name in table.names():
        look = look_of(name)
        assert 0 < look.opacity <= OPAQUE
        assert all(0 <= value <= 255 and isinstance(value, int) for face in look[:3] for value in face)


def test_every_paint_of_a_shape_is_mixed():
    used = {
        part.paint
        for name in table.names()
        for shape in [shape_of(name, {}), shape_of(name, {"lit": "true"})]
        for part in (*shape.parts, *shape.sheets)
    }
    assert used - {None} <= set(PAINTS)


@pytest.mark.parametrize(
    ("made", "of"),
    [
        ("oak_stairs", "oak_planks"),
        ("dark_oak_fence_gate", "dark_oak_planks"),
        ("birch_pressure_plate", "birch_planks"),
        ("stone_brick_wall", "stone_bricks"),
        ("brick_slab", "bricks"),
        ("nether_brick_fence", "nether_bricks"),
        ("deepslate_tile_stairs", "deepslate_tiles"),
        ("polished_blackstone_brick_slab", "polished_blackstone_bricks"),
        ("waxed_weathered_cut_copper_slab", "weathered_cut_copper"),
        ("quartz_stairs", "quartz_block"),
        ("moss_carpet", "moss_block"),
        ("glass_pane", "glass"),
        ("cyan_stained_glass_pane", "cyan_stained_glass"),
        ("infested_stone", "stone"),
        ("damaged_anvil", "anvil"),
        ("stripped_oak_wood", "oak_planks"),
        ("potted_poppy", "poppy"),
        ("tube_coral_wall_fan", "tube_coral"),
        ("player_wall_head", "player_head"),
        ("red_wall_banner", "red_banner"),
    ],
)
def test_what_is_made_of_a_material_has_its_colour(made, of):
    assert look_of(made).side == look_of(of).side
    assert look_of(made).opacity == look_of(of).opacity


def test_dyed_goods_are_told_apart_by_dye_and_by_kind():
    kinds = ("wool", "concrete", "terracotta", "concrete_powder", "glazed_terracotta")
    colours = {look_of(f"{dye}_{kind}").side for dye in palette.DYES for kind in kinds}
    assert len(colours) == len(palette.DYES) * len(kinds)
    for kind in ("wool", "concrete"):
        dyed = np.array([look_of(f"{dye}_{kind}").side for dye in palette.DYES], float)
        apart = np.linalg.norm(dyed[:, None] - dyed[None], axis=2)
        assert apart[~np.eye(len(dyed), dtype=bool)].min() > 25
    red, green, blue = (look_of(f"{dye}_wool").side for dye in ("red", "lime", "blue"))
    assert (np.argmax(red), np.argmax(green), np.argmax(blue)) == (0, 1, 2)


def test_names_that_begin_like_a_dye_are_no_dyed_goods():
    assert (
        look_of("red_sandstone") == look_of("cut_red_sandstone")
        or look_of("red_sandstone").side != look_of("red_wool").side
    )
    assert look_of("blue_ice").opacity == OPAQUE
    assert look_of("red_mushroom").side != look_of("red_wool").side
    assert look_of("light_blue_wool") != look_of("blue_wool")


def test_what_lets_light_through():
    for name in ("glass", "glass_pane", "white_stained_glass", "water", "ice", "oak_leaves", "slime_block"):
        assert look_of(name).opacity < OPAQUE, name
    for name in ("stone", "lava", "packed_ice", "oak_door", "iron_bars", "snow"):
        assert look_of(name).opacity == OPAQUE, name


def test_logs_show_their_wood_at_the_ends():
    log = look_of("oak_log")
    assert log.top == log.bottom != log.side
    assert sum(log.top) > sum(log.side)
    assert look_of("oak_wood") == Look(log.side, log.side, log.side)


def test_unknown_names_have_a_colour_that_follows_from_the_name():
    one, other = look_of("no_such_block"), look_of("another_block_name")
    assert one != other
    assert one.side == (102, 105, 80), "the same on every machine"
    assert not has_colour("no_such_block")
    assert look_of("") is not None
    assert look_of("_slab_slab_slab" * 50) is not None


def test_shorter_names_are_the_materials_nearest_first():
    assert "stone_bricks" in shorter_names("stone_brick_wall")
    assert shorter_names("oak_stairs")[:4] == ("oak", "oaks", "oak_block", "oak_planks")
    assert "name" not in shorter_names("name")


def test_names_from_elsewhere_may_be_long():
    for hostile in ("smooth_" * 20_000, "waxed_" * 9_000 + "_block" * 9_000, "_slab" * 12, "waxed_" * 5 + "_block" * 5):
        assert look_of(hostile).opacity == OPAQUE
        assert len(shorter_names(hostile)) < 500


def test_mixing_by_hand():
    assert mixed((0, 100, 200), (100, 100, 0), 0.25) == (25, 100, 150)
    assert mixed((1, 2, 3), (9, 9, 9), 0.0) == (1, 2, 3)
