"""What to send so that a model with known gains and signs moves as it is asked to."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.actions import Actions, ActionSpace, Axis, Motion
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch, wrap_angle, yaw_pitch_from_pose
from worldgauge.models.calibration.file import DIRECTIONS, Calibration

NAME_OF = {found: name for name, found in DIRECTIONS.items()}
ROUNDING = 1.02
"""How much faster than the model may be asked for before it counts as too fast: its speed is a measurement."""


def undone_poses(poses: FloatArray, start: FloatArray, calibration: Calibration) -> FloatArray:
    """Poses to send for a path.

    Each step is taken apart into moves in the frame of the walker and turns, which are divided by their gains. Where
    the model has a speed of its own, only signs are undone. Roll and height are kept.

    Args:
        poses: (n, 4, 4) camera-to-world that are asked for.
        start: (4, 4) pose before the first.
        calibration: What the model does.

    Returns:
        (n, 4, 4) camera-to-world.
    """
    every = np.concatenate([start[None], poses])
    yaw, pitch = yaw_pitch_from_pose(every)
    roll = np.swapaxes(pose_from_yaw_pitch(np.zeros((len(every), 3)), yaw, pitch)[:, :3, :3], -1, -2) @ every[:, :3, :3]
    steps = np.diff(every[:, :3, 3], axis=0)
    cosine, sine = np.cos(yaw[:-1]), np.sin(yaw[:-1])
    moves = [steps[:, 0] * cosine + steps[:, 1] * sine, steps[:, 1] * cosine - steps[:, 0] * sine]
    wanted = np.stack([*moves, steps[:, 2], wrap_angle(np.diff(yaw)), np.diff(pitch)], 1)
    sent = np.array([[_amount(axis, value, calibration) for axis, value in enumerate(row)] for row in wanted.tolist()])
    sent = sent.reshape(-1, 5)
    turned = yaw[0] + np.concatenate([[0.0], np.cumsum(sent[:, 3])])
    cosine, sine = np.cos(turned[:-1]), np.sin(turned[:-1])
    across = np.stack([sent[:, 0] * cosine - sent[:, 1] * sine, sent[:, 0] * sine + sent[:, 1] * cosine, sent[:, 2]], 1)
    path = pose_from_yaw_pitch(start[:3, 3] + np.cumsum(across, axis=0), turned[1:], pitch[0] + np.cumsum(sent[:, 4]))
    path[:, :3, :3] = path[:, :3, :3] @ roll[1:]
    return path


def undone_actions(actions: Actions, calibration: Calibration) -> Actions:
    """Actions to send.

    Angles and lengths are divided by the gain. A key that does the opposite is swapped with its opposite. The speed of
    a key is divided in the motion that its space declares, where the model moves at the speed it is asked for; where it
    has a speed of its own the key is held for a share of the frames.

    Args:
        actions: What is asked.
        calibration: What the model does.

    Returns:
        The actions, in a space with the same axes.

    Raises:
        NotApplicableError: A key would have to be held for more than all frames.
    """
    values = np.zeros_like(actions.values)
    axes = list(actions.space.axes)
    for column, axis in enumerate(actions.space.axes):
        given = actions.values[:, column]
        moved = [(k, amount) for k, amount in enumerate(axis.motion) if amount]
        if len(moved) != 1:
            values[:, column] += given
            continue
        ((k, amount),) = moved
        if axis.kind != "button":
            values[:, column] += [_amount(k, float(value) * amount, calibration) / amount for value in given]
            continue
        used, gain = _control(k, 1 if amount > 0 else -1, calibration)
        target = column if gain is None else _column_of(actions.space, used, column)
        if gain is None:
            values[:, column] = np.maximum(values[:, column], given)
            continue
        speed = calibration.speed_of(used)
        if speed == "asked":
            own = axes[target]
            axes[target] = replace(own, motion=_only(k, math.copysign(abs(amount / gain), own.motion[k])))
        elif speed == "own" and calibration.control == "actions":
            given = _shared(given, abs(amount), abs(calibration.gains[used].a_frame or 0.0), axis.name)
        values[:, target] = np.maximum(values[:, target], given)
    return Actions(replace(actions.space, axes=tuple(axes)), values)


def _amount(k: int, wanted: float, calibration: Calibration) -> float:
    """What to send along a component of motion so that `wanted` comes of it."""
    if not wanted or not any(k == component for component, _ in DIRECTIONS.values()):
        return wanted
    used, gain = _control(k, 1 if wanted > 0 else -1, calibration)
    if gain is None:
        return wanted
    return wanted / gain if calibration.speed_of(used) == "asked" else math.copysign(wanted, wanted * gain)


def _control(k: int, sign: int, calibration: Calibration) -> tuple[str, float | None]:
    """The control that moves in a direction, and its gain; the direction's own, without a gain, where none does."""
    if (k, sign) not in NAME_OF:
        return "", None
    own, opposite = NAME_OF[k, sign], NAME_OF[k, -sign]
    for name, turned in ((own, 1), (opposite, -1)):
        gain = calibration.gains[name].gain if name in calibration.gains else None
        if gain is not None and gain * turned > 0:
            return name, gain
    return own, None


def _column_of(space: ActionSpace, control: str, otherwise: int) -> int:
    """Column of the key of a control."""
    k, sign = DIRECTIONS[control]
    columns = (n for n, axis in enumerate(space.axes) if _is_key(axis, k, sign))
    return next(columns, otherwise)


def _is_key(axis: Axis, k: int, sign: int) -> bool:
    return axis.kind == "button" and axis.motion[k] * sign > 0 and sum(map(bool, axis.motion)) == 1


def _shared(given: NDArray[np.float32], wanted: float, a_frame: float, name: str) -> NDArray[np.float32]:
    """Frames of `given`, held for the share that makes `wanted` a frame of `a_frame` a frame, evenly spread."""
    share = wanted / a_frame
    if share > ROUNDING and given.any():
        raise NotApplicableError(
            f"the model moves at its own speed, {a_frame:.3g} a frame by '{name}', and {wanted:.3g} is asked for"
        )
    # Halves are rounded up at the first frame, so that a share of 1 holds every frame.
    sums = np.floor(np.cumsum(given.astype(np.float64)) * min(share, 1.0) + 0.5)
    held: NDArray[np.float32] = np.diff(sums, prepend=0.0).astype(np.float32)
    return np.minimum(held, given)


def _only(k: int, amount: float) -> Motion:
    return Motion(*(amount if at == k else 0.0 for at in range(len(Motion._fields))))
