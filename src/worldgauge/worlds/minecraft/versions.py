"""Block names and states by version of the game, without the game: one table for all readers and writers.

Everything is read into the names of 1.20.4, those of `worlds.blocks.table`, and written in those of a version in
`VERSIONS`. Tests compare both with the lists of a package.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

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
    """Translate a block state of any version since 1.13 to the names of 1.20.4; an unknown one stays as it is."""
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


_LATER = frozenset((files(__package__) / "later_names.txt").read_text("utf-8").split())
"""Blocks that came after 1.16.5."""
