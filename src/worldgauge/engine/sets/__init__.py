"""The definitions of named sets, and which set the tasks of a run are of.

A definition is a folder beside this module. Its `set.json` holds for each suite the options of the collection, seeds
included; `SUITE.json` holds, once that part is frozen, the SHA-256 of every file and the fingerprint of every task. A
run is of a set when all its tasks are tasks of the set with the same fingerprints, wherever its folder came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from worldgauge.core.errors import UnknownNameError
from worldgauge.core.io import read_json_object
from worldgauge.core.registry import current_suite, first_suite_name
from worldgauge.engine.collection import MANIFEST
from worldgauge.engine.suite.contract import Task

PREFIX = "worldgauge-"
SET_COLUMNS = ("set", "set_version", "set_part")
"""Columns of a table of scores that say which set its data are of; see `set_cells`."""
DEFINITION = "set.json"
DIGITS = 16
"""Hexadecimal digits of a fingerprint in a definition; 64 bits are enough to tell tasks of one id apart."""


@dataclass(frozen=True)
class SetPart:
    """The part of one suite in a set.

    Attributes:
        options: Options of the collection, without those at their defaults.
        files: SHA-256 of each file by its path in the folder. Empty if the part is not frozen.
        tasks: First digits of the fingerprint of each task with the suite's default settings, by id.
        minutes: CPU time to make it, on one core of a machine of 2026.
        frames: Frames that one model generates for all tasks with the suite's default settings.
        requests: Rollouts that generate them. 0 for one per task.
        fps: Frames per second of the recordings. 0 if a frame is a step without duration.
        task_s: CPU seconds per task beside the model's own, for a model whose video moves.
        baselines: Names of baselines whose scores ship with worldgauge.
        baseline_tasks: Tasks with shipped scores: those that a limit of this number chooses. 0 for all.
        spread: Standard deviation over clusters of the paired difference of two baselines, in the headline's unit.
    """

    suite: str
    options: Mapping[str, Any]
    files: Mapping[str, str] = field(default_factory=dict)
    tasks: Mapping[str, str] = field(default_factory=dict)
    minutes: float | None = None
    tasks_count: int = 0
    clusters: int = 0
    frames: int = 0
    requests: int = 0
    fps: float = 0.0
    megabytes: float = 0.0
    task_s: float = 0.0
    spread: float | None = None
    baselines: Sequence[str] = ()
    baseline_tasks: int = 0
    baselines_sha256: str = ""
    baselines_file: Path | None = None

    @property
    def is_frozen(self) -> bool:
        """Whether its digests are known."""
        return bool(self.files)

    def to_compute(self, baselines: Iterable[str]) -> float:
        """Number of baselines without shipped scores; a part of one counts as such."""
        share = self.baseline_tasks / self.tasks_count if self.baseline_tasks else 1.0
        return sum(1.0 - share * (name in self.baselines) for name in baselines)

    def folder(self, root: Path) -> Path:
        """Its folder in a set. One that was made before the suite was renamed keeps the old name."""
        new, old = root / self.suite, root / first_suite_name(self.suite)
        return old if old.exists() and not new.exists() else new


@dataclass(frozen=True)
class NamedSet:
    """A benchmark set of all suites; `made_with` has the package versions and the kind of CPU that froze it."""

    name: str
    version: int
    title: str
    parts: tuple[SetPart, ...]
    made_with: Mapping[str, str] = field(default_factory=dict)

    @property
    def short(self) -> str:
        """Its name without the prefix, as commands take it."""
        return self.name.removeprefix(PREFIX)

    @property
    def is_frozen(self) -> bool:
        """Whether the digests of all parts are known."""
        return all(part.is_frozen for part in self.parts)

    def part(self, suite: str) -> SetPart:
        """The part of one suite."""
        suite = current_suite(suite)
        found = {part.suite: part for part in self.parts}
        if suite not in found:
            raise UnknownNameError(f"part of {self.name}", suite, found)
        return found[suite]


@cache
def named_sets() -> Mapping[str, NamedSet]:
    """All sets by name, the smallest first."""
    found = [read_set(path.parent) for path in Path(__file__).parent.glob(f"*/{DEFINITION}")]
    return {one.name: one for one in sorted(found, key=lambda one: sum(part.megabytes for part in one.parts))}


def read_set(folder: Path) -> NamedSet:
    """A set from the folder of its definition."""
    content = read_json_object(folder / DEFINITION)
    parts = []
    for suite, part in content["suites"].items():
        digests = folder / f"{suite}.json"
        frozen = read_json_object(digests) if digests.exists() else {}
        if part.get("baselines"):
            part["baselines_file"] = folder / f"{suite}.scores.xz"
        parts.append(SetPart(suite, files=frozen.get("files", {}), tasks=frozen.get("tasks", {}), **part))
    return NamedSet(content["name"], content["version"], content["title"], tuple(parts), content.get("made_with", {}))


def open_set(name: str) -> NamedSet:
    """A set by its name, with or without the prefix "worldgauge-"."""
    known = named_sets()
    whole = name if name in known else PREFIX + name
    if whole not in known:
        raise UnknownNameError("benchmark set", name.removeprefix(PREFIX), (one.removeprefix(PREFIX) for one in known))
    return known[whole]


def membership(
    suite: str, tasks: Iterable[Task], sets: Iterable[NamedSet] | None = None, data: Path | None = None
) -> dict[str, Any] | None:
    """The set that holds all tasks: "name", "version", "tasks" (of the run) and "of" (of the set); None if none does.

    Data made with the options of a part that has no digests belong to it, with "of" None.
    """
    asked = {task.id: digits_of(task.fingerprint) for task in tasks}
    if not asked:
        return None
    made = _options_of(data)
    for one in named_sets().values() if sets is None else sets:
        part = next((part for part in one.parts if part.suite == suite), None)
        if part is None:
            continue
        if not part.is_frozen and made and all(made.get(name) == value for name, value in part.options.items()):
            return {"name": one.name, "version": one.version, "tasks": len(asked), "of": None}
        known = part.tasks
        if all(known.get(task) == digits for task, digits in asked.items()):
            return {"name": one.name, "version": one.version, "tasks": len(asked), "of": len(known)}
    return None


def _options_of(data: Path | None) -> Mapping[str, Any]:
    """Options that a data set was collected with, by its manifest."""
    if data is None or not (data / MANIFEST).is_file():
        return {}
    settings = read_json_object(data / MANIFEST).get("settings")
    return settings if isinstance(settings, dict) else {}


def known_tasks(suite: str, told: Any) -> Mapping[str, str] | None:
    """The tasks of the set that a run.json names; None where no such set and version is known."""
    if not isinstance(told, Mapping):
        return None
    named = named_sets().get(str(told.get("name")))
    if named is None or named.version != told.get("version"):
        return None
    return next((part.tasks for part in named.parts if part.suite == suite and part.tasks), None)


def digits_of(fingerprint: str) -> str:
    """What a definition holds of a fingerprint; what a suite adds after a "+" is about its settings."""
    return fingerprint.partition("+")[0][:DIGITS]


def data_notes(runs: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The lines below a table that say of which set its runs are, and which scores were not computed here."""
    shipped = ", ".join(label for label, facts in runs.items() if facts.get("shipped"))
    return [*_set_notes(runs), *([f"Scores that ship with worldgauge: {shipped}."] if shipped else [])]


def _set_notes(runs: Mapping[str, Mapping[str, Any]]) -> list[str]:
    told: dict[str, list[str]] = {}
    for label, facts in runs.items():
        told.setdefault(_words(facts.get("set")), []).append(label)
    if set(told) == {_NO_SET}:
        return []
    if len(told) == 1:
        return [f"Data: {next(iter(told))}."]
    return ["Data: " + "; ".join(f"{words} for {', '.join(labels)}" for words, labels in told.items()) + "."]


def set_cells(facts: Mapping[str, Any]) -> tuple[str | None, str | None, str | None]:
    """Cells of `SET_COLUMNS`: name, version, and "all 16 tasks" or "4 of 16 tasks". Each None for no set."""
    held = facts.get("set")
    if not isinstance(held, Mapping):
        return None, None, None
    return str(held.get("name")), str(held.get("version")), _part_of(held)


_NO_SET = "no named set"


def _words(held: Any) -> str:
    if not isinstance(held, Mapping):
        return _NO_SET
    name = f"{held.get('name')}, version {held.get('version')}"
    part = _part_of(held)
    return (
        f"{name}, {part}"
        if held.get("of") is None or held.get("tasks") == held.get("of")
        else f"{name}, a part of it: {part}"
    )


def _part_of(held: Mapping[str, Any]) -> str:
    tasks, of = held.get("tasks"), held.get("of")
    if of is None:
        return f"not frozen: {tasks} tasks"
    return f"all {of} tasks" if tasks == of else f"{tasks} of {of} tasks"
