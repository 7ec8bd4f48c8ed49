"""World-in-World's primitives, and their forms for world models: keys, a camera path, ids, or words.

One primitive is one frame. A plan of n primitives is a clip of n + 1 frames: frame 0 is the present view, frame k the
view after primitive k. Source: World-in-World, section 3 and the released wire format.

The following are for adapters that model authors write, and are not used elsewhere in the package: the wire format of
the released models (`NavControl.wire_ids`, `from_wire_ids`), `trajectory`, and the sentences "free/v1" and those of
earlier versions. Post-training uses `micro_cond`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.actions import Actions, ActionSpace, Axis, Motion, camera_path, describe
from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch, wrap_angle
from worldgauge.worlds.walking.floor import FloorPlan

STEP_M = 0.2
"""Metres of one forward step (task setup of the paper)."""
TURN_DEG = 22.5
"""Degrees of one turn."""
QUARTER_TURN = round(90 / TURN_DEG)
"""Turns by which the view goes to the next side."""
PLACEHOLDER_ID = 0
"""On the wire: nothing is in this slot."""


class Primitive(IntEnum):
    """One step of an agent. The numbers are those of the published wire format, where 4 also means null."""

    FORWARD = 1
    TURN_LEFT = 2
    TURN_RIGHT = 3
    STOP = 4


Steps = tuple[Primitive, ...]
Leading = Literal["exact", "model"]
"""Who makes the turns that a plan begins with: the panorama is turned, or the model imagines them."""

NAV_STEPS = ActionSpace(
    "nav-steps",
    (
        Axis("forward", "button", Motion(forward=STEP_M)),
        Axis("turn_left", "button", Motion(yaw=math.radians(TURN_DEG))),
        Axis("turn_right", "button", Motion(yaw=-math.radians(TURN_DEG))),
    ),
    fps=5.0,
)
"""The primitives as keys, one a frame; stopping is no key. The rate is ours: 1 m/s, the paper has none."""

_LETTERS = {Primitive.FORWARD: "F", Primitive.TURN_LEFT: "L", Primitive.TURN_RIGHT: "R", Primitive.STOP: "S"}
_TURNS = {Primitive.TURN_LEFT: 1, Primitive.TURN_RIGHT: -1}


@dataclass(frozen=True)
class NavControl:
    """What a navigation model receives for a plan, as a clip."""

    turn_left_rad: float  # turned exactly before the clip, for `leading` steps of the plan
    leading: int
    steps: Steps  # of the clip, padded
    wire_ids: NDArray[np.int64]  # (frames,), with a null in front
    valid_len: int  # frames that belong to the plan, with the first one
    frame_to_action: NDArray[np.int64]  # (frames,), step that a frame follows, from 1 with leading ones; -1 is padding

    @property
    def display_len(self) -> int:
        """Number of frames shown to the agent that decides: those of the plan, and one per leading turn."""
        return self.leading + self.valid_len


def nav_control(
    steps: Sequence[Primitive], frames: int, *, leading: Leading = "exact", padding: Primitive = Primitive.FORWARD
) -> NavControl:
    """Turn a plan into a clip.

    Args:
        steps: The plan.
        frames: Number of frames of the clip.
        leading: "exact" takes the first turns out of the clip, "model" leaves them in.
        padding: What the clip is filled up with.

    Returns:
        What a model is sent.

    Raises:
        UsageError: For a plan that does not fit.

    Examples:
        >>> control = nav_control(from_letters("LLF"), frames=4)
        >>> round(np.degrees(control.turn_left_rad)), control.valid_len, control.wire_ids.tolist()
        (45, 2, [4, 1, 1, 1])
    """
    if leading not in ("exact", "model"):
        raise UsageError(f"leading_turns is '{leading}'; take 'exact' or 'model'")
    turn, rest = leading_turns(steps) if leading == "exact" else (0.0, tuple(steps))
    taken, missing = len(steps) - len(rest), frames - 1 - len(rest)
    if missing < 0:
        raise UsageError(f"a clip of {frames} frames holds {frames - 1} steps, the plan has {len(rest)}")
    padded = rest + (padding,) * missing
    follows = np.concatenate([np.arange(taken, len(steps) + 1), np.full(missing, -1)])
    ids = np.concatenate([[int(Primitive.STOP)], wire_ids(padded)])
    return NavControl(turn, taken, padded, ids, len(rest) + 1, follows)


def leading_turns(steps: Sequence[Primitive]) -> tuple[float, Steps]:
    """Split the turns in one direction at the start of a plan, as radians to the left, from the remaining steps."""
    count = 0
    while count < len(steps) and steps[count] in _TURNS and steps[count] is steps[0]:
        count += 1
    direction = _TURNS[steps[0]] if count else 0
    return math.radians(direction * count * TURN_DEG), tuple(steps[count:])


def trajectory(steps: Sequence[Primitive], *, step_m: float = STEP_M, turn_deg: float = TURN_DEG) -> FloatArray:
    """Where steps lead without walls. Source: section 3.1, camera control.

    Args:
        steps: The steps. STOP changes nothing.
        step_m: Length of a step in metres.
        turn_deg: Size of a turn in degrees.

    Returns:
        (n + 1, 3), the start first: x ahead and y left in metres, and phi in degrees, counter-clockwise in [-180, 180).

    Examples:
        >>> trajectory(from_letters("LLLLF"))[-1].round(3).tolist()
        [0.0, 0.2, 90.0]
    """
    return world_trajectory(steps, (0.0, 0.0, 0.0), step_m=step_m, turn_deg=turn_deg)


def world_trajectory(
    steps: Sequence[Primitive], start: ArrayLike, *, step_m: float = STEP_M, turn_deg: float = TURN_DEG
) -> FloatArray:
    """`trajectory` from a start in another frame: x and y in metres, phi in degrees."""
    start = np.asarray(start, np.float64)
    turns = np.cumsum([0, *(_TURNS.get(step, 0) for step in steps)])
    phi = start[2] + turn_deg * turns
    ahead = np.array([step is Primitive.FORWARD for step in steps], np.float64) * step_m
    heading = np.radians(phi[:-1])
    moves = np.stack([ahead * np.cos(heading), ahead * np.sin(heading)], -1)
    places = start[:2] + np.concatenate([np.zeros((1, 2)), np.cumsum(moves, axis=0)])
    wrapped = (phi + 180) % 360 - 180
    # The remainder of a tiny negative number rounds up to the full circle.
    return np.column_stack([places, wrapped - 360 * (wrapped >= 180)])


def poses_of(steps: Sequence[Primitive], start: ArrayLike) -> FloatArray:
    """Camera-to-world poses (n, 4, 4) after each step, without walls and roll."""
    return camera_path(as_actions(steps), start)


def as_actions(steps: Sequence[Primitive]) -> Actions:
    """Keys (n, 3) of n primitives; a row of zeros for STOP."""
    values = np.zeros((len(steps), len(NAV_STEPS)), np.float32)
    for row, step in enumerate(steps):
        if step is not Primitive.STOP:
            values[row, int(step) - 1] = 1.0
    return Actions(NAV_STEPS, values)


def wire_ids(steps: Sequence[Primitive]) -> NDArray[np.int64]:
    """Ids (n,) of n primitives, without the null in front."""
    return np.array([int(step) for step in steps], np.int64)


def from_wire_ids(ids: Iterable[int]) -> Steps:
    """The primitives in a sequence of ids whose first slot is null. Placeholders are left out."""
    listed = [int(number) for number in ids]
    if not listed or listed[0] != Primitive.STOP:
        raise UsageError(f"ids begin with null ({int(Primitive.STOP)}), got {listed[:1] or 'none'}")
    if unknown := sorted(set(listed) - {PLACEHOLDER_ID, *Primitive}):
        raise UsageError(f"no primitive has id {unknown[0]}; they are 1 forward, 2 left, 3 right, 4 stop")
    return tuple(Primitive(number) for number in listed[1:] if number != PLACEHOLDER_ID)


def micro_cond(ids: ArrayLike) -> NDArray[np.int64]:
    """Conditioning matrix (T, T) of the post-trained SVD, released: row i holds ids 0 to i, then 0; slot 0 is null."""
    sent = np.array(ids, np.int64)
    if sent.ndim != 1 or not len(sent):
        raise UsageError(f"micro_cond takes a list of ids, got shape {sent.shape}")
    sent[0] = int(Primitive.STOP)
    return np.tril(np.broadcast_to(sent, (len(sent), len(sent))))


def letters(steps: Sequence[Primitive]) -> str:
    """F, L, R or S for each primitive, as in traces."""
    return "".join(_LETTERS[step] for step in steps)


def from_letters(word: str) -> Steps:
    """The primitives of a word such as "LLF".

    Raises:
        UsageError: For other letters.

    Examples:
        >>> [step.name for step in from_letters("LF")]
        ['TURN_LEFT', 'FORWARD']
    """
    known = {letter: step for step, letter in _LETTERS.items()}
    if unknown := sorted(set(word) - known.keys()):
        raise UsageError(f"no primitive '{unknown[0]}' in '{word}'; they are F, L, R and S")
    return tuple(known[letter] for letter in word)


def phrases(steps: Sequence[Primitive]) -> tuple[str, ...]:
    """Name, amount and unit of each primitive: "forward 0.2m", "turn_left 22.5°", "stop"."""
    amounts = {Primitive.FORWARD: f" {STEP_M:g}m", Primitive.STOP: ""}
    return tuple(step.name.lower() + amounts.get(step, f" {TURN_DEG:g}°") for step in steps)


def render_text(name: str, *, steps: Sequence[Primitive] = (), words: str = "") -> str:
    """The sentence for a model that is controlled by text. A renderer's wording never changes.

    Args:
        name: Renderer. "nav/v2" gives the walk of `steps` in words. "manip/v2" makes a sentence of a plan in `words`.
            "nav/v1" gives the primitives `steps`, one per frame. "manip/v1" gives a plan in `words` that a
            robot arm carries out. "free/v1" gives `words` unchanged.
        steps: The primitives.
        words: The words.

    Returns:
        The sentence.

    Raises:
        UnknownNameError: For another renderer.

    Examples:
        >>> render_text("nav/v2", steps=from_letters("FFFFFLL"))
        'Walk forward 1 metre, then turn left 45 degrees.'
    """
    if name not in RENDERERS:
        raise UnknownNameError("text renderer", name, RENDERERS)
    return RENDERERS[name](tuple(steps), words)


def _nav_v1(steps: Steps, words: str) -> str:
    if not steps:
        return "A view from eye level indoors; the camera stays where it is and nothing else moves."
    return (
        "A view from eye level indoors; nothing moves but the camera, which does this step by step: "
        + ", ".join(phrases(steps))
        + "."
    )


def _manip_v1(steps: Steps, words: str) -> str:
    return f"A robot arm at a table carries out this plan in one smooth movement, seen by a fixed camera: {words}"


def _free_v1(steps: Steps, words: str) -> str:
    return words


def _nav_v2(steps: Steps, words: str) -> str:
    return describe(as_actions(steps)) or "Stand still."


def _manip_v2(steps: Steps, words: str) -> str:
    return f"{words[:1].upper()}{words[1:].rstrip('.')}."


RENDERERS: Mapping[str, Callable[[Steps, str], str]] = {
    "nav/v1": _nav_v1,
    "nav/v2": _nav_v2,
    "manip/v1": _manip_v1,
    "manip/v2": _manip_v2,
    "free/v1": _free_v1,
}
"""Steps and words to a sentence, by name and version."""

# A walker that moves by primitives on a floor. A step ends before it would touch something.

RADIUS_M = 0.1
"""Of the walker."""
EYE_HEIGHT_M = 1.0
_PROBE_M = 0.01
_ROUNDING_M = 1e-6
"""Clearances are float32: that of 7 cells of 5 cm is a hair under 0.35 m."""


class Stance(NamedTuple):
    """Position in metres and heading in radians of a walker."""

    x: float
    y: float
    yaw: float
    z: float = 0.0  # of the floor under the walker; 0 on level floors

    @property
    def at(self) -> tuple[float, float, float]:
        """Position, metres."""
        return self.x, self.y, self.z

    @property
    def plain(self) -> list[float]:
        """Values that `Stance(*values)` takes, for files: x, y, yaw, and z where it is not 0."""
        return [self.x, self.y, self.yaw, *([self.z] if self.z else [])]

    def eye(self, height_m: float = EYE_HEIGHT_M, pitch: float = 0.0) -> FloatArray:
        """Camera-to-world pose of the eye. `pitch`: radians, up positive. Returns (4, 4)."""
        return pose_from_yaw_pitch([self.x, self.y, self.z + height_m], self.yaw, pitch)

    def turned(self, left: float) -> Stance:
        """The same place after a turn of `left` radians."""
        return self._replace(yaw=float(wrap_angle(self.yaw + left)))


def stands(clearance_m: ArrayLike, radius_m: ArrayLike = RADIUS_M) -> NDArray[np.bool_]:
    """Tell where a walker has room to stand; the arguments broadcast."""
    return np.asarray(np.asarray(clearance_m) >= np.asarray(radius_m) - _ROUNDING_M)


def walked(floor: FloorPlan, stance: Stance, step: Primitive, *, radius_m: float = RADIUS_M) -> tuple[Stance, bool]:
    """Move a walker by one primitive. A forward step ends, in whole centimetres, before the clearance is below
    `radius_m`. It does not slide along walls. A walker with less room at the start may go where it has no less, but
    only to free cells."""
    if step is Primitive.TURN_LEFT:
        return stance.turned(math.radians(TURN_DEG)), False
    if step is Primitive.TURN_RIGHT:
        return stance.turned(-math.radians(TURN_DEG)), False
    if step is Primitive.STOP:
        return stance, False
    along = np.array([math.cos(stance.yaw), math.sin(stance.yaw)])
    metres = np.arange(0, round(STEP_M / _PROBE_M) + 1) * _PROBE_M
    way = np.array([stance.x, stance.y]) + metres[:, None] * along
    clear = floor.clearance_at(way)
    room = np.minimum(radius_m, np.maximum.accumulate(clear)[:-1])
    met = np.flatnonzero(~stands(clear[1:], room) | (clear[1:] <= 0))
    last = int(met[0]) if len(met) else len(metres) - 1
    return stance._replace(x=float(way[last, 0]), y=float(way[last, 1])), bool(len(met))
