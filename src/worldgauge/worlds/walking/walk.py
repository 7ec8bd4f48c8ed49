"""A recorded walk, frame by frame, in the world frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worldgauge.core import geometry
from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch
from worldgauge.worlds.voxel.world import EYE_HEIGHT_M

LoopKind = Literal["ABA", "ABCA"]

_EYE_ABOVE_FEET = np.array([0.0, 0.0, EYE_HEIGHT_M])


@dataclass(frozen=True)
class WalkGoal:
    """Goal of a walk: a cell to stand in (exact), or any cell near column (x, y)."""

    x: int
    y: int
    z: int | None = None  # None for a near goal
    range_sq: int | None = None  # squared distance in the plane, cells, that reaches a near goal; None if exact

    @property
    def exact(self) -> bool:
        """Whether the goal is one cell, not a disc of columns."""
        return self.z is not None


@dataclass(frozen=True)
class Walk:
    """One loop of T frames at 20 frames per second."""

    positions: FloatArray  # (T, 3) metres, feet, rounded to 3 decimals
    yaw: FloatArray  # (T,) radians, not wrapped; yaw - pi/2 (the game's yaw) has 3 decimals
    pitch: FloatArray  # (T,) radians, 3 decimals
    camera: FloatArray  # (T, 2) radians, change of yaw and pitch that led to frame t, full precision; row 0 is 0
    forward: NDArray[np.bool_]  # (T,), held from frame t to frame t + 1
    jump: NDArray[np.bool_]  # (T,), held from frame t to frame t + 1
    goals: tuple[WalkGoal | None, ...]  # T goals, None while idle
    kind: LoopKind
    radius: int  # of the loop, in cells
    seed: int | None  # of the world, None when unknown
    discards: tuple[str, ...] = ()  # why earlier tries were thrown away

    def __post_init__(self) -> None:
        n = len(self.positions)
        shapes = {"positions": (n, 3), "yaw": (n,), "pitch": (n,), "camera": (n, 2), "forward": (n,), "jump": (n,)}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ShapeError(f"walk of {n} frames: '{name}' needs shape {shape}, got {getattr(self, name).shape}")
        if len(self.goals) != n:
            raise ShapeError(f"walk of {n} frames: {len(self.goals)} goals")

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def poses(self) -> FloatArray:
        """Camera-to-world poses (T, 4, 4) of the eye."""
        return pose_from_yaw_pitch(self.positions + _EYE_ABOVE_FEET, self.yaw, self.pitch)

    @property
    def length(self) -> float:
        """Distance walked in the plane, in metres."""
        return geometry.length(self.positions[:, :2])


def discard_counts(reasons: Sequence[str]) -> dict[str, int]:
    """How often each reason occurs, sorted by reason."""
    return dict(sorted(Counter(reasons).items()))
