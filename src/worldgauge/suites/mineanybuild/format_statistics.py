"""Checks of a data set of the build suite: counts by kind of task, and findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from worldgauge.core.errors import DataError
from worldgauge.engine.collection import DataReport, DataTable, Finding, Spread, grouped, mean_text, spread
from worldgauge.suites.mineanybuild.format import (
    KINDS,
    NEEDS_TRUTH,
    PUBLISHED,
    TYPES,
    Architecture,
    BuildSet,
    BuildTask,
    image_size,
    missing,
    read_image,
)
from worldgauge.suites.mineanybuild.format_reader import load
from worldgauge.worlds.blocks.blueprint import base_name, difficulty_factor, tier_of
from worldgauge.worlds.blocks.table import known

_SEVERITIES = ("error", "warning", "info")
_WORDS_OF_INSTRUCTION = 150
"""At most in a detailed instruction."""


@dataclass(frozen=True)
class TaskKindStatistics:
    """The tasks of one kind, next to the number published; usable ones by difficulty, words and pictures of each."""

    kind: str
    tasks: int
    published: int
    usable: int
    architectures: int
    easy: int
    medium: int
    hard: int
    words: Spread | None
    images: Spread | None


@dataclass(frozen=True)
class BuildStatistics:
    """What `check` found."""

    n_tasks: int
    n_valid: int
    n_frames: int
    n_architectures: int
    types: dict[str, int]
    answers: dict[str, int]
    rows: tuple[TaskKindStatistics, ...]
    findings: tuple[Finding, ...]

    def report(self) -> DataReport:
        """The same statistics in the form that every check returns."""
        columns = ("", "tasks", "paper", "usable", "builds", "easy", "medium", "hard", "words", "pictures")
        rows = tuple(
            (
                row.kind,
                *map(str, (row.tasks, row.published, row.usable, row.architectures, row.easy, row.medium, row.hard)),
                mean_text(row.words),
                mean_text(row.images),
            )
            for row in self.rows
        )
        types = ", ".join(f"{name} {count}" for name, count in self.types.items())
        notes = (f"paper: tasks of the published data; {self.n_architectures} builds by type: {types}",)
        return DataReport(
            noun="tasks",
            n_valid=self.n_valid,
            n_items=self.n_tasks,
            n_frames=self.n_frames,
            findings=self.findings,
            table=DataTable("tasks", columns, rows, notes),
            facts=asdict(self),
            frames_noun="pictures",
        )


def check(root: Path, *, decode: bool = False) -> BuildStatistics:
    """Statistics and findings of a folder; headers of the pictures are read."""
    data = load(root)
    count, of_images = _of_images(data, decode)
    tasks = [task for kind in KINDS for task in data.tasks[kind]]
    lost = [fault for fault in data.faults if fault.kind != "architecture"]
    broken = [(fault.id, fault.text) for fault in data.faults if fault.kind == "architecture"]
    builds = data.architectures.values()
    findings = sorted(
        [
            *grouped("error", "not usable", ((one.id, one.text) for one in lost), "task"),
            *grouped("warning", "not usable", broken, "architecture"),
            *of_images,
            *(Finding("warning", note) for note in data.warnings),
            *grouped("warning", "odd", _odd_builds(builds), "architecture"),
            *grouped("warning", "odd", _odd_tasks(data, tasks), "task"),
            *_of_answers(data),
            *(Finding("info", f"{name} is not there: no tasks of its kind") for name in missing(root)),
            *grouped("info", "long", _long(data), "task"),
        ],
        key=lambda finding: _SEVERITIES.index(finding.severity),
    )
    return BuildStatistics(
        n_tasks=len(data) + len(lost),
        n_valid=len(data),
        n_frames=count,
        n_architectures=len(data.architectures),
        types=_counted(one.type or "untyped" for one in builds),
        answers=_counted(str(one.answer) for one in data.tasks["reasoning"]),
        rows=tuple(_rows(data)),
        findings=tuple(findings),
    )


def _rows(data: BuildSet) -> Iterator[TaskKindStatistics]:
    for kind in KINDS:
        usable = data.tasks[kind]
        faults = sum(fault.kind == kind for fault in data.faults)
        if not usable and not faults:
            continue
        tiers = Counter(tier_of(task.difficulty) for task in usable if task.difficulty is not None)
        yield TaskKindStatistics(
            kind=kind,
            tasks=len(usable) + faults,
            published=PUBLISHED[kind],
            usable=len(usable),
            architectures=len({task.architecture for task in usable} - {None}),
            easy=tiers["easy"],
            medium=tiers["medium"],
            hard=tiers["hard"],
            words=spread(len(task.instruction.split()) for task in usable),
            images=spread(len(task.images) + (task.options_image is not None) for task in usable),
        )


def _of_images(data: BuildSet, decode: bool) -> tuple[int, list[Finding]]:
    """How many pictures there are, and those that are shown to agents or critics but cannot be."""
    wanted: dict[str, str] = {}
    for kind in KINDS:
        for task in data.tasks[kind]:
            for name in (*task.images, *([task.options_image] if task.options_image else [])):
                wanted.setdefault(name, task.id)
    wrong: list[tuple[str, str]] = []
    for name, id in wanted.items():
        try:
            image_size(data.root, name)
            if decode:
                read_image(data.root, name)
        except DataError as error:
            wrong.append((id, str(error).replace(f"{data.root}/", "").replace(name, "<picture>")))
    return len(wanted) - len(wrong), list(grouped("error", "a picture cannot be shown", wrong, "task"))


def _odd_builds(builds: Iterable[Architecture]) -> Iterator[tuple[str, str]]:
    for one in builds:
        size, trimmed = one.blueprint.size, one.blueprint.trimmed().size
        factor = difficulty_factor(one.blueprint.blocks, size)
        if one.difficulty is not None and factor is not None and abs(one.difficulty - factor) > 0.051:
            yield one.id, f"states the difficulty factor {one.difficulty}, its blueprint has {factor}"
        if trimmed != size:
            yield one.id, "has air all along a side of its box"
        if one.type is not None and one.type not in TYPES:
            yield one.id, "has a type that is none of the published 22"
        if not all(known(name) for name in one.blueprint.counts()):
            yield one.id, "has materials that the game (1.20.4) does not know; pictures show them as plain cubes"


def _odd_tasks(data: BuildSet, tasks: Iterable[BuildTask]) -> Iterator[tuple[str, str]]:
    for task in tasks:
        truth = data.architectures.get(task.architecture or "")
        if truth is None:
            continue
        offered, used = (list(map(base_name, names)) for names in (task.materials, truth.blueprint.materials))
        if offered != used:
            lacking = set(map(base_name, truth.blueprint.counts())) - set(offered)
            what = "so no answer can be right" if lacking else "in another order or number"
            yield task.id, f"offers other materials than its architecture has, {what}"
        if task.kind in NEEDS_TRUTH and not task.images:
            yield task.id, "has no reference picture"


def _of_answers(data: BuildSet) -> Iterator[Finding]:
    """Answers so uneven that always saying the same one pays."""
    for variant, choices in (("same", 4), ("different", 4), ("judge", 2)):
        answers = Counter(task.answer for task in data.tasks["reasoning"] if task.variant == variant)
        total, (answer, most) = answers.total(), next(iter(answers.most_common(1)), ("", 0))
        if total >= 20 and most > 1.3 * total / choices:
            yield Finding("info", f"{most} of {total} questions of kind '{variant}' have the answer {answer}")


def _long(data: BuildSet) -> Iterator[tuple[str, str]]:
    for task in data.tasks["planning"]:
        words = len(task.instruction.split())
        if task.variant == "detailed" and words > _WORDS_OF_INSTRUCTION:
            yield task.id, f"has {words} words in its instruction; {_WORDS_OF_INSTRUCTION} are meant to be enough"


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
