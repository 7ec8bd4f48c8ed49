"""SGCS of one record, and what else its scenes show: variants, coverage, loop closure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import Episode
from worldgauge.core.geometry import yaw_pitch_from_pose
from worldgauge.core.video import Clip
from worldgauge.engine.suite.contract import Record, Score, mean_of_known
from worldgauge.engine.suite.scores import make_mean_score, make_score
from worldgauge.perception.instances import SceneGraph
from worldgauge.perception.score_device import Means, pairs_at_once
from worldgauge.suites.loopnav.metrics.scene_relations import match_by_look, match_by_place, relation_score
from worldgauge.suites.loopnav.metrics.scene_variants import (
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
from worldgauge.suites.loopnav.metrics.sgcs import FrameScore, sample_pairs, sgcs
from worldgauge.suites.loopnav.segmentation import (
    SegmentedFrame,
    coverage_of,
    fitted_segmenter,
    has_scene_categories,
    segment_frames,
    segmenter_accuracy,
    truth_scenes,
    unavailable_reason,
)
from worldgauge.suites.loopnav.settings import LoopNavSettings

SCENE_METRICS = (
    *("sgcs", "sgcs_macro", "sgcs_objects", "sgcs_informative", "sgcs_chance_corrected", "sgcs_relations"),
    *("sgcs_drift_tolerant", "coverage", "sgcs_seen", "sgcs_unseen", "segmenter_accuracy", "loop_closure"),
)
BY_COLOUR = ("balanced", "colour")
"""Segmenters that know the textures of the embedded worlds."""
NO_SEGMENTER = (
    "the segmenters by colour know embedded worlds in our own textures only; register one and set segmenter=NAME"
)
OTHER_CATEGORIES = "SGCS counts ten outdoor categories, and this world has other ones"

ACCURACY_STRIDE = 4
"""One in this many sampled frames measures the segmenter: rendering exact labels costs as much as all the rest."""

CLOSING_FRAMES = 5
STILL_M = 0.05


def scene_scores(
    record: Record, episode: Episode, start: int, truth: Clip, rollout: Clip, settings: LoopNavSettings, means: Means
) -> Iterator[Score]:
    """SGCS and every variant that needs no weights, from one segmentation of each sampled frame.

    Args:
        record: What the model gave.
        episode: The recording.
        start: First frame of the way back.
        truth: The way back, cut to what the model draws.
        rollout: Generated frames.
        settings: Stride, segmenter and rules of SGCS.
        means: What scores are computed with.
    """
    segmenter = settings.segmenter or "balanced"
    known = has_scene_categories(episode.world) and episode.facts.get("pictures", "ours") == "ours"
    fits = known or segmenter not in (*BY_COLOUR, "exact")
    missing = unavailable_reason(segmenter)
    foreign = episode.world is not None and not has_scene_categories(episode.world)
    if settings.segmenter is None and not fits:
        missing = OTHER_CATEGORIES if foreign else NO_SEGMENTER
    if missing is not None:
        # What was seen before does not depend on categories.
        measured = [_coverage(record, _coverage_shown(record, start, truth, rollout, settings))] if foreign else []
        names = [name for name in SCENE_METRICS if name not in {score.metric for score in measured}]
        yield from (*measured, *(make_score(record, name, None, reason=missing) for name in names))
        return
    drawn_by = "balanced" if segmenter == "exact" else segmenter
    pairs = sample_pairs(len(rollout), len(truth), settings.stride)
    width, height = min(rollout.width, truth.width), min(rollout.height, truth.height)
    fitted = rollout.resized(width, height)
    at_once = pairs_at_once(width, height)
    drawn = fitted_segmenter(drawn_by, fitted, pairs.indices_a)
    seen = partial(segment_frames, segmenter=drawn, device=means.device)
    # A process has one segmenter of a name, and nobody knows whether threads may share a network or an outside one.
    safe = drawn_by in BY_COLOUR
    got = list(means.each(seen, fitted.take(pairs.indices_a), at_once=at_once, is_thread_safe=safe))
    frames_shown = tuple(start + i for i in pairs.indices_b)
    want = truth_scenes(record.task, frames_shown, (width, height), record.facts["crop"], segmenter, frames_shown)
    size: dict[str, Any] = {"height": height, "width": width, "tau": settings.tau}
    scenes_got, scenes_want = [s.scene for s in got], [s.scene for s in want]
    rules: dict[str, Any] = {"empty": settings.empty, "matching": settings.matching}
    video, frames = sgcs(scenes_got, scenes_want, **size, **rules)
    shown_before = coverage_of(record.task, frames_shown)
    at = pairs.indices_a

    def series(values: Iterable[float | None]) -> list[tuple[int, float | None]]:
        return list(zip(at, values, strict=True))

    values = [frame.value for frame in frames]
    yield make_mean_score(
        record,
        "sgcs",
        series(values),
        reason="no sampled frame shows any category",
        undefined_frames=video.undefined,
        segmenter=segmenter,
        segmenter_fits=fits,
        categories=_by_category(frames),
        by_coverage=[b._asdict() for b in sgcs_by_coverage(values, shown_before)] if shown_before else [],
    )
    yield make_mean_score(record, "sgcs_macro", series(macro_sgcs(f) for f in frames))
    yield make_mean_score(
        record, "sgcs_objects", series(object_sgcs(f) for f in frames), reason="no frame shows an object"
    )
    yield _maybe(record, "sgcs_informative", informative_sgcs(frames), "no frame shows more than sky and grass")
    chance = chance_level(scenes_got, scenes_want, **size, **rules)
    above = (chance_corrected(value, chance) for value in values)
    yield make_mean_score(
        record,
        "sgcs_chance_corrected",
        series(above),
        reason="no sampled frame shows any category" if chance is None else "the chance level is 1",
        chance=chance,
        segmenter=segmenter,
        segmenter_fits=fits,
    )
    relations = (
        relation_score(a.scene, b.scene, _partners(a, b, size), height=height, width=width)
        for a, b in zip(got, want, strict=True)
    )
    yield make_mean_score(record, "sgcs_relations", series(relations), reason="no frame shows two objects")
    shifted, _ = drift_tolerant_sgcs(scenes_got, scenes_want, window=1, **size, **rules)
    yield _maybe(record, "sgcs_drift_tolerant", shifted.value, "no frame has a value")
    yield from _by_coverage(record, values, shown_before)
    yield _segmenter_accuracy(record, frames_shown, drawn_by if drawn_by in BY_COLOUR else "balanced")
    yield _closure(record, episode, start, scenes_got, at, size, segmenter, frames_shown)


def _partners(a: SegmentedFrame, b: SegmentedFrame, size: Mapping[str, Any]) -> Mapping[str, NDArray[np.int64]]:
    """Which instance is which: by looks, wherever it stands; by place where a segmenter gives no labels."""
    if a.looks is None or b.looks is None:
        return match_by_place(a.scene, b.scene, **size)
    return match_by_look(a.looks, b.looks)


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


def _by_coverage(
    record: Record, values: Sequence[float | None], covered: Sequence[float | None] | None
) -> Iterator[Score]:
    """Memory apart from invention: frames mostly seen on the way out, and frames mostly new."""
    if covered is None:
        for name in ("coverage", "sgcs_seen", "sgcs_unseen"):
            yield make_score(record, name, None, reason="the world of this recording is not known")
        return
    yield _coverage(record, covered)
    for name, function in (("sgcs_seen", seen_sgcs), ("sgcs_unseen", unseen_sgcs)):
        part = function(values, covered)
        yield _maybe(record, name, part.value, "the walk has no such frame", part.n)


def _coverage(record: Record, covered: Sequence[float | None]) -> Score:
    known = [share for share in covered if share is not None]
    return _maybe(record, "coverage", mean_of_known(known), "no frame shows a surface", len(known))


def _coverage_shown(
    record: Record, start: int, truth: Clip, rollout: Clip, settings: LoopNavSettings
) -> list[float | None]:
    """Coverage of the sampled frames; none without a world."""
    pairs = sample_pairs(len(rollout), len(truth), settings.stride)
    return coverage_of(record.task, tuple(start + i for i in pairs.indices_b)) or []


def _segmenter_accuracy(record: Record, frames_shown: tuple[int, ...], segmenter: str) -> Score:
    """How far the segmenter can be trusted on this walk: its labels of the recording against exact ones."""
    found = segmenter_accuracy(record.task, frames_shown[::ACCURACY_STRIDE], segmenter)
    if found is None:
        return make_score(
            record, "segmenter_accuracy", None, reason="this recording has no exact labels to compare with"
        )
    return make_score(
        record,
        "segmenter_accuracy",
        found.pixel_accuracy,
        n=found.frames,
        reason=None if found.pixel_accuracy is not None else "no pixel shows a category",
        facts={"iou": found.iou, "sgcs_against_exact": found.sgcs},
    )


def _closure(
    record: Record,
    episode: Episode,
    start: int,
    scenes: Sequence[SceneGraph],
    at: Sequence[int],
    size: dict[str, Any],
    segmenter: str,
    fit_to: tuple[int, ...],
) -> Score:
    """The last frames against the look-around at A; needs no truth of the way back."""
    around = _look_around(episode, start)
    if not around:
        return make_score(record, "loop_closure", None, reason="the recording has no look-around")
    wanted = (size["width"], size["height"]), record.facts["crop"], segmenter
    reference = truth_scenes(record.task, around, *wanted, fit_to)
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
    return make_score(record, metric, value, n=n, reason=None if value is not None else reason)
