"""Metrics under study: metrics of pictures, of the objects in them, and learned ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from worldgauge.core.errors import NotApplicableError, UnknownNameError
from worldgauge.core.image import Image
from worldgauge.metrics.frame_pairs import Prepared, pair_error, prepared
from worldgauge.metrics.lpips_fvd import dino_mse
from worldgauge.metrics.psnr_ssim import mse, psnr, sharpness, ssim_320x180, ssim_perturbation, ssim_table, ssim_uniform
from worldgauge.perception import estimators
from worldgauge.perception.instances import CATEGORIES, SceneGraph, instances_from_labels
from worldgauge.perception.loading import BATCH, Float32, Unavailable, open_perception
from worldgauge.perception.network_source import What
from worldgauge.perception.segment import Balanced, Segmenter
from worldgauge.suites.loopnav.metrics.scene_variants import (
    macro_sgcs,
    match_by_look,
    mean_colours,
    object_sgcs,
    relation_score,
)
from worldgauge.suites.loopnav.metrics.sgcs import frame_sgcs
from worldgauge.weights import AbsentWeightsError
from worldgauge_lab.validate_metrics.perturbations import Labels
from worldgauge_lab.validate_metrics.samples import Samples, Shot

MIN_AREA = 30
"""Pixels; smaller instances of exact labels are ignored."""

PSNR_MOST_DB = 48.1308
"""Of one grey level of error. Equal frames have no finite PSNR, so in a study this is the most."""

Values = dict[str, list[float | None]]
Score = Callable[[Shot, Sequence[Shot]], Values]
"""(truth, frames) -> by metric the value of every frame, None where it has none."""


@dataclass(frozen=True)
class MetricAdapter:
    """Metrics that are computed together.

    Attributes:
        metrics: Name in `metrics.metrics` by name in the study.
        open: Prepares them; raises NotApplicableError, AbsentWeightsError or MissingExtraError.
        blind: Metrics that read exact labels, not images.
        alone: Whether a frame is judged without the ground truth.
    """

    metrics: Mapping[str, str]
    open: Callable[[Samples], Score]
    blind: frozenset[str] = frozenset()
    alone: bool = False


def score_each(function: Callable[[Image, Image], float], name: str) -> Callable[[Samples], Score]:
    """Wrap a function of two frames for `MetricAdapter.open`."""

    def score(truth: Shot, others: Sequence[Shot]) -> Values:
        return {name: [float(function(other.rgb, truth.rgb)) for other in others]}

    return lambda samples: score


def _capped_psnr(a: Image, b: Image) -> float:
    return float(min(psnr(a, b), PSNR_MOST_DB))


def _at_720p(truth: Shot, others: Sequence[Shot]) -> Values:
    want: Prepared = prepared(truth.rgb)
    errors = [pair_error(prepared(other.rgb), want) for other in others]
    return {
        "mse_720p": [e.mse for e in errors],
        "psnr_720p": [min(e.psnr, PSNR_MOST_DB) for e in errors],
        "ssim_720p": [e.ssim for e in errors],
    }


def _sharpness(truth: Shot, others: Sequence[Shot]) -> Values:
    return {"sharpness": [sharpness(other.rgb) for other in others]}


class _Seen(NamedTuple):
    scene: SceneGraph
    looks: Mapping[str, Any]


def _seen(rgb: Image, labels: Labels, min_area: int) -> _Seen:
    scene = instances_from_labels(*labels, min_area=min_area)
    return _Seen(scene, mean_colours(rgb, *labels, CATEGORIES, min_area=min_area))


def _by_labels(truth: Shot, others: Sequence[Shot]) -> Values:
    want = _seen(*truth, MIN_AREA)
    got = [_seen(*other, MIN_AREA) for other in others]
    height, width = truth.labels.category.shape
    frames = [frame_sgcs(one.scene, want.scene, height=height, width=width) for one in got]
    return {
        "sgcs": [frame.value for frame in frames],
        "sgcs_macro": [macro_sgcs(frame) for frame in frames],
        "sgcs_objects": [object_sgcs(frame) for frame in frames],
        "sgcs_relations": [
            relation_score(one.scene, want.scene, match_by_look(one.looks, want.looks), height=height, width=width)
            for one in got
        ],
    }


def _exact(samples: Samples) -> Score:
    if not samples.exact:
        raise NotApplicableError("these recordings come without their worlds, so that there are no exact masks")
    return _by_labels


def segmented(name: str, scene_of: Callable[[Image], SceneGraph]) -> Score:
    """Score scenes that a segmenter finds in pictures by SGCS."""

    def score(truth: Shot, others: Sequence[Shot]) -> Values:
        height, width = truth.rgb.shape[:2]
        want = scene_of(truth.rgb)
        values = [frame_sgcs(scene_of(other.rgb), want, height=height, width=width).value for other in others]
        return {name: values}

    return score


def by_colour(segmenter: Segmenter, samples: Samples) -> Score:
    """SGCS with a segmenter that knows the textures of the embedded worlds, as `sgcs_` and its name."""
    if not samples.coloured:
        raise NotApplicableError("synthetic scenes do not have the textures that the segmenters by colour know")
    return segmented(f"sgcs_{segmenter.name}", lambda rgb: segmenter.segment(rgb).scene())


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


WEIGHTLESS: tuple[MetricAdapter, ...] = (
    MetricAdapter(
        _same("sgcs", "sgcs_macro", "sgcs_objects", "sgcs_relations"),
        _exact,
        blind=frozenset({"sgcs", "sgcs_macro", "sgcs_objects"}),
    ),
    MetricAdapter({"sgcs_balanced": "sgcs"}, partial(by_colour, Balanced())),
    *(
        MetricAdapter(_same(name), score_each(function, name))
        for name, function in (
            ("ssim_table", ssim_table),
            ("ssim_320x180", ssim_320x180),
            ("ssim_perturbation", ssim_perturbation),
            ("ssim_uniform", ssim_uniform),
            ("psnr", _capped_psnr),
            ("mse", mse),
        )
    ),
    MetricAdapter(_same("ssim_720p", "psnr_720p", "mse_720p"), lambda samples: _at_720p),
    MetricAdapter(_same("sharpness"), lambda samples: _sharpness, alone=True),
)
"""In the order of the tables."""

_PERCEIVED: tuple[tuple[str, str, What, str], ...] = (
    ("lpips_alex", "lpips_720p", "lpips", "lpips-alex"),
    ("lpips_vgg", "lpips_720p", "lpips", "lpips-vgg"),
    ("dino_mse", "dino_mse", "dino", "dinov3-b16"),
    ("dino_v2_mse", "dino_mse", "dino", "dinov2-b14"),
    ("aesthetic", "aesthetic", "aesthetic", "clip-laion"),
    ("imaging", "imaging", "imaging", "musiq-spaq"),
)
"""Name in the study, the metric that it is, what looks, the network that does."""


def learned_adapters(networks: Mapping[str, str]) -> tuple[MetricAdapter, ...]:
    """All learned metrics of frames."""
    names = [name for name, *_ in _PERCEIVED]
    for name in networks:
        if name not in names:
            raise UnknownNameError("learned metric", name, names)
    perceived = [
        MetricAdapter(
            {name: metric},
            partial(_opened, name, what, networks.get(name, network)),
            alone=what in ("aesthetic", "imaging"),
        )
        for name, metric, what, network in _PERCEIVED
    ]
    return (*perceived, MetricAdapter({"sgcs_sam3": "sgcs"}, _sam3))


def _opened(name: str, what: What, text: str, samples: Samples) -> Score:
    found = open_perception(text, what)
    if isinstance(found, Unavailable):
        raise AbsentWeightsError(found.reason)
    # A server answers one question at a time, and a network would hold its layers twice.
    one_at_a_time = threading.Lock()

    def score(truth: Shot, others: Sequence[Shot]) -> Values:
        with one_at_a_time:
            return {name: list(_LOOKS[what](found, truth, others))}

    return score


def _distances(lpips: Any, truth: Shot, others: Sequence[Shot]) -> list[float]:
    """Distances at the original size of the frames, as in LoopNav."""
    want = _unit(truth.rgb)
    found: list[float] = []
    for part in _parts(others):
        got = np.stack([_unit(other.rgb) for other in part])
        found += lpips.distances(got, np.broadcast_to(want, got.shape)).tolist()
    return found


def _token_errors(dino: Any, truth: Shot, others: Sequence[Shot]) -> list[float]:
    (want,) = dino.tokens(prepared(truth.rgb)[None])
    return [dino_mse(got, want) for part in _parts(others) for got in dino.tokens(_prepared(part))]


def _scores(judge: Any, truth: Shot, others: Sequence[Shot]) -> list[float]:
    return [score for part in _parts(others) for score in judge.scores(_prepared(part)).tolist()]


_LOOKS = {"lpips": _distances, "dino": _token_errors, "aesthetic": _scores, "imaging": _scores}


def _sam3(samples: Samples) -> Score:
    segmenter = estimators.get("sam3")()
    one_at_a_time = threading.Lock()
    score = segmented("sgcs_sam3", lambda rgb: segmenter.segment(rgb).scene())

    def alone(truth: Shot, others: Sequence[Shot]) -> Values:
        with one_at_a_time:
            return score(truth, others)

    return alone


def _unit(rgb: Image) -> Float32:
    return rgb.astype(np.float32) / np.float32(255)


def _prepared(part: Sequence[Shot]) -> Float32:
    return np.stack([prepared(other.rgb) for other in part])


def _parts(others: Sequence[Shot]) -> list[Sequence[Shot]]:
    return [others[start : start + BATCH] for start in range(0, len(others), BATCH)]
