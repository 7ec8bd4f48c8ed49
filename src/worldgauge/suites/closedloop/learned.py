"""Scores of imagined frames by networks: LPIPS against the simulator's frames, and how good they look on their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.image import Frames
from worldgauge.core.video import resize
from worldgauge.engine.suite.contract import Record, Score, mean_of_known
from worldgauge.engine.suite.scores import make_score
from worldgauge.perception.loading import Perception, Unavailable, load_network
from worldgauge.perception.naming import What
from worldgauge.suites.closedloop.metrics.controllability import SIZE_PX, controllability_lpips
from worldgauge.suites.closedloop.task import Settings

METRICS: Mapping[What, str] = {"lpips": "controllability_lpips", "aesthetic": "aesthetic", "imaging": "imaging"}
"""What is looked with -> the metric it gives. Each is a setting of that name."""


def learned_scores(record: Record, imagined: Frames, real: Frames, settings: Settings) -> Iterator[Score]:
    """One score per metric, over all compared frames of an episode; missing with the reason where there is no network.

    Frames are compared at 384 x 384, the size of the paper's views.

    Args:
        record: What the agent did.
        imagined: (n, H, W, 3).
        real: (n, H, W, 3) of the simulator.
        settings: Names of the networks.
    """
    for what, metric in METRICS.items():
        network = load_network(getattr(settings, what), what)
        if isinstance(network, Unavailable):
            yield make_score(record, metric, None, reason=network.reason)
            continue
        facts = {"network": dict(network.settings)}
        try:
            parts = _parts(len(imagined), network.at_once)
            values = [one for part in parts for one in _values(network, imagined[part], real[part])]
        except WorldgaugeError as error:
            yield make_score(record, metric, None, reason=str(error).split("\n")[0], facts=facts)
            continue
        value = controllability_lpips(values) if what == "lpips" else mean_of_known(values)
        yield make_score(record, metric, value, n=len(values), facts=facts)


def missing_learned(record: Record, why: str) -> Iterator[Score]:
    """The same scores for a record without any frame to compare; `why` is their reason."""
    return (make_score(record, metric, None, reason=why) for metric in METRICS.values())


def _values(network: Perception, imagined: Frames, real: Frames) -> list[float]:
    seen = _floats(imagined)
    if hasattr(network, "distances"):
        return [float(one) for one in network.distances(seen, _floats(real))]
    return [float(one) for one in network.scores(seen)]  # type: ignore[union-attr]


def _floats(frames: Frames) -> NDArray[np.float32]:
    return np.stack([resize(frame, SIZE_PX, SIZE_PX) for frame in frames]).astype(np.float32) / np.float32(255)


def _parts(n: int, size: int) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, n, size))
