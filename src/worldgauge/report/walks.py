"""Walks: one card a trajectory, with its map, its film and the scores of all subjects in step with it."""

from __future__ import annotations

import base64
import logging
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from worldgauge.errors import WorldgaugeError
from worldgauge.report.curves import Look, strip
from worldgauge.report.evidence import Evidence, cell_of
from worldgauge.report.film import STRIP_PX, Film, make_film
from worldgauge.report.map import Map, draw_map
from worldgauge.report.words import number
from worldgauge.suites.contract import Suite, Task
from worldgauge.video import Clip

PAGE_FILM_BYTES = 5_800_000
"""All films together, before base64 adds a third: keeps the page under 10 MB."""
ONE_FILM_BYTES = 900_000
PLAYER_METRICS = 4
PLAYER_POINTS = 90
TRUTH = Look("truth", "k0", "hidden truth")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Walk:
    """A card. film, map: None with `problem` saying why. rows: (look, values a metric).

    encoded: the film in base64. tiles: what it shows, in order. notes: tiles that are left out or end early, and
    why. gaps: why values are missing. data: what the player needs.
    """

    ident: str
    task: str
    cell: str
    place: str
    strip: Markup
    metrics: tuple[str, ...]
    rows: tuple[tuple[Look, tuple[str, ...]], ...]
    map: Map | None
    film: Film | None
    encoded: str
    tiles: tuple[tuple[str, Look], ...]
    notes: tuple[str, ...]
    gaps: tuple[str, ...]
    data: Mapping[str, Any]
    problem: str = ""


def make_walks(
    evidence: Evidence,
    suite: Suite,
    tasks: Mapping[str, Task],
    chosen: Sequence[str],
    looks: Mapping[str, Look],
    metrics: Sequence[str],
    scale: tuple[float, float],
) -> list[Walk]:
    """Cards of the `chosen` tasks; one whose data are gone keeps its scores and says what is missing.

    metrics: those shown, the headline first. scale: range of the headline.
    """
    budget = min(ONE_FILM_BYTES, PAGE_FILM_BYTES // max(len(chosen), 1))
    drawn = [_drawn(f"walk-{k}", name, evidence, suite, tasks.get(name)) for k, name in enumerate(chosen, 1)]
    with ThreadPoolExecutor() as pool:  # decoding and encoding leave Python's lock alone
        films = list(pool.map(lambda found: make_film(found.clips, budget=budget) if found.clips else None, drawn))
    return [
        _walk(name, found, film, evidence, looks, metrics, scale)
        for name, found, film in zip(chosen, drawn, films, strict=True)
    ]


@dataclass(frozen=True)
class _Drawn:
    """What there is to see of a task. clips: empty, with `problem`, when its data are gone."""

    ident: str
    map: Map | None = None
    clips: Mapping[str, Clip] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    problem: str = ""


def _drawn(ident: str, name: str, evidence: Evidence, suite: Suite, task: Task | None) -> _Drawn:
    try:
        if task is None:
            raise WorldgaugeError("no record of this task can be read; run again to make it anew")
        shown = suite.picture(task)
    except WorldgaugeError as error:
        log.warning("%s: no film (%s)", name, error)
        return _Drawn(ident, problem=str(error))
    clips, notes = {TRUTH.label: shown.truth}, []
    for entrant in evidence.entrants:
        if "truth" in entrant.sees or not _scored(evidence, entrant.label, name):
            continue
        try:
            if name not in entrant.rollouts:
                raise WorldgaugeError("its record holds no film")
            clips[entrant.label] = Clip.open(entrant.rollouts[name])
        except WorldgaugeError as error:
            log.warning("%s: no film of %s (%s)", name, entrant.label, error)
            notes.append(f"{entrant.label} is not shown: {error}.")
    return _Drawn(ident, draw_map(ident, shown), clips, tuple(notes))


def _walk(
    name: str,
    drawn: _Drawn,
    film: Film | None,
    evidence: Evidence,
    looks: Mapping[str, Look],
    metrics: Sequence[str],
    scale: tuple[float, float],
) -> Walk:
    group = evidence.groups[name]
    values = {e.label: e.values(metrics[0]).get(name) for e in evidence.entrants}
    return Walk(
        drawn.ident,
        name,
        cell_of(group),
        str(group.get("location", "")),
        strip(looks, values, scale),
        tuple(metrics),
        tuple(
            _row(evidence, looks, label, name, metrics) for label in evidence.labels if _scored(evidence, label, name)
        ),
        drawn.map,
        film,
        base64.b64encode(film.data).decode() if film else "",
        tuple((name, looks.get(name, TRUTH)) for name in film.names) if film else (),
        (*drawn.notes, *(f"{label} ends early: {why}." for label, why in (film.broken if film else ()))),
        _gaps(evidence, name, metrics),
        _player(evidence, name, metrics, scale, film, drawn.map, looks),
        drawn.problem,
    )


def _scored(evidence: Evidence, label: str, task: str) -> bool:
    return any(task in scores for scores in evidence[label].by_metric.values())


def _row(
    evidence: Evidence, looks: Mapping[str, Look], label: str, task: str, metrics: Sequence[str]
) -> tuple[Look, tuple[str, ...]]:
    texts = []
    for metric in metrics:
        score = evidence[label].by_metric.get(metric, {}).get(task)
        texts.append("" if score is None else number(score.value))
    return looks[label], tuple(texts)


def _gaps(evidence: Evidence, task: str, metrics: Sequence[str]) -> tuple[str, ...]:
    """Why values of the card's table are missing, "metric: reason", each once."""
    found = [e.by_metric.get(metric, {}).get(task) for metric in metrics for e in evidence.entrants]
    return tuple(dict.fromkeys(f"{s.metric}: {s.reason}" for s in found if s is not None and s.value is None))


def _player(
    evidence: Evidence,
    task: str,
    metrics: Sequence[str],
    scale: tuple[float, float],
    film: Film | None,
    drawn: Map | None,
    looks: Mapping[str, Look],
) -> dict[str, Any]:
    """What the page's script needs, plain JSON values."""
    if film is None:
        return {}
    curves: list[dict[str, Any]] = []
    for name in metrics:
        lines = {
            looks[e.label].key: _thinned(score.series)
            for e in evidence.entrants
            if (score := e.by_metric.get(name, {}).get(task)) is not None and score.series
        }
        if any(lines.values()) and len(curves) < PLAYER_METRICS:
            known = [v for line in lines.values() for _, v in line]
            unit = scale if name == metrics[0] else (min(0.0, min(known)), max(1.0, max(known)))
            curves.append({"name": name, "lines": lines, "range": list(unit)})
    return {
        "columns": film.columns,
        "tile": list(film.tile),
        "fps": film.fps,
        "step": film.step,
        "frames": film.frames,
        "length": film.length,
        "strip": STRIP_PX,
        "looks": {look.key: look.css for look in looks.values()},
        "trail": [list(point) for point in drawn.trail] if drawn else [],
        "curves": curves,
    }


def _thinned(series: Sequence[tuple[int, float | None]]) -> list[list[float]]:
    """Known points of a series, every k-th so that about PLAYER_POINTS are left."""
    known = [[index, round(value, 3)] for index, value in series if value is not None and math.isfinite(value)]
    return known[:: max(1, round(len(known) / PLAYER_POINTS))]
