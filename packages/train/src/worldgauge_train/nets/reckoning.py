"""Where frames were taken, reckoned from the actions that led to them: no pose of the future is needed.

A path is (T, 5): x, y and z in metres, yaw and pitch in radians, from a first frame at the origin.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Poses = NDArray[np.float64]
POSE = 5
"""Numbers of a pose."""


def reckoned(moves: ArrayLike, start: ArrayLike = (0.0,) * POSE) -> Poses:
    """Poses (T, 5) after moves (T, 5): metres forward, left, up, radians of yaw, pitch. A step follows the mean of its
    headings."""
    forward, left, up, turn, tilt = np.asarray(moves, np.float64).T
    x, y, z, yaw, pitch = np.asarray(start, np.float64)
    after = yaw + np.cumsum(turn)
    along = after - turn / 2
    c, s = np.cos(along), np.sin(along)
    across, aside = x + np.cumsum(forward * c - left * s), y + np.cumsum(forward * s + left * c)
    return np.stack([across, aside, z + np.cumsum(up), after, pitch + np.cumsum(tilt)], 1)


def in_mirror(path: Poses) -> Poses:
    """A path as a mirror shows it, left to right."""
    return path * [1, -1, 1, -1, 1]


def seen_from(path: Poses, here: Poses) -> Poses:
    """Poses as seen from a pose, (..., 5): metres forward, left and up, and differences of yaw and pitch."""
    apart = path - here
    c, s = np.cos(here[3]), np.sin(here[3])
    turned = np.mod(apart[..., 3] + np.pi, 2 * np.pi) - np.pi
    forward, left = c * apart[..., 0] + s * apart[..., 1], c * apart[..., 1] - s * apart[..., 0]
    return np.stack([forward, left, apart[..., 2], turned, apart[..., 4]], -1)


def angle_between(path: Poses, here: Poses) -> NDArray[np.float64]:
    """Angles between the directions of view, (...) radians."""
    cosine = np.sin(path[..., 4]) * np.sin(here[4])
    cosine = cosine + np.cos(path[..., 4]) * np.cos(here[4]) * np.cos(path[..., 3] - here[3])
    angles: NDArray[np.float64] = np.arccos(np.clip(cosine, -1, 1))
    return angles
