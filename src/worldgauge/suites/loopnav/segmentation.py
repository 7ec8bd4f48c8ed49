"""What is seen in the frames of a recording: segmented scenes, surfaces seen before, and trust in the segmenter.

All of it depends on the recording alone, so a process keeps it for the next subjects.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import Episode, WorldFacts
from worldgauge.core.errors import MissingExtraError, NotApplicableError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Image
from worldgauge.core.video import Clip
from worldgauge.engine.suite.contract import Task
from worldgauge.engine.suite.task_data import cached_by_task
from worldgauge.perception import estimators
from worldgauge.perception.colour_correction import FRAMES
from worldgauge.perception.instances import CATEGORIES, SceneGraph
from worldgauge.perception.score_device import ScoreDevice
from worldgauge.perception.segment import Balanced, Exact, Labels, Segmentation, Segmenter, min_area
from worldgauge.suites.loopnav.metrics.coverage import coverage, seen_surfaces
from worldgauge.suites.loopnav.metrics.scene_relations import mean_colours
from worldgauge.suites.loopnav.metrics.segmenter_accuracy import Accuracy, accuracy_against_exact
from worldgauge.suites.loopnav.tasks import episode_of
from worldgauge.weights import AbsentWeightsError
from worldgauge.worlds import View, open_world

COVERAGE_WIDTH_PX = 160
COVERAGE_STRIDE = 4

KEPT = 64
"""Tasks whose recording stays segmented in a process."""


class SegmentedFrame(NamedTuple):
    """One segmented frame.

    Attributes:
        scene: Its instances.
        looks: Mean colour of each instance, by category; None from a segmenter without labels.
    """

    scene: SceneGraph
    looks: dict[str, FloatArray] | None


def fitted_segmenter(name: str, frames: Clip, indices: Sequence[int]) -> Segmenter:
    """A registered segmenter, fitted to a clip if it takes back what was done to the clip's colours.

    Args:
        name: Registered name.
        frames: The clip.
        indices: Frames that are to be segmented. It is fitted to some of them, spread evenly.
    """
    segmenter = _segmenter(name)
    if not isinstance(segmenter, Balanced) or not indices:
        return segmenter
    return segmenter.fitted(list(frames.take(indices[:: math.ceil(len(indices) / FRAMES)])))


def segment_frames(
    frames: Sequence[Image], segmenter: Segmenter, device: ScoreDevice | None = None
) -> list[SegmentedFrame]:
    """Segment frames of one size from their pixels, with the instances of label images found on a device.

    Args:
        frames: (H, W, 3), uint8 RGB.
        segmenter: What segments them.
        device: The device; None for the processor.
    """
    found = [segmenter.segment(frame, None) for frame in frames]
    labels = [one for one in found if isinstance(one, Labels)]
    # Masks of a network may overlap; they are no label images.
    on_device = device is not None and len(labels) == len(found)
    scenes = device.scenes(labels) if device is not None and on_device else [one.scene() for one in found]
    return [SegmentedFrame(scene, _looks(frame, one)) for frame, one, scene in zip(frames, found, scenes, strict=True)]


def _looks(rgb: Image, found: Segmentation) -> dict[str, FloatArray] | None:
    if not isinstance(found, Labels):
        return None
    return mean_colours(rgb, found.category, found.instance, CATEGORIES, min_area=min_area(found.category.shape))


def has_scene_categories(world: WorldFacts | None) -> bool:
    """Whether the world is known and has SGCS's ten categories, by name."""
    return world is not None and set(CATEGORIES) <= set(open_world(world).categories)


def unavailable_reason(segmenter: str) -> str | None:
    """Why a segmenter cannot be used here, such as missing weights; None where it can."""
    try:
        _segmenter(segmenter)
    except (AbsentWeightsError, MissingExtraError) as error:
        return str(error)
    return None


@lru_cache(maxsize=2)
def _segmenter(name: str) -> Segmenter:
    segmenter: Segmenter = estimators.get(name)()
    return segmenter


def truth_scenes(
    task: Task,
    indices: tuple[int, ...],
    size: tuple[int, int],
    crop: Sequence[int] | None,
    segmenter: str,
    fit_to: tuple[int, ...],
) -> list[SegmentedFrame]:
    """Segmented frames of the recording; cached, because every model is compared with the same ones.

    Args:
        task: The task.
        indices: Frames of the recording.
        size: Width and height in pixels.
        crop: The centre part that the model draws; None for all of it.
        segmenter: Registered name.
        fit_to: Frames to which the segmenter is fitted, see `fitted_segmenter`.
    """
    return _truth_scenes_cached(task, indices, size, tuple(crop) if crop else None, segmenter, fit_to)


@cached_by_task(maxsize=KEPT)
def _truth_scenes_cached(
    task: Task,
    indices: tuple[int, ...],
    size: tuple[int, int],
    crop: tuple[int, ...] | None,
    segmenter: str,
    fit_to: tuple[int, ...],
) -> list[SegmentedFrame]:
    episode, _ = episode_of(task)
    clip, camera = episode.clip, episode.camera
    if crop is not None:
        clip = clip.cropped(crop[0], crop[1])
        camera = camera.cropped(clip.width, clip.height)
    resized = clip.resized(*size)
    fitted = fitted_segmenter(segmenter, resized, fit_to)
    views = _views(episode, indices, camera.resized(*size), segmenter)
    seen = [(frame, fitted.segment(frame, view)) for frame, view in zip(resized.take(indices), views, strict=True)]
    return [SegmentedFrame(found.scene(), _looks(frame, found)) for frame, found in seen]


def _views(episode: Episode, indices: Sequence[int], camera: Camera, segmenter: str) -> Iterator[View | None]:
    """What the world's camera saw, for the segmenter that reads it; else nothing."""
    if segmenter != "exact":
        yield from (None for _ in indices)
        return
    if episode.world is None:
        raise NotApplicableError("exact masks need a world that can be rendered; set segmenter=balanced")
    if not has_scene_categories(episode.world):
        raise NotApplicableError(
            f"world '{episode.world.name}' has none of the categories that exact masks are made of"
        )
    world = open_world(episode.world)
    for index in indices:
        yield world.view(episode.poses[index], camera)


def coverage_of(task: Task, frames_shown: tuple[int, ...]) -> list[float | None] | None:
    """Share of what each frame shows that had been seen before the way back.

    Args:
        task: The task.
        frames_shown: Indices of the frames that were shown.

    Returns:
        Shares in [0, 1], one per frame; None without a world.
    """
    episode, _ = episode_of(task)
    return None if episode.world is None else _coverage_cached(task, frames_shown)


@cached_by_task(maxsize=KEPT)
def _coverage_cached(task: Task, frames_shown: tuple[int, ...]) -> list[float | None]:
    episode, start = episode_of(task)
    assert episode.world is not None
    world = open_world(episode.world)
    camera = episode.camera.resized(
        COVERAGE_WIDTH_PX, round(COVERAGE_WIDTH_PX * episode.camera.height / episode.camera.width)
    )

    def surfaces(index: int) -> NDArray[np.float32]:
        position = world.view(episode.poses[index], camera, position=True).position
        assert position is not None
        return position

    before = seen_surfaces(surfaces(index) for index in range(0, start, COVERAGE_STRIDE))
    return [coverage(surfaces(index), before) for index in frames_shown]


def segmenter_accuracy(task: Task, indices: tuple[int, ...], segmenter: str) -> Accuracy | None:
    """Compare a segmenter with exact masks.

    Args:
        task: The loop.
        indices: Frames of the recording.
        segmenter: Registered name of one that goes by colour.

    Returns:
        The accuracy; None where there are no exact masks.
    """
    return _accuracy(task, indices, segmenter)


@cached_by_task(maxsize=KEPT)
def _accuracy(task: Task, indices: tuple[int, ...], segmenter: str) -> Accuracy | None:
    episode, _ = episode_of(task)
    if episode.world is None or not has_scene_categories(episode.world):
        return None
    world, by_colour, exact = open_world(episode.world), fitted_segmenter(segmenter, episode.clip, indices), Exact()

    def pairs() -> Iterator[tuple[Labels, Labels]]:
        for index, frame in zip(indices, episode.clip.take(indices), strict=True):
            found = by_colour.segment(frame)
            assert isinstance(found, Labels)
            yield found, exact.segment(frame, world.view(episode.poses[index], episode.camera))

    return accuracy_against_exact(pairs())
