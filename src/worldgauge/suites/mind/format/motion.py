"""What a recorded clip does when keys are held: how fast it walks, how far it turns, and whether it obeys."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import FloatArray, wrap_angle, yaw_pitch_from_pose
from worldgauge.suites.mind.format.clip import FPS

KEY_NAMES = ("forward", "back", "left", "right", "look_up", "look_down", "look_left", "look_right")
STILL_CM = 0.5
"""Steps below this are no motion: a wall is in the way."""


class Motion(NamedTuple):
    """Numbers of one clip; None where no frame tells.

    keys: share of the rows that hold each of the eight keys, and "none". speed_cm_s: mean over rows that hold one
    walking key or two that part, steps that a wall stopped left out. turn_deg: mean turn of rows that look left or
    right, in that direction (whole degrees in files cancel out). obeys_walk: mean cosine between where the keys of a
    row should lead and where it led, in [-1, 1]. looks: rows that look left or right. largest_step_cm: of all rows.
    """

    keys: dict[str, float]
    speed_cm_s: float | None
    turn_deg: float | None
    obeys_walk: float | None
    looks: int
    largest_step_cm: float


def motion_of(keys: NDArray[np.uint8], poses: FloatArray, feet: FloatArray) -> Motion:
    """Numbers of a clip of T rows.

    keys: (T, 4) codes, row t led to frame t. poses: (T, 4, 4) camera-to-world. feet: (T, 3) metres, what walks: the
    camera itself in first person.
    """
    held = np.stack([keys == 1, keys == 2], -1).reshape(len(keys), 8)
    shares = {name: float(share) for name, share in zip(KEY_NAMES, held.mean(axis=0), strict=True)}
    shares["none"] = float((keys == 0).all(axis=1).mean())
    yaw, _ = yaw_pitch_from_pose(poses)
    steps_cm = 100 * np.diff(feet[:, :2], axis=0)
    lengths = np.linalg.norm(steps_cm, axis=1)
    signs = np.array([0, 1, -1])[keys[1:]]
    # Keys are relative to the view, midway in a turn.
    turns = wrap_angle(np.diff(yaw))
    along = yaw[:-1] + turns / 2
    c, s = np.cos(along), np.sin(along)
    wanted = np.stack([signs[:, 0] * c - signs[:, 1] * s, signs[:, 0] * s + signs[:, 1] * c], -1)
    walks = (signs[:, :2] != 0).any(axis=1) & (lengths > STILL_CM)
    looks = signs[:, 3] != 0
    cosine = (wanted * steps_cm).sum(1)[walks] / (np.linalg.norm(wanted, axis=1) * lengths)[walks]
    return Motion(
        keys=shares,
        speed_cm_s=float(lengths[walks].mean() * FPS) if walks.any() else None,
        turn_deg=float(np.degrees((turns * signs[:, 3])[looks].mean())) if looks.any() else None,
        obeys_walk=float(cosine.mean()) if walks.any() else None,
        looks=int(looks.sum()),
        largest_step_cm=float(lengths.max(initial=0.0)),
    )
