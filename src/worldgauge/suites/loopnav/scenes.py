"""SGCS of one record and what else its scenes tell: variants, coverage, loop closure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.episode import Episode
from worldgauge.errors import NotApplicableError
from worldgauge.estimators import estimators
from worldgauge.estimators.segment import Accuracy, Colour, Exact, Labels, accuracy_against_exact, min_area
from worldgauge.geometry import Camera, FloatArray, yaw_pitch_from_pose
from worldgauge.metrics.coverage import coverage, seen_surfaces
from worldgauge.metrics.scene_relations import match_by_look, mean_colours, relation_score
from worldgauge.metrics.scene_variants import (
    chance_corrected,
    chance_level,
    drift_tolerant_sgcs,
    informative_sgcs,
    loop_closure,
    macro_sgcs,
    object_sgcs,
    seen_sgcs,
    sgcs_by_coverage,
    unseen_sgcs,
)
from worldgauge.metrics.sgcs import CATEGORIES, FrameScore, Scene, sample_pairs, sgcs
from worldgauge.suites.contract import Record, Score, Task, mean_of
from worldgauge.suites.loopnav.settings import Settings
from worldgauge.suites.loopnav.tasks import episode_of
from worldgauge.suites.scores import mean_score, score_of
from worldgauge.video import Clip, Frame
from worldgauge.worlds import View, open_world

COVERAGE_WIDTH_PX = 160
COVERAGE_STRIDE = 4
ACCURACY_STRIDE = 4
"""Every so many sampled frames one measures the segmenter: rendering its exact labels costs as much as all the rest."""

KEPT = 64
"""Tasks whose truth stays segmented in a process: subjects come one after the other over the same tasks."""

CLOSING_FRAMES = 5
STILL_M = 0.05


class Seen(NamedTuple):
    """One segmented frame: its instances, and the mean colour of each."""

    scene: Scene
    looks: dict[str, FloatArray]


def scene_scores(
    record: Record, episode: Episode, start: int, truth: Clip, rollout: Clip, settings: Settings
) -> Iterator[Score]:
    """SGCS and every variant that needs no weights, from one segmentation of each sampled frame.

    truth: the way back, cut to what the model draws.
    """
    pairs = sample_pairs(len(rollout), len(truth), settings.stride)
    width, height = min(rollout.width, truth.width), min(rollout.height, truth.height)
    fitted = rollout.resized(width, height)
    got = [_seen(fitted_frame, "colour", None) for fitted_frame in fitted.take(pairs.indices_a)]
    frames_shown = tuple(start + i for i in pairs.indices_b)
    want = _truth_scenes(record.task, frames_shown, (width, height), record.facts["crop"], settings.segmenter)
    size: dict[str, Any] = {"height": height, "width": width, "tau": settings.tau}
    scenes_got, scenes_want = [s.scene for s in got], [s.scene for s in want]
    rules: dict[str, Any] = {"empty": settings.empty, "matching": settings.matching}
    video, frames = sgcs(scenes_got, scenes_want, **size, **rules)
    covered = _coverage(record.task, frames_shown)
    at = pairs.indices_a

    def series(values: Iterable[float | None]) -> list[tuple[int, float | None]]:
        return list(zip(at, values, strict=True))

    values = [frame.value for frame in frames]
    yield mean_score(
        record,
        "sgcs",
        series(values),
        reason="no sampled frame shows any category",
        undefined_frames=video.undefined,
        segmenter=settings.segmenter,
        categories=_by_category(frames),
        by_coverage=[b._asdict() for b in sgcs_by_coverage(values, covered)] if covered else [],
    )
    yield mean_score(record, "sgcs_macro", series(macro_sgcs(f) for f in frames))
    yield mean_score(record, "sgcs_objects", series(object_sgcs(f) for f in frames), reason="no frame shows an object")
    yield _maybe(record, "sgcs_informative", informative_sgcs(frames), "no frame shows more than sky and grass")
    chance = chance_level(scenes_got, scenes_want, **size, **rules)
    yield _maybe(record, "sgcs_chance_corrected", chance_corrected(video.value, chance), "the chance level is 1")
    relations = (
        relation_score(a.scene, b.scene, match_by_look(a.looks, b.looks), height=height, width=width)
        for a, b in zip(got, want, strict=True)
    )
    yield mean_score(record, "sgcs_relations", series(relations), reason="no frame shows two objects")
    shifted, _ = drift_tolerant_sgcs(scenes_got, scenes_want, window=1, **size, **rules)
    yield _maybe(record, "sgcs_drift_tolerant", shifted.value, "no frame has a value")
    yield from _by_coverage(record, values, covered)
    yield _segmenter_accuracy(record, frames_shown)
    yield _closure(record, episode, start, scenes_got, at, size, settings)


def _seen(rgb: Frame, segmenter: str, view: View | None) -> Seen:
    labels = estimators.get(segmenter)().segment(rgb, view)
    looks = mean_colours(rgb, labels.category, labels.instance, CATEGORIES, min_area=min_area(labels.category.shape))
    return Seen(labels.scene(), looks)


def _truth_scenes(
    task: Task, indices: tuple[int, ...], size: tuple[int, int], crop: Sequence[int] | None, segmenter: str
) -> list[Seen]:
    """Segmented frames of the recording; kept, because every subject is compared with the same ones."""
    return _truth_scenes_cached(_Key(task), indices, size, tuple(crop) if crop else None, segmenter)


class _Key:
    """A task as a cache key: equal when recording and split are."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._key = (task.id, task.fingerprint, task.sample["source"], task.sample["generated_from"])

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._key == other._key


@lru_cache(maxsize=KEPT)
def _truth_scenes_cached(
    key: _Key, indices: tuple[int, ...], size: tuple[int, int], crop: tuple[int, ...] | None, segmenter: str
) -> list[Seen]:
    episode, _ = episode_of(key.task)
    clip, camera = episode.clip, episode.camera
    if crop is not None:
        clip = clip.cropped(crop[0], crop[1])
        camera = camera.cropped(clip.width, clip.height)
    views = _views(episode, indices, camera.resized(*size), segmenter)
    frames = clip.resized(*size).take(indices)
    return [_seen(frame, segmenter, view) for frame, view in zip(frames, views, strict=True)]


def _views(episode: Episode, indices: Sequence[int], camera: Camera, segmenter: str) -> Iterator[View | None]:
    """What the world's camera saw, for the segmenter that reads it; else nothing."""
    if segmenter != "exact":
        yield from (None for _ in indices)
        return
    if episode.world is None:
        raise NotApplicableError("exact masks need a world that can be rendered; set segmenter=colour")
    world = open_world(episode.world)
    for index in indices:
        yield world.view(episode.poses[index], camera)


def _by_category(frames: Sequence[FrameScore]) -> dict[str, dict[str, float]]:
    """Sums over frames of what each category contributed: every aggregate can be made again from them."""
    totals: dict[str, dict[str, float]] = {}
    for frame in frames:
        for name, c in frame.categories.items():
            row = totals.setdefault(name, {"m": 0, "n": 0, "p": 0, "weight": 0.0, "weighted": 0.0})
            row["m"] += c.m
            row["n"] += c.n
            row["p"] += c.p
            row["weight"] += c.weight
            row["weighted"] += c.weight * c.score
    return totals


def _coverage(task: Task, frames_shown: tuple[int, ...]) -> list[float | None] | None:
    """Share of what each frame shows that had been seen before the way back; None without a world."""
    episode, _ = episode_of(task)
    return None if episode.world is None else _coverage_cached(_Key(task), frames_shown)


@lru_cache(maxsize=KEPT)
def _coverage_cached(key: _Key, frames_shown: tuple[int, ...]) -> list[float | None]:
    episode, start = episode_of(key.task)
    assert episode.world is not None
    world = open_world(episode.world)
    camera = episode.camera.resized(
        COVERAGE_WIDTH_PX, round(COVERAGE_WIDTH_PX * episode.camera.height / episode.camera.width)
    )

    def surfaces(index: int) -> NDArray[np.float32]:
        position = world.view(episode.poses[index], camera, position=True).position
        assert position is not None
        return position

    seen = seen_surfaces(surfaces(index) for index in range(0, start, COVERAGE_STRIDE))
    return [coverage(surfaces(index), seen) for index in frames_shown]


def _by_coverage(
    record: Record, values: Sequence[float | None], covered: Sequence[float | None] | None
) -> Iterator[Score]:
    """Memory apart from invention: frames mostly seen on the way out, and frames mostly new."""
    if covered is None:
        for name in ("coverage", "sgcs_seen", "sgcs_unseen"):
            yield score_of(record, name, None, reason="the world of this recording is not known")
        return
    known = [share for share in covered if share is not None]
    yield _maybe(record, "coverage", mean_of(known), "no frame shows a surface", len(known))
    for name, function in (("sgcs_seen", seen_sgcs), ("sgcs_unseen", unseen_sgcs)):
        part = function(values, covered)
        yield _maybe(record, name, part.value, "the walk has no such frame", part.n)


def _segmenter_accuracy(record: Record, frames_shown: tuple[int, ...]) -> Score:
    """How far the colour segmenter can be trusted on this walk: its labels of the recording against exact ones."""
    found = _accuracy(_Key(record.task), frames_shown[::ACCURACY_STRIDE])
    if found is None:
        return score_of(record, "segmenter_accuracy", None, reason="the world of this recording is not known")
    return score_of(
        record,
        "segmenter_accuracy",
        found.pixel_accuracy,
        n=found.frames,
        reason=None if found.pixel_accuracy is not None else "no pixel shows a category",
        facts={"iou": found.iou, "sgcs_against_exact": found.sgcs},
    )


@lru_cache(maxsize=KEPT)
def _accuracy(key: _Key, indices: tuple[int, ...]) -> Accuracy | None:
    episode, _ = episode_of(key.task)
    if episode.world is None:
        return None
    world, colour, exact = open_world(episode.world), Colour(), Exact()

    def pairs() -> Iterator[tuple[Labels, Labels]]:
        for index, frame in zip(indices, episode.clip.take(indices), strict=True):
            yield colour.segment(frame), exact.segment(frame, world.view(episode.poses[index], episode.camera))

    return accuracy_against_exact(pairs())


def _closure(
    record: Record,
    episode: Episode,
    start: int,
    scenes: Sequence[Scene],
    at: Sequence[int],
    size: dict[str, Any],
    settings: Settings,
) -> Score:
    """The last frames against the look-around at A; needs no truth of the way back."""
    around = _look_around(episode, start)
    if not around:
        return score_of(record, "loop_closure", None, reason="the recording has no look-around")
    reference = _truth_scenes(
        record.task, around, (size["width"], size["height"]), record.facts["crop"], settings.segmenter
    )
    yaw, _ = yaw_pitch_from_pose(episode.poses)
    last = list(range(max(0, len(scenes) - CLOSING_FRAMES), len(scenes)))
    result = loop_closure(
        [scenes[i] for i in last],
        [float(yaw[start + at[i]]) for i in last],
        [seen.scene for seen in reference],
        yaw[list(around)],
        **size,
    )
    return _maybe(record, "loop_closure", result.value, "no look-around frame has the final heading", result.n)


def _look_around(episode: Episode, start: int) -> tuple[int, ...]:
    """Every other frame before the first step away from A."""
    moved = np.linalg.norm(episode.poses[:start, :2, 3] - episode.poses[0, :2, 3], axis=1) > STILL_M
    first = int(moved.argmax()) if moved.any() else start
    return tuple(range(0, first, 2))


def _maybe(record: Record, metric: str, value: float | None, reason: str, n: int = 1) -> Score:
    return score_of(record, metric, value, n=n, reason=None if value is not None else reason)
