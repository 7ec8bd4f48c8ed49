"""Tables: success by task and the gain over no world model, each task as in the paper, and what lies behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from worldgauge.core.paired_tests import holm, paired_difference
from worldgauge.engine.suite.contract import Cell, Failure, Score, Table, TableRow
from worldgauge.engine.suite.scores import (
    ModelScores,
    cluster_of_score,
    clusters_by_task,
    detectable_note,
    make_cell,
    metric_facts,
    sort_rows,
)
from worldgauge.suites.worldinworld.scoring import HEADLINE, NOTHING_IMAGINED
from worldgauge.suites.worldinworld.task import ClosedLoopTask, closed_loop_tasks, task_names

BASE = "none"
"""The model that stands for no world model: same proposer and reviser, nothing generated."""
IMAGINED = {"controllability_psnr": "PSNR (dB)", "controllability_ssim": "SSIM", "visual_quality": "visual quality"}
LEARNED = {"controllability_lpips": "1 - LPIPS", "aesthetic": "aesthetic", "imaging": "imaging"}
"""Columns beside those where a network has looked."""
ALL = "all"


def summarize(
    scores: Mapping[str, Sequence[Score]], kinds: Mapping[str, str], failed: Mapping[str, Sequence[Failure]]
) -> list[Table]:
    """All tables, success by task first."""
    entries = [_Entry(name, kinds[name], own, failed.get(name, ()), headline=HEADLINE) for name, own in scores.items()]
    tasks = [task for task in task_names() if any(entry.expected(task) for entry in entries)]
    if not tasks:
        return []
    columns = {task: {"task": task} for task in tasks} | ({ALL: {}} if len(tasks) > 1 else {})
    tables = [by_task(entries, tasks)]
    tables += _gain_by(entries, columns, "gain", "Gain over no world model, the same episodes")
    tables += [_as_in_paper(entries, task) for task in tasks]
    tables += [table for task in tasks for key in _kind(task).parts for table in _by_part(entries, task, key)]
    tables += [table for task in tasks for key in _kind(task).gain_parts for table in _gain_by_part(entries, task, key)]
    tables += [_imagined(entries), *(_regret(entries, task) for task in tasks), _cost(entries), _ends(entries)]
    return tables


class _Entry(ModelScores):
    """One model of this suite."""

    def is_rate(self, metric: str, task: str | None) -> bool:
        """See `ModelScores`."""
        rates = [one for one in task_names() if _kind(one).is_rate]
        return metric in [f"{one}/success" for one in rates] or (metric == HEADLINE and task in rates)

    def row(self, cells: Iterable[Cell]) -> TableRow:
        """Its row in a table."""
        return TableRow(self.label, tuple(cells), self.kind)


def _kind(task: str) -> type[ClosedLoopTask[Any, Any, Any]]:
    return closed_loop_tasks.get(task)


def by_task(entries: Sequence[_Entry], tasks: Sequence[str]) -> Table:
    """Success by task, and over all where there are several."""
    columns = [*tasks, ALL] if len(tasks) > 1 else list(tasks)
    rows = []
    for entry in entries:
        unasked = [task for task in tasks if not entry.expected(task)]
        cells = [entry.cell(HEADLINE, task) for task in tasks]
        if len(tasks) > 1:
            # A mean over some of the tasks is not to be ranked beside means over all.
            cells.append(Cell(None, None, 0) if unasked else entry.cell(HEADLINE))
        rows.append(entry.row(cells))
    ways = {
        f"{name.replace('_', ' ')} {score.facts[name]}"
        for entry in entries
        for score in entry.of(HEADLINE)
        for name in _kind(str(score.group["task"])).noted_settings
        if name in score.facts
    }
    people = [entry.label for entry in entries if any("who" in score.facts for score in entry.of(HEADLINE))]
    notes = [
        "Success in percent: 0 or 100 per episode; for questions the answer score from 0 to 100. "
        "Intervals of rates are Wilson's, with the effective number of independent episodes.",
        *([", ".join(sorted(ways)).capitalize() + "."] if ways else []),
        *([f"A person proposed the plans of {', '.join(people)}."] if people else []),
    ]
    if len(entries) > 1:
        values = {entry.label: {score.task: score.value for score in entry.of(HEADLINE)} for entry in entries}
        clusters = clusters_by_task({entry.label: entry.of(HEADLINE) for entry in entries})
        kinds = {entry.label: entry.kind for entry in entries}
        notes.append(detectable_note(values, kinds, "episodes", clusters, (0.0, 100.0)))
    ordered = tuple(sort_rows(rows, "higher"))
    return Table(HEADLINE, "Task success", "%", "higher", tuple(columns), ordered, tuple(notes), bars=True)


def _gain_by(
    entries: Sequence[_Entry], columns: Mapping[str, Mapping[str, str]], name: str, title: str
) -> Iterator[Table]:
    """Paired differences, a column for the episodes of each group; none without the base or anything beside it."""
    base = next((entry for entry in entries if entry.label == BASE), None)
    others = [entry for entry in entries if entry.label != BASE]
    if base is None or not others:
        return
    clusters = clusters_by_task({entry.label: entry.of(HEADLINE) for entry in entries})
    rows, found = [], {}
    for entry in others:
        cells = []
        for column, group in columns.items():
            ours, theirs = (
                {s.task: s.value for s in one.of(HEADLINE) if group.items() <= s.group.items()} for one in (entry, base)
            )
            gain = paired_difference(ours, theirs, cluster=clusters)
            low, high = (None, None) if gain.interval is None else np.clip(gain.interval, -100.0, 100.0).tolist()
            expected = entry.expected(group["task"]) if list(group) == ["task"] else None
            cells.append(Cell(gain.mean, None, gain.n, low, high, expected, gain.clusters))
            found[entry.label, column] = gain.p
        rows.append(entry.row(cells))
    corrected = dict(zip(found, holm(list(found.values())), strict=True))
    p_values = []
    for entry in others:
        own = [corrected[entry.label, column] for column in columns]
        texts = ["none" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}" for p in own]
        p_values.append(f"{entry.label} {', '.join(texts)}")
    note = (
        "Paired differences; homes and tables are clusters. p of Student's paired test, corrected for all cells "
        f"(Holm), of {', '.join(columns)}: {'; '.join(p_values)}."
    )
    ordered = tuple(sort_rows(rows, "higher"))
    yield Table(name, title, "points", "higher", tuple(columns), ordered, (note,), bars=True)


def _as_in_paper(entries: Sequence[_Entry], task: str) -> Table:
    columns = _kind(task).columns
    asked = [entry for entry in entries if entry.expected(task)]
    rows = [entry.row(entry.cell(metric, task) for metric in columns) for entry in asked]
    return Table(
        next(iter(columns)),
        f"{task.capitalize()}: the paper's columns",
        "1",
        "higher",
        tuple(columns.values()),
        tuple(sort_rows(rows, "higher", 0)),
        tuple(_flags_note(entries, task)),
        betters=tuple(metric_facts(metric)[1] for metric in columns),
    )


def _flags_note(entries: Sequence[_Entry], task: str) -> Iterator[str]:
    """How often an edge case was met, by model: each has a defined outcome and is counted."""
    for entry in entries:
        met = {
            (score.task, flag)
            for metric in (HEADLINE, *_kind(task).columns)
            for score in entry.of(metric, task)
            for flag in score.facts.get("flags", ())
        }
        counts = Counter(flag.replace("_", " ") for _, flag in met)
        if counts:
            yield f"{entry.label}: " + ", ".join(f"{count} x {flag}" for flag, count in sorted(counts.items())) + "."


def _by_part(entries: Sequence[_Entry], task: str, key: str) -> Iterator[Table]:
    """The success of one task by a key of its group."""
    found = {str(s.group[key]) for e in entries for s in e.of(HEADLINE, task) if key in s.group}
    order = _kind(task).parts[key]
    names = sorted(found, key=lambda name: (order.index(name) if name in order else -1, name))
    if len(names) < 2:
        return
    rows = [entry.row(entry.cell(HEADLINE, task, **{key: name}) for name in names) for entry in entries]
    title = f"{task.capitalize()} by {key.replace('_', ' ')}"
    yield Table(f"{task}/by_{key}", title, "%", "higher", tuple(names), tuple(sort_rows(rows, "higher", 0)))


def _gain_by_part(entries: Sequence[_Entry], task: str, key: str) -> Iterator[Table]:
    """Paired differences in one task by a key of its group."""
    names = sorted({str(s.group[key]) for e in entries for s in e.of(HEADLINE, task) if key in s.group})
    if len(names) < 2:
        return
    columns = {name: {"task": task, key: name} for name in names}
    title = f"{task.capitalize()}: gain over no world model by {_kind(task).gain_parts[key]}"
    yield from _gain_by(entries, columns, f"{task}/gain", title)


def _imagined(entries: Sequence[_Entry]) -> Table:
    """Success beside how well what was imagined agrees with the simulator, and how it looks."""
    looked = {metric for entry in entries for metric in LEARNED for one in entry.of(metric) if one.value is not None}
    columns = IMAGINED | {metric: title for metric, title in LEARNED.items() if metric in looked}
    rows = [entry.row(entry.cell(metric) for metric in (HEADLINE, *columns)) for entry in entries]
    return Table(
        "imagination",
        "Imagined frames: success, controllability and visual quality",
        "1",
        "higher",
        ("success, %", *columns.values()),
        tuple(sort_rows(rows, "higher", 0)),
        (
            "Controllability: agreement of imagined frames with those of the simulator replaying the same plan, for "
            "the first candidate at decisions 0, 1, 2, 4, 8, ..., over frames that the model generated. Equal frames "
            "have infinite PSNR and are left out of its mean. Visual quality needs no ground truth (metric Q of Zhu "
            "and Milanfar).",
            *_not_looked(entries),
        ),
        betters=("higher", *(metric_facts(metric)[1] for metric in columns)),
    )


def _not_looked(entries: Sequence[_Entry]) -> list[str]:
    """Learned metrics that no episode has, and why."""
    notes = []
    for metric, title in LEARNED.items():
        scores = [one for entry in entries for one in entry.of(metric)]
        if scores and all(one.value is None for one in scores):
            reasons = sorted({one.reason or "" for one in scores} - {NOTHING_IMAGINED})
            notes.append(f"No {title}: {'; '.join(reasons)}." if reasons else f"No {title}: {NOTHING_IMAGINED}.")
    return notes


def _regret(entries: Sequence[_Entry], task: str) -> Table:
    rows = [entry.row([entry.cell("decision_regret", task)]) for entry in entries if entry.expected(task)]
    return Table(
        f"decision_regret/{task}",
        f"Decision regret, {task}: {_kind(task).regret_unit}",
        "1",
        "lower",
        ("best candidate minus chosen one",),
        tuple(sort_rows(rows, "lower", 0)),
        (
            "Result of the best candidate in the simulator minus that of the chosen one. 0 is a perfect choice. With "
            "the oracle as world model it is the error of the reviser; the rest is the error of the model.",
        ),
    )


def _cost(entries: Sequence[_Entry]) -> Table:
    """What an episode took."""
    fields = {
        "decisions": "decisions",
        "candidates": "plans",
        "model_calls": "rollouts",
        "fallbacks": "fallbacks",
        "queries": "queries to a language model",
        "tokens": "tokens",
    }
    rows = []
    for entry in entries:
        calls = entry.of("model_calls")
        own = {name: [score.facts.get(name) for score in calls] for name in fields}
        own["model_calls"] = [score.value for score in calls]
        clusters, expected = [cluster_of_score(score) for score in calls], len(calls) + entry.lost()
        rows.append(entry.row(make_cell(own[name], (0.0, np.inf), expected, clusters=clusters) for name in fields))
    return Table(
        "cost",
        "Cost per episode",
        "1",
        "neither",
        tuple(fields.values()),
        tuple(rows),
        (
            "Plans without repetitions. Fallbacks: decisions without a proposed plan, or with an unreadable reply of a "
            "language model. The journal of each run has the seconds.",
        ),
        betters=tuple("neither" for _ in fields),
    )


def _ends(entries: Sequence[_Entry]) -> Table:
    """What became of the episodes."""
    counts = [
        Counter(str(score.facts.get("end")) for score in entry.of(HEADLINE)) + Counter({"failed": entry.lost()})
        for entry in entries
    ]
    columns = sorted({end for own in counts for end in own}, key=lambda end: (end == "failed", end))
    rows = []
    for entry, own in zip(entries, counts, strict=True):
        cells = tuple(Cell(float(own[end]), None, own.total()) for end in columns)
        rows.append(TableRow(entry.label, cells, entry.kind))
    return Table("end", "Episodes by outcome", "tasks", "neither", tuple(columns), tuple(rows))
