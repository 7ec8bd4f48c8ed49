"""Does the camera go where it is sent, frame by frame, whatever its speed? Directions of single steps are compared.

A step is seen from the camera itself, so an error made once does not count again in later frames, and its size is
divided away, so a model that moves at a speed of its own is not judged by it. That holds for turning too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray, rotation_angle
from worldgauge.metrics._registry import metric

LEAST_MOVE_M = 1e-3
"""True steps shorter than this, metres a frame, have no direction."""
LEAST_TURN_RAD = math.radians(0.05)
"""True turns smaller than this, radians a frame, have no direction."""
_STILL = 1e-9
_SOURCE = "own: cosine of imagined and true step"


class StepCosines(NamedTuple):
    """Agreement of steps, by step; NaN where the truth rests or a pose is not known.

    Attributes:
        move: (n - 1,) cosine of the imagined and the true direction of motion; 0 where only the truth moves.
        turn: (n - 1,) the same of the axes about which the camera turns.
    """

    move: FloatArray
    turn: FloatArray


def camera_steps(poses: ArrayLike) -> FloatArray:
    """Motion of each step in the frame of its first camera.

    Args:
        poses: (n, 4, 4) camera-to-world; NaN where unknown.

    Returns:
        (n - 1, 6): translation in the unit of the poses, and the turn as axis times angle in radians. NaN where one of
        the two poses is unknown.

    Raises:
        ShapeError: Another shape.
    """
    own = np.asarray(poses, np.float64)
    if own.ndim != 3 or own.shape[1:] != (4, 4):
        raise ShapeError(f"poses are (n, 4, 4), got {own.shape}")
    back = np.swapaxes(own[:-1, :3, :3], -1, -2)
    move = np.einsum("nij,nj->ni", back, own[1:, :3, 3] - own[:-1, :3, 3])
    steps: FloatArray = np.concatenate([move, _turn_vectors(back @ own[1:, :3, :3])], axis=1)
    steps[~np.isfinite(steps).all(1)] = np.nan
    return steps


def step_cosines(truth: ArrayLike, generated: ArrayLike) -> StepCosines:
    """Compare the direction of every step with the true one.

    Args:
        truth: (n, 4, 4) camera-to-world, metres.
        generated: (n, 4, 4) camera-to-world, in any world frame and unit; NaN where unknown.

    Returns:
        The cosines, of n - 1 steps.

    Raises:
        ShapeError: Other shapes, or of different lengths.
    """
    q, p = camera_steps(truth), camera_steps(generated)
    if q.shape != p.shape:
        raise ShapeError(f"two paths of one length are compared, got {len(q) + 1} and {len(p) + 1} poses")
    return StepCosines(_cosines(q[:, :3], p[:, :3], LEAST_MOVE_M), _cosines(q[:, 3:], p[:, 3:], LEAST_TURN_RAD))


@metric("move_cosine", unit="1", better="higher", bounds=(-1.0, 1.0), version=1, source=_SOURCE)
def move_cosine(truth: ArrayLike, generated: ArrayLike) -> float | None:
    """Mean cosine between imagined and true direction of motion, over steps in which the truth moves.

    Args:
        truth: (n, 4, 4) camera-to-world, metres.
        generated: (n, 4, 4) camera-to-world, in any world frame and unit; NaN where unknown.

    Returns:
        -1 to 1; 0 for a camera that stands still; None where no step can be judged.

    Raises:
        ShapeError: Other shapes, or of different lengths.
    """
    return _mean(step_cosines(truth, generated).move)


@metric("turn_cosine", unit="1", better="higher", bounds=(-1.0, 1.0), version=1, source=_SOURCE)
def turn_cosine(truth: ArrayLike, generated: ArrayLike) -> float | None:
    """Mean cosine between imagined and true axis of turning, over steps in which the truth turns.

    Args:
        truth: (n, 4, 4) camera-to-world.
        generated: (n, 4, 4) camera-to-world; NaN where unknown.

    Returns:
        -1 to 1; 0 for a camera that does not turn; None where no step can be judged.

    Raises:
        ShapeError: Other shapes, or of different lengths.
    """
    return _mean(step_cosines(truth, generated).turn)


def _cosines(true: FloatArray, shown: FloatArray, least: float) -> FloatArray:
    sizes = np.linalg.norm(true, axis=1), np.linalg.norm(shown, axis=1)
    moving = sizes[1] > _STILL
    products = np.einsum("ni,ni->n", true, shown)
    cosines = np.divide(products, sizes[0] * sizes[1], out=np.zeros(len(true)), where=moving & (sizes[0] > _STILL))
    cosines[~(sizes[0] >= least) | np.isnan(sizes[1])] = np.nan
    clipped: FloatArray = np.clip(cosines, -1.0, 1.0)
    return clipped


def _turn_vectors(turns: FloatArray) -> FloatArray:
    """Axis times angle (n, 3) of rotations (n, 3, 3). Half a turn in one frame has no axis here, and gives 0."""
    skew = turns - np.swapaxes(turns, -1, -2)
    twice_sine = np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], -1)
    length = np.linalg.norm(twice_sine, axis=1)
    factor = np.divide(rotation_angle(turns), length, out=np.full(len(length), 0.5), where=length > 1e-12)
    vectors: FloatArray = factor[:, None] * twice_sine
    return vectors


def _mean(values: FloatArray) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None
