"""MIND's action space: eight keys, four to walk and four to look.

The data set stores them as key codes: columns ws, ad, ud, lr; 0 none, 1 forward / left / up / left, 2 its opposite.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.actions import Actions, ActionSpace, Axis, Motion
from worldgauge.core.errors import ShapeError

Keys = NDArray[np.uint8]
"""Key codes, (T, 4)."""


def walk_look(speed_mps: float = 2.0, turn_deg: float = 1.0) -> ActionSpace:
    """MIND's keys at 24 frames per second: four to walk, relative to the view, and four to look, in any combination.

    The defaults are the space that most of the data share.

    Args:
        speed_mps: Metres per second while a walking key is held (delta_p / 100).
        turn_deg: Degrees per frame while a looking key is held (delta_r).

    Returns:
        The action space.
    """
    step, turn = speed_mps / 24, math.radians(turn_deg)
    return ActionSpace(
        f"walk-look-{turn_deg:g}deg-{speed_mps:g}mps",
        (
            Axis("forward", "button", Motion(forward=step)),
            Axis("back", "button", Motion(forward=-step)),
            Axis("left", "button", Motion(left=step)),
            Axis("right", "button", Motion(left=-step)),
            Axis("look_up", "button", Motion(pitch=turn)),
            Axis("look_down", "button", Motion(pitch=-turn)),
            Axis("look_left", "button", Motion(yaw=turn)),
            Axis("look_right", "button", Motion(yaw=-turn)),
        ),
        fps=24.0,
    )


def steps_of(space: ActionSpace) -> tuple[float, float]:
    """(delta_r, delta_p) of a space of keys: degrees a frame, and centimetres a second."""
    turn = space.axes[space.column("look_left")].motion.yaw
    step = space.axes[space.column("forward")].motion.forward
    return round(float(np.degrees(turn)), 9), round(step * space.fps * 100, 7)


def space_of(delta_r_deg: float, delta_p_cm_s: float) -> ActionSpace:
    """Return the action space of a clip.

    Args:
        delta_r_deg: Turn per frame, degrees.
        delta_p_cm_s: Speed, centimetres per second.
    """
    return walk_look(speed_mps=delta_p_cm_s / 100, turn_deg=delta_r_deg)


def actions_of(keys: ArrayLike, space: ActionSpace) -> Actions:
    """Convert key codes to actions.

    Args:
        keys: (T, 4), values 0, 1, 2.
        space: A `walk_look` space.

    Returns:
        T rows.

    Raises:
        ShapeError: Other shapes or codes.
    """
    codes = np.asarray(keys)
    if codes.ndim != 2 or codes.shape[1] != 4 or not np.isin(codes, (0, 1, 2)).all():
        raise ShapeError(f"key codes need shape (T, 4) and values 0, 1, 2, got {codes.shape} of {codes.dtype}")
    # Codes 1 and 2 of a column are neighbouring buttons of the space: forward and back, left and right, ...
    return Actions(space, (codes[:, :, None] == (1, 2)).reshape(len(codes), 8).astype(np.float32))
