"""Scores of one record: the rollout against the recorded way back, on the same aligned frames.

LPIPS and FVD need learned features; where a network is missing, the score carries the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import Episode
from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.intervals import jackknife_interval
from worldgauge.core.video import Clip, resize, side_by_side
from worldgauge.engine.suite.contract import Cell, Record, Score, TaskContext
from worldgauge.engine.suite.drift import ColourMeter, both_colours
from worldgauge.engine.suite.returned import returned_frames, returned_scores
from worldgauge.engine.suite.rollout import open_rollout
from worldgauge.engine.suite.scores import cluster_of_score, make_mean_score, make_score
from worldgauge.metrics.colour import ColourMoments, detail_correlation
from worldgauge.metrics.lpips_fvd import fvd, fvd_pair
from worldgauge.metrics.psnr_ssim import sharpness
from worldgauge.perception.loading import AskedLpips, LocalLpips, Unavailable, VideoFeatures, load_network
from worldgauge.perception.score_device import Means, pairs_at_once
from worldgauge.suites.loopnav.metrics.sgcs import sample_pairs
from worldgauge.suites.loopnav.scenes import scene_scores
from worldgauge.suites.loopnav.settings import LoopNavSettings
from worldgauge.suites.loopnav.tasks import episode_of

SET_LEVEL = "a distance of two sets of videos: it stands in the table"
"""Why no single video has an FVD."""
LPIPS = ("lpips", "lpips_320x180")
COMMON_SIZE = (320, 180)
FEWEST_FRAMES = 10
"""Of a video that I3D looks at (LoopNav, section 4)."""


def learned_scores(record: Record, truth: Clip, rollout: Clip, settings: LoopNavSettings) -> Iterator[Score]:
    """LPIPS per frame (at the model's size and 320x180), FVD, and features for FVD of a set; None has a reason."""
    fitted = truth.resized(rollout.width, rollout.height)
    common = rollout.resized(*COMMON_SIZE), truth.resized(*COMMON_SIZE)
    yield from _lpips(record, {"lpips": (rollout, fitted), "lpips_320x180": common}, settings)
    yield from _fvd(record, fitted, rollout, settings)


def fvd_cell(scores: Sequence[Score]) -> Cell:
    """FVD of a set: the Frechet distance between rollouts and recordings, with a jackknife interval."""
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


def score(record: Record, task_context: TaskContext, settings: LoopNavSettings) -> list[Score]:
    """Score one record."""
    episode, start, rollout = _opened(record, settings)
    compared = _drawable(_compared(episode, start, len(rollout), settings), record)
    scores = [
        *_pixel_scores(record, compared, rollout, settings, task_context),
        *_memory_scores(record, episode, start, rollout, task_context, settings),
        *learned_scores(record, compared, rollout, settings),
    ]
    return sorted(scores, key=lambda s: s.metric)


def memory_scores(record: Record, task_context: TaskContext, settings: LoopNavSettings) -> list[Score]:
    """Score what shows memory."""
    return _memory_scores(record, *_opened(record, settings), task_context, settings)


def _opened(record: Record, settings: LoopNavSettings) -> tuple[Episode, int, Clip]:
    """The recording, its first hidden frame and the rollout; the frames that several metrics look at are held."""
    episode, start = episode_of(record.task)
    rollout = open_rollout(record)
    pairs = sample_pairs(len(rollout), min(len(rollout), len(episode) - start), settings.stride)
    shared = [at - start for at in returned_frames(episode, start) if at - start < len(rollout)]
    clip = episode.clip.holding(start + at for at in (*pairs.indices_b, *shared))
    return replace(episode, clip=clip), start, rollout.holding((*pairs.indices_a, *shared))


def _memory_scores(
    record: Record, episode: Episode, start: int, rollout: Clip, task_context: TaskContext, settings: LoopNavSettings
) -> list[Score]:
    truth = _drawable(episode.clip[start : start + len(rollout)], record)
    scenes = scene_scores(record, episode, start, truth, rollout, settings, task_context.means)
    return [*scenes, *returned_scores(record, episode, start, truth, rollout)]


def compared_clips(record: Record, settings: LoopNavSettings) -> tuple[Clip, Clip]:
    """Return the frames that pixel metrics compare, at the rollout's size."""
    episode, start = episode_of(record.task)
    rollout = open_rollout(record)
    truth = _drawable(_compared(episode, start, len(rollout), settings), record)
    return truth.resized(rollout.width, rollout.height), rollout


def _compared(episode: Episode, start: int, count: int, settings: LoopNavSettings) -> Clip:
    """Frames of the recording that pixel metrics compare: the way back, or the fault of the release."""
    first = 0 if settings.alignment == "start" else start
    return episode.clip[first : first + count]


def _drawable(clip: Clip, record: Record) -> Clip:
    """The centre part that the model can draw, when it declared one."""
    crop = record.facts["crop"]
    return clip.cropped(*crop) if crop else clip


def _pixel_scores(
    record: Record, truth: Clip, rollout: Clip, settings: LoopNavSettings, task_context: TaskContext
) -> Iterator[Score]:
    """Per-frame scores at the rollout's size, SSIM at the common one from the recording's own pixels, and sharpness."""
    series: dict[str, list[tuple[int, float | None]]] = {name: [] for name in METRICS}
    colours = ColourMeter()
    means = task_context.means
    at_once = pairs_at_once(max(rollout.width, truth.width), max(rollout.height, truth.height))
    compared = means.each(partial(_of_pairs, means), side_by_side(rollout, truth), at_once=at_once)
    for index, (found, seen) in enumerate(compared):
        for name, value in found.items():
            series[name].append((index, value))
        colours.add(index, *seen)
        task_context.progress(index + 1, len(rollout))
    for name, values in series.items():
        yield make_mean_score(record, name, values, alignment=settings.alignment)
    yield from colours.scores(record, truth.fps)


METRICS = ("ssim_table", "ssim_320x180", "psnr", "mse", "detail", "sharpness")

_Colours = tuple[ColourMoments, ColourMoments]


def _of_pairs(means: Means, pairs: Sequence[Any]) -> list[tuple[dict[str, float | None], _Colours]]:
    """Values by metric and colours of pairs of a generated and a true frame; in a thread of its own."""
    fitted = ((got, resize(want, got.shape[1], got.shape[0])) for got, want in pairs)
    return [
        ({**values, "detail": detail_correlation(got, want), "sharpness": sharpness(got)}, both_colours(got, want))
        for values, (got, want) in zip(means.pixels_of(pairs), fitted, strict=True)
    ]
