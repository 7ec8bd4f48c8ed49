"""Actions as networks see them: numbers a frame, and the same seen in a mirror."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.actions import Actions, ActionSpace, Axis, Motion, motions
from worldgauge.core.geometry import Camera, Panorama

Rows = NDArray[np.float32]
Told = Literal["keys", "motion", "both", "nothing"]
"""What a network is told of an action: the columns of its space, the nominal motion that they stand for, or both.
With the keys alone it must learn from frames what each does; with the motion alone it answers any keys. Told nothing,
it goes on as what it has learned from does: its film is a plan of its own."""

MOTION_SCALES = (0.1, 0.1, 0.1, 0.05, 0.05)
"""What counts as 1: metres forward, to the left and up, radians of yaw and of pitch, a frame."""

_EXCHANGED = (("left", "right"), ("look_left", "look_right"), ("turn_left", "turn_right"))
_NEGATED = ("camera_yaw", "sideways")


def action_rows(actions: Actions, camera: Camera | Panorama, told: Told = "both") -> Rows:
    """Describe the action that leads to each frame after the first.

    Args:
        actions: T rows.
        camera: What sees: with a longer lens the same turn, or step to the side, moves more of the picture, so they are
            told in multiples of what they are with a field of view of 90 degrees. Of a panorama nothing changes.
        told: What is told.

    Returns:
        (T, columns): the columns of the action space, then the nominal motion in units of MOTION_SCALES. A direction,
        an angle that turns no camera, is told as its sine, with the cosine after the columns: half a turn to the left
        is half a turn to the right. Of nothing, a column of zeros.
    """
    if told == "nothing":
        return np.zeros((len(actions), 1), np.float32)
    nominal = motions(actions) / np.array(MOTION_SCALES)
    if isinstance(camera, Camera):
        nominal[:, 1:] *= camera.fx / (camera.width / 2)
    keys = _without_seams(actions)
    parts = {"keys": (keys,), "motion": (nominal,), "both": (keys, nominal)}[told]
    return np.concatenate([part.astype(np.float32) for part in parts], axis=1)


def row_width(space: ActionSpace, told: Told = "both") -> int:
    """Columns of `action_rows`."""
    if told == "nothing":
        return 1
    return (0 if told == "motion" else key_width(space)) + (0 if told == "keys" else len(MOTION_SCALES))


def key_width(space: ActionSpace) -> int:
    """Columns of `action_rows` that stand for those of the space."""
    return len(space) + len(_directions(space))


def mirror_of(space: ActionSpace, told: Told = "both") -> Rows:
    """Find what a mirror, left to right, makes of `action_rows`: rows @ this.

    Args:
        space: Meaning of the columns.
        told: What is told.

    Returns:
        (columns, columns): an exchange of columns with signs, its own inverse.
    """
    if told == "nothing":
        return np.eye(1, dtype=np.float32)
    names, keys = [axis.name for axis in space.axes], key_width(space)
    mirror = np.eye(row_width(space), dtype=np.float32)
    for one, other in _EXCHANGED:
        if one in names and other in names:
            pair = [names.index(one), names.index(other)]
            mirror[np.ix_(pair, pair)] = [[0, 1], [1, 0]]
    turned = [names.index(name) for name in _NEGATED if name in names]
    for column in (*turned, keys + 1, keys + 3):  # of the motion: to the left, and yaw
        mirror[column, column] = -1
    kept = {"keys": slice(0, keys), "motion": slice(keys, None), "both": slice(None)}[told]
    return mirror[kept, kept]


def _directions(space: ActionSpace) -> list[int]:
    """Columns that are directions."""

    def is_direction(axis: Axis) -> bool:
        return axis.kind == "angle" and axis.motion == Motion()

    return [number for number, axis in enumerate(space.axes) if is_direction(axis)]


def _without_seams(actions: Actions) -> Rows:
    """The columns of the space, directions as sines, and their cosines after them."""
    directions = _directions(actions.space)
    values = actions.values.astype(np.float32)
    cosines = np.cos(values[:, directions])
    values[:, directions] = np.sin(values[:, directions])
    return np.concatenate([values, cosines], axis=1)
