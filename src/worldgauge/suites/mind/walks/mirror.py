"""MIND's ten paths that lead out and back: 24 frames of keys, then 24 of the opposite ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core.actions import ActionSpace, camera_path
from worldgauge.core.errors import UnknownNameError
from worldgauge.core.geometry import FloatArray
from worldgauge.suites.mind.actions import Keys, actions_of

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


def mirror_poses(path: str | ArrayLike, start: ArrayLike, space: ActionSpace, arm_m: float = 0.0) -> FloatArray:
    """Camera-to-world poses of a mirrored path, after each row, at full speed from the first.

    The way back goes over the very poses of the way out; nothing stands in the way.
    Source: specification of the simulator, mean of the yaw before and after each frame.

    Args:
        path: A name of MIRROR_PATHS, or key codes (T, 4).
        start: Pose (4, 4) to start from.
        space: What the keys do.
        arm_m: Metres of the camera behind the point that turns.

    Returns:
        (48, 4, 4); (T, 4, 4) for T rows of key codes.

    Raises:
        UnknownNameError: For another name.
        ShapeError: For other shapes and codes.
    """
    if isinstance(path, str):
        if path not in MIRROR_PATHS:
            raise UnknownNameError("mirror path", path, MIRROR_PATHS)
        path = MIRROR_PATHS[path]
    return camera_path(actions_of(path, space), start, heading="mean", arm_m=arm_m)
