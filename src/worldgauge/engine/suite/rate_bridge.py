"""The rate bridge: a model of another frame rate is asked at its own, and drawn at the times of the recording.

Time counts from the last frame of the context. Frame k of what a suite asks for is at k / fps seconds, frame j of the
model at j / own_fps; both sides count from 1, and frame 0 is the last frame that was shown. Nothing is guessed beyond
the end: the model is asked for as many whole frames as fit into the time, and what the recording shows after the last
of them was never imagined.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.actions import Actions, Motion
from worldgauge.core.episode import Context
from worldgauge.core.errors import NotApplicableError, ShapeError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Frames, Image
from worldgauge.core.model import ModelSpec, RolloutRequest, check_poses
from worldgauge.engine.options import option

Drawn = Literal["nearest", "blend"]
KEYS = "majority"
"""How a key is held in a frame of the model: where it is held for most of the frame's time. Stands in the record."""
_EPS = 1e-6
"""Of a frame: times that differ by less are the same."""


@dataclass(frozen=True)
class BridgeSettings:
    """Settings of suites whose recordings have a rate."""

    drawn: Drawn = option(
        "nearest",
        "How the frames of a model of another rate are drawn at the times of the recording: the nearest one, or a "
        "blend of the two around that time.",
    )


@dataclass(frozen=True)
class RateBridge:
    """The way to a model's own rate and back, for one question.

    Attributes:
        own_fps: Frames a second of the model.
        fps: Frames a second of what the suite asks for.
        asked: Number of frames that the suite asks for.
        drawn: How frames of the model are drawn at the suite's times.
    """

    own_fps: float
    fps: float
    asked: int
    drawn: Drawn = "nearest"

    @classmethod
    def to(cls, spec: ModelSpec, fps: float, asked: int, drawn: Drawn = "nearest") -> RateBridge | None:
        """The bridge to a model.

        Args:
            spec: What the model declares.
            fps: Frames a second of what the suite asks for.
            asked: Number of frames that the suite asks for.
            drawn: How frames are drawn.

        Returns:
            The bridge; None where the model takes this rate.

        Raises:
            NotApplicableError: The time asked for is too short for a single frame of the model.
        """
        if takes_rate(spec, fps):
            return None
        assert spec.fps is not None
        bridge = cls(float(spec.fps), fps, asked, drawn)
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
            "drawn": self.drawn,
            "keys": KEYS,
            "own_frames": self.own_frames,
            "frames_asked": self.asked,
            "never_imagined": self.asked - self.frames,
        }

    def request(self, request: RolloutRequest) -> RolloutRequest:
        """The same request at the rate of the model. Its context is at that rate already; see `at_rate`.

        Args:
            request: The request, with `asked` frames to imagine.

        Returns:
            The request for `own_frames` frames. Poses are interpolated, actions shared out by time, and the recorded
            future is that of the nearest recorded frames.

        Raises:
            DataError: Its poses are no poses of a camera.
        """
        check_poses(request)
        seen, at = request.context, np.arange(self.own_frames + 1, dtype=np.float64) * (self.fps / self.own_fps)

        def path(poses: FloatArray | None) -> FloatArray | None:
            return None if poses is None else poses_between(np.concatenate([seen.poses[-1:], poses]), at[1:])

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
        """Draw frames of the model at the suite's times, as they come.

        Args:
            chunks: Chunks of `own_frames` frames (n, H, W, 3) uint8; all are taken.
            seen: The last frame of the context, (H, W, 3) uint8. It stands at time 0.

        Yields:
            One chunk (n, H, W, 3) uint8 for each of `chunks`, of those frames that can be drawn now; n may be 0.
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
        """Poses at the suite's times, whichever way frames are drawn.

        Args:
            own: (own_frames, 4, 4) camera-to-world poses of the model's frames.
            seen: (4, 4) pose of the last frame of the context.

        Returns:
            (frames, 4, 4), translation interpolated linearly and rotation along the shortest arc.
        """
        return poses_between(np.concatenate([seen[None], own]), self._times())

    def _times(self) -> FloatArray:
        """Times of the frames to draw, in frames of the model."""
        return np.arange(1, self.frames + 1, dtype=np.float64) * (self.own_fps / self.fps)

    def _plan(self) -> tuple[NDArray[np.int64], FloatArray]:
        """For each frame to draw the frame of the model that it waits for, from 1, and the share of the one before."""
        times = self._times()
        if self.drawn == "nearest":
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
    """A context at another rate that ends with the same frame.

    A frame is the nearest recorded one and keeps its own pose and depth. Actions are shared out by time.

    Args:
        context: The context, of at least one frame.
        fps: The other rate in frames per second.

    Returns:
        The context, of as many frames as fit into the same time.
    """
    last, step = len(context) - 1, context.clip.fps / fps
    at = last - np.arange(math.floor(last / step + _EPS), -1, -1, dtype=np.float64) * step
    rows, depth = _nearest(at, last), context.depth
    return Context(
        context.clip.picked(rows.tolist(), fps),
        context.poses[rows],
        shared_out(context.actions, at, fps),
        context.camera,
        None if depth is None else lambda index: depth(int(rows[index])),
    )


def poses_between(poses: FloatArray, at: ArrayLike) -> FloatArray:
    """Poses of a path at times between its frames.

    Args:
        poses: (n, 4, 4) camera-to-world, n at least 1.
        at: (m,) times in frames, from 0 to n - 1.

    Returns:
        (m, 4, 4): translation interpolated linearly, rotation along the shortest arc (SLERP). At whole frames the very
        pose of the path.

    Raises:
        ShapeError: A time lies outside the path, or a pose is no rotation.
    """
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
    """Actions of another rate that do the same in the same time.

    Angles and lengths are sums: a row gets the share of each given row that falls into its time. A key is held in a row
    where it was held for most of its time; at exactly half, where it was held just before the middle. A press that is
    too short for that keeps the row which it fills most, so none is lost. The space says that a held key moves further
    in a longer frame.

    Args:
        actions: T rows.
        at: (n + 1,) ascending limits of the new rows, in given rows, from 0 to T.
        fps: The new rate in frames per second.

    Returns:
        n rows.
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
    """The lines below a table that tell which subjects were asked at another rate.

    Args:
        bridges: By subject the facts of its records' bridges; none for a subject that was asked as it is.
        truths: Those subjects that are the truth.

    Returns:
        One line for each subject and pair of rates.
    """
    notes = []
    for label, facts in bridges.items():
        for own, fps, drawn in dict.fromkeys((one["own_fps"], one["fps"], one["drawn"]) for one in facts):
            mine = [one for one in facts if (one["own_fps"], one["fps"], one["drawn"]) == (own, fps, drawn)]
            asked, never = (sum(one[name] for one in mine) for name in ("frames_asked", "never_imagined"))
            how = "judged at the times of its own frames" if drawn is None else f"drawn at {fps:g} ({drawn})"
            missing = f"; {never} of {asked} frames were never imagined" if never else ""
            cost = " It is the truth: what its row lacks is what this alone costs." if label in truths else ""
            notes.append(f"{label} was asked at {own:g} frames/s, {how}{missing}.{cost}")
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
    """Whether a key is held in each new row, 0 or 1.

    Args:
        values: (T,) given rows.
        share: (n,) share of the time of each new row in which the key was held.
        at: (n + 1,) limits of the new rows, in given rows.
    """
    middle = np.maximum(np.ceil((at[:-1] + at[1:]) / 2 - _EPS).astype(np.int64) - 1, 0)
    half = np.abs(share - 0.5) <= _EPS
    held = (share > 0.5 + _EPS) | (half & (values[middle] > 0.5))
    changes = np.flatnonzero(np.diff(np.concatenate([[0], values > 0.5, [0]])))
    for first, end in changes.reshape(-1, 2):
        filled = np.minimum(at[1:], end) - np.maximum(at[:-1], first)
        if (filled > _EPS).any() and not held[filled > _EPS].any():
            held[np.argmax(filled)] = True
    return held.astype(np.float64)
