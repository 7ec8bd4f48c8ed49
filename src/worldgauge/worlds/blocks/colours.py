"""Colours of blocks from our own flat palette: by name, then by the material that the name suggests."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import NamedTuple

# The colours themselves, chosen by eye for blocks as people know them: no picture of the game went into them.


DYES = {
    "white": 0xEAEDED, "orange": 0xEE7A18, "magenta": 0xBB45B0, "light_blue": 0x45ADDA, "yellow": 0xF6C830,
    "lime": 0x74BA1F, "pink": 0xEE90AE, "gray": 0x41474A, "light_gray": 0x91918A, "cyan": 0x188A92, "purple": 0x7C2FAD,
    "blue": 0x373C9F, "brown": 0x744A2A, "green": 0x566F20, "red": 0xA32A25, "black": 0x17181C,
}  # fmt: skip

WOODS = {
    # planks, bark, leaves
    "oak": (0xA5854F, 0x6B5433, 0x4F8F2C), "spruce": (0x755531, 0x3C2811, 0x4A6B4A),
    "birch": (0xC5B57D, 0xDAD8D2, 0x6F9A4C), "jungle": (0xA3764F, 0x574619, 0x3C9A1E),
    "acacia": (0xAB5C33, 0x69625A, 0x5F9A27), "dark_oak": (0x452C15, 0x3E301A, 0x3E7A22),
    "mangrove": (0x783631, 0x554329, 0x4C8A2A), "cherry": (0xE4B3AD, 0x38212D, 0xE9ADC4),
    "bamboo": (0xC4AE52, 0x82923B, 0x5C8A28), "crimson": (0x683148, 0x6E2436, 0x7B0F10),
    "warped": (0x2C6A64, 0x3C3A50, 0x177A7B), "azalea": (0xA5854F, 0x6B5433, 0x5F7A2F),
    "flowering_azalea": (0xA5854F, 0x6B5433, 0x8A6F72),
}  # fmt: skip

SOLIDS = {
    # stone and its kin
    "stone": 0x7F7F7F, "granite": 0x966957, "diorite": 0xBFBFC0, "andesite": 0x8A8B8B, "cobblestone": 0x77787A,
    "mossy_cobblestone": 0x6E795F, "stone_bricks": 0x7B7B7B, "mossy_stone_bricks": 0x737B6A, "bricks": 0x98624F,
    "deepslate": 0x525254, "cobbled_deepslate": 0x4E4E51, "polished_deepslate": 0x49494B, "deepslate_bricks": 0x474748,
    "deepslate_tiles": 0x37373A, "reinforced_deepslate": 0x50524F, "tuff": 0x6D6E67, "calcite": 0xE0E1DD,
    "dripstone": 0x876C5D, "bedrock": 0x565656, "obsidian": 0x0F0B19, "crying_obsidian": 0x210A3D,
    "blackstone": 0x2B242A, "polished_blackstone_bricks": 0x312B32, "gilded_blackstone": 0x3A2C29, "basalt": 0x4B4B50,
    "polished_basalt": 0x5C5C60, "smooth_basalt": 0x49494F, "netherrack": 0x632727, "nether_bricks": 0x2D171B,
    "red_nether_bricks": 0x47080A, "end_stone": 0xDCDFA0, "end_stone_bricks": 0xDBE1A3, "purpur": 0xAA7EAA,
    "purpur_pillar": 0xAD82AD, "sandstone": 0xD9CC9D, "red_sandstone": 0xBA641F, "sand": 0xDCD0A4, "red_sand": 0xBF6822,
    "gravel": 0x84807F, "clay": 0xA1A7B3, "terracotta": 0x995F45, "prismarine": 0x649D94, "prismarine_bricks": 0x64AC9F,
    "dark_prismarine": 0x345C4C, "quartz": 0xECE6DF, "quartz_bricks": 0xEBE5DE, "amethyst": 0x8662C0,
    "glowstone": 0xD9A75A, "sea_lantern": 0xBBD3CA, "shroomlight": 0xF19549, "magma_block": 0x9A4A1E,
    "ochre_froglight": 0xF9F1C6, "verdant_froglight": 0xE4F3E1, "pearlescent_froglight": 0xF4EEEE,
    "soul_sand": 0x523F33, "soul_soil": 0x4C3B30, "ancient_debris": 0x60433C, "sculk": 0x0D2129, "sponge": 0xC4C14B,
    "wet_sponge": 0xACB547, "bone_block": 0xE3DFCD, "packed_mud": 0x8F6C51, "mud_bricks": 0x8A684F, "mud": 0x3D3A3E,
    # soil and plants
    "dirt": 0x86613F, "coarse_dirt": 0x77563A, "rooted_dirt": 0x906850, "podzol": 0x7A5733, "mycelium": 0x6F6469,
    "moss": 0x5A702E, "farmland": 0x6D4526, "dirt_path": 0x947B42, "hay_block": 0xB79A1F, "melon": 0x73941F,
    "pumpkin": 0xC57819, "carved_pumpkin": 0xC57819, "jack_o_lantern": 0xD9952B, "cactus": 0x567F2B, "kelp": 0x577E2B,
    "dried_kelp_block": 0x3A4027, "nether_wart_block": 0x740404, "warped_wart_block": 0x177A7B,
    "chorus_plant": 0x5F3A5F,
    "chorus_flower": 0x9B7D9A, "mushroom_stem": 0xCCC6BB, "brown_mushroom_block": 0x967053,
    "red_mushroom_block": 0xC92E2C,
    "honeycomb_block": 0xE6951E, "honey_block": 0xF8B930, "slime_block": 0x70BF5C, "bee_nest": 0xC79E50,
    "beehive": 0xA9844E, "target": 0xE0B0A4, "frogspawn": 0x696259, "mangrove_roots": 0x4B3B26,
    "muddy_mangrove_roots": 0x453C32, "short_grass": 0x6BA043, "tall_grass": 0x6BA043, "fern": 0x5F9440,
    "large_fern": 0x5F9440, "seagrass": 0x3A8A2E, "tall_seagrass": 0x3A8A2E, "dead_bush": 0x8A6532, "vine": 0x4E8F2C,
    "lily_pad": 0x2F8A32, "sugar_cane": 0x92BE64, "bamboo": 0x6E9A2A, "bamboo_sapling": 0x6E9A2A,
    "glow_lichen": 0x7F968C, "sculk_vein": 0x0D3A41, "sweet_berry_bush": 0x3F6F3A, "spore_blossom": 0xD069A0,
    "pink_petals": 0xF0AFD0, "big_dripleaf": 0x6E8E34, "big_dripleaf_stem": 0x5E7A2F, "small_dripleaf": 0x5F7A2F,
    "hanging_roots": 0xA07C57, "cave_vines": 0x5C7530, "cave_vines_plant": 0x5C7530, "weeping_vines": 0x8A0F12,
    "weeping_vines_plant": 0x8A0F12, "twisting_vines": 0x14877B, "twisting_vines_plant": 0x14877B,
    "crimson_roots": 0x82101E, "warped_roots": 0x149085, "nether_sprouts": 0x149085, "nether_wart": 0x771318,
    "crimson_nylium": 0x831F1F, "warped_nylium": 0x2B7265, "crimson_fungus": 0xA12A22, "warped_fungus": 0x2F8F80,
    "red_mushroom": 0xC92E2C, "brown_mushroom": 0x967053, "wheat": 0xC9A94A, "carrots": 0x4E9A2F, "potatoes": 0x5FA23C,
    "beetroots": 0x5F8A36, "melon_stem": 0x8E9A3A, "pumpkin_stem": 0x8E9A3A, "attached_melon_stem": 0x8E9A3A,
    "attached_pumpkin_stem": 0x8E9A3A, "cocoa": 0x8F5A28, "torchflower_crop": 0x5F9A4A, "pitcher_crop": 0x6E7A5A,
    "kelp_plant": 0x577E2B, "azalea": 0x657A31, "flowering_azalea": 0x8A7A62, "mangrove_propagule": 0x5FA845,
    # flowers
    "dandelion": 0xF7DB3A, "poppy": 0xD8302A, "blue_orchid": 0x2FB0E8, "allium": 0xB57BEA, "azure_bluet": 0xE9EDE0,
    "red_tulip": 0xD83A2E, "orange_tulip": 0xE8852A, "white_tulip": 0xEDF0E4, "pink_tulip": 0xE6A8D4,
    "oxeye_daisy": 0xF1F1E6, "cornflower": 0x4A6AEA, "lily_of_the_valley": 0xF3F5EC, "wither_rose": 0x22231E,
    "torchflower": 0xEE8A2A, "sunflower": 0xF5C62C, "lilac": 0xC98FCB, "rose_bush": 0xC62A2A, "peony": 0xE0A9DA,
    "pitcher_plant": 0x6F8FC0,
    # corals
    "tube_coral": 0x3158D0, "brain_coral": 0xCF5A9E, "bubble_coral": 0xA51AA2, "fire_coral": 0xA5232F,
    "horn_coral": 0xD8C742, "dead_tube_coral": 0x847C78, "dead_brain_coral": 0x847C78, "dead_bubble_coral": 0x847C78,
    "dead_fire_coral": 0x847C78, "dead_horn_coral": 0x847C78,
    # metals and ores
    "iron": 0xDCDCDC, "gold": 0xF4D03E, "diamond": 0x63EDE4, "emerald": 0x2BCB58, "lapis": 0x1F438C, "coal": 0x111111,
    "redstone": 0xAF1905, "netherite": 0x433E40, "copper": 0xC06C50, "exposed_copper": 0xA17E68,
    "weathered_copper": 0x6D9A6F, "oxidized_copper": 0x53A386, "raw_iron": 0xA6886B, "raw_gold": 0xDDA92F,
    "raw_copper": 0x9A694F, "nether_quartz_ore": 0x75413E, "nether_gold_ore": 0x73372A, "chain": 0x3B3F4D,
    "lodestone": 0x939598, "anvil": 0x454545, "cauldron": 0x4A494A, "hopper": 0x4B4A4B, "lantern": 0x4A4F5E,
    "bell": 0xF5CB4E, "lightning_rod": 0xC06C50, "heavy_weighted_pressure_plate": 0xDCDCDC,
    "light_weighted_pressure_plate": 0xF4D03E, "conduit": 0xA08C71, "end_rod": 0xEDE6DA,
    # made things
    "bookshelf": 0x9A7B4B, "chiseled_bookshelf": 0xB1905A, "crafting_table": 0x8B6A3E, "furnace": 0x747474,
    "blast_furnace": 0x515052, "smoker": 0x5C564E, "loom": 0x95795B, "barrel": 0x86643B, "composter": 0x774A23,
    "cartography_table": 0x5E4A37, "fletching_table": 0xC2AB7C, "smithing_table": 0x38383F, "stonecutter": 0x7B7571,
    "grindstone": 0x8C8C8C, "lectern": 0xAE8A52, "brewing_stand": 0x7A6550, "enchanting_table": 0x3A3036,
    "jukebox": 0x75513A, "note_block": 0x75513A, "tnt": 0xC8473B, "chest": 0xA8742F, "trapped_chest": 0xA8742F,
    "ender_chest": 0x2C3B3D, "ladder": 0x9A7A47, "scaffolding": 0xC0A15A, "dispenser": 0x7A7A7A, "dropper": 0x7A7A7A,
    "observer": 0x6B6A6A, "piston": 0x8D846F, "sticky_piston": 0x8D8F6B, "piston_head": 0xA5854F,
    "daylight_detector": 0x82735E, "redstone_lamp": 0x7A4A28, "repeater": 0xA0978F, "comparator": 0xA6A09C,
    "lever": 0x6E5D44, "rail": 0x9A9A9A, "powered_rail": 0xC9A23C, "detector_rail": 0x8B7A70,
    "activator_rail": 0x8B4A3A,
    "redstone_wire": 0xB01208, "tripwire": 0x9A9A9A, "tripwire_hook": 0x8B8B8B, "spawner": 0x253440,
    "trial_spawner": 0x33454F, "beacon": 0x76DCD6, "respawn_anchor": 0x34185A, "dragon_egg": 0x0D0910,
    "turtle_egg": 0xE4E3C0, "sniffer_egg": 0x8E5A44, "sea_pickle": 0x5F6A2E, "flower_pot": 0x7C4636,
    "decorated_pot": 0x9A5640, "candle": 0xEBCEA0, "cake": 0xEFE3DC, "campfire": 0x55432B, "torch": 0xFFD760,
    "soul_torch": 0x7DE7EC, "redstone_torch": 0xD8301E, "cobweb": 0xE8ECEC, "snow": 0xF6FBFB, "snow_block": 0xF6FBFB,
    "powder_snow": 0xF5FBFC, "fire": 0xF3952C, "soul_fire": 0x3BC8D8, "end_portal_frame": 0x5A7A5E,
    "end_portal": 0x0B1718, "end_gateway": 0x0B1718, "command_block": 0xB18A6E, "chain_command_block": 0x84A596,
    "repeating_command_block": 0x8271B0, "structure_block": 0x5A4A5B, "jigsaw": 0x50465A, "crafter": 0x70635F,
    "sculk_sensor": 0x074654, "calibrated_sculk_sensor": 0x1C4F66, "sculk_catalyst": 0x5A5B4E,
    "sculk_shrieker": 0xC7CDAA, "skeleton_skull": 0xC6C6C6, "wither_skeleton_skull": 0x33353A, "zombie_head": 0x4F7A3A,
    "player_head": 0xB58D6E, "creeper_head": 0x5FA84E, "dragon_head": 0x1C1A1F, "piglin_head": 0xE0A07A,
    "iron_bars": 0x8A8D8B, "shulker_box": 0x8E618E, "suspicious_sand": 0xD9CC9F, "suspicious_gravel": 0x827E7C,
    "pointed_dripstone": 0x826858,
}  # fmt: skip

FACES = {
    # top, side, bottom
    "grass_block": (0x6CA046, 0x83683F, 0x86613F), "podzol": (0x5D4219, 0x7B5935, 0x86613F),
    "mycelium": (0x71656B, 0x735B48, 0x86613F), "dirt_path": (0x957C43, 0x866339, 0x86613F),
    "farmland": (0x6D4526, 0x86613F, 0x86613F), "crimson_nylium": (0x831F1F, 0x6B2222, 0x632727),
    "warped_nylium": (0x2B7265, 0x50342F, 0x632727), "melon": (0x70931E, 0x73941F, 0x70931E),
    "hay_block": (0xA68B11, 0xB79A1F, 0xA68B11), "bone_block": (0xD2CEB3, 0xE6E2D1, 0xD2CEB3),
    "cake": (0xF4EBE4, 0xC48A5A, 0xA9672F), "tnt": (0x8F4A3C, 0xC8473B, 0x8F4A3C),
    "bookshelf": (0xA5854F, 0x8A6A48, 0xA5854F), "chiseled_bookshelf": (0xB1905A, 0x9A7A48, 0xB1905A),
    "crafting_table": (0x7A4A2A, 0x8B6A3E, 0xA5854F), "furnace": (0x7E7E7E, 0x6C6C6C, 0x7E7E7E),
    "basalt": (0x525257, 0x4B4B50, 0x525257), "enchanting_table": (0x82302E, 0x2A2232, 0x0F0B19),
    "daylight_detector": (0x92826A, 0x453722, 0x453722), "piston": (0xA5854F, 0x7A7770, 0x6C6C6C),
    "sticky_piston": (0x7EA25A, 0x7A7770, 0x6C6C6C), "beehive": (0xB4935A, 0x9E7B47, 0xB4935A),
    "barrel": (0x8A683C, 0x6D5130, 0x8A683C), "composter": (0x8A5A2E, 0x734620, 0x734620),
    "end_portal_frame": (0x5C8A6A, 0xB0B888, 0xDCDFA0), "target": (0xE6B8AC, 0xE0AAA0, 0xE6B8AC),
    "lectern": (0xAE8A52, 0x96703D, 0xA5854F), "loom": (0x94836F, 0x8A6B4D, 0x75552F),
    "dried_kelp_block": (0x333B28, 0x273020, 0x333B28),
}  # fmt: skip

CLEAR = {
    # colour, opacity of 255
    "glass": (0xCFE6EA, 85), "tinted_glass": (0x2C262E, 170), "water": (0x3B6FD6, 150),
    "bubble_column": (0x4F80DC, 150),
    "ice": (0x90B7FB, 190), "frosted_ice": (0x8BB3F7, 190), "slime_block": (0x70BF5C, 190),
    "honey_block": (0xF8B930, 200),
    "nether_portal": (0x6A1FC0, 170), "cobweb": (0xEDF0F0, 130), "fire": (0xF3952C, 220), "soul_fire": (0x3BC8D8, 220),
    "glow_lichen": (0x7F968C, 160), "vine": (0x4E8F2C, 200), "beacon": (0x7FDCD8, 225),
    "mangrove_roots": (0x4B3B26, 215),
}  # fmt: skip

OPAQUE_COLOURS = {"packed_ice": 0x8EB4FA, "blue_ice": 0x75A8FD, "lava": 0xD96A1B}

PAINT_NUMBERS = {
    "wood": 0x7D6039, "flame": 0xFFDF6B, "red_flame": 0xE2331F, "soul_flame": 0x7DE7EC, "ember": 0x3D2B22,
    "iron": 0xC9C9C6,
    "white": 0xF1F1EE, "dark": 0x26211F, "leaf": 0x4F8A32, "chain": 0x3B3F4D, "rock": 0x6F6F6F, "pot": 0x7C4636,
    "cake": 0xC48A5A, "water": 0x3B6FD6,
}  # fmt: skip


RGB = tuple[int, int, int]

OPAQUE = 255
LEAVES_OPACITY = 232
"""Leaves hide most of what is behind them: a trunk is guessed, not seen."""

GLASS_OPACITY = 120
LONGEST_NAME = 64


class Look(NamedTuple):
    """Colours of a block's faces.

    Attributes:
        top: Colour of the upper face.
        side: Colour of the sides.
        bottom: Colour of the lower face.
        opacity: 255 for a block that hides everything behind it.
    """

    top: RGB
    side: RGB
    bottom: RGB
    opacity: int = OPAQUE


PAINTS: dict[str, RGB] = {name: (n >> 16, n >> 8 & 255, n & 255) for name, n in PAINT_NUMBERS.items()}
"""Colours of parts that are not of the block's own, by name."""


@lru_cache(maxsize=4096)
def look_of(name: str) -> Look:
    """Colours of a block."""
    return _made_of(name) or _plain(_hashed(name))


def has_colour(name: str) -> bool:
    """Whether `look_of` knows the material, so that its colour is not derived from the name alone."""
    return _made_of(name) is not None


def mixed(one: RGB, other: RGB, share: float) -> RGB:
    """Mix two colours.

    Args:
        one: RGB.
        other: RGB.
        share: Share of `other`, 0 to 1.
    """
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def _made_of(name: str) -> Look | None:
    # No block's name is longer, and parts are cut off a name one by one.
    if len(name) > LONGEST_NAME:
        return None
    return _by_name(name) or _dyed(name) or _wooden(name) or _derived(name)


def _by_name(name: str) -> Look | None:
    if name in FACES:
        top, side, bottom = (_rgb(n) for n in FACES[name])
        return Look(top, side, bottom)
    if name in CLEAR:
        colour, opacity = CLEAR[name]
        return _plain(_rgb(colour), opacity)
    number = SOLIDS.get(name, OPAQUE_COLOURS.get(name))
    return None if number is None else _plain(_rgb(number))


def _dyed(name: str) -> Look | None:
    """Of what comes in sixteen colours."""
    dye = next((dye for dye in sorted(DYES, key=len, reverse=True) if name.startswith(dye + "_")), None)
    if dye is None:
        return None
    colour = _rgb(DYES[dye])
    goods = name.removeprefix(dye + "_")
    if goods in ("stained_glass", "stained_glass_pane"):
        return _plain(colour, GLASS_OPACITY)
    if goods == "terracotta":
        return _plain(mixed(colour, (152, 94, 68), 0.55))
    if goods == "concrete":
        return _plain(mixed(colour, (0, 0, 0), 0.1))
    if goods == "concrete_powder":
        return _plain(mixed(colour, (255, 255, 255), 0.15))
    if goods == "glazed_terracotta":
        return _plain(mixed(colour, (235, 225, 200), 0.2))
    if goods in ("wool", "carpet", "bed", "banner", "wall_banner", "candle", "candle_cake", "shulker_box"):
        return _plain(colour)
    return None


_BARK = ("log", "wood", "stem", "hyphae", "block")
_SAWN = ("planks", "mosaic", "door", "trapdoor", "sign", "fence", "fence_gate", "stairs", "slab", "button")


def _wooden(name: str) -> Look | None:
    stripped = name.startswith("stripped_")
    plain = name.removeprefix("stripped_").removeprefix("potted_")
    wood = next((w for w in sorted(WOODS, key=len, reverse=True) if plain.startswith(w + "_")), None)
    if wood is None:
        return None
    planks, bark, leaves = (_rgb(n) for n in WOODS[wood])
    goods = plain.removeprefix(wood + "_")
    if goods in _BARK:
        cut = mixed(planks, (255, 255, 255), 0.06)
        side = planks if stripped else bark
        return Look(cut, side, cut) if goods in ("log", "stem", "block") else _plain(side)
    if goods == "leaves":
        return _plain(leaves, LEAVES_OPACITY)
    if goods in ("sapling", "bush"):
        return _plain(leaves)
    made = goods.endswith(_SAWN) or goods == "pressure_plate"
    return _plain(planks) if made else None


_ENDINGS = (
    "_stairs", "_slab", "_wall", "_fence_gate", "_fence", "_button", "_pressure_plate", "_door", "_trapdoor", "_block",
    "_bricks", "_tiles", "_tile", "_brick", "_pillar", "_cluster", "_ore", "_pane", "_carpet", "_wall_fan", "_fan",
    "_cake", "_bud", "_bulb", "_grate", "_cauldron",
)  # fmt: skip
_BEGINNINGS = (
    "polished_", "mossy_", "infested_", "waxed_", "potted_", "chipped_",
    "damaged_", "budding_", "large_", "medium_", "small_", "petrified_", "soul_", "wall_", "packed_", "deepslate_",
    "water_", "lava_", "powder_snow_",
)  # fmt: skip
_FINISHES = {
    "smooth_": ((255, 255, 255), 0.08),
    "cut_": ((255, 255, 255), 0.05),
    "chiseled_": ((0, 0, 0), 0.06),
    "cracked_": ((0, 0, 0), 0.1),
}
"""Finishes a little lighter or darker than the material."""

_ORE = 0.35


def _derived(name: str) -> Look | None:
    """The colour of what a block is made of: oak_stairs of oak, chiseled_quartz_block of quartz."""
    if name.endswith("_ore"):
        rock = look_of("deepslate" if name.startswith("deepslate_") else "stone").side
        mineral = _by_name(name.removeprefix("deepslate_").removesuffix("_ore"))
        return None if mineral is None else _plain(mixed(rock, mineral.side, _ORE))
    if name == "petrified_oak_slab":
        return look_of("oak_planks")
    for start, (other, share) in _FINISHES.items():
        if start in name:
            rough = name.replace(start, "", 1)
            found = _by_name(rough) or _derived(rough)
            if found is None:
                return None
            top, side, bottom = (mixed(face, other, share) for face in (found.top, found.side, found.bottom))
            return Look(top, side, bottom, found.opacity)
    return next((found for less in shorter_names(name) if (found := _by_name(less) or _wooden(less))), None)


def shorter_names(name: str) -> tuple[str, ...]:
    """Names of what a block may be made of, nearest first: oak_stairs is of oak_planks, brick_slab of bricks."""
    found: list[str] = []
    rest = [name] if len(name) <= LONGEST_NAME else []
    while rest:
        following = []
        for one in rest:
            less = [one.removeprefix(start) for start in _BEGINNINGS if one.startswith(start)]
            less += [one.removesuffix(ending) for ending in _ENDINGS if one.endswith(ending)]
            less += [one.replace("_wall_", "_")] if "_wall_" in one else []
            following += less
            found += [base + more for base in less for more in ("", "s", "_block", "_planks")]
        rest = [one for one in dict.fromkeys(following) if one]
    return tuple(base for base in dict.fromkeys(found) if base != name)


def _plain(colour: RGB, opacity: int = OPAQUE) -> Look:
    return Look(colour, colour, colour, opacity)


def _hashed(name: str) -> RGB:
    """A colour of middle brightness that follows from the name alone."""
    digest = hashlib.sha256(name.encode()).digest()
    return 80 + digest[0] % 128, 80 + digest[1] % 128, 80 + digest[2] % 128


def _rgb(number: int) -> RGB:
    return number >> 16, number >> 8 & 255, number & 255
