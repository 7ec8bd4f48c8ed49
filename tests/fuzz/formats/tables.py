"""Tables: the released trials, and layouts in a manifest."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from random import Random
from typing import Any

from fuzz.format import Format
from fuzz.mutators import damaged, with_damage
from support.released_trials import Stream, plain_row, write_trial
from worldgauge.core.io import read_json_object
from worldgauge.suites.worldinworld.manipulation.object_stream import ObjectRecord, read_objects
from worldgauge.suites.worldinworld.manipulation.released_trials import RELEASED_TASKS, find_trials, read_trial
from worldgauge.worlds.tabletop.contract import Setup
from worldgauge.worlds.tabletop.shapes import EVERY_COLOUR

CHOICES = ("cup0", "cup1", "cup2")


def _make_trials(folder: Path) -> None:
    """One of each task, with one observation."""
    for task in RELEASED_TASKS:
        write_trial(folder, plain_row(task), 1)


def _read_trials(folder: Path) -> None:
    for task, folders in find_trials(folder).items():
        for one in folders:
            json.dumps(read_trial(task, one).layout().plain, allow_nan=False)


def _mutate_trial(name: str, data: bytes, rng: Random) -> bytes:
    """Two in three times another value in a sound stream."""
    if rng.random() < 1 / 3:
        return damaged(name, data, rng)
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        held: Any = read_objects(Path(file.name))
    if isinstance(held, ObjectRecord):
        assert held.fields is not None
        own: Any = held if rng.random() < 0.3 else held.fields["_observations"][0]
        own.fields = with_damage(own.fields, rng)
    else:
        held = with_damage(held, rng)
    return Stream().whole(held)


def _make_layout(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as beside:
        layout = read_trial("stack_cups", write_trial(Path(beside), plain_row("stack_cups"))).layout().plain
    (folder / "layout.json").write_text(json.dumps(layout))


def _read_layout(folder: Path) -> None:
    Setup.of(read_json_object(folder / "layout.json"), CHOICES, EVERY_COLOUR)


FORMATS = (
    Format("released trials", _make_trials, _read_trials, mutate=_mutate_trial),
    Format("table layout", _make_layout, _read_layout),
)
