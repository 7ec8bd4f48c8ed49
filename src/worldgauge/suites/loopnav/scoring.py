"""Scores of one record: the rollout against the recorded way back, on the same aligned frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from worldgauge.core.episode import Episode
from worldgauge.core.video import Clip, resize, side_by_side
from worldgauge.engine.suite.contract import Record, Score, TaskContext
from worldgauge.engine.suite.drift import ColourMeter, both_colours
from worldgauge.engine.suite.returned import returned_scores
from worldgauge.engine.suite.rollout import open_rollout
from worldgauge.engine.suite.scores import make_mean_score
from worldgauge.metrics.colour import ColourMoments
from worldgauge.metrics.high_frequency import detail_correlation
from worldgauge.metrics.pixel import sharpness
from worldgauge.perception.score_device import Means, pairs_at_once
from worldgauge.suites.loopnav.learned import learned_scores
from worldgauge.suites.loopnav.scenes import scene_scores
from worldgauge.suites.loopnav.settings import LoopNavSettings
from worldgauge.suites.loopnav.tasks import episode_of


def score(record: Record, task_context: TaskContext, settings: LoopNavSettings) -> list[Score]:
    """Score one record.

    Args:
        record: The record.
        task_context: Folder and progress.
        settings: Settings of the suite.

    Returns:
        Scores, sorted by name.

    Raises:
        DataError: The stored rollout does not fit its facts.
    """
    episode, start = episode_of(record.task)
    rollout = open_rollout(record)
    truth = _drawable(episode.clip[start : start + len(rollout)], record)
    compared = _drawable(_compared(episode, start, len(rollout), settings), record)
    scores = [
        *_pixel_scores(record, compared, rollout, settings, task_context),
        *scene_scores(record, episode, start, truth, rollout, settings, task_context.means),
        *returned_scores(record, episode, start, truth, rollout),
        *learned_scores(record, compared, rollout, settings),
    ]
    return sorted(scores, key=lambda s: s.metric)


def compared_clips(record: Record, settings: LoopNavSettings) -> tuple[Clip, Clip]:
    """Return the frames that pixel metrics compare, at the rollout's size.

    Args:
        record: The record.
        settings: Settings of the suite.

    Returns:
        Those of the recording and those of the rollout.
    """
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
    """SSIM, PSNR, MSE and detail of every frame at the rollout's own size, SSIM at the common one; its sharpness.

    At the common size, the recording comes from its own pixels: a rollout of fewer pixels pays for missing detail.
    """
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
        (
            {**values, "detail": detail_correlation(got, want), "sharpness": sharpness(got)},
            both_colours(got, want),
        )
        for values, (got, want) in zip(means.pixels_of(pairs), fitted, strict=True)
    ]
