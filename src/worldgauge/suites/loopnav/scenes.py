"""SGCS of one record, and what else its scenes show: variants, coverage, loop closure, trust in the segmenter.

What is seen in the frames depends on the recording alone, so a process keeps it for the next models.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import Episode, WorldFacts
from worldgauge.core.errors import MissingExtraError, NotApplicableError
from worldgauge.core.geometry import Camera, FloatArray, yaw_pitch_from_pose
from worldgauge.core.image import Image
from worldgauge.core.video import Clip
from worldgauge.engine.suite.contract import Record, Score, Task, cached_by_task, mean_of_known
from worldgauge.engine.suite.scores import make_mean_score, make_score
from worldgauge.perception import estimators
from worldgauge.perception.colour_correction import FRAMES, CategoryColours
from worldgauge.perception.instances import CATEGORIES, SceneGraph
from worldgauge.perception.score_device import Means, ScoreDevice, pairs_at_once
from worldgauge.perception.segment import Balanced, ExactSegmenter, LabelImages, Segmentation, Segmenter, min_area
from worldgauge.suites.loopnav.metrics import scene_variants as variants
from worldgauge.suites.loopnav.metrics.path import coverage, seen_surfaces
from worldgauge.suites.loopnav.metrics.sgcs import Accuracy, FrameScore, accuracy_against_exact, sample_pairs, sgcs
from worldgauge.suites.loopnav.settings import LoopNavSettings
from worldgauge.suites.loopnav.tasks import episode_of
from worldgauge.weights import AbsentWeightsError
from worldgauge.worlds import View, open_world
from worldgauge.worlds.recorded import RecordingWorld

PALETTE_FRAMES, PALETTE_WIDTH_PX = 32, 160
"""Frames of a labelled recording, and their width, from which the colours of its categories are learned."""
COVERAGE_WIDTH_PX = 160
COVERAGE_STRIDE = 4

CACHED = 64
"""Tasks whose recording stays segmented in a process."""


class SegmentedFrame(NamedTuple):
    """One segmented frame; `looks` are mean colours of instances by category, None from a segmenter without labels."""

    scene: SceneGraph
    looks: dict[str, FloatArray] | None


def fitted_segmenter(segmenter: Segmenter, frames: Clip, indices: Sequence[int]) -> Segmenter:
    """A segmenter, fitted to a clip if it takes back what was done to the clip's colours."""
    if not isinstance(segmenter, Balanced) or not indices:
        return segmenter
    return segmenter.fitted(list(frames.take(indices[:: math.ceil(len(indices) / FRAMES)])))


def segment_frames(
    frames: Sequence[Image], segmenter: Segmenter, device: ScoreDevice | None = None
) -> list[SegmentedFrame]:
    """Segment frames of one size from their pixels, with the instances of label images found on a device."""
    masks = [segmenter.segment(frame, None) for frame in frames]
    labels = [one for one in masks if isinstance(one, LabelImages)]
    # Masks of a network may overlap; they are no label images.
    on_device = device is not None and len(labels) == len(masks) and all(one.names == CATEGORIES for one in labels)
    scenes = device.scenes(labels) if device is not None and on_device else [one.scene() for one in masks]
    return [SegmentedFrame(scene, _looks(frame, one)) for frame, one, scene in zip(frames, masks, scenes, strict=True)]


def _looks(rgb: Image, masks: Segmentation) -> dict[str, FloatArray] | None:
    if not isinstance(masks, LabelImages):
        return None
    least = min_area(masks.category.shape)
    return variants.mean_colours(rgb, masks.category, masks.instance, masks.names, min_area=least)


def exact_segmenter(facts: WorldFacts | None) -> ExactSegmenter | None:
    """Exact masks of a world: of SGCS's ten categories, or of those of a labelled recording. None without either."""
    if facts is None:
        return None
    world = open_world(facts)
    if isinstance(world, RecordingWorld):
        return ExactSegmenter(world.categories, world.truth.categories, world.truth.things) if world.labelled else None
    return ExactSegmenter(world.categories) if set(CATEGORIES) <= set(world.categories) else None


@lru_cache(maxsize=2)
def _registered(name: str) -> Segmenter:
    segmenter: Segmenter = estimators.get(name)()
    return segmenter


def _segmenter(task: Task, name: str, episode: Episode) -> Segmenter:
    """A segmenter by its name. Of a labelled recording, "exact" and "balanced" know the recording's categories."""
    if name == "exact":
        found = exact_segmenter(episode.world)
        if found is None:
            raise NotApplicableError("exact masks need a world with SGCS's categories, or a recording with labels")
        return found
    own = _own_palette(task, episode=episode) if name == "balanced" else None
    return own or _registered(name)


def _knows(segmenter: str, exact: ExactSegmenter) -> bool:
    """Whether a segmenter can find the categories of exact masks; "colour" knows only SGCS's ten."""
    return segmenter != "colour" or exact.names == CATEGORIES


@cached_by_task(maxsize=8)
def _own_palette(task: Task, *, episode: Episode) -> Balanced | None:
    """The segmenter by the colours that a labelled recording shows; None for other recordings."""
    world = None if episode.world is None else open_world(episode.world)
    if not isinstance(world, RecordingWorld) or not world.labelled:
        return None
    clip, camera = episode.clip, world.truth.camera
    small = camera.resized(PALETTE_WIDTH_PX, max(1, round(PALETTE_WIDTH_PX * camera.height / camera.width)))
    indices = range(0, len(clip), math.ceil(len(clip) / PALETTE_FRAMES))
    frames = clip.picked(indices, clip.fps).resized(small.width, small.height)
    labels = [world.view(episode.poses[index], small).category for index in indices]
    pixels, category = np.concatenate(list(frames)).reshape(-1, 3), np.concatenate(labels).ravel()
    shown = [index for index in range(1, len(world.categories)) if (category == index).any()]
    palette = CategoryColours(world.categories, [(index, pixels[category == index]) for index in shown])
    return Balanced(palette=palette, things=world.truth.things)


@cached_by_task(maxsize=CACHED)
def truth_scenes(
    task: Task,
    indices: tuple[int, ...],
    size: tuple[int, int],
    crop: tuple[int, ...],
    segmenter: str,
    fit_to: tuple[int, ...],
    *,
    episode: Episode,
) -> list[SegmentedFrame]:
    """Segmented frames of the recording; cached, because every model is compared with the same ones."""
    clip, camera = episode.clip, episode.camera
    if crop:
        clip = clip.cropped(crop[0], crop[1])
        camera = camera.cropped(clip.width, clip.height)
    resized = clip.resized(*size)
    fitted = _fitted_to_truth(task, size, crop, segmenter, fit_to, frames=resized, episode=episode)
    views = _views(episode, indices, camera.resized(*size), segmenter)
    seen = [(frame, fitted.segment(frame, view)) for frame, view in zip(resized.take(indices), views, strict=True)]
    return [SegmentedFrame(masks.scene(), _looks(frame, masks)) for frame, masks in seen]


@cached_by_task(maxsize=2)
def _fitted_to_truth(
    task: Task,
    size: tuple[int, int],
    crop: tuple[int, ...],
    segmenter: str,
    fit_to: tuple[int, ...],
    *,
    frames: Clip,
    episode: Episode,
) -> Segmenter:
    """The segmenter of the recording, for the way back and for the look-around."""
    return fitted_segmenter(_segmenter(task, segmenter, episode), frames, fit_to)


def _views(episode: Episode, indices: Sequence[int], camera: Camera, segmenter: str) -> Iterator[View | None]:
    """What the world's camera saw, for the segmenter that reads it; else nothing."""
    if segmenter != "exact":
        yield from (None for _ in indices)
        return
    assert episode.world is not None  # or there would be no exact segmenter
    world = open_world(episode.world)
    for index in indices:
        yield world.view(episode.poses[index], camera)


@cached_by_task(maxsize=CACHED)
def coverage_of(task: Task, frames_shown: tuple[int, ...]) -> list[float | None] | None:
    """Share of what each frame shows that had been seen before the way back; None where the world is not known."""
    episode, start = episode_of(task)
    if episode.world is None:
        return None
    world, camera = open_world(episode.world), episode.camera
    camera = camera.resized(COVERAGE_WIDTH_PX, round(COVERAGE_WIDTH_PX * camera.height / camera.width))

    def surfaces(index: int) -> NDArray[np.float32]:
        position = world.view(episode.poses[index], camera, position=True).position
        assert position is not None
        return position

    before = seen_surfaces(surfaces(index) for index in range(0, start, COVERAGE_STRIDE))
    return [coverage(surfaces(index), before) for index in frames_shown]


@cached_by_task(maxsize=CACHED)
def segmenter_accuracy(task: Task, indices: tuple[int, ...], segmenter: str, *, episode: Episode) -> Accuracy | None:
    """Compare a segmenter with exact masks; None where the world has none."""
    exact = exact_segmenter(episode.world)
    if episode.world is None or exact is None or not _knows(segmenter, exact):
        return None
    world = open_world(episode.world)
    by_colour = fitted_segmenter(_segmenter(task, segmenter, episode), episode.clip, indices)

    def pairs() -> Iterator[tuple[LabelImages, LabelImages]]:
        for index, frame in zip(indices, episode.clip.take(indices), strict=True):
            labels = by_colour.segment(frame)
            assert isinstance(labels, LabelImages)
            yield labels, exact.segment(frame, world.view(episode.poses[index], episode.camera))

    return accuracy_against_exact(pairs())


SCENE_METRICS = (
    *("sgcs", "sgcs_macro", "sgcs_objects", "sgcs_informative", "sgcs_chance_corrected", "sgcs_relations"),
    *("sgcs_drift_tolerant", "coverage", "sgcs_seen", "sgcs_unseen", "segmenter_accuracy", "loop_closure"),
)
BY_COLOUR = ("balanced", "colour")
"""Segmenters that know the textures of the embedded worlds."""
NO_SEGMENTER = (
    "the segmenters by colour know embedded worlds in our own textures only; register one and set segmenter=NAME"
)
OTHER_CATEGORIES = "SGCS counts ten outdoor categories, or those of a labelled recording; this world has other ones"

ACCURACY_STRIDE = 4
"""One in this many sampled frames measures the segmenter: rendering exact labels costs as much as all the rest."""

CLOSING_FRAMES = 5
STILL_M = 0.05


def scene_scores(
    record: Record, episode: Episode, start: int, truth: Clip, rollout: Clip, settings: LoopNavSettings, means: Means
) -> Iterator[Score]:
    """SGCS and every variant that needs no weights, from one segmentation of each sampled frame."""
    segmenter = settings.segmenter or "balanced"
    exact = exact_segmenter(episode.world)
    known = exact is not None and _knows(segmenter, exact) and episode.facts.get("pictures", "ours") == "ours"
    fits = known or segmenter not in (*BY_COLOUR, "exact")
    missing = None
    try:
        _segmenter(record.task, segmenter, episode)
    except (AbsentWeightsError, MissingExtraError) as error:
        missing = str(error)
    foreign = episode.world is not None and exact is None
    if settings.segmenter is None and not fits:
        missing = OTHER_CATEGORIES if foreign else NO_SEGMENTER
    pairs = sample_pairs(len(rollout), len(truth), settings.stride)
    frames_shown = tuple(start + i for i in pairs.indices_b)
    if missing is not None:
        # What was seen before does not depend on categories.
        measured = [_coverage(record, coverage_of(record.task, frames_shown) or [])] if foreign else []
        names = [name for name in SCENE_METRICS if name not in {score.metric for score in measured}]
        yield from (*measured, *(make_score(record, name, None, reason=missing) for name in names))
        return
    by_pixels = "balanced" if segmenter == "exact" else segmenter
    width, height = min(rollout.width, truth.width), min(rollout.height, truth.height)
    fitted = rollout.resized(width, height)
    at_once = pairs_at_once(width, height)
    own = fitted_segmenter(_segmenter(record.task, by_pixels, episode), fitted, pairs.indices_a)
    seen = partial(segment_frames, segmenter=own, device=means.device)
    # A process has one segmenter of a name, and nobody knows whether threads may share a network or an outside one.
    safe = by_pixels in BY_COLOUR
    got = list(means.each(seen, fitted.take(pairs.indices_a), at_once=at_once, is_thread_safe=safe))
    crop = tuple(record.facts["crop"] or ())
    want = truth_scenes(record.task, frames_shown, (width, height), crop, segmenter, frames_shown, episode=episode)
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
        by_coverage=[b._asdict() for b in variants.sgcs_by_coverage(values, shown_before)] if shown_before else [],
    )
    yield make_mean_score(record, "sgcs_macro", series(variants.macro_sgcs(f) for f in frames))
    yield make_mean_score(
        record, "sgcs_objects", series(variants.object_sgcs(f) for f in frames), reason="no frame shows an object"
    )
    yield _maybe(
        record, "sgcs_informative", variants.informative_sgcs(frames), "no frame shows more than sky and grass"
    )
    chance = variants.chance_level(scenes_got, scenes_want, **size, **rules)
    above = (variants.chance_corrected(value, chance) for value in values)
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
        variants.relation_score(a.scene, b.scene, _partners(a, b, size), height=height, width=width)
        for a, b in zip(got, want, strict=True)
    )
    yield make_mean_score(record, "sgcs_relations", series(relations), reason="no frame shows two objects")
    shifted, _ = variants.drift_tolerant_sgcs(scenes_got, scenes_want, window=1, **size, **rules)
    yield _maybe(record, "sgcs_drift_tolerant", shifted.value, "no frame has a value")
    yield from _by_coverage(record, values, shown_before)
    yield _segmenter_accuracy(record, episode, frames_shown, by_pixels if safe else "balanced")
    yield _closure(record, episode, start, scenes_got, at, size, segmenter, frames_shown)


def _partners(a: SegmentedFrame, b: SegmentedFrame, size: Mapping[str, Any]) -> Mapping[str, NDArray[np.int64]]:
    """Which instance is which: by looks, wherever it stands; by place where a segmenter gives no labels."""
    if a.looks is None or b.looks is None:
        return variants.match_by_place(a.scene, b.scene, **size)
    return variants.match_by_look(a.looks, b.looks)


def _by_category(frames: Sequence[FrameScore]) -> dict[str, dict[str, float]]:
    """Sums over frames of what each category contributed: every aggregate can be made again from them."""
    totals: dict[str, dict[str, float]] = {}
    for frame in frames:
        for name, c in frame.categories.items():
            row = totals.setdefault(name, {"m": 0, "n": 0, "p": 0, "weight": 0.0, "weighted": 0.0})
            added = {"m": c.m, "n": c.n, "p": c.p, "weight": c.weight, "weighted": c.weight * c.score}
            row.update({key: row[key] + value for key, value in added.items()})
    return totals


def _by_coverage(
    record: Record, values: Sequence[float | None], covered: Sequence[float | None] | None
) -> Iterator[Score]:
    """Memory apart from invention: frames mostly seen on the way out, and frames mostly new."""
    if covered is None:
        reason = "the world of this recording is not known"
        yield from (make_score(record, name, None, reason=reason) for name in ("coverage", "sgcs_seen", "sgcs_unseen"))
        return
    yield _coverage(record, covered)
    for name, function in (("sgcs_seen", variants.seen_sgcs), ("sgcs_unseen", variants.unseen_sgcs)):
        part = function(values, covered)
        yield _maybe(record, name, part.value, "the walk has no such frame", part.n)


def _coverage(record: Record, covered: Sequence[float | None]) -> Score:
    known = [share for share in covered if share is not None]
    return _maybe(record, "coverage", mean_of_known(known), "no frame shows a surface", len(known))


def _segmenter_accuracy(record: Record, episode: Episode, frames_shown: tuple[int, ...], segmenter: str) -> Score:
    """How far the segmenter can be trusted on this walk: its labels of the recording against exact ones."""
    accuracy = segmenter_accuracy(record.task, frames_shown[::ACCURACY_STRIDE], segmenter, episode=episode)
    if accuracy is None:
        return _maybe(record, "segmenter_accuracy", None, "this recording has no exact labels to compare with")
    share, facts = accuracy.pixel_accuracy, {"iou": accuracy.iou, "sgcs_against_exact": accuracy.sgcs}
    return _maybe(record, "segmenter_accuracy", share, "no pixel shows a category", accuracy.frames, facts)


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
    # Every other frame before the first step away from A.
    moved = np.linalg.norm(episode.poses[:start, :2, 3] - episode.poses[0, :2, 3], axis=1) > STILL_M
    around = tuple(range(0, int(moved.argmax()) if moved.any() else start, 2))
    if not around:
        return _maybe(record, "loop_closure", None, "the recording has no look-around")
    crop = tuple(record.facts["crop"] or ())
    whole = size["width"], size["height"]
    reference = truth_scenes(record.task, around, whole, crop, segmenter, fit_to, episode=episode)
    yaw, _ = yaw_pitch_from_pose(episode.poses)
    last = list(range(max(0, len(scenes) - CLOSING_FRAMES), len(scenes)))
    result = variants.loop_closure(
        [scenes[i] for i in last],
        [float(yaw[start + at[i]]) for i in last],
        [seen.scene for seen in reference],
        yaw[list(around)],
        **size,
    )
    return _maybe(record, "loop_closure", result.value, "no look-around frame has the final heading", result.n)


def _maybe(
    record: Record, metric: str, value: float | None, reason: str, n: int = 1, facts: Mapping[str, Any] | None = None
) -> Score:
    return make_score(record, metric, value, n=n, reason=None if value is not None else reason, facts=facts)
