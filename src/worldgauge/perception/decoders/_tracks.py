"""Points followed through a video: pyramidal Lucas-Kanade, checked by following each point back."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import FloatArray
from worldgauge.perception.decoders._views import PlacedView, place
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
    """Where points were seen, in pixels of the recorded frames; pixel centres are whole numbers."""

    xy: Float32  # (K, P, 2), NaN for unseen
    descriptors: Float32  # (S, 128) SIFT of the first S points in the first frame

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
    """Track points through a video. frames: (H, W) uint8 each."""
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
            height, width = frame.shape[:2]
            inside = (after >= _BORDER_PX) & (after <= np.array([width - 1 - _BORDER_PX, height - 1 - _BORDER_PX]))
            kept = found & found_back & (np.abs(again - xy).max(1) < _BACK_PX) & np.asarray(inside.all(1))
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
    """Detect key points, places (n, 2) in pixels, and their root-SIFT descriptors (n, 128)."""
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


ANCHOR_POINTS = 2500
_RATIO = 0.85
_LEAST, _LEAST_SHARE = 8, 0.03
_SEARCH_PX, _SEARCH_DISTANCE = 6.0, 0.7
_LEAST_AGREEING, _LEAST_LIKENESS = 12, 0.12
LEAST_LEAD = 0.01
"""By how much the place of the anchor must be more like it than any other that was tried: right ones led by 0.029 and
more, the one seen wrong by 0.0001 (nine walks in voxel worlds)."""
_LARGEST_ANGLE_DEG = 45.0
"""Between where the anchor is and where the data say it is, seen from the first frame. Data may measure the heading
by the path instead of the camera, so the angle is wide."""
_SAME_PLACE = 0.1
"""Of the distance of the anchor: places nearer than this to one another are one."""
_ATTEMPTS = 4
_CANDIDATES = 3
_PATCH = 4
_NEIGHBOURS = 8


@dataclass(frozen=True)
class FirstFrame:
    """What is known of the first frame. Its pose is world to camera."""

    image: Gray
    rotation: FloatArray
    translation: FloatArray
    points: FloatArray  # (n, 3)
    xy: FloatArray  # (n, 2), where they are seen, pixels from the image centre
    descriptors: Float32  # of the first rows, SIFT
    focal: float
    anchor_xy: FloatArray | None = None  # as in `DecodeRequest`


@dataclass(frozen=True)
class AnchorPlace:
    """Pose (world to camera) of the anchor, and how certain it is."""

    rotation: FloatArray
    translation: FloatArray
    agree: int  # number of key points
    likeness: float  # of the views, -1 to 1
    lead: float  # of the likeness over any other place that was tried


def place_anchor(
    first: FirstFrame, anchor: Gray, guesses: Sequence[PlacedView] = (), *, most: int = ANCHOR_POINTS
) -> AnchorPlace | None:
    """Find from where the anchor frame was seen. anchor: (H, W) uint8."""
    places, theirs = sift(anchor, most)
    xy = places.astype(np.float64) - _middle(anchor)
    ours = first.descriptors
    if len(ours) < _LEAST or len(xy) < _LEAST:
        return None
    distances = np.sqrt(np.maximum(2 - 2 * ours @ theirs.T, 0))
    attempts = (*guesses, *_attempts(first.points[: len(ours)], xy, distances, first.focal))
    tried = [(_likeness(first, anchor, placed), placed) for placed in attempts if _in_direction(first, placed)]
    if not tried:
        return None
    likeness, best = max(tried, key=lambda one: one[0])
    if best.agree.sum() < _LEAST_AGREEING or likeness < _LEAST_LIKENESS:
        return None
    own = _centre(best)
    apart = _SAME_PLACE * float(np.linalg.norm(own + first.rotation.T @ first.translation))
    others = [value for value, placed in tried if np.linalg.norm(_centre(placed) - own) > apart]
    lead = likeness - max(others, default=0.0)
    return AnchorPlace(best.rotation, best.translation, int(best.agree.sum()), likeness, lead)


def _in_direction(first: FirstFrame, placed: PlacedView) -> bool:
    """Whether a place lies in the direction that is known; true if none is known."""
    if first.anchor_xy is None:
        return True
    x, _, z = first.rotation @ _centre(placed) + first.translation
    known = first.anchor_xy / np.linalg.norm(first.anchor_xy)
    return bool(np.array([x, z]) @ known >= np.cos(np.radians(_LARGEST_ANGLE_DEG)) * np.hypot(x, z))


def _attempts(points: FloatArray, xy: FloatArray, distances: Float32, focal: float) -> Iterator[PlacedView]:
    """Poses that explain some of the matches, each other ones; first of matches that stand out, then of all."""
    for rows, columns in (_standing_out(distances), _nearest(distances)):
        left = np.ones(len(rows), np.bool_)
        for _ in range(_ATTEMPTS):
            placed = place(points[rows[left]], xy[columns[left]], focal, least=_LEAST, share=_LEAST_SHARE)
            if placed is None:
                break
            left[np.flatnonzero(left)[placed.agree]] = False
            more = _where_expected(placed, points, xy, distances, focal)
            again = place(points[more[0]], xy[more[1]], focal, least=_LEAST, share=0.3)
            yield again or placed


def _standing_out(distances: Float32) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs (row, column) nearest to each other, clearly nearer than the second nearest."""
    order = np.argpartition(distances, 1, axis=1)[:, :2]
    two = np.take_along_axis(distances, order, axis=1)
    nearest = order[np.arange(len(order)), two.argmin(1)]
    mutual = distances.argmin(0)[nearest] == np.arange(len(distances))
    rows = np.flatnonzero(mutual & (two.min(1) < _RATIO * two.max(1)))
    return rows, nearest[rows]


def _nearest(distances: Float32) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of every row with the columns most like it."""
    order = np.argpartition(distances, _CANDIDATES, axis=1)[:, :_CANDIDATES]
    rows = np.repeat(np.arange(len(distances)), order.shape[1])
    return rows, order.ravel()


def _where_expected(
    placed: PlacedView, points: FloatArray, xy: FloatArray, distances: Float32, focal: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of a point and the key point most like it near where it should be seen."""
    local = points @ placed.rotation.T + placed.translation
    expected = focal * local[:, :2] / np.maximum(local[:, 2:], 1e-6)
    near = (np.abs(expected[:, None] - xy[None]).max(-1) < _SEARCH_PX) & (local[:, 2:] > 0)
    allowed = np.where(near & (distances < _SEARCH_DISTANCE), distances, np.inf)
    nearest = allowed.argmin(1)
    rows = np.flatnonzero(np.isfinite(allowed[np.arange(len(allowed)), nearest]))
    mutual = allowed.argmin(0)[nearest[rows]] == rows
    return rows[mutual], nearest[rows[mutual]]


def _likeness(first: FirstFrame, anchor: Gray, placed: PlacedView) -> float:
    """Mean correlation of patches round points of the first frame with where, and how distorted, the pose has them.
    Negative correlations count as 0; -1 if fewer than a quarter of the points are in view."""
    import cv2

    local = first.points @ placed.rotation.T + placed.translation
    expected = first.focal * local[:, :2] / np.maximum(local[:, 2:], 1e-6)
    shape = np.array([anchor.shape[1], anchor.shape[0]])
    shown = (local[:, 2] > 1e-6) & (np.abs(expected) < shape / 2 - 2 * _PATCH).all(1)
    if shown.sum() < max(len(shown) / 4, _NEIGHBOURS + 1):
        return -1.0
    here, there = first.xy[shown], expected[shown]
    grid = np.mgrid[-_PATCH : _PATCH + 1, -_PATCH : _PATCH + 1][::-1].reshape(2, -1).T.astype(float)
    bent = np.einsum("nij,gj->ngi", _affinities(here, there), grid)
    patches = []
    for image, middle, offset in ((first.image, here, grid[None]), (anchor, there, bent)):
        at = (middle[:, None] + offset + _middle(image)).astype(np.float32)
        smooth = cv2.GaussianBlur(stretched(image), (0, 0), 1.0).astype(np.float32)
        patch = cv2.remap(smooth, at[..., 0], at[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        patch = patch - patch.mean(1, keepdims=True)
        # Grain of some grey levels is no texture.
        patches.append(patch / (np.linalg.norm(patch, axis=1, keepdims=True) + 2 * len(grid) ** 0.5))
    return float(np.maximum((patches[0] * patches[1]).sum(1), 0).mean())


def _affinities(here: FloatArray, there: FloatArray) -> FloatArray:
    """(n, 2, 2): how the neighbourhood of each place `here` (n, 2) is distorted `there`."""
    distance = np.linalg.norm(here[:, None] - here[None], axis=-1)
    near = np.argpartition(distance, _NEIGHBOURS, axis=1)[:, : _NEIGHBOURS + 1]
    a, b = here[near] - here[:, None], there[near] - there[:, None]
    spread = np.einsum("nki,nkj->nij", a, a) + 1e-3 * np.eye(2)
    bent: FloatArray = np.einsum("nki,nkj->nij", b, a) @ np.linalg.inv(spread)
    # Neighbours at other depths would tear the patch apart.
    return np.clip(bent, -2.0, 2.0)


def _centre(placed: PlacedView) -> FloatArray:
    centre: FloatArray = -placed.rotation.T @ placed.translation
    return centre


def _middle(image: Gray) -> FloatArray:
    return (np.array([image.shape[1], image.shape[0]]) - 1) / 2
