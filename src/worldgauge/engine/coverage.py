"""What a row does not cover: tasks, frames and parts of the view. Such a row is flagged and wins nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from worldgauge.core.errors import RunError
from worldgauge.core.model import PRIVILEGED, receives_poses
from worldgauge.engine.store import RunFolder, record_entry
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Failure, Score

LEAST_FRAMES = 0.9
"""Share of the requested frames of a task that a model must generate. Otherwise the task counts as missing."""
LEAST_VIEW = 0.9
"""Share of the recorded picture from which a crop still shows the same view."""
View = tuple[float, float] | None
"""Ratio of the centre part of the recorded picture that a row shows; None for all of it."""
PLANNING = "plan"
"""Stage of a task that the data rule out, for every model."""
SKIPPED = "skipped"
_MISSING = {"failed": "failed", SKIPPED: "not applicable", "left": "not queried", "unscored": "not scored"}
_ABSENT, _OTHER_DATA, _NO_VALUE, _FEW_FRAMES = "not queried", "of other data", "without a score", "with too few frames"


@dataclass(frozen=True)
class TaskEnding:
    """How one task of a run ended."""

    task: str
    end: str
    reason: str = ""
    by_data: bool = False  # whether the data rule the task out, for every model


class ComparableRun(Protocol):
    """A run as a row of tables and comparisons."""

    @property
    def label(self) -> str:
        """Its name in tables."""

    @property
    def kind(self) -> str:
        """ "model" or "baseline"."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """The content of its run.json."""

    @property
    def directory(self) -> Path:
        """Its run folder."""

    @property
    def scores(self) -> Sequence[Score]:
        """All its scores."""

    @property
    def outcomes(self) -> Sequence[TaskEnding]:
        """How its tasks ended."""

    @property
    def failed(self) -> Sequence[Failure]:
        """Its failed tasks."""

    @property
    def bridges(self) -> Sequence[Mapping[str, Any]]:
        """Metadata of the frame-rate conversion of its records."""

    @property
    def told(self) -> Sequence[int]:
        """Number of notes of the model in each record."""


@dataclass(frozen=True)
class Coverage:
    """What the rows of a comparison cover.

    Attributes:
        flags: Why rows win nothing, by label. Rows that cover all tasks, with the compared view, have no entry.
        foreign: Tasks of each row whose data are not those of the other rows, although their ids are equal.
    """

    flags: Mapping[str, str]
    views: Mapping[str, View]
    foreign: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, suite: Suite, runs: Sequence[ComparableRun], metric: str) -> Coverage:
        """The coverage of rows that are compared by a metric."""
        foreign = _other_data(runs)
        wanted = _compared_tasks(runs, metric)
        flags = {
            run.label: text
            for run in runs
            if (text := _missing_tasks(run, wanted, metric, foreign.get(run.label, frozenset())))
        }
        views = _views(runs) if suite.scores_pictures else dict.fromkeys(run.label for run in runs)
        shared = _compared_view(suite, runs, views)
        for label, view in views.items():
            if view != shared:
                flags[label] = "; ".join(filter(None, [flags.get(label), f"shows {_in_words(view)}"]))
        return cls(flags, views, foreign)


def _missing_tasks(run: ComparableRun, wanted: Mapping[str, bool], metric: str, foreign: frozenset[str]) -> str:
    """ "9 of 14 tasks missing: 5 failed, 4 not applicable"; empty if all are there."""
    endings = {one.task: one.end for one in run.outcomes}
    valued = {one.task for one in run.scores if one.metric == metric and one.value is not None}
    few = {one["task"] for one in run.bridges if "task" in one and _made_share(one) < LEAST_FRAMES}
    reasons: Counter[str] = Counter()
    for task, needs_value in wanted.items():
        end = endings.get(task)
        if end != "scored":
            reasons[_ABSENT if end is None else _MISSING.get(end, end)] += 1
        elif task in foreign:
            reasons[_OTHER_DATA] += 1
        elif needs_value and task not in valued:
            reasons[_NO_VALUE] += 1
        elif task in few:
            reasons[_FEW_FRAMES] += 1
    if not reasons:
        return ""
    why = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    return f"{reasons.total()} of {len(wanted)} tasks missing: {why}"


def _compared_tasks(runs: Sequence[ComparableRun], metric: str) -> dict[str, bool]:
    """All tasks of a comparison, and whether a row has a value of the metric. Tasks that no row can do are left out."""
    ends: dict[str, list[tuple[str, bool]]] = {}
    for run in runs:
        for one in run.outcomes:
            ends.setdefault(one.task, []).append((one.end, one.by_data or run.kind == "baseline"))
    valued = {score.task for run in runs for score in run.scores if score.metric == metric and score.value is not None}
    impossible = {
        task for task, found in ends.items() if all(end == SKIPPED for end, _ in found) and (SKIPPED, True) in found
    }
    return {task: task in valued for task in ends if task not in impossible}


def _other_data(runs: Sequence[ComparableRun]) -> dict[str, frozenset[str]]:
    """Tasks of each row whose data are not those that most rows have, although their ids are equal."""
    if len({run.facts.get("data_fingerprint") for run in runs}) < 2:
        return {}
    held = {run.label: _fingerprints(run) for run in runs}
    counts: dict[str, Counter[str]] = {}
    for found in held.values():
        for task, fingerprint in found.items():
            counts.setdefault(task, Counter())[fingerprint] += 1
    return {
        label: frozenset(
            task
            for task, one in found.items()
            if len(counts[task]) > 1 and counts[task][one] * 2 <= counts[task].total()
        )
        for label, found in held.items()
    }


def _fingerprints(run: ComparableRun) -> dict[str, str]:
    """Fingerprint of the data of each task that has a record."""
    folder, found = RunFolder(run.directory), {}
    for one in run.outcomes:
        if one.end in ("scored", "unscored"):
            with suppress(RunError):
                found[one.task] = str(record_entry(folder.record(one.task))["fingerprint"])
    return found


def _made_share(bridge: Mapping[str, Any]) -> float:
    asked = max(1, int(bridge["frames_asked"]))
    return (asked - int(bridge["never_imagined"])) / asked


def _views(runs: Sequence[ComparableRun]) -> dict[str, View]:
    """The view of each row. A crop that leaves out little of the recorded picture shows all of it."""
    crops = {run.label: _model(run).get("crop") for run in runs}
    sizes = (_size(run) for run in runs if not crops[run.label]) if any(crops.values()) else ()
    recorded = next(filter(None, sizes), None)
    views: dict[str, View] = dict.fromkeys(crops)
    for label, crop in crops.items():
        if crop and recorded is not None:
            share = crop[0] * recorded[1] / (crop[1] * recorded[0])
            views[label] = None if min(share, 1 / share) >= LEAST_VIEW else (crop[0], crop[1])
    return views


def _compared_view(suite: Suite, runs: Sequence[ComparableRun], views: Mapping[str, View]) -> View:
    """The view that a comparison is made in: that of the models, if they share it with all floors; else all."""
    shown = {views[run.label] for run in runs if run.kind == "model"}
    if len(shown) != 1:
        return None
    (view,) = shown
    beside = {_model(run).get("source") for run in runs if run.kind == "baseline" and views[run.label] == view}
    return view if beside and beside >= set(suite.floor_baselines) else None


def part_marks(model: Mapping[str, Any]) -> tuple[str, ...]:
    """What a row shows only in part, got besides frames, or could read, as its marks."""
    identity = model.get("identity", {})
    crop, fps, inputs = identity.get("crop"), identity.get("fps"), model.get("inputs", ())
    posed = not PRIVILEGED & set(inputs) and receives_poses(str(model.get("control")), inputs)
    return (
        *(["given poses"] if posed else []),
        *(["no sandbox"] if model.get("unsandboxed") else []),
        *([f"view {crop[0]:g}:{crop[1]:g}"] if crop else []),
        *([f"{fps:g} frames/s"] if fps else []),
    )


def _in_words(view: View) -> str:
    return "the whole view" if view is None else f"the middle {view[0]:g}:{view[1]:g} of the view only"


def _model(run: ComparableRun) -> Mapping[str, Any]:
    found = run.facts["model"].get("identity", {})
    return found if isinstance(found, Mapping) else {}


def _size(run: ComparableRun) -> tuple[int, int] | None:
    """Size of the recorded picture, from a row that shows it as it is."""
    if _model(run).get("frame_size"):
        return None
    folder = RunFolder(run.directory)
    for one in run.outcomes:
        if one.end == "scored":
            with suppress(RunError):
                size = record_entry(folder.record(one.task))["facts"].get("resolution")
                return (int(size[0]), int(size[1])) if size else None
    return None
