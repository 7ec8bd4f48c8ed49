"""Changes of a frame at several strengths, each a multiple of the usual one.

The usual strength of the first six is that of the paper (LoopNav, figure 3a). For the others it is one that a viewer
would notice if it is pointed out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np

from worldgauge.core.image import Image
from worldgauge.perception.instances import CATEGORIES
from worldgauge.suites.loopnav.metrics.scene_variants import STUFF
from worldgauge_lab.validate_metrics import perturbations
from worldgauge_lab.validate_metrics.perturbations import Labels, Perturbed
from worldgauge_lab.validate_metrics.samples import Sample, Shot

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
        name: Name of the perturbation.
        kind: What it does to the scene.
        what: The change in words.
        strengths: Its strengths, multiples of the usual one.
        amount: Gives a strength in words.
        apply: Changes a sample; None where that is not possible.
        keeps_labels: Whether every pixel still shows the same object.
    """

    name: str
    kind: Kind
    what: str
    strengths: tuple[float, ...]
    amount: Callable[[float], str]
    apply: Callable[[Sample, float], Shot | None]
    keeps_labels: bool = False


def steps_m() -> tuple[float, ...]:
    """Distances in metres by which the camera moves, one per strength."""
    return tuple(STEP_M * strength for strength in STRENGTHS)


def severity_scales(seed: int) -> tuple[SeverityScale, ...]:
    """All perturbations, in the order of the tables.

    Args:
        seed: Seed of the noise.

    Returns:
        The perturbations. Each gives None for a frame that it cannot change.
    """
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
            "the picture moved right and down",
            STRENGTHS,
            lambda s: f"{100 * p.SHIFT * s:g} % of its size",
            _of(lambda rgb, labels, s: p.translation(rgb, labels, shift=p.SHIFT * s)),
        ),
        SeverityScale(
            "rotation",
            "keeps",
            "the picture turned",
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


def _of(change: Callable[[Image, Labels, float], Perturbed | None]) -> Callable[[Sample, float], Shot | None]:
    def apply(sample: Sample, strength: float) -> Shot | None:
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


def _repainted(sample: Sample, rgb: Image) -> Shot:
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
