"""From tracks to cameras: a two-view start, one camera after the other, points between, bundle adjustment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import FloatArray
from worldgauge.perception.decoders.bundle import Scene, Sightings, adjust, squared_errors
from worldgauge.perception.decoders.klt._views import AGREE_PX, place, triangulate, turn_between, two_views

MIN_START_PX, MIN_START_DEG = 14.0, 1.2
"""Median move and median parallax that two frames need to start from."""
MAX_TURN_ERROR_PX = 2.0
"""What a pure turn may leave unexplained, median over points."""
MIN_COMMON = 40
"""Points that two frames must share to be compared."""
_MIN_ANGLE_DEG = 1.0
TOLERANCES_PX = (AGREE_PX, 3 * AGREE_PX)
"""How far sightings may be from their points; the second where the first does not place every frame: generated frames
bend what they show."""
_ADJUST_EVERY = 4


@dataclass(frozen=True)
class Map:
    """Cameras of the frames that could be placed, and points.

    Attributes:
        scene: Cameras of all K frames, valid where `placed`; all P points, valid where `known`.
        placed: (K,) bool.
        known: (P,) bool.
        seen: (K, P) bool, sightings that agree with the scene.
    """

    scene: Scene
    placed: NDArray[np.bool_]
    known: NDArray[np.bool_]
    seen: NDArray[np.bool_]
    parallax_deg: float

    def errors_px(self, xy: FloatArray) -> FloatArray:
        """Reprojection errors of all sightings that are used, pixels."""
        frame, point = np.nonzero(self.seen & self.placed[:, None] & self.known)
        squared, _ = squared_errors(self.scene, Sightings(frame, point, xy[frame, point]))
        return np.sqrt(squared)


def build_map(xy: FloatArray, focal: float, focal_prior: tuple[float, float] | None) -> Map | None:
    """Build a map from tracks.

    Args:
        xy: (K, P, 2) pixels from the image centre, NaN where unseen.
        focal: Focal length to start from, pixels.
        focal_prior: As `adjust` takes it.

    Returns:
        The map; None if no two views give a start.
    """
    best: Map | None = None
    for tolerance_px in TOLERANCES_PX:
        for start in _starts(xy, focal, tolerance_px):
            built = _Builder(xy, focal, focal_prior, start, tolerance_px).build()
            if best is None or _goodness(built, xy) > _goodness(best, xy):
                best = built
            if best.placed.all():
                return best
    return best


def _goodness(built: Map, xy: FloatArray) -> tuple[int, float]:
    return int(built.placed.sum()), -float(built.errors_px(xy).mean())


@dataclass(frozen=True)
class _Start:
    first: int
    second: int
    rotation: FloatArray
    translation: FloatArray
    parallax_deg: float


def _starts(xy: FloatArray, focal: float, tolerance_px: float, most: int = 2) -> list[_Start]:
    """Up to `most` pairs of frames to start from, of different first frames; the earliest comes first."""
    seen = np.isfinite(xy[..., 0])
    found: list[_Start] = []
    for loosened in (1.0, 0.5):
        for first in range(0, len(xy) - 1, 4):
            tried = first
            for second in range(first + 1, len(xy)):
                common = seen[first] & seen[second]
                if common.sum() < MIN_COMMON:
                    break
                a, b = xy[first, common], xy[second, common]
                if np.median(np.linalg.norm(a - b, axis=1)) < MIN_START_PX * loosened:
                    continue
                if turn_between(a, b, focal, rounds=4)[1] < np.radians(MIN_START_DEG) * focal * loosened / 2:
                    continue
                # What the frame after one that was tried shows is hardly different.
                if tried == second - 1 != first:
                    continue
                tried = second
                pair = two_views(a, b, focal, tolerance_px)
                if pair is not None and pair.parallax_deg >= MIN_START_DEG * loosened:
                    found.append(_Start(first, second, pair.rotation, pair.translation, pair.parallax_deg))
                    break
            if len(found) == most:
                return found
        if found:
            return found
    return found


class _Builder:
    def __init__(
        self, xy: FloatArray, focal: float, focal_prior: tuple[float, float] | None, start: _Start, tolerance_px: float
    ) -> None:
        frames, points = xy.shape[:2]
        self.xy, self.focal_prior, self.start, self.tolerance_px = xy, focal_prior, start, tolerance_px
        self.seen: NDArray[np.bool_] = np.isfinite(xy[..., 0])
        self.placed = np.zeros(frames, np.bool_)
        self.known = np.zeros(points, np.bool_)
        self.scene = Scene(np.tile(np.eye(3), (frames, 1, 1)), np.zeros((frames, 3)), np.zeros((points, 3)), focal)
        self._set(start.first, np.eye(3), np.zeros(3))
        self._set(start.second, start.rotation, start.translation)

    def build(self) -> Map:
        self._triangulate()
        self._adjust(10)
        lost: set[int] = set()
        fresh = 0
        while (number := self._next(lost)) is not None:
            pose = self._place(number)
            if pose is None:
                lost.add(number)
                continue
            self._set(number, *pose)
            self._triangulate()
            fresh += 1
            if fresh % _ADJUST_EVERY == 0:
                self._adjust(4)
                lost.clear()
        for _ in range(3):
            self._adjust(20)
            self._forget_bad()
            self._triangulate()
        self._adjust(20)
        return Map(self.scene, self.placed, self.known, self.seen, self.start.parallax_deg)

    def _next(self, lost: set[int]) -> int | None:
        """The frame to place next: the one next to placed frames that sees most known points."""
        beside = [
            k
            for k in np.flatnonzero(~self.placed).tolist()
            if k not in lost and self.placed[max(k - 1, 0) : k + 2].any()
        ]
        between = [k for k in beside if self.start.first < k < self.start.second]
        candidates = between or beside
        return max(candidates, key=lambda k: (int((self.seen[k] & self.known).sum()), -k)) if candidates else None

    def _place(self, number: int) -> tuple[FloatArray, FloatArray] | None:
        points = np.flatnonzero(self.seen[number] & self.known)
        pose = place(self.scene.points[points], self.xy[number, points], self.scene.focal, agree_px=self.tolerance_px)
        if pose is None:
            return None
        self.seen[number, points[~pose.agree]] = False
        return pose.rotation, pose.translation

    def _set(self, number: int, rotation: FloatArray, translation: FloatArray) -> None:
        rotations, translations = self.scene.rotations.copy(), self.scene.translations.copy()
        rotations[number], translations[number] = rotation, translation
        self.scene = replace(self.scene, rotations=rotations, translations=translations)
        self.placed[number] = True

    def _triangulate(self) -> None:
        """Give a place to points that now have enough parallax."""
        views = self.seen & self.placed[:, None]
        new = np.flatnonzero(~self.known & (views.sum(0) >= min(3, int(self.placed.sum()))))
        if len(new) == 0:
            return
        frames = np.flatnonzero(self.placed)
        places, angle, worst = triangulate(
            self.xy[np.ix_(frames, new)],
            views[np.ix_(frames, new)],
            self.scene.rotations[frames],
            self.scene.translations[frames],
            self.scene.focal,
        )
        good = (angle >= _MIN_ANGLE_DEG) & (worst <= self.tolerance_px)
        self.scene.points[new[good]] = places[good]
        self.known[new[good]] = True

    def _adjust(self, iterations: int) -> None:
        views = self.seen & self.placed[:, None] & self.known
        points = np.flatnonzero(views.sum(0) >= 2)
        frames = np.flatnonzero(self.placed)
        frame, point = np.nonzero(views[np.ix_(frames, points)])
        scene = self.scene
        part = Scene(scene.rotations[frames], scene.translations[frames], scene.points[points], scene.focal)
        # Two frames alone say too little about the focal length.
        prior = self.focal_prior if len(frames) >= 8 else None
        part = adjust(
            part,
            Sightings(frame, point, self.xy[frames[frame], points[point]]),
            iterations=iterations,
            focal_prior=prior,
        )
        rotations, translations, places = scene.rotations.copy(), scene.translations.copy(), scene.points.copy()
        rotations[frames], translations[frames], places[points] = part.rotations, part.translations, part.points
        self.scene = Scene(rotations, translations, places, part.focal)

    def _forget_bad(self) -> None:
        """Take back sightings that do not agree, and points that too few frames agree on."""
        frame, point = np.nonzero(self.seen & self.placed[:, None] & self.known)
        squared, valid = squared_errors(self.scene, Sightings(frame, point, self.xy[frame, point]))
        bad = ~valid | (squared > self.tolerance_px**2)
        self.seen[frame[bad], point[bad]] = False
        self.known &= (self.seen & self.placed[:, None]).sum(0) >= 3


def turning_in_place(xy: FloatArray, focals: Iterable[float]) -> FloatArray | None:
    """Explain the motion by rotations alone.

    Every pair of frames 1, 2, 4, ... apart that shares points must agree to a median of `MAX_TURN_ERROR_PX`.

    Args:
        xy: (K, P, 2) pixels from the image centre, NaN where unseen.
        focals: Focal lengths to try, pixels.

    Returns:
        Rotations (K, 3, 3) from the first camera to each; None where rotations do not suffice.
    """
    return next((turns for focal in focals if (turns := _turns(xy, focal)) is not None), None)


def _turns(xy: FloatArray, focal: float) -> FloatArray | None:
    seen = np.isfinite(xy[..., 0])
    frames = len(xy)
    steps = np.tile(np.eye(3), (frames, 1, 1))
    apart = 1
    while apart < frames:
        pairs = 0
        for first in range(0, frames - apart, max(1, apart // 2)):
            common = seen[first] & seen[first + apart]
            if common.sum() < MIN_COMMON:
                if apart == 1:
                    return None
                continue
            rotation, error = turn_between(xy[first, common], xy[first + apart, common], focal)
            if error > MAX_TURN_ERROR_PX:
                return None
            if apart == 1:
                steps[first + 1] = rotation
            pairs += 1
        if pairs == 0:
            break
        apart *= 2
    for k in range(1, frames):
        steps[k] = steps[k] @ steps[k - 1]
    return steps
