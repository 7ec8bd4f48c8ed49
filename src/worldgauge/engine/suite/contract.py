"""What a benchmark is made of: tasks, records, scores, tables, and what a report shows of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image
from worldgauge.core.video import Clip
from worldgauge.worlds.blocks.mesh import Mesh

Better = Literal["higher", "lower", "neither"]


@dataclass(frozen=True)
class Task:
    """One question of a suite.

    id: stable, unique in the suite, `/`-separated words of [A-Za-z0-9._-]. sample: plain JSON values,
    enough to perform the task in another process. fingerprint: digest of the data it is made of.
    group: what tables group by, such as {"type": "ABA", "range": 5}. skip: why it is not asked at
    all, None when it is.
    """

    suite: str
    id: str
    sample: Mapping[str, Any]
    fingerprint: str
    group: Mapping[str, Any] = field(default_factory=dict)
    skip: str | None = None


@dataclass(frozen=True)
class Record:
    """All that one subject did on one task. facts: plain JSON values. rollout: file in the record's folder."""

    task: Task
    subject: str
    directory: Path
    facts: Mapping[str, Any] = field(default_factory=dict)
    rollout: str | None = None


@dataclass(frozen=True)
class Score:
    """One number with name, unit and direction.

    value: None when it is missing, with `reason`; infinite values are allowed and stored as such.
    series: per-frame values, (frame index, value or None), for curves; n: frames it is a mean over.
    facts: plain JSON values needed for variants and aggregation.
    """

    task: str
    metric: str
    value: float | None
    unit: str = "1"
    better: Better = "higher"
    n: int = 0
    reason: str | None = None
    series: tuple[tuple[int, float | None], ...] = ()
    group: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.value is None and not self.reason:
            raise UsageError(f"score '{self.metric}' of '{self.task}' has no value and no reason")
        if self.value is not None and math.isnan(self.value):
            raise UsageError(f"score '{self.metric}' of '{self.task}' is NaN; give None and a reason")


@dataclass(frozen=True)
class Failure:
    """A task without scores, because it failed. group: as of its `Task`. error: one line."""

    task: str
    group: Mapping[str, Any]
    error: str


@dataclass(frozen=True)
class Cell:
    """Mean over n trajectories, population std, and a 95% bootstrap interval [low, high]; None where n is 0."""

    mean: float | None
    std: float | None
    n: int
    low: float | None = None
    high: float | None = None
    expected: int | None = None


@dataclass(frozen=True)
class TableRow:
    """One line of a table. kind: who it is, so that nobody takes a reference for a competitor.

    flag: a few words where the row must not be taken at its face, such as "does not move"; shown beside the label, and
    such a row wins nothing.
    """

    label: str
    cells: tuple[Cell, ...]
    kind: Literal["subject", "reference", "published"] = "subject"
    flag: str = ""


@dataclass(frozen=True)
class Table:
    """Rows by columns of one metric. notes: printed under it (smallest resolvable difference, what is left out).

    betters: a direction for each column where the columns are of several metrics, such as a paper's own table; empty
    where all are as `better` says. bars: the table is also drawn, a bar with its interval for each row and column.
    """

    metric: str
    title: str
    unit: str
    better: Better
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...] = ()
    betters: tuple[Better, ...] = ()
    bars: bool = False


@dataclass(frozen=True)
class TaskView:
    """What a report shows of a task.

    truth: the hidden clip, frame k beside frame k of the rollout; a single frame where nobody knows what follows, which
    is shown as the start image. poses: (N, 4, 4) of the whole walk.
    generated_from: index in `poses` of the first frame of `truth`. world: None when it is not known.
    marks: names of places, such as "A", at (x, y) metres of the world frame.
    """

    truth: Clip
    poses: FloatArray
    generated_from: int
    world: WorldFacts | None = None
    marks: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class TaskDetails:
    """What a suite has to show of one task beside its films: plans on the map, and how they were found.

    paths: name of a path, a subject's label or another such as "truth path", -> (n, 2) metres of the world frame of
    `TaskView.poses`. corridor: (m, 3), x, y and radius in metres of circles that a good path stays in. stills: label of
    a subject -> indices of the frames of its rollout that were looked at. diagnostics: label -> {column: plain value}.
    caption: what was asked, in words.
    """

    paths: Mapping[str, FloatArray] = field(default_factory=dict)
    corridor: FloatArray | None = None
    stills: Mapping[str, Sequence[int]] = field(default_factory=dict)
    diagnostics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    caption: str = ""


@dataclass(frozen=True)
class AnswerView:
    """One answer as a gallery shows it. picture: (H, W, 3) uint8, None where there is none. text: what was said, whole.
    verdict: what came of it, in a few words. reasons: why, a line each. solid: what a viewer can turn.
    """

    picture: Image | None = None
    text: str = ""
    verdict: str = ""
    reasons: tuple[str, ...] = ()
    solid: Mesh | None = None


@dataclass(frozen=True)
class AnswerCard:
    """What a report shows of a task that has answers in place of films. asked: the question, in words.

    shown: (caption, (H, W, 3) uint8) of what came with it. plates: of the expected answer, under the name "expected"
    where it can be shown, then of each subject by its label.
    """

    asked: str
    shown: tuple[tuple[str, Image], ...] = ()
    plates: Mapping[str, AnswerView] = field(default_factory=dict)


class TaskContext(Protocol):
    """What the engine lends to a suite while it performs or scores one task."""

    directory: Path
    """The record's own folder: the only place a suite may write."""
    seed: int
    """Of this task, whatever the order of tasks and the number of workers."""

    def progress(self, done: int, total: int) -> None:
        """Called as often as frames come; shows progress and keeps the task alive."""
        ...


def mean_of_known(values: Iterable[float | None]) -> float | None:
    """Mean of the values that exist; None when none does."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
