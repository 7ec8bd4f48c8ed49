"""The perturbation study: every frame is changed by every perturbation, and every metric scores the result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import cv2
import numpy as np

from worldgauge.core.errors import DataError, MissingExtraError, NotApplicableError, UnknownNameError, UsageError
from worldgauge.core.image import Image
from worldgauge.metrics._registry import metrics
from worldgauge.metrics.frame_pairs import in_order
from worldgauge.weights import AbsentWeightsError
from worldgauge_lab.validate_metrics.metric_adapters import WEIGHTLESS, MetricAdapter, Score, learned_adapters
from worldgauge_lab.validate_metrics.results import (
    CHANGE,
    THINGS_CHANGE,
    Floats,
    MetricRow,
    MetricStudy,
    PerturbationColumn,
    SeverityScale,
    curves_of,
    selectivity_of,
    severity_scales,
    steps_m,
)
from worldgauge_lab.validate_metrics.samples import Samples, Shot, TruthSample, read_samples, village_samples

SCENES = 40
EXAMPLE_PX = 160
"""Width of the example pictures."""

TRUTH, _ANOTHER = ("truth", 0.0), ("another", 0.0)
Key = tuple[str, float]
"""What was done to a frame: perturbation and strength."""
Scored = dict[str, dict[Key, float]]
"""By metric and by what was done: the value, left out where there is none."""


def metric_study(
    data: Path | None = None,
    *,
    scenes: int = SCENES,
    seed: int = 0,
    names: Sequence[str] = (),
    networks: Mapping[str, str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> MetricStudy:
    """Measure the response of frame metrics to every perturbation at every strength. Without `data`, frames are of
    embedded villages. Equal arguments give equal numbers on one machine."""
    gauges = _chosen((*WEIGHTLESS, *learned_adapters(networks or {})), names)
    if scenes < 2:
        raise UsageError(f"a study compares frames with each other, so it needs two or more, got {scenes}")
    samples = village_samples(scenes, seed) if data is None else read_samples(Path(data), scenes)
    if len(samples) < 2:
        raise UsageError(f"{samples.title}: a study needs two or more; record more, or raise the number of scenes")
    scores, reasons = _open(gauges, samples)
    steps = [each for each in severity_scales(seed) if samples.moves or each.kind != "moves"]
    scored: list[Scored] = []
    jobs = _jobs(samples) if scores else ()
    for found in in_order(lambda job: score_frame(*job, steps, scores), jobs, _threads()):
        scored.append(found)
        if progress is not None:
            progress(len(scored), len(samples))
    rows = tuple(
        _row(gauge, name, scored, samples, steps, reasons.get(name)) for gauge in gauges for name in gauge.metrics
    )
    return MetricStudy(
        samples.title,
        len(samples),
        len(set(samples.units)),
        seed,
        tuple(_column(ladder, samples) for ladder in severity_scales(seed)),
        tuple(row for row in rows if not names or row.metric in names),
        _examples(samples, steps, _richest(scored)) if scored else {},
    )


def score_frame(
    sample: TruthSample, another: Shot | None, steps: Sequence[SeverityScale], scores: Sequence[Score]
) -> Scored:
    """Every metric on one frame and what the perturbations make of it."""
    shown: dict[Key, Shot] = {TRUTH: sample.shot}
    if another is not None:
        shown[_ANOTHER] = another
    for ladder in steps:
        for strength in ladder.strengths:
            changed = ladder.apply(sample, strength)
            if changed is not None:
                shown[ladder.name, strength] = changed
    found: Scored = {}
    for score in scores:
        for name, values in score(sample.shot, list(shown.values())).items():
            found[name] = {key: value for key, value in zip(shown, values, strict=True) if value is not None}
    return found


def _chosen(gauges: Sequence[MetricAdapter], names: Sequence[str]) -> list[MetricAdapter]:
    known = [name for gauge in gauges for name in gauge.metrics]
    for name in names:
        if name not in known:
            raise UnknownNameError("metric of a study", name, known)
    return [gauge for gauge in gauges if not names or not gauge.metrics.keys().isdisjoint(names)]


def _open(gauges: Sequence[MetricAdapter], samples: Samples) -> tuple[list[Score], dict[str, str]]:
    """The metrics that can score, and by metric why one cannot."""
    scores, reasons = [], {}
    for gauge in gauges:
        try:
            scores.append(gauge.open(samples))
        except (AbsentWeightsError, DataError, MissingExtraError, NotApplicableError) as error:
            reasons.update(dict.fromkeys(gauge.metrics, str(error)))
    return scores, reasons


def _jobs(samples: Samples) -> Iterator[tuple[TruthSample, Shot]]:
    """Each frame, with another from far off in the list; made one after the other, for a world has one thread."""
    count = len(samples)
    for number in range(count):
        yield samples.sample(number, steps_m()), samples.shot((number + count // 2) % count)


def _row(
    gauge: MetricAdapter,
    name: str,
    scored: Sequence[Scored],
    samples: Samples,
    steps: Sequence[SeverityScale],
    reason: str | None,
) -> MetricRow:
    better = str(metrics.entry(gauge.metrics[name]).facts["better"])
    if reason is not None:
        return MetricRow(name, better, gauge.alone, reason=reason)
    values = [each[name] for each in scored]
    truth = _column_of(values, TRUTH)
    # Of a metric without a direction, higher counts as better: its curves need one to be drawn.
    sign = -1.0 if better == "lower" else 1.0
    unit = float(np.sqrt(np.nanmean((truth - _column_of(values, _ANOTHER)) ** 2)))
    if not unit > 0:
        return MetricRow(name, better, gauge.alone, reason="it gives the truth and every other scene the same value")
    drops = {
        ladder.name: {s: sign * (truth - _column_of(values, (ladder.name, s))) / unit for s in ladder.strengths}
        for ladder in steps
    }
    blind = frozenset(ladder.name for ladder in steps if name in gauge.blind and ladder.keeps_labels)
    curves = curves_of(drops, samples.units, blind)
    overall, things = (selectivity_of(drops, samples.units, which) for which in (CHANGE, THINGS_CHANGE))
    return MetricRow(name, better, gauge.alone, unit, curves, overall, things)


def _column_of(values: Sequence[Mapping[Key, float]], key: Key) -> Floats:
    return np.array([each.get(key, np.nan) for each in values], np.float64)


def _column(ladder: SeverityScale, samples: Samples) -> PerturbationColumn:
    stuck = ladder.kind == "moves" and not samples.moves
    reason = "these frames come without a world to move in: give recordings of one, --data DIR" if stuck else None
    amounts = {strength: ladder.amount(strength) for strength in ladder.strengths}
    return PerturbationColumn(ladder.name, ladder.kind, ladder.what, amounts, reason)


def _richest(scored: Sequence[Scored]) -> int:
    """The first of the frames to which most perturbations apply."""
    counts = [max((len(values) for values in each.values()), default=0) for each in scored]
    return counts.index(max(counts))


def _examples(samples: Samples, steps: Sequence[SeverityScale], number: int) -> dict[str, tuple[Image | None, ...]]:
    sample = samples.sample(number, steps_m())
    shots = {ladder.name: (sample.shot, *(ladder.apply(sample, s) for s in ladder.strengths)) for ladder in steps}
    return {name: tuple(None if shot is None else _small(shot.rgb) for shot in row) for name, row in shots.items()}


def _small(rgb: Image) -> Image:
    height = max(1, round(EXAMPLE_PX * rgb.shape[0] / rgb.shape[1]))
    return np.asarray(cv2.resize(rgb, (EXAMPLE_PX, height), interpolation=cv2.INTER_AREA), np.uint8)


def _threads() -> int:
    return min(4, os.cpu_count() or 1)
