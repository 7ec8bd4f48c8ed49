"""Learned metrics of a clip, computed in batches as the frames come; where one is missing, its reason is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.image import Image
from worldgauge.core.video import Clip
from worldgauge.engine.suite.contract import Record, Score
from worldgauge.engine.suite.scores import make_mean_score, make_score
from worldgauge.metrics.learned import dino_mse
from worldgauge.perception.loading import Perception, Unavailable, load_network
from worldgauge.perception.network_source import What
from worldgauge.suites.mind.metrics.scene_consistency import SceneDistances, scene_distances
from worldgauge.suites.mind.settings import Settings

Prepared = NDArray[np.float32]

METRICS: Mapping[What, str] = {
    "lpips": "lpips_720p",
    "dino": "dino_mse",
    "aesthetic": "aesthetic",
    "imaging": "imaging",
}
"""What is looked with -> the metric it gives."""


class LearnedScores:
    """All learned scores of one record, from pairs of frames in order; at most one batch is held.

    A network that fails on frames gives a missing score with its reason, since the other metrics do not need it. A
    network that cannot be loaded at all fails the scoring, which the next run does again.
    """

    def __init__(self, record: Record, settings: Settings, prefix: str) -> None:
        self._record = record
        self._prefix = prefix
        self._series: dict[What, list[tuple[int, float | None]]] = {what: [] for what in METRICS}
        self._reasons: dict[What, str] = {}
        self._open: dict[What, Perception] = {}
        self._batch: list[tuple[int, Prepared, Prepared]] = []
        for what in METRICS:
            found = _network_of(getattr(settings, what), what, settings.dino_input)
            if isinstance(found, Unavailable):
                self._reasons[what] = found.reason
            else:
                self._open[what] = found

    @property
    def is_looking(self) -> bool:
        """Whether any network looks at frames."""
        return bool(self._open)

    def see(self, index: int, x: Prepared, y: Prepared) -> None:
        """Add one pair of frames.

        Args:
            index: Number of the frame.
            x: Frame of the video, (720, 1280, 3) float32 in [0, 1].
            y: Real frame, likewise.
        """
        self._batch.append((index, x, y))
        if len(self._batch) == max(network.at_once for network in self._open.values()):
            self._look()

    def scores(self) -> Iterator[Score]:
        """One score per metric, after all frames have been seen."""
        self._look()
        for what, metric in METRICS.items():
            facts: dict[str, Any] = {} if what not in self._open else {"network": dict(self._open[what].settings)}
            reason = self._reasons.get(what, "no frame was looked at")
            series = [] if what in self._reasons else self._series[what]
            yield make_mean_score(self._record, metric, series, reason=reason, prefix=self._prefix, **facts)

    def _look(self) -> None:
        if not self._batch:
            return
        indices = [index for index, _, _ in self._batch]
        x, y = (np.stack([pair[side] for pair in self._batch]) for side in (1, 2))
        self._batch = []
        for what, network in self._open.items():
            if what in self._reasons:
                continue
            try:
                values = _values(network, x, y)
            except WorldgaugeError as error:
                self._reasons[what] = str(error).split("\n")[0]
                continue
            self._series[what] += zip(indices, values, strict=True)


def missing_learned(record: Record, prefix: str, why: str) -> Iterator[Score]:
    """Yield the learned scores of a record without any frame to compare.

    Args:
        record: The record.
        prefix: Prefix of the metrics.
        why: The reason.
    """
    return (make_score(record, metric, None, reason=why, prefix=prefix) for metric in METRICS.values())


class SceneLpips(NamedTuple):
    """LPIPS of the pairs of a path out and back.

    Attributes:
        distances: One per pair.
        reason: Why there are none; None where there are.
        facts: The network they come from.
    """

    distances: SceneDistances = SceneDistances((), ())
    reason: str | None = None
    facts: Mapping[str, Any] = {}


def scene_lpips(video: Clip, start: Image | None, settings: Settings) -> SceneLpips:
    """LPIPS of both pairings, the aligned one where there is a start image.

    Args:
        video: An even number of frames.
        start: The start image.
        settings: Name of the network.

    Returns:
        The distances; the reason instead where no network is named or it fails on these frames, as in `LearnedScores`.
    """
    network = _network_of(settings.lpips, "lpips", settings.dino_input)
    if isinstance(network, Unavailable):
        return SceneLpips(reason=network.reason)
    assert hasattr(network, "distances")
    facts = {"network": dict(network.settings)}
    try:
        return SceneLpips(scene_distances(video, network.distances, start, batch=network.at_once), facts=facts)
    except WorldgaugeError as error:
        return SceneLpips(reason=str(error).split("\n")[0], facts=facts)


def _network_of(text: str | None, what: What, dino_input: str) -> Perception | Unavailable:
    return load_network(text, what, parity="released" if what == "dino" and dino_input == "twice" else None)


def _values(network: Perception, x: Prepared, y: Prepared) -> list[float]:
    if hasattr(network, "tokens"):
        pairs = zip(network.tokens(x), network.tokens(y), strict=True)
        return [dino_mse(one, other) for one, other in pairs]
    found = network.distances(x, y) if hasattr(network, "distances") else network.scores(x)  # type: ignore[union-attr]
    return [float(value) for value in found]
