"""Task cards: one per task, with its map, its film and the scores of all models in step with it."""

from __future__ import annotations

import base64
import logging
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from markupsafe import Markup

from worldgauge.core.english import listed
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.video import Clip
from worldgauge.engine.store import record_entry
from worldgauge.engine.suite.base import ActedSuite, AnsweredSuite, Suite
from worldgauge.engine.suite.contract import Record, Task
from worldgauge.report.answer_cards import PAGE_SOLIDS_BYTES, AnswerCardView, view_answer_card, without_solids
from worldgauge.report.curves import SeriesStyle, strip
from worldgauge.report.evidence import Evidence, cell_of
from worldgauge.report.film import Film, contact_sheet, make_film, same_rate
from worldgauge.report.film import StillsRow as Stills
from worldgauge.report.map import DrawnMap, draw_map
from worldgauge.report.task_details import DetailsView, player_data, view_details
from worldgauge.report.wording import Vocabulary, digits_for, direction, number

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
TRUTH = SeriesStyle("truth", "k0", "ground truth")
START = SeriesStyle("truth", "k0", "start image")
"""In place of an unknown truth."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TaskCard:
    """Content of the card of one task."""

    ident: str
    task: str
    cell: str
    place: str
    strip: Markup
    metrics: tuple[tuple[str, str, str], ...]
    rows: tuple[tuple[SeriesStyle, tuple[str, ...]], ...]
    map: DrawnMap | None
    film: Film | None
    encoded: str
    tiles: tuple[tuple[str, SeriesStyle], ...]
    notes: tuple[str, ...]
    gaps: tuple[str, ...]
    data: Mapping[str, Any]
    problem: str = ""
    legend: tuple[tuple[str, str], ...] = ()
    stills: tuple[tuple[SeriesStyle, Stills], ...] = ()
    columns: tuple[tuple[str, bool], ...] = ()
    diagnostics: tuple[tuple[SeriesStyle, tuple[str, ...]], ...] = ()
    lengths: str = ""
    caption: str = ""
    replays: bool = False
    answers: AnswerCardView | None = None

    @property
    def planned(self) -> bool:
        """Whether paths of models are on the map, which then needs more space."""
        return any(css.startswith("plan") for css, _ in self.legend)


def make_task_cards(
    evidence: Evidence,
    suite: Suite,
    tasks: Mapping[str, Task],
    chosen: Sequence[str],
    styles: Mapping[str, SeriesStyle],
    metrics: Sequence[str],
    units: Collection[str],
    words: Vocabulary,
) -> list[TaskCard]:
    """Cards of the chosen tasks, which say what is missing; `units` are the metrics on an axis from 0 to 1."""
    if isinstance(suite, AnsweredSuite):
        return _answered(evidence, suite, tasks, chosen, styles, metrics, units)
    drawn = [
        gather_footage(f"walk-{k}", name, evidence, suite, tasks.get(name), styles, words)
        for k, name in enumerate(chosen, 1)
    ]
    rows = sum(len(found.clips) for found in drawn if found.stills)
    left = PAGE_FILM_BYTES - (SHARE_OF_STILLS_BYTES if rows else 0)
    budget = min(ONE_FILM_BYTES, left // max(len(chosen), 1))
    still = min(ONE_STILLS_BYTES, PAGE_STILLS_BYTES // max(rows, 1))
    with ThreadPoolExecutor() as pool:  # decoding and encoding leave Python's lock alone
        films = pool.map(lambda found: film_of(found, budget), drawn)
        sheets = pool.map(
            lambda found: contact_sheet(found.clips if found.stills else {}, found.stills, budget=still), drawn
        )
        maps = [found.draw() for found in drawn]  # meanwhile: a map may build a world
        return [
            _make_card(name, found, map_, film, sheet, evidence, styles, metrics, units)
            for name, found, map_, film, sheet in zip(chosen, drawn, maps, films, sheets, strict=True)
        ]


def _answered(
    evidence: Evidence,
    suite: AnsweredSuite,
    tasks: Mapping[str, Task],
    chosen: Sequence[str],
    styles: Mapping[str, SeriesStyle],
    metrics: Sequence[str],
    units: Collection[str],
) -> list[TaskCard]:
    """Cards of tasks with answers in place of films."""
    with ThreadPoolExecutor() as pool:  # drawing and encoding leave Python's lock alone
        made = list(pool.map(lambda name: view_answer_card(name, evidence, suite, tasks.get(name), styles), chosen))
    left = PAGE_SOLIDS_BYTES
    cards = []
    for place, (name, view) in enumerate(zip(chosen, made, strict=True), 1):
        kept = without_solids(view, left)
        left -= kept.solid_bytes
        drawn = _Footage(f"walk-{place}", problem=view.problem)
        card = _make_card(name, drawn, None, None, ([], []), evidence, styles, metrics, units)
        cards.append(replace(card, answers=kept))
    return cards


def film_of(drawn: _Footage, budget: int) -> Film | None:
    """Make the film of a task. budget: Approximate largest size in bytes."""
    if not drawn.clips:
        return None
    if drawn.replays:
        return make_film(drawn.clips, budget=budget, lead=drawn.lead, tile_px=REPLAY_PX, stands=True)
    return make_film(drawn.clips, budget=budget, lead=drawn.lead)


def room_for(suite: Suite, models: int, films: int) -> int:
    """Return how many films fit on a page. Films that a suite makes itself need more space for their text."""
    if not isinstance(suite, ActedSuite):
        return films
    return min(films, max(1, PAGE_FILM_BYTES // (REPLAY_BYTES * max(models, 1))))


@dataclass(frozen=True)
class _Footage:
    """What there is to see of a task: ground truth first, or its `problem`; `lead` gives the film its length."""

    ident: str
    draw: Callable[[], DrawnMap | None] = lambda: None
    clips: Mapping[str, Clip] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    problem: str = ""
    shown: DetailsView | None = None
    legend: tuple[tuple[str, str], ...] = ()
    lead: str = ""
    lengths: str = ""
    replays: bool = False

    @property
    def stills(self) -> Mapping[str, Sequence[int]]:
        """label -> frames that were looked at; empty without any."""
        return self.shown.stills if self.shown is not None and self.clips else {}


def gather_footage(
    ident: str,
    name: str,
    evidence: Evidence,
    suite: Suite,
    task: Task | None,
    styles: Mapping[str, SeriesStyle],
    words: Vocabulary,
) -> _Footage:
    """What there is to see of a task."""
    details = view_details(evidence, suite, task, styles) if task is not None else None
    shown, problem = None, ""
    try:
        if task is None:
            raise WorldgaugeError("no record of this task can be read; run again to make it")
        shown = suite.task_view(task)
    except WorldgaugeError as error:
        log.warning("%s: no truth (%s)", name, error)
        problem = str(error)
    clips: dict[str, Clip] = {}
    notes = list(_terms(None if shown is None else shown.world))
    if not isinstance(suite, ActedSuite) and shown is not None and len(shown.truth):
        clips[(TRUTH if len(shown.truth) > 1 else START).label] = shown.truth
    for run in evidence.runs:
        if (run.is_truth and TRUTH.label in clips) or not _scored(evidence, run.label, name):
            continue
        if run.facts.get("shipped") and name not in run.rollouts:
            notes.append(f"{run.label} is not shown: its scores ship without videos; --fresh generates them.")
            continue
        try:
            if name not in run.rollouts:
                raise WorldgaugeError("its record holds no video")
            path = run.rollouts[name]
            if not isinstance(suite, ActedSuite):
                clips[run.label] = Clip.open(path)
                continue
            if task is None:
                raise WorldgaugeError("no record of this task can be read")
            entry = record_entry(path.parent)
            record = Record(task, entry["model"], path.parent, entry["facts"], path.name)
            clips[run.label] = suite.film(record)
        except WorldgaugeError as error:
            log.warning("%s: no video of %s (%s)", name, run.label, error)
            notes.append(f"{run.label} is not shown: {error}.")
    replays = isinstance(suite, ActedSuite)
    lead = max(clips, key=lambda name: len(clips[name]), default="") if replays else _lead(clips)
    lengths = "" if replays else _lengths(clips, lead)
    if shown is None:
        return _Footage(ident, lambda: None, clips, tuple(notes), problem, details, (), lead, lengths, replays)
    draw = partial(draw_map, ident, shown)
    if details is not None:
        true = details.truth[1] if details.truth is not None else None
        draw = partial(draw, details.plans, details.corridor, true, "The paths from above", whole=replays)
    scored = [label for label in evidence.labels if _scored(evidence, label, name)]
    legend = tuple(_legend(details, scored, styles, words, history=shown.generated_from > 0))
    return _Footage(ident, draw, clips, tuple(notes), "", details, legend, lead, lengths, replays)


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
        f" What comes after {whole:.1f} s is not in the video."
        if any(time > whole + 1.5 / rate for time in lasts.values())
        else ""
    )
    first = "The ground truth lasts" if lead == TRUTH.label else "Most videos last"
    return f"{first} {whole:.1f} s, {listed(other)}; videos are in step by time.{cut}"


def _legend(
    shown: DetailsView | None,
    scored: Sequence[str],
    styles: Mapping[str, SeriesStyle],
    words: Vocabulary,
    *,
    history: bool,
) -> Iterator[tuple[str, str]]:
    """(CSS classes, words) of every kind of line on the map; models without a path are named too."""
    if history:
        yield "way out", words.seen
    yield "way back", words.asked if shown is None or shown.truth is None else shown.truth[0]
    if shown is None:
        return
    planned = {plan.style: plan for plan in shown.plans}
    order = list(styles)
    for style in sorted(planned, key=lambda style: order.index(style.label) if style.label in order else len(order)):
        yield f"plan {style.css}{' stays' if planned[style].stays else ''}", style.label
    if shown.corridor is not None:
        yield "corridor", "corridor"
    without = [label for label in scored if styles[label] not in planned] if planned else []
    if without:
        yield "", f"without a path: {', '.join(without)}"


def _make_card(
    name: str,
    drawn: _Footage,
    map_: DrawnMap | None,
    film: Film | None,
    sheet: tuple[list[Stills], list[tuple[str, str]]],
    evidence: Evidence,
    styles: Mapping[str, SeriesStyle],
    metrics: Sequence[str],
    units: Collection[str],
) -> TaskCard:
    group = evidence.groups[name]
    # A task has scores of its own kind of question only.
    metrics = [m for m in metrics if any(name in e.by_metric.get(m, {}) for e in evidence.runs)]
    first = next((m for m in metrics if any(name in e.values(m) for e in evidence.runs)), "")
    values = {e.label: e.values(first).get(name) for e in evidence.runs}
    stills, broken = sheet
    shown = drawn.shown or DetailsView()
    return TaskCard(
        drawn.ident,
        name,
        cell_of(group),
        str(group.get("location", "")),
        strip(styles, values, _scale(evidence, first, units)),
        tuple(_head(evidence, metric) for metric in metrics),
        tuple(
            _row(evidence, styles, label, name, metrics) for label in evidence.labels if _scored(evidence, label, name)
        ),
        map_,
        film,
        base64.b64encode(film.data).decode() if film else "",
        tuple((label, _tile_style(label, styles)) for label in film.names) if film else (),
        (
            *drawn.notes,
            *shown.notes,
            *(f"{label} ends early: {why}." for label, why in (film.broken if film else ())),
            *(f"No stills of {label}: {why}." for label, why in broken),
        ),
        _gaps(evidence, name, metrics),
        player_data(evidence, name, metrics, units, film, None if drawn.replays else map_, styles),
        drawn.problem,
        drawn.legend,
        tuple((_tile_style(row.name, styles), row) for row in stills),
        shown.columns,
        shown.rows,
        drawn.lengths,
        shown.caption,
        drawn.replays,
    )


def _terms(world: WorldFacts | None) -> Iterator[str]:
    """Under whose terms the frames of a scan are shown."""
    if world is None or world.name != "scan":
        return
    from worldgauge.worlds.scan import sources

    key = str(world.params.get("scene", ""))
    source = sources.sources().get(key.partition("/")[0])
    if source is not None and source.terms:
        yield f"Frames are of the scan {key}, which is used under {source.terms}."


def _tile_style(label: str, styles: Mapping[str, SeriesStyle]) -> SeriesStyle:
    return styles.get(label) or (START if label == START.label else TRUTH)


def _scale(evidence: Evidence, metric: str, units: Collection[str]) -> tuple[float, float]:
    """Range of a metric over all tasks."""
    if metric in units:
        return 0.0, 1.0
    known = [v for e in evidence.runs for v in e.values(metric).values() if math.isfinite(v)]
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
    evidence: Evidence, styles: Mapping[str, SeriesStyle], label: str, task: str, metrics: Sequence[str]
) -> tuple[SeriesStyle, tuple[str, ...]]:
    texts = []
    for metric in metrics:
        score = evidence[label].by_metric.get(metric, {}).get(task)
        digits = digits_for(e.values(metric).get(task) for e in evidence.runs)
        texts.append("" if score is None else number(score.value, digits=digits))
    return styles[label], tuple(texts)


def _gaps(evidence: Evidence, task: str, metrics: Sequence[str]) -> tuple[str, ...]:
    """Why values of the card's table or curves are missing, "metrics: reason", each reason once."""
    found: dict[str, dict[str, None]] = {}
    for metric in metrics:
        for run in evidence.runs:
            score = run.by_metric.get(metric, {}).get(task)
            if score is not None and score.value is None:
                found.setdefault(score.reason or "", {})[metric] = None
            elif score is not None and any(v is not None and math.isinf(v) for _, v in score.series):
                found.setdefault("infinite in single frames, which are not on the curve", {})[metric] = None
    return tuple(f"{listed(list(missing))}: {reason}" for reason, missing in found.items())
