"""Reading a folder of the build suite: files of rows, each row an architecture or a task.

A file that is no list is an error; a row that cannot be used is a fault that names field and value. Files spell the
same thing in several ways: keys that are absent or null, materials as a list or a table, one path or a list of them, a
list of options that was taken apart into characters. What is repaired is recorded in `Notes`.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from worldgauge.core.episode import short
from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.io import check_name, digest_of
from worldgauge.suites.mineanybuild.format import (
    ARCHITECTURES,
    KINDS,
    NEEDS_TRUTH,
    TASKS,
    Architecture,
    BuildSet,
    BuildTask,
    Kind,
    RowFault,
    image_digest,
    missing,
    plain_image,
    read_rows,
)
from worldgauge.worlds.blocks.blueprint import AIR, AIR_NAMES, Blueprint, base_name, difficulty_factor

Row = Mapping[str, Any]
"""A row as JSON has it."""

MAX_TEXT = 8 * 2**20
"""Most characters of a text; a layer instruction of the largest build has some millions."""
MAX_NAME = 400
MAX_MATERIALS = 4096
MAX_SIDE = 512
MAX_LIST = 256
LETTERS = ("A", "B", "C", "D")
WORDS: Mapping[str, str] = {"true": "True", "ture": "True", "false": "False"}
_REASONING = {"1": "same", "2": "different", "3": "judge"}
_PLANNING = {"0": "detailed", "1": "simple"}

REFUSALS = (KeyError, ValueError, TypeError, OverflowError, DataError, ShapeError)
"""What the functions here raise for invalid rows."""

R = TypeVar("R", Architecture, BuildTask)


def load(root: Path) -> BuildSet:
    """Load all architectures and tasks of a folder in the published layout; images are not opened.

    Files that are missing hold no tasks (see `missing`).

    Examples:
        >>> from pathlib import Path
        >>> hut = {"id": "hut", "name": "hut", "block_materials": ["stone"], "blueprint": [[[1, 1, 1]]]}
        >>> write_file(Path("builds/data/architectures.json"), dumps([hut]))
        >>> load_builds(Path("builds")).architectures["hut"].blueprint.blocks
        3
    """
    root = Path(root)
    absent = missing(root)
    if len(absent) == len(TASKS) + 1:
        raise DataError(
            f"{root}: holds neither {ARCHITECTURES} nor a file of tasks; give the folder with data and task"
        )
    notes, faults = Notes(), list[RowFault]()
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
    """Hash everything that defines a task: every field, the truth, and the bytes of the images shown."""
    truth = data.architectures.get(task.architecture or "")
    shown = [*task.images, *([task.options_image] if task.options_image else [])]
    facts = [
        vars(task),  # all plain values, in the order of the fields
        None if truth is None else [truth.name, truth.description, truth.blueprint.digest],
        [image_digest(data.root, name) for name in shown],
    ]
    return digest_of(json.dumps(facts, sort_keys=True, allow_nan=False))


def _usable(
    root: Path, name: str, kind: Kind | Literal["architecture"], make: Callable[[Row], R], faults: list[RowFault]
) -> dict[str, R]:
    """By id, what `make` makes of the rows of a file; a row that it refuses becomes a fault of an id of its own."""
    found: dict[str, R] = {}
    refused: list[tuple[int, Any, Exception]] = []
    for number, row in enumerate(read_rows(root, name)):
        try:
            if not isinstance(row, dict):
                raise ValueError(f"{short(row)} is no object; give one a row")
            one = make(row)
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
        faults.append(RowFault(kind, id, f"{name}: row {number}: {wrong(why)}"))
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


def _named(row: Any, number: int, taken: Collection[str]) -> str:
    """The id of a row that cannot be used, where it has one of its own that can be a name; else its number."""
    id = row.get("id") if isinstance(row, dict) else None
    plain = isinstance(id, str) and id.isascii() and id.replace("_", "").isalnum() and len(id) <= 128
    return str(id) if plain and id not in taken else f"row-{number}"


@dataclass
class Notes:
    """Repairs and oddities: texts, each with the ids of the rows it applies to."""

    said: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, text: str, id: str) -> None:
        """Note a text for a row."""
        self.said[text].append(id)

    def lines(self, noun: str) -> tuple[str, ...]:
        """Return one line per text, with the number of its rows and the first of them."""
        many = {text: f"{len(ids)} {noun}{'s' if len(ids) > 1 else ''}" for text, ids in self.said.items()}
        return tuple(f"{many[text]} {text} (first: {ids[0]})" for text, ids in self.said.items())


def architecture_of(row: Row, notes: Notes) -> Architecture:
    """Read one architecture. Rows of the earlier single files (`data_source`, `object_materials`) are accepted."""
    id = id_of(row)
    materials = materials_of(row, "object_materials" if row.get("object_materials") else "block_materials")
    blueprint = _blueprint(row, materials, id, notes)
    size, stated = blueprint.size, row.get("3d_info")
    if isinstance(stated, Mapping) and any(stated.get(name) not in (None, n) for name, n in size._asdict().items()):
        notes.add("state another size than their blueprint has, which holds", id)
    factor = _number(row, "difficulty_factor")
    urls = row.get("image_urls")
    return Architecture(
        id=id,
        name=text_of(row, "name", most=MAX_NAME),
        description=_text_or_none(row, "description") or "",
        source=_text_or_none(row, "data_resource") or _text_or_none(row, "data_source") or "",
        blueprint=blueprint,
        difficulty=difficulty_factor(blueprint.blocks, size) if factor is None else factor,
        type=_text_or_none(row, "type"),
        image=_picture(row, "image"),
        biome=_text_or_none(row, "biome"),
        image_urls=None if urls is None else tuple(_texts(urls, "image_urls")),
        metadata=_text_or_none(row, "metadata"),
    )


def task_of(row: Row, kind: Kind, notes: Notes) -> BuildTask:
    """Read one task; the caller checks that its architecture exists."""
    id = id_of(row)
    task = BuildTask(
        id=id,
        kind=kind,
        variant="",
        instruction=text_of(row, "instruction"),
        architecture=_text_or_none(row, "AR_id"),
        materials=materials_of(row, "block_materials") if row.get("block_materials") is not None else (),
        difficulty=_number(row, "difficulty_factor"),
        images=tuple(plain_image(one) for one in _texts(_listed(row.get("image")), "image")),
        captions=tuple(_texts(_listed(row.get("image_desp")), "image_desp")),
        env=_text_or_none(row, "env"),
        metadata=_text_or_none(row, "metadata"),
    )
    if task.captions and len(task.captions) != len(task.images):
        raise ValueError(f"field 'image_desp' has {len(task.captions)} captions for {len(task.images)} images")
    return _FINISH[kind](task, row, notes) if kind in _FINISH else task


def id_of(row: Row) -> str:
    """Read the id, which is a part of paths."""
    return check_name(text_of(row, "id", most=MAX_NAME), "build")


def text_of(row: Row, key: str, *, most: int = MAX_TEXT) -> str:
    """Read a text that is not blank."""
    value = row[key]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"field '{key}' is {short(value)}; give a text")
    return _whole(value, key, most)


def materials_of(row: Row, key: str) -> tuple[str, ...]:
    """Read materials in the order of their numbers: a list, or a table name -> number, whose air is left out."""
    value = row[key]
    if isinstance(value, Mapping):
        numbers = {name: number for name, number in value.items() if number != AIR or base_name(name) not in AIR_NAMES}
        if sorted(map(repr, numbers.values())) != sorted(map(repr, range(1, len(numbers) + 1))):
            raise ValueError(f"field '{key}' must number its {len(numbers)} materials from 1 on, air being -1")
        value = sorted(numbers, key=lambda name: int(numbers[name]))
    if not isinstance(value, list) or len(value) > MAX_MATERIALS:
        raise ValueError(f"field '{key}' is {short(value)}; give a list of at most {MAX_MATERIALS} names")
    return tuple(_texts(value, key, most=MAX_MATERIALS))


def wrong(error: Exception) -> str:
    """Return an error of this module as one line."""
    if isinstance(error, KeyError):
        return f"field {error} is missing"
    return " ".join(str(error).split())


def _planning(task: BuildTask, row: Row, notes: Notes) -> BuildTask:
    ending = re.fullmatch(r"TSK_SP_\d+_([01])", task.id)
    if ending is None:
        notes.add("do not end in _0 or _1: taken as detailed instructions", task.id)
    return replace(task, variant=_PLANNING[ending[1]] if ending else "detailed")


def _reasoning(task: BuildTask, row: Row, notes: Notes) -> BuildTask:
    """With kind, composed picture, options and answer."""
    value = row["answer"]
    said = str(value).strip() if isinstance(value, (str, bool)) else ""
    answer = WORDS.get(said.lower(), said.upper())
    if answer not in (*LETTERS, "True", "False"):
        raise ValueError(f"field 'answer' is {short(value)}; give A, B, C or D, or True or False")
    if said.lower() == "ture":
        notes.add("have the answer 'Ture', read as True", task.id)
    numbered = re.fullmatch(r"TSK_SR_([123])_\d+", task.id)
    judged = answer not in LETTERS
    if numbered is None:
        notes.add("do not tell their kind of question by their id: it is judged by the answer", task.id)
    variant = _REASONING[numbered[1]] if numbered else "judge" if judged else "same"
    if judged != (variant == "judge"):
        raise ValueError(f"field 'answer' is {answer}, which a question of kind '{variant}' cannot have")
    picture = _picture(row, "options_image")
    if picture is None:
        raise ValueError("field 'options_image' is null; give the path of the composed picture")
    options = _listed(row.get("options"))
    if len(options) > 6 and all(isinstance(one, str) and len(one) == 1 for one in options):
        notes.add("have options that were taken apart into characters, put together again", task.id)
        options = ["".join(options)]
    names = tuple(plain_image(one) for one in _texts(options, "options"))
    return replace(task, variant=variant, options_image=picture, options=names, answer=answer)


def _commonsense(task: BuildTask, row: Row, notes: Notes) -> BuildTask:
    if not task.images:
        raise ValueError("field 'image' names no picture of the room; give one at least")
    return replace(task, answer=text_of(row, "answer"))


_FINISH = {"planning": _planning, "reasoning": _reasoning, "commonsense": _commonsense}


def _blueprint(row: Row, materials: tuple[str, ...], id: str, notes: Notes) -> Blueprint:
    rows = row["blueprint"]
    _check_matrix(rows)
    try:
        cells = np.array(rows, np.int64)
    except OverflowError:
        raise ValueError("field 'blueprint' holds a number beyond 64 bits; give -1 for air, or 1 to K") from None
    unknown = (cells != AIR) & ((cells < 1) | (cells > len(materials)))
    if unknown.any():
        notes.add("hold numbers in their blueprint that no material has, which become air", id)
    blueprint = Blueprint(np.where(unknown, AIR, cells).astype(np.int32), materials)
    if not blueprint.blocks:
        raise ValueError("field 'blueprint' holds no block")
    return blueprint


def _check_matrix(rows: Any) -> None:
    """Raises ValueError for what is no matrix [y][z][x] of whole numbers; numpy would take texts and fractions too."""
    shape = []
    level = rows
    for axis in ("layers", "rows", "cells"):
        if not isinstance(level, list) or not 1 <= len(level) <= MAX_SIDE:
            raise ValueError(
                f"field 'blueprint' has not 1 to {MAX_SIDE} {axis}; give lists of lists of lists, [y][z][x]"
            )
        shape.append(len(level))
        level = level[0]
    for y, layer in enumerate(rows):
        if not isinstance(layer, list) or len(layer) != shape[1]:
            raise ValueError(f"field 'blueprint': layer [{y}] has not {shape[1]} rows as the first has")
        for z, line in enumerate(layer):
            if not isinstance(line, list) or len(line) != shape[2]:
                raise ValueError(f"field 'blueprint': row [{y}][{z}] has not {shape[2]} cells as the first has")
            if set(map(type, line)) != {int}:
                x = next(i for i, value in enumerate(line) if type(value) is not int)
                raise ValueError(f"field 'blueprint': cell [{y}][{z}][{x}] is {short(line[x])}; give a whole number")


def _number(row: Row, key: str) -> float | None:
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"field '{key}' is {short(value)}; give a number or null")
    return float(value)


def _text_or_none(row: Row, key: str) -> str | None:
    value = row.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise ValueError(f"field '{key}' is {short(value)}; give a text or null")
    return _whole(value, key, MAX_TEXT)


def _texts(value: Any, key: str, most: int = MAX_LIST) -> list[str]:
    if not isinstance(value, list) or len(value) > most:
        raise ValueError(f"field '{key}' is {short(value)}; give a list of at most {most} texts")
    return [text_of({f"{key}[{i}]": one}, f"{key}[{i}]") for i, one in enumerate(value)]


def _listed(value: Any) -> Any:
    """None, one or several as a list."""
    return [] if value is None else [value] if isinstance(value, str) else value


def _picture(row: Row, key: str) -> str | None:
    return None if row.get(key) is None else plain_image(text_of(row, key, most=MAX_NAME))


def _whole(value: str, key: str, most: int) -> str:
    """A text within bounds that can be written again."""
    if len(value) > most:
        raise ValueError(f"field '{key}' has {len(value)} characters; give at most {most}")
    if re.search("[\ud800-\udfff\x00]", value):
        raise ValueError(f"field '{key}' is {short(value)}; leave out lone surrogates and zero bytes")
    return value
