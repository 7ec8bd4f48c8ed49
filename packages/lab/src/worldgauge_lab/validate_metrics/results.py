"""Results of a metric study: responses with intervals, their growth with the strength, and conclusions.

The response is the loss of a metric relative to the truth, in units of its loss when the whole scene is replaced by
another one (root mean square over scenes): 0 for the truth, 1 for as bad as another place, negative for better than
the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from worldgauge.core.image import Image
from worldgauge.core.intervals import LEVEL, jackknife_interval, student_interval
from worldgauge.perception.instances import CATEGORIES
from worldgauge.suites.loopnav.metrics.scene_variants import STUFF
from worldgauge_lab.validate_metrics import perturbations
from worldgauge_lab.validate_metrics.perturbations import Labels, Perturbed
from worldgauge_lab.validate_metrics.samples import Shot, TruthSample

STRENGTHS = (0.25, 0.5, 1.0, 2.0, 4.0)
USUAL = 1.0

NOISE_LEVELS, BLUR_PX, STEP_M = 10.0, 1.0, 0.5
"""Usual doses: standard deviations of noise and blur, and a step to the right."""
JPEG_QUALITY = {0.25: 90, 0.5: 75, 1.0: 50, 2.0: 25, 4.0: 10}

KEEP = ("colour", "translation", "rotation", "scaling")
CHANGE = ("deletion", "swap")
"""The paper's perturbations that keep the scene, and those that change it."""

Kind = Literal["keeps", "changes", "degrades", "moves"]

THINGS = tuple(i for i, name in enumerate(CATEGORIES, start=1) if name not in STUFF)
"""Category numbers of what can be counted: building, tree, flower."""


@dataclass(frozen=True)
class SeverityScale:
    """One kind of change of a frame.

    Attributes:
        what: The change in words.
        strengths: Multiples of the usual strength.
        amount: Gives a strength in words.
        apply: Changes a sample. None if that is not possible.
        keeps_labels: Whether every pixel still shows the same object.
    """

    name: str
    kind: Kind
    what: str
    strengths: tuple[float, ...]
    amount: Callable[[float], str]
    apply: Callable[[TruthSample, float], Shot | None]
    keeps_labels: bool = False


def steps_m() -> tuple[float, ...]:
    """Distances in metres by which the camera moves, one per strength."""
    return tuple(STEP_M * strength for strength in STRENGTHS)


def severity_scales(seed: int) -> tuple[SeverityScale, ...]:
    """All perturbations, in the order of the tables."""
    whole = tuple(s for s in STRENGTHS if s >= 1)
    p = perturbations
    return (
        SeverityScale(
            "colour",
            "keeps",
            "contrast, light and saturation up",
            STRENGTHS,
            lambda s: f"contrast +{12 * s:g} %, light +{p.BRIGHTNESS * s:g}",
            _of(
                lambda rgb, labels, s: p.colour(
                    rgb,
                    labels,
                    contrast=1 + (p.CONTRAST - 1) * s,
                    brightness=p.BRIGHTNESS * s,
                    saturation=1 + (p.SATURATION - 1) * s,
                )
            ),
            keeps_labels=True,
        ),
        SeverityScale(
            "translation",
            "keeps",
            "the image moved right and down",
            STRENGTHS,
            lambda s: f"{100 * p.SHIFT * s:g} % of its size",
            _of(lambda rgb, labels, s: p.translation(rgb, labels, shift=p.SHIFT * s)),
        ),
        SeverityScale(
            "rotation",
            "keeps",
            "the image turned",
            STRENGTHS,
            lambda s: f"{p.TURN_DEG * s:g}°",
            _of(lambda rgb, labels, s: p.rotation(rgb, labels, turn_deg=p.TURN_DEG * s)),
        ),
        SeverityScale(
            "scaling",
            "keeps",
            "its centre blown up",
            STRENGTHS,
            lambda s: f"centre {100 * (1 - (1 - p.CROP) * s):g} %",
            _of(lambda rgb, labels, s: p.scaling(rgb, labels, crop=1 - (1 - p.CROP) * s)),
        ),
        SeverityScale(
            "deletion",
            "changes",
            "the largest objects painted over, sky and ground among them",
            whole,
            _objects,
            _of(lambda rgb, labels, s: p.deletion(rgb, labels, count=int(s))),
        ),
        SeverityScale(
            "swap",
            "changes",
            "the largest objects in each other's place, sky and ground among them",
            whole,
            _pairs,
            _of(lambda rgb, labels, s: p.swap(rgb, labels, pairs=int(s))),
        ),
        SeverityScale(
            "thing_loss",
            "changes",
            "the largest buildings, trees or flowers painted over",
            whole,
            _objects,
            _of(lambda rgb, labels, s: p.deletion(rgb, labels, count=int(s), among=THINGS)),
        ),
        SeverityScale(
            "thing_swap",
            "changes",
            "the largest buildings, trees or flowers in each other's place",
            whole,
            _pairs,
            _of(lambda rgb, labels, s: p.swap(rgb, labels, pairs=int(s), among=THINGS)),
        ),
        SeverityScale(
            "noise",
            "degrades",
            "Gaussian noise",
            STRENGTHS,
            lambda s: f"σ {NOISE_LEVELS * s:g} grey levels",
            lambda sample, s: _repainted(sample, _noisy(sample.shot.rgb, NOISE_LEVELS * s, (seed, sample.number))),
            keeps_labels=True,
        ),
        SeverityScale(
            "blur",
            "degrades",
            "Gaussian blur",
            STRENGTHS,
            lambda s: f"σ {BLUR_PX * s:g} px",
            lambda sample, s: _repainted(sample, _blurred(sample.shot.rgb, BLUR_PX * s)),
            keeps_labels=True,
        ),
        SeverityScale(
            "jpeg",
            "degrades",
            "stored as JPEG",
            STRENGTHS,
            lambda s: f"quality {JPEG_QUALITY[s]}",
            lambda sample, s: _repainted(sample, _compressed(sample.shot.rgb, JPEG_QUALITY[s])),
            keeps_labels=True,
        ),
        SeverityScale(
            "step_aside",
            "moves",
            "the same place seen from a step to the right",
            STRENGTHS,
            lambda s: f"{STEP_M * s:g} m",
            lambda sample, s: sample.aside.get(STEP_M * s),
        ),
    )


def _of(change: Callable[[Image, Labels, float], Perturbed | None]) -> Callable[[TruthSample, float], Shot | None]:
    def apply(sample: TruthSample, strength: float) -> Shot | None:
        found = change(*sample.shot, strength)
        if found is None:
            return None
        rgb, labels = found
        assert labels is not None
        return Shot(rgb, labels)

    return apply


def _objects(strength: float) -> str:
    return "1 object" if strength == 1 else f"{strength:g} objects"


def _pairs(strength: float) -> str:
    return "1 pair" if strength == 1 else f"{strength:g} pairs"


def _repainted(sample: TruthSample, rgb: Image) -> Shot:
    return Shot(rgb, sample.shot.labels)


def _noisy(rgb: Image, levels: float, seed: tuple[int, int]) -> Image:
    """Noise with the same pattern at every strength, so that a curve does not depend on chance."""
    pattern = np.random.default_rng(seed).standard_normal(rgb.shape, np.float32)
    return np.clip(np.rint(rgb + levels * pattern), 0, 255).astype(np.uint8)


def _blurred(rgb: Image, sigma_px: float) -> Image:
    return np.asarray(cv2.GaussianBlur(rgb, (0, 0), sigma_px), np.uint8)


def _compressed(rgb: Image, quality: int) -> Image:
    _, coded = cv2.imencode(".jpg", rgb[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])
    decoded = np.asarray(cv2.imdecode(coded, cv2.IMREAD_COLOR), np.uint8)
    return np.ascontiguousarray(decoded[:, :, ::-1])


THINGS_CHANGE = ("thing_loss", "thing_swap")
"""What `CHANGE` does to the largest masks, which are sky and ground as a rule, done to buildings, trees and flowers."""

RESAMPLES, SEED = 2_000, 20250522
FEWEST_RESAMPLED_UNITS = 8
"""Of the intervals: the same numbers from the same scores."""

Floats = NDArray[np.float64]


class UnitMean(NamedTuple):
    """A mean over units with its 95 % interval; None with too few units."""

    mean: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def is_not_zero(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


@dataclass(frozen=True)
class SeverityResponse:
    """A metric at one strength (multiple of the usual); `skipped` frames could not be changed or have no value."""

    strength: float
    response: UnitMean
    skipped: int


@dataclass(frozen=True)
class Curve:
    """A metric against the strength of one perturbation.

    Attributes:
        doses: Responses by strength.
        monotonicity: Spearman's coefficient of strength and response, mean over units; 0 for a flat curve.
        blind: Whether the metric reads nothing that the perturbation changes, and is 0 for that reason.
    """

    perturbation: str
    doses: tuple[SeverityResponse, ...]
    monotonicity: UnitMean
    blind: bool = False

    @property
    def usual(self) -> SeverityResponse:
        """The strength that tables show."""
        return next(dose for dose in self.doses if dose.strength == USUAL)

    @property
    def first_seen(self) -> float | None:
        """The weakest strength whose response differs from 0; None where none does."""
        return next((dose.strength for dose in self.doses if dose.response.is_not_zero), None)


class Selectivity(NamedTuple):
    """Response to changes of the scene relative to that to harmless ones, both at the paper's strength.

    Attributes:
        share: Response to changes divided by the sum of both; 0.5 cannot distinguish them.
        low: Lower end of the 95 % interval, by the jackknife for few units. None below three.
    """

    share: float
    low: float | None
    high: float | None
    n: int

    @staticmethod
    def ratio(share: float | None) -> float | None:
        """The share as a ratio of the two responses. Infinite where there is no response to harmless changes."""
        return None if share is None else math.inf if share >= 1 else share / (1 - share)


@dataclass(frozen=True)
class MetricRow:
    """Results of one metric.

    Attributes:
        alone: Whether it judges a frame without the ground truth.
        unit: Its loss, in its own unit, when the scene is replaced by another one.
        selectivity: For deletion and swap as in the paper.
        selectivity_of_things: For deletion and swap of objects that touch neither sky nor ground.
        reason: Why it has no curves.
    """

    metric: str
    better: str
    alone: bool = False
    unit: float | None = None
    curves: Mapping[str, Curve] = field(default_factory=dict)
    selectivity: Selectivity | None = None
    selectivity_of_things: Selectivity | None = None
    reason: str | None = None


class PerturbationColumn(NamedTuple):
    """One perturbation of the study; `amounts` are strengths in words."""

    name: str
    kind: Kind
    what: str
    amounts: Mapping[float, str]
    reason: str | None


@dataclass(frozen=True)
class MetricStudy:
    """All rows and columns of a study.

    Attributes:
        source: The frames in words.
        examples: Small images of one frame by perturbation, ground truth first. None if unchangeable.
    """

    source: str
    n: int
    units: int
    seed: int
    columns: tuple[PerturbationColumn, ...]
    rows: tuple[MetricRow, ...]
    examples: Mapping[str, tuple[NDArray[np.uint8] | None, ...]] = field(default_factory=dict, compare=False)

    @cached_property
    def measured(self) -> tuple[MetricRow, ...]:
        """Rows with curves."""
        return tuple(row for row in self.rows if row.curves)

    @property
    def applied(self) -> tuple[PerturbationColumn, ...]:
        """Columns with values."""
        return tuple(column for column in self.columns if column.reason is None)

    def row(self, metric: str) -> MetricRow:
        """The row of one metric."""
        return next(row for row in self.rows if row.metric == metric)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values. Infinite and missing values are null."""
        return {
            "source": self.source,
            "frames": self.n,
            "units": self.units,
            "seed": self.seed,
            "perturbations": [
                {**c._asdict(), "amounts": {f"{s:g}": text for s, text in c.amounts.items()}} for c in self.columns
            ],
            "metrics": [_row_json(row) for row in self.rows],
        }


def curves_of(
    drops: Mapping[str, Mapping[float, Floats]], units: Sequence[str], blind: frozenset[str]
) -> dict[str, Curve]:
    """Curves of one metric."""
    return {name: _curve(name, by_strength, units, name in blind) for name, by_strength in drops.items()}


def selectivity_of(
    drops: Mapping[str, Mapping[float, Floats]], units: Sequence[str], changes: tuple[str, str] = CHANGE
) -> Selectivity | None:
    """Selectivity of one metric, see `Selectivity`."""
    table = np.stack([_by_unit(drops[name][USUAL], units) for name in (*changes, *KEEP)])
    count = table.shape[1]
    if np.isnan(table).all(1).any():
        return None
    (share,) = _share(table[None])
    if not math.isfinite(share):
        return None
    if count < FEWEST_RESAMPLED_UNITS:
        few = jackknife_interval(count, lambda kept: float(_share(table[None][:, :, kept])[0]))
        low, high = (None, None) if few is None else (max(few.low, 0.0), min(few.high, 1.0))
        return Selectivity(float(share), low, high, count)
    picks = np.random.default_rng(SEED).integers(0, count, (RESAMPLES, count))
    shares = _share(np.moveaxis(table[:, picks], 1, 0))
    low, high = map(float, np.quantile(shares[np.isfinite(shares)], [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
    return Selectivity(float(share), low, high, count)


def _share(tables: Floats) -> Floats:
    """(k,) of responses (k, perturbations, units): mean sizes of the changes over those of all."""
    with np.errstate(invalid="ignore", divide="ignore"):
        there = ~np.isnan(tables)
        sizes = np.abs(np.where(there, tables, 0).sum(-1) / there.sum(-1))
        changes, harmless = sizes[:, : len(CHANGE)].mean(-1), sizes[:, len(CHANGE) :].mean(-1)
        shares: Floats = changes / (changes + harmless)
    return shares


def _curve(name: str, by_strength: Mapping[float, Floats], units: Sequence[str], blind: bool) -> Curve:
    doses = tuple(
        SeverityResponse(strength, _estimate(_by_unit(values, units)), int(np.isnan(values).sum()))
        for strength, values in by_strength.items()
    )
    table = np.stack([np.zeros(len(units)), *by_strength.values()])
    strengths = np.array([0.0, *by_strength])
    rhos = np.array([_spearman(strengths, values) for values in table.T])
    return Curve(name, doses, _estimate(_by_unit(rhos, units)), blind)


def _estimate(values: Floats) -> UnitMean:
    known = values[~np.isnan(values)].tolist()
    found = student_interval(known)
    low, high = found or (None, None)
    return UnitMean(math.fsum(known) / len(known) if known else None, low, high, len(known))


def _by_unit(values: Floats, units: Sequence[str]) -> Floats:
    """Means over the frames of each unit; NaN for one without any value."""
    names, place = np.unique(np.array(units), return_inverse=True)
    known = ~np.isnan(values)
    counts = np.bincount(place[known], minlength=len(names))
    sums = np.bincount(place[known], values[known], minlength=len(names))
    with np.errstate(invalid="ignore"):
        means: Floats = sums / np.where(counts, counts, np.nan)
    return means


def _spearman(x: Floats, y: Floats) -> float:
    """Rank correlation of the pairs that both exist; 0 where y never changes, NaN for fewer than three pairs."""
    known = ~np.isnan(y)
    if known.sum() < 3:
        return math.nan
    a, b = (_ranks(values[known]) for values in (x, y))
    a, b = a - a.mean(), b - b.mean()
    size = math.sqrt(float((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / size if size else 0.0


def _ranks(values: Floats) -> Floats:
    """From 1 up; equal values share the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return ranks


def _row_json(row: MetricRow) -> dict[str, Any]:
    return {
        "metric": row.metric,
        "better": row.better,
        "alone": row.alone,
        "unit": row.unit,
        "reason": row.reason,
        "selectivity": _selectivity_json(row.selectivity),
        "selectivity_of_things": _selectivity_json(row.selectivity_of_things),
        "curves": {
            name: {
                "blind": curve.blind,
                "monotonicity": curve.monotonicity._asdict(),
                "first_seen": curve.first_seen,
                "doses": [
                    {"strength": dose.strength, **dose.response._asdict(), "skipped": dose.skipped}
                    for dose in curve.doses
                ],
            }
            for name, curve in row.curves.items()
        },
    }


def _selectivity_json(found: Selectivity | None) -> dict[str, Any] | None:
    if found is None:
        return None
    ratios = {
        f"ratio{end}": ratio if ratio is not None and math.isfinite(ratio) else None
        for end, ratio in zip(("", "_low", "_high"), map(Selectivity.ratio, found[:3]), strict=True)
    }
    return {**found._asdict(), **ratios}
