"""Tables: mean over trajectories by type and range, as the paper aggregates, with n and intervals."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import islice

from worldgauge.engine.suite import drift, returned
from worldgauge.engine.suite.contract import Cell, Score, Table, TableRow
from worldgauge.engine.suite.scores import (
    by_metric,
    clusters_by_task,
    detectable_note,
    missing_notes,
    row_kind,
    score_cells,
    sort_rows,
)
from worldgauge.metrics._registry import metric_bounds
from worldgauge.suites.loopnav.scoring import SET_LEVEL, fvd_cell

TITLES = {
    "sgcs_chance_corrected": "SGCS above chance",
    "sgcs": "SGCS (Scene Graph Consistency Score) of the paper",
    "sgcs_objects": "SGCS of objects only",
    "sgcs_macro": "SGCS, every category alike",
    "sgcs_informative": "SGCS, informative frames weighted",
    "sgcs_relations": "Relations between objects",
    "sgcs_drift_tolerant": "SGCS, best of neighbouring frames",
    "sgcs_seen": "SGCS of places seen before",
    "sgcs_unseen": "SGCS of places not seen before",
    **returned.TITLES,
    "loop_closure": "Loop closure against the look-around",
    "coverage": "Share of the way back seen before",
    "segmenter_accuracy": "Segmenter: share of pixels right on the recording",
    "ssim_table": "SSIM (Gaussian 11x11, RGB), at the model's own size",
    "ssim_320x180": "SSIM at 320x180",
    "psnr": "PSNR, at the model's own size",
    "mse": "Mean squared error, at the model's own size",
    "detail": "Detail (correlation of what is finer than 1.5 px), at the model's own size",
    "sharpness": "Sharpness (variance of the Laplacian), at the model's own size",
    **drift.TITLES,
    "lpips": "LPIPS, at the model's own size",
    "lpips_320x180": "LPIPS at 320x180",
    "fvd_pair": "FVD per pair",
    "fvd": "FVD",
}
"""Every metric in the order of the report, headline first."""

OVER_TIME = (
    *("sgcs_chance_corrected", "sgcs", "ssim_320x180", "mse", "detail", "lpips_320x180", "sharpness"),
    *drift.TITLES,
)
"""Metrics that also have a table by time after the way out."""

_PUBLISHED_NAMES = {"SGCS": "sgcs", "SSIM": "ssim_table", "LPIPS": "lpips", "FVD": "fvd_pair"}


def summarize(scores: Mapping[str, Sequence[Score]], kinds: Mapping[str, str]) -> list[Table]:
    """One table per metric, by type and range."""
    columns = sorted({_column(score) for own in scores.values() for score in own})
    sorted_out = {model: by_metric(own) for model, own in scores.items()}
    occurring = {metric for theirs in sorted_out.values() for metric in theirs}
    tables = []
    for metric in (name for name in TITLES if name in occurring):
        mine = {model: theirs.get(metric, []) for model, theirs in sorted_out.items()}
        tables.append(_table(metric, mine, kinds, columns))
        if metric in returned.TITLES:
            tables += filter(None, [returned.curve_table(metric, TITLES[metric], mine, kinds)])
    over_time = {metric: TITLES[metric] for metric in OVER_TIME if metric in occurring}
    return [*tables, *drift.time_tables(over_time, scores, kinds)]


def published() -> list[Table]:
    """Table 1 of the paper, one table per metric. It is about other data, so cells are never compared."""
    data = json.loads((files(__package__) / "published.json").read_text("utf-8"))
    rows = data["rows"]
    columns = sorted({(row["type"], row["range"]) for row in rows})
    tables = []
    for name, metric in _PUBLISHED_NAMES.items():
        cells = {(r["model"], r["type"], r["range"]): r for r in rows if r["metric"] == name}
        printed: list[TableRow] = []
        for model in dict.fromkeys(model for model, _, _ in cells):
            found = [cells[model, *column] for column in columns]
            printed.append(TableRow(model, tuple(Cell(row["mean"], row["std"], 18) for row in found), "published"))
        tables.append(
            Table(
                metric=metric,
                title=f"{name} as published",
                unit="1",
                better="higher" if name in ("SGCS", "SSIM") else "lower",
                columns=tuple(f"{kind} {radius}" for kind, radius in columns),
                rows=tuple(printed),
                notes=(f"{data['source']}. {data['note']}",),
            )
        )
    return tables


def _table(
    metric: str, mine: Mapping[str, Sequence[Score]], kinds: Mapping[str, str], columns: list[tuple[str, int]]
) -> Table:
    first = next(score for own in mine.values() for score in own)
    groups: list[Sequence[Score]] = []
    for own in mine.values():
        by_column: dict[tuple[str, int], list[Score]] = {column: [] for column in columns}
        for score in own:
            by_column[_column(score)].append(score)
        groups += [*by_column.values(), own]
    # FVD is one number of a set of videos; of the others, missing scores are counted, not zero.
    cells = iter(map(fvd_cell, groups) if metric == "fvd" else score_cells(groups, metric_bounds(metric)))
    rows = [TableRow(model, tuple(islice(cells, len(columns) + 1)), row_kind(kinds[model])) for model in mine]
    return Table(
        metric=metric,
        title=TITLES[metric],
        unit=first.unit,
        better=first.better,
        columns=(*(f"{kind} {radius}" for kind, radius in columns), "all"),
        rows=tuple(sort_rows(rows, first.better)),
        notes=tuple(_notes(metric, mine, kinds)),
    )


def _notes(metric: str, mine: Mapping[str, Sequence[Score]], kinds: Mapping[str, str]) -> Iterator[str]:
    scores = [score for own in mine.values() for score in own]
    if any(score.facts.get("alignment") == "start" for score in scores):
        yield "alignment=start: compared with the first frames of the ground truth, as the release does by mistake."
    if any(score.facts.get("segmenter_fits") is False for score in scores):
        yield "Segmenters by colour fit only the embedded worlds. On these videos their labels are unreliable."
    if any(score.reason == SET_LEVEL for score in scores):
        yield (
            "FVD of few videos is biased upwards: compare cells of equal n only. Intervals are of the jackknife over "
            "villages; a cell takes two videos, an interval three villages."
        )
    yield from missing_notes(score for score in scores if score.reason != SET_LEVEL)
    if len(mine) > 1 and any(score.value is not None for score in scores):
        values = {name: {s.task: s.value for s in own} for name, own in mine.items()}
        yield detectable_note(values, kinds, "trajectories", clusters_by_task(mine), metric_bounds(metric))


def _column(score: Score) -> tuple[str, int]:
    return str(score.group["type"]), int(score.group["range"])
