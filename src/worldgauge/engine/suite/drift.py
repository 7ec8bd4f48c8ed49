"""What becomes of a rollout over minutes: how long it is asked to be, colours frame by frame, tables over time."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Any, Literal

import numpy as np

from worldgauge.core.image import Image
from worldgauge.engine.options import option
from worldgauge.engine.suite.contract import Record, Score, Table, TableRow, mean_of_known
from worldgauge.engine.suite.scores import (
    Series,
    by_metric,
    cluster_of_score,
    make_cells,
    make_mean_score,
    metric_facts,
    sort_rows,
)
from worldgauge.metrics.colour import ColourMoments, colour_distance, colour_moments

EDGES_S = (0.0, 2.0, 5.0, 10.0, 20.0, 40.0, 60.0, 120.0, math.inf)
"""Limits of the stretches of time in tables: seconds after the last frame that was shown."""
TITLES = {"colour_drift": "Colours against the recording", "colour_change": "Colours against the first imagined frame"}
RECORDING = "the recording"
"""Row of what colours do by themselves."""
_EPS_S = 1e-6


@dataclass(frozen=True)
class HorizonSettings:
    """Settings of suites whose recordings may be long."""

    horizon_s: float | None = option(
        None,
        "Seconds to generate. Shorter recordings are skipped. Default: the whole recording.",
        above=0,
        high=3600,
        later=True,
    )


def too_short(have: int, asked: int, fps: float) -> str | None:
    """Why a recording cannot supply a horizon; None where it can."""
    if have >= asked:
        return None
    return f"the recording ends {have / fps:.3g} s after what is shown, horizon_s asks for {asked / fps:.3g} s"


class ColourMeter:
    """Colours of a rollout and of its recording, frame by frame; no frame is kept."""

    def __init__(self) -> None:
        self._first: tuple[ColourMoments, ColourMoments] | None = None
        self._series: dict[str, list[tuple[int, float | None]]] = {name: [] for name in (*TITLES, RECORDING)}

    def see(self, index: int, got: Image, want: Image) -> None:
        """Add a generated frame and its ground truth, (H, W, 3) uint8 each."""
        self.add(index, *both_colours(got, want))

    def add(self, index: int, ours: ColourMoments, real: ColourMoments) -> None:
        """Add a frame whose colours are known."""
        if self._first is None:
            self._first = ours, real
        first, first_real = self._first
        distances = (colour_distance(ours, real), colour_distance(ours, first), colour_distance(real, first_real))
        for name, value in zip(self._series, distances, strict=True):
            self._series[name].append((index, value))

    def scores(self, record: Record, fps: float, *, prefix: str = "") -> Iterator[Score]:
        """Scores of `TITLES`, after all frames have been seen."""
        real = self._series[RECORDING]
        for metric in TITLES:
            facts: dict[str, Any] = {"fps": fps}
            if metric == "colour_change":
                facts[RECORDING] = {str(place): value for place, value in _by_stretch(real, fps).items()}
            yield make_mean_score(record, metric, self._series[metric], prefix=prefix, **facts)


def both_colours(got: Image, want: Image) -> tuple[ColourMoments, ColourMoments]:
    """Colours of a generated frame (H, W, 3) uint8 and of the ground truth: one object if the frames are equal."""
    ours = colour_moments(got)
    return ours, ours if np.array_equal(got, want) else colour_moments(want)


def time_tables(
    titles: Mapping[str, str], scores: Mapping[str, Sequence[Score]], kinds: Mapping[str, str]
) -> Iterator[Table]:
    """Tables of metrics over time: means over the tasks that last so long, one column a stretch of `EDGES_S`."""
    rates = {one.task: float(one.facts["fps"]) for own in scores.values() for one in own if _tells_rate(one)}
    sorted_out = {model: by_metric(own) for model, own in scores.items()}
    for metric, title in titles.items():
        found: dict[str, list[tuple[str, Mapping[int, float | None]]]] = {}
        real: dict[str, tuple[str, Mapping[int, float | None]]] = {}
        for model, theirs in sorted_out.items():
            mine = [one for one in theirs.get(metric, ()) if one.task in rates]
            found[model] = [(cluster_of_score(one), _by_stretch(one.series, rates[one.task])) for one in mine]
            real |= {one.task: (cluster_of_score(one), _recorded(one)) for one in mine if RECORDING in one.facts}
        if real:
            found[RECORDING] = list(real.values())
        groups = []
        for own in found.values():
            for place in range(len(EDGES_S) - 1):
                # A task that ends before a stretch is not expected there.
                here = [(cluster, one[place]) for cluster, one in own if place in one]
                groups.append(([value for _, value in here], [cluster for cluster, _ in here]))
        note = "Seconds after the last frame that was shown. n counts the tasks that last so long."
        labels = {label: "baseline" if label == RECORDING else kinds[label] for label in found}
        table = stretch_table(
            metric, f"{title}, over time", EDGES_S, groups, labels, note, suffix="over_time", fewest=2
        )
        if table is not None:
            yield table


def stretch_table(
    metric: str,
    title: str,
    edges_s: Sequence[float],
    groups: Sequence[tuple[Sequence[float | None], Sequence[str]]],
    kinds: Mapping[str, str],
    note: str,
    *,
    suffix: str,
    fewest: int,
) -> Table | None:
    """Table with a column per stretch of time that has values. `groups`: values and clusters by model, then stretch."""
    unit, better, bounds = metric_facts(metric)
    places = range(len(edges_s) - 1)
    cells = iter(make_cells(groups, bounds))
    found = {label: tuple(islice(cells, len(places))) for label in kinds}
    filled = [place for place in places if any(own[place].n for own in found.values())]
    if len(filled) < fewest:
        return None
    rows = []
    for label, own in found.items():
        kind: Literal["model", "baseline"] = "baseline" if kinds[label] == "baseline" else "model"
        rows.append(TableRow(label, tuple(own[place] for place in filled), kind))
    return Table(
        metric=f"{metric}/{suffix}",
        title=title,
        unit=unit,
        better=better,
        columns=tuple(_span(edges_s[place], edges_s[place + 1]) for place in filled),
        rows=tuple(sort_rows(rows, better)),
        notes=(note,),
    )


def _recorded(score: Score) -> dict[int, float | None]:
    """What the recording's own colours do, by place of the stretch."""
    return {int(place): value for place, value in score.facts[RECORDING].items()}


def _by_stretch(series: Series, fps: float) -> dict[int, float | None]:
    """Mean of finite values in each stretch of time that has frames, by its place in `EDGES_S`.

    Frame k is at (k + 1) / fps seconds: frame -1 is the last one of the context. A stretch includes its end.
    """
    ordered = sorted(series, key=itemgetter(0))
    found: dict[int, float | None] = {}
    start = 0
    for place, high in enumerate(EDGES_S[1:]):
        stop = bisect_right(ordered, high, lo=start, key=lambda pair: (pair[0] + 1) / fps - _EPS_S)
        if stop > start:
            here = [value for _, value in ordered[start:stop] if value is not None and math.isfinite(value)]
            found[place] = mean_of_known(here)
        start = stop
    return found


def _tells_rate(score: Score) -> bool:
    return score.metric.rpartition("/")[2] in TITLES and "fps" in score.facts


def _span(low_s: float, high_s: float) -> str:
    return f"{low_s:g} s and more" if math.isinf(high_s) else f"{low_s:g} to {high_s:g} s"
