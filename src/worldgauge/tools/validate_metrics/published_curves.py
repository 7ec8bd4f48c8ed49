"""The paper's perturbation study of SGCS (figure 3a), with acceptance bounds.

A frame and a perturbed copy of it are scored. Colour, small shifts, turns and zooms keep the scene: SGCS must stay
near 1 where pixel metrics fall. Deletion and swap change it: SGCS must fall where pixel metrics stay high.

    print(run_published_study().table())                       drawn scenes, exact labels
    print(run_published_study(Path("data/loopnav")).table())   recorded walks
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from worldgauge.core.episode import Episode
from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.image import Image
from worldgauge.metrics.perturbation import PERTURBATIONS, Labels
from worldgauge.metrics.pixel import ssim_perturbation
from worldgauge.metrics.sgcs import STRIDE, frame_sgcs, instances_from_labels
from worldgauge.perception import segment
from worldgauge.perception.segment import Colour, Exact
from worldgauge.suites.loopnav.format import trajectories as loopnav
from worldgauge.suites.loopnav.format.write import worlds_of
from worldgauge.tools.validate_metrics.synthetic_scenes import draw_scene
from worldgauge.worlds import open_world

KEEP = ("colour", "translation", "rotation", "scaling")
CHANGE = ("deletion", "swap")
GEOMETRIC = ("translation", "rotation", "scaling")

SGCS_KEPT, SGCS_DELETED, SGCS_SWAPPED = 0.98, 0.92, 0.85
"""Bounds on the mean SGCS: at least the first for KEEP, at most the others for deletion and swap."""

MIN_AREA = 30
"""Pixels; smaller instances of exact labels are ignored."""

MIN_SCENES = 20
RANGE = 5

Distance = Callable[[Image, Image], float]


@dataclass(frozen=True)
class PublishedBar:
    """One bar of the figure: a metric under a perturbation.

    Attributes:
        metric: Name of the metric.
        perturbation: Name of the perturbation.
        mean: Mean over units (drawn scenes, or videos). None where `n` is 0.
        std: Population standard deviation over units. None where `n` is 0.
        n: Number of units with a value.
        skipped: Number of frames without an object to delete, or without two to swap.
        reason: Why there is no value at all.
    """

    metric: str
    perturbation: str
    mean: float | None
    std: float | None
    n: int
    skipped: int = 0
    reason: str | None = None


@dataclass(frozen=True)
class PublishedStudy:
    """The bars, their source, and whether they keep the acceptance bounds.

    Attributes:
        source: What they were measured on.
        segmenter: Name of the segmenter.
        bars: The bars.
        accepted: Whether all bounds are kept.
        reasons: The bounds that are not kept.
    """

    source: str
    segmenter: str
    bars: tuple[PublishedBar, ...]
    accepted: bool
    reasons: tuple[str, ...]

    def mean(self, metric: str, perturbation: str) -> float | None:
        """The mean of one bar."""
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

    def table(self) -> str:
        """Plain text with one line per metric and one column per perturbation, mean +- std (n)."""
        lines = [f"{self.source}, {self.segmenter} masks", f"{'':10}" + "".join(f"{p:>20}" for p in PERTURBATIONS)]
        for metric in dict.fromkeys(bar.metric for bar in self.bars):
            mine = [bar for bar in self.bars if bar.metric == metric]
            cells = ["-" if b.mean is None else f"{b.mean:.3f} +- {b.std:.3f} ({b.n})" for b in mine]
            lines.append(f"{metric:10}" + "".join(f"{cell:>20}" for cell in cells))
            lines += [f"{'':10}{reason}" for reason in dict.fromkeys(b.reason for b in mine if b.reason)]
        lines.append("accepted" if self.accepted else "NOT accepted: " + "; ".join(self.reasons))
        return "\n".join(lines)


def run_published_study(
    source: Path | None = None,
    *,
    scenes: int = 40,
    seed: int = 0,
    segmenter: Literal["exact", "colour"] = "exact",
    lpips: Distance | None = None,
) -> PublishedStudy:
    """Run the study on drawn scenes, or on recorded walks.

    Args:
        source: LoopNav folder. Type ABA, range 5, the first recording of each village and every fifth frame are used.
            None for drawn scenes.
        scenes: Number of drawn scenes.
        seed: Seed of the drawn scenes.
        segmenter: "exact" masks move with the perturbation, and need embedded worlds. "colour" segments the perturbed
            picture again; it is for recordings only, and knows absolute colours, so bar 1 breaks its bound.
        lpips: Distance of two images. Without it sim-LPIPS, which is 1 - LPIPS, is reported as missing.

    Returns:
        The study.

    Raises:
        DataError: When `source` holds nothing usable.
        UsageError: For the colour segmenter without `source`.
    """
    if source is None and segmenter == "colour":
        raise UsageError("drawn scenes have exact masks only; the colour segmenter needs recordings: --data DIR")
    if source is None:
        units: Iterator[Iterable[tuple[Image, Labels]]] = ([_drawn(seed + i)] for i in range(scenes))
        return _study(f"{scenes} drawn scenes", "exact", units, None, lpips, fewest=MIN_SCENES)
    episodes = _recordings(source)
    again = Colour() if segmenter == "colour" else None
    frames = (_recorded(episode, again) for episode in episodes)
    name = f"{source.name}: {len(episodes)} recordings of ABA, range {RANGE}"
    return _study(name, segmenter, frames, again, lpips, fewest=1)


def check_bounds(bars: Iterable[PublishedBar], *, fewest: int = MIN_SCENES) -> tuple[str, ...]:
    """The acceptance bounds that `bars` break, with at least `fewest` units per bar. Empty when all hold."""
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


def _study(
    source: str,
    segmenter: str,
    units: Iterable[Iterable[tuple[Image, Labels]]],
    again: Colour | None,
    lpips: Distance | None,
    *,
    fewest: int,
) -> PublishedStudy:
    metrics = ("sgcs", "ssim", "sim-lpips")
    values: dict[tuple[str, str], list[float]] = {(m, p): [] for m in metrics for p in PERTURBATIONS}
    skipped = dict.fromkeys(PERTURBATIONS, 0)
    for frames in units:
        unit: dict[tuple[str, str], list[float]] = {key: [] for key in values}
        for rgb, labels in frames:
            for name, perturb in PERTURBATIONS.items():
                perturbed = perturb(rgb, labels)
                if perturbed is None:
                    skipped[name] += 1
                    continue
                for metric, value in _scores(rgb, labels, *perturbed, again, lpips).items():
                    if value is not None:
                        unit[metric, name].append(value)
        for key, measured in unit.items():
            if measured:
                values[key].append(float(np.mean(measured)))
    bars = tuple(_bar(metric, name, values[metric, name], skipped[name], lpips) for metric, name in values)
    broken = check_bounds(bars, fewest=fewest)
    return PublishedStudy(source, segmenter, bars, not broken, broken)


def _scores(
    rgb: Image, labels: Labels, picture: Image, moved: Labels | None, again: Colour | None, lpips: Distance | None
) -> dict[str, float | None]:
    height, width = rgb.shape[:2]
    assert moved is not None
    if again is None:
        truth, found = (instances_from_labels(*each, min_area=MIN_AREA) for each in (labels, moved))
    else:
        truth, found = segment.Labels(*labels).scene(), again.segment(picture).scene()
    return {
        "sgcs": frame_sgcs(found, truth, height=height, width=width).value,
        "ssim": ssim_perturbation(picture, rgb),
        "sim-lpips": None if lpips is None else 1 - lpips(picture, rgb),
    }


def _bar(metric: str, perturbation: str, values: list[float], skipped: int, lpips: Distance | None) -> PublishedBar:
    if values:
        return PublishedBar(metric, perturbation, float(np.mean(values)), float(np.std(values)), len(values), skipped)
    absent = metric == "sim-lpips" and lpips is None
    reason = "LPIPS weights were not given" if absent else "no frame has a value"
    return PublishedBar(metric, perturbation, None, None, 0, skipped, reason)


def _drawn(seed: int) -> tuple[Image, Labels]:
    scene = draw_scene(seed)
    return scene.rgb, Labels(scene.category, scene.instance)


def _recordings(source: Path) -> list[Episode]:
    """The first valid recording of type ABA and range 5 of each village, by file name."""
    first: dict[str, loopnav.Trajectory] = {}
    for trajectory in sorted(loopnav.discover(source), key=lambda t: t.id):
        if (trajectory.type, trajectory.radius) == ("ABA", RANGE) and not trajectory.invalid:
            first.setdefault(trajectory.location, trajectory)
    if not first:
        raise DataError(f"{source}: no recording of type ABA and range {RANGE}; collect some or leave the folder out")
    worlds = worlds_of(source)
    return [loopnav.load(trajectory, worlds.get(location)) for location, trajectory in first.items()]


def _recorded(episode: Episode, again: Colour | None) -> Iterator[tuple[Image, Labels]]:
    """Every fifth frame with its labels, from its world or from its colours."""
    if again is None and episode.world is None:
        raise DataError(f"'{episode.id}' comes without its world, so it has no exact masks; take the colour segmenter")
    for index in range(0, len(episode), STRIDE):
        rgb = episode.clip[index]
        if again is not None:
            found = again.segment(rgb)
        else:
            assert episode.world is not None
            found = Exact().segment(rgb, open_world(episode.world).view(episode.poses[index], episode.camera))
        yield rgb, Labels(found.category, found.instance)
