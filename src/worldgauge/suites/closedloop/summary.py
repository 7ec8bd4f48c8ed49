"""Tables: success by task and the gain over no world model, each task as in the paper, and what lies behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from worldgauge.core.paired import holm, paired_difference
from worldgauge.engine.suite.contract import Cell, Failure, Score, Table, TableRow
from worldgauge.engine.suite.scores import (
    SubjectScores,
    cluster_of_score,
    clusters_by_task,
    detectable_note,
    make_cell,
    metric_facts,
    sort_rows,
)
from worldgauge.suites.closedloop.scoring import HEADLINE, NOTHING_IMAGINED
from worldgauge.suites.closedloop.task import ClosedLoopTask, closed_loop_tasks, task_names

BASE = "none"
"""The subject that stands for no world model: same proposer and reviser, nothing imagined."""
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
    tables = [by_task(entries, tasks)]
    gain = _gain(entries, tasks)
    if gain is not None:
        tables.append(gain)
    tables += [_as_in_paper(entries, task) for task in tasks]
    tables += [table for task in tasks for key in _kind(task).parts for table in _by_part(entries, task, key)]
    tables += [table for task in tasks for key in _kind(task).gain_parts for table in _gain_by_part(entries, task, key)]
    tables += [_imagined(entries), *(_regret(entries, task) for task in tasks), _cost(entries), _ends(entries)]
    return tables


class _Entry(SubjectScores):
    """One subject of this suite."""

    def is_rate(self, metric: str, task: str | None) -> bool:
        """See `SubjectScores`."""
        rates = [one for one in task_names() if _kind(one).is_rate]
        return metric in [f"{one}/success" for one in rates] or (metric == HEADLINE and task in rates)

    def flag(self, task: str | None = None) -> str:
        """Why its row wins nothing: a rate over part of the list is no rate of the list."""
        lost = self.lost(task)
        total = len(self.of(HEADLINE, task)) + lost
        return f"{lost} of {total} episodes failed" if lost else ""


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
        flag = entry.flag() or (f"not asked of {', '.join(unasked)}" if unasked else "")
        rows.append(TableRow(entry.label, tuple(cells), entry.kind, flag))
    ways = {
        f"{name.replace('_', ' ')} {score.facts[name]}"
        for entry in entries
        for score in entry.of(HEADLINE)
        for name in _kind(str(score.group["task"])).noted_settings
        if name in score.facts
    }
    people = [entry.label for entry in entries if any("who" in score.facts for score in entry.of(HEADLINE))]
    notes = [
        "Success in percent: 0 or 100 an episode, of questions the answer score of 0 to 100. "
        "Intervals of rates are Wilson's, for as many episodes as homes and tables make independent.",
        *([", ".join(sorted(ways)).capitalize() + "."] if ways else []),
        *([f"A person proposed the plans of {', '.join(people)}."] if people else []),
    ]
    if len(entries) > 1:
        values = {entry.label: {score.task: score.value for score in entry.of(HEADLINE)} for entry in entries}
        clusters = clusters_by_task({entry.label: entry.of(HEADLINE) for entry in entries})
        kinds = {entry.label: entry.kind for entry in entries}
        notes.append(detectable_note(values, kinds, "episodes", clusters, (0.0, 100.0)))
    return Table(
        HEADLINE,
        "Task success",
        "%",
        "higher",
        tuple(columns),
        tuple(sort_rows(rows, "higher")),
        tuple(notes),
        bars=True,
    )


def _gain(entries: Sequence[_Entry], tasks: Sequence[str]) -> Table | None:
    """Paired differences from the same episodes without a world model, by task."""
    columns = {task: {"task": task} for task in tasks}
    if len(tasks) > 1:
        columns[ALL] = {}
    return _gain_by(entries, columns, "gain", "Gain over no world model, the same episodes")


def _gain_by(
    entries: Sequence[_Entry], columns: Mapping[str, Mapping[str, str]], name: str, title: str
) -> Table | None:
    """Paired differences, a column for the episodes of each group; None without the base or anything beside it."""
    base = next((entry for entry in entries if entry.label == BASE), None)
    others = [entry for entry in entries if entry.label != BASE]
    if base is None or not others:
        return None
    clusters = clusters_by_task({entry.label: entry.of(HEADLINE) for entry in entries})
    rows, found = [], {}
    for entry in others:
        cells = []
        for column, group in columns.items():
            ours, theirs = ({s.task: s.value for s in _grouped(one, group)} for one in (entry, base))
            told = paired_difference(ours, theirs, cluster=clusters)
            low, high = (None, None) if told.interval is None else np.clip(told.interval, -100.0, 100.0).tolist()
            expected = entry.expected(group["task"]) if list(group) == ["task"] else None
            cells.append(Cell(told.mean, None, told.n, low, high, expected, told.clusters))
            found[entry.label, column] = told.p
        rows.append(TableRow(entry.label, tuple(cells), entry.kind, entry.flag()))
    corrected = dict(zip(found, holm(list(found.values())), strict=True))
    return Table(
        name,
        title,
        "points",
        "higher",
        tuple(columns),
        tuple(sort_rows(rows, "higher")),
        (
            "Paired differences; homes and tables are clusters. p of Student's paired test, corrected for all cells "
            "(Holm), of "
            + f"{', '.join(columns)}: "
            + "; ".join(
                _said(label, tuple(columns), corrected) for label in dict.fromkeys(label for label, _ in corrected)
            )
            + ".",
        ),
        bars=True,
    )


def _grouped(entry: _Entry, group: Mapping[str, str]) -> list[Score]:
    """Headline scores of the episodes of a group."""
    return [one for one in entry.of(HEADLINE) if all(one.group.get(key) == value for key, value in group.items())]


def _said(label: str, columns: Sequence[str], p_values: Mapping[tuple[str, str], float | None]) -> str:
    told = [p_values[label, column] for column in columns]
    said = ["none" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}" for p in told]
    return f"{label} " + ", ".join(said)


def _as_in_paper(entries: Sequence[_Entry], task: str) -> Table:
    columns = _kind(task).columns
    rows = [
        TableRow(entry.label, tuple(entry.cell(metric, task) for metric in columns), entry.kind, entry.flag(task))
        for entry in entries
        if entry.expected(task)
    ]
    first = next(iter(columns))
    return Table(
        first,
        f"{task.capitalize()}: the paper's columns",
        "1",
        "higher",
        tuple(columns.values()),
        tuple(sort_rows(rows, "higher", 0)),
        tuple(_flags_note(entries, task)),
        betters=tuple(metric_facts(metric)[1] for metric in columns),
    )


def _flags_note(entries: Sequence[_Entry], task: str) -> Iterator[str]:
    """How often an edge case was met, by subject: each has a defined outcome and is counted."""
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
    rows = [
        TableRow(
            entry.label,
            tuple(entry.cell(HEADLINE, task, **{key: name}) for name in names),
            entry.kind,
            entry.flag(task),
        )
        for entry in entries
    ]
    title = f"{task.capitalize()} by {key.replace('_', ' ')}"
    yield Table(f"{task}/by_{key}", title, "%", "higher", tuple(names), tuple(sort_rows(rows, "higher", 0)))


def _gain_by_part(entries: Sequence[_Entry], task: str, key: str) -> Iterator[Table]:
    """Paired differences in one task by a key of its group."""
    names = sorted({str(s.group[key]) for e in entries for s in e.of(HEADLINE, task) if key in s.group})
    if len(names) < 2:
        return
    columns = {name: {"task": task, key: name} for name in names}
    title = f"{task.capitalize()}: gain over no world model by {_kind(task).gain_parts[key]}"
    table = _gain_by(entries, columns, f"{task}/gain", title)
    if table is not None:
        yield table


def _imagined(entries: Sequence[_Entry]) -> Table:
    """Success beside how well what was imagined agrees with the simulator, and how it looks."""
    looked = {metric for entry in entries for metric in LEARNED for one in entry.of(metric) if one.value is not None}
    columns = IMAGINED | {metric: title for metric, title in LEARNED.items() if metric in looked}
    rows = [
        TableRow(entry.label, tuple(entry.cell(metric) for metric in (HEADLINE, *columns)), entry.kind, entry.flag())
        for entry in entries
    ]
    return Table(
        "imagination",
        "What was imagined: success against controllability and visual quality",
        "1",
        "higher",
        ("success, %", *columns.values()),
        tuple(sort_rows(rows, "higher", 0)),
        (
            "Controllability: agreement of imagined frames with those of the simulator replaying the same plan; of the "
            "first candidate at decisions 0, 1, 2, 4, 8, ..., frames that the model drew itself. Equal frames have "
            "infinite PSNR and leave its mean. Visual quality needs no reference (metric Q of Zhu and Milanfar).",
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
    rows = [
        TableRow(entry.label, (entry.cell("decision_regret", task),), entry.kind, entry.flag(task))
        for entry in entries
        if entry.expected(task)
    ]
    return Table(
        f"decision_regret/{task}",
        f"Decision regret, {task}: {_kind(task).regret_unit}",
        "1",
        "lower",
        ("best candidate less chosen one",),
        tuple(sort_rows(rows, "lower", 0)),
        (
            "What the simulator says that the best candidate would have come to, less the chosen one; 0 is a perfect "
            "choice. With the oracle as world model it is the reviser's own error; what is more is the model's.",
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
        cells = tuple(make_cell(own[name], (0.0, np.inf), expected, clusters=clusters) for name in fields)
        rows.append(TableRow(entry.label, cells, entry.kind, entry.flag()))
    return Table(
        "cost",
        "What an episode took",
        "1",
        "neither",
        tuple(fields.values()),
        tuple(rows),
        (
            "Plans without repetitions. Fallbacks: decisions for which no plan was proposed, or a language model gave "
            "no reply that could be read. Seconds stand in the journal of each run.",
        ),
        betters=tuple("neither" for _ in fields),
    )


def _ends(entries: Sequence[_Entry]) -> Table:
    """What became of the episodes."""
    counts = {
        entry.label: Counter(str(score.facts.get("end")) for score in entry.of(HEADLINE))
        + Counter({"failed": entry.lost()})
        for entry in entries
    }
    columns = sorted({end for own in counts.values() for end in own}, key=lambda end: (end == "failed", end))
    rows = [
        TableRow(
            entry.label,
            tuple(Cell(float(counts[entry.label][end]), None, counts[entry.label].total()) for end in columns),
            entry.kind,
        )
        for entry in entries
    ]
    return Table("end", "How the episodes ended", "tasks", "neither", tuple(columns), tuple(rows))
