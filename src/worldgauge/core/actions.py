"""Actions and the unified action API: one recorded walk as keys, as a camera path, or as words.

A world model declares which control it takes (`ModelSpec.control`). Suites record actions once, and this module
translates them. Row t of an action array always drives the step from frame t to frame t + 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch, wrap_angle, yaw_pitch_from_pose

Control = Literal["actions", "camera", "text"]


class Motion(NamedTuple):
    """Relative move of one frame, in the walker's own frame.

    Attributes:
        forward: Metres along the heading before the turn.
        left: Metres to the left of that heading.
        up: Metres upwards.
        yaw: Radians, counter-clockwise (left) positive.
        pitch: Radians, up positive.

    Examples:
        >>> Motion(forward=0.2, yaw=0.1)
        Motion(forward=0.2, left=0.0, up=0.0, yaw=0.1, pitch=0.0)
    """

    forward: float = 0.0
    left: float = 0.0
    up: float = 0.0
    yaw: float = 0.0
    pitch: float = 0.0


@dataclass(frozen=True)
class Axis:
    """One column of an action array.

    Attributes:
        name: Name of the column.
        kind: "button" (0 or 1), "angle" (radians) or "length" (metres).
        motion: The move that the value 1 causes, used where no physics is available.

    Examples:
        >>> Axis("ahead", "button", Motion(forward=0.2)).motion.forward
        0.2
    """

    name: str
    kind: Literal["button", "angle", "length"]
    motion: Motion


@dataclass(frozen=True)
class ActionSpace:
    """Named columns of an action array and the frame rate they are meant for.

    Attributes:
        name: Name of the space.
        axes: The columns, in order.
        fps: Frames per second.

    Examples:
        >>> axes = Axis("ahead", "length", Motion(forward=1.0)), Axis("turn", "angle", Motion(yaw=1.0))
        >>> space = ActionSpace("tank", axes, fps=10.0)
        >>> len(space), space.column("turn")
        (2, 1)
    """

    name: str
    axes: tuple[Axis, ...]
    fps: float

    def __len__(self) -> int:
        return len(self.axes)

    def column(self, name: str) -> int:
        """Index of an axis.

        Args:
            name: Name of the axis.

        Returns:
            Its column in the action array.

        Raises:
            ShapeError: There is no such axis.
        """
        for index, axis in enumerate(self.axes):
            if axis.name == name:
                return index
        raise ShapeError(f"action space '{self.name}' has no axis '{name}', only {[a.name for a in self.axes]}")


# Steady walking covers 0.215859 blocks in one 50 ms tick.
WALK_STEP_M = 0.215859

LOOP_WALK = ActionSpace(
    "loop-walk",
    (
        Axis("forward", "button", Motion(forward=WALK_STEP_M)),
        Axis("jump", "button", Motion()),
        Axis("camera_yaw", "angle", Motion(yaw=1.0)),
        Axis("camera_pitch", "angle", Motion(pitch=1.0)),
    ),
    fps=20.0,
)
"""LoopNav's primitives: forward, jump, and camera change in radians (left and up positive)."""


HAND_POSES = ActionSpace(
    "hand-poses",
    (
        Axis("x", "length", Motion()),
        Axis("y", "length", Motion()),
        Axis("z", "length", Motion()),
        Axis("roll", "angle", Motion()),
        Axis("pitch", "angle", Motion()),
        Axis("yaw", "angle", Motion()),
        Axis("gripper", "button", Motion()),
    ),
    fps=20.0,
)
"""Target pose of a robot's hand at the next frame, in the world frame: turns about fixed axes x, then y, then z, and
the gripper, 1 open. The camera stands still. World-in-World, section 5.4."""


CAMERA_MOTION = ActionSpace(
    "camera-motion",
    (
        Axis("ahead", "length", Motion(forward=1.0)),
        Axis("sideways", "length", Motion(left=1.0)),
        Axis("up", "length", Motion(up=1.0)),
        Axis("camera_yaw", "angle", Motion(yaw=1.0)),
        Axis("camera_pitch", "angle", Motion(pitch=1.0)),
    ),
    fps=25.0,
)
"""A camera path as moves from frame to frame, for models that are driven by poses; left and up are positive."""


@dataclass(frozen=True)
class Actions:
    """The actions of one walk.

    Attributes:
        space: Meaning of the columns.
        values: (T, K) float32, one column for each axis; row t drives frame t to frame t + 1.

    Raises:
        ShapeError: The number of columns does not fit the space.

    Examples:
        >>> actions = Actions(LOOP_WALK, np.array([[1, 0, 0, 0], [0, 0, 0.5, 0]], np.float32))
        >>> len(actions), actions.column("camera_yaw").tolist()
        (2, [0.0, 0.5])
    """

    space: ActionSpace
    values: NDArray[np.float32]

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] != len(self.space):
            raise ShapeError(
                f"actions of '{self.space.name}' need shape (T, {len(self.space)}), got {self.values.shape}"
            )

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice) -> Actions:
        return Actions(self.space, self.values[rows])

    def every(self, stride: int, fps: float) -> Actions:
        """Those of so many frames at a time as one: moves add up, as if straight; buttons are held for a share of it.

        A button held all the time then moves as far as in all these frames. Of columns that move no camera, such as the
        pose that a hand is to take, the last row counts. What is left at the end is dropped.

        Args:
            stride: Frames that are taken together.
            fps: Frames per second afterwards.
        """
        held = np.array([axis.kind == "button" for axis in self.space.axes])
        moves = np.array([axis.motion != Motion() for axis in self.space.axes])
        parts = self.values[: len(self) // stride * stride].reshape(-1, stride, len(self.space))
        axes = tuple(
            replace(axis, motion=Motion(*(stride * one for one in axis.motion))) if axis.kind == "button" else axis
            for axis in self.space.axes
        )
        values = np.where(held, parts.mean(1), np.where(moves, parts.sum(1), parts[:, -1]))
        return Actions(replace(self.space, axes=axes, fps=fps), values.astype(np.float32))

    def column(self, name: str) -> NDArray[np.float32]:
        """One column of the actions.

        Args:
            name: Name of the axis.

        Returns:
            (T,) float32 values.

        Raises:
            ShapeError: There is no such axis.
        """
        column: NDArray[np.float32] = self.values[:, self.space.column(name)]
        return column


def motions(actions: Actions) -> FloatArray:
    """Nominal moves of the actions, without physics and walls.

    Args:
        actions: T actions.

    Returns:
        (T, 5) float64: forward, left and up in metres, yaw and pitch in radians.

    Examples:
        >>> actions = Actions(LOOP_WALK, np.array([[1, 0, 0, 0], [0, 0, 0.5, 0]], np.float32))
        >>> motions(actions).round(3).tolist()
        [[0.216, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.5, 0.0]]
    """
    gains = np.array([axis.motion for axis in actions.space.axes], np.float64)
    moves: FloatArray = actions.values.astype(np.float64) @ gains
    return moves


def camera_path(
    actions: Actions, start: ArrayLike, *, heading: Literal["before", "mean"] = "before", arm_m: float = 0.0
) -> FloatArray:
    """Camera-to-world poses (T, 4, 4) after each action, by dead reckoning. Recorded walks have better poses."""
    start = np.asarray(start, np.float64)
    yaw, pitch = (float(angle) for angle in yaw_pitch_from_pose(start))
    position = start[:3, 3] + arm_m * start[:3, 2]
    path = np.empty((len(actions), 4, 4))
    for t, (forward, left, up, turn, tilt) in enumerate(motions(actions)):
        along = yaw + turn / 2 if heading == "mean" else yaw
        c, s = math.cos(along), math.sin(along)
        position = position + np.array([forward * c - left * s, forward * s + left * c, up])
        yaw, pitch = yaw + turn, float(np.clip(pitch + tilt, -math.pi / 2, math.pi / 2))
        path[t] = pose_from_yaw_pitch(position, yaw, pitch)
        path[t, :3, 3] -= arm_m * path[t, :3, 2]
    return path


def path_moves(poses: ArrayLike) -> Actions:
    """Moves along camera-to-world poses (T, 4, 4), without roll; `camera_path` turns them into the path again."""
    known = np.asarray(poses, np.float64)
    yaw, pitch = yaw_pitch_from_pose(known)
    moved = np.diff(known[:, :3, 3], axis=0)
    c, s = np.cos(yaw[:-1]), np.sin(yaw[:-1])
    ahead, sideways = c * moved[:, 0] + s * moved[:, 1], c * moved[:, 1] - s * moved[:, 0]
    values = np.stack([ahead, sideways, moved[:, 2], wrap_angle(np.diff(yaw)), np.diff(pitch)], axis=-1)
    return Actions(CAMERA_MOTION, values.astype(np.float32))


def describe(actions: Actions) -> str:
    """Describe a walk for text-driven models, in one clause per phase that is large enough to be seen.

    Example: "Walk forward 2 metres while turning left 24 degrees, then stand still for 1 second."
    """
    clauses = [clause for sums in _phases(motions(actions), actions.space.fps) if (clause := _phase(sums))]
    sentences = [clauses[first : first + _CLAUSES] for first in range(0, len(clauses), _CLAUSES)]
    text = " ".join(f"{', then '.join(_lowered(some))}." for some in sentences)
    return text or ("Stand still." if len(actions) else "")


class Prompt(NamedTuple):
    """A sentence that holds from a frame on, until the next one."""

    frame: int
    text: str


def prompts(actions: Actions) -> tuple[Prompt, ...]:
    """Describe the walk as a chain of sentences, a new one whenever what is done changes.

    It is for models that take new text midway. Other than in `describe`, things done at once stand in one sentence.
    What rounds to zero is left out.

    Args:
        actions: The actions.

    Returns:
        The sentences in the order of their frames, the first from frame 0; empty where nothing can be said.

    Examples:
        >>> keys = np.array([[1, 0, 0, 0]] * 10 + [[1, 0, 0.1, 0]] * 10, np.float32)
        >>> [(prompt.frame, prompt.text) for prompt in prompts(Actions(LOOP_WALK, keys))]
        [(0, 'Walk forward 2.2 metres.'), (10, 'Walk forward 2.2 metres and turn left 57 degrees.')]
    """
    moves = motions(actions)[:, list(_COLUMNS.values())]
    signs = np.where(np.abs(moves) < _STILL, 0.0, np.sign(moves))
    limits = [0, *(np.flatnonzero((np.diff(signs, axis=0) != 0).any(1)) + 1).tolist(), len(moves)]
    said: list[Prompt] = []
    for first, end in pairwise(limits):
        done = dict(zip(_COLUMNS, moves[first:end].sum(0).tolist(), strict=True))
        if not signs[first:end].any():
            done = {"still": (end - first) / actions.space.fps}
        clauses = [clause for kind, amount in done.items() if (clause := _clause(kind, amount))]
        if clauses:
            said.append(Prompt(first if said else 0, f"{' and '.join(_lowered(clauses))}."))
    return tuple(said)


_STILL = 1e-4
"""Metres or radians a frame below which nothing is done."""
_COLUMNS = {"walk": 0, "strafe": 1, "turn": 3, "look": 4}
"""Kind of phase -> its column of `motions`."""


_CLAUSES = 3
"""Most clauses of a sentence."""
_WORDS = {
    "still": ("Stand", "still for", "still for", "second"),
    "walk": ("Walk", "forward", "backward", "metre"),
    "strafe": ("Step", "left", "right", "metre"),
    "turn": ("Turn", "left", "right", "degree"),
    "look": ("Look", "up", "down", "degree"),
}
"""Kind of phase: verb, its word for positive and for negative amounts, unit."""
_DOING = {"walk": "walking", "strafe": "stepping", "turn": "turning", "look": "looking"}
_SHORTEST_S = 0.25
"""Seconds of standing still that are told."""
_BESIDE = {"still": math.inf, "walk": 0.3, "strafe": 0.3, "turn": math.radians(5), "look": math.radians(5)}
"""Amount from which on something is told that is done besides, metres or radians."""


def _lowered(clauses: Sequence[str]) -> list[str]:
    """Clauses of one sentence: only the first begins with a capital letter."""
    return [*clauses[:1], *(clause[0].lower() + clause[1:] for clause in clauses[1:])]


def _clause(kind: str, amount: float, verb: str = "") -> str:
    """Such as "Turn left 90 degrees"; empty for an amount that rounds to zero."""
    if not math.isfinite(amount):  # refused with its reason where a request is checked
        return ""
    own, more, less, unit = _WORDS[kind]
    if unit == "degree":
        value = abs(math.degrees(amount))
        # A turn of 22.5 degrees is meant so; other fractions are chance.
        value = round(value, 1) if abs(2 * value - round(2 * value)) < 1e-3 else round(value)
    else:
        value = round(abs(amount), 1)
    plural = "" if value == 1 else "s"
    return f"{verb or own} {more if amount > 0 else less} {value:g} {unit}{plural}" if value else ""


def _phase(sums: Mapping[str, float]) -> str:
    """The clause of a phase: what is done, the first of `sums`, and what is done besides."""
    (kind, amount), *others = sums.items()
    told = _clause(kind, amount)
    beside = [_clause(other, much, _DOING[other]) for other, much in others if abs(much) >= _BESIDE[other]]
    return f"{told} while {' and '.join(beside)}" if told and beside else told


def _phases(moves: FloatArray, fps: float) -> Iterator[dict[str, float]]:
    """Sums of each run of frames with one dominant move and sign, that move first; small runs join the run before."""
    kinds, table = list(_COLUMNS), moves[:, list(_COLUMNS.values())]
    largest = np.abs(table).argmax(1)
    amounts = np.take_along_axis(table, largest[:, None], 1)[:, 0]
    keys = np.where(np.abs(amounts) < _STILL, 0, np.sign(amounts) * (1 + largest)).astype(int)
    limits = [0, *(np.flatnonzero(np.diff(keys)) + 1).tolist(), len(keys)] if len(keys) else []
    runs: list[tuple[int, dict[str, float]]] = []
    for first, end in pairwise(limits):
        key, done = int(keys[first]), dict(zip(kinds, table[first:end].sum(0).tolist(), strict=True))
        done["still"] = (end - first) / fps if key == 0 else 0.0
        small = done["still"] < _SHORTEST_S if key == 0 else not _clause(kinds[abs(key) - 1], done[kinds[abs(key) - 1]])
        if runs and (small or key == runs[-1][0]):
            for kind, amount in done.items():
                runs[-1][1][kind] += amount
        elif not small:
            runs.append((key, done))
    for key, done in runs:
        kind = "still" if key == 0 else kinds[abs(key) - 1]
        yield {kind: done.pop(kind), **done}
