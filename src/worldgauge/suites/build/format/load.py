"""Reading a folder of the build suite. A file that is no list is an error; a row that cannot be used is a fault."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from worldgauge.core.agent import KINDS, Kind
from worldgauge.core.errors import DataError
from worldgauge.core.fields import short
from worldgauge.suites.build.format.files import ARCHITECTURES, TASKS, image_digest, missing, read_rows
from worldgauge.suites.build.format.record import Architecture, BuildSet, BuildTask, Fault
from worldgauge.suites.build.format.rows import REFUSALS, Notes, Row, architecture_of, task_of, wrong

NEEDS_TRUTH: tuple[Kind, ...] = ("planning", "understanding")
"""Kinds that are scored against a blueprint; creativity is not."""

Made = TypeVar("Made", Architecture, BuildTask)


def load(root: Path) -> BuildSet:
    """All architectures and tasks of a folder in the published layout; no picture is opened.

    Files that are missing hold no tasks (see `missing`). Raises DataError when none is there, or one cannot be read or
    is no list.
    """
    root = Path(root)
    absent = missing(root)
    if len(absent) == len(TASKS) + 1:
        raise DataError(
            f"{root}: holds neither {ARCHITECTURES} nor a file of tasks; give the folder with data and task"
        )
    notes, faults = Notes(), list[Fault]()
    architectures: dict[str, Architecture] = {}
    if ARCHITECTURES not in absent:
        make = partial(architecture_of, notes=notes)
        architectures = _usable(root, ARCHITECTURES, "architecture", make, faults)
    warnings = list(notes.lines("architecture"))
    tasks: dict[Kind, tuple[BuildTask, ...]] = {}
    broken = {fault.id for fault in faults}
    for kind in KINDS:
        notes, told = Notes(), dict[str, BuildTask]()
        if TASKS[kind] not in absent:
            told = _usable(root, TASKS[kind], kind, partial(_task, kind, architectures, broken, notes), faults)
        tasks[kind] = tuple(told.values())
        warnings += notes.lines(f"{kind} task")
    return BuildSet(root, architectures, tasks, tuple(faults), tuple(warnings))


def fingerprint_of(task: BuildTask, data: BuildSet) -> str:
    """SHA-256 over all that a task is made of: every field, the truth, and the bytes of the pictures that are shown."""
    truth = data.architectures.get(task.architecture or "")
    shown = [*task.images, *([task.options_image] if task.options_image else [])]
    facts = [
        asdict(task),
        None if truth is None else [truth.name, truth.description, truth.blueprint.digest],
        [image_digest(data.root, name) for name in shown],
    ]
    return hashlib.sha256(json.dumps(facts, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _usable(
    root: Path, name: str, kind: Kind | Literal["architecture"], make: Callable[[Row], Made], faults: list[Fault]
) -> dict[str, Made]:
    """By id, what `make` makes of the rows of a file; a row that it refuses becomes a fault of an id of its own."""
    found: dict[str, Made] = {}
    refused: list[tuple[int, Any, Exception]] = []
    for number, row in enumerate(read_rows(root, name)):
        try:
            one = make(_object(row))
            if one.id in found:
                raise ValueError(f"the id '{one.id}' is there twice; rename one of the two")
        except REFUSALS as error:
            refused.append((number, row, error))
            continue
        found[one.id] = one
    # Named only now: a later row may have the id of a refused one, and be fine.
    taken = set(found)
    for number, row, why in refused:
        id = _named(row, number, taken)
        taken.add(id)
        faults.append(Fault(kind, id, f"{name}: row {number}: {wrong(why)}"))
    return found


def _task(
    kind: Kind, architectures: Mapping[str, Architecture], broken: Collection[str], notes: Notes, row: Row
) -> BuildTask:
    """A task; one of building with what its architecture gives: materials, difficulty and picture it has none of."""
    task = task_of(row, kind, notes)
    if task.kind in ("reasoning", "commonsense"):
        return task
    found = architectures.get(task.architecture or "")
    if found is None:
        why = "cannot be used" if task.architecture in broken else f"is not in {ARCHITECTURES}"
        if task.kind in NEEDS_TRUTH or not task.materials:
            raise ValueError(f"field 'AR_id': the architecture {short(task.architecture)} {why}")
        notes.add("have no architecture that can be used: they are asked without", task.id)
        return task
    shown = task.images or ((found.image,) if found.image and task.kind in NEEDS_TRUTH else ())
    if not (task.materials or found.blueprint.materials):
        raise ValueError("field 'block_materials' names no material, nor does the architecture")
    return replace(
        task,
        materials=task.materials or found.blueprint.materials,
        difficulty=found.difficulty if task.difficulty is None else task.difficulty,
        images=shown,
    )


def _object(row: Any) -> Mapping[str, Any]:
    if not isinstance(row, dict):
        raise ValueError(f"{short(row)} is no object; give one a row")
    return row


def _named(row: Any, number: int, taken: Collection[str]) -> str:
    """The id of a row that cannot be used, where it has one of its own that can be a name; else its number."""
    id = row.get("id") if isinstance(row, dict) else None
    plain = isinstance(id, str) and id.isascii() and id.replace("_", "").isalnum() and len(id) <= 128
    return str(id) if plain and id not in taken else f"row-{number}"
