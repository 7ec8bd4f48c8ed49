"""Actions as networks see them: numbers a frame, and the same seen in a mirror."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.actions import Actions, ActionSpace, motions

Rows = NDArray[np.float32]

MOTION_SCALES = (0.1, 0.1, 0.1, 0.05, 0.05)
"""What counts as 1: metres forward, to the left and up, radians of yaw and of pitch, a frame."""

_EXCHANGED = (("left", "right"), ("look_left", "look_right"), ("turn_left", "turn_right"))
_NEGATED = ("camera_yaw",)


def action_rows(actions: Actions, *, hidden_motion: bool = False) -> Rows:
    """Describe the action that leads to each frame after the first.

    Args:
        actions: T rows.
        hidden_motion: Leave the nominal motion out (zeros), so that what a key does must be learned from frames.

    Returns:
        (T, columns + 5): the columns of the action space, then the nominal motion in units of MOTION_SCALES.
    """
    nominal = np.zeros((len(actions), len(MOTION_SCALES)), np.float32)
    if len(actions) and not hidden_motion:
        nominal[:] = motions(actions) / np.array(MOTION_SCALES)
    return np.concatenate([actions.values.astype(np.float32), nominal], axis=1)


def row_width(space: ActionSpace) -> int:
    """Columns of `action_rows`."""
    return len(space) + len(MOTION_SCALES)


def mirror_of(space: ActionSpace) -> Rows:
    """Find what a mirror, left to right, makes of `action_rows`: rows @ this.

    Args:
        space: Meaning of the columns.

    Returns:
        (columns + 5, columns + 5): an exchange of columns with signs, its own inverse.
    """
    width, names = row_width(space), [axis.name for axis in space.axes]
    mirror = np.eye(width, dtype=np.float32)
    for one, other in _EXCHANGED:
        if one in names and other in names:
            pair = [names.index(one), names.index(other)]
            mirror[np.ix_(pair, pair)] = [[0, 1], [1, 0]]
    turned = [names.index(name) for name in _NEGATED if name in names]
    for column in (*turned, len(space) + 1, len(space) + 3):  # of the motion: to the left, and yaw
        mirror[column, column] = -1
    return mirror
