"""Metrics under study that need weights. Each is a row of the study, even where its weights are missing."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from worldgauge.core.errors import UnknownNameError
from worldgauge.core.image import Image
from worldgauge.metrics.frame_pairs import prepared
from worldgauge.metrics.learned import dino_mse
from worldgauge.perception import estimators
from worldgauge.perception.loading import BATCH, Float32, Unavailable, open_perception
from worldgauge.perception.naming import What
from worldgauge.weights import AbsentWeightsError
from worldgauge_lab.validate_metrics.metric_adapters import MetricAdapter, Score, Values, segmented
from worldgauge_lab.validate_metrics.samples import Samples, Shot

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
    """All learned metrics of frames.

    Args:
        networks: What a metric uses instead of its own network, by metric, in the form that `open_perception` takes.

    Returns:
        One adapter per metric.

    Raises:
        UnknownNameError: For a name that is not a learned metric.
    """
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
