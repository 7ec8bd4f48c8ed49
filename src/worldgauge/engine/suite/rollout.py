"""Ask a world model for a rollout: prepare the context in the form that it takes, and keep its answer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import Context, WorldFacts
from worldgauge.core.errors import DataError, SubjectError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Frames
from worldgauge.core.model import HoldsVideos, ModelSpec, RolloutRequest, TellsPath, WorldModel
from worldgauge.core.video import Clip, Writer, digest_of_video
from worldgauge.engine.suite.contract import Record, TaskContext
from worldgauge.engine.suite.rate_bridge import Drawn, RateBridge, at_rate, takes_rate
from worldgauge.worlds import open_world
from worldgauge.worlds.third_person import ThirdPerson, figure_mask
from worldgauge_serve import next_length, pose_fault

ROLLOUT = "rollout.mp4"
POSES = "poses.json"


@dataclass(frozen=True)
class KeptRollout:
    """A rollout that was stored.

    Attributes:
        rollout: Name of the video in the record's folder.
        clip: The video.
        facts: "frames_generated", "fps", "resolution", "finished_video" and "poses", which is a file name, or None
            where the camera is not known.
    """

    rollout: str
    clip: Clip
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class WrittenRollout:
    """A rollout that was written to a video.

    Attributes:
        frames: Number of frames.
        poses: Camera-to-world poses of the frames, (n, 4, 4). None where the model gives none.
        facts: "bridge" where the model was asked at another rate (`RateBridge.facts`), and "frames_made" where it made
            more frames than were asked for.
    """

    frames: int
    poses: FloatArray | None
    facts: Mapping[str, Any] = field(default_factory=dict)


def fit_context(
    context: Context, spec: ModelSpec, limit: int | None, world: WorldFacts | None, *, in_steps: bool = False
) -> Context:
    """Prepare a context for a model: the last frames, at its rate, cropped and resized as the model declares.

    It holds perspective views or panoramas, with depth where the model wants depth and the world is known.

    Args:
        context: All frames that may be shown.
        spec: What the model declares.
        limit: Largest number of these frames. None for no limit besides that of the model, which is of its own frames.
        world: The world, for depth.
        in_steps: Whether frames are one a step of a closed loop. Steps take no time, so a rate means nothing to them.

    Returns:
        The context for the model.
    """
    if limit is not None:
        context = context.last(limit)
    if spec.fps is not None and not in_steps and not takes_rate(spec, context.clip.fps):
        context = at_rate(context, spec.fps)
    if spec.max_context is not None:
        context = context.last(spec.max_context)
    if spec.crop is not None:
        context = context.cropped(*spec.crop)
    if spec.frame_size is not None:
        context = context.resized(*spec.frame_size)
    if "depth" in spec.inputs and world is not None:
        context = replace(context, depth=_depth_of(context, world))
    return context


def fit_truth(clip: Clip, spec: ModelSpec) -> Clip:
    """A recording at the frame size of a model."""
    clip = clip if spec.crop is None else clip.cropped(*spec.crop)
    return clip if spec.frame_size is None else clip.resized(*spec.frame_size)


def run_rollout(
    subject: WorldModel, request: RolloutRequest, fps: float, task_context: TaskContext, *, drawn: Drawn = "nearest"
) -> KeptRollout:
    """Ask a model and store its frames without loss, with the camera poses where the model gives them.

    Args:
        subject: The model.
        request: What it is asked, as for `write_rollout`.
        fps: Frames per second of the video.
        task_context: Folder, seed, progress and stopwatch of the task.
        drawn: How frames of a model of another rate are drawn.

    Returns:
        The stored rollout. Its facts have "bridge" where the model was asked at another rate.

    Raises:
        SubjectError: When the model breaks its contract.
        NotApplicableError: When the time asked for is too short for the model's rate.
    """
    path = task_context.directory / ROLLOUT
    written = write_rollout(subject, request, path, fps, task_context, drawn=drawn)
    if written.poses is not None:
        rows = json.dumps({"poses": written.poses[:, :3].reshape(-1, 12).tolist()})
        (task_context.directory / POSES).write_text(rows + "\n")
    width, height = request.frame_size
    facts = {
        "frames_generated": written.frames,
        "fps": fps,
        "resolution": [width, height],
        "finished_video": None,
        "poses": None if written.poses is None else POSES,
        **written.facts,
    }
    return KeptRollout(ROLLOUT, Clip.open(path), facts)


def write_rollout(
    subject: WorldModel,
    request: RolloutRequest,
    video: Path,
    fps: float,
    task_context: TaskContext,
    *,
    drawn: Drawn = "nearest",
) -> WrittenRollout:
    """Write the frames of a model to a video without loss, drawn at the times of the request whatever its own rate.

    Args:
        subject: The model.
        request: What it is asked at `fps`, with a context from `fit_context`.
        video: File to write.
        fps: Frames per second of the video, and of what is asked.
        task_context: Folder, seed, progress and stopwatch of the task.
        drawn: How frames of a model of another rate are drawn.

    Returns:
        What was written.

    Raises:
        SubjectError: When the model breaks its contract.
        NotApplicableError: When the time asked for is too short for the model's rate.
    """
    bridge = RateBridge.to(subject.spec, fps, request.horizon, drawn)
    seen = request.context
    if bridge is not None:
        request = bridge.request(request)
    done = 0

    def answer() -> Iterator[Frames]:
        nonlocal done
        for chunk in task_context.speed.rollout(subject, request):
            yield chunk
            done += len(chunk)
            task_context.progress(done, request.horizon)

    with Writer(video, fps=fps, kind="lossless") as out:
        for chunk in answer() if bridge is None else bridge.draw(answer(), seen.clip[-1]):
            out.write(chunk)
    poses = _camera_path(subject, request)
    made = frames_made(subject.spec, request.horizon)
    longer = {"frames_made": made} if made > request.horizon else {}
    if bridge is None:
        return WrittenRollout(request.horizon, poses, longer)
    poses = None if poses is None else bridge.poses(poses, seen.poses[-1])
    return WrittenRollout(bridge.frames, poses, {"bridge": bridge.facts, **longer})


def frames_made(spec: ModelSpec, horizon: int) -> int:
    """How many frames a model makes where it is asked for `horizon`: more where the lengths that it declares ask it."""
    return (next_length(spec.lengths, 1 + horizon) or 1 + horizon) - 1


def _camera_path(subject: WorldModel, request: RolloutRequest) -> FloatArray | None:
    path = subject.camera_path(request) if isinstance(subject, TellsPath) else None
    if path is None:
        return None
    poses = np.asarray(path, np.float64)
    if poses.shape != (request.horizon, 4, 4) or not np.isfinite(poses).all():
        raise SubjectError(
            f"model '{subject.spec.name}': camera_path gave {poses.shape}; "
            f"expected ({request.horizon}, 4, 4), all finite"
        )
    if (fault := pose_fault(poses)) is not None:
        raise SubjectError(f"model '{subject.spec.name}': camera_path: {fault}")
    return poses


def copy_video(
    subject: HoldsVideos, spec: ModelSpec, task: str, task_context: TaskContext, fps: float, *, fewest: int = 1
) -> KeptRollout:
    """Copy a finished video of a task unchanged, whatever its length, rate and size.

    A video without a constant frame rate is resampled by time and written without loss; so is a folder of images.

    Args:
        subject: A model that holds finished videos.
        spec: What it declares.
        task: Id of the task.
        task_context: Folder, seed and progress of the task.
        fps: Frames per second to which a video is resampled, unless the model declares a rate.
        fewest: Smallest number of frames.

    Returns:
        The stored rollout.

    Raises:
        SubjectError: Where there is no video, it is damaged, or it holds fewer than `fewest` frames.
    """
    source = subject.video_of(task)
    clip = Clip.open(source, spec.fps or (fps if source.is_file() else None))
    if len(clip) < fewest:
        raise SubjectError(f"{source}: holds {len(clip)} frame; a path needs a video of at least {fewest}")
    name = f"rollout{source.suffix.lower()}" if clip.states_rate else ROLLOUT
    if clip.states_rate:
        shutil.copyfile(source, task_context.directory / name)
    else:
        with Writer(task_context.directory / name, fps=clip.fps, kind="lossless") as out:
            for frame in clip:
                out.write(frame)
    task_context.progress(len(clip), len(clip))
    facts = {
        "frames_generated": len(clip),
        "fps": clip.fps,
        "resolution": [clip.width, clip.height],
        "finished_video": {"name": source.name, "sha256": digest_of_video(source)},
        "poses": None,
    }
    return KeptRollout(name, clip, facts)


def crop_camera(camera: Camera, clip: Clip) -> Camera:
    """The camera of the central part of the view that has the aspect ratio of `clip`."""
    width = min(camera.width, round(camera.height * clip.width / clip.height))
    return camera.cropped(width, min(camera.height, round(camera.width * clip.height / clip.width)))


def open_rollout(record: Record) -> Clip:
    """Open the video of a record.

    Args:
        record: The record.

    Returns:
        The video.

    Raises:
        DataError: When there is no video, or it does not match the facts of the record.
    """
    if record.rollout is None:
        raise DataError(f"the record of '{record.task.id}' holds no rollout")
    path = record.directory / record.rollout
    clip, expected = Clip.open(path), record.facts["frames_generated"]
    if len(clip) != expected:
        raise DataError(
            f"{path}: {len(clip)} frames where {expected} were recorded; delete this record's folder and run again"
        )
    return clip


def read_poses(record: Record) -> FloatArray | None:
    """Camera-to-world poses of the frames of a record, (n, 4, 4). None where the model gave none."""
    if record.facts["poses"] != POSES:
        return None
    rows = np.array(json.loads((record.directory / POSES).read_text())["poses"], np.float64).reshape(-1, 3, 4)
    poses = np.zeros((len(rows), 4, 4))
    poses[:, :3], poses[:, 3, 3] = rows, 1
    return poses


def _depth_of(context: Context, world: WorldFacts) -> Callable[[int], NDArray[np.float32]]:
    """Depth of any context frame on its own pixel grid, rendered on demand; for panoramas along the rays.

    NaN where a figure moves along with the camera, since it has no place in the world that could be remembered.
    """

    def depth(index: int) -> NDArray[np.float32]:
        there = open_world(world)
        view = there.view(context.poses[index], context.camera)
        if not isinstance(there, ThirdPerson):
            return view.depth
        return np.where(figure_mask(view), np.float32(np.nan), view.depth)

    return depth
