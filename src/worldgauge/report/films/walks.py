"""Walks: one card a task, with its map, its film and the scores of all subjects in step with it."""

from __future__ import annotations

import base64
import logging
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.video import Clip
from worldgauge.engine.store import record_entry
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Record, Task
from worldgauge.report.charts.curves import Look, strip
from worldgauge.report.evidence import Evidence, cell_of
from worldgauge.report.exhibits import Shown, exhibit_of
from worldgauge.report.films.film import Film, make_film, same_rate
from worldgauge.report.films.map import Map, draw_map
from worldgauge.report.films.player import player_data
from worldgauge.report.films.stills import Row as Stills
from worldgauge.report.films.stills import contact_sheet
from worldgauge.report.gallery import PAGE_SOLIDS_BYTES, Gallery, gallery_of, without_solids
from worldgauge.report.words import Wording, digits_for, direction, listed, number

PAGE_FILM_BYTES = 5_400_000
"""All films together, before base64 adds a third: keeps the page under 10 MB."""
ONE_FILM_BYTES = 900_000
PAGE_STILLS_BYTES = 1_400_000
"""All stills together."""
SHARE_OF_STILLS_BYTES = 1_800_000
"""What the films give up where there are stills: these, and maps full of paths."""
ONE_STILLS_BYTES = 24_000
REPLAY_PX, REPLAY_BYTES = 384, 110_000
"""Of a tile that holds pictures side by side, and words, which fewer bytes would blur."""
TRUTH = Look("truth", "k0", "hidden truth")
START = Look("truth", "k0", "start image")
"""In place of a truth that nobody knows."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Walk:
    """A card. film, map: None where nothing can be shown; `problem` says why there is no truth. metrics: (name, unit,
    which way is better). rows: (look, values a metric).

    encoded: the film in base64. tiles: what it shows, in order. notes: tiles that are left out or end early, and
    why. gaps: why values are missing. data: what the player needs. legend: of the map, (CSS classes, words).
    stills: (look, frames that were looked at). columns, diagnostics: how each subject's answer was read. lengths: of
    films that do not last as long as the truth. caption: what was asked, where the suite says it. replays: whether the
    tiles are films of the suite's own making. gallery: the answers, of a suite whose tasks have those.
    """

    ident: str
    task: str
    cell: str
    place: str
    strip: Markup
    metrics: tuple[tuple[str, str, str], ...]
    rows: tuple[tuple[Look, tuple[str, ...]], ...]
    map: Map | None
    film: Film | None
    encoded: str
    tiles: tuple[tuple[str, Look], ...]
    notes: tuple[str, ...]
    gaps: tuple[str, ...]
    data: Mapping[str, Any]
    problem: str = ""
    legend: tuple[tuple[str, str], ...] = ()
    stills: tuple[tuple[Look, Stills], ...] = ()
    columns: tuple[tuple[str, bool], ...] = ()
    diagnostics: tuple[tuple[Look, tuple[str, ...]], ...] = ()
    lengths: str = ""
    caption: str = ""
    replays: bool = False
    gallery: Gallery | None = None

    @property
    def planned(self) -> bool:
        """Whether paths of subjects are on the map, which then needs room."""
        return any(css.startswith("plan") for css, _ in self.legend)


def make_walks(
    evidence: Evidence,
    suite: Suite,
    tasks: Mapping[str, Task],
    chosen: Sequence[str],
    looks: Mapping[str, Look],
    metrics: Sequence[str],
    units: Collection[str],
    words: Wording,
) -> list[Walk]:
    """Cards of the `chosen` tasks; one whose data are gone keeps its scores and films and says what is missing.

    metrics: those shown, the headline first. units: those of them that are shown on an axis from 0 to 1.
    """
    if suite.shows_answers:
        return _answered(evidence, suite, tasks, chosen, looks, metrics, units)
    drawn = [
        _drawn(f"walk-{k}", name, evidence, suite, tasks.get(name), looks, words) for k, name in enumerate(chosen, 1)
    ]
    rows = sum(len(found.clips) for found in drawn if found.stills)
    left = PAGE_FILM_BYTES - (SHARE_OF_STILLS_BYTES if rows else 0)
    budget = min(ONE_FILM_BYTES, left // max(len(chosen), 1))
    still = min(ONE_STILLS_BYTES, PAGE_STILLS_BYTES // max(rows, 1))
    with ThreadPoolExecutor() as pool:  # decoding and encoding leave Python's lock alone
        films = list(pool.map(lambda found: _film(found, budget), drawn))
        sheets = list(pool.map(lambda found: _sheet(found, still), drawn))
    return [
        _walk(name, found, film, sheet, evidence, looks, metrics, units)
        for name, found, film, sheet in zip(chosen, drawn, films, sheets, strict=True)
    ]


def _answered(
    evidence: Evidence,
    suite: Suite,
    tasks: Mapping[str, Task],
    chosen: Sequence[str],
    looks: Mapping[str, Look],
    metrics: Sequence[str],
    units: Collection[str],
) -> list[Walk]:
    """Cards of tasks with answers in place of films."""
    with ThreadPoolExecutor() as pool:  # drawing and encoding leave Python's lock alone
        made = list(pool.map(lambda name: gallery_of(name, evidence, suite, tasks.get(name), looks), chosen))
    left = PAGE_SOLIDS_BYTES
    walks = []
    for place, (name, gallery) in enumerate(zip(chosen, made, strict=True), 1):
        kept = without_solids(gallery, left)
        left -= kept.solid_bytes
        drawn = _Drawn(f"walk-{place}", problem=gallery.problem)
        walk = _walk(name, drawn, None, ([], []), evidence, looks, metrics, units)
        walks.append(replace(walk, gallery=kept))
    return walks


def _film(drawn: _Drawn, budget: int) -> Film | None:
    if not drawn.clips:
        return None
    if drawn.replays:
        return make_film(drawn.clips, budget=budget, lead=drawn.lead, tile_px=REPLAY_PX, stands=True)
    return make_film(drawn.clips, budget=budget, lead=drawn.lead)


def room_for(suite: Suite, subjects: int, films: int) -> int:
    """How many of `films` cards fit into a page: films of a suite's own making need room for their words."""
    if not suite.shows_films:
        return films
    return min(films, max(1, PAGE_FILM_BYTES // (REPLAY_BYTES * max(subjects, 1))))


@dataclass(frozen=True)
class _Drawn:
    """What there is to see of a task. clips: the truth first, where it is known; `problem` says why it is not.

    lead: of the clips, the one that gives the film its length. replays: see `Walk`.
    """

    ident: str
    map: Map | None = None
    clips: Mapping[str, Clip] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    problem: str = ""
    shown: Shown | None = None
    legend: tuple[tuple[str, str], ...] = ()
    lead: str = ""
    lengths: str = ""
    replays: bool = False

    @property
    def stills(self) -> Mapping[str, Sequence[int]]:
        """label -> frames that were looked at; empty without any."""
        return self.shown.stills if self.shown is not None and self.clips else {}


def _drawn(
    ident: str,
    name: str,
    evidence: Evidence,
    suite: Suite,
    task: Task | None,
    looks: Mapping[str, Look],
    words: Wording,
) -> _Drawn:
    exhibit = exhibit_of(evidence, suite, task, looks) if task is not None else None
    shown, problem = None, ""
    try:
        if task is None:
            raise WorldgaugeError("no record of this task can be read; run again to make it anew")
        shown = suite.task_view(task)
    except WorldgaugeError as error:
        log.warning("%s: no truth (%s)", name, error)
        problem = str(error)
    clips: dict[str, Clip] = {}
    notes = []
    replays = suite.shows_films
    if not replays and shown is not None and len(shown.truth):
        clips[(TRUTH if len(shown.truth) > 1 else START).label] = shown.truth
    for entrant in evidence.entrants:
        if (entrant.is_truth and TRUTH.label in clips) or not _scored(evidence, entrant.label, name):
            continue
        try:
            if name not in entrant.rollouts:
                raise WorldgaugeError("its record holds no film")
            path = entrant.rollouts[name]
            clips[entrant.label] = suite.film(_record_of(task, path)) if replays else Clip.open(path)
        except WorldgaugeError as error:
            log.warning("%s: no film of %s (%s)", name, entrant.label, error)
            notes.append(f"{entrant.label} is not shown: {error}.")
    lead = _longest(clips) if replays else _lead(clips)
    lengths = "" if replays else _lengths(clips, lead)
    if shown is None:
        return _Drawn(ident, None, clips, tuple(notes), problem, exhibit, (), lead, lengths, replays)
    if exhibit is None:
        drawn = draw_map(ident, shown)
    else:
        true = exhibit.truth[1] if exhibit.truth is not None else None
        drawn = draw_map(ident, shown, exhibit.plans, exhibit.corridor, true, "The paths from above", whole=replays)
    scored = [label for label in evidence.labels if _scored(evidence, label, name)]
    legend = tuple(_legend(exhibit, scored, looks, words, history=shown.generated_from > 0))
    return _Drawn(ident, drawn, clips, tuple(notes), "", exhibit, legend, lead, lengths, replays)


def _record_of(task: Task | None, rollout: Path) -> Record:
    """The record that `rollout` is of. Raises WorldgaugeError where it cannot be read."""
    if task is None:
        raise WorldgaugeError("no record of this task can be read")
    entry = record_entry(rollout.parent)
    return Record(task, entry["subject"], rollout.parent, entry["facts"], rollout.name)


def _longest(clips: Mapping[str, Clip]) -> str:
    return max(clips, key=lambda name: len(clips[name]), default="")


def _lead(clips: Mapping[str, Clip]) -> str:
    """Whose length a film has: the truth's, else that of most clips, of the longest of these; empty without any."""
    if not clips or TRUTH.label in clips:
        return TRUTH.label if clips else ""
    lasts = {name: round(_seconds(clip), 1) for name, clip in clips.items() if name != START.label}
    common = Counter(lasts.values())
    return max(lasts, key=lambda name: (common[lasts[name]], lasts[name]), default=START.label)


def _seconds(clip: Clip) -> float:
    return len(clip) / (clip.fps or 1.0)


def _lengths(clips: Mapping[str, Clip], lead: str) -> str:
    """Which films are shorter or longer than the one that leads, in time; empty where none is."""
    if not clips:
        return ""
    rate = clips[lead].fps or 1.0
    whole = _seconds(clips[lead])
    lasts = {
        name: len(clip) / rate if same_rate(clip, clips[lead].fps) else _seconds(clip)
        for name, clip in clips.items()
        if name != START.label
    }
    other = [f"{name} {time:.1f} s" for name, time in lasts.items() if abs(time - whole) > 1.5 / rate]
    if not other:
        return ""
    cut = (
        f" What comes after {whole:.1f} s is not in the film."
        if any(time > whole + 1.5 / rate for time in lasts.values())
        else ""
    )
    first = "The truth lasts" if lead == TRUTH.label else "Most films last"
    return f"{first} {whole:.1f} s, {listed(other)}; films are in step by time.{cut}"


def _legend(
    shown: Shown | None, scored: Sequence[str], looks: Mapping[str, Look], words: Wording, *, history: bool
) -> Iterator[tuple[str, str]]:
    """(CSS classes, words) of every kind of line on the map; subjects without a path are named too."""
    if history:
        yield "way out", words.seen
    yield "way back", words.asked if shown is None or shown.truth is None else shown.truth[0]
    if shown is None:
        return
    planned = {plan.look: plan for plan in shown.plans}
    order = list(looks)
    for look in sorted(planned, key=lambda look: order.index(look.label) if look.label in order else len(order)):
        yield f"plan {look.css}{' stays' if planned[look].stays else ''}", look.label
    if shown.corridor is not None:
        yield "corridor", "corridor"
    without = [label for label in scored if looks[label] not in planned] if planned else []
    if without:
        yield "", f"without a path: {', '.join(without)}"


def _sheet(drawn: _Drawn, budget: int) -> tuple[list[Stills], list[tuple[str, str]]]:
    return contact_sheet(drawn.clips, drawn.stills, budget=budget) if drawn.stills else ([], [])


def _walk(
    name: str,
    drawn: _Drawn,
    film: Film | None,
    sheet: tuple[list[Stills], list[tuple[str, str]]],
    evidence: Evidence,
    looks: Mapping[str, Look],
    metrics: Sequence[str],
    units: Collection[str],
) -> Walk:
    group = evidence.groups[name]
    # A task has scores of its own kind of question only.
    metrics = [m for m in metrics if any(name in e.by_metric.get(m, {}) for e in evidence.entrants)]
    first = next((m for m in metrics if any(name in e.values(m) for e in evidence.entrants)), "")
    values = {e.label: e.values(first).get(name) for e in evidence.entrants}
    stills, broken = sheet
    shown = drawn.shown or Shown()
    return Walk(
        drawn.ident,
        name,
        cell_of(group),
        str(group.get("location", "")),
        strip(looks, values, _scale(evidence, first, units)),
        tuple(_head(evidence, metric) for metric in metrics),
        tuple(
            _row(evidence, looks, label, name, metrics) for label in evidence.labels if _scored(evidence, label, name)
        ),
        drawn.map,
        film,
        base64.b64encode(film.data).decode() if film else "",
        tuple((label, _tile_look(label, looks)) for label in film.names) if film else (),
        (
            *drawn.notes,
            *shown.notes,
            *(f"{label} ends early: {why}." for label, why in (film.broken if film else ())),
            *(f"No stills of {label}: {why}." for label, why in broken),
        ),
        _gaps(evidence, name, metrics),
        player_data(evidence, name, metrics, units, film, None if drawn.replays else drawn.map, looks),
        drawn.problem,
        drawn.legend,
        tuple((_tile_look(row.name, looks), row) for row in stills),
        shown.columns,
        shown.rows,
        drawn.lengths,
        shown.caption,
        drawn.replays,
    )


def _tile_look(label: str, looks: Mapping[str, Look]) -> Look:
    return looks.get(label) or (START if label == START.label else TRUTH)


def _scale(evidence: Evidence, metric: str, units: Collection[str]) -> tuple[float, float]:
    """Range of a metric over all tasks."""
    if metric in units:
        return 0.0, 1.0
    known = [v for e in evidence.entrants for v in e.values(metric).values() if math.isfinite(v)]
    return min(known, default=0.0), max(known, default=1.0)


def _head(evidence: Evidence, metric: str) -> tuple[str, str, str]:
    """Name, unit (empty for plain numbers) and direction of a metric."""
    sample = evidence.sample(metric)
    if sample is None:
        return metric, "", ""
    return metric, "" if sample.unit == "1" else sample.unit, direction(sample.better)


def _scored(evidence: Evidence, label: str, task: str) -> bool:
    return any(task in scores for scores in evidence[label].by_metric.values())


def _row(
    evidence: Evidence, looks: Mapping[str, Look], label: str, task: str, metrics: Sequence[str]
) -> tuple[Look, tuple[str, ...]]:
    texts = []
    for metric in metrics:
        score = evidence[label].by_metric.get(metric, {}).get(task)
        texts.append("" if score is None else number(score.value, digits=_digits(evidence, metric, task)))
    return looks[label], tuple(texts)


def _digits(evidence: Evidence, metric: str, task: str) -> int:
    return digits_for(e.values(metric).get(task) for e in evidence.entrants)


def _gaps(evidence: Evidence, task: str, metrics: Sequence[str]) -> tuple[str, ...]:
    """Why values of the card's table or curves are missing, "metrics: reason", each reason once."""
    found: dict[str, dict[str, None]] = {}
    for metric in metrics:
        for entrant in evidence.entrants:
            score = entrant.by_metric.get(metric, {}).get(task)
            if score is not None and score.value is None:
                found.setdefault(score.reason or "", {})[metric] = None
            elif score is not None and any(v is not None and math.isinf(v) for _, v in score.series):
                found.setdefault("infinite in single frames, which are not on the curve", {})[metric] = None
    return tuple(f"{listed(list(missing))}: {reason}" for reason, missing in found.items())
