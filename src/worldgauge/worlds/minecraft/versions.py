"""Block names and states by version of the game, without the game: one table for all readers and writers.

Everything is read into the names of 1.20.4, those of `worlds.blocks.table`, and written in those of a version in
`VERSIONS`. Tests compare both with the lists of a package.
"""

from __future__ import annotations

from collections.abc import Sequence

from worldgauge.core.errors import WorldError
from worldgauge.worlds.blocks import table
from worldgauge.worlds.minecraft.cells import split_state, state_text

NAMES = "1.20.4"
"""The version whose names blueprints and structure files have."""
DATA_VERSION = 3700
"""Of NAMES."""
VERSIONS = {"1.16.1": 2529, "1.16.5": 2578, "1.20.4": 3698, "1.20.5": 3837, "1.21.9": 4541}
"""Versions whose names can be written, with the first DataVersion that has these names."""
FIRST_NAMES = 1451
"""First DataVersion with the names of 1.13: before it `grass` was a block of grass, and `stone` had variants."""
_GAPS = ((2587, 3697), (4904, 2**31))
"""DataVersions of saves whose names are not written: after 1.16.5 and before 1.20.3, and after 26.2."""
_FIRST_1_14, _FIRST_WIRE, _FIRST_1_17, _FIRST_26_1 = 1901, 2531, 2681, 4700
"""DataVersions from which a name means another block, or a missing state another value."""

EARLIER = {"short_grass": "grass", "dirt_path": "grass_path"}
"""What 1.16 calls otherwise, by the name of 1.20.4."""
LATER = {"chain": "iron_chain"}
"""What 1.21.9 calls otherwise, by the name of 1.20.4."""

_NOT_YET = {"waterlogged": ("_leaves", "rail", "barrier"), "powered": ("_skull", "_head")}
"""States that 1.16.5 lacks, by the ends of names."""
_NOT_IN_1_16_1 = {
    "waterlogged": (*_NOT_YET["waterlogged"], "lantern"),
    "powered": _NOT_YET["powered"],
    "axis": ("chain",),
}
_GONE = {"cauldron": {"level": ("0", "1", "2", "3")}}
"""States that only 1.16 has."""
_USUAL = {"cauldron": {"level": "0"}, "structure_block": {"mode": "save"}}
"""Values that 1.16 takes for those left out, where 1.20.4 takes none or another."""
_LATER_INSTRUMENTS = ("zombie", "skeleton", "creeper", "dragon", "wither_skeleton", "piglin", "custom_head")
_SIDES = ("east", "north", "south", "west")


def version_of_save(data_version: int) -> str | None:
    """The version of `VERSIONS` whose names a save of this DataVersion has; None for versions that are not written."""
    if any(low <= data_version <= high for low, high in _GAPS):
        return None
    return next((name for name, first in reversed(VERSIONS.items()) if data_version >= first), None)


def current(text: str, data_version: int | None = None) -> str:
    """Translate a block state of any version since 1.13 to the names of 1.20.4.

    A block or a state that 1.20.4 does not have stays as it is.
    """
    name, said = split_state(text)
    if ":" in name:
        return text
    number = DATA_VERSION if data_version is None else data_version
    if name == "stone_slab" and number < _FIRST_1_14:
        name = "smooth_stone_slab"
    name = table.ALIASES.get(name, name)
    if name == "cauldron" and (level := said.pop("level", "0")) != "0":
        name, said = "water_cauldron", {"level": level}
    elif name.endswith("_wall"):
        said |= {side: {"true": "low", "false": "none"}.get(said[side], said[side]) for side in _SIDES if side in said}
    elif name == "jigsaw" and (facing := said.pop("facing", "")):
        said["orientation"] = {"up": "up_north", "down": "down_south"}.get(facing, f"{facing}_up")
    elif name == "redstone_wire" and number < _FIRST_WIRE:
        said |= _lines(said)
    elif name == "structure_block" and number < _FIRST_1_17:
        said.setdefault("mode", "save")
    elif name.endswith(("_sign", "_banner")) and number >= _FIRST_26_1 and "rotation" in table.properties(name):
        said.setdefault("rotation", "8")
    elif name == "trial_spawner" and said.get("ominous") == "false":
        del said["ominous"]  # the default of the versions that have it
    elif name == "torchflower_crop" and said.get("age") == "2":
        name, said = "torchflower", {}
    return state_text(name, said)


def spelled(text: str, version: str) -> str:
    """Translate a block state to the names of a version. Defaults that 1.16 cannot express are left out."""
    if version not in VERSIONS:
        return text
    name, said = split_state(current(text))
    if _old(version):
        usual = table.default_states(name)
        said = {
            key: value
            for key, value in said.items()
            if value != usual.get(key) or not name.endswith(_not_yet(key, version))
        }
        name = {**EARLIER, "water_cauldron": "cauldron"}.get(name, name)
    elif version == "1.21.9":
        name = LATER.get(name, name)
    return state_text(name, said)


def full_states(texts: Sequence[str], version: str) -> list[str]:
    """Complete block states with the defaults of a version."""
    return [_full(text, version) for text in texts]


def _full(text: str, version: str) -> str:
    name, said = split_state(spelled(text, version))
    plain = table.ALIASES.get(name, name)
    of = version if _old(version) else NAMES
    if not table.known(plain) or (_old(version) and plain in _LATER):
        raise WorldError(f"no block '{text[:80]}' in {of}")
    values, default = table.properties(plain), table.default_states(plain)
    if _old(version):
        values = {key: values[key] for key in values if not plain.endswith(_not_yet(key, version))}
        values |= _GONE.get(plain, {})
        default = {key: value for key, value in default.items() if key in values} | _USUAL.get(plain, {})
        if plain == "note_block":
            values["instrument"] = tuple(one for one in values["instrument"] if one not in _LATER_INSTRUMENTS)
    for key, value in said.items():
        if value not in values.get(key, ()):
            known = f"{key} is one of {', '.join(values[key])}" if key in values else f"it has no {key}"
            raise WorldError(f"no block '{text[:80]}' in {of}: {known}")
    if plain == "trial_spawner" and version in ("1.20.5", "1.21.9"):
        default["ominous"] = "false"
    return state_text(name, default | said)


def _old(version: str) -> bool:
    return version.startswith("1.16.")


def _lines(said: dict[str, str]) -> dict[str, str]:
    """Sides of redstone wire before 1.16, where a wire went on in a line from its only neighbour, or was a cross."""
    sides = {side: said.get(side, "none") for side in _SIDES}
    across = {
        "east": ("north", "south"),
        "west": ("north", "south"),
        "north": ("east", "west"),
        "south": ("east", "west"),
    }
    return {
        side: "side" if value == "none" and all(sides[other] == "none" for other in across[side]) else value
        for side, value in sides.items()
    }


def _not_yet(key: str, version: str) -> tuple[str, ...]:
    return (_NOT_IN_1_16_1 if version == "1.16.1" else _NOT_YET).get(key, ())


_LATER_NAMES = """
acacia_hanging_sign acacia_wall_hanging_sign amethyst_block amethyst_cluster azalea azalea_leaves bamboo_block
bamboo_button bamboo_door bamboo_fence bamboo_fence_gate bamboo_hanging_sign bamboo_mosaic bamboo_mosaic_slab
bamboo_mosaic_stairs bamboo_planks bamboo_pressure_plate bamboo_sign bamboo_slab bamboo_stairs bamboo_trapdoor
bamboo_wall_hanging_sign bamboo_wall_sign big_dripleaf big_dripleaf_stem birch_hanging_sign birch_wall_hanging_sign
black_candle black_candle_cake blue_candle blue_candle_cake brown_candle brown_candle_cake budding_amethyst calcite
calibrated_sculk_sensor candle candle_cake cave_vines cave_vines_plant cherry_button cherry_door cherry_fence
cherry_fence_gate cherry_hanging_sign cherry_leaves cherry_log cherry_planks cherry_pressure_plate cherry_sapling
cherry_sign cherry_slab cherry_stairs cherry_trapdoor cherry_wall_hanging_sign cherry_wall_sign cherry_wood
chiseled_bookshelf chiseled_copper chiseled_deepslate chiseled_tuff chiseled_tuff_bricks cobbled_deepslate
cobbled_deepslate_slab cobbled_deepslate_stairs cobbled_deepslate_wall copper_block copper_bulb copper_door
copper_grate copper_ore copper_trapdoor cracked_deepslate_bricks cracked_deepslate_tiles crafter crimson_hanging_sign
crimson_wall_hanging_sign cut_copper cut_copper_slab cut_copper_stairs cyan_candle cyan_candle_cake
dark_oak_hanging_sign dark_oak_wall_hanging_sign decorated_pot deepslate deepslate_brick_slab deepslate_brick_stairs
deepslate_brick_wall deepslate_bricks deepslate_coal_ore deepslate_copper_ore deepslate_diamond_ore
deepslate_emerald_ore deepslate_gold_ore deepslate_iron_ore deepslate_lapis_ore deepslate_redstone_ore
deepslate_tile_slab deepslate_tile_stairs deepslate_tile_wall deepslate_tiles dripstone_block exposed_chiseled_copper
exposed_copper exposed_copper_bulb exposed_copper_door exposed_copper_grate exposed_copper_trapdoor exposed_cut_copper
exposed_cut_copper_slab exposed_cut_copper_stairs flowering_azalea flowering_azalea_leaves frogspawn glow_lichen
gray_candle gray_candle_cake green_candle green_candle_cake hanging_roots infested_deepslate jungle_hanging_sign
jungle_wall_hanging_sign large_amethyst_bud lava_cauldron light light_blue_candle light_blue_candle_cake
light_gray_candle light_gray_candle_cake lightning_rod lime_candle lime_candle_cake magenta_candle magenta_candle_cake
mangrove_button mangrove_door mangrove_fence mangrove_fence_gate mangrove_hanging_sign mangrove_leaves mangrove_log
mangrove_planks mangrove_pressure_plate mangrove_propagule mangrove_roots mangrove_sign mangrove_slab mangrove_stairs
mangrove_trapdoor mangrove_wall_hanging_sign mangrove_wall_sign mangrove_wood medium_amethyst_bud moss_block
moss_carpet mud mud_brick_slab mud_brick_stairs mud_brick_wall mud_bricks muddy_mangrove_roots oak_hanging_sign
oak_wall_hanging_sign ochre_froglight orange_candle orange_candle_cake oxidized_chiseled_copper oxidized_copper
oxidized_copper_bulb oxidized_copper_door oxidized_copper_grate oxidized_copper_trapdoor oxidized_cut_copper
oxidized_cut_copper_slab oxidized_cut_copper_stairs packed_mud pearlescent_froglight piglin_head piglin_wall_head
pink_candle pink_candle_cake pink_petals pitcher_crop pitcher_plant pointed_dripstone polished_deepslate
polished_deepslate_slab polished_deepslate_stairs polished_deepslate_wall polished_tuff polished_tuff_slab
polished_tuff_stairs polished_tuff_wall potted_azalea_bush potted_cherry_sapling potted_flowering_azalea_bush
potted_mangrove_propagule potted_torchflower powder_snow powder_snow_cauldron purple_candle purple_candle_cake
raw_copper_block raw_gold_block raw_iron_block red_candle red_candle_cake reinforced_deepslate rooted_dirt sculk
sculk_catalyst sculk_sensor sculk_shrieker sculk_vein small_amethyst_bud small_dripleaf smooth_basalt sniffer_egg
spore_blossom spruce_hanging_sign spruce_wall_hanging_sign stripped_bamboo_block stripped_cherry_log
stripped_cherry_wood stripped_mangrove_log stripped_mangrove_wood suspicious_gravel suspicious_sand tinted_glass
torchflower torchflower_crop trial_spawner tuff tuff_brick_slab tuff_brick_stairs tuff_brick_wall tuff_bricks
tuff_slab tuff_stairs tuff_wall verdant_froglight warped_hanging_sign warped_wall_hanging_sign water_cauldron
waxed_chiseled_copper waxed_copper_block waxed_copper_bulb waxed_copper_door waxed_copper_grate waxed_copper_trapdoor
waxed_cut_copper waxed_cut_copper_slab waxed_cut_copper_stairs waxed_exposed_chiseled_copper waxed_exposed_copper
waxed_exposed_copper_bulb waxed_exposed_copper_door waxed_exposed_copper_grate waxed_exposed_copper_trapdoor
waxed_exposed_cut_copper waxed_exposed_cut_copper_slab waxed_exposed_cut_copper_stairs waxed_oxidized_chiseled_copper
waxed_oxidized_copper waxed_oxidized_copper_bulb waxed_oxidized_copper_door waxed_oxidized_copper_grate
waxed_oxidized_copper_trapdoor waxed_oxidized_cut_copper waxed_oxidized_cut_copper_slab
waxed_oxidized_cut_copper_stairs waxed_weathered_chiseled_copper waxed_weathered_copper waxed_weathered_copper_bulb
waxed_weathered_copper_door waxed_weathered_copper_grate waxed_weathered_copper_trapdoor waxed_weathered_cut_copper
waxed_weathered_cut_copper_slab waxed_weathered_cut_copper_stairs weathered_chiseled_copper weathered_copper
weathered_copper_bulb weathered_copper_door weathered_copper_grate weathered_copper_trapdoor weathered_cut_copper
weathered_cut_copper_slab weathered_cut_copper_stairs white_candle white_candle_cake yellow_candle yellow_candle_cake
"""
_LATER = frozenset(_LATER_NAMES.split())
"""Blocks that came after 1.16.5."""
