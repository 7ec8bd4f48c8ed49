"""Reading a folder of the build suite. A file that is no list is an error; a row that cannot be used is a fault."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from worldgauge.agent import KINDS, Kind
from worldgauge.datasets.build_files import ARCHITECTURES, TASKS, image_digest, missing, read_rows
from worldgauge.datasets.build_record import Architecture, BuildSet, BuildTask, Fault
from worldgauge.datasets.build_rows import REFUSALS, Notes, architecture_of, task_of, wrong
from worldgauge.datasets.foreign import short
from worldgauge.errors import DataError

NEEDS_TRUTH: tuple[Kind, ...] = ("planning", "understanding")
"""Kinds that are scored against a blueprint; creativity is not."""


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
    architectures = {} if ARCHITECTURES in absent else dict(_architectures(root, notes, faults))
    warnings = list(notes.lines("architecture"))
    tasks: dict[Kind, tuple[BuildTask, ...]] = {}
    broken = {fault.id for fault in faults}
    for kind in KINDS:
        notes = Notes()
        told = () if TASKS[kind] in absent else _tasks(root, kind, architectures, broken, notes, faults)
        tasks[kind] = tuple(told)
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


def _architectures(root: Path, notes: Notes, faults: list[Fault]) -> Iterator[tuple[str, Architecture]]:
    seen: set[str] = set()
    for number, row in enumerate(read_rows(root, ARCHITECTURES)):
        try:
            architecture = architecture_of(_object(row), notes)
            _once(architecture.id, seen)
        except REFUSALS as error:
            faults.append(Fault("architecture", _named(row, number, seen), _said(ARCHITECTURES, number, error)))
            continue
        seen.add(architecture.id)
        yield architecture.id, architecture


def _tasks(
    root: Path,
    kind: Kind,
    architectures: Mapping[str, Architecture],
    broken: set[str],
    notes: Notes,
    faults: list[Fault],
) -> Iterator[BuildTask]:
    seen: set[str] = set()
    for number, row in enumerate(read_rows(root, TASKS[kind])):
        try:
            task = _with_architecture(task_of(_object(row), kind, notes), architectures, broken, notes)
            _once(task.id, seen)
        except REFUSALS as error:
            faults.append(Fault(kind, _named(row, number, seen), _said(TASKS[kind], number, error)))
            continue
        seen.add(task.id)
        yield task


def _with_architecture(
    task: BuildTask, architectures: Mapping[str, Architecture], broken: set[str], notes: Notes
) -> BuildTask:
    """A task of building with what its architecture gives: materials, difficulty and picture where its row has none."""
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


def _once(id: str, seen: set[str]) -> None:
    if id in seen:
        raise ValueError(f"the id '{id}' is there twice; rename one of the two")


def _named(row: Any, number: int, seen: set[str]) -> str:
    """The id of a row that cannot be used, where it has one of its own that can be a name; else its number."""
    id = row.get("id") if isinstance(row, dict) else None
    plain = isinstance(id, str) and id.isascii() and id.replace("_", "").isalnum() and len(id) <= 128
    return str(id) if plain and id not in seen else f"row-{number}"


def _said(name: str, number: int, error: Exception) -> str:
    return f"{name}: row {number}: {wrong(error)}"
