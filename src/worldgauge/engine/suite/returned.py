"""Memory on surfaces that were out of view for a while: scores of one record, and the curve over time away."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import Episode
from worldgauge.core.geometry import Camera
from worldgauge.core.video import Clip, side_by_side
from worldgauge.engine.suite.contract import Record, Score, Table, Task, cached_by_task
from worldgauge.engine.suite.drift import stretch_table
from worldgauge.engine.suite.scores import cluster_of_score, make_score
from worldgauge.metrics.reobservation import EDGES_S, AwayBin, ReturnedPixels, SurfaceClock
from worldgauge.worlds import World, open_world
from worldgauge.worlds.third_person import ThirdPerson, figure_mask

RETURNED = {"returned_mse": "mse", "returned_detail": "detail"}
"""Metric -> its field of `AwayBin`."""
TITLES = {
    "returned_mse": "Surfaces back in view: mean squared error, at the model's own size",
    "returned_detail": "Surfaces back in view: detail, at the model's own size",
}
WIDTH_PX = 160
"""Width of the views that tell surfaces apart."""
PERIOD_S = 0.25
"""Time from one view to the next."""
_CURVE = "by_time_away"
_KEPT = 16
"""Tasks whose times away a process keeps for the next subject."""


def returned_scores(
    record: Record, episode: Episode, start: int, truth: Clip, rollout: Clip, *, prefix: str = ""
) -> Iterator[Score]:
    """Score a rollout on the pixels of surfaces that came back into view."""
    if episode.world is None or not isinstance(episode.camera, Camera):
        for metric in RETURNED:
            yield make_score(record, metric, None, reason="the world of this recording is not known", prefix=prefix)
        return
    crop = record.facts["crop"]
    maps = _times_away(record.task, len(episode), start, tuple(crop) if crop else None, episode=episode)
    sums = ReturnedPixels()
    indices = [index for index in sorted(maps) if index < min(len(rollout), len(truth))]
    both = (truth.resized(rollout.width, rollout.height), rollout)
    pairs = side_by_side(*(clip.picked(indices, clip.fps) for clip in both))
    for index, (want, got) in zip(indices, pairs, strict=True):
        sums.add(want, got, maps[index].astype(np.float32))
    total, curve = sums.total(), [_plain(one) for one in sums.bins()]
    for metric, name in RETURNED.items():
        value = getattr(total, name)
        yield make_score(
            record,
            metric,
            value,
            n=len(indices),
            reason=None if value is not None else _reason(total),
            facts={_CURVE: curve, "pixels": total.pixels},
            prefix=prefix,
        )


def curve_table(
    metric: str, title: str, scores: Mapping[str, Sequence[Score]], kinds: Mapping[str, str]
) -> Table | None:
    """Table of a metric over time away: means over tasks."""
    name = RETURNED[metric.rpartition("/")[2]]
    groups = []
    for own in scores.values():
        curves = [score for score in own if score.metric == metric and _CURVE in score.facts]
        clusters = [cluster_of_score(score) for score in curves]
        groups += [([score.facts[_CURVE][k][name] for score in curves], clusters) for k in range(len(EDGES_S) - 1)]
    note = "Pixels of surfaces that had been shown, were out of view for that time and are in view again."
    labels = {label: kinds[label] for label in scores}
    return stretch_table(
        metric, f"{title}, by time out of view", EDGES_S, groups, labels, note, suffix="away", fewest=1
    )


def _reason(total: AwayBin) -> str:
    return "what came back into view has no detail" if total.pixels else "nothing came back into view"


def _plain(one: AwayBin) -> dict[str, Any]:
    return {**one._asdict(), "high_s": None if math.isinf(one.high_s) else one.high_s}


@cached_by_task(maxsize=_KEPT)
def _times_away(
    task: Task, length: int, start: int, crop: tuple[int, ...] | None, *, episode: Episode
) -> dict[int, NDArray[np.float16]]:
    """Seconds away of every pixel, by index in the future; float16, to be small. length: of the episode, in frames."""
    assert episode.world is not None
    world, camera = open_world(episode.world), episode.camera
    if crop is not None:
        clip = episode.clip.cropped(crop[0], crop[1])
        camera = camera.cropped(clip.width, clip.height)
    camera = camera.resized(WIDTH_PX, max(1, round(WIDTH_PX * camera.height / camera.width)))
    fps, clock, found = episode.clip.fps, SurfaceClock(), {}
    step = max(1, round(fps * PERIOD_S))
    for index in (*range(start % step, start, step), *range(start, length, step)):
        shown = index < start
        away = clock.see(_surfaces(world, episode.poses[index], camera), index / fps, shown=shown)
        if not shown:
            found[index - start] = away.astype(np.float16)
    return found


def _surfaces(world: World, pose: NDArray[np.float64], camera: Camera) -> NDArray[np.float32]:
    """Hits of a view; a figure that walks along is no surface."""
    view = world.view(pose, camera, position=True)
    assert view.position is not None
    if not isinstance(world, ThirdPerson):
        return view.position
    return np.where(figure_mask(view)[..., None], np.float32(np.nan), view.position)
