"""Structure files: builds as the game and its editors save them, read from anywhere and written for the game.

    build = read_structure(Path("hut.litematic")).blueprint
    box = read_region_box(Path("saves/world"), (58, 88, 571), (61, 89, 574))
    write_schem(Path("hut.schem"), build)

Writing needs the extra 'structures'. Materials come in the order of first sight, x outermost, then y, then z.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from worldgauge.core.errors import DataError
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.blocks.nbt import Fields, Limits, fields_of_file
from worldgauge.worlds.blocks.structure_files import nbt, schem
from worldgauge.worlds.blocks.structure_files.litematic import read_litematic
from worldgauge.worlds.blocks.structure_files.nbt import read_nbt, write_nbt
from worldgauge.worlds.blocks.structure_files.palette import in_current_names
from worldgauge.worlds.blocks.structure_files.region import read_region_box
from worldgauge.worlds.blocks.structure_files.schem import read_schem, write_schem
from worldgauge.worlds.minecraft.versions import FIRST_NAMES

__all__ = ["SUFFIXES", "Limits", "Structure", "read_region_box", "read_structure", "write_nbt", "write_schem"]

Format = Literal["nbt", "schem", "litematic", "mca"]
SUFFIXES = (".nbt", ".schem", ".litematic")
"""Of the files that `read_structure` is made for."""


@dataclass(frozen=True)
class Structure:
    """Content of a structure file.

    Attributes:
        name: Name of the file without suffix.
        blueprint: The build.
        format: Format of the file; "mca" for a box of a world.
        facts: Facts in the file, such as DataVersion, Name and Author. The texts come from a stranger.
        warnings: What was left out or guessed.
    """

    name: str
    blueprint: Blueprint
    format: Format
    facts: Mapping[str, Any]
    warnings: tuple[str, ...] = ()


def read_structure(path: Path, *, limits: Limits | None = None) -> Structure:
    """Read a structure file of the game, a Sponge schematic (2 or 3) or one of Litematica.

    The content decides the format. Names and states of other versions of the game become those of 1.20.4. Jigsaws
    become their final block, all kinds of air become air, and the box is that of the file.

    Args:
        path: The file.
        limits: Limits on its size.

    Returns:
        The structure.

    Raises:
        DataError: For files that are damaged, inconsistent or exceed the limits.
    """
    limits = limits or Limits()
    if path.suffix == ".mca":
        raise DataError(f"{path}: is a part of a world; take a marked box of it with read_region_box")
    root = fields_of_file(path, limits)
    kind = _kind(root)
    read = {"nbt": read_nbt, "schem": read_schem, "litematic": read_litematic}[kind]
    blueprint, facts, warnings = read(root, limits)
    version = facts.get("DataVersion")
    if isinstance(version, int) and 0 < version < FIRST_NAMES:
        raise DataError(
            f"{path}: was saved before version 1.13 of the game (DataVersion {version}), whose block names mean other "
            "blocks; open and save it in a newer one"
        )
    blueprint = in_current_names(blueprint, version if isinstance(version, int) else None)
    return Structure(path.stem, blueprint, kind, facts, warnings)


def _kind(root: Fields) -> Format:
    if "Regions" in root:
        return "litematic"
    if all(key in root for key in nbt.KEYS):
        return "nbt"
    if "Materials" in root and "Data" in root:
        raise DataError(f"{root.what}: an old schematic of numbers instead of names; save it again as .schem")
    if schem.WRAP in root or "Version" in root:
        return "schem"
    raise DataError(f"{root.what}: NBT, but none of .nbt, .schem and .litematic; export the build as one of them")
