"""Exhibits: what a suite shows of a task beside its films, checked and made ready for a card."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.geometry import FloatArray
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Task
from worldgauge.report.charts.curves import Look
from worldgauge.report.evidence import Evidence
from worldgauge.report.films.map import Plan
from worldgauge.report.words import column_name, plain

TRUE = "k0"
"""Colour of the truth, on the whole page."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shown:
    """An exhibit as a card shows it. plans: in drawing order. columns, rows: the table of diagnostics;
    a column is (name, whether it holds words).

    truth: (name, (n, 2) metres) of the true path, where the suite gives it a name. stills: label -> frames that were
    looked at. notes: what could not be shown, and why.
    """

    plans: tuple[Plan, ...] = ()
    truth: tuple[str, FloatArray] | None = None
    corridor: FloatArray | None = None
    stills: Mapping[str, Sequence[int]] = field(default_factory=dict)
    columns: tuple[tuple[str, bool], ...] = ()
    rows: tuple[tuple[Look, tuple[str, ...]], ...] = ()
    notes: tuple[str, ...] = ()
    caption: str = ""


def exhibit_of(evidence: Evidence, suite: Suite, task: Task, looks: Mapping[str, Look]) -> Shown | None:
    """What `suite` has to show of `task`; None of a suite that shows nothing more than films."""
    scores = {e.label: [s for s in e.scores if s.task == task.id] for e in evidence.entrants}
    try:
        found = suite.task_details(task, {label: theirs for label, theirs in scores.items() if theirs})
    except WorldgaugeError as error:
        log.warning("%s: no exhibit (%s)", task.id, error)
        return Shown(notes=(f"Paths and diagnostics are not shown: {error}",))
    if found is None:
        return None
    plans, notes = _plans(found.paths, evidence, looks)
    columns = tuple(dict.fromkeys(name for row in found.diagnostics.values() for name in row))
    order = {label: place for place, label in enumerate(evidence.labels)}
    rows = tuple(
        (_look(label, looks), tuple(plain(row.get(name)) for name in columns))
        for label, row in sorted(found.diagnostics.items(), key=lambda item: order.get(item[0], len(order)))
    )
    true = next((p for p in plans if p.look.label not in looks and p.look.colour == TRUE), None)
    return Shown(
        tuple(plan for plan in plans if plan is not true),
        (true.look.label, true.xy) if true is not None else None,
        _circles(found.corridor),
        {name: [int(i) for i in frames] for name, frames in found.stills.items() if len(frames)},
        tuple((column_name(name), _is_words(name, found.diagnostics)) for name in columns),
        rows,
        tuple(notes),
        found.caption,
    )


def _is_words(name: str, rows: Mapping[str, Mapping[str, Any]]) -> bool:
    return any(isinstance(row.get(name), str) and row[name] for row in rows.values())


def _plans(
    paths: Mapping[str, FloatArray], evidence: Evidence, looks: Mapping[str, Look]
) -> tuple[tuple[Plan, ...], list[str]]:
    """What no subject planned lies lowest, then references, then models under test."""
    plans, notes = [], []
    for label, path in paths.items():
        xy = np.asarray(path, np.float64)
        if xy.ndim != 2 or xy.shape[1] != 2 or len(xy) == 0:
            notes.append(f"The path of {label} is not shown: it is no list of points in the plane.")
            continue
        finite = np.isfinite(xy).all(1)
        if not finite.all():
            notes.append(f"{int((~finite).sum())} of {len(xy)} points of {label} are not finite and are left out.")
        if finite.any():
            plans.append(Plan(_look(label, looks), xy[finite]))
    place = {label: 2 - (evidence[label].kind == "reference") for label in evidence.labels}
    return tuple(sorted(plans, key=lambda plan: place.get(plan.look.label, 0))), notes


def _circles(corridor: FloatArray | None) -> FloatArray | None:
    """The circles that can be drawn; None without any."""
    if corridor is None:
        return None
    circles = np.asarray(corridor, np.float64)
    if circles.ndim != 2 or circles.shape[1] != 3:
        return None
    known: FloatArray = circles[np.isfinite(circles).all(1) & (circles[:, 2] >= 0)]
    return known if len(known) else None


def _look(label: str, looks: Mapping[str, Look]) -> Look:
    """A subject's own look; ink for a true path, grey for other yardsticks."""
    true = "truth" in label.lower() or "true" in label.lower()
    return looks.get(label) or Look("", TRUE if true else "kx", label, reference=not true)
