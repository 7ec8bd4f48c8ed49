"""Results of a drive (protocol `replan`): the path driven, whether the end was reached, and a table of both."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from worldgauge.core import geometry
from worldgauge.core.geometry import FloatArray, yaw_pitch_from_pose
from worldgauge.core.paired import paired_difference
from worldgauge.engine.suite.contract import Better, Cell, Failure, Record, Score, Table, TableRow
from worldgauge.engine.suite.scores import cluster_of_score, make_cell
from worldgauge.perception.decoders import N_POINTS, DecodedPath
from worldgauge.suites.target.decoding import decoder_of
from worldgauge.suites.target.format.coordinates import rebase
from worldgauge.suites.target.format.scenario import Scenario
from worldgauge.suites.target.metrics.extra_waypoints import reach_metre
from worldgauge.suites.target.planners import current_pose
from worldgauge.suites.target.settings import Settings

REACHED = "drive/reached"
END_DISTANCE = "drive/end_distance"
COLUMNS: Mapping[str, tuple[str, str, Better, float]] = {
    REACHED: ("reached", "1", "higher", 1.0),
    END_DISTANCE: ("from the end (m)", "m", "lower", math.inf),
    "drive/length_ratio": ("length / truth", "1", "neither", math.inf),
    "drive/contacts": ("contacts", "1", "lower", math.inf),
    "drive/asks": ("asks", "1", "neither", math.inf),
}
"""Metric -> column, unit, direction, largest value. Reached: within 1 m of the end of the true path. Contacts: plans
that ran into something. Asks: questions to the model."""


def driven_path(record: Record, scenario: Scenario, settings: Settings) -> DecodedPath:
    """Return what was driven as a path seen from the scenario's current pose, with evenly spaced points.

    Without a single plan it failed: a robot without a plan has not decided to stay.

    Args:
        record: The record.
        scenario: Its scenario.
        settings: Settings of the suite.
    """
    decoder = decoder_of(settings).name
    if record.facts["once"] is None:
        last = record.facts["asks"][-1]
        return DecodedPath(
            "failed", decoder, f"no plan in {len(record.facts['asks'])} videos, the last: {last['reason']}"
        )
    points = _seen_from_start(record.facts["driven"], scenario)
    along = geometry.along(points)
    metres = np.linspace(0, along[-1], N_POINTS)
    xy = geometry.at(points, metres)
    rows = np.interp(metres, along, np.arange(len(along))).astype(np.int64)
    contacts = sum(bool(one["contact"]) for one in record.facts["asks"])
    statuses = [str(one["status"]) for one in record.facts["asks"]]
    return DecodedPath("ok", decoder, xy=xy, frame_indices=rows, diagnostics={"plans": statuses, "contacts": contacts})


def drive_scores(record: Record, scenario: Scenario, settings: Settings) -> Iterator[Score]:
    """Yield scores of the drive. `facts["once"]` of each has the result of the first plan alone.

    Args:
        record: The record.
        scenario: Its scenario.
        settings: Settings of the suite.
    """
    decoder = decoder_of(settings).name
    once, asks = record.facts["once"], record.facts["asks"]
    values: dict[str, float] = {}
    alone: dict[str, float] = {}
    if once is not None:
        contacts = sum(bool(one["contact"]) for one in asks)
        values = _values(record.facts["driven"], scenario, contacts, len(asks))
        alone = _values(once["xy"], scenario, int(once["contact"]), 1)
    for metric, (_, unit, better, _) in COLUMNS.items():
        yield Score(
            record.task.id,
            metric,
            values.get(metric),
            unit=unit,
            better=better,
            n=int(metric in values),
            reason=None if metric in values else "no plan was found in any of its videos",
            group=record.task.group,
            facts={"once": alone.get(metric), "decoder": decoder},
        )


def comparison(
    scores: Mapping[str, Sequence[Score]],
    kinds: Mapping[str, str],
    failed: Mapping[str, Sequence[Failure]],
    decoders: str,
) -> Table | None:
    """Compare re-planning with the first plan alone, two rows per subject.

    Args:
        scores: Scores by subject.
        kinds: Kind of each subject.
        failed: Failed tasks by subject.
        decoders: The decoders in words.

    Returns:
        The table; None where nothing was driven.
    """
    rows: list[TableRow] = []
    notes = ["Reached: within 1 m of the end of the true path. The first plan alone is driven to its end unseen."]
    for subject, own in scores.items():
        by_metric = {metric: [s for s in own if s.metric == metric] for metric in COLUMNS}
        if not by_metric[REACHED]:
            continue
        kind: Literal["subject", "reference"] = "reference" if kinds[subject] == "reference" else "subject"
        lost = len(failed.get(subject, ()))
        rows.append(TableRow(f"{subject}, re-planning", _cells(by_metric, lost, again=True), kind))
        rows.append(TableRow(f"{subject}, first plan alone", _cells(by_metric, lost, again=False), kind))
        notes += _compared(subject, by_metric[END_DISTANCE])
    if not rows:
        return None
    return Table(
        metric=REACHED,
        title=f"Re-planning against the first plan alone, decoder {decoders}",
        unit="1",
        better="higher",
        columns=tuple(column for column, _, _, _ in COLUMNS.values()),
        rows=tuple(rows),
        notes=tuple(notes),
        betters=tuple(better for _, _, better, _ in COLUMNS.values()),
    )


def _values(xy: Any, scenario: Scenario, contacts: int, asks: int) -> dict[str, float]:
    path, truth = _seen_from_start(xy, scenario), scenario.future_xy
    length = geometry.length(truth)
    return {
        REACHED: reach_metre(path, truth),
        END_DISTANCE: float(np.hypot(*(path[-1] - truth[-1]))),
        **({"drive/length_ratio": geometry.length(path) / length} if length > 0 else {}),
        "drive/contacts": float(contacts),
        "drive/asks": float(asks),
    }


def _seen_from_start(xy: Any, scenario: Scenario) -> FloatArray:
    """Points (n, 2) of the world's plane as seen from the scenario's current pose."""
    pose = current_pose(scenario)
    points = np.vstack([pose[:2, 3], np.asarray(xy, np.float64)])
    return rebase(points, 0, float(yaw_pitch_from_pose(pose)[0]))[1:]


def _cells(scores: Mapping[str, Sequence[Score]], lost: int, *, again: bool) -> tuple[Cell, ...]:
    """One row: of the drives with re-planning, or of the first plans alone. lost: scenarios without a record."""
    return tuple(
        make_cell(
            [score.value if again else score.facts["once"] for score in scores[metric]],
            (0.0, most),
            expected=len(scores[metric]) + lost,
            clusters=map(cluster_of_score, scores[metric]),
        )
        for metric, (_, _, _, most) in COLUMNS.items()
    )


def _compared(subject: str, scores: Sequence[Score]) -> Iterator[str]:
    """By how much re-planning ends nearer to the end of the true path, over the scenarios."""
    again, alone = {s.task: s.value for s in scores}, {s.task: s.facts["once"] for s in scores}
    clusters = {score.task: cluster_of_score(score) for score in scores}
    found = paired_difference(again, alone, cluster=clusters)
    if found.mean is not None and found.p is not None and found.n > 1:
        nearer = "nearer to" if found.mean < 0 else "farther from"
        yield (
            f"{subject}: re-planning ends {abs(found.mean):.2f} m {nearer} the end of the true path than the first "
            f"plan alone (n = {found.n}, p = {found.p:.2g}, Student's paired test)."
        )
