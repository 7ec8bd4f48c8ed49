"""Curation: from structure files, or marked boxes of a world, to a data set of the build suite."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from worldgauge.chat.client import Chat
from worldgauge.chat.prompts import Prompts
from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.io import dumps, write_file
from worldgauge.suites.build.curation.filters import Reason, Rejection, Selection, select_structures
from worldgauge.suites.build.curation.sources import SourceStructure, Unreadable, read_files, read_world, spoken
from worldgauge.suites.build.curation.structure_tasks import (
    PICTURES,
    ChatInstructions,
    InstructionWriter,
    StructureTasks,
    tasks_of_structure,
    template_instruction,
)
from worldgauge.suites.build.format import write, write_image
from worldgauge.suites.build.format.files import ARCHITECTURES
from worldgauge.worlds.blocks.views import RENDERER, flags_of, picture

REPORT = "curation.json"
FORMAT, VERSION = "worldgauge-curation", 1
SIZE_PX = 512
SIDES_PX = (64, 2048)


@dataclass(frozen=True)
class CurationResult:
    """Result of a curation, by name of the structure.

    Attributes:
        root: Folder of the data set.
        accepted: Names of accepted structures.
        rejected: Reasons and texts by name.
        duplicates: Accepted structure that each is a copy of.
        unreadable: Reason by name.
        tasks: Number of tasks written.
    """

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
    """Write the structures of `source` that pass all filters to `out` as a data set, with `curation.json`.

    Air around a build is cut off. Each gets a reference picture of size_px a side, two tasks of planning, one of
    understanding, three of creativity. The same source, options and replies give the same bytes.

    Args:
        source: A folder of structure files, or with `boxes` a world (see `curation.sources`).
        out: Folder of the data set.
        boxes: JSON of marked boxes of a world.
        instructions: Who writes the detailed ones.
        prompts: A folder whose instruction-writer.txt replaces ours.
        seed: Seed of all that is random.
        size_px: Side of the pictures, pixels.
        waive: Reasons for rejection that are ignored.
        progress: Called with structures done, all, and the name.

    Raises:
        UsageError: For options that are not allowed, and a folder that holds another data set.
        DataError: When nothing passes; nothing is written then.
    """
    source, out = Path(source), Path(out)
    if not SIDES_PX[0] <= size_px <= SIDES_PX[1]:
        raise UsageError(f"pictures are {SIDES_PX[0]} to {SIDES_PX[1]} px a side, got {size_px}")
    if (out / ARCHITECTURES).exists() and not (out / REPORT).exists():
        raise UsageError(f"{out} holds a data set that was not curated here; give another folder")
    if prompts is not None and instructions == "template":
        raise UsageError("prompts are for a language model that writes the instructions; name one too")
    found: list[SourceStructure] = []
    lost: list[Unreadable] = []
    for one in read_files(source) if boxes is None else read_world(source, Path(boxes)):
        if isinstance(one, Unreadable):
            lost.append(one)
        else:
            found.append(one)
    tight = {one.name: one.blueprint.trimmed() for one in found}
    sorted_ = select_structures(tight.items(), waive=waive)
    if not sorted_.accepted:
        raise DataError(f"{source}: none of {len(found) + len(lost)} structures can be used ({_first(sorted_, lost)})")
    write_one: InstructionWriter = template_instruction
    if not isinstance(instructions, str):
        write_one = ChatInstructions(instructions, Prompts("worldgauge.suites.build", prompts), seed)
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
            spoken=spoken(one.name),
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
    _remove_others(out, {str(entry.architecture.image) for entry in entries.values()})
    write(out, [entry.architecture for entry in entries.values()], tasks)
    settings = {"seed": seed, "size_px": size_px, "waive": sorted(waive), "boxes": boxes is not None}
    report = _report(settings, found, lost, sorted_, entries)
    write_file(out / REPORT, (dumps(report, indent=1) + "\n").encode())
    unreadable = {one.name: one.text for one in lost}
    return CurationResult(out, sorted_.accepted, sorted_.rejected, sorted_.duplicates, unreadable, len(tasks))


def _remove_others(out: Path, wanted: Collection[str]) -> None:
    """Remove images of an earlier curation into this folder that no architecture has."""
    for path in (out / "data" / PICTURES).glob("*.png"):
        if f"{PICTURES}/{path.name}" not in wanted:
            path.unlink()


def _report(
    settings: Mapping[str, Any],
    found: Iterable[SourceStructure],
    lost: Iterable[Unreadable],
    told: Selection,
    entries: Mapping[str, StructureTasks],
) -> dict[str, Any]:
    """What `curation.json` holds: of every structure, where it was and what became of it."""
    by_name = {one.name: one for one in found}
    return {
        "format": FORMAT,
        "version": VERSION,
        "settings": dict(settings),
        "renderer": dict(RENDERER),
        "accepted": [_accepted(by_name[name], entries[name]) for name in told.accepted],
        "rejected": [
            {
                "name": name,
                "origin": by_name[name].origin,
                "reasons": [{"reason": one.reason, "text": one.text} for one in why],
            }
            for name, why in told.rejected.items()
        ],
        "duplicates": [
            {"name": name, "origin": by_name[name].origin, "of": of} for name, of in told.duplicates.items()
        ],
        "unreadable": [{"name": one.name, "origin": one.origin, "text": one.text} for one in lost],
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


def _first(told: Selection, lost: Iterable[Unreadable]) -> str:
    """The first thing that was wrong, for a message."""
    for name, problems in told.rejected.items():
        return f"first: {name} {problems[0].text}"
    return next((f"first: {one.origin}: {one.text}" for one in lost), "it holds none")
