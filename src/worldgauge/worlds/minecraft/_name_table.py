"""Which block of Minecraft 1.16.5 stands for each kind of ours.

Chosen so that a body moves over both alike: where the game's namesake has another shape or grip (a path and farmland
are a sixteenth lower, packed ice is slippery), a block of the same look and the right shape stands in for it.
"""

from __future__ import annotations

_AXES = "axis=y"
_KEPT = "distance=7,persistent=true"
_CAP = "down=true,east=true,north=true,south=true,up=true,west=true"
_COLOURS = {"teal": "cyan", "sky": "light_blue", "violet": "purple", "grey": "gray"}
_PAINTED = ("red", "orange", "yellow", "lime", "green", "teal", "sky", "blue", "violet", "pink", "white", "grey")
_COMPASS = ("north", "east", "south", "west")
_CORNERS = ("ul", "ur", "ll", "lr")


def _glazed(colour: str, facing: str = "north") -> str:
    return f"{colour}_glazed_terracotta[facing={facing}]"


CUBES: dict[str, str] = {
    # settlements
    "grass_block": "grass_block[snowy=false]",
    "dry_grass_block": "lime_terracotta",
    "snowy_grass_block": "grass_block[snowy=true]",
    "podzol": "podzol[snowy=false]",
    "farmland": "soul_soil",
    "path": f"brown_mushroom_block[{_CAP}]",
    "mossy_rock": "mossy_stone_bricks",
    "white_plaster": "quartz_block",
    "orange_plaster": "orange_terracotta",
    "ice_bricks": "light_blue_wool",
    "rotten_planks": "dark_oak_planks",
    "hay_bale": f"hay_block[{_AXES}]",
    "barrel": "barrel[facing=up,open=false]",
    **{f"{wood}_beam": f"stripped_{wood}_log[{_AXES}]" for wood in ("oak", "spruce", "acacia")},
    **{f"{wood}_log": f"{wood}_log[{_AXES}]" for wood in ("oak", "spruce", "acacia", "birch")},
    **{f"{wood}_leaves": f"{wood}_leaves[{_KEPT}]" for wood in ("oak", "spruce", "acacia", "birch")},
    "snowy_leaves": f"jungle_leaves[{_KEPT}]",
    "cactus": "cactus[age=0]",
    # ground and floors of the families
    "turf": "green_wool",
    "trail": "jungle_planks",
    "dune": "end_stone",
    "regolith": "purple_terracotta",
    "mint": "lime_wool",
    "clover": _glazed("lime"),
    "asphalt": "cyan_terracotta",
    "lane_x": "polished_basalt[axis=x]",
    "lane_y": "polished_basalt[axis=z]",
    "crossing_x": "basalt[axis=x]",
    "crossing_y": "basalt[axis=z]",
    "pavement": "andesite",
    "apron": "polished_andesite",
    "plating": "netherite_block",
    "lit_plating": "sea_lantern",
    "boards": "birch_planks",
    "flagstone": "end_stone_bricks",
    "mosaic": _glazed("light_blue"),
    "parquet": f"stripped_dark_oak_wood[{_AXES}]",
    "white_tile": "polished_diorite",
    "black_tile": "polished_blackstone",
    "red_rug": _glazed("red"),
    "blue_rug": _glazed("blue"),
    "green_rug": _glazed("green"),
    "pink_check": "pink_wool",
    "white_check": "white_wool",
    "rails_x": "quartz_pillar[axis=x]",
    "rails_y": "quartz_pillar[axis=z]",
    # paint, metal, light
    **{f"{name}_enamel": f"{_COLOURS.get(name, name)}_concrete" for name in (*_PAINTED, "black", "brown")},
    "cream_enamel": f"bone_block[{_AXES}]",
    "hull": "iron_block",
    "dark_hull": "polished_blackstone_bricks",
    "steel": "light_gray_concrete",
    "rust": "brown_terracotta",
    "tank": "diorite",
    "red_sheet": "red_terracotta",
    "blue_sheet": "blue_terracotta",
    "green_sheet": "green_terracotta",
    "amber_sheet": "yellow_terracotta",
    "pale_sheet": "light_gray_terracotta",
    "hazard": _glazed("yellow"),
    "cyan_glow": "cyan_stained_glass",
    "pink_glow": "magenta_stained_glass",
    "amber_glow": "shroomlight",
    "lime_glow": "lime_stained_glass",
    "white_glow": "glowstone",
    # fronts, windows, antiquity
    "brownstone": "red_sandstone",
    "soot_bricks": "nether_bricks",
    "concrete": "smooth_stone",
    "rose_front": "pink_terracotta",
    "sage_front": "gray_terracotta",
    "blue_front": "light_blue_terracotta",
    "window": "white_stained_glass",
    "warm_window": "yellow_stained_glass",
    "curtain_glass": "blue_stained_glass",
    "works_window": "gray_stained_glass",
    "dome_glass": "light_blue_stained_glass",
    "marble": "smooth_quartz",
    "marble_shaft": f"quartz_pillar[{_AXES}]",
    "frieze": "chiseled_sandstone",
    "bronze": "dark_prismarine",
    "gold": "gold_block",
    # toys, rooms, shores
    "candy": _glazed("pink"),
    "blue_candy": _glazed("cyan"),
    "toadstool": f"red_mushroom_block[{_CAP}]",
    "pink_leaves": "magenta_wool",
    "blue_leaves": "cyan_wool",
    "golden_leaves": "orange_wool",
    "violet_leaves": "purple_wool",
    "scarlet_leaves": "nether_wart_block",
    "red_wall": "crimson_planks",
    "green_wall": "warped_planks",
    "ochre_wall": "honeycomb_block",
    "blue_wall": "lapis_block",
    "wainscot": f"dark_oak_wood[{_AXES}]",
    "coffer": "chiseled_quartz_block",
    "red_books": "chiseled_nether_bricks",
    "blue_books": "chiseled_polished_blackstone",
    **{f"picture_{n}": _glazed("magenta", facing) for n, facing in enumerate(_COMPASS, 1)},
    **{f"harbour_{c}": _glazed("light_gray", facing) for c, facing in zip(_CORNERS, _COMPASS, strict=True)},
    **{f"mountain_{c}": _glazed("gray", facing) for c, facing in zip(_CORNERS, _COMPASS, strict=True)},
    "pink_coral": "brain_coral_block",
    "orange_coral": "horn_coral_block",
}
"""Kinds that fill a cell; those left out have the game's own name."""

SLABS: dict[str, str] = {
    "turf_slab": "dark_prismarine_slab",
    "trail_slab": "jungle_slab",
    "dune_slab": "cut_sandstone_slab",
    "regolith_slab": "purpur_slab",
    "mint_slab": "warped_slab",
    "clover_slab": "prismarine_brick_slab",
    "boards_slab": "birch_slab",
    "flagstone_slab": "end_stone_brick_slab",
    "red_enamel_slab": "red_nether_brick_slab",
    "yellow_enamel_slab": "smooth_sandstone_slab",
    "blue_enamel_slab": "prismarine_slab",
    "white_enamel_slab": "quartz_slab",
    "grey_enamel_slab": "smooth_stone_slab",
    "black_enamel_slab": "blackstone_slab",
    "marble_slab": "smooth_quartz_slab",
    "oak_top_slab": "oak_slab",
    "spruce_top_slab": "spruce_slab",
    "white_glow_top_slab": "diorite_slab",
}

PLANTS: dict[str, str] = {
    "tall_grass": "grass",
    "dry_tall_grass": "crimson_roots",
    "wheat": "wheat[age=7]",
    "carrots": "carrots[age=7]",
    "white_daisy": "oxeye_daisy",
    "sunflower_bush": "sunflower[half=lower]",
}
"""Kinds of crossed planes; those left out have the game's own name."""

PANES: dict[str, str] = {"steel_rail": "iron_bars"}

POSTS: dict[str, str] = {
    "lantern_post": "end_rod[facing=up]",
    "steel_post": "end_rod[facing=down]",
    "pile": "end_rod[facing=up]",
    "torch": "torch",
}
"""An end rod is the game's one block with the posts' shape."""

LEVELS: dict[str, str] = {
    "layer": "snow[layers=2]",
    "quarter": "snow[layers=3]",
    "three_quarter": "snow[layers=7]",
    "liquid": "water[level=0]",
}
"""By shape. Snow stops a body an eighth below its drawn height: two layers carry it as high as our one."""

_WET = {
    f"minecraft:{wood}_leaves[{_KEPT}]": f"minecraft:{wood}_leaves[{_KEPT},waterlogged=false]"
    for wood in ("oak", "spruce", "acacia", "birch", "jungle")
}
RENAMED: dict[str, dict[str, str]] = {"1.16.5": {}, "1.20.4": {"minecraft:grass": "minecraft:short_grass", **_WET}}
"""By version, what it writes differently."""
