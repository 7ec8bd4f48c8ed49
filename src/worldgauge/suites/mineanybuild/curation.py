"""Curation: from structure files, or marked boxes of a world, to a data set. Sources, filters, duplicates.

The filters of the published data are not known; these are ours.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from worldgauge.chat.model import Chat
from worldgauge.chat.prompts import Prompts
from worldgauge.core.episode import short
from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.io import check_inside, dumps, list_folder, natural_key, parse_json, read_bytes, write_file
from worldgauge.suites.mineanybuild.format import ARCHITECTURES, LIMITS, MAX_JSON_BYTES, TYPES, write, write_image
from worldgauge.suites.mineanybuild.generate.instructions import (
    PICTURES,
    ChatInstructions,
    InstructionWriter,
    StructureTasks,
    tasks_of_structure,
    template_instruction,
)
from worldgauge.suites.mineanybuild.metrics.soundness import connected_share
from worldgauge.worlds.blocks.blueprint import Blueprint, base_name
from worldgauge.worlds.blocks.structure_files import SUFFIXES, read_region_box, read_structure
from worldgauge.worlds.blocks.table import known
from worldgauge.worlds.blocks.views import RENDERER, flags_of, picture

Reason = Literal[
    "few_blocks",
    "few_materials",
    "loose_box",
    "above_ground",
    "scattered",
    "unknown_names",
    "too_large",
    "machine_blocks",
]
REASONS: tuple[Reason, ...] = get_args(Reason)
LEAST_BLOCKS, LEAST_MATERIALS, LEAST_TOGETHER = 8, 2, 0.95
_COMMANDS = ("command_block", "chain_command_block", "repeating_command_block")
MACHINE_BLOCKS = frozenset({*_COMMANDS, "structure_block", "jigsaw", "barrier", "light"})
"""What maps and editors use and a player cannot place."""


@dataclass(frozen=True)
class Rejection:
    """Why a structure is rejected."""

    reason: Reason
    text: str


@dataclass(frozen=True)
class Selection:
    """Names that pass; of the others, problems by name, and the accepted structure that each is a copy of."""

    accepted: tuple[str, ...]
    rejected: Mapping[str, tuple[Rejection, ...]]
    duplicates: Mapping[str, str]


def select_structures(structures: Iterable[tuple[str, Blueprint]], *, waive: Collection[Reason] = ()) -> Selection:
    """Filter structures, in the order they come; of duplicates the first that passes stays."""
    if unknown := set(waive) - set(REASONS):
        raise UsageError(f"no reason {sorted(unknown)} to waive; known: {', '.join(REASONS)}")
    accepted: list[str] = []
    rejected: dict[str, tuple[Rejection, ...]] = {}
    duplicates: dict[str, str] = {}
    first: dict[bytes, str] = {}
    for name, blueprint in structures:
        problems = tuple(one for one in rejections_of(blueprint) if one.reason not in waive)
        if problems:
            rejected[name] = problems
        elif (form := canonical(blueprint)) in first:
            duplicates[name] = first[form]
        else:
            first[form] = name
            accepted.append(name)
    return Selection(tuple(accepted), rejected, duplicates)


def rejections_of(blueprint: Blueprint) -> Iterator[Rejection]:
    """Return all reasons against a structure, in the order of `REASONS`."""
    counts, size = blueprint.counts(), blueprint.size
    names = {base_name(name) for name in counts}
    blocks = blueprint.blocks
    if blocks < LEAST_BLOCKS:
        yield Rejection("few_blocks", f"has {blocks} blocks; {LEAST_BLOCKS} is the least")
    if len(names) < LEAST_MATERIALS:
        yield Rejection("few_materials", f"has {len(names)} different blocks; {LEAST_MATERIALS} is the least")
    if not blocks:
        return
    tight = blueprint.trimmed().size
    if tight != size:
        yield Rejection("loose_box", f"fills {_by(tight)} of a box of {_by(size)} (width, height, depth)")
    if not blueprint.solid[0].any():
        yield Rejection("above_ground", "has no block in its lowest layer")
    share = connected_share(blueprint) or 0.0
    if share < LEAST_TOGETHER:
        yield Rejection(
            "scattered", f"its largest part holds {share:.1%} of the blocks; {LEAST_TOGETHER:.0%} is the least"
        )
    if strange := sorted({name.partition("[")[0] for name in counts if not known(name)}):
        yield Rejection("unknown_names", f"has names that the game (1.20.4) does not know: {', '.join(strange[:5])}")
    if any(side > most for side, most in zip(blueprint.cells.shape, LIMITS, strict=True)):
        most = LIMITS[2], LIMITS[0], LIMITS[1]
        yield Rejection("too_large", f"is {_by(size)} (width, height, depth); {_by(most)} is the most")
    if machines := sorted(names & MACHINE_BLOCKS):
        yield Rejection("machine_blocks", f"has blocks that players cannot place: {', '.join(machines)}")


def canonical(blueprint: Blueprint) -> bytes:
    """A key equal for turns about the vertical and mirror images; block states and surrounding air are ignored."""
    plain = blueprint.trimmed().names_only()
    used = sorted(plain.counts())
    rank = np.array([0, *(used.index(name) + 1 if name in used else 0 for name in plain.materials)], "<i4")
    cells = rank[np.maximum(plain.cells, 0)]
    forms = [np.rot90(side, turn, (1, 2)) for side in (cells, cells[:, :, ::-1]) for turn in range(4)]
    head = "\n".join(used).encode()
    return head + min(repr(form.shape).encode() + b"\n" + form.tobytes() for form in forms)


def _by(size: tuple[int, int, int]) -> str:
    return " x ".join(map(str, size))


MAX_STRUCTURES = 9999
"""As many as identifiers can number."""
MAX_NAME = 80


@dataclass(frozen=True, eq=False)
class SourceStructure:
    """A structure as it was read, by a unique name in lower case. notes: what was left out or guessed."""

    name: str
    origin: str
    blueprint: Blueprint
    type: str | None = None
    description: str | None = None
    biome: str | None = None
    metadata: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class UnreadableStructure:
    """A structure that could not be read, and why."""

    name: str
    origin: str
    text: str


def read_files(folder: Path) -> Iterator[SourceStructure | UnreadableStructure]:
    """Structure files below a folder, by path; a subfolder named after a type ("houses") gives its files that type."""
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; give one of structure files ({', '.join(SUFFIXES)}) or a world")
    names = UniqueNames()
    for path in _files(folder):
        origin = _writable(path.relative_to(folder).as_posix())
        name = names.own(path.stem)
        try:
            read = read_structure(check_inside(path, folder))
        except DataError as error:
            yield UnreadableStructure(name, origin, _without(str(error), path, folder))
            continue
        folders = [part.lower() for part in path.relative_to(folder).parent.parts]
        type = next((part for part in reversed(folders) if part in TYPES), None)
        yield SourceStructure(name, origin, read.blueprint, type, metadata=origin, notes=read.warnings)


def read_world(world: Path, boxes: Path) -> Iterator[SourceStructure | UnreadableStructure]:
    """Boxes of a world, marked in JSON {name: {metadata, start_pos, end_pos}}, corners [x, y, z] included.

    A box may also have type, description and biome.
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
            yield UnreadableStructure(name, _writable(label), _without(str(error), world, world))


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


REPORT = "curation.json"
FORMAT, VERSION = "worldgauge-curation", 1
SIZE_PX = 512
SIDES_PX = (64, 2048)


@dataclass(frozen=True)
class CurationResult:
    """Result of a curation, by name of the structure."""

    root: Path
    accepted: tuple[str, ...]
    rejected: Mapping[str, tuple[Rejection, ...]]
    duplicates: Mapping[str, str]
    unreadable: Mapping[str, str]
    tasks: int


def curate(
    source: Path,
    out: Path,
    *,
    boxes: Path | None = None,
    instructions: Literal["template"] | Chat = "template",
    prompts: Path | None = None,
    seed: int = 42,
    size_px: int = SIZE_PX,
    waive: Collection[Reason] = (),
    progress: Callable[[int, int, str], None] | None = None,
) -> CurationResult:
    """Write structures of `source` that pass all filters to `out` as a data set with `curation.json`; reproducible."""
    source, out = Path(source), Path(out)
    if not SIDES_PX[0] <= size_px <= SIDES_PX[1]:
        raise UsageError(f"pictures are {SIDES_PX[0]} to {SIDES_PX[1]} px a side, got {size_px}")
    if (out / ARCHITECTURES).exists() and not (out / REPORT).exists():
        raise UsageError(f"{out} holds a data set that was not curated here; give another folder")
    if prompts is not None and instructions == "template":
        raise UsageError("prompts are for a language model that writes the instructions; name one too")
    read = list(read_files(source) if boxes is None else read_world(source, Path(boxes)))
    lost = [one for one in read if isinstance(one, UnreadableStructure)]
    found = [one for one in read if isinstance(one, SourceStructure)]
    tight = {one.name: one.blueprint.trimmed() for one in found}
    sorted_ = select_structures(tight.items(), waive=waive)
    if not sorted_.accepted:
        raise DataError(f"{source}: none of {len(found) + len(lost)} structures can be used ({_first(sorted_, lost)})")
    write_one: InstructionWriter = template_instruction
    if not isinstance(instructions, str):
        write_one = ChatInstructions(instructions, Prompts("worldgauge.suites.mineanybuild", prompts), seed)
    entries: dict[str, StructureTasks] = {}
    accepted = set(sorted_.accepted)
    kept = [one for one in found if one.name in accepted]
    for number, one in enumerate(kept, 1):
        entries[one.name] = tasks_of_structure(
            tight[one.name],
            one.name,
            number,
            seed=seed,
            write=write_one,
            spoken=one.name.replace("_", " "),
            source="structure files" if boxes is None else "saved world",
            description=one.description,
            type=one.type,
            biome=one.biome,
            metadata=one.metadata,
        )
        write_image(out, str(entries[one.name].architecture.image), picture(tight[one.name], size_px=size_px))
        if progress is not None:
            progress(number, len(kept), one.name)
    tasks = [task for entry in entries.values() for task in entry.tasks]
    images = {str(entry.architecture.image) for entry in entries.values()}
    for path in (out / "data" / PICTURES).glob("*.png"):
        if f"{PICTURES}/{path.name}" not in images:  # of an earlier curation into this folder
            path.unlink()
    write(out, [entry.architecture for entry in entries.values()], tasks)
    settings = {"seed": seed, "size_px": size_px, "waive": sorted(waive), "boxes": boxes is not None}
    report = _report(settings, found, lost, sorted_, entries)
    write_file(out / REPORT, (dumps(report, indent=1) + "\n").encode())
    unreadable = {one.name: one.text for one in lost}
    return CurationResult(out, sorted_.accepted, sorted_.rejected, sorted_.duplicates, unreadable, len(tasks))


def _report(
    settings: Mapping[str, Any],
    found: Iterable[SourceStructure],
    lost: Iterable[UnreadableStructure],
    told: Selection,
    entries: Mapping[str, StructureTasks],
) -> dict[str, Any]:
    """What `curation.json` holds: of every structure, where it was and what became of it."""
    by_name = {one.name: one for one in found}
    origins = {name: {"name": name, "origin": one.origin} for name, one in by_name.items()}
    return {
        "format": FORMAT,
        "version": VERSION,
        "settings": dict(settings),
        "renderer": dict(RENDERER),
        "accepted": [_accepted(by_name[name], entries[name]) for name in told.accepted],
        "rejected": [{**origins[name], "reasons": list(map(asdict, why))} for name, why in told.rejected.items()],
        "duplicates": [{**origins[name], "of": of} for name, of in told.duplicates.items()],
        "unreadable": list(map(asdict, lost)),
    }


def _accepted(one: SourceStructure, entry: StructureTasks) -> dict[str, Any]:
    blueprint = entry.architecture.blueprint
    before, after = one.blueprint.size, blueprint.size
    return {
        "name": one.name,
        "origin": one.origin,
        "id": entry.architecture.id,
        "blocks": blueprint.blocks,
        "size": list(after),
        "cut_from": None if before == after else list(before),
        "instruction": entry.writer,
        "flags": flags_of(blueprint),
        "notes": list(one.notes),
    }


def _first(selection: Selection, lost: Iterable[UnreadableStructure]) -> str:
    """The first thing that was wrong, for a message."""
    rejected = (f"first: {name} {problems[0].text}" for name, problems in selection.rejected.items())
    return next(chain(rejected, (f"first: {one.origin}: {one.text}" for one in lost)), "it holds none")
