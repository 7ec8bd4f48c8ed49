"""The nearest of our blocks for a block of the game that we do not have: by its shape, then by words of its name."""

from __future__ import annotations

from worldgauge.worlds.blocks import table
from worldgauge.worlds.voxel.blocks import block

_SAME: dict[str, str] = {
    **dict.fromkeys(("cave_air", "void_air", "light", "structure_void", "moving_piston"), "air"),
    **dict.fromkeys(("grass_path", "dirt_path"), "path"),
    **dict.fromkeys(("lava", "bubble_column", "kelp", "kelp_plant", "seagrass", "tall_seagrass"), "water"),
    **dict.fromkeys(("ochre_froglight", "verdant_froglight", "pearlescent_froglight"), "white_glow"),
    **dict.fromkeys(("mud", "packed_mud", "muddy_mangrove_roots"), "dirt"),
    **dict.fromkeys(("azalea", "flowering_azalea", "big_dripleaf"), "oak_leaves"),
    **dict.fromkeys(("chorus_plant", "chorus_flower"), "violet_leaves"),
    **dict.fromkeys(("carved_pumpkin", "jack_o_lantern"), "pumpkin"),
    **dict.fromkeys(("jukebox", "note_block", "loom", "lectern", "beehive", "bee_nest"), "oak_planks"),
    **dict.fromkeys(("redstone_block", "tnt", "target"), "red_enamel"),
    **dict.fromkeys(("coal_block", "obsidian", "crying_obsidian"), "black_enamel"),
    **dict.fromkeys(("emerald_block", "slime_block"), "lime_enamel"),
    **dict.fromkeys(("amethyst_block", "budding_amethyst", "shulker_box"), "violet_enamel"),
    **dict.fromkeys(("purpur_block", "purpur_pillar"), "pink_enamel"),
    **dict.fromkeys(("sponge", "wet_sponge"), "yellow_wool"),
    **dict.fromkeys(("short_grass", "sugar_cane", "bamboo_sapling", "vine", "beetroots"), "tall_grass"),
    **dict.fromkeys(("large_fern", "nether_sprouts", "warped_roots", "lily_pad", "frogspawn"), "fern"),
    **dict.fromkeys(("wall_torch", "soul_torch", "soul_wall_torch", "redstone_torch"), "torch"),
    **dict.fromkeys(("packed_ice", "blue_ice", "frosted_ice"), "ice"),
    **dict.fromkeys(("allium", "lilac", "blue_orchid"), "cornflower"),
    **dict.fromkeys(("red_tulip", "rose_bush", "peony", "pink_tulip"), "poppy"),
    **dict.fromkeys(("white_tulip", "azure_bluet", "lily_of_the_valley"), "white_daisy"),
    "farmland": "farmland",
    "potatoes": "carrots",
    "snow": "snow_layer",
    "powder_snow": "cobweb",
    "magma_block": "amber_glow",
    "soul_sand": "regolith",
    "suspicious_sand": "sand",
    "suspicious_gravel": "gravel",
    "moss_block": "turf",
    "cherry_leaves": "pink_leaves",
    "mangrove_propagule": "tall_grass",
    "barrier": "glass",
    "cake": "white_enamel_slab",
    "chiseled_bookshelf": "bookshelf",
    "composter": "barrel",
    "diamond_block": "sky_enamel",
    "honey_block": "ochre_wall",
    "dried_kelp_block": "green_enamel",
    "prismarine": "teal_enamel",
    "scaffolding": "oak_fence",
    "fire_coral_block": "red_wool",
    "tube_coral_block": "blue_wool",
    "bubble_coral_block": "violet_enamel",
}

_PAINTS = {
    **{
        "light_blue": "sky",
        "light_gray": "grey",
        "gray": "grey",
        "cyan": "teal",
        "purple": "violet",
        "magenta": "pink",
    },
    **{colour: colour for colour in ("orange", "lime", "pink", "brown", "green")},
}

_LOGS = {
    "birch": "birch_log",
    "spruce": "spruce_log",
    "acacia": "acacia_log",
    **dict.fromkeys(("dark_oak", "mangrove"), "spruce_log"),
}

# Parts of a name between two underscores, the first that fits: full cell, stairs, slab, thin wall.
_MATERIALS: tuple[tuple[str, str, str, str, str], ...] = (
    ("glass", "glass", "sandstone", "white_enamel", "glass_pane"),
    *((rock, "stone", "cobblestone", "cobblestone", "cobblestone_wall") for rock in ("_ore_", "_raw_")),
    ("iron_", "hull", "cobblestone", "grey_enamel", "steel_rail"),
    ("_chain_", "stone", "cobblestone", "grey_enamel", "steel_rail"),
    *((f"{wood}{end}", log, "oak", "oak", "oak_fence") for wood, log in _LOGS.items() for end in ("_log_", "_wood_")),
    *((end, "spruce_log", "spruce", "spruce", "spruce_fence") for end in ("_stem_", "_hyphae_")),
    ("mangrove_roots", "spruce_log", "spruce", "spruce", "spruce_fence"),
    ("candle_cake", "white_enamel", "sandstone", "white_enamel", "oak_fence"),
    ("spruce_leaves", "spruce_leaves", "spruce", "spruce", "spruce_fence"),
    ("leaves", "oak_leaves", "oak", "oak", "oak_fence"),
    ("acacia", "acacia_planks", "acacia", "acacia", "oak_fence"),
    ("dark_oak", "rotten_planks", "spruce", "spruce", "spruce_fence"),
    ("mangrove", "spruce_planks", "spruce", "spruce", "spruce_fence"),
    ("crimson", "red_wall", "spruce", "spruce", "spruce_fence"),
    ("warped", "green_wall", "spruce", "spruce", "spruce_fence"),
    ("_log_", "oak_log", "oak", "oak", "oak_fence"),
    ("_wood_", "oak_log", "oak", "oak", "oak_fence"),
    ("spruce", "spruce_planks", "spruce", "spruce", "spruce_fence"),
    ("sandstone", "sandstone", "sandstone", "sandstone", "cobblestone_wall"),
    ("end_stone", "sandstone", "sandstone", "sandstone", "cobblestone_wall"),
    ("quartz", "marble", "sandstone", "marble", "cobblestone_wall"),
    ("brick", "stone_bricks", "cobblestone", "cobblestone", "cobblestone_wall"),
    ("mossy", "mossy_cobblestone", "cobblestone", "cobblestone", "cobblestone_wall"),
    ("oak", "oak_planks", "oak", "oak", "oak_fence"),
    ("birch", "boards", "oak", "boards", "oak_fence"),
    *((wood, "oak_planks", "oak", "oak", "oak_fence") for wood in ("jungle", "cherry", "bamboo")),
    ("planks", "oak_planks", "oak", "oak", "oak_fence"),
    ("ladder", "oak_planks", "oak", "oak", "oak_fence"),
    ("chest", "barrel", "oak", "oak", "oak_fence"),
    ("_table", "barrel", "oak", "oak", "oak_fence"),
    ("_bed_", "red_wool", "oak", "red_enamel", "oak_fence"),
    *((f"_{game}_", f"{ours}_enamel", "cobblestone", "cobblestone", "oak_fence") for game, ours in _PAINTS.items()),
    ("_red_", "red_wool", "cobblestone", "red_enamel", "oak_fence"),
    ("yellow_", "yellow_wool", "sandstone", "yellow_enamel", "oak_fence"),
    ("blue_", "blue_wool", "cobblestone", "blue_enamel", "oak_fence"),
    ("white_", "white_plaster", "sandstone", "white_enamel", "oak_fence"),
    ("black_", "black_enamel", "cobblestone", "black_enamel", "oak_fence"),
    ("terracotta", "terracotta", "sandstone", "cobblestone", "cobblestone_wall"),
    ("dirt", "dirt", "cobblestone", "turf", "oak_fence"),
    ("mycelium", "podzol", "cobblestone", "turf", "oak_fence"),
    ("", "stone", "cobblestone", "cobblestone", "cobblestone_wall"),
)
_THIN = ("_fence", "_wall", "_pane", "_door", "_gate", "_bars", "chain")
"""How names end."""
_FLOWERS = ("flower", "tulip", "rose", "mushroom", "fungus", "petals", "blossom", "pitcher")
_GREEN = ("sapling", "grass", "stem", "vine", "roots", "berry", "wart", "coral", "lichen", "leaf", "vein")


def nearest(name: str, states: dict[str, str]) -> int:
    """Find the block of ours that is nearest to a block of the game.

    Args:
        name: Name of the block; one that the game does not have gives stone.
        states: Values by key.

    Returns:
        Index of our block state.
    """
    return block(_nearest(name, states))


def _nearest(name: str, states: dict[str, str]) -> str:
    if name in _SAME:
        return _SAME[name]
    cube, stairs, slab, thin = next(row[1:] for row in _MATERIALS if row[0] in f"_{name}_")
    if name.endswith("_stairs"):
        facing = states.get("facing", "north")
        return f"{stairs}_stairs[facing={facing if facing in ('east', 'south', 'west') else 'north'}]"
    if name.endswith("_slab"):
        top = "oak_top_slab" if "oak" in slab or "acacia" in slab else "spruce_top_slab"
        return {"double": cube, "top": top}.get(states.get("type", ""), f"{slab}_slab")
    boxes = table.boxes(name, states)
    if not boxes:
        if states.get("open") == "true":
            return "air"
        return "poppy" if _has(name, _FLOWERS) else "tall_grass" if _has(name, _GREEN) else "torch"
    if boxes == (_FULL,):
        return cube
    if name.endswith(_THIN):
        return "air" if states.get("open") == "true" else thin
    x0, _, z0, x1, _, z1 = (fold(side) for fold, side in zip(_FOLDS, zip(*boxes, strict=True), strict=True))
    if max(x1 - x0, z1 - z0) < 10:
        return "lantern_post"
    if min(x1 - x0, z1 - z0) < 5:
        return thin
    height = max(box[4] for box in boxes)
    levels = ((1, "white_carpet"), (5, "flagstone_quarter"), (9, f"{slab}_slab"))
    return next((low for most, low in levels if height <= most), "flagstone_three_quarter" if height <= 12 else cube)


_FULL = (0, 0, 0, 16, 16, 16)
_FOLDS = (min, min, min, max, max, max)


def _has(name: str, words: tuple[str, ...]) -> bool:
    return any(word in name for word in words)
