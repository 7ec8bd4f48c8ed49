"""MIND's action space, eight keys, and its ten paths that lead out and back by them.

The data set stores keys as codes: columns ws, ad, ud, lr; 0 none, 1 forward / left / up / left, 2 its opposite.
A path holds keys for 24 frames, then the opposite ones for 24.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.actions import Actions, ActionSpace, Axis, Motion, camera_path
from worldgauge.core.errors import ShapeError, UnknownNameError
from worldgauge.core.geometry import FloatArray

Keys = NDArray[np.uint8]
"""Key codes, (T, 4)."""


def walk_look(speed_mps: float = 2.0, turn_deg: float = 1.0) -> ActionSpace:
    """MIND's keys at 24 frames per second: four to walk, relative to the view, and four to look, in combination."""
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
    """The action space of a clip, from degrees per frame and centimetres per second."""
    return walk_look(speed_mps=delta_p_cm_s / 100, turn_deg=delta_r_deg)


def actions_of(keys: ArrayLike, space: ActionSpace) -> Actions:
    """Convert key codes (T, 4), values 0, 1, 2, to actions."""
    codes = np.asarray(keys)
    if codes.ndim != 2 or codes.shape[1] != 4 or not np.isin(codes, (0, 1, 2)).all():
        raise ShapeError(f"key codes need shape (T, 4) and values 0, 1, 2, got {codes.shape} of {codes.dtype}")
    # Codes 1 and 2 of a column are neighbouring buttons of the space: forward and back, left and right, ...
    return Actions(space, (codes[:, :, None] == (1, 2)).reshape(len(codes), 8).astype(np.float32))


Perspective = Literal["1st", "3rd"]
"""Whose view: the eyes of who walks, or a camera on an arm behind."""

LEG = 24
"""Frames of each leg (paper: "each action lasts 24 frames")."""

_OUT = {
    "w": (1, 0, 0, 0),
    "s": (2, 0, 0, 0),
    "u": (0, 0, 1, 0),
    "down": (0, 0, 2, 0),
    "a": (0, 1, 0, 0),
    "d": (0, 2, 0, 0),
    "wl": (1, 0, 0, 1),
    "wr": (1, 0, 0, 2),
    "sl": (2, 0, 0, 1),
    "sr": (2, 0, 0, 2),
}


def _out_and_back(codes: tuple[int, ...]) -> Keys:
    out = np.array(codes, np.uint8)
    keys = np.repeat([out, np.where(out, 3 - out, 0).astype(np.uint8)], LEG, axis=0)
    keys.setflags(write=False)
    return keys


MIRROR_PATHS: Mapping[str, Keys] = {name: _out_and_back(codes) for name, codes in _OUT.items()}
"""Keys (48, 4) of each path by its file's name, in the order of the videos path-1 to path-10.

The numbers and the reading of wl, wr, sl, sr as "and look" are ours: the paper names only path 5, left and then right.
"""


TWIN_KEYS: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "turn": ((0, 0, 0, 1), (0, 0, 0, 2)),
    "walk": ((1, 0, 0, 0), (2, 0, 0, 0)),
    "strafe": ((0, 1, 0, 0), (0, 2, 0, 0)),
}
"""Codes of a key and of its opposite, of which one twin holds one each."""


def mirror_poses(path: str | ArrayLike, start: ArrayLike, space: ActionSpace, arm_m: float = 0.0) -> FloatArray:
    """Camera-to-world poses (T, 4, 4) of a mirrored path (name or codes (T, 4)), after each row, at full speed.

    The way back repeats the poses of the way out; `arm_m` is the camera's distance behind the pivot. Source: the
    simulator's specification, mean yaw before and after a frame.
    """
    if isinstance(path, str):
        if path not in MIRROR_PATHS:
            raise UnknownNameError("mirror path", path, MIRROR_PATHS)
        path = MIRROR_PATHS[path]
    return camera_path(actions_of(path, space), start, heading="mean", arm_m=arm_m)
