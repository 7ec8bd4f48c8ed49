"""Scores of an episode: what the last frames show of the thing, whether the model looked away, and the room itself.

The state that a frame shows is that of the nearest of the exactly rendered alternatives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import Episode
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Frames, Image
from worldgauge.core.video import Clip, resize
from worldgauge.engine.suite.contract import Record, Score, Task, cached_by_task
from worldgauge.engine.suite.scores import make_mean_score, make_score
from worldgauge.metrics.alternatives import DIFFERS, shown_alternative
from worldgauge.metrics.psnr_ssim import psnr
from worldgauge.metrics.reobservation import returned_detail
from worldgauge.suites.unseen import metrics
from worldgauge.suites.unseen.format import FPS, SHOWN, STILL, TURN
from worldgauge.suites.unseen.metrics import NEAR, Outcome, progress
from worldgauge.suites.unseen.worlds import LAMP, GoingOn
from worldgauge.worlds import open_world
from worldgauge.worlds.indoor.camera import render

METRICS = ("advanced", "as_left", "looked_away", "progress", "returned_detail", "psnr")
STEPS = 16
"""Alternatives between the state that was left and the true one."""
READABLE = {"cart": 1.0, "level": 1.0, "lamp": 0.5}
"""Largest fit of a frame that shows a state. A lamp in the mean of its colours shows none."""
SURE = 1 / 4
"""A frame that fits this well is nearer to what it shows than to anything else, whatever its errors."""
_REACH = 1 / 32
"""Part of the picture's width by which a frame is shifted at most, so that the room fits."""
_BETTER = 0.8


class Alternatives(NamedTuple):
    """What the last frames may show: a picture (H, W, 3) for each state, and one without the thing, the last."""

    states: FloatArray
    frames: Frames


def states_between(world: GoingOn, left: float, true: float) -> FloatArray:
    """States that a picture is compared with: all colours of a lamp; else 1/16 of the way apart, from the first that
    was shown to as far beyond the true one as that is from the one that was left."""
    if world.process == "lamp":
        return np.arange(len(LAMP), dtype=np.float64)
    if true == left:
        raise DataError(f"a {world.process} that stays at {left:g} has not gone on; collect the data again")
    step = (true - left) / STEPS
    back = int(np.floor((left - world.start) / step + 1e-9))
    return np.asarray(left + step * np.arange(-back, 2 * STEPS + 1), np.float64)


def pictures_of(
    world: GoingOn, states: FloatArray, pose: FloatArray, camera: Camera, size: tuple[int, int]
) -> list[Image]:
    """Render each state, and last the place without the thing, and resize them."""
    scenes = [*map(world.showing, states.tolist()), world.showing(None)]
    return [resize(render(scene, pose, camera).rgb, *size) for scene in scenes]


def alternatives_of(episode: Episode, camera: Camera, size: tuple[int, int]) -> Alternatives:
    """What the last frames of an episode may show; states that look the same are one."""
    world = world_of(episode)
    states = states_between(world, world.state_at(world.time_s), world.state_at(end_s(episode)))
    *frames, absent = pictures_of(world, states, episode.poses[-1], camera, size)
    kept = [n for n, frame in enumerate(frames) if n == 0 or not np.array_equal(frame, frames[n - 1])]
    means = [part.mean() for part in np.split(states, kept[1:])]
    return Alternatives(np.array(means), np.stack([*(frames[n] for n in kept), absent]))


class Reading(NamedTuple):
    """What the last frames show. state: None if it cannot be read; progress: 0 as it was left, 1 where it is, None for
    a lamp; fit: of the last frame; readable: number of frames; room: see `_room`."""

    outcome: Outcome
    state: float | None
    progress: float | None
    fit: float
    readable: int
    room: float


def read_end(frames: Sequence[Image], want: Image, episode: Episode, shown: Alternatives) -> Reading:
    """Read the last frames of a rollout; `want` is the last true one."""
    world, end = world_of(episode), end_s(episode)
    left, true, none = world.state_at(world.time_s), world.state_at(end), len(shown.states)
    if world.process == "lamp":  # what it showed before its last change is another colour
        frames = [frame for back, frame in enumerate(reversed(frames)) if world.state_at(end - back / FPS) == true]
        frames.reverse()
    still = (shown.frames.max(0) - shown.frames.min(0) <= DIFFERS).all(-1)
    shift = _shift(frames[-1], want, still)
    moved = [_moved(frame, shift) for frame in frames]
    room = _room(moved[-1], want, still)
    found = [shown_alternative(frame, shown.frames, none) for frame in moved]
    read = [
        (n, one.index)
        for n, one in enumerate(found)
        if one.readable and one.fit <= READABLE[world.process] and one.index != none
    ]
    rest = found[-1].fit, len(read), room
    if 2 * len(read) < len(frames) or room <= 0:
        return Reading("other", None, None, *rest)
    states = [float(shown.states[index]) for _, index in read]
    if world.process == "lamp":
        state = Counter(states).most_common(1)[0][0]
        outcome: Outcome = "advanced" if state == true else "as left" if state == left else "other"
        return Reading(outcome, state, None, *rest)
    times = [end - (len(frames) - 1 - n) / FPS for n, _ in read]
    way = fmean(progress(state, left, world.state_at(time)) for state, time in zip(states, times, strict=True))
    outcome = "advanced" if abs(way - 1) <= NEAR else "as left" if abs(way) <= NEAR else "other"
    return Reading(outcome, fmean(states), way, *rest)


def looks_away(frame: Image, away: Image, in_view: Frames) -> bool:
    """Whether a frame in the middle of the wait does not surely show a view with the thing in it.
    `in_view`: the last frame that was shown and those of the turn, (n, H, W, 3); `away`: the true frame."""
    shown = shown_alternative(frame, np.stack([away, *in_view]), 0)
    return shown.index in (0, None) or shown.fit >= SURE


def _shift(frame: Image, want: Image, still: NDArray[np.bool_]) -> tuple[int, int]:
    """Rows and columns by which a frame is off, as far as the pixels tell in which nothing moves."""
    reach = round(frame.shape[1] * _REACH)
    inner = np.s_[reach : frame.shape[0] - reach, reach : frame.shape[1] - reach]
    if not reach or not still[inner].any():
        return 0, 0
    tint = (frame[still].astype(np.float32) - want[still]).mean(0)
    mask = np.repeat(still[inner][..., None], 3, axis=-1).astype(np.float32)
    errors = cv2.matchTemplate(frame - tint, want[inner].astype(np.float32), cv2.TM_SQDIFF, mask=mask)
    down, across = np.unravel_index(int(errors.argmin()), errors.shape)
    if errors[down, across] >= _BETTER * errors[reach, reach]:
        return 0, 0
    return int(down) - reach, int(across) - reach


def _room(frame: Image, want: Image, still: NDArray[np.bool_]) -> float:
    """How well a frame shows what does not move: 1 exactly, 0 no better than a flat picture (R squared)."""
    real = want[still].astype(np.float64)
    error = frame[still] - real
    rest, spread = (np.square(one - one.mean(0)).sum() for one in (error, real))
    return float(1 - rest / spread) if spread else 0.0


def _moved(frame: Image, shift: tuple[int, int]) -> Image:
    """A frame moved back by a shift; its edges are repeated."""
    if shift == (0, 0):
        return frame
    down, across = shift
    rows = np.clip(np.arange(frame.shape[0]) + down, 0, frame.shape[0] - 1)
    columns = np.clip(np.arange(frame.shape[1]) + across, 0, frame.shape[1] - 1)
    return np.asarray(frame[rows][:, columns])


def world_of(episode: Episode) -> GoingOn:
    """The world of an episode, at the last frame that is shown."""
    world = None if episode.world is None else open_world(episode.world)
    if not isinstance(world, GoingOn):
        raise DataError(f"{episode.id}: its world is not 'going-on'; collect the data again")
    return world


def end_s(episode: Episode) -> float:
    """Time of the last frame."""
    return (len(episode) - 1) / FPS


def truth_of(episode: Episode) -> Outcome:
    """What is read of the recording itself."""
    size = episode.camera.width, episode.camera.height
    frames = list(episode.clip[len(episode) - STILL :])
    return read_end(frames, frames[-1], episode, alternatives_of(episode, episode.camera, size)).outcome


def scores(record: Record, episode: Episode, truth: Clip, rollout: Clip) -> list[Score]:
    """Score a rollout; `truth` has its size. All is compared at the smaller size of recording and rollout."""
    if len(rollout) != len(truth):
        return _missing(record, f"the rollout has {len(rollout)} of {len(truth)} frames, and does not look back")
    width, height = min((rollout.width, rollout.height), (episode.camera.width, episode.camera.height))
    want, got = (clip.resized(width, height) for clip in (truth, rollout))
    crop = tuple(record.facts.get("crop") or ())
    shown = _alternatives(record.task, (width, height), crop, episode=episode)
    away_s, (hidden, _) = episode.facts["away_s"], episode.facts["unseen"]
    middle = TURN + FPS * away_s // 2
    whole = episode.clip.cropped(*crop) if crop else episode.clip
    in_view = np.stack(list(whole[SHOWN - 1 : hidden].resized(width, height)))
    try:
        away = looks_away(got[middle], want[middle], in_view)
        found = read_end(list(got[len(got) - STILL :]), want[-1], episode, shown)
    except DataError as error:  # a picture of a few pixels
        return _missing(record, f"at {width}x{height} the states look alike ({error})")
    outcome: metrics.Outcome = found.outcome if away else "did not look away"
    way = found.progress if away else None
    rest_s = (len(episode) - SHOWN) / FPS
    back = (shown.frames.max(0) - shown.frames.min(0) <= DIFFERS).all(-1) * np.float32(rest_s)
    detail = returned_detail([(want[-1], got[-1], back)])
    no_way = "a lamp has colours, no way" if found.state is not None else "no state can be read"
    return [
        make_score(record, "advanced", metrics.advanced(outcome), facts={**found._asdict(), "outcome": outcome}),
        make_score(record, "as_left", metrics.as_left(outcome)),
        make_score(record, "looked_away", metrics.looked_away(outcome)),
        make_score(record, "progress", way, n=found.readable, reason=no_way if way is None else None),
        make_score(record, "returned_detail", detail, reason="the room has no detail" if detail is None else None),
        make_mean_score(record, "psnr", [(n, psnr(a, b)) for n, (a, b) in enumerate(zip(got, want, strict=True))]),
    ]


def _missing(record: Record, reason: str) -> list[Score]:
    return [make_score(record, name, None, reason=reason) for name in METRICS]


@cached_by_task(maxsize=16)
def _alternatives(task: Task, size: tuple[int, int], crop: tuple[int, ...], *, episode: Episode) -> Alternatives:
    """What every model is compared with."""
    camera = episode.camera
    if crop:
        clip = episode.clip.cropped(*crop)
        camera = camera.cropped(clip.width, clip.height)
    return alternatives_of(episode, camera, size)
