"""Paths of a hand in demonstrations, and the pieces of them that are nearest to a path that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import FloatArray
from worldgauge.suites.closedloop.training_data.demonstrations.demonstration import Demonstration

TURN_M_RAD, GRIP_M = 0.1, 0.2
"""What a radian of turn, and a gripper that is open where it should be closed, count as."""
MOVED_M = 0.025
"""By which a hand moves from one point of its recorded path to the next; it also has one wherever it does anything."""


class Piece(NamedTuple):
    """Of a demonstration: number of it, and (n,) its frames for the n poses of a path, never going back.

    cost_m: what the two paths differ by, summed along them.
    """

    demonstration: int
    frames: tuple[int, ...]
    cost_m: float


class RecordedPaths:
    """The paths of all demonstrations, thinned out where the hand stands still."""

    def __init__(self, demonstrations: Sequence[Demonstration]) -> None:
        self._frames = [_points(one) for one in demonstrations]
        longest = max(len(frames) for frames in self._frames)
        self._path = np.full((longest, len(demonstrations), 8), np.inf)
        for column, (one, frames) in enumerate(zip(demonstrations, self._frames, strict=True)):
            self._path[: len(frames), column] = one.hand[frames]

    def nearest(self, path: FloatArray, count: int) -> list[Piece]:
        """The `count` demonstrations with a piece nearest to a path (n, 8) of hand poses, nearest first.

        By dynamic time warping: every pose meets a point of the piece and every point a pose, in order. A piece may
        start and end anywhere.
        """
        costs = np.stack([self._apart(pose) for pose in path])
        totals = costs.copy()
        for n in range(1, len(path)):
            for point in range(costs.shape[1]):
                before = totals[n - 1, point]
                if point:
                    before = np.minimum(before, np.minimum(totals[n - 1, point - 1], totals[n, point - 1]))
                totals[n, point] += before
        ends = totals[-1].min(axis=0)
        order = np.argsort(ends, kind="stable")[:count]
        return [
            Piece(int(one), self._followed(costs[:, :, one], totals[:, :, one], int(one)), float(ends[one]))
            for one in order
        ]

    def _apart(self, pose: FloatArray) -> FloatArray:
        """(points, demonstrations) metres between a pose (8,) and all that were recorded."""
        far = np.linalg.norm(self._path[..., :3] - pose[:3], axis=-1)
        with np.errstate(invalid="ignore"):
            cosine = np.abs(self._path[..., 3:7] @ pose[3:7]).clip(0, 1)
        turn = 2 * np.arccos(np.where(np.isfinite(far), cosine, 1.0))
        apart: FloatArray = far + TURN_M_RAD * turn + GRIP_M * np.abs(self._path[..., 7] - pose[7])
        return apart

    def _followed(self, costs: FloatArray, totals: FloatArray, one: int) -> tuple[int, ...]:
        """The frame of demonstration `one` for each pose: of the points that it meets the nearest, the last of equals.

        What a hand does where it stands shows in the end.
        """
        n, point = len(totals) - 1, totals.shape[1] - 1 - int(np.argmin(totals[-1, ::-1]))
        met: list[list[int]] = [[] for _ in totals]
        while True:
            met[n].append(point)
            if n == 0:
                break
            steps = [(n - 1, point)] + ([(n - 1, point - 1), (n, point - 1)] if point else [])
            n, point = min(steps, key=lambda step: float(totals[step]))
        best = [min(points, key=lambda at: (float(costs[n, at]), -at)) for n, points in enumerate(met)]
        return tuple(int(self._frames[one][at]) for at in best)


def _points(demonstration: Demonstration) -> NDArray[np.int64]:
    """Frames at which the hand has moved on, or done a pose."""
    kept, last = [0], demonstration.hand[0]
    for frame, pose in enumerate(demonstration.hand):
        if np.linalg.norm(pose[:3] - last[:3]) >= MOVED_M or frame in demonstration.reached:
            kept.append(frame)
            last = pose
    return np.array(sorted(set(kept)))
