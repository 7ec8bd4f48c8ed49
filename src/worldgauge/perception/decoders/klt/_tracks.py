"""Points followed through a video: pyramidal Lucas-Kanade, checked by following each point back."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worldgauge.perception.decoders.frames import Gray

Float32 = NDArray[np.float32]

SIFT_SEEDS = 1200
"""Of the first frame: what the anchor, which is far away, can be matched with."""
MAX_POINTS = 900
"""Followed at once, after the first frame."""
MIN_DISTANCE_PX = 7
_WINDOW, _LEVELS = 21, 4
_BACK_PX = 0.7
_BORDER_PX = 4
_CORNER_QUALITY = 0.003
_PALE = 100


@dataclass(frozen=True)
class Tracks:
    """Where points were seen.

    Attributes:
        xy: (K, P, 2) float32 pixels in the recorded frames, pixel centres at whole numbers, NaN where unseen.
        descriptors: (S, 128) float32 SIFT of the first S points, as they look in the first frame.
    """

    xy: Float32
    descriptors: Float32

    def part(self, points: slice) -> Tracks:
        """Some of the points."""
        described = np.arange(len(self.descriptors))
        chosen = np.arange(self.xy.shape[1])[points]
        return Tracks(self.xy[:, chosen], self.descriptors[np.isin(described, chosen)])


def follow(
    frames: Iterable[Gray],
    keyed: Container[int],
    recorded: Container[int] | None = None,
    *,
    seeds: int = SIFT_SEEDS,
    most: int = MAX_POINTS,
) -> Tracks:
    """Track points through a video.

    Args:
        frames: (H, W) uint8 each.
        keyed: Frames where new points join.
        recorded: Frames where places are kept; those of `keyed` by default.
        seeds: Most key points of the first frame.
        most: Points up to which new ones join.
    """
    descriptors = np.zeros((0, 128), np.float32)
    rows: list[tuple[NDArray[np.int64], Float32]] = []
    before: Gray | None = None
    ids, xy, count = np.zeros(0, np.int64), np.zeros((0, 2), np.float32), 0
    for number, frame in enumerate(frames):
        if before is None:
            xy, descriptors = sift(frame, seeds)
            ids, count = np.arange(len(xy)), len(xy)
        elif len(xy):
            after, found = _moved(before, frame, xy)
            again, found_back = _moved(frame, before, after)
            kept = found & found_back & (np.abs(again - xy).max(1) < _BACK_PX) & _inside(after, frame.shape)
            ids, xy = ids[kept], after[kept]
        if number in keyed:
            new = _corners(frame, xy, most - len(xy)) if len(xy) < most else xy[:0]
            ids = np.concatenate([ids, np.arange(count, count + len(new))])
            xy = np.concatenate([xy, new])
            count += len(new)
        if number in (keyed if recorded is None else recorded):
            rows.append((ids, xy))
        before = frame
    table = np.full((len(rows), count, 2), np.nan, np.float32)
    for row, (known, places) in enumerate(rows):
        table[row, known] = places
    return Tracks(table, descriptors)


def sift(frame: Gray, most: int) -> tuple[Float32, Float32]:
    """Detect key points and their root-SIFT descriptors.

    Args:
        frame: (H, W) uint8.
        most: Largest number of points; the strongest ones are kept.

    Returns:
        Places (n, 2) in pixels and descriptors (n, 128).
    """
    import cv2

    finder = cv2.SIFT.create(nfeatures=most, contrastThreshold=0.01)
    points, descriptors = finder.detectAndCompute(stretched(frame), None)
    if descriptors is None or len(points) == 0:
        return np.zeros((0, 2), np.float32), np.zeros((0, 128), np.float32)
    places = np.array([point.pt for point in points], np.float32)
    # Square roots of normalised histograms: their distance is Hellinger's, which matches better (Arandjelovic 2012).
    rooted = np.sqrt(descriptors / np.maximum(descriptors.sum(1, keepdims=True), 1e-6))
    # A point with two directions comes twice.
    _, first = np.unique(places, axis=0, return_index=True)
    first.sort()
    return places[first], rooted[first].astype(np.float32)


def stretched(frame: Gray) -> Gray:
    """A pale frame with its grey levels spread out, at most eight times, and its grain smoothed before."""
    import cv2

    low, high = np.percentile(frame, (1, 99))
    if high - low >= _PALE:
        return frame
    smooth = cv2.GaussianBlur(frame.astype(np.float32), (0, 0), 1.0)
    gain = min(200 / max(high - low, 1.0), 8.0)
    return np.asarray(np.clip(128 + gain * (smooth - (low + high) / 2), 0, 255), np.uint8)


def _moved(a: Gray, b: Gray, xy: Float32) -> tuple[Float32, NDArray[np.bool_]]:
    """Where points (n, 2) of `a` are in `b`, and which of them were found."""
    import cv2

    criteria = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 30, 0.01)
    guess = xy.copy()
    places, found, _ = cv2.calcOpticalFlowPyrLK(
        a, b, xy, guess, winSize=(_WINDOW, _WINDOW), maxLevel=_LEVELS, criteria=criteria
    )
    return np.asarray(places, np.float32), np.asarray(found)[:, 0] > 0


def _corners(frame: Gray, taken: Float32, most: int) -> Float32:
    """At most `most` corners (n, 2) that keep their distance from places taken."""
    import cv2

    free = np.full(frame.shape, 255, np.uint8)
    for x, y in np.rint(taken).astype(int).tolist():
        cv2.circle(free, (x, y), MIN_DISTANCE_PX, 0, -1)
    found = cv2.goodFeaturesToTrack(frame, most, _CORNER_QUALITY, MIN_DISTANCE_PX, mask=free, blockSize=5)
    if found is None:
        return np.zeros((0, 2), np.float32)
    return np.asarray(found, np.float32).reshape(-1, 2)


def _inside(xy: Float32, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    height, width = shape[:2]
    inside = (xy >= _BORDER_PX) & (xy <= np.array([width - 1 - _BORDER_PX, height - 1 - _BORDER_PX]))
    return np.asarray(inside.all(1))
