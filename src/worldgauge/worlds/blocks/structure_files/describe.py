"""Describe one structure file, or save it in another format or as a picture."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from worldgauge.core.errors import UsageError
from worldgauge.core.image import png
from worldgauge.core.io import write_file
from worldgauge.worlds.blocks.blueprint import Blueprint, difficulty_factor, tier_of
from worldgauge.worlds.blocks.resource_pack import ResourcePack
from worldgauge.worlds.blocks.structure_files import Structure, read_region_box, read_structure, write_nbt, write_schem
from worldgauge.worlds.blocks.views import contact_sheet, flag_lines

_CORNER = r"(-?\d{1,8}),(-?\d{1,8}),(-?\d{1,8})"
_BOX = re.compile(f"{_CORNER}:{_CORNER}")
MOST_SIDE_NBT = 48
"""Blocks a side that structure blocks of the game load."""
WRITERS = (".nbt", ".schem", ".png")


def look(file: Path, box: str | None = None) -> Structure:
    """Read a structure file, or a box of a world.

    Args:
        file: The file, or the folder of a world.
        box: Corners "x,y,z:x,y,z", both included.

    Returns:
        The structure.

    Raises:
        UsageError: For an invalid box.
        DataError: For a file that cannot be read.
    """
    if box is None:
        if file.is_dir():
            raise UsageError(f"{file} is a folder: name a file in it, or for a world a box with --box x,y,z:x,y,z")
        return read_structure(file)
    corners = _BOX.fullmatch(box.replace(" ", ""))
    if corners is None:
        raise UsageError(f"--box takes two corners, such as -20,60,4:-12,70,15, not '{box}'")
    numbers = [int(number) for number in corners.groups()]
    low = tuple(map(min, numbers[:3], numbers[3:]))
    high = tuple(map(max, numbers[:3], numbers[3:]))
    return Structure(file.stem, read_region_box(file, low, high), "mca", {"box": box}, ())


def facts_of(found: Structure) -> dict[str, Any]:
    """The facts of `facts_of_blueprint`, with the name, format and warnings of the file."""
    facts = facts_of_blueprint(found.blueprint)
    return {"name": found.name, "format": found.format, **facts, "warnings": [*found.warnings, *facts["warnings"]]}


def facts_of_blueprint(blueprint: Blueprint) -> dict[str, Any]:
    """Facts of a blueprint as plain JSON values.

    They are size (width, height, depth), blocks, difficulty, materials, warnings.
    """
    factor = difficulty_factor(blueprint.blocks, blueprint.size)
    counts = blueprint.counts()
    return {
        "size": list(blueprint.size),
        "blocks": blueprint.blocks,
        "difficulty": factor,
        "tier": None if factor is None else tier_of(factor),
        "materials": {name: counts[name] for name in sorted(counts, key=lambda name: (-counts[name], name))},
        "warnings": flag_lines(blueprint),
    }


def save(blueprint: Blueprint, out: Path, pack: Path | None = None) -> None:
    """Write a blueprint in the format that the suffix of `out` names.

    Args:
        blueprint: The build.
        out: The file.
        pack: Resource pack with the colours of a picture.

    Raises:
        UsageError: For another suffix.
        DataError: For a pack that cannot be read, and on a full disk.
    """
    ending = out.suffix.lower()
    if pack is not None and ending != ".png":
        raise UsageError(f"{out}: a resource pack is for pictures; give --out FILE.png")
    if ending == ".nbt":
        write_nbt(out, blueprint)
    elif ending == ".schem":
        write_schem(out, blueprint)
    elif ending == ".png":
        colours = None if pack is None else ResourcePack.open(pack)
        write_file(out, png(contact_sheet(blueprint, pack=colours)))
    else:
        raise UsageError(f"{out}: structures are written as {', '.join(WRITERS)}, not '{out.suffix}'")
