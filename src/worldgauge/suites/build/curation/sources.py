"""Where structures come from: a folder of structure files, or marked boxes of a saved world. One at a time."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.fields import short
from worldgauge.core.io import check_inside, list_folder, natural_key, parse_json, read_bytes
from worldgauge.suites.build.format.files import MAX_JSON_BYTES
from worldgauge.suites.build.format.record import TYPES
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.blocks.structure_files import SUFFIXES, read_region_box, read_structure

MAX_STRUCTURES = 9999
"""As many as identifiers can number."""
MAX_NAME = 80


@dataclass(frozen=True, eq=False)
class SourceStructure:
    """A structure as it was read.

    Attributes:
        name: Unique, lower case with underscores.
        origin: Its place in the source.
        blueprint: Its blocks.
        type: One of Table 5, if known.
        description: From the source.
        biome: From the source.
        metadata: From the source.
        notes: What was left out or guessed.
    """

    name: str
    origin: str
    blueprint: Blueprint
    type: str | None = None
    description: str | None = None
    biome: str | None = None
    metadata: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unreadable:
    """A structure that could not be read, and why."""

    name: str
    origin: str
    text: str


def read_files(folder: Path) -> Iterator[SourceStructure | Unreadable]:
    """Yield the structure files of a folder and its subfolders, by path, named after the file.

    A folder named after a type of building ("houses") gives its files that type.

    Raises:
        DataError: If there are no such files or too many.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; give one of structure files ({', '.join(SUFFIXES)}) or a world")
    names = UniqueNames()
    for path in _files(folder):
        origin = _writable(path.relative_to(folder).as_posix())
        name = names.own(path.stem)
        try:
            read = read_structure(check_inside(path, folder))
        except DataError as error:
            yield Unreadable(name, origin, _without(str(error), path, folder))
            continue
        folders = [part.lower() for part in path.relative_to(folder).parent.parts]
        type = next((part for part in reversed(folders) if part in TYPES), None)
        yield SourceStructure(name, origin, read.blueprint, type, metadata=origin, notes=read.warnings)


def read_world(world: Path, boxes: Path) -> Iterator[SourceStructure | Unreadable]:
    """Yield the marked boxes of a world.

    Args:
        world: Its folder.
        boxes: JSON {name: {metadata, start_pos, end_pos}}, corners [x, y, z] both included; a box may also have type,
            description and biome.

    Raises:
        DataError: If the file holds no boxes.
    """
    content = parse_json(read_bytes(boxes, MAX_JSON_BYTES), str(boxes))
    if not isinstance(content, dict) or not 1 <= len(content) <= MAX_STRUCTURES:
        raise DataError(f"{boxes}: expected an object of 1 to {MAX_STRUCTURES} boxes by name, got {short(content)}")
    names = UniqueNames()
    for label in sorted(content, key=natural_key):
        name = names.own(label)
        try:
            yield _of_box(world, name, _writable(label), content[label])
        except (DataError, UsageError, ValueError) as error:
            yield Unreadable(name, _writable(label), _without(str(error), world, world))


def spoken(name: str) -> str:
    """Return a name as it stands in a sentence."""
    return name.replace("_", " ")


class UniqueNames:
    """Names of structures, made of names of files and boxes, all different."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def own(self, text: str) -> str:
        """Return lower case letters, digits and underscores made of `text`, with a number appended if that is taken."""
        plain = unicodedata.normalize("NFKD", text.replace("'", "").replace("\N{RIGHT SINGLE QUOTATION MARK}", ""))
        ascii = plain.encode("ascii", "ignore").decode().lower()
        base = re.sub(r"[^a-z0-9]+", "_", ascii).strip("_")[:MAX_NAME].strip("_") or "structure"
        name, number = base, 1
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name


def _files(folder: Path) -> list[Path]:
    """Structure files below a folder, without following links to folders."""
    found: list[Path] = []
    left = [folder]
    while left:
        for path in list_folder(left.pop()):
            if path.is_dir():
                left += [] if path.is_symlink() else [path]
            elif path.suffix.lower() in SUFFIXES:
                found.append(path)
        if len(found) > MAX_STRUCTURES:
            raise DataError(f"{folder}: more than {MAX_STRUCTURES} structure files; give a part of them")
    if not found:
        raise DataError(f"{folder}: holds no structure file ({', '.join(SUFFIXES)}); for a world, give its boxes too")
    return sorted(found, key=lambda path: natural_key(path.relative_to(folder).as_posix()))


def _of_box(world: Path, name: str, label: str, row: Any) -> SourceStructure:
    if not isinstance(row, Mapping):
        raise ValueError(f"{short(row)} is no object; give start_pos and end_pos")
    blueprint = read_region_box(world, _corner(row, "start_pos"), _corner(row, "end_pos"))
    type, description, biome, metadata = (_text(row, key) for key in ("type", "description", "biome", "metadata"))
    return SourceStructure(name, label, blueprint, type, description, biome, metadata)


def _corner(row: Mapping[str, Any], key: str) -> tuple[int, int, int]:
    value = row.get(key)
    if isinstance(value, Mapping):
        value = [value.get(axis) for axis in "xyz"]
    if not isinstance(value, list) or len(value) != 3 or any(type(one) is not int for one in value):
        raise ValueError(f"field '{key}' is {short(value)}; give three whole numbers [x, y, z]")
    return value[0], value[1], value[2]


def _text(row: Mapping[str, Any], key: str) -> str | None:
    value = row.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"field '{key}' is {short(value)}; give a text")
    return _writable(value) if value else None


def _without(text: str, path: Path, folder: Path) -> str:
    """Remove the path of the source from a message, so that reports do not depend on it."""
    return _writable(text.replace(f"{path}: ", "", 1).replace(f"{folder}/", "").replace(str(folder), "."))


def _writable(text: str) -> str:
    """A text that files can hold: what stands in a name for bytes of no letter, and halves of letters, as "?"."""
    return text.encode("utf-8", "replace").decode()
