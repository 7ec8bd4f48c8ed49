"""Writing a data set of the build suite in the published layout; the same set gives the same bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from worldgauge.core.errors import DataError
from worldgauge.core.io import atomic_file, check_name, natural_key
from worldgauge.suites.build.format.files import ARCHITECTURES, TASKS
from worldgauge.suites.build.format.reader import NEEDS_TRUTH
from worldgauge.suites.build.format.record import Architecture, BuildTask
from worldgauge.suites.build.kinds import KINDS


def write(root: Path, architectures: Iterable[Architecture], tasks: Iterable[BuildTask]) -> None:
    """Write data/architectures.json and a file per kind that has tasks, sorted by id; other files are removed.

    Images are written before, with `write_image`.

    Args:
        root: Folder of the data set.
        architectures: All architectures.
        tasks: All tasks.

    Raises:
        DataError: If an id is duplicate or not allowed as a name, a task's architecture is not given, or a file cannot
            be written.
    """
    root = Path(root)
    builds = _distinct(architectures, "architectures")
    told = _distinct(tasks, "tasks")
    known = {one.id for one in builds}
    for task in told:
        if task.kind in NEEDS_TRUTH and task.architecture not in known:
            raise DataError(
                f"{root}: task {task.id} is of architecture {task.architecture}, which is not given; add it"
            )
    _put(root / ARCHITECTURES, (_architecture(one) for one in builds))
    for kind in KINDS:
        path = root / TASKS[kind]
        if rows := [_task(task) for task in told if task.kind == kind]:
            _put(path, iter(rows))
        else:
            path.unlink(missing_ok=True)


def _architecture(one: Architecture) -> dict[str, Any]:
    size = one.blueprint.size
    return {
        "id": one.id,
        "name": one.name,
        "description": one.description,
        "data_resource": one.source,
        "3d_info": {"width": size.width, "height": size.height, "depth": size.depth},
        "difficulty_factor": one.difficulty,
        "image": None if one.image is None else f"./{one.image}",
        "block_materials": list(one.blueprint.materials),
        "blueprint": one.blueprint.rows(),
        "type": one.type,
        "biome": one.biome,
        "image_urls": None if one.image_urls is None else list(one.image_urls),
        "metadata": one.metadata,
    }


def _task(task: BuildTask) -> dict[str, Any]:
    row: dict[str, Any] = {"id": task.id, "instruction": task.instruction}
    images = [_shown(name) for name in task.images]
    if task.kind == "reasoning":
        image: Any = None
    elif task.kind == "commonsense":
        image = images
    else:
        image = images[0] if len(images) == 1 else images or None
        row |= {"AR_id": task.architecture, "block_materials": list(task.materials)}
    row |= {
        "difficulty_factor": task.difficulty,
        "image": image,
        "image_desp": list(task.captions) or None,
        "options_image": None if task.options_image is None else _shown(task.options_image),
        "options": [_shown(name) for name in task.options] or None,
        "metadata": task.metadata,
    }
    if task.kind in ("reasoning", "commonsense"):
        row |= {"answer": task.answer, "env": task.env}
    return row


def _shown(name: str) -> str:
    return f"/data/{name}"


def _distinct(told: Iterable[Any], what: str) -> list[Any]:
    """Sorted by id, in the order of the numbers within."""
    found = sorted(told, key=lambda one: (natural_key(one.id), one.id))
    for one, other in pairwise(found):
        if one.id == other.id:
            raise DataError(f"the id '{one.id}' is there twice among the {what}; give every one its own")
    for one in found:
        check_name(one.id, what)
    return found


def _put(path: Path, rows: Iterator[dict[str, Any]] | Sequence[dict[str, Any]]) -> None:
    """A list with one object a line, so that a change of one shows as one."""
    with atomic_file(path) as file:
        file.write(b"[")
        for number, row in enumerate(rows):
            line = json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            file.write((",\n" if number else "\n").encode() + line.encode())
        file.write(b"\n]\n")
