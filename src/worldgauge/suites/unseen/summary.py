"""Tables: the share of tasks in which the thing has gone on, by process and by time away, and all outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from worldgauge.core.intervals import rate_interval
from worldgauge.engine.suite.contract import Cell, Failure, Score, Table, TableRow, TaskDetails
from worldgauge.engine.suite.scores import (
    ModelScores,
    cluster_of_score,
    clusters_by_task,
    detectable_note,
    missing_notes,
    sort_rows,
)
from worldgauge.suites.unseen.metrics import OUTCOMES
from worldgauge.suites.unseen.worlds import PROCESSES

HEADLINE = "advanced"
_NOTE = "Percent of all episodes, with Wilson's interval for homes as clusters."


def summarize(
    scores: Mapping[str, Sequence[Score]], kinds: Mapping[str, str], failed: Mapping[str, Sequence[Failure]]
) -> list[Table]:
    """All tables, the headline first."""
    models = [
        _Model(label, kinds[label], own, failed.get(label, ()), headline=HEADLINE) for label, own in scores.items()
    ]
    found = [score for model in models for score in model.of(HEADLINE)]
    things: list[str] = [one for one in PROCESSES if any(score.group["task"] == one for score in found)]
    times = sorted({score.group["away"] for score in found}, key=lambda one: int(one.split()[0]))
    values = {model.label: {score.task: score.value for score in model.of(HEADLINE)} for model in models}
    clusters = clusters_by_task({model.label: model.of(HEADLINE) for model in models})
    notes = [_NOTE, *missing_notes(found)]
    if len(models) > 1:
        notes.append(detectable_note(values, kinds, "episodes", clusters, (0.0, 100.0)))
    columns = [*things, "all"] if len(things) > 1 else things
    rows = [[model.cell(HEADLINE, None if one == "all" else one) for one in columns] for model in models]
    tables = [_table(models, HEADLINE, "Share of things that went on", columns, rows, notes)]
    rows = [[model.outcome(one) for one in OUTCOMES] for model in models]
    outcomes = _table(models, "outcomes", "Outcomes", OUTCOMES, rows, [_NOTE], column=0)
    tables.append(replace(outcomes, betters=("higher", "neither", "neither", "neither")))
    if len(times) > 1:
        rows = [[model.cell(HEADLINE, away=one) for one in times] for model in models]
        title = "Share of things that went on, by time away"
        tables.append(_table(models, "by_time_away", title, tuple(times), rows, [_NOTE], column=0))
    rows = [[model.cell(name) for name in ("progress", "returned_detail", "psnr")] for model in models]
    note = (
        "Progress: 0 as it was left, 1 where its law takes it, over carts and levels that can be read. "
        "Detail: correlation of the fine detail of what does not move; a low one says that the room was lost, too."
    )
    beside = _table(
        models, "progress", "Beside it", ("progress", "detail of the room", "PSNR (dB)"), rows, [note], column=1
    )
    return [*tables, replace(beside, unit="1", better="neither", betters=("neither", "higher", "higher"))]


class _Model(ModelScores):
    """One model of this suite."""

    def is_rate(self, metric: str, task: str | None) -> bool:
        """See `ModelScores`."""
        return metric == HEADLINE

    def outcome(self, name: str) -> Cell:
        """Share of the episodes with an outcome."""
        own = [score for score in self.of(HEADLINE) if score.value is not None]
        ended = [score.facts["outcome"] == name for score in own]
        interval = rate_interval(ended, map(cluster_of_score, own))
        if interval is None:
            return Cell(None, None, 0)
        cell = self.cell(HEADLINE)
        mean = 100 * sum(ended) / len(ended)
        return replace(cell, mean=mean, std=None, low=100 * interval.low, high=100 * interval.high, method="wilson")


def _table(
    models: Sequence[_Model],
    name: str,
    title: str,
    columns: Sequence[str],
    cells: Sequence[Sequence[Cell]],
    notes: Sequence[str],
    column: int = -1,
) -> Table:
    rows = [TableRow(model.label, tuple(own), model.kind) for model, own in zip(models, cells, strict=True)]
    ordered = tuple(sort_rows(rows, "higher", column))
    return Table(name, title, "%", "higher", tuple(columns), ordered, tuple(notes), bars=name == HEADLINE)


def task_details(scores: Mapping[str, Sequence[Score]], caption: str) -> TaskDetails:
    """What each model shows at the end of an episode."""
    found = {label: next((one for one in own if one.metric == HEADLINE), None) for label, own in scores.items()}
    rows = {
        label: {"outcome": one.facts["outcome"], "progress": one.facts["progress"], "fit": round(one.facts["fit"], 3)}
        for label, one in found.items()
        if one is not None and one.value is not None
    }
    return TaskDetails(diagnostics=rows, caption=caption)
