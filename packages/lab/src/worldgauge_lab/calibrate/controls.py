"""What a model is asked while it is calibrated: short moves along one axis or two, at three speeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from worldgauge.core.actions import LOOP_WALK, Actions, ActionSpace, Axis, Motion, camera_path, motions
from worldgauge.core.errors import UnknownNameError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.model import ModelSpec
from worldgauge.models.calibration.file import DIRECTIONS
from worldgauge.suites.mind.actions import walk_look
from worldgauge.worlds.walking.primitives import NAV_STEPS

MOVING, RESTING = 8, 8
"""Frames with the control, and frames without it, in which a late model comes to rest."""
HORIZON = MOVING + RESTING
STEP_M, TURN_RAD = 0.05, float(np.radians(1.0))
"""Motion a frame at speed 1. The fastest move is 0.8 m and the widest turn 16 degrees, so most of a start image stays
in view for a model that goes twice as far."""
SPEEDS = (0.5, 1.0, 2.0)
STILL = "still"
DIAGONALS: Mapping[str, tuple[str, str]] = {
    f"{one}+{other}": (one, other)
    for one, other in (
        ("forward", "left"),
        ("back", "right"),
        ("forward", "yaw_left"),
        ("yaw_right", "pitch_down"),
    )
}

SPACES: Mapping[str, ActionSpace] = {"walk-look": walk_look(), "loop-walk": LOOP_WALK, "nav-steps": NAV_STEPS}
"""Action spaces by the name of their family."""
DEFAULT_SPACE = "walk-look"


@dataclass(frozen=True)
class Asked:
    """One control of one speed.

    Attributes:
        control: A name of `DIRECTIONS` or `DIAGONALS`, or `STILL`.
        speed: Of `SPEEDS`; 0 for `STILL`.
        actions: HORIZON rows.
    """

    control: str
    speed: float
    actions: Actions

    @property
    def motions(self) -> FloatArray:
        """(HORIZON, 5) metres and radians a frame that are asked for."""
        return motions(self.actions)

    @property
    def name(self) -> str:
        """Its name in files."""
        return self.control if self.control == STILL else f"{self.control}-{self.speed:g}"

    def poses(self, start: FloatArray) -> FloatArray:
        """(HORIZON, 4, 4) poses that are asked for, from a start (4, 4)."""
        return camera_path(self.actions, start)


def space_for(spec: ModelSpec, name: str) -> ActionSpace:
    """The space of the controls of a model.

    Args:
        spec: What it declares. A model that is driven by poses or words is asked for the same moves.
        name: Name in `SPACES`.

    Returns:
        The space, at the rate of the model.

    Raises:
        UnknownNameError: There is no such space.
    """
    if name not in SPACES:
        raise UnknownNameError("action space", name, SPACES)
    return SPACES[name] if spec.fps is None else replace(SPACES[name], fps=float(spec.fps))


def controls_of(space: ActionSpace, *, diagonals: bool = True) -> list[Asked]:
    """Everything that is asked from one start image in a space.

    Args:
        space: The space; its axes say what can be asked.
        diagonals: Whether two moves at once are asked, which no sentence says.
    """
    names = [name for name in DIRECTIONS if _column(space, name) is not None]
    names += [name for name, parts in DIAGONALS.items() if diagonals and set(parts) <= set(names)]
    asked = [Asked(STILL, 0.0, _actions(space, (), 1.0))]
    asked += [
        Asked(name, speed, _actions(space, DIAGONALS.get(name, (name,)), speed)) for name in names for speed in SPEEDS
    ]
    return asked


def keys_of(space: ActionSpace) -> frozenset[str]:
    """Controls that are keys in a space, not amounts."""
    columns = {name: _column(space, name) for name in DIRECTIONS}
    return frozenset(name for name, at in columns.items() if at is not None and space.axes[at].kind == "button")


def _actions(space: ActionSpace, directions: Sequence[str], speed: float) -> Actions:
    axes = tuple(_at_speed(axis, speed) for axis in space.axes)
    values = np.zeros((HORIZON, len(space)), np.float32)
    for name in directions:
        column = _column(space, name)
        assert column is not None
        k, sign = DIRECTIONS[name]
        axis = axes[column]
        values[:MOVING, column] = 1.0 if axis.kind == "button" else sign * speed * _unit(k) / axis.motion[k]
    return Actions(replace(space, axes=axes), values)


def _at_speed(axis: Axis, speed: float) -> Axis:
    """A key whose motion is that of the speed; its space says what it does."""
    if axis.kind != "button":
        return axis
    return replace(axis, motion=Motion(*(float(np.sign(m)) * speed * _unit(k) for k, m in enumerate(axis.motion))))


def _column(space: ActionSpace, direction: str) -> int | None:
    """Column that moves in a direction and nowhere else; None where there is none."""
    k, sign = DIRECTIONS[direction]
    for column, axis in enumerate(space.axes):
        alone = [at for at, amount in enumerate(axis.motion) if amount] == [k]
        if alone and (axis.kind != "button" or axis.motion[k] * sign > 0):
            return column
    return None


def _unit(k: int) -> float:
    return TURN_RAD if k >= 3 else STEP_M
