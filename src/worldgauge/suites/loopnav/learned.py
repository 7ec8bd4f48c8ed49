"""Distances by learned features: LPIPS of frames and FVD of videos.

Where a network is missing, the score carries the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.statistics import jackknife_interval
from worldgauge.core.video import Clip, side_by_side
from worldgauge.engine.suite.contract import Cell, Record, Score
from worldgauge.engine.suite.scores import make_mean_score, make_score
from worldgauge.engine.suite.tables import cluster_of_score
from worldgauge.metrics.learned import fvd, fvd_pair
from worldgauge.perception.loading import AskedLpips, LocalLpips, Unavailable, VideoFeatures, load_network
from worldgauge.suites.loopnav.settings import LoopNavSettings

SET_LEVEL = "a distance of two sets of videos: it stands in the table"
"""Why no single video has an FVD."""
LPIPS = ("lpips", "lpips_320x180")
COMMON_SIZE = (320, 180)
FEWEST_FRAMES = 10
"""Of a video that I3D looks at (LoopNav, section 4)."""


def learned_scores(record: Record, truth: Clip, rollout: Clip, settings: LoopNavSettings) -> Iterator[Score]:
    """LPIPS of every frame, FVD of the pair, and the features that the FVD of a set is made of.

    LPIPS is taken at the model's own size, and at the common one, 320x180, with the recording's own pixels. Where no
    network is named, its weights are not on this machine, or it fails on these frames, the score is None and carries
    the reason.

    Args:
        record: What the model gave.
        truth: The recorded way back, cut to the rollout's view.
        rollout: Generated frames, as many as `truth`.
        settings: Names of the networks.
    """
    fitted = truth.resized(rollout.width, rollout.height)
    common = rollout.resized(*COMMON_SIZE), truth.resized(*COMMON_SIZE)
    yield from _lpips(record, {"lpips": (rollout, fitted), "lpips_320x180": common}, settings)
    yield from _fvd(record, fitted, rollout, settings)


def fvd_cell(scores: Sequence[Score]) -> Cell:
    """FVD of a set: the Frechet distance between rollouts and recordings, with a jackknife interval.

    Args:
        scores: Scores of the metric "fvd", whose facts hold the features of both videos.

    Returns:
        The cell; empty for fewer than two pairs.
    """
    known = [score for score in scores if "features" in score.facts]
    both, clusters = [score.facts["features"] for score in known], [cluster_of_score(score) for score in known]
    if len(both) < 2:
        return Cell(None, None, 0, expected=len(scores))
    ours, theirs = (np.array([one[side] for one in both]) for side in ("rollout", "recording"))

    def distance(kept: NDArray[np.int64]) -> float:
        return float(fvd(ours[kept], theirs[kept]))

    interval = jackknife_interval(len(both), distance, clusters)
    low, high = (None, None) if interval is None else (max(0.0, interval.low), interval.high)
    method = "" if interval is None else "jackknife"
    return Cell(distance(np.arange(len(both))), None, len(both), low, high, len(scores), len(set(clusters)), method)


def _lpips(record: Record, sides: Mapping[str, tuple[Clip, Clip]], settings: LoopNavSettings) -> Iterator[Score]:
    """LPIPS of both clips of each metric."""
    network = load_network(settings.lpips, "lpips")
    if isinstance(network, Unavailable):
        yield from (make_score(record, metric, None, reason=network.reason) for metric in LPIPS)
        return
    assert isinstance(network, AskedLpips | LocalLpips)
    network_facts = dict(network.settings)
    for metric, clips in sides.items():
        values: list[float] = []
        try:
            pairs = side_by_side(*clips)
            while part := list(islice(pairs, network.at_once)):
                x, y = (np.stack(side).astype(np.float32) / np.float32(255) for side in zip(*part, strict=True))
                values += network.distances(x, y).tolist()
        except WorldgaugeError as error:
            yield make_score(record, metric, None, reason=_line(error), facts={"network": network_facts})
            continue
        yield make_mean_score(record, metric, list(enumerate(values)), network=network_facts)


def _fvd(record: Record, truth: Clip, rollout: Clip, settings: LoopNavSettings) -> Iterator[Score]:
    network = load_network(settings.fvd, "video")
    reason, facts = "", {}
    if isinstance(network, Unavailable):
        reason = network.reason
    elif len(rollout) < FEWEST_FRAMES:
        reason = f"a video of {len(rollout)} frames; FVD takes {FEWEST_FRAMES} or more"
    else:
        assert isinstance(network, VideoFeatures)
        facts = {"network": dict(network.settings)}
        try:
            ours, theirs = (network.features(clip) for clip in (rollout, truth))
        except WorldgaugeError as error:
            reason = _line(error)
    if reason:
        yield make_score(record, "fvd_pair", None, reason=reason, facts=facts)
        yield make_score(record, "fvd", None, reason=reason, facts=facts)
        return
    yield make_score(record, "fvd_pair", fvd_pair(ours, theirs), facts=facts)
    features: Mapping[str, Any] = {"rollout": ours.tolist(), "recording": theirs.tolist()}
    yield make_score(record, "fvd", None, reason=SET_LEVEL, facts={**facts, "features": features})


def _line(error: Exception) -> str:
    return str(error).split("\n")[0]
