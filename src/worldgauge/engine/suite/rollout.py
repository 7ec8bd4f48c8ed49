"""Ask a world model for a rollout: the context and the frame rate in the form that it takes, and its answer."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.actions import Actions, Motion
from worldgauge.core.episode import Context, Episode, WorldFacts
from worldgauge.core.errors import DataError, ModelError, NotApplicableError, ShapeError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Frames, Image
from worldgauge.core.model import HoldsVideos, ModelSpec, RolloutRequest, TellsPath, WorldModel, check_poses
from worldgauge.core.video import Clip, Writer, digest_of_video
from worldgauge.engine.options import option
from worldgauge.engine.suite.contract import Record, TaskContext
from worldgauge.worlds import caption_of, open_world
from worldgauge.worlds.third_person import ThirdPerson, figure_mask
from worldgauge_serve import next_length, pose_fault

Resample = Literal["nearest", "blend"]
KEYS = "majority"
"""How a key is held in a frame of the model: where it is held for most of the frame's time. Stands in the record."""
_EPS = 1e-6
"""Of a frame: times that differ by less are the same."""


@dataclass(frozen=True)
class BridgeSettings:
    """Settings of suites whose recordings have a rate."""

    resample: Resample = option("nearest", "Frame-rate conversion: nearest frame, or a blend of two.")


@dataclass(frozen=True)
class RateBridge:
    """Frame-rate conversion to a model's own rate and back, for one request; `resample`: nearest, or a blend."""

    own_fps: float
    fps: float
    asked: int
    resample: Resample = "nearest"

    @classmethod
    def to(cls, spec: ModelSpec, fps: float, asked: int, resample: Resample = "nearest") -> RateBridge | None:
        """The bridge to a model."""
        if takes_rate(spec, fps):
            return None
        assert spec.fps is not None
        bridge = cls(float(spec.fps), fps, asked, resample)
        if bridge.frames == 0:
            raise NotApplicableError(
                f"'{spec.name}' makes {spec.fps:g} frames/s: none of them stands for one of the {asked} asked for at "
                f"{fps:g} frames/s"
            )
        return bridge

    @property
    def own_frames(self) -> int:
        """Number of frames that the model is asked for: all that fit into the time."""
        return math.floor(self.asked * self.own_fps / self.fps + _EPS)

    @property
    def frames(self) -> int:
        """Number of frames that are drawn: all that are not later than the last one of the model."""
        return min(self.asked, math.floor(self.own_frames * self.fps / self.own_fps + _EPS))

    @property
    def facts(self) -> dict[str, Any]:
        """What stands in the record, plain JSON values."""
        return {
            "own_fps": self.own_fps,
            "fps": self.fps,
            "resample": self.resample,
            "keys": KEYS,
            "own_frames": self.own_frames,
            "frames_asked": self.asked,
            "never_imagined": self.asked - self.frames,
        }

    def request(self, request: RolloutRequest) -> RolloutRequest:
        """The same request at the rate of the model. Its context is at that rate already; see `at_rate`."""
        check_poses(request)
        seen, at = request.context, np.arange(self.own_frames + 1, dtype=np.float64) * (self.fps / self.own_fps)

        def path(poses: FloatArray | None) -> FloatArray | None:
            return None if poses is None else poses_between(np.concatenate([seen.path[-1:], poses]), at[1:])

        truth = request.truth
        if truth is not None:
            truth = truth.after(seen.clip[-1]).picked(_nearest(at[1:], self.asked).tolist(), self.own_fps)
        return replace(
            request,
            horizon=self.own_frames,
            actions=None if request.actions is None else shared_out(request.actions, at, self.own_fps),
            poses=path(request.poses),
            truth=truth,
            truth_poses=path(request.truth_poses),
        )

    def draw(self, chunks: Iterable[Frames], seen: Image) -> Iterator[Frames]:
        """Resample frames of the model to the suite's times, as they come.

        Each chunk (n, H, W, 3) yields one of the frames that are then known; n may be 0. `seen` is the frame at time 0.
        """
        needed, share = self._plan()
        drawn = taken = 0
        before = seen
        for chunk in chunks:
            now = []
            for frame in chunk:
                taken += 1
                while drawn < len(needed) and needed[drawn] == taken:
                    now.append(_mixed(before, frame, float(share[drawn])))
                    drawn += 1
                before = frame
            yield np.stack(now) if now else np.empty((0, *chunk.shape[1:]), np.uint8)

    def poses(self, own: FloatArray, seen: FloatArray) -> FloatArray:
        """Poses (frames, 4, 4) at the suite's times, for any `resample`, from poses (own_frames, 4, 4) after `seen`."""
        return poses_between(np.concatenate([seen[None], own]), self._times())

    def _times(self) -> FloatArray:
        """Times of the frames to draw, in frames of the model."""
        return np.arange(1, self.frames + 1, dtype=np.float64) * (self.own_fps / self.fps)

    def _plan(self) -> tuple[NDArray[np.int64], FloatArray]:
        """For each frame to draw the frame of the model that it waits for, from 1, and the share of the one before."""
        times = self._times()
        if self.resample == "nearest":
            nearest = _nearest(times, self.own_frames)
            # Before half a frame of the model has passed, what was shown last is nearest.
            return np.maximum(nearest, 1), (nearest == 0).astype(np.float64)
        needed = np.ceil(times - _EPS).astype(np.int64)
        return needed, np.maximum(needed - times, 0.0)


def takes_rate(spec: ModelSpec, fps: float) -> bool:
    """Whether a model takes a rate as it is: it has none of its own, or this one."""
    return spec.fps is None or is_rate(spec.fps, fps)


def is_rate(fps: float, other: float) -> bool:
    """Whether two rates are the same."""
    return math.isclose(fps, other, rel_tol=1e-9)


def at_rate(context: Context, fps: float) -> Context:
    """A context at `fps` that ends with the same frame: nearest frames with their pose and depth, actions by time."""
    last, step = len(context) - 1, context.clip.fps / fps
    at = last - np.arange(math.floor(last / step + _EPS), -1, -1, dtype=np.float64) * step
    rows, depth = _nearest(at, last), context.depth
    return Context(
        context.clip.picked(rows.tolist(), fps),
        context.path[rows],
        shared_out(context.actions, at, fps),
        context.camera,
        None if depth is None else lambda index: depth(int(rows[index])),
    )


def poses_between(poses: FloatArray, at: ArrayLike) -> FloatArray:
    """Poses (m, 4, 4) at times (m,), in frames of a path (n, 4, 4): linear and SLERP, exact at whole frames."""
    from scipy.spatial.transform import Rotation, Slerp

    poses, at = np.asarray(poses, np.float64), np.asarray(at, np.float64)
    last = len(poses) - 1
    if len(at) and not -_EPS <= at.min() <= at.max() <= last + _EPS:
        raise ShapeError(f"a path of {last + 1} frames has no pose at frame {at.min():g} or {at.max():g}")
    whole = np.rint(at).astype(np.int64)
    between = np.abs(at - whole) > _EPS
    found: FloatArray = poses[whole]
    if between.any():
        inner, frames = at[between], np.arange(last + 1)
        try:
            turns = Slerp(frames, Rotation.from_matrix(poses[:, :3, :3]))
        except ValueError as error:
            raise ShapeError(f"a pose of the path is no rotation: {error}") from None
        found[between, :3, :3] = turns(inner).as_matrix()
        lower = np.floor(inner).astype(np.int64)
        share = (inner - lower)[:, None]
        found[between, :3, 3] = (1 - share) * poses[lower, :3, 3] + share * poses[lower + 1, :3, 3]
    return found


def shared_out(actions: Actions, at: ArrayLike, fps: float) -> Actions:
    """Actions at `fps` that do the same in the same time; `at` (n + 1,) ascends and limits the new rows, in given rows.

    Angles and lengths are sums. A row holds a key that is held for most of it, or for half and just before the middle.
    A shorter press stays in the row that it fills most, so none is lost.
    """
    at = np.asarray(at, np.float64)
    frames = np.diff(at)
    given = actions.values.astype(np.float64)
    sums = np.concatenate([np.zeros((1, given.shape[1])), np.cumsum(given, axis=0)])
    upto = np.arange(len(sums))
    values = np.empty((len(frames), given.shape[1]))
    for column, axis in enumerate(actions.space.axes):
        amount = np.diff(np.interp(at, upto, sums[:, column]))
        values[:, column] = _held(given[:, column], amount / frames, at) if axis.kind == "button" else amount
    longer = actions.space.fps / fps
    axes = tuple(
        replace(axis, motion=Motion(*(longer * part for part in axis.motion))) if axis.kind == "button" else axis
        for axis in actions.space.axes
    )
    return Actions(replace(actions.space, axes=axes, fps=float(fps)), values.astype(np.float32))


def bridge_notes(bridges: Mapping[str, Sequence[Mapping[str, Any]]], truths: Collection[str] = ()) -> list[str]:
    """The lines below a table that tell which models were asked at another rate."""
    notes = []
    for label, facts in bridges.items():
        for own, fps, resample in dict.fromkeys((one["own_fps"], one["fps"], one["resample"]) for one in facts):
            mine = [one for one in facts if (one["own_fps"], one["fps"], one["resample"]) == (own, fps, resample)]
            asked, never = (sum(one[name] for one in mine) for name in ("frames_asked", "never_imagined"))
            how = f"resampled to {fps:g} fps ({resample})" if resample else "scored at the times of its own frames"
            missing = f"; {never} of {asked} frames lack a generated frame" if never else ""
            cost = " It is ground truth: its loss is the cost of the rate alone." if label in truths else ""
            notes.append(f"{label} generates at {own:g} fps, {how}{missing}.{cost}")
    return notes


def _nearest(at: FloatArray, last: int) -> NDArray[np.int64]:
    """The nearest whole frames, at most `last`; halfway, the later one."""
    return np.minimum(np.floor(at + 0.5 + _EPS).astype(np.int64), last)


def _mixed(before: Image, frame: Image, share: float) -> Image:
    """`share` of the frame before, the rest of the other one."""
    if share <= _EPS:
        return frame
    if share >= 1 - _EPS:
        return before
    return np.rint(share * before.astype(np.float32) + (1 - share) * frame.astype(np.float32)).astype(np.uint8)


def _held(values: FloatArray, share: FloatArray, at: FloatArray) -> FloatArray:
    """Whether each new row (n,) holds a key, 0 or 1; `share` is the part of its time, `at` as in `shared_out`."""
    middle = np.maximum(np.ceil((at[:-1] + at[1:]) / 2 - _EPS).astype(np.int64) - 1, 0)
    half = np.abs(share - 0.5) <= _EPS
    held = (share > 0.5 + _EPS) | (half & (values[middle] > 0.5))
    changes = np.flatnonzero(np.diff(np.concatenate([[0], values > 0.5, [0]])))
    for first, end in changes.reshape(-1, 2):
        filled = np.minimum(at[1:], end) - np.maximum(at[:-1], first)
        if (filled > _EPS).any() and not held[filled > _EPS].any():
            held[np.argmax(filled)] = True
    return held.astype(np.float64)


ROLLOUT = "rollout.mp4"
POSES = "poses.json"


@dataclass(frozen=True)
class KeptRollout:
    """A stored rollout; its `facts` name the file of the poses, or None if the camera is not known."""

    rollout: str
    clip: Clip
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class WrittenRollout:
    """A rollout in a video; only a built-in baseline gives `poses`, camera-to-world (n, 4, 4).

    `facts` has "bridge" (`RateBridge.facts`) at another rate, and "frames_made" if that is more than requested.
    """

    frames: int
    poses: FloatArray | None
    facts: Mapping[str, Any] = field(default_factory=dict)


def fit_context(
    context: Context, spec: ModelSpec, limit: int | None, world: WorldFacts | None, *, in_steps: bool = False
) -> Context:
    """Prepare a context for a model: last frames, at the rate, crop and size of its spec, with depth if possible."""
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


def caption_for(episode: Episode, context: Context, stop: int) -> str | None:
    """The caption of the first frame of a context whose last frame is frame `stop` - 1 of an episode."""
    back = (len(context) - 1) * episode.clip.fps / context.clip.fps
    first = int(_nearest(np.array([stop - 1 - back]), stop - 1)[0])
    return episode.caption_at(first) or caption_of(episode.world)


def fit_truth(clip: Clip, spec: ModelSpec) -> Clip:
    """A recording at the frame size of a model."""
    clip = clip if spec.crop is None else clip.cropped(*spec.crop)
    return clip if spec.frame_size is None else clip.resized(*spec.frame_size)


def run_rollout(
    model: WorldModel, request: RolloutRequest, fps: float, task_context: TaskContext, *, resample: Resample = "nearest"
) -> KeptRollout:
    """Run a model and store its frames without loss at `fps`, with the poses if a built-in baseline gives them."""
    path = task_context.directory / ROLLOUT
    written = write_rollout(model, request, path, fps, task_context, resample=resample)
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
    model: WorldModel,
    request: RolloutRequest,
    video: Path,
    fps: float,
    task_context: TaskContext,
    *,
    resample: Resample = "nearest",
) -> WrittenRollout:
    """Write a model's frames without loss at `fps`, the rate of the request, whatever the model's own rate."""
    if task_context.with_decoy is not None:
        request = task_context.with_decoy(request)
    bridge = RateBridge.to(model.spec, fps, request.horizon, resample)
    seen = request.context
    if bridge is not None:
        request = bridge.request(request)
    done = 0

    def answer() -> Iterator[Frames]:
        nonlocal done
        for chunk in task_context.speed.rollout(model, request):
            yield chunk
            done += len(chunk)
            task_context.progress(done, request.horizon)

    with Writer(video, fps=fps, kind="lossless") as out:
        for chunk in answer() if bridge is None else bridge.draw(answer(), seen.clip[-1]):
            out.write(chunk)
    poses = _camera_path(model, task_context.speed.blinded(model, request)) if task_context.is_built_in else None
    made = frames_made(model.spec, request.horizon)
    longer = {"frames_made": made} if made > request.horizon else {}
    if bridge is None:
        return WrittenRollout(request.horizon, poses, longer)
    poses = None if poses is None else bridge.poses(poses, seen.path[-1])
    return WrittenRollout(bridge.frames, poses, {"bridge": bridge.facts, **longer})


def frames_made(spec: ModelSpec, horizon: int) -> int:
    """How many frames a model makes where it is asked for `horizon`: more where the lengths that it declares ask it."""
    return (next_length(spec.lengths, 1 + horizon) or 1 + horizon) - 1


def _camera_path(model: WorldModel, request: RolloutRequest) -> FloatArray | None:
    path = model.camera_path(request) if isinstance(model, TellsPath) else None
    if path is None:
        return None
    poses = np.asarray(path, np.float64)
    if poses.shape != (request.horizon, 4, 4) or not np.isfinite(poses).all():
        raise ModelError(
            f"model '{model.spec.name}': camera_path gave {poses.shape}; expected ({request.horizon}, 4, 4), all finite"
        )
    if (fault := pose_fault(poses)) is not None:
        raise ModelError(f"model '{model.spec.name}': camera_path: {fault}")
    return poses


def copy_video(
    model: HoldsVideos, spec: ModelSpec, task: str, task_context: TaskContext, fps: float, *, fewest: int = 1
) -> KeptRollout:
    """Copy a finished video of a task unchanged, whatever its length, rate and size.

    A video without a constant rate is resampled without loss, to `fps` if the model declares none. So is a folder.
    """
    source = model.video_of(task)
    clip = Clip.open(source, spec.fps or (fps if source.is_file() else None))
    if len(clip) < fewest:
        raise ModelError(f"{source}: holds {len(clip)} frame; a path needs a video of at least {fewest}")
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
    """Open the video of a record."""
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
    """Depth of any context frame, rendered on demand; along the rays for panoramas, NaN on a figure with the camera."""

    def depth(index: int) -> NDArray[np.float32]:
        there = open_world(world)
        view = there.view(context.path[index], context.camera)
        if not isinstance(there, ThirdPerson):
            return view.depth
        return np.where(figure_mask(view), np.float32(np.nan), view.depth)

    return depth
