"""Memory on surfaces that were out of view for a while and not in view at the last: scores, and the curve over time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import Episode
from worldgauge.core.geometry import Camera, invert
from worldgauge.core.video import Clip, side_by_side
from worldgauge.engine.suite.contract import Record, Score, Table, Task, cached_by_task
from worldgauge.engine.suite.drift import stretch_table
from worldgauge.engine.suite.scores import cluster_of_score, make_score
from worldgauge.metrics.reobservation import CELL, EDGES_S, AwayBin, ReturnedPixels, SurfaceClock
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
RECENT_S = 1.0
"""Seconds at the end of a context whose surfaces do not count."""
PERIOD_S = 0.25
"""Time from one view to the next."""
_CURVE = "by_time_away"
_NEAR_M, _SLANT = 0.05, 0.1
"""A pixel of a slanted surface covers more of it the farther away it is."""
_KEPT = 16
"""Tasks whose times away a process keeps for the next model."""


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


def returned_frames(episode: Episode, start: int) -> range:
    """Frames of an episode whose pixels `returned_scores` compares. start: index of the first hidden frame."""
    return range(start, len(episode), _step(episode.clip.fps))


def _step(fps: float) -> int:
    return max(1, round(fps * PERIOD_S))


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
    note = (
        "Pixels of surfaces that had been shown before the last second, were out of view for that time and are in "
        "view again."
    )
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
    """Seconds away of every pixel, by index in the future; float16, to be small. `length`: frames of the episode."""
    assert episode.world is not None
    world, camera = open_world(episode.world), episode.camera
    if crop is not None:
        clip = episode.clip.cropped(crop[0], crop[1])
        camera = camera.cropped(clip.width, clip.height)
    camera = camera.resized(WIDTH_PX, max(1, round(WIDTH_PX * camera.height / camera.width)))
    fps, clock, found = episode.clip.fps, SurfaceClock(), {}
    step = _step(fps)
    recent: list[tuple[NDArray[np.float64], NDArray[np.float32]]] = []
    for index in (*range((start - 1) % step, start, step), *range(start, length, step)):
        shown, pose = index < start, episode.poses[index]
        surfaces = _surfaces(world, pose, camera)
        away = clock.see(surfaces, index / fps, shown=shown)
        if not shown:
            for where, seen in recent:  # redrawing what the end of the context shows takes no memory
                away[_shows(where, seen, camera, surfaces)] = 0
            found[index - start] = away.astype(np.float16)
        elif index >= start - fps * RECENT_S:
            recent.append((pose, surfaces))
    return found


def _shows(
    pose: NDArray[np.float64], seen: NDArray[np.float32], camera: Camera, surfaces: NDArray[np.float32]
) -> NDArray[np.bool_]:
    """Which of the hits (H, W, 3) the view from a pose shows, whose own hits are `seen`."""
    to_camera = invert(pose)
    places = surfaces @ to_camera[:3, :3].T + to_camera[:3, 3]
    depth = places[..., 2]
    ahead = depth > _NEAR_M
    far = np.where(ahead, depth, 1.0)
    u = np.floor(camera.fx * places[..., 0] / far + camera.cx)
    v = np.floor(camera.fy * places[..., 1] / far + camera.cy)
    inside = ahead & (u >= 0) & (u < camera.width) & (v >= 0) & (v < camera.height)
    columns, rows = (np.where(inside, at, 0).astype(np.int64) for at in (u, v))
    apart = np.linalg.norm(seen[rows, columns] - surfaces, axis=-1)
    return np.asarray(inside & (apart < CELL + _SLANT * far))


def _surfaces(world: World, pose: NDArray[np.float64], camera: Camera) -> NDArray[np.float32]:
    """Hits of a view; a figure that walks along is no surface."""
    view = world.view(pose, camera, position=True)
    assert view.position is not None
    if not isinstance(world, ThirdPerson):
        return view.position
    return np.where(figure_mask(view)[..., None], np.float32(np.nan), view.position)
