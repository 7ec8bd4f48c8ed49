"""Serve a world model to worldgauge from its own environment: numpy, the standard library, Python 3.8 or newer.

This one file is all that the model's environment needs; copy it there. Write a class next to it:

    from worldgauge_serve import ModelSpec

    class Wan:
        needs = {"gpus": 1}  # optional

        def __init__(self, steps=20):
            self.spec = ModelSpec("wan", control="actions", max_context=32, settings={"steps": steps})

        def rollout(self, request):
            yield frames  # chunks (n, height, width, 3) uint8, request.horizon frames in all

and let worldgauge start it, here or on another machine:

    worldgauge run loopnav --data DIR --model "cmd:conda run -n wan python -m worldgauge_serve wan.py:Wan?steps=30"
    worldgauge run loopnav --data DIR --model "pipe:ssh box python -m worldgauge_serve --pipes wan.py:Wan"

or start it yourself, over HTTP:

    python -m worldgauge_serve wan.py:Wan --port 7000 --restart       then  --model http://127.0.0.1:7000

`serve(Wan())` at the end of a script does the same. A model is asked one question at a time, always in the thread that
made it; leaving a rollout early closes its generator. Prints are fine in every case, standard input is empty. Raise
`NotApplicable` for tasks that the model cannot do. docs/reference/protocol.md of worldgauge describes the protocol.

An estimator, such as one that finds camera paths in videos, is served alike; its spec is an
`EstimatorSpec`, and instead of rollout it has

    def estimate(self, arrays, options):
        return {"poses": poses}, {"frames_used": 9}  # arrays by name, and facts: plain JSON

A policy of a robot's arm is an estimator of the kind "policy", and has propose instead (docs/howto/policies.md):

    spec = EstimatorSpec("reach", kind="policy")

    def propose(self, scene):
        return poses  # (m, l, 8): up to scene.n plans or more, of up to scene.length poses of the hand

A world is a table with an arm; `open` makes one, a `Table` (docs/howto/policies.md):

    spec = WorldSpec("kitchen", tasks=[{"name": "tidy_up", "variations": 1}], views=[...], workspace=(low, high))

    def open(self, task, variation, seed, layout):
        return Kitchen(task, variation, seed)

In this file, in this order: what a model is and what it is asked; camera paths and encodings of
actions; messages; requests; fingerprints; loading; answering; over a stream; over HTTP; starting.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import faulthandler
import glob
import hashlib
import hmac
import importlib
import importlib.util
import inspect
import ipaddress
import json
import math
import os
import re
import secrets
import selectors
import shlex
import signal
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from functools import lru_cache
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple
from urllib.parse import parse_qsl

import numpy as np

__all__ = [
    *("VERSION", "Actions", "Clip", "Context", "EstimatorSpec", "ModelSpec", "NotApplicable", "Request", "Scene"),
    *("Acted", "Table", "WorldSpec", "pose_refusal"),
    *("CONVENTIONS", "KEYS", "CameraControl", "KeySentence", "camera_control", "intrinsics_of", "key_rows"),
    *("continued", "digest", "last_length", "next_length"),
    *("key_sentences", "main", "motions", "mouse_deltas", "note", "pluecker_rays", "resting"),
    "serve",
]

VERSION = 2
VERSIONS = (1, 2)
SOCKET_VARIABLE = "WORLDGAUGE_SOCKET"
TOKEN_VARIABLE = "WORLDGAUGE_TOKEN"
PARENT_VARIABLE = "WORLDGAUGE_PARENT"
CACHE_VARIABLE = "WORLDGAUGE_CACHE"
CONTENT_TYPE = "application/x-worldgauge"
DTYPES = ("uint8", "uint16", "int32", "int64", "float32", "float64")
INPUTS = ("actions", "caption", "depth", "poses", "text")
MAX_HEADER_BYTES = 1 << 20
MAX_ARRAYS = 1024
MAX_SIDES = 5
MAX_BYTES = 4 << 30
MAX_TEXT = 20_000
MAX_NOTES, MAX_NOTE = 100, 500
ROTATION_TOLERANCE = 1e-3
GRACE_S = 5.0
QUIET_S = 60.0
SLOW_S, SLOWEST = 10.0, 100_000  # seconds and bytes a second of an asker who keeps others waiting
HELD_S = 60.0  # seconds in all that the model waits for the asker of one answer while others wait
HUNG = 75
ANSWERS = {
    **{"open": "opened", "sense": "sensed", "act": "acted", "save": "saved", "restore": "restored"},
    **{"plan": "planned", "finish": "finished"},
}
"""Questions to a world, with what answers them."""
MAX_TABLES, MAX_STATES, MAX_STATE_BYTES = 4, 1024, 1 << 20
"""Tables of a world that stay open, named states of a table, and bytes of one; the oldest ones are forgotten."""
_EDGE_M = 1e-6
"""Of a workspace: its bounds as 32-bit floats lie within."""

STATUS = {"unauthorized": 401, "not_found": 404, "too_large": 413}
"""HTTP status of a refusal by its kind of error; 400 of all others."""

Header = Dict[str, Any]
Arrays = Dict[str, "np.ndarray[Any, Any]"]
Check = Callable[[Header, "list[ArraySpec]"], None]
Last = Tuple[Header, Optional[Arrays]]
Stream = Callable[[Any], Any]
Post = Callable[..., None]


# What a model is and what it is asked -------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelSpec:
    """What a world model takes and gives.

    name: shown in tables. control: "actions", "camera" or "text", what drives it; request.actions and
    request.text come with it where they are known, request.poses only for control "camera" or the input "poses".
    view: "perspective" or "panorama".
    frame_size: (width, height) it takes and gives, None for the size of the context. fps: its own rate, None for any.
    max_context: longest context in frames, None for all. chunk: frames it makes at once. inputs: what it cannot do
    without: "caption", the scene in a sentence; "actions", "poses" or "text" besides its control; "depth" of the
    context. crop: (width, height) ratio of the centre part it can draw. settings: all that changes its output, plain
    JSON values. lengths: of one rollout, the picture it goes on from counted: "4n+1", "57+40n", "8n+1 to 961" or
    numbers; a horizon that does not fit is asked longer, and cut afterwards. context_lengths: the same of its context,
    which is cut, or filled up in front with its first frame. action_spaces: names of the spaces of actions it knows, or
    what they begin with, such as ("walk-look",); None for any.
    """

    name: str
    control: str = "actions"
    view: str = "perspective"
    frame_size: tuple[int, int] | None = None
    fps: float | None = None
    max_context: int | None = None
    chunk: int | None = None
    inputs: Sequence[str] = ()
    crop: tuple[int, int] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    lengths: str | Sequence[int] | None = None
    context_lengths: str | Sequence[int] | None = None
    action_spaces: Sequence[str] | None = None


@dataclass(frozen=True)
class EstimatorSpec:
    """What an estimator is: one that measures something in what it is given.

    name: shown in tables. kind: of question that it answers; "decoder" finds camera paths, "policy" moves an arm.
    layout: in which of the ways of its kind it takes and gives arrays; of a policy "things" where it is given the
    places of things, "wrist" the view from the hand, "things wrist" both. settings: all that changes its answers, plain
    JSON values.
    """

    name: str
    kind: str = "decoder"
    layout: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class WorldSpec:
    """What a world is: tables with an arm, on which tasks are carried out.

    name: shown in tables. tasks: each {"name", "variations": how many, "words": what it asks for}. views: each
    {"name", "camera": {"vfov_deg"}}, square pictures: "front", which an agent sees, and others such as "wrist".
    workspace: lower and upper corner in metres, where poses may lie. exact: whether the same acts after a restore
    repeat to the bit. expert: whether its tables have `plan` and `finish`. settings: all that changes what happens,
    plain JSON values.
    """

    name: str
    tasks: Sequence[Mapping[str, Any]]
    views: Sequence[Mapping[str, Any]]
    workspace: Sequence[Sequence[float]]
    kind: str = "table"
    frame: str = "worldgauge-hand"
    exact: bool = True
    expert: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)


class Acted(NamedTuple):
    """What came of a pose: why it did not end as asked, whether nothing moved, the states on the way, and how long."""

    reason: Optional[str]
    failed: bool
    states: Sequence[bytes]
    seconds: float
    unstable: bool = False


class Table:
    """One table of a world: what `open` of a world returns, a class of this or with the same members.

    The frame of poses is that of `Scene`. instruction, wordings: the task in words. caption: what is seen at the start.
    things: {"name", "category", "colour", "half_m"} of each. digest: of all that decides how the table behaves, such as
    versions and start state. It has besides these

        hand        where it is, (8,)
        places      middles of the things, (n, 3) metres
        progress    from 0 to 1, exactly 1 where the task is solved
        pose(view)  camera-to-world (4, 4), as of `Scene`
        picture(view, size_px, depth, instances)
                    arrays by name: "rgb", and where wanted "depth" float32 and "instances" uint16, 0 but for things
        act(pose)   `Acted`: the hand goes to a pose (8,) within the workspace; the last state is among those of the way
        save()      bytes of the whole present state
        restore(state)
                    puts such bytes back; ValueError for those of another table
    """

    instruction, caption, digest = "", "A robot arm at a table.", ""
    wordings: Sequence[str] = ()
    things: Sequence[Mapping[str, Any]] = ()

    def plan(self) -> Any:
        """Poses (l, 8) of an expert from here."""
        raise NotApplicable("this table has no expert; give another proposer than scripted, such as process")

    def finish(self) -> None:
        """Put all things where a solved task leaves them."""
        raise NotApplicable("this table cannot show how its task ends")

    def close(self) -> None:
        """Free what it holds."""


class NotApplicable(Exception):
    """Raise it from `rollout`, `estimate` or `propose` for what cannot be asked: it is skipped, not failed."""


class Clip:
    """Frames (T, H, W, 3) uint8 RGB in memory, with a rate."""

    def __init__(self, frames: np.ndarray[Any, Any], fps: float) -> None:
        self._frames = frames
        self.fps = fps
        self.height, self.width = frames.shape[1:3]

    def __len__(self) -> int:
        return len(self._frames)

    def __getitem__(self, index: Any) -> Any:
        return Clip(self._frames[index], self.fps) if isinstance(index, slice) else self._frames[index]

    def __iter__(self) -> Iterator[np.ndarray[Any, Any]]:
        return iter(self._frames)

    def take(self, indices: Sequence[int]) -> Iterator[np.ndarray[Any, Any]]:
        """Frames at `indices`, in that order."""
        return (self._frames[i] for i in indices)

    def to_array(self) -> np.ndarray[Any, Any]:
        """All frames (T, H, W, 3)."""
        return self._frames


@dataclass(frozen=True)
class Axis:
    """One column of an action array: kind "button" (0 or 1), "angle" (radians) or "length" (metres).

    motion: (forward, left, up in metres, yaw, pitch in radians) that the value 1 causes.
    """

    name: str
    kind: str
    motion: tuple[float, ...]


@dataclass(frozen=True)
class ActionSpace:
    """Named columns of an action array and the frame rate they are meant for."""

    name: str
    axes: tuple[Axis, ...]
    fps: float


@dataclass(frozen=True)
class Actions:
    """values (T, K) float32 in the columns of `space`; row t drives frame t to frame t + 1."""

    space: ActionSpace
    values: np.ndarray[Any, Any]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice) -> Actions:
        return Actions(self.space, self.values[rows])

    def column(self, name: str) -> np.ndarray[Any, Any]:
        """One column (T,) by the name of its axis."""
        return self.values[:, [axis.name for axis in self.space.axes].index(name)]


@dataclass(frozen=True)
class Camera:
    """Intrinsics in pixels; a panorama has a size only (fx to cy are None).

    A panorama is equirectangular: its centre column looks ahead, its right is the right, its top row looks up.
    """

    width: int
    height: int
    fx: float | None = None
    fy: float | None = None
    cx: float | None = None
    cy: float | None = None

    @property
    def is_panorama(self) -> bool:
        """Whether frames are equirectangular, all around; else perspective."""
        return self.fx is None


@dataclass(frozen=True)
class Context:
    """What the model may see: C frames, poses (C, 4, 4) camera-to-world, C - 1 actions, depth(i) -> (H, W) metres.

    poses: None unless the spec declares control "camera" or the input "poses". The last camera is the origin, its
    heading is the x axis, and z is up.
    Depth is along the optical axis of a perspective view, along the ray of a panorama.
    """

    clip: Clip
    poses: np.ndarray[Any, Any] | None
    actions: Actions
    camera: Camera
    depth: Callable[[int], np.ndarray[Any, Any]] | None = None

    def __len__(self) -> int:
        return len(self.clip)

    def last(self, n: int) -> Context:
        """The last n frames, all when there are fewer."""
        start, inner = max(0, len(self) - n), self.depth
        depth = None if inner is None else (lambda i: inner(start + i))
        poses = None if self.poses is None else self.poses[start:]
        return Context(self.clip[start:], poses, self.actions[start:], self.camera, depth)


class Prompt(NamedTuple):
    """A sentence that holds from a frame on."""

    frame: int
    text: str


@dataclass(frozen=True)
class Request:
    """One question; holds all state.

    actions (horizon rows), poses (horizon, 4, 4) camera-to-world and text are forms of the same future. The one that
    the spec's control names is there and binds, the others where they are known. poses are there only if the spec
    declares control "camera" or the input "poses"; their world is that of the context's poses.
    prompts: the same future as a chain of (frame, text): each sentence holds from that frame on, counted from 0, for
    models that take new text midway; None where it is not known.
    seed: of all randomness. caption: what the first frame of the context shows, in a sentence; None if unknown.
    task: salted hash of the id of its task. world and truth are always None here.
    """

    context: Context
    horizon: int
    seed: int
    actions: Actions | None = None
    poses: np.ndarray[Any, Any] | None = None
    text: str | None = None
    caption: str | None = None
    world: None = None
    truth: None = None
    task: str = ""
    prompts: tuple[Prompt, ...] | None = None

    @property
    def frame_size(self) -> tuple[int, int]:
        """(width, height) in pixels of the frames that are asked for."""
        return self.context.camera.width, self.context.camera.height


@dataclass(frozen=True)
class Scene:
    """What a policy of an arm is asked: n plans, each of up to `length` poses of the hand.

    A pose is x, y, z in metres in the world (z up, the arm behind), the quaternion qx, qy, qz, qw of the hand, whose z
    axis points out between the fingers and y across them, and the gripper, 0 closed to 1 open; the hand gets there
    before the gripper moves. front: (H, W, 3) uint8 RGB. depth: (H, W) float32 metres along the optical axis, infinite
    where there is nothing. camera, pose: of both; pose is camera-to-world (4, 4), the camera's x right, y down, z
    forward. hand: (8,) where it is now. history: (k, 8) poses that were carried out, in order. seed: of all randomness.
    things: {"name", "category", "colour", "place_m", "half_m"} of each, where the spec's layout has "things".
    wrist: (H, W, 3) uint8 RGB, the view of a camera on the hand, where the layout has "wrist".
    """

    instruction: str
    front: np.ndarray[Any, Any]
    depth: np.ndarray[Any, Any]
    camera: Camera
    pose: np.ndarray[Any, Any]
    hand: np.ndarray[Any, Any]
    history: np.ndarray[Any, Any]
    n: int
    length: int
    seed: int
    things: Sequence[Mapping[str, Any]] = ()
    wrist: np.ndarray[Any, Any] | None = None


# Camera paths and encodings of actions --------------------------------------------------------------------------------


class CameraControl(NamedTuple):
    """A camera path as a model takes it: poses (n, 4, 4) float64, and intrinsics (n, 4), fx, fy, cx and cy of each."""

    poses: np.ndarray[Any, Any]
    intrinsics: np.ndarray[Any, Any]


def camera_control(
    request: Any,
    convention: str = "opencv_c2w",
    *,
    relative: bool = True,
    scale: Any = 1.0,
    shown: int = 1,
    size: tuple[float, float] | None = None,
) -> CameraControl:
    """The camera path of a question in the convention of a model.

    Args:
        request: The question.
        convention: "opencv_c2w" (x right, y down, z ahead; camera to world), "opencv_w2c" (world to camera) or
            "opengl_c2w" (x right, y up, z behind).
        relative: The first camera is the world; else the world has z up.
        scale: Units of the model a metre, or "largest": the camera farthest from the first has the distance 1.
        shown: How many of the last frames of the context come first: 1 for a model that is told the pose of the
            picture it starts from, too.
        size: (width, height) that intrinsics are for, by default in pixels of the frames asked for; (1, 1) for shares
            of width and height.

    Returns:
        `shown` + horizon poses and intrinsics.

    Raises:
        ValueError: An argument is out of range, or the poses are none.
        NotApplicable: The question holds no camera path, or its frames are panoramas.
    """
    if convention not in CONVENTIONS:
        raise ValueError("poses are asked for as %r; give one of %s" % (convention, ", ".join(CONVENTIONS)))
    if not (scale == "largest" or (isinstance(scale, (int, float)) and 0 < scale < math.inf)):
        raise ValueError("a scale of %r; give units a metre, or 'largest'" % (scale,))
    if not 0 <= shown <= len(request.context):
        raise ValueError("%r frames of a context of %d" % (shown, len(request.context)))
    if request.poses is None or request.context.poses is None:
        raise NotApplicable("the camera path is not known; declare control='camera' or inputs={'poses'}")
    before = request.context.poses[len(request.context) - shown :]
    poses = np.concatenate([before, request.poses]).astype(np.float64)
    fault = pose_fault(poses)
    if fault is not None:
        raise ValueError(fault)
    if convention == "opengl_c2w":
        poses = poses @ np.diag([1.0, -1.0, -1.0, 1.0])
    if relative:
        poses = _inverse(poses[:1]) @ poses
    if scale == "largest":
        far = np.linalg.norm(poses[:, :3, 3] - poses[0, :3, 3], axis=1).max()
        scale = 1.0 / far if far > 0 else 1.0
    poses[:, :3, 3] *= scale
    if convention == "opencv_w2c":
        poses = _inverse(poses)
    return CameraControl(poses, np.tile(intrinsics_of(request.context.camera, size), (len(poses), 1)))


def intrinsics_of(camera: Any, size: tuple[float, float] | None = None) -> np.ndarray[Any, Any]:
    """fx, fy, cx and cy (4,) of a camera for frames of `size`: (width, height) in pixels; (1, 1) gives shares of both.

    Raises NotApplicable for a panorama.
    """
    if getattr(camera, "fx", None) is None:
        raise NotApplicable("a panorama has no focal length")
    across, down = (1.0, 1.0) if size is None else (size[0] / camera.width, size[1] / camera.height)
    return np.array([camera.fx * across, camera.fy * down, camera.cx * across, camera.cy * down])


def pluecker_rays(poses: Any, intrinsics: Any, size: tuple[int, int]) -> np.ndarray[Any, Any]:
    """The ray of every pixel of every camera as moment and direction.

    Args:
        poses: (n, 4, 4), "opencv_c2w".
        intrinsics: (n, 4) or (4,) for frames of `size`.
        size: (width, height) of the rays' grid. A ray goes through the middle of its pixel.

    Returns:
        (n, height, width, 6) float32: centre x direction, then the direction, of length 1.
    """
    poses, intrinsics = np.asarray(poses, np.float64), np.asarray(intrinsics, np.float64)
    fault = pose_fault(poses)
    if fault is not None:
        raise ValueError(fault)
    fx, fy, cx, cy = np.broadcast_to(intrinsics, (len(poses), 4)).T[:, :, None, None]
    u, v = np.meshgrid(np.arange(size[0]) + 0.5, np.arange(size[1]) + 0.5)
    seen = np.stack(np.broadcast_arrays((u - cx) / fx, (v - cy) / fy, 1.0), axis=-1)
    ahead = np.einsum("nij,nhwj->nhwi", poses[:, :3, :3], seen)
    ahead /= np.linalg.norm(ahead, axis=-1, keepdims=True)
    return np.concatenate([np.cross(poses[:, None, None, :3, 3], ahead), ahead], axis=-1).astype(np.float32)


def pose_fault(poses: Any) -> str | None:
    """Why camera-to-world matrices (n, 4, 4) are no poses, in words; None where they are."""
    poses = np.asarray(poses, np.float64)
    if poses.ndim != 3 or poses.shape[1:] != (4, 4):
        return "poses have the shape (n, 4, 4), not %s" % (poses.shape,)
    if not np.isfinite(poses).all():
        return "its values are not all finite"
    turns = poses[:, :3, :3]
    off = (np.abs(turns @ turns.transpose(0, 2, 1) - np.eye(3)) > ROTATION_TOLERANCE).any(axis=(1, 2))
    off |= (np.linalg.det(turns) < 0) | (np.abs(poses[:, 3] - (0, 0, 0, 1)) > ROTATION_TOLERANCE).any(axis=1)
    if not off.any():
        return None
    first = int(off.argmax())
    return "pose %d is no rotation with a place: %s" % (first, poses[first].round(4).tolist())


def pose_refusal(pose: Any, low: Any, high: Any) -> str | None:
    """Why a pose of a hand cannot be gone to within a workspace, in words; None where it can."""
    try:
        values = np.asarray(pose, np.float64)
    except (TypeError, ValueError):
        return "the pose holds what is no number"
    if values.shape != (8,):
        return "a pose is 8 numbers, got shape %s" % (values.shape,)
    if not np.isfinite(values).all():
        return "the pose holds values that are not finite"
    if abs(float(np.linalg.norm(values[3:7])) - 1) > 0.01:
        return "the quaternion of the pose does not have length 1"
    if not 0 <= values[7] <= 1:
        return "the gripper is %g, not between 0 and 1" % values[7]
    if (values[:3] < np.array(low) - _EDGE_M).any() or (values[:3] > np.array(high) + _EDGE_M).any():
        return "(%.2f, %.2f, %.2f) lies outside the workspace" % tuple(values[:3])
    return None


def _inverse(poses: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Of rigid motions (n, 4, 4)."""
    back = np.tile(np.eye(4), (len(poses), 1, 1))
    back[:, :3, :3] = poses[:, :3, :3].transpose(0, 2, 1)
    back[:, :3, 3] = -(back[:, :3, :3] @ poses[:, :3, 3:])[..., 0]
    return back


def next_length(rule: Any, least: int) -> int | None:
    """The smallest number of frames of at least `least` that a rule of lengths allows; None where there is none.

    Args:
        rule: "4n+1", "57+40n" or "8n+1 to 961", n from 0; a sequence of numbers; None for any number.
        least: Number of frames.

    Raises:
        ValueError: The rule cannot be meant.
    """
    first, step, most, listed = _rule(rule)
    if listed:
        return min((one for one in listed if one >= least), default=None)
    found = first + step * max(0, -(-(least - first) // step))
    return found if most is None or found <= most else None


def last_length(rule: Any, most: int) -> int | None:
    """The largest number of frames of at most `most` that a rule of lengths allows, as for `next_length`."""
    first, step, limit, listed = _rule(rule)
    if listed:
        return max((one for one in listed if one <= most), default=None)
    bound = most if limit is None else min(most, limit)
    return first + step * ((bound - first) // step) if bound >= first else None


def continued(
    request: Any, rule: Any, draw: Callable[[Request], Any], cuts: Sequence[int] = ()
) -> Iterator[np.ndarray[Any, Any]]:
    """The answer to a question that may need several calls of a model, each going on from the last frame before it.

    Args:
        request: The question.
        rule: Numbers of frames of one call, the picture that it goes on from counted, as for `next_length`.
        draw: draw(part) answers one call with frames (part.horizon, H, W, 3), or yields them in chunks, and is left
            once there are enough. `part` is a question of a length that the rule allows, with a seed of its own: with
            the same one every call would make the same move. What it asks for beyond the end of `request` stands still
            (`resting`). The context of a call after the first is the last two frames that were kept.
        cuts: Frames, counted from 0, that begin a new call; what a call drew beyond the next one is dropped. Such as
            those of `request.prompts`, for a model that takes one text a call.

    Yields:
        `request.horizon` frames in all.

    Raises:
        ValueError: The rule allows no frame after the picture, or a call gave another number of frames.
    """
    done, number = 0, 0
    last: Any = None
    while done < request.horizon:
        end = min([cut for cut in cuts if cut > done] + [request.horizon])
        left = 1 + end - done
        count = (next_length(rule, max(2, left)) or last_length(rule, left) or 1) - 1
        if count < 1:
            raise ValueError("lengths of %.80r allow no frame after the picture" % (rule,))
        made, got = draw(_part(request, number, done, count, last)), 0
        for chunk in [made] if isinstance(made, np.ndarray) else made:
            kept = chunk[: max(0, end - done - got)]
            got += len(chunk)
            if len(kept):
                last = kept[-2:] if last is None or len(kept) > 1 else np.concatenate([last[-1:], kept])
            if got > count:
                break
            yield kept
            if done + got >= end and got < count:
                got = count
                break
        if got != count:
            raise ValueError("%d frames were drawn where a call was to make %d" % (got, count))
        done, number = min(done + count, end), number + 1


def _part(request: Any, number: int, start: int, count: int, drawn: Any) -> Request:
    """The question of call `number`: `count` frames from frame `start` on, after those that the last call has drawn."""
    context, actions, poses = request.context, request.actions, request.poses
    if drawn is not None:
        known = min(2, len(drawn))
        context = Context(
            Clip(np.asarray(drawn[len(drawn) - known :]), context.clip.fps),
            None if poses is None else poses[start - known : start],
            context.actions[:0] if actions is None else actions[start - known + 1 : start],
            context.camera,
        )
    if actions is not None:
        values = actions.values[start : start + count]
        actions = Actions(actions.space, np.concatenate([values, resting(actions, count - len(values))]))
    if poses is not None:
        poses = poses[np.minimum(np.arange(start, start + count), len(poses) - 1)]
    seed = int(np.random.SeedSequence([request.seed, number]).generate_state(1)[0])
    prompts = request.prompts and _said_within(request.prompts, start, count)
    return Request(
        context, count, seed, actions, poses, request.text, request.caption, task=request.task, prompts=prompts
    )


def _said_within(prompts: tuple[Prompt, ...], start: int, count: int) -> tuple[Prompt, ...]:
    """The sentences that hold in `count` frames from frame `start` on, counted from there."""
    said = [Prompt(max(0, frame - start), text) for frame, text in prompts if frame < start + count]
    first = max((number for number, (frame, _) in enumerate(said) if frame == 0), default=0)
    return tuple(said[first:])


def _rule(rule: Any) -> tuple[int, int, int | None, Sequence[int]]:
    """First length, step and last one, or a list of all."""
    if rule is None:
        return 1, 1, None, ()
    if isinstance(rule, (list, tuple)):
        if rule and all(isinstance(one, int) and not isinstance(one, bool) and one > 0 for one in rule):
            return 0, 1, None, rule
    elif isinstance(rule, str):
        found = re.fullmatch(r"(?:(\d{1,9})n(?:\+(\d{1,9}))?|(\d{1,9})\+(\d{1,9})n)(?: to (\d{1,9}))?", rule)
        if found:
            step, rest, start, by, most = (int(one or 0) for one in found.groups())
            step, first = (step, rest or step) if start == 0 and by == 0 else (by, start)
            limit = most if found.group(5) else None
            if step > 0 and first > 0 and (limit is None or limit >= first):
                return first, step, limit, ()
    raise ValueError("lengths of %.80r; give a rule such as '4n+1', '57+40n' or '8n+1 to 961', or numbers" % (rule,))


def motions(actions: Any) -> np.ndarray[Any, Any]:
    """What actions nominally do, (T, 5) float64: metres forward, left and up, yaw and pitch in radians.

    Raises NotApplicable for a space that moves no camera, such as that of an arm.
    """
    gains = np.array([axis.motion for axis in actions.space.axes], np.float64)
    if not gains.any():
        raise NotApplicable("actions of '%s' move no camera" % actions.space.name)
    return np.asarray(actions.values, np.float64) @ gains


def resting(actions: Any, count: int) -> np.ndarray[Any, Any]:
    """Rows (count, K) float32 in which nothing moves after `actions`.

    They are zeros; in a space that moves no camera, such as that of an arm, values are targets, and the last ones stay.
    """
    values = np.asarray(actions.values, np.float32)
    moves = any(any(axis.motion) for axis in actions.space.axes)
    last = np.zeros_like(values[:1]) if moves else values[-1:]
    return np.repeat(last, count, axis=0) if len(last) else np.zeros((count, values.shape[1]), np.float32)


def key_rows(actions: Any, keys: Sequence[str], *, least_m: float = 1e-3, least_deg: float = 0.1) -> Any:
    """Actions as keys that are held or not.

    Args:
        actions: T actions of any space.
        keys: Names in the order of the model's columns, out of KEYS or buttons of a space, such as "jump". One that
            the space does not have is never held.
        least_m: Metres a step from which a key of KEYS that walks is held.
        least_deg: Degrees a step from which one that looks is.

    Returns:
        (T, len(keys)) float32, 1 where a key is held.
    """
    moves, names = motions(actions), [axis.name for axis in actions.space.axes]
    rows = np.zeros((len(moves), len(keys)), np.float32)
    for place, key in enumerate(keys):
        if key in KEYS:
            column, sign = KEYS[key]
            rows[:, place] = sign * moves[:, column] >= (least_m if column < 3 else math.radians(least_deg))
        elif key in names:
            rows[:, place] = np.asarray(actions.values)[:, names.index(key)] > 0
    return rows


def mouse_deltas(actions: Any, unit_deg: float = 1.0, axes: Sequence[str] = ("right", "down")) -> Any:
    """Turns as moves of a mouse.

    Args:
        actions: T actions of any space.
        unit_deg: Degrees of one unit.
        axes: What is positive in each column: "right" or "left", "down" or "up".

    Returns:
        (T, len(axes)) float64 units.
    """
    moves = np.degrees(motions(actions)) / unit_deg
    return np.stack([moves[:, KEYS["look_" + axis][0]] * KEYS["look_" + axis][1] for axis in axes], axis=1)


class KeySentence(NamedTuple):
    """What is held in a stretch of steps, in a model's own words, and the share of its steps for which that is so."""

    text: str
    share: float


def key_sentences(
    actions: Any, moves: Mapping[str, str], turns: Mapping[str, str], steps: int, **least: float
) -> list[KeySentence]:
    """Actions as sentences, one for each stretch of steps: that of the keys held in most of them.

    Args:
        actions: T actions of any space.
        moves: The model's sentence for each combination of walking keys, named in the order of KEYS, such as
            "forward" or "forward+left".
        turns: The same for looking keys, such as "look_left" or "look_up+look_left". Nothing held needs no sentence.
        steps: Length of a stretch; the last one may be shorter.
        least: As for `key_rows`.

    Returns:
        ceil(T / steps) sentences: the move, then the turn.

    Raises:
        NotApplicable: The model has no sentence for what is held.
    """
    found = []
    walks, looks = [[key for key in KEYS if key.startswith("look") == look] for look in (False, True)]
    held = [_combinations(key_rows(actions, keys, **least), keys) for keys in (walks, looks)]
    for start in range(0, len(held[0]), steps):
        parts = [names[start : start + steps] for names in held]
        most = [max(dict.fromkeys(names), key=names.count) for names in parts]
        for combination, known in zip(most, (moves, turns)):
            if combination and combination not in known:
                raise NotApplicable("the model has no sentence for %s" % combination)
        said = [known.get(combination, "") for combination, known in zip(most, (moves, turns))]
        share = sum(both == tuple(most) for both in zip(*parts)) / len(parts[0])
        found.append(KeySentence(" ".join(filter(None, said)), share))
    return found


def _combinations(rows: np.ndarray[Any, Any], keys: Sequence[str]) -> list[str]:
    return ["+".join(key for key, on in zip(keys, row) if on) for row in rows]


KEYS = {
    "forward": (0, 1), "back": (0, -1), "left": (1, 1), "right": (1, -1), "up": (2, 1), "down": (2, -1),
    "look_up": (4, 1), "look_down": (4, -1), "look_left": (3, 1), "look_right": (3, -1),
}  # fmt: skip
"""Column of `motions` and sign of each key."""

CONVENTIONS = ("opencv_c2w", "opencv_w2c", "opengl_c2w")


# Notes on answers ---------------------------------------------------------------------------------------------------


def note(text: str) -> None:
    """Tell what the record of the answer in hand is to say, such as what was bent in its control; also on stderr.

    Args:
        text: One line of up to 500 characters. What is told twice is kept once, and up to 100 are kept.
    """
    line = " ".join(str(text).split())[:MAX_NOTE]
    print(line, file=sys.stderr, flush=True)
    if line and line not in _NOTES and len(_NOTES) < MAX_NOTES:
        _NOTES.append(line)


def forget_notes() -> None:
    """Let `notes` begin anew."""
    _NOTES.clear()


def notes() -> Tuple[str, ...]:
    """What was told in this process since `forget_notes`, in order."""
    return tuple(_NOTES)


_NOTES: list[str] = []


# Messages: 4 bytes header length, JSON header, arrays back to back ---------------------------------------------------


class WireError(Exception):
    """A message that breaks the protocol. kind: one of the kinds of errors in docs/reference/protocol.md."""

    def __init__(self, text: str, kind: str = "protocol") -> None:
        super().__init__(text)
        self.kind = kind


@dataclass(frozen=True)
class ArraySpec:
    """An array that a header announces."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes it takes; plain integers, so nothing overflows."""
        size = np.dtype(self.dtype).itemsize
        for side in self.shape:
            size *= side
        return size


def encode(header: Mapping[str, Any], arrays: Mapping[str, Any] | None = None) -> list[memoryview]:
    """Encode one message. Contiguous arrays are not copied.

    Args:
        header: JSON values.
        arrays: Arrays by name.

    Returns:
        Buffers, in order.

    Raises:
        WireError: The header is not strict JSON or too large, or an array has a type that is not sent.
    """
    little = {name: _little(name, array) for name, array in (arrays or {}).items()}
    announced = [{"name": name, "dtype": a.dtype.name, "shape": list(a.shape)} for name, a in little.items()]
    try:
        text = json.dumps({**header, "arrays": announced}, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise WireError("a header that is no strict JSON: %s" % error) from None
    if len(text) > MAX_HEADER_BYTES:
        raise WireError("a header of %d bytes; the limit is %d" % (len(text), MAX_HEADER_BYTES), "too_large")
    flat: Any = [array.reshape(-1) for array in little.values() if array.nbytes]
    return [memoryview(struct.pack("<I", len(text)) + text), *(memoryview(array).cast("B") for array in flat)]


def write_message(write: Stream, header: Mapping[str, Any], arrays: Mapping[str, Any] | None = None) -> None:
    """Send one message.

    Args:
        write: write(view) -> bytes written, which may write a part.
        header: JSON values.
        arrays: Arrays by name.

    Raises:
        WireError: As `encode`.
    """
    for view in encode(header, arrays):
        _write_all(write, view)


def read_message(readinto: Stream, *, limit: int = MAX_BYTES, check: Check | None = None) -> tuple[Header, Arrays]:
    """Read one message. Nothing larger than a header is allocated before its size has passed.

    Args:
        readinto: readinto(view) -> bytes read, 0 at the end.
        limit: Largest size of all arrays in bytes.
        check: Called with the header and the arrays announced; raises for what it refuses.

    Returns:
        Header and arrays.

    Raises:
        EOFError: The stream ends between two messages.
        WireError: It is not a message, or too large.
    """
    (size,) = struct.unpack("<I", _read(readinto, 4, first=True))
    if size > MAX_HEADER_BYTES:
        raise WireError("a header of %d bytes; the limit is %d" % (size, MAX_HEADER_BYTES), "too_large")
    header, announced = _parse(bytes(_read(readinto, size)))
    total = sum(one.nbytes for one in announced)
    if total > limit:
        raise WireError("arrays of %d bytes; the limit is %d" % (total, limit), "too_large")
    if check is not None:
        check(header, announced)
    arrays = {}
    for one in announced:
        try:
            array = np.empty(one.shape, np.dtype(one.dtype).newbyteorder("<"))
        except (MemoryError, ValueError) as error:  # ValueError: a side of 0 together with sides that overflow
            raise WireError("array '%s' of %s: %s" % (one.name, one.shape, error), "too_large") from None
        if array.nbytes:
            flat: Any = array.reshape(-1)
            _fill(readinto, memoryview(flat).cast("B"))
        arrays[one.name] = array.astype(one.dtype, copy=False)
    return header, arrays


def _little(name: str, array: Any) -> np.ndarray[Any, Any]:
    if not isinstance(array, np.ndarray):
        raise WireError("array '%s': expected a numpy array, got %s" % (name, type(array).__name__))
    if array.dtype.name not in DTYPES or array.ndim > MAX_SIDES:
        what = "%s with %d sides" % (array.dtype, array.ndim)
        raise WireError("array '%s' is %s; %s with up to %d travel" % (name, what, ", ".join(DTYPES), MAX_SIDES))
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)


def _write_all(write: Stream, view: memoryview) -> None:
    while view:
        count = write(view)
        if not count:
            raise BrokenPipeError("the stream takes no more bytes")
        view = view[count:]


def _read(readinto: Stream, size: int, first: bool = False) -> bytearray:
    data = bytearray(size)
    _fill(readinto, memoryview(data), first)
    return data


def _fill(readinto: Stream, view: memoryview, first: bool = False) -> None:
    done = 0
    while done < len(view):
        count = readinto(view[done:])
        if not count:
            if first and done == 0:
                raise EOFError("the stream has ended")
            raise WireError("the stream ended within a message, %d bytes before its end" % (len(view) - done), "cut")
        done += count


def _parse(text: bytes) -> tuple[Header, list[ArraySpec]]:
    try:
        header = strict_json(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise WireError("a header that is no strict JSON: %s" % error) from None
    if not isinstance(header, dict) or not isinstance(header.get("type"), str):
        raise WireError("a header must be a JSON object with a 'type'")
    announced = header.pop("arrays", [])
    if not isinstance(announced, list) or len(announced) > MAX_ARRAYS:
        raise WireError("'arrays' must be a list of at most %d" % MAX_ARRAYS)
    specs = [_array_spec(one) for one in announced]
    if len({one.name for one in specs}) < len(specs):
        raise WireError("two arrays have one name")
    return header, specs


def strict_json(text: str) -> Any:
    """The value in `text`. ValueError for what is no JSON (NaN and Infinity are not), RecursionError if too deep."""

    def refuse(constant: str) -> None:
        raise ValueError(constant + " is no JSON")

    def finite(digits: str) -> float:
        number = float(digits)
        if math.isinf(number):  # such as 1e999
            raise ValueError("%.50s is larger than a number can be" % digits)
        return number

    return json.loads(text, parse_constant=refuse, parse_float=finite)


def _array_spec(given: Any) -> ArraySpec:
    if not isinstance(given, dict):
        raise WireError("an entry of 'arrays' is no object")
    name, dtype, shape = given.get("name"), given.get("dtype"), given.get("shape", "")
    whole = isinstance(shape, list) and all(type(side) is int and 0 <= side < 1 << 31 for side in shape)
    if not isinstance(name, str) or dtype not in DTYPES or not whole or len(shape) > MAX_SIDES:
        rule = "a name, a dtype of %s, a shape of up to %d whole numbers" % (", ".join(DTYPES), MAX_SIDES)
        raise WireError("an array needs %s; got %.200r" % (rule, given))
    return ArraySpec(name, dtype, tuple(shape))


# Requests ------------------------------------------------------------------------------------------------------------


def requests_of(header: Mapping[str, Any], arrays: Arrays, control: str | None = None) -> list[Request]:
    """Parse the questions of a rollout message.

    Args:
        header: Its header.
        arrays: Its arrays.
        control: What drives the model that is asked; None where any form of the future will do.

    Raises:
        WireError: Something is missing or does not fit.
    """
    with _reading(header):
        given = header["requests"]
        if not isinstance(given, list) or not given:
            raise ValueError("requests: a list of at least one is needed")
        return [_request(one, arrays, "%d/" % index, control) for index, one in enumerate(given)]


def options_of(header: Mapping[str, Any], kind: str) -> Header:
    """Parse the options of an estimate message.

    Args:
        header: Its header.
        kind: Kind of this estimator.

    Raises:
        WireError: Another kind is asked for, or the options are not an object.
    """
    with _reading(header):
        options: Header = header.get("options", {})
        if not isinstance(options, dict):
            raise ValueError("options: an object is needed")
        if header["kind"] != kind:
            raise ValueError("kind: %.50r is asked for, and this is a '%s'" % (header["kind"], kind))
        return options


def scene_of(header: Mapping[str, Any], arrays: Arrays) -> Scene:
    """Parse what an estimate message asks of a policy.

    Args:
        header: Its header.
        arrays: Its arrays.

    Raises:
        WireError: Something is missing or does not fit.
    """
    options = options_of(header, "policy")
    with _reading(header):
        front, depth = arrays["front"], arrays["depth"]
        if front.dtype != "uint8" or front.shape != (*depth.shape, 3):
            raise ValueError("front: it is %s %s over depth %s" % (front.dtype, front.shape, depth.shape))
        if arrays["pose"].shape != (4, 4) or arrays["hand"].shape != (8,) or arrays["history"].shape[1:] != (8,):
            raise ValueError("pose, hand or history: their shapes are not (4, 4), (8,) and (k, 8)")
        wrist = arrays.get("wrist")
        if wrist is not None and (wrist.dtype != "uint8" or wrist.ndim != 3 or wrist.shape[2] != 3):
            raise ValueError("wrist: it is %s %s" % (wrist.dtype, wrist.shape))
        return Scene(
            str(options["instruction"]),
            front,
            depth,
            _camera(options["camera"]),
            arrays["pose"],
            arrays["hand"],
            arrays["history"],
            _number("n", options["n"], 1, int),
            _number("length", options["length"], 1, int),
            _number("seed", options["seed"], 0, int),
            list(options.get("things", [])),
            wrist,
        )


@contextmanager
def _reading(header: Mapping[str, Any]) -> Iterator[None]:
    """Turns what is wrong with a question into a WireError; looks at what every question has."""
    version = header.get("version", VERSION)
    if type(version) is not int or version not in VERSIONS:
        spoken = (version, " and ".join(map(str, VERSIONS)))
        raise WireError("a question in version %.50r of the protocol; this server speaks %s" % spoken, "version")
    try:
        for name in ("deadline_s", "wait_s"):
            _number(name, header.get(name) or 0, 0)
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        raise WireError("a question that lacks or garbles %s" % error, "request") from None


def _request(given: Mapping[str, Any], arrays: Arrays, prefix: str, control: str | None) -> Request:
    def array(name: str, dtype: str, *shape: int) -> np.ndarray[Any, Any]:
        found = arrays[prefix + name]
        if found.dtype != dtype or found.shape != shape:
            raise ValueError("%s: it is %s %s, not %s %s" % (name, found.dtype, found.shape, dtype, shape))
        if found.dtype.kind == "f" and name != "context/depth" and not np.isfinite(found).all():
            raise ValueError("%s: its values are not all finite" % name)
        fault = pose_fault(found) if name.endswith("poses") else None
        if fault is not None:
            raise ValueError("%s: %s" % (name, fault))
        found.setflags(write=False)  # as it is for a model in worldgauge's own process
        return found

    camera, space = _camera(given["camera"]), _space(given["space"])
    frames = arrays[prefix + "context/frames"]
    seen, size, columns = len(frames), (camera.height, camera.width), len(space.axes)
    context = Context(
        Clip(array("context/frames", "uint8", seen, *size, 3), _number("fps", given["fps"], 0)),
        array("context/poses", "float64", seen, 4, 4) if given.get("posed", True) else None,
        Actions(space, array("context/actions", "float32", max(seen - 1, 0), columns)),
        camera,
        array("context/depth", "float32", seen, *size).__getitem__ if prefix + "context/depth" in arrays else None,
    )
    horizon, text = _number("horizon", given["horizon"], 1, int), _words("text", given.get("text"))
    driven = {"actions": prefix + "actions" in arrays, "camera": prefix + "poses" in arrays, "text": text is not None}
    if not (any(driven.values()) if control is None else driven[control]):
        raise ValueError("its control: %s is needed" % {"camera": "poses", None: "a future"}.get(control, control))
    return Request(
        context,
        horizon,
        _number("seed", given["seed"], -math.inf, int),
        Actions(space, array("actions", "float32", horizon, columns)) if driven["actions"] else None,
        array("poses", "float64", horizon, 4, 4) if driven["camera"] else None,
        text,
        _words("caption", given.get("caption")),
        task=str(given.get("task", "")),
        prompts=_prompts(given.get("prompts"), horizon),
    )


def _prompts(given: Any, horizon: int) -> tuple[Prompt, ...] | None:
    """A chain of sentences, whose frames rise."""
    if given is None:
        return None
    pairs = ((one["frame"], one["text"]) for one in given)
    said = tuple(Prompt(_number("prompts", frame, 0, int), _words("prompts", text) or "") for frame, text in pairs)
    frames = [one.frame for one in said]
    if frames != sorted(set(frames)) or (frames and not frames[0] == 0 <= frames[-1] < horizon):
        raise ValueError("prompts: their frames do not rise from 0 to below %d" % horizon)
    return said


def _camera(given: Mapping[str, Any]) -> Camera:
    width, height = (_number(name, given[name], 1, int) for name in ("width", "height"))
    known = [(name, given.get(name)) for name in ("fx", "fy", "cx", "cy")]
    return Camera(width, height, *(None if value is None else _number(name, value) for name, value in known))


def _space(given: Mapping[str, Any]) -> ActionSpace:
    axes = ((one["name"], one["kind"], tuple(_number("motion", m) for m in one["motion"])) for one in given["axes"])
    return ActionSpace(str(given["name"]), tuple(Axis(*axis) for axis in axes), _number("fps", given["fps"], 0))


def _words(name: str, value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError("%s: %.50r is no text" % (name, value))
    return value


def _number(name: str, value: Any, least: float = -math.inf, kind: Any = float) -> Any:
    fits = type(value) is int or (type(value) is float and kind is float)
    if not fits or not least <= value < math.inf:
        raise ValueError("%s: %.50r is no number that it can be" % (name, value))
    return kind(value)


# Fingerprints --------------------------------------------------------------------------------------------------------

WEIGHTS = (
    *(".bin", ".ckpt", ".gguf", ".h5", ".hdf5", ".msgpack", ".npy", ".npz", ".onnx", ".pickle", ".pkl", ".pt"),
    *(".pth", ".safetensors"),
)
MAX_FILES = 100_000
LARGE_BYTES = 1 << 20  # larger files are read once
SLOW_BYTES = 2 << 30  # reading a larger file is reported
SETTLED_S = 2.0  # a file that was written later than this ago may change again without a new time
_OURS = ("worldgauge", "worldgauge_serve")
_LEFT_OUT = ("__pycache__", "node_modules", "site-packages")
_FOLDER = " folder"
_PASSING = (".log", ".md", ".part", ".pyc")
_WRITTEN = frozenset(("cache", "debug", "log", "logs", "out", "output", "outputs", "temp", "tmp"))
_PLACES = frozenset(("dir", "directory", "file", "folder", "path", "root", ""))


def digest(path: Any) -> str:
    """SHA-256 of the content of a file, or of the names and contents of all files in a folder, in hexadecimal.

    Hidden files, caches of Python, `*.log`, `*.md` and run folders of worldgauge are left out. A file above 1 MB is
    read once, and remembered by its path, size, times and inode. Put it into `settings`, such as
    {"weights": digest("weights.pt")}.

    Raises OSError for what cannot be read, and ValueError for a folder of more than 100,000 files.
    """
    place = os.path.expanduser(str(path))
    return _digest_of_folder(place) if os.path.isdir(place) else _digest_of_file(place)


def _digest_of_folder(folder: str, suffixes: Sequence[str] = ("",)) -> str:
    files = sorted(_files_in(folder, suffixes).items())
    return _joined("%s\0%s" % (name, _digest_of_file(path)) for name, path in files)


def _joined(lines: Any) -> str:
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _digest_of_file(path: str) -> str:
    place = os.path.realpath(path)
    before = _stamp(place)
    note = _note_of(place) if before[0] >= LARGE_BYTES else None
    if note is not None:
        with suppress(OSError, ValueError, TypeError, KeyError):
            held = json.loads(note.read_text())
            if held["stamp"] == before and isinstance(held["digest"], str):
                return str(held["digest"])
    if before[0] >= SLOW_BYTES:
        print("reading %s once, %.1f GB, for its fingerprint" % (path, before[0] / 1e9), file=sys.stderr, flush=True)
    began, found = time.time(), hashlib.sha256()
    with open(place, "rb") as file:
        for block in iter(lambda: file.read(1 << 22), b""):
            found.update(block)
    if note is not None and _stamp(place) == before and began - max(before[1:3]) / 1e9 > SETTLED_S:
        part = note.with_name("%s.%s.part" % (note.name, secrets.token_hex(8)))
        with suppress(OSError):
            note.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps({"stamp": before, "digest": found.hexdigest()}))
            os.replace(str(part), str(note))
    return found.hexdigest()


def _stamp(path: str) -> List[int]:
    status = os.stat(path)
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev]


def _note_of(path: str) -> Path | None:
    """Where the digest of a large file is remembered: one small file each, so that writers need no lock."""
    given = os.environ.get(CACHE_VARIABLE, "")
    if given == "off":
        return None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(given or os.path.join(base, "worldgauge"), "digests", _joined([path]))


def _files_in(folder: str, suffixes: Sequence[str]) -> Dict[str, str]:
    """Path of each file below a folder, by its name there."""
    found: Dict[str, str] = {}
    seen, count = set(), 0
    for at, inner, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(at)
        if real in seen or (at != folder and ("pyvenv.cfg" in names or "journal.jsonl" in names)):
            inner[:] = []  # a link in a circle, an environment of Python, or a run folder
            continue
        seen.add(real)
        has_runs = any(os.path.isfile(os.path.join(at, name, "journal.jsonl")) for name in inner)
        skipped = _LEFT_OUT + (("logs",) if has_runs else ())
        inner[:] = [name for name in inner if name[0] != "." and name not in skipped]
        count += len(names)
        if count > MAX_FILES:
            raise ValueError("%s holds more than %d files; name those that matter" % (folder, MAX_FILES))
        for name in names:
            is_wanted = name[0] != "." and name.endswith(tuple(suffixes)) and not name.endswith(_PASSING)
            if is_wanted and os.path.isfile(path := os.path.join(at, name)):
                found[os.path.relpath(path, folder).replace(os.sep, "/")] = path
    return found


def fingerprint(file: Any, contents: Mapping[str, str]) -> str:
    """One digest of a file of code and of what `contents_of` it found; empty for code without a file."""
    try:
        own = _digest_of_file(str(file))
    except OSError:
        return ""
    return _joined([own, *("%s %s" % pair for pair in sorted(contents.items()))]) if contents else own


def code_files(file: Any) -> List[str]:
    """A file of code and all that it imports of a user's code, as absolute paths; none where there is no such file."""
    own = os.path.realpath(str(file))
    return _code_of(own, [])[0] if os.path.isfile(own) else []


def contents_of(file: Any, values: Any = None) -> Dict[str, str]:
    """Digests of what the answers of the code in a file depend on besides the file itself, by name.

    That is: the modules that it imports from its own folder, the working folder and other folders that are no library;
    files of weights that this code names; files and folders that `values` name, a mapping of settings. A folder around
    the working folder or the code counts with its code and weights alone, since results may be written there. Settings
    whose names say that they are written, such as log, out or cache_dir, do not count.
    """
    own = os.path.realpath(str(file))
    if not os.path.isfile(own):
        return _named_by("", values, [os.getcwd()], [])
    folder = os.path.dirname(own)
    texts = list(_texts("", values))
    modules, named, folders = _code_of(own, [text for _, text in texts])
    found = {"code " + os.path.relpath(path, folder): _digest_of_file(path) for path in modules if path != own}
    bases = [os.getcwd(), folder, *folders]
    for text in named:
        found.update(_named_by("file " + text, text, bases, [own], files_only=True))
    found.update(_named_by("", values, bases, [own]))
    return found


def _texts(name: str, value: Any) -> Iterator[Tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            words = set(re.split("[^a-z]+", str(key).lower())) - _PLACES
            if not words or not words <= _WRITTEN:  # output_head is no output
                yield from _texts(("%s.%s" % (name, key)).lstrip("."), one)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for number, one in enumerate(value if isinstance(value, (list, tuple)) else sorted(map(str, value))):
            yield from _texts("%s.%d" % (name, number), one)
    elif isinstance(value, (str, os.PathLike)):
        yield name, os.fsdecode(value)


def _named_by(
    name: str, values: Any, bases: Sequence[str], code: Sequence[str], files_only: bool = False
) -> Dict[str, str]:
    """Digests of the files and folders that values name."""
    found = {}
    for place, text in _texts(name, values):
        paths: List[str] = []
        for part in dict.fromkeys([text, *text.split(",")]):
            paths += [path for base in bases for path in _existing(part.strip(), base)]
        for number, path in enumerate(dict.fromkeys(os.path.realpath(path) for path in paths)):
            if os.path.isfile(path):
                found["%s %d" % (place, number)] = _digest_of_file(path)
            elif not files_only and os.path.isdir(path) and path not in ("/", os.path.expanduser("~")):
                around = any(_is_inside(inner, path) for inner in (os.path.realpath(os.getcwd()), *code))
                suffixes = (*WEIGHTS, ".py") if around else ("",)
                found["%s %d%s" % (place, number, _FOLDER)] = _digest_of_folder(path, suffixes)
    return found


def _existing(text: str, base: str) -> Iterator[str]:
    text = text[7:] if text.startswith("file://") else text
    if not 0 < len(text) < 4096 or "\0" in text or "\n" in text:
        return
    whole = os.path.join(base, os.path.expanduser(text))
    if any(sign in text for sign in "*?["):
        yield from sorted(glob.glob(whole))[:MAX_FILES]
    for path in (whole, *(whole + suffix for suffix in WEIGHTS)):
        if os.path.exists(path):
            yield path


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _code_of(own: str, values: Sequence[str]) -> Tuple[List[str], List[str], List[str]]:
    """Files of all modules that a file imports, of weights that they name, and folders that they name."""
    folder, (package_root, package) = os.path.dirname(own), _package_of(own)
    roots = [] if _is_library(folder) else [folder]
    roots += [os.getcwd()] + [root for root in sys.path if root and os.path.isdir(root)]
    roots = [root for root in dict.fromkeys(map(os.path.realpath, roots)) if not _is_library(root)]
    modules, named, folders = [own], {}, {}  # type: ignore[var-annotated]
    if package in _OURS:
        return modules, [], []
    for path in modules:  # which grows
        read, texts, is_computed, is_open = _read_code(path, tuple(_stamp(path)))
        imported = list(read)
        here = os.path.dirname(path)
        for text in texts:
            for base in dict.fromkeys((here, folder, os.getcwd())):
                text = text if os.path.isfile(text) else text.lstrip("/")  # of f"{HERE}/weights.pt"
                whole = os.path.join(base, text)
                if text.endswith((*WEIGHTS, ".py", ".toml", ".yaml", ".yml")):
                    named[text] = None
                    if text.endswith(".py") and os.path.isfile(whole):
                        imported.append((os.path.realpath(whole), 0))
                elif text.strip("./") and os.path.isdir(whole):
                    folders[os.path.realpath(whole)] = None
        if is_computed:
            imported += [(text, 0) for text in (*texts, *values) if re.fullmatch(r"[A-Za-z_][\w.]*", text)]
            is_open |= any(re.fullmatch(r"\.[\w.]*", text) for text in texts)
        for name, level in imported:
            top = name.partition(".")[0]
            if level:
                places = [os.path.normpath(os.path.join(here, *[os.pardir] * (level - 1)))]
            else:
                places = [*([package_root] if top == package else ()), *roots, *folders]
            if os.path.isabs(name):
                found_files: Sequence[str] = [name]
            elif top in ("", *_OURS) and not level:
                found_files = []
            else:
                found_files = _module_files(name, places)
            for found in found_files:
                modules += [one for one in (*_inits_of(found), os.path.realpath(found)) if one not in modules]
        if is_open:
            modules += [one for one in sorted(_files_in(here, (".py",)).values()) if one not in modules]
    return modules, list(named), list(folders)


@lru_cache(maxsize=4096)
def _read_code(path: str, stamp: Any) -> Tuple[List[Tuple[str, int]], List[str], bool, bool]:
    """Names that code imports, with their levels; its texts; whether it computes names, or lists modules, to import."""
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [], [], False, True  # code of another Python: its whole folder counts
    imported, texts, is_computed, is_open = [], {}, False, False  # type: ignore[var-annotated]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported += [(one.name, 0) for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            stem = node.module or ""
            imported += [(name, node.level) for name in (stem, *("%s.%s" % (stem, one.name) for one in node.names))]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if re.fullmatch(r"[\w./ +=@-]{1,200}", node.value):
                texts[node.value] = None
        elif isinstance(node, (ast.Name, ast.Attribute)):
            word = node.id if isinstance(node, ast.Name) else node.attr
            is_computed |= word in ("import_module", "__import__", "run_module")
            is_open |= word in ("iter_modules", "walk_packages")
    return [(name.lstrip("."), level) for name, level in imported], list(texts), is_computed, is_open


def _module_files(name: str, roots: Sequence[str]) -> Sequence[str]:
    """Files that are run when a module is imported, in the first root that has it."""
    parts = [part for part in name.split(".") if part]
    for root in roots:
        found, at = [], root
        for part in parts:
            at = os.path.join(at, part)
            init = os.path.join(at, "__init__.py")
            if os.path.isfile(init):
                found.append(init)
            elif os.path.isfile(at + ".py"):
                found.append(at + ".py")
                break
            elif not os.path.isdir(at):
                break
        else:
            if name.endswith("."):  # the beginning of a name that is computed: all that is in the package
                found += _files_in(at, (".py",)).values()
        if found:
            return found
    return []


def _inits_of(path: str) -> Sequence[str]:
    """The `__init__.py` of every package around a module."""
    found, at = [], os.path.dirname(os.path.realpath(path))
    while os.path.isfile(os.path.join(at, "__init__.py")):
        found.append(os.path.join(at, "__init__.py"))
        at = os.path.dirname(at)
    return found


def _package_of(path: str) -> Tuple[str, str]:
    """The folder that holds the outermost package of a module, and that package's name; empty for none."""
    inits = _inits_of(path)
    top = os.path.dirname(inits[-1]) if inits else ""
    return os.path.dirname(top), os.path.basename(top)


def _is_library(folder: str) -> bool:
    parts = folder.split(os.sep)
    return "site-packages" in parts or "dist-packages" in parts or _is_inside(folder, os.path.dirname(os.__file__))


def made_with_fingerprint(file: Any, made: Any, given: Mapping[str, Any], make: Callable[[], Any]) -> Any:
    """What `make` makes of `made`, a class or function of a file, and two fingerprints of the file with its settings.

    The second one leaves out folders, in which a model may write while it runs. Files count as they were before: what
    is replaced while it is being read is another model for the next run.
    """
    with _blaming_files():
        values = {**_defaults_of(made), **given}
        before = contents_of(file, values)
    model = make()
    with _blaming_files():
        stated = getattr(getattr(model, "spec", None), "settings", None)
        after = contents_of(file, {**values, "spec": stated} if isinstance(stated, Mapping) else values)
    found = {name: before.get(name, one) for name, one in after.items()}
    steady = {name: one for name, one in found.items() if not name.endswith(_FOLDER)}
    return model, fingerprint(file, found), fingerprint(file, steady)


@contextmanager
def _blaming_files() -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise LoadError("its files cannot be read for a fingerprint: %s" % _text(error)) from None


def _defaults_of(made: Any) -> Dict[str, Any]:
    try:
        parameters = inspect.signature(made).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {one.name: one.default for one in parameters if one.default is not one.empty}


def code_of(command: str) -> Dict[str, str]:
    """Digests of the files that a command names: code with what it imports, and files of its settings."""
    try:
        words = shlex.split(command)
    except ValueError:
        return {}
    found: Dict[str, str] = {}
    for number, word in enumerate(words):
        target, _, query = word.partition("?")
        stem = target if os.path.isfile(target) else target.rpartition(":")[0] or target
        dotted = stem.replace(".", os.sep)
        places = (stem, dotted + ".py", os.path.join(dotted, "__main__.py"))
        path = next((one for one in places if os.path.isfile(one)), "")
        values: Dict[str, Any] = dict(parse_qsl(query, keep_blank_values=True))
        if path.endswith(".py") and os.path.basename(path) != "worldgauge_serve.py":
            found["word %d" % number] = fingerprint(path, contents_of(path, values))
        elif path and (number or path.endswith(".sh")):
            found["word %d" % number] = _digest_of_file(path)
        elif number:
            found.update(_named_by("word %d" % number, values or word.partition("=")[2] or word, [os.getcwd()], []))
    return found


# Loading -------------------------------------------------------------------------------------------------------------


class LoadError(Exception):
    """A model that cannot be made. trace: of what its own code raised; None where it was named or written wrongly."""

    def __init__(self, text: str, trace: str | None = None) -> None:
        super().__init__(text)
        self.trace = trace


@dataclass(frozen=True)
class Served:
    """A model or estimator that is ready. source: where it is from, with its fingerprint. given: its settings.

    code: its fingerprint without folders, by which it is known when it comes back in the middle of a run.
    """

    model: Any
    source: str
    given: Mapping[str, Any] = field(default_factory=dict)
    code: str = ""

    def hello(self) -> Header:
        """What it is: the first message of a server. Raises LoadError for what is no model."""
        name, spec = type(self.model).__name__, getattr(self.model, "spec", None)
        serves = serves_of(self.model)
        if not serves:
            raise LoadError("model '%s' has no method rollout(request)" % name)
        kind: Any = {"model": ModelSpec, "estimator": EstimatorSpec, "world": WorldSpec}[serves]
        missing = [one.name for one in fields(kind) if not hasattr(spec, one.name)]
        if missing:
            what = "has no 'spec'" if spec is None else "has a 'spec' without %s" % ", ".join(missing)
            wanted = (serves, name, what, kind.__name__, name.lower())
            raise LoadError("%s '%s' %s; write self.spec = %s(\"%s\", ...)" % wanted)
        told = {one.name: getattr(spec, one.name) for one in fields(kind)}
        try:
            inputs = {"inputs": sorted(told["inputs"])} if serves == "model" else {}
            hello = {
                "type": "hello",
                "version": VERSION,
                "serves": serves,
                "spec": {**told, **inputs, "settings": dict(told["settings"])},
                "source": self.source,
                "code": self.code,
                "given": dict(self.given),
                "needs": dict(getattr(self.model, "needs", {})),
                "batch": hasattr(self.model, "rollout_batch"),
                "pid": os.getpid(),
            }
            plain = _plain(hello)
        except (TypeError, ValueError) as error:
            raise LoadError("%s '%s': its spec or needs are no plain JSON values: %s" % (serves, name, error)) from None
        if not all(one in INPUTS for one in plain["spec"].get("inputs", [])):
            raise LoadError("model '%s': inputs is %r; give any of %s" % (name, told["inputs"], ", ".join(INPUTS)))
        return plain


Make = Callable[[], Served]


def serves_of(model: Any) -> str:
    """ "model" for what can roll out, "estimator" for what can estimate or propose, "world" for what opens tables."""
    methods = (("rollout", "model"), ("estimate", "estimator"), ("propose", "estimator"), ("open", "world"))
    return next((what for method, what in methods if callable(getattr(model, method, None))), "")


def _plain(value: Header) -> Header:
    """`value` through JSON, with numbers of numpy as numbers. Raises TypeError or ValueError for what is no JSON."""
    plain: Header = json.loads(json.dumps(value, default=np.generic.item, allow_nan=False))
    return plain


def load(target: str) -> Served:
    """The model that "file.py:Class?setting=value" or "package.module:Class?setting=value" means.

    Naming a file or a module is consent to run its code. Raises LoadError.
    """
    path, _, query = target.partition("?")
    place, _, name = path.rpartition(":")
    if not place or not name:
        raise LoadError("name a model as file.py:Class or package.module:Class, not '%s'" % path)
    try:
        given = settings_of(query)
    except ValueError as error:
        raise LoadError(str(error)) from None
    sys.dont_write_bytecode = True  # its times are of seconds: a quick edit of the same length would not be seen
    with _blaming("importing '%s'" % place):
        module = _import(place)
    file = str(getattr(module, "__file__", ""))
    made = getattr(module, name, None)
    if made is None:
        near = difflib.get_close_matches(name, [one for one in vars(module) if not one.startswith("_")], 1, 0.5)
        raise LoadError("'%s' holds no '%s'%s" % (place, name, "; did you mean '%s'?" % near[0] if near else ""))
    is_made = not inspect.isclass(made) and bool(serves_of(made))
    if not is_made:
        _check_settings(made, name, given)

    def make() -> Any:
        with _blaming("making %s" % name):
            return made if is_made else made(**given)

    model, found, code = made_with_fingerprint(file, made, given, make)
    source = "sha256:" + found if place.endswith(".py") else "%s@%s" % (place, found)
    return Served(model, "%s:%s" % (source, name), given, code)


def settings_of(query: str) -> Dict[str, Any]:
    """Settings of "one=1&two=text", each `value_of` its text; none of an empty query.

    Raises ValueError, in one line, for what is no query and for a setting that is given twice.
    """
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise ValueError("settings look like ?one=1&two=text, not '?%s'" % query) from None
    settings = {name: value_of(text) for name, text in pairs}
    if len(settings) < len(pairs):
        raise ValueError("a setting is given twice in '?%s'" % query)
    return settings


def value_of(text: str) -> Any:
    """`text` as JSON where it is strict JSON, else as it stands."""
    try:
        return strict_json(text)
    except (ValueError, RecursionError):
        return text


def _import(place: str) -> Any:
    path = Path(place).expanduser().absolute()
    is_file = place.endswith(".py")
    # Neighbours can be imported, and shadow nothing: a wan.py may import an installed package called wan.
    sys.path += [str(folder) for folder in ([path.resolve().parent] if is_file else []) + [Path.cwd()]]
    if not is_file:
        return importlib.import_module(place)
    if not path.is_file():
        raise LoadError("there is no file %s" % path)
    spec = importlib.util.spec_from_file_location("_worldgauge_model_" + path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


def _check_settings(make: Any, name: str, given: Mapping[str, Any]) -> None:
    if not callable(make):
        raise LoadError("'%s' is a %s, neither a class nor a model" % (name, type(make).__name__))
    signature = inspect.signature(make)
    taken = signature.parameters
    unknown = [one for one in given if one not in taken]
    if unknown and not any(one.kind is one.VAR_KEYWORD for one in taken.values()):
        near = difflib.get_close_matches(unknown[0], list(taken), 1, 0.5)
        hint = "Did you mean '%s'? " % near[0] if near else ""
        raise LoadError("%s has no setting '%s'. %sIt is %s%s" % (name, unknown[0], hint, name, signature))
    try:
        signature.bind(**given)
    except TypeError as error:
        raise LoadError("%s does not fit its settings: %s; it is %s%s" % (name, error, name, signature)) from None


@contextmanager
def _blaming(deed: str) -> Iterator[None]:
    """Turns whatever a model's code raises into a LoadError."""
    try:
        yield
    except LoadError:
        raise
    except (Exception, SystemExit) as error:
        text = "%s raised %s: %s" % (deed, type(error).__name__, _text(error))
        raise LoadError(text, traceback.format_exc()) from error


# Answering -----------------------------------------------------------------------------------------------------------


class _Lost(OSError):
    """Whoever asked is gone."""


class _Question:
    """A rollout or estimate message: where its answer goes, and whether anybody still wants it.

    sign: when the model last gave a sign of life; infinite while it is not the model that is waited for.
    frames: sent of the rollout in hand. index: of the request in hand, where several are made one by one.
    """

    def __init__(self, header: Header, arrays: Arrays, post: Post) -> None:
        self.id = str(header.get("id", ""))[:200]
        self.header, self.arrays = header, arrays
        self.taken, self.cancelled, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.is_lost = False
        self.sign = math.inf
        self.sent = self.frames = 0
        self.index: int | None = None
        self._post = post

    def send(self, header: Header, arrays: Arrays | None = None) -> None:
        self.sign = math.inf
        self.sent += 1
        try:
            self._post({**header, "id": self.id}, arrays)
        except OSError as error:
            self.is_lost = True
            raise _Lost from error
        finally:
            self.sign = time.monotonic()

    def stop_if_cancelled(self) -> None:
        if self.cancelled.is_set():
            raise WireError("cancelled by whoever asked", "cancelled")

    def seconds(self, name: str, default: float) -> float:
        """A time limit of its header; what is no number there is refused when the question is read."""
        value = self.header.get(name)
        return max(0.0, min(value if isinstance(value, (int, float)) else default, threading.TIMEOUT_MAX))


class _Desk:
    """Hands questions to the model, one at a time and in order, in the thread that calls `work`."""

    def __init__(self) -> None:
        self.current: _Question | None = None
        self._line: deque[_Question] = deque()
        self._changed = threading.Condition()  # over a lock that its holder may take again
        self._is_closed = False
        self._done = 0

    def work(self, model: Any) -> None:
        """Answer until `close`."""
        while True:
            with self._changed:
                while not self.current and not self._is_closed:
                    self._changed.wait(0.5)  # an interrupt may reach another thread, and does not wake this one then
                question = self.current
            if question is None:
                return
            question.sign = time.monotonic()
            last: Any = None
            with suppress(_Lost):
                last = _answer(model, question)
            with self._changed:  # before the last message: the client may ask again at once
                self.current = None
                self._done += 1
                self._advance()
            with suppress(_Lost):
                if last is not None:
                    question.send(*last)
            question.ended.set()

    def ask(self, question: _Question) -> bool:
        """Put a question in line. One with the id of another cancels that and comes next; true then."""
        with self._changed:
            again = self.cancel(question.id)
            (self._line.appendleft if again else self._line.append)(question)
            self._advance()
            return again

    def withdraw(self, question: _Question) -> bool:
        """Take a question out of the line; false when it is in hand already."""
        with self._changed:
            waits = question in self._line
            if waits:
                self._line.remove(question)
            return waits

    def cancel(self, name: Any) -> bool:
        """End the questions called `name` as cancelled, the one in hand after its next chunk; false if none is."""
        with self._changed:
            found = [one for one in (self.current, *self._line) if one is not None and name and one.id == name]
            for one in found:
                one.cancelled.set()
            return bool(found)

    def overdue(self) -> bool:
        """True when the model has given no sign of life for longer than the client would wait."""
        question = self.current
        allowed_s = GRACE_S + (question.seconds("deadline_s", math.inf) if question else 0.0)
        return question is not None and time.monotonic() - question.sign > allowed_s

    def is_waited_for(self) -> bool:
        """Whether somebody stands in line."""
        return bool(self._line)

    def health(self) -> Header:
        """A sign of life."""
        question = self.current
        state = {"busy": question is not None, "waiting": len(self._line), "done": self._done}
        return {"type": "pong", "version": VERSION, **state, "sent": question.sent if question else 0}

    def close(self) -> None:
        """Drop the line, cancel what is in hand, and make `work` return."""
        with self._changed:
            self._is_closed = True
            self._line.clear()
            if self.current is not None:
                self.current.cancelled.set()
            self._changed.notify_all()

    def _advance(self) -> None:
        if self.current is None and self._line:
            self.current = self._line.popleft()
            self.current.taken.set()
            self._changed.notify_all()


def _answer(model: Any, question: _Question) -> Last:
    """The last message of an answer; those before it are sent."""
    last, arrays = _said(model, question)
    if last["type"] == "error" and question.index is not None:
        last = {**last, "index": question.index}
    return last, arrays


def _said(model: Any, question: _Question) -> Last:
    serves, asked = serves_of(model), question.header["type"]
    who = "%s '%s'" % ("policy" if hasattr(model, "propose") else serves, model.spec.name)
    try:
        if serves != {"rollout": "model", "estimate": "estimator"}.get(asked, "world"):
            raise WireError("%s cannot be asked for a '%s'" % (who, asked), "request")
        if serves == "world":
            return _tabled(model, question)
        return _estimated(model, question) if asked == "estimate" else _rolled_out(model, question)
    except NotApplicable as error:
        return _failure("not_applicable", _text(error)), None
    except WireError as error:
        if error.kind in ("request", "version", "cancelled", "gone"):
            return _failure(error.kind, str(error)), None
        where = "chunk at frame %d" % question.frames if serves == "model" else "its answer"
        return _failure("subject", "%s, %s: %s" % (who, where, error)), None
    except _Lost:
        raise
    except (Exception, SystemExit) as error:
        at = " at frame %d" % question.frames if serves == "model" else ""
        text = "%s raised %s%s: %s" % (who, type(error).__name__, at, _text(error))
        return _failure("subject", text, traceback.format_exc()), None


def _rolled_out(model: Any, question: _Question) -> Last:
    """Send all chunks. The model's generators are closed in every case."""
    requests = requests_of(question.header, question.arrays, model.spec.control)
    question.stop_if_cancelled()
    batch = len(requests) > 1 and hasattr(model, "rollout_batch")
    one_by_one = len(requests) > 1 and not batch
    question.index = 0 if one_by_one else None
    forget_gpu_peak()
    forget_notes()
    with _closing(model.rollout_batch(requests) if batch else map(model.rollout, requests)) as rollouts:
        for index, rollout in enumerate(rollouts):
            with _closing(rollout):
                for chunk in rollout:
                    question.stop_if_cancelled()
                    _check_chunk(chunk)
                    question.send({"type": "chunk", "index": index}, {"frames": chunk})
                    question.frames += len(chunk) if chunk.ndim else 1
            question.frames = 0
            question.index = index + 1 if one_by_one else None
    peak, told = gpu_peak_bytes(), list(notes())
    more = {**({} if peak is None else {"gpu_peak_bytes": peak}), **({"notes": told} if told else {})}
    return {"type": "done", **more}, None


def forget_gpu_peak() -> None:
    """Let `gpu_peak_bytes` count from now on."""
    for device in _gpus():
        sys.modules["torch"].cuda.reset_peak_memory_stats(device)


def gpu_peak_bytes() -> int | None:
    """Most memory that tensors of this process took since `forget_gpu_peak`, summed over GPUs, in bytes.

    None where torch was not imported or has not used a GPU; torch is never imported for it.
    """
    devices = _gpus()
    return sum(int(sys.modules["torch"].cuda.max_memory_allocated(one)) for one in devices) if devices else None


def _gpus() -> Sequence[int]:
    """Numbers of the GPUs that torch uses; none before it has started to."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return range(cuda.device_count()) if cuda is not None and cuda.is_initialized() else ()


def _estimated(model: Any, question: _Question) -> Last:
    options = options_of(question.header, model.spec.kind)
    question.stop_if_cancelled()
    if hasattr(model, "propose"):
        made: Any = {"poses": np.asarray(model.propose(scene_of(question.header, question.arrays)))}, {}
    else:
        made = model.estimate(question.arrays, options)
    question.stop_if_cancelled()
    if not (isinstance(made, tuple) and [isinstance(each, Mapping) for each in made] == [True, True]):
        raise WireError("expected a dict of arrays and a dict of facts, got %s" % type(made).__name__)
    try:
        last = {"type": "estimated", "facts": _plain(dict(made[1]))}
    except (TypeError, ValueError) as error:
        raise WireError("facts that are no plain JSON values: %s" % error) from None
    encode({**last, "id": question.id}, made[0])  # what cannot be sent is its failure, reported while it can be
    return last, dict(made[0])


class _OpenTable:
    """A table that is open, its states by name, and the one that it is in."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.states: Dict[str, bytes] = {}
        self.present = self.name(table.save())

    def name(self, state: bytes) -> str:
        """Keep a state, and give it a name that no other process gives."""
        if len(state) > MAX_STATE_BYTES:
            raise WireError("a state of %d bytes; the limit is %d" % (len(state), MAX_STATE_BYTES))
        name = secrets.token_hex(8)
        self.states[name] = state
        while len(self.states) > MAX_STATES:
            del self.states[next(iter(self.states))]
        return name

    def state(self, name: Any) -> bytes:
        """A state by its name."""
        if name not in self.states:
            raise WireError("no state %.50r" % (name,), "gone")
        return self.states[name]

    def go_to(self, name: Any) -> None:
        """Be in a state."""
        if name not in (None, self.present):
            self.table.restore(self.state(name))
            self.present = name


_TABLES: Dict[str, _OpenTable] = {}


def _tabled(world: Any, question: _Question) -> Last:
    """What a world answers; the state that a question names is the one that it is about."""
    header, arrays, asked = question.header, question.arrays, question.header["type"]
    with _reading(header):
        name, state = str(header["table"])[:200], header.get("state")
        size_px = _number("size_px", header.get("size_px", 1), 1, int)
    if asked == "open":
        return _opened(world, name, header, size_px)
    if name not in _TABLES:
        raise WireError("no table %.50r is open" % name, "gone")
    one = _TABLES[name] = _TABLES.pop(name)  # the newest one
    last: Header = {"type": ANSWERS[asked]}
    if asked == "restore" and "state" in arrays:
        one.present = ""  # until it is known to be one of this table
        try:
            one.table.restore(arrays["state"].tobytes())
        except ValueError as error:
            raise WireError("this is no state of the table: %s" % error, "request") from None
        one.present = one.name(one.table.save())
        return {**last, "state": one.present}, None
    if asked == "save":
        return last, {"state": np.frombuffer(one.state(state or one.present), np.uint8)}
    one.go_to(state)
    if asked == "sense":
        return {**last, **_progress(one.table)}, _seen(world, one.table, header, size_px)
    if asked == "plan":
        return last, {"poses": np.asarray(one.table.plan(), np.float64).reshape(-1, 8)}
    if asked == "act":
        with _reading(header):
            pose, keep = arrays["pose"], _number("keep", header.get("keep", MAX_STATES), 1, int)
        return {**last, **_carried_out(world, one, pose, keep)}, None
    if asked == "finish":
        one.table.finish()
        one.present = one.name(one.table.save())
    return {**last, "state": one.present}, None


def _opened(world: Any, name: str, header: Header, size_px: int) -> Last:
    with _reading(header):
        given = {key: header[key] for key in ("task", "variation", "seed")}
        known = {str(one["name"]): one for one in world.spec.tasks}
        if given["task"] not in known:
            raise ValueError("task: there is %s, not %.50r" % (", ".join(known), given["task"]))
        _number("seed", given["seed"], 0, int)
        if _number("variation", given["variation"], 0, int) >= known[given["task"]]["variations"]:
            raise ValueError("variation: there are %d" % known[given["task"]]["variations"])
    for old in [one for one in _TABLES if one == name] or list(_TABLES)[: max(0, len(_TABLES) + 1 - MAX_TABLES)]:
        _TABLES.pop(old).table.close()
    table = world.open(layout=header.get("layout"), **given)
    words = {key: getattr(table, key) for key in ("instruction", "caption", "digest")}
    told = _plain({**words, "wordings": list(table.wordings), "things": list(table.things)})
    one = _TABLES[name] = _OpenTable(table)
    last = {"type": "opened", **told, "state": one.present, **_progress(table)}
    return last, _seen(world, table, header, size_px)


def _progress(table: Any) -> Header:
    return {"progress": float(table.progress), "solved": bool(table.progress >= 1)}


def _seen(world: Any, table: Any, header: Header, size_px: int) -> Arrays:
    """Where the hand, the things and the cameras are, and the pictures that are asked for."""
    names = [one["name"] for one in world.spec.views]
    with _reading(header):
        views = list(header.get("views", []))
        if not set(views) <= set(names):
            raise ValueError("views: there is %s, not %.100r" % (", ".join(names), views))
    found = {"hand": np.asarray(table.hand, np.float64), "places": np.asarray(table.places, np.float64).reshape(-1, 3)}
    found.update({name + "/pose": np.asarray(table.pose(name), np.float64) for name in names})
    for name in views:
        seen = table.picture(name, size_px, bool(header.get("depth")), bool(header.get("instances")))
        found.update({"%s/%s" % (name, what): array for what, array in seen.items()})
    return found


def _carried_out(world: Any, one: _OpenTable, pose: Any, keep: int) -> Header:
    """Carry out a pose; of the states on the way `keep` are named, spread evenly, the last one among them."""
    refusal, before = pose_refusal(pose, *world.spec.workspace), one.present
    one.present = ""  # where a table that raises is, nobody knows
    done = Acted(refusal, True, (), 0.0) if refusal else Acted(*one.table.act(pose))
    count = len(done.states)
    states = [one.name(done.states[(k + 1) * count // min(keep, count) - 1]) for k in range(min(keep, count))]
    one.present = states[-1] if states else before
    told = {"reason": done.reason, "failed": done.failed, "seconds": done.seconds, "unstable": done.unstable}
    return {**told, "states": states, **_progress(one.table)}


def _check_chunk(chunk: Any) -> None:
    """Refuses what cannot travel, in the words that are used of a model in worldgauge's own process."""
    if not isinstance(chunk, np.ndarray):
        raise WireError("expected a numpy array, got %s" % type(chunk).__name__)
    if chunk.dtype.name not in DTYPES:
        raise WireError("expected uint8 frames in 0..255, got %s" % chunk.dtype)


@contextmanager
def _closing(thing: Any) -> Iterator[Any]:
    try:
        yield thing
    finally:
        if inspect.isgenerator(thing):
            thing.close()


def _failure(kind: str, text: str, trace: str | None = None) -> Header:
    # Lone surrogates are text in Python and nowhere else.
    message, trace = (each.encode("utf-8", "replace").decode() for each in (text[:MAX_TEXT], (trace or "")[-MAX_TEXT:]))
    return {"type": "error", "kind": kind, "message": message, "trace": trace or None}


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(its text cannot be had)"


# Over a stream: a Unix socket that the harness listens on, or the pipes of this process -----------------------------


def _serve_stream(make: Make, readinto: Stream, write: Stream, limit: int) -> None:
    """Say hello, then answer until the stream ends; a question in hand is then given up, so nothing outlives it."""
    desk, turn = _Desk(), threading.Lock()
    faults: list[WireError] = []

    def post(header: Header, arrays: Arrays | None = None) -> None:
        with turn:
            write_message(write, header, arrays)

    def listen() -> None:
        try:
            while True:
                header, arrays = read_message(readinto, limit=limit)
                if header["type"] in ("rollout", "estimate", *ANSWERS):
                    desk.ask(_Question(header, arrays, post))
                elif header["type"] == "cancel":
                    desk.cancel(header.get("id"))
                elif header["type"] == "ping":
                    post(desk.health())
        except (EOFError, OSError):
            pass
        except WireError as error:
            faults.append(error)
        finally:
            end = threading.Timer(GRACE_S, os._exit, (1,))  # do not wait for a model that hangs or whose client is gone
            end.daemon = True
            end.start()
            with suppress(OSError):
                for fault in faults:
                    post(_failure(fault.kind, str(fault)))
                    while readinto(bytearray(1 << 16)):  # a client that is still sending would not read it otherwise
                        pass
            desk.close()

    threading.Thread(target=listen, daemon=True).start()  # before loading, which may take long, and be in vain
    try:
        served = make()
        hello = served.hello()
    except LoadError as error:
        post(_failure("load", str(error), error.trace))
        raise
    post(hello)
    desk.work(served.model)
    if faults:
        raise faults[0]


def _serve_socket(make: Make, path: str, limit: int) -> None:
    with socket.socket(socket.AF_UNIX) as channel:
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)  # the model goes on while frames are fetched
        channel.connect(path)
        _serve_stream(make, channel.recv_into, channel.send, limit)


def _serve_pipes(make: Make, limit: int) -> None:
    # The pipes are taken away from descriptors 0 and 1, so that neither prints nor reads of a model break in.
    source, sink = os.fdopen(os.dup(0), "rb", 0), os.fdopen(os.dup(1), "wb", 0)
    os.dup2(2, 1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    _serve_stream(make, source.readinto, sink.write, limit)


# Over HTTP -----------------------------------------------------------------------------------------------------------


class _HttpServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Listens only when told to: its address is taken before the model loads, and found open when it has."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, host: str, port: int, token: str, limit: int) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.desk, self.token, self.limit = _Desk(), token, limit
        self.hello: Header = {}
        super().__init__((host, port), _Handler, bind_and_activate=False)
        self.server_bind()

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):  # an asker who leaves is no news
            traceback.print_exc()


class _Handler(BaseHTTPRequestHandler):
    """GET /v1/info and /v1/health answer JSON; POST /v1/rollout, /v1/estimate, /v1/cancel and others take a message.

    A question is answered by messages in a chunked body, one a chunk of it.
    """

    protocol_version = "HTTP/1.1"
    server_version = "worldgauge_serve/%d" % VERSION
    sys_version = ""
    timeout = QUIET_S
    disable_nagle_algorithm = True
    server: _HttpServer
    patience_s = SLOW_S  # used up by waiting for the asker of an answer, restored by what he takes
    held_s = 0.0  # that waiting while others stand in line, restored by nothing: at just `SLOWEST` it may be an hour

    def do_GET(self) -> None:
        try:
            self._admit("/v1/info", "/v1/health")
        except WireError as error:
            return self._refuse(error)
        self._json(200, self.server.hello if self.path == "/v1/info" else self.server.desk.health())

    def do_POST(self) -> None:
        try:
            self._admit(*("/v1/" + name for name in ("rollout", "estimate", "cancel", *ANSWERS)))
            header, arrays = self._message()
        except WireError as error:
            return self._refuse(error)
        if self.path != "/v1/cancel":
            return self._answer(_Question(header, arrays, self._post))
        self.server.desk.cancel(header.get("id"))
        self._json(200, self.server.desk.health())

    def _answer(self, question: _Question) -> None:
        desk = self.server.desk
        self.patience_s, self.held_s = SLOW_S, 0.0
        self.send_response(200)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        again = desk.ask(question)
        if not self._is_taken(question, max(question.seconds("wait_s", 0.0), GRACE_S if again else 0.0)):
            question.send(_failure("busy", "the model is answering another question"))
        else:
            while not question.ended.wait(0.2):
                if self._is_left():
                    question.cancelled.set()
        if question.is_lost:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _is_taken(self, question: _Question, patience_s: float) -> bool:
        """Wait in the queue; false when that was in vain or the client is gone: the question has left the queue."""
        end = time.monotonic() + patience_s
        while not question.taken.wait(max(0.0, min(0.2, end - time.monotonic()))):
            if (time.monotonic() >= end or self._is_left()) and self.server.desk.withdraw(question):
                return False
        return True

    def _is_left(self) -> bool:
        """Whether the asker has hung up, which nothing else would tell until the next chunk is sent."""
        try:
            with selectors.DefaultSelector() as selector:  # select.select takes no descriptor above 1023
                selector.register(self.connection, selectors.EVENT_READ)
                return bool(selector.select(0)) and not self.connection.recv(1, socket.MSG_PEEK)
        except (OSError, ValueError):
            return True

    def _admit(self, *addresses: str) -> None:
        """Judge a request by its head, before anything of its body is read. Raises WireError."""
        token, host = self.server.token, re.sub(":[0-9]*$", "", self.headers.get("Host", "")).strip("[]")
        given = self.headers.get("Authorization", "").encode("latin-1", "replace")
        size = self.headers.get("Content-Length", "0")
        if token and not hmac.compare_digest(given, ("Bearer " + token).encode("utf-8")):
            raise WireError("give the server's token in %s" % TOKEN_VARIABLE, "unauthorized")
        if not token and not _is_loopback(host):  # a web page whose name was made to point here asks for that name
            raise WireError("without a token, ask for 127.0.0.1 or localhost", "unauthorized")
        if self.path not in addresses:
            raise WireError("no such address; %s are known here" % " and ".join(addresses), "not_found")
        is_told = self.command == "GET" or "Content-Length" in self.headers
        if not is_told or not re.fullmatch("[0-9]{1,18}", size) or "Transfer-Encoding" in self.headers:
            raise WireError("the length of a body must be given by Content-Length")
        if self.command == "GET" and int(size):
            raise WireError("a GET has no body")
        # A web page cannot send this type without asking first, so no page can drive a server on loopback.
        if self.command == "POST" and self.headers.get("Content-Type") != CONTENT_TYPE:
            raise WireError("the content type must be " + CONTENT_TYPE)
        if self.command == "POST" and self.request_version != "HTTP/1.1":
            raise WireError("the answer needs HTTP/1.1")
        if int(size) > self.server.limit + MAX_HEADER_BYTES:
            raise WireError("a message of %s bytes; the limit is %d" % (size, self.server.limit), "too_large")

    def _message(self) -> tuple[Header, Arrays]:
        left = int(self.headers["Content-Length"])

        def readinto(view: Any) -> int:
            nonlocal left
            count: int = self.rfile.readinto(view[:left]) if left else 0
            left -= count
            return count

        try:
            header, arrays = read_message(readinto, limit=min(left, self.server.limit))
        except EOFError:
            raise WireError("the body holds no message") from None
        if left:
            raise WireError("%d bytes more than the message" % left)
        if header["type"] != self.path[len("/v1/") :]:
            raise WireError("a message of type %.50r does not belong to %s" % (header["type"], self.path))
        return header, arrays

    def _post(self, header: Header, arrays: Arrays | None = None) -> None:
        first, *rest = encode(header, arrays)
        start = b"%x\r\n" % (len(first) + sum(map(len, rest))) + first
        for view in (memoryview(start), *rest, memoryview(b"\r\n")):
            _write_all(self._send, view)

    def _send(self, view: Any) -> int:
        """Send what the asker takes. One who is slow is only borne with while nobody stands in line behind him."""
        since = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(self.connection, selectors.EVENT_WRITE)
            is_ready = False
            while not is_ready:
                began, are_others_held = time.monotonic(), self.server.desk.is_waited_for()
                is_ready = bool(selector.select(0.5))
                now = time.monotonic()
                self.patience_s -= now - began
                self.held_s += now - began if are_others_held else 0.0
                is_slow = self.patience_s < 0 or self.held_s > HELD_S
                if now - since > QUIET_S or (is_slow and self.server.desk.is_waited_for()):
                    raise TimeoutError("the asker takes too little of the answer")
        count: int = self.connection.send(view)
        self.patience_s = min(SLOW_S, self.patience_s + count / SLOWEST)
        return count

    def _refuse(self, error: WireError, status: int | None = None) -> None:
        self.close_connection = True  # what is left of the request is not the beginning of the next one
        self._json(status or STATUS.get(error.kind, 400), _failure(error.kind, str(error)))
        # Closing with bytes unread would reset the connection, and the answer would be lost with it.
        self.connection.shutdown(socket.SHUT_WR)
        self.connection.settimeout(GRACE_S)
        end = time.monotonic() + GRACE_S
        while time.monotonic() < end and self.connection.recv(1 << 16):
            pass

    def _json(self, status: int, value: Header) -> None:
        text = json.dumps(value).encode("ascii")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(text)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the base class refuses, refused as everything else."""
        self._refuse(WireError(message or "this is no request of HTTP"), code)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the model's own prints are what matters on the terminal."""


def _serve_http(make: Make, host: str, port: int, limit: int) -> None:
    """Answer over HTTP until interrupted; the model runs in this thread."""
    with _HttpServer(host, port, _token(host), limit) as server:
        parent = os.environ.pop(PARENT_VARIABLE, "")
        served = make()
        server.hello = served.hello()
        server.server_activate()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        threading.Thread(target=_watch, args=(server.desk, parent), daemon=True).start()
        address = "[%s]" % host if ":" in host else host
        print("serving '%s' at http://%s:%d" % (served.model.spec.name, address, server.server_address[1]), flush=True)
        try:
            server.desk.work(served.model)
        finally:
            server.shutdown()


def _token(host: str) -> str:
    """The server's token; made and printed where there is none and others than this machine can ask."""
    token = os.environ.get(TOKEN_VARIABLE, "")
    if not token and not _is_loopback(host):
        token = os.environ[TOKEN_VARIABLE] = secrets.token_urlsafe(24)
        print("token (set %s where you run worldgauge): %s" % (TOKEN_VARIABLE, token), file=sys.stderr, flush=True)
    return token


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


_LOCAL_NAMES = ("localhost", "localhost.localdomain", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback")


def is_local_host(host: str) -> bool:
    """Whether who connects to `host` reaches this very machine; a proxy must never get what is meant for it."""
    name = host.strip("[]").rstrip(".").lower()
    if name in _LOCAL_NAMES or name.endswith(".localhost"):
        return True
    try:
        address: Any = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        if not re.fullmatch(r"[0-9a-fx.]+", name):
            return False
        try:
            address = ipaddress.ip_address(socket.inet_aton(name))  # 127.1 is 127.0.0.1, too
        except (OSError, ValueError):
            return False
    address = getattr(address, "ipv4_mapped", None) or address
    return bool(address.is_loopback or address.is_unspecified)


def proxy_note(url: str, variables: Sequence[str] = ()) -> str:
    """What to add to a message that `url` cannot be reached: the proxy on the way, without its password; or nothing.

    Args:
        url: The address.
        variables: Variables that the client reads, such as ("http", "all") for http_proxy, else all_proxy. By default
            those that urllib and websockets read.
    """
    from urllib.parse import urlsplit
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    if not parts.hostname or is_local_host(parts.hostname) or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return ""
    proxies = getproxies()
    read = {"ws": ("ws", "socks", "https", "http"), "wss": ("wss", "socks", "https")}.get(parts.scheme, (parts.scheme,))
    for name in variables or read:
        if proxies.get(name):
            return " (through the proxy %s of %s_proxy)" % (re.sub(r".*(@|//)", "", proxies[name]), name)
    return ""


def _watch(desk: _Desk, parent: str) -> None:
    """End the process when the model hangs: a thread cannot be stopped, a process can be started again."""
    while parent in ("", str(os.getppid())):
        time.sleep(0.5)
        if desk.overdue():
            print("the model gave no sign of life before the deadline; exiting. It is here:", file=sys.stderr)
            faulthandler.dump_traceback(all_threads=True)
            os._exit(HUNG)
    os._exit(1)  # nobody would start it again


# Starting ------------------------------------------------------------------------------------------------------------


def serve(
    model: Any, *, port: int | None = None, host: str = "127.0.0.1", pipes: bool = False, max_mb: int = MAX_BYTES >> 20
) -> None:
    """Serve a model until nobody asks any more.

    The token of a server beyond loopback is read from the environment variable WORLDGAUGE_TOKEN, or made and printed.

    Args:
        model: The model or estimator.
        port: Serve over HTTP on this port; 0 takes a free one.
        host: Address to listen on.
        pipes: Serve over stdin and stdout; print nothing before. With neither port nor pipes, over the socket that
            `worldgauge run --model "cmd:..."` names to its child.
        max_mb: Size of the largest message it takes, MB.
    """
    module = sys.modules[type(model).__module__]
    file, name = str(getattr(module, "__file__", "")), type(model).__qualname__
    try:
        _, found, code = made_with_fingerprint(file, None, {}, lambda: model)
    except LoadError as error:
        sys.exit("error: %s" % error)
    source = "sha256:" + found if module.__name__ == "__main__" else "%s@%s" % (module.__name__, found)
    _start(lambda: Served(model, "%s:%s" % (source, name), {}, code), host, port, pipes, max_mb)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line: python -m worldgauge_serve file.py:Class."""
    parser = argparse.ArgumentParser(
        "worldgauge-serve", description="Serve a world model to worldgauge.", allow_abbrev=False
    )
    parser.add_argument("target", nargs="?", help="file.py:Class or package.module:Class, with settings as ?name=value")
    parser.add_argument("--port", type=int, help="serve over HTTP; 0 takes a free port")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; a token is needed beyond loopback")
    parser.add_argument("--pipes", action="store_true", help="serve over stdin and stdout")
    parser.add_argument("--restart", action="store_true", help="start again when the process dies or hangs (HTTP)")
    parser.add_argument("--max-mb", type=int, default=MAX_BYTES >> 20, help="longest message it takes (%(default)s)")
    parser.add_argument("--where", action="store_true", help="print where this file lies, to copy it")
    given = parser.parse_args(arguments)
    if given.where:
        return print(Path(__file__).resolve())
    if given.target is None:
        parser.error("name a model: file.py:Class or package.module:Class")
    if given.restart and not given.port:
        parser.error("--restart needs --port with a number, so that it comes back where it was")
    if given.restart:
        _token(given.host)  # once, so that it outlives a restart
        sys.exit(_supervise([each for each in arguments or sys.argv[1:] if each != "--restart"]))
    sys.argv[1:] = []  # a model that reads its own options finds none of these
    _start(lambda: load(given.target), given.host, given.port, given.pipes, given.max_mb)


def _start(make: Make, host: str, port: int | None, pipes: bool, max_mb: int) -> None:
    path = os.environ.pop(SOCKET_VARIABLE, None)  # it is not for what the model may start
    limit = max_mb << 20
    if path and (port is not None or pipes):
        print("error: a 'cmd:' model is asked over a socket: leave out --port and --pipes", file=sys.stderr)
        sys.exit(2)
    try:
        if port is not None:
            _serve_http(make, host, port, limit)
        elif pipes:
            _serve_pipes(make, limit)
        elif path:
            _serve_socket(make, path, limit)
        else:
            print("error: nobody to serve: give --port, or --pipes behind a 'pipe:' model", file=sys.stderr)
            sys.exit(2)
    except LoadError as error:
        sys.stdout.flush()  # what the model printed goes before the line that says what happened
        print(error.trace or "", "error: %s" % error, sep="", file=sys.stderr)
        sys.exit(1 if error.trace else 2)
    except (WireError, OSError, OverflowError) as error:
        sys.exit("error: %s%s" % (error, "" if port is None else " (%s:%d)" % (host, port)))
    except KeyboardInterrupt:
        pass


def _supervise(arguments: Sequence[str]) -> int:
    """Run this file again and again until it ends of its own will; waits longer after each quick death.

    A model that cannot even be made the first time is not tried again.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # which ends the child as well
    pause_s = 0.5
    final = {0, 1, 2}
    while True:
        began = time.monotonic()
        environment = {**os.environ, PARENT_VARIABLE: str(os.getpid())}
        try:
            code = subprocess.call([sys.executable, os.path.abspath(__file__), *arguments], env=environment)
        except KeyboardInterrupt:
            code = 0
        if code in final:
            return code
        final = {0, 2}
        pause_s = min(2 * pause_s, 60.0) if time.monotonic() - began < 60.0 else 1.0
        print("the server ended with code %d; again in %g s" % (code, pause_s), file=sys.stderr, flush=True)
        time.sleep(pause_s)


if __name__ == "__main__":
    sys.modules["worldgauge_serve"] = sys.modules["__main__"]  # so that a model's import finds the very same classes
    main()
