"""Scene Graph Consistency Score: are the objects of the scene still there, and in place? (LoopNav, section 3.3)

The scene graph of a frame holds, for each category, its instances: centroid and area. Two instances of a category can
be matched when their centroids are nearer than tau times the image diagonal. p is the size of a maximum matching.

    S_c = 2 p_c / (m_c + n_c)      w_c = (area in A + area in B) / 2      SGCS = sum(w_c S_c) / sum(w_c)

By convention A is the generated video and B the truth. The score is symmetric. Below it: how accurate a segmenter is,
from its labels of pixels and from SGCS against exact scenes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray
from worldgauge.metrics._registry import metric
from worldgauge.perception.instances import Instances, SceneGraph
from worldgauge.perception.segment import LabelImages

_S = TypeVar("_S", bound=np.generic)


def maximum_matching(valid: ArrayLike) -> int:
    """Size of a maximum bipartite matching of the allowed pairs (m, n) bool, by augmenting paths (Kuhn)."""
    return int(_augment(_matrix(valid, np.bool_)))


def assignment(cost: ArrayLike) -> NDArray[np.int64]:
    """Column of each row in the cheapest assignment of finite costs (m, n), -1 for none (Hungarian method)."""
    matrix = _matrix(cost, np.float64)
    if not np.isfinite(matrix).all():
        raise ShapeError("assignment got costs that are not finite")
    if len(matrix) <= matrix.shape[1]:
        columns: NDArray[np.int64] = _assign(matrix)
        return columns
    rows = _assign(np.ascontiguousarray(matrix.T))
    columns = np.full(len(matrix), -1, np.int64)
    columns[rows] = np.arange(len(rows))
    return columns


def closest_maximum_matching(distance: ArrayLike, limit: float) -> NDArray[np.int64]:
    """Maximum matching of pairs closer than `limit` with least total distance: each row's column, -1 for none."""
    matrix = _matrix(distance, np.float64)
    valid = matrix < limit
    columns = assignment(np.where(valid, matrix, limit * (min(matrix.shape) + 1) + 1.0))
    matched = columns >= 0
    matched[matched] = valid[np.flatnonzero(matched), columns[matched]]
    return np.where(matched, columns, -1)


def padded_cost_matches(distance: ArrayLike, limit: float) -> int:
    """Number of valid pairs in the assignment of the released LoopNav script (parity option, not the maximum).

    Its padding cost does not outweigh two long valid pairs, so a valid pair can be lost.
    """
    matrix = _matrix(distance, np.float64)
    if matrix.size == 0:
        return 0
    columns = assignment(np.where(matrix < limit, matrix, limit + matrix.max() + 1.0))
    rows = np.flatnonzero(columns >= 0)
    return int((matrix[rows, columns[rows]] < limit).sum())


def _matrix(values: ArrayLike, dtype: type[_S]) -> NDArray[_S]:
    matrix: NDArray[_S] = np.ascontiguousarray(values, dtype)
    if matrix.ndim != 2:
        raise ShapeError(f"matching needs an (m, n) array, got shape {matrix.shape}")
    return matrix


@njit(cache=True, nogil=True)
def _augment(valid: NDArray[np.bool_]) -> int:
    """Kuhn's method; the search for an augmenting path keeps its own stack."""
    m, n = valid.shape
    row_of = np.full(n, -1, np.int64)
    stack = np.empty(m, np.int64)
    at = np.empty(m, np.int64)
    matched = 0
    for start in range(m):
        seen = np.zeros(n, np.bool_)
        depth = 0
        stack[0] = start
        at[0] = 0
        while depth >= 0:
            row, column = stack[depth], at[depth]
            if column == n:
                depth -= 1
                continue
            at[depth] = column + 1
            if not valid[row, column] or seen[column]:
                continue
            seen[column] = True
            if row_of[column] < 0:
                for level in range(depth, -1, -1):
                    row_of[at[level] - 1] = stack[level]
                matched += 1
                break
            depth += 1
            stack[depth] = row_of[column]
            at[depth] = 0
    return matched


@njit(cache=True, nogil=True)
def _assign(cost: FloatArray) -> NDArray[np.int64]:
    """Column of every row for m <= n; column n is the root from which a row enters."""
    m, n = cost.shape
    potential_row, potential_column = np.zeros(m), np.zeros(n + 1)
    row_of = np.full(n + 1, -1, np.int64)
    for start in range(m):
        row_of[n] = start
        column = n
        slack = np.full(n, np.inf)
        previous = np.full(n, n, np.int64)
        done = np.zeros(n + 1, np.bool_)
        while row_of[column] >= 0:
            done[column] = True
            row, delta, nearest = row_of[column], np.inf, n
            for j in range(n):
                if done[j]:
                    continue
                reduced = cost[row, j] - potential_row[row] - potential_column[j]
                if reduced < slack[j]:
                    slack[j], previous[j] = reduced, column
                if slack[j] < delta:
                    delta, nearest = slack[j], j
            for j in range(n + 1):
                if done[j]:
                    potential_row[row_of[j]] += delta
                    potential_column[j] -= delta
                elif j < n:
                    slack[j] -= delta
            column = nearest
        while column != n:
            row_of[column] = row_of[previous[column]]
            column = previous[column]
    columns = np.full(m, -1, np.int64)
    for j in range(n):
        if row_of[j] >= 0:
            columns[row_of[j]] = j
    return columns


TAU = 0.1
STRIDE = 5

Empty = Literal["null", "zero"]
Matching = Literal["maximum", "padded_cost"]


class CategoryScore(NamedTuple):
    """Score S_c of one category of one frame pair: m and n instances, p matched pairs, areas in pixels, weight w_c."""

    m: int
    n: int
    p: int
    score: float
    area_a: float
    area_b: float
    weight: float


@dataclass(frozen=True)
class FrameScore:
    """SGCS of one frame pair and of its categories; the value is None when no category is in either frame."""

    value: float | None
    categories: Mapping[str, CategoryScore]


class VideoScore(NamedTuple):
    """SGCS of one video pair: the mean over its n defined frames, None when there are none."""

    value: float | None
    n: int
    undefined: int


class SampledPairs(NamedTuple):
    """Frames to compare, indices_a[i] with indices_b[i]; `n_common` is before the stride, offsets are at the front."""

    n_common: int
    offset_a: int
    offset_b: int
    indices_a: list[int]
    indices_b: list[int]


@metric(
    "sgcs", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source="LoopNav (arXiv 2505.22976), section 4.3"
)
def sgcs(
    a: Sequence[SceneGraph],
    b: Sequence[SceneGraph],
    *,
    height: int,
    width: int,
    tau: float = TAU,
    empty: Empty = "null",
    matching: Matching = "maximum",
) -> tuple[VideoScore, list[FrameScore]]:
    """Scene Graph Consistency Score of two videos, and of every frame pair.

    Args:
        a: Scenes of the sampled frames of one video.
        b: Scenes of the other, frame by frame paired with `a`.
        height: Common height of all frames, pixels.
        width: Common width of all frames, pixels.
        tau: Share of the diagonal that a centroid may move (strictly less).
        empty: How frame pairs without any category count: "null" leaves them out, "zero" counts them as 0, as the
            released script does.
        matching: "maximum", or "padded_cost" for the assignment of the released script.

    Returns:
        Score of the video and scores of the frame pairs.

    Raises:
        ShapeError: The videos are empty or differ in length.

    Examples:
        >>> from worldgauge.perception.instances import Instances
        >>> sky, tree = Instances.of([(40, 10, 90)]), Instances.of([(40, 50, 90)])  # rows of x, y and area
        >>> score, frames = sgcs([{"sky": sky}], [{"sky": sky, "tree": tree}], height=60, width=80)
        >>> round(score.value, 2), frames[0].categories["tree"].score  # the tree, a third of the mean area, is lost
        (0.67, 0.0)
    """
    if len(a) != len(b):
        raise ShapeError(f"sgcs needs as many scenes on both sides, got {len(a)} and {len(b)}; use sample_pairs")
    frames = [
        frame_sgcs(one, other, height=height, width=width, tau=tau, empty=empty, matching=matching)
        for one, other in zip(a, b, strict=True)
    ]
    return video_score([frame.value for frame in frames], empty=empty), frames


def frame_sgcs(
    a: SceneGraph,
    b: SceneGraph,
    *,
    height: int,
    width: int,
    tau: float = TAU,
    empty: Empty = "null",
    matching: Matching = "maximum",
) -> FrameScore:
    """Scene Graph Consistency Score of one frame pair; "zero" and "padded_cost" reproduce the released script."""
    limit = tau * math.hypot(height, width)
    nothing = Instances(*np.zeros((3, 0)))
    categories = {
        name: _category_score(a.get(name, nothing), b.get(name, nothing), limit, matching)
        for name in dict.fromkeys((*a, *b))
    }
    weight = math.fsum(c.weight for c in categories.values())
    if weight == 0:
        return FrameScore(0.0 if empty == "zero" else None, categories)
    # The quotient of rounded sums may pass 1 by one ulp.
    value = min(1.0, math.fsum(c.weight * c.score for c in categories.values()) / weight)
    return FrameScore(value, categories)


def video_score(frames: Sequence[float | None], *, empty: Empty = "null") -> VideoScore:
    """Score of a trajectory: the mean over its defined frames."""
    if not frames:
        raise ShapeError("a video without sampled frames has no score")
    defined = [value for value in frames if value is not None]
    undefined = len(frames) - len(defined)
    if empty == "zero":
        return VideoScore(math.fsum(defined) / len(frames), len(frames), undefined)
    return VideoScore(math.fsum(defined) / len(defined) if defined else None, len(defined), undefined)


def sample_pairs(
    count_a: int,
    count_b: int,
    stride: int = STRIDE,
    *,
    alignment: Literal["end", "start"] = "end",
    strict: bool = False,
) -> SampledPairs:
    """Every `stride`-th frame of the common length; the longer video loses frames at the end not aligned."""
    if count_a < 1 or count_b < 1 or stride < 1:
        raise ShapeError(f"cannot sample pairs of {count_a} and {count_b} frames with stride {stride}")
    if strict and count_a != count_b:
        raise ShapeError(f"videos differ in length: {count_a} and {count_b} frames; cut them or pass strict=False")
    common = min(count_a, count_b)
    offset_a, offset_b = (count_a - common, count_b - common) if alignment == "end" else (0, 0)
    at = range(0, common, stride)
    return SampledPairs(common, offset_a, offset_b, [offset_a + i for i in at], [offset_b + i for i in at])


def _category_score(a: Instances, b: Instances, limit: float, matching: Matching) -> CategoryScore:
    m, n = len(a), len(b)
    area_a, area_b = float(a.area.sum()), float(b.area.sum())
    p = 0
    if m and n:
        distance = np.hypot(a.cx[:, None] - b.cx, a.cy[:, None] - b.cy)
        p = padded_cost_matches(distance, limit) if matching == "padded_cost" else maximum_matching(distance < limit)
    score = 2 * p / (m + n) if m + n else 1.0
    return CategoryScore(m, n, p, score, area_a, area_b, (area_a + area_b) / 2)


Counts = NDArray[np.int64]


def confusion(got: NDArray[np.uint16], exact: NDArray[np.uint16], n_categories: int) -> Counts:
    """Counts (n + 1, n + 1) of pixels by exact label (row) and predicted label (column), 0 for none."""
    if got.shape != exact.shape or got.ndim != 2:
        raise ShapeError(f"label images need equal (H, W) shapes, got {got.shape} and {exact.shape}")
    size = n_categories + 1
    if got.size and max(int(got.max()), int(exact.max())) >= size:
        raise ShapeError(f"a label is above {n_categories}")
    codes = exact.astype(np.int64) * size + got
    return np.bincount(codes.ravel(), minlength=size * size).reshape(size, size)


@metric(
    "segmenter_accuracy", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source="pixel accuracy, definition"
)
def pixel_accuracy(counts: Counts) -> float | None:
    """Share of the pixels with an exact category that were given this category.

    Args:
        counts: Counts of `confusion`. Pixels whose exact label is none are left out.

    Returns:
        The share, 0 to 1; None when no pixel has an exact category.

    Examples:
        >>> segmenter_accuracy(np.array([[5, 0, 0], [0, 6, 2], [1, 0, 1]]))  # 7 of the 10 pixels in rows 1 and 2
        0.7
    """
    labelled = int(counts[1:].sum())
    return float(np.trace(counts[1:, 1:]) / labelled) if labelled else None


def category_iou(counts: Counts) -> list[float | None]:
    """Intersection over union of categories 1..n; None for those that occur in neither labelling."""
    hits = np.diag(counts)
    unions = counts.sum(0) + counts.sum(1) - hits
    return [float(hits[i] / unions[i]) if unions[i] else None for i in range(1, len(counts))]


class Accuracy(NamedTuple):
    """Agreement of a segmenter with exact labels: share of pixels, IoU by category, mean SGCS of its masks."""

    pixel_accuracy: float | None
    iou: dict[str, float | None]
    sgcs: float | None
    frames: int


def accuracy_against_exact(pairs: Iterable[tuple[LabelImages, LabelImages]]) -> Accuracy:
    """Accuracy of a segmenter over frames, from pairs of its labels and the exact ones."""
    counts: Counts | None = None
    names: tuple[str, ...] = ()
    scores: list[float | None] = []
    for got, exact in pairs:
        names = exact.names
        found = confusion(got.category, exact.category, len(names))
        counts = found if counts is None else counts + found
        height, width = exact.category.shape
        scores.append(frame_sgcs(got.scene(), exact.scene(), height=height, width=width).value)
    if counts is None:
        raise ShapeError("no frames to measure a segmenter on")
    iou = dict(zip(names, category_iou(counts), strict=True))
    return Accuracy(pixel_accuracy(counts), iou, video_score(scores).value, len(scores))
