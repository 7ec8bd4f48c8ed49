"""LoopNav's figure 3a: the perturbation study at the paper's own strengths, with bounds that SGCS must keep.

A frame and a perturbed copy of it are scored. Colour, small shifts, turns and zooms keep the scene: SGCS must stay
near 1 where pixel metrics fall. Deletion and swap change it: SGCS must fall where pixel metrics stay high.

    print(run_published_study().table())                       views of embedded villages
    print(run_published_study(Path("data/loopnav")).table())   recorded walks
    print(run_published_study(segmenter="exact").table())      synthetic scenes, exact masks
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.image import Image
from worldgauge.metrics.psnr_ssim import ssim_perturbation
from worldgauge.perception import estimators
from worldgauge.perception.segment import Colour, ExactSegmenter
from worldgauge.suites.loopnav import format as loopnav
from worldgauge.suites.loopnav.format import worlds_of
from worldgauge.suites.loopnav.metrics.sgcs import STRIDE
from worldgauge.terminal.layout import Column, lay_out_numbers, terminal_width
from worldgauge.worlds import open_world
from worldgauge_lab.validate_metrics.metric_adapters import WEIGHTLESS, by_colour, score_each
from worldgauge_lab.validate_metrics.perturbation_study import TRUTH, Scored, score_frame
from worldgauge_lab.validate_metrics.perturbations import PERTURBATIONS, Labels
from worldgauge_lab.validate_metrics.results import CHANGE, KEEP, USUAL, severity_scales
from worldgauge_lab.validate_metrics.samples import Samples, Shot, draw_samples, village_samples

Segmenter = Literal["balanced", "colour", "exact"]

GEOMETRIC = ("translation", "rotation", "scaling")

SGCS_KEPT, SGCS_DELETED, SGCS_SWAPPED = 0.98, 0.92, 0.85
"""Bounds on the mean SGCS: at least the first for KEEP, at most the others for deletion and swap."""

MIN_SCENES = 20
RANGE = 5

Distance = Callable[[Image, Image], float]


@dataclass(frozen=True)
class PublishedBar:
    """One bar of the figure: mean and population standard deviation over `n` units. `skipped` frames have no object to
    delete, or no two to swap."""

    metric: str
    perturbation: str
    mean: float | None
    std: float | None
    n: int
    skipped: int = 0
    reason: str | None = None


@dataclass(frozen=True)
class PublishedStudy:
    """The bars, their source, and whether they keep the acceptance bounds."""

    source: str
    segmenter: str
    bars: tuple[PublishedBar, ...]
    accepted: bool
    reasons: tuple[str, ...]

    def mean(self, metric: str, perturbation: str) -> float | None:
        """Return the mean of one bar."""
        return next(b.mean for b in self.bars if (b.metric, b.perturbation) == (metric, perturbation))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "source": self.source,
            "segmenter": self.segmenter,
            "accepted": self.accepted,
            "reasons": list(self.reasons),
            "bars": [vars(bar) for bar in self.bars],
        }

    def to_rows(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """The bars as a header and rows."""
        columns = ("metric", "perturbation", "n", "mean", "std")
        return columns, [tuple(getattr(bar, name) for name in columns) for bar in self.bars]

    def table(self) -> str:
        """Plain text with one line per metric and one column per perturbation, mean +- std (n)."""
        metrics = list(dict.fromkeys(bar.metric for bar in self.bars))
        told = {
            (b.metric, b.perturbation): "-" if b.mean is None else f"{b.mean:.3f} +- {b.std:.3f} ({b.n})"
            for b in self.bars
        }
        columns = [Column(name, [(told.get((metric, name), "-"),) for metric in metrics]) for name in PERTURBATIONS]
        lines = [f"{self.source}, {self.segmenter} masks"]
        lines += [line.text for line in lay_out_numbers([(metric,) for metric in metrics], columns, terminal_width())]
        lines += dict.fromkeys(f"{bar.metric}: {bar.reason}" for bar in self.bars if bar.reason)
        lines.append("accepted" if self.accepted else "NOT accepted: " + "; ".join(self.reasons))
        return "\n".join(lines)


def run_published_study(
    source: Path | None = None,
    *,
    scenes: int = 40,
    seed: int = 0,
    segmenter: Segmenter = "balanced",
    lpips: Distance | None = None,
) -> PublishedStudy:
    """Run the study on views of embedded villages, on synthetic scenes, or on recorded walks."""
    if source is None:
        samples = draw_samples(scenes, seed) if segmenter == "exact" else village_samples(scenes, seed)
    else:
        samples = _recorded_samples(source, segmenter)
    usual = [replace(scale, strengths=(USUAL,)) for scale in severity_scales(seed) if scale.name in PERTURBATIONS]
    sgcs = "sgcs" if segmenter == "exact" else f"sgcs_{segmenter}"
    if segmenter == "exact":
        scores = [adapter.open(samples) for adapter in WEIGHTLESS if sgcs in adapter.metrics]
    else:
        scores = [by_colour(estimators.get(segmenter)(), samples)]
    scores.append(score_each(ssim_perturbation, "ssim")(samples))
    if lpips is not None:
        scores.append(score_each(lambda picture, truth: 1 - lpips(picture, truth), "sim-lpips")(samples))
    frames = [score_frame(samples.sample(number, ()), None, usual, scores) for number in range(len(samples))]
    bars = tuple(
        bar
        for metric, name in (("sgcs", sgcs), ("ssim", "ssim"), ("sim-lpips", "sim-lpips"))
        for bar in _bars(metric, name, frames, samples.units)
    )
    broken = check_bounds(bars, fewest=MIN_SCENES if source is None else 1)
    return PublishedStudy(samples.title, segmenter, bars, not broken, broken)


def check_bounds(bars: Iterable[PublishedBar], *, fewest: int = MIN_SCENES) -> tuple[str, ...]:
    """Check the acceptance bounds."""
    by_name = {(bar.metric, bar.perturbation): bar for bar in bars}

    def mean(metric: str, perturbation: str) -> float:
        value = by_name[metric, perturbation].mean
        return math.nan if value is None else value

    broken = []
    measured = min(by_name["sgcs", p].n for p in PERTURBATIONS)
    if measured < fewest:
        broken.append(f"{measured} scenes or videos in the smallest bar, {fewest} are needed")
    bounds = [(p, ">=", SGCS_KEPT) for p in KEEP] + [("deletion", "<=", SGCS_DELETED), ("swap", "<=", SGCS_SWAPPED)]
    for p, sign, bound in bounds:
        value = mean("sgcs", p)
        # Written so that a missing bar breaks its bound.
        if not (value >= bound if sign == ">=" else value <= bound):
            broken.append(f"SGCS under {p} is {value:.3f}, not {sign} {bound}")
    for changed in CHANGE:
        for moved in GEOMETRIC:
            if not mean("ssim", changed) > mean("ssim", moved):
                broken.append(f"SSIM under {changed} is not above SSIM under {moved}")
    return tuple(broken)


def _bars(metric: str, name: str, frames: Sequence[Scored], units: Sequence[str]) -> list[PublishedBar]:
    """The bars of one metric, each the mean over units of the means over their frames."""
    bars = []
    for perturbation in PERTURBATIONS:
        key = TRUTH if perturbation == TRUTH[0] else (perturbation, USUAL)
        values: dict[str, list[float]] = {}
        for frame, unit in zip(frames, units, strict=True):
            if key in frame.get(name, {}):
                values.setdefault(unit, []).append(frame[name][key])
        means = [float(np.mean(each)) for each in values.values()]
        skipped = sum(key not in frame["ssim"] for frame in frames)
        if means:
            bar = PublishedBar(metric, perturbation, float(np.mean(means)), float(np.std(means)), len(means), skipped)
        else:
            given = any(name in frame for frame in frames)
            reason = "no frame has a value" if given else "LPIPS weights were not given"
            bar = PublishedBar(metric, perturbation, None, None, 0, skipped, reason)
        bars.append(bar)
    return bars


def _recorded_samples(source: Path, segmenter: Segmenter) -> Samples:
    """Every fifth frame of the first valid recording of type ABA and range 5 of each village, by file name."""
    first: dict[str, loopnav.LoopTrajectory] = {}
    for trajectory in sorted(loopnav.discover(source), key=lambda t: t.id):
        if (trajectory.type, trajectory.radius) == ("ABA", RANGE) and not trajectory.invalid:
            first.setdefault(trajectory.location, trajectory)
    if not first:
        raise DataError(f"{source}: no recording of type ABA and range {RANGE}; collect some or leave the folder out")
    worlds = worlds_of(source)
    episodes = [loopnav.load(trajectory, worlds.get(location)) for location, trajectory in first.items()]
    frames = [(episode, index) for episode in episodes for index in range(0, len(episode), STRIDE)]

    def shot(number: int) -> Shot:
        """The frame with its labels, from its world or from its colours."""
        episode, index = frames[number]
        rgb = episode.clip[index]
        if segmenter != "exact":
            found = Colour().segment(rgb)
        elif episode.world is None:
            raise DataError(
                f"'{episode.id}' comes without its world, so it has no exact masks; give --segmenter balanced"
            )
        else:
            found = ExactSegmenter().segment(rgb, open_world(episode.world).view(episode.poses[index], episode.camera))
        return Shot(rgb, Labels(found.category, found.instance))

    def nothing(number: int, step_m: float) -> Shot:
        raise UsageError("the figure has no view from aside")

    title = f"{source.name}: {len(episodes)} recordings of ABA, range {RANGE}"
    units = tuple(episode.id for episode, _ in frames)
    return Samples(title, units, segmenter == "exact", True, False, shot, nothing)
