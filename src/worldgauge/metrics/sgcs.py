"""Scene Graph Consistency Score: are the objects of the scene still there, and in place? (LoopNav, section 3.3)

The scene of a frame holds, for each category, its instances: centroid and area. Two instances of a category can be
matched when their centroids are nearer than tau times the image diagonal. p is the size of a maximum matching.

    S_c = 2 p_c / (m_c + n_c)      w_c = (area in A + area in B) / 2      SGCS = sum(w_c S_c) / sum(w_c)

By convention A is the generated video and B the truth. The score is symmetric.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray
from worldgauge.metrics import metrics
from worldgauge.metrics.matching import maximum_matching, padded_cost_matches

CATEGORIES = ("building", "tree", "flower", "grass", "path", "water", "sky", "sand", "dirt", "snow")
"""The ten prompts of the paper, in its order. Label images use index i + 1 for CATEGORIES[i], 0 for none."""

TAU = 0.1
STRIDE = 5

Empty = Literal["null", "zero"]
Matching = Literal["maximum", "padded_cost"]


class Instances(NamedTuple):
    """Instances of one category in one frame.

    Attributes:
        cx: (k,) float64 mean column index, pixels.
        cy: (k,) float64 mean row index, pixels.
        area: (k,) float64 pixels.
    """

    cx: FloatArray
    cy: FloatArray
    area: FloatArray

    @classmethod
    def of(cls, rows: Iterable[Sequence[float]]) -> Instances:
        """Instances from rows of (cx, cy, area); rows of area 0 are dropped.

        Args:
            rows: Centroid and area of each instance, in pixels.

        Returns:
            The instances.

        Raises:
            ShapeError: A centroid is not finite, or an area is negative or not finite.
        """
        table = np.array([tuple(row) for row in rows], np.float64).reshape(-1, 3)
        if not np.isfinite(table).all() or (table[:, 2] < 0).any():
            raise ShapeError("instances need finite centroids and areas that are not negative")
        return cls(*np.ascontiguousarray(table[table[:, 2] > 0].T))

    def rows(self) -> list[list[float]]:
        """As plain lists [cx, cy, area], for JSON; `of` reads them back."""
        rows: list[list[float]] = np.stack(self, -1).tolist()
        return rows

    def __len__(self) -> int:
        return len(self.area)


Scene = Mapping[str, Instances]
"""The instances of one frame by category; a category without instances may be left out."""


class CategoryScore(NamedTuple):
    """Score of one category of one frame pair.

    Attributes:
        m: Instances in A.
        n: Instances in B.
        p: Matched pairs.
        score: S_c, 0 to 1.
        area_a: Area of the category in A, pixels.
        area_b: Area of the category in B, pixels.
        weight: w_c, the mean of the two areas.
    """

    m: int
    n: int
    p: int
    score: float
    area_a: float
    area_b: float
    weight: float


@dataclass(frozen=True)
class FrameScore:
    """SGCS of one frame pair, with all that is needed to recompute its variants.

    Attributes:
        value: The score, 0 to 1; None when no category is in either frame.
        categories: Score of each category by name.
    """

    value: float | None
    categories: Mapping[str, CategoryScore]


class VideoScore(NamedTuple):
    """SGCS of one video pair.

    Attributes:
        value: Mean over the defined frames; None when there are none.
        n: Frames that the mean is taken over.
        undefined: Frames without a score.
    """

    value: float | None
    n: int
    undefined: int


class Sampling(NamedTuple):
    """Frames to compare: pair i is frame indices_a[i] of A and indices_b[i] of B.

    Attributes:
        n_common: Frames that both videos have, before the stride.
        offset_a: Frames of A left out at the front.
        offset_b: Frames of B left out at the front.
        indices_a: Frame indices in A.
        indices_b: Frame indices in B.
    """

    n_common: int
    offset_a: int
    offset_b: int
    indices_a: list[int]
    indices_b: list[int]


@metrics.register(
    "sgcs", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source="LoopNav (arXiv 2505.22976), section 3.3"
)
def sgcs(
    a: Sequence[Scene],
    b: Sequence[Scene],
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
    """
    if len(a) != len(b):
        raise ShapeError(f"sgcs needs as many scenes on both sides, got {len(a)} and {len(b)}; use sample_pairs")
    frames = [
        frame_sgcs(one, other, height=height, width=width, tau=tau, empty=empty, matching=matching)
        for one, other in zip(a, b, strict=True)
    ]
    return video_score([frame.value for frame in frames], empty=empty), frames


def frame_sgcs(
    a: Scene,
    b: Scene,
    *,
    height: int,
    width: int,
    tau: float = TAU,
    empty: Empty = "null",
    matching: Matching = "maximum",
) -> FrameScore:
    """Scene Graph Consistency Score of one frame pair.

    The values "zero" and "padded_cost" reproduce the released script where it differs from the paper.

    Args:
        a: Scene of one frame.
        b: Scene of the other.
        height: Common height of both frames, pixels.
        width: Common width of both frames, pixels.
        tau: Share of the diagonal that a centroid may move (strictly less).
        empty: Score of a pair without any category: "null" for None, "zero" for 0.
        matching: "maximum", or "padded_cost" for the assignment of the released script.

    Returns:
        The score and its parts.
    """
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
    """Score of a trajectory: the mean over its defined frames.

    Args:
        frames: Score of each sampled frame pair; None where undefined.
        empty: "null" leaves undefined frames out, "zero" counts them as 0, as the release does.

    Returns:
        The mean and the numbers of frames.

    Raises:
        ShapeError: There are no frames.
    """
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
) -> Sampling:
    """Every `stride`-th frame of the common length of two videos, starting with its first frame.

    The longer video loses frames at the end that is not aligned.

    Args:
        count_a: Frames of A.
        count_b: Frames of B.
        stride: Frames from one sample to the next.
        alignment: "end" makes the last frames coincide, so the longer video loses its first frames (release); "start"
            makes the first frames coincide.
        strict: Refuse videos of unequal length (paper).

    Returns:
        The frames to compare.

    Raises:
        ShapeError: A video is empty, the stride is below 1, or the lengths differ when `strict`.
    """
    if count_a < 1 or count_b < 1 or stride < 1:
        raise ShapeError(f"cannot sample pairs of {count_a} and {count_b} frames with stride {stride}")
    if strict and count_a != count_b:
        raise ShapeError(f"videos differ in length: {count_a} and {count_b} frames; cut them or pass strict=False")
    common = min(count_a, count_b)
    offset_a, offset_b = (count_a - common, count_b - common) if alignment == "end" else (0, 0)
    at = range(0, common, stride)
    return Sampling(common, offset_a, offset_b, [offset_a + i for i in at], [offset_b + i for i in at])


def instances_from_labels(
    category: NDArray[np.uint16],
    instance: NDArray[np.uint16],
    names: Sequence[str] = CATEGORIES,
    *,
    min_area: int = 1,
) -> dict[str, Instances]:
    """Instances of two label images; every pair of category and instance number that occurs is one mask.

    Args:
        category: (H, W) uint16, 0 for none, i + 1 for names[i].
        instance: (H, W) uint16, any number. An image of zeros makes one mask for each category.
        names: Names of the categories.
        min_area: Masks with fewer pixels are dropped.

    Returns:
        Instances by category, ordered by instance number.

    Raises:
        ShapeError: The shapes differ, or a category has no name.
    """
    keys, sums = instance_table(category, instance, len(names))
    scene = {}
    for index, name in enumerate(names, start=1):
        mine = (keys[:, 0] == index) & (sums[:, 0] >= min_area)
        if mine.any():
            area = sums[mine, 0].astype(np.float64)
            scene[name] = Instances(sums[mine, 1] / area, sums[mine, 2] / area, area)
    return scene


def instances_from_masks(
    masks: Mapping[str, Sequence[NDArray[np.bool_]]], *, min_area: int = 1
) -> dict[str, Instances]:
    """Instances of boolean masks by category; masks may overlap.

    Args:
        masks: (H, W) bool masks of each category.
        min_area: Masks with fewer pixels are dropped.

    Returns:
        Instances by category; categories without a mask are left out.
    """
    scene = {}
    for name, group in masks.items():
        moments = [_mask_moments(np.ascontiguousarray(mask, np.bool_).view(np.uint8)) for mask in group]
        rows = [(x / area, y / area, area) for area, x, y in moments if area >= max(min_area, 1)]
        if rows:
            scene[name] = Instances.of(rows)
    return scene


def instance_table(
    category: NDArray[np.uint16], instance: NDArray[np.uint16], n_categories: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Area and coordinate sums of every pair of category and instance number in two label images.

    Args:
        category: (H, W) uint16, 0 for none.
        instance: (H, W) uint16.
        n_categories: Highest category number that is allowed.

    Returns:
        Keys (k, 2) int64, category and instance, sorted by both without category 0; and (k, 3) int64: area, sum of
        columns and sum of rows.

    Raises:
        ShapeError: The shapes differ, or a category is above `n_categories`.
    """
    if category.shape != instance.shape or category.ndim != 2:
        raise ShapeError(f"label images need equal (H, W) shapes, got {category.shape} and {instance.shape}")
    if category.size == 0:
        return np.zeros((0, 2), np.int64), np.zeros((0, 3), np.int64)
    highest = int(category.max())
    if highest > n_categories:
        raise ShapeError(f"category image holds index {highest}, but there are only {n_categories} categories")
    codes, sums = _label_moments(category, instance, highest + 1, int(instance.max()) + 1)
    order = np.argsort(codes)
    keys = np.stack(np.divmod(codes[order], int(instance.max()) + 1), -1)
    return keys, sums[order]


def _category_score(a: Instances, b: Instances, limit: float, matching: Matching) -> CategoryScore:
    m, n = len(a), len(b)
    area_a, area_b = float(a.area.sum()), float(b.area.sum())
    p = 0
    if m and n:
        distance = np.hypot(a.cx[:, None] - b.cx, a.cy[:, None] - b.cy)
        p = padded_cost_matches(distance, limit) if matching == "padded_cost" else maximum_matching(distance < limit)
    score = 2 * p / (m + n) if m + n else 1.0
    return CategoryScore(m, n, p, score, area_a, area_b, (area_a + area_b) / 2)


@njit(cache=True, nogil=True)
def _mask_moments(mask: NDArray[np.uint8]) -> tuple[int, int, int]:
    """Area, sum of column indices and sum of row indices of a 0/1 image."""
    height, width = mask.shape
    area, sum_x, sum_y = 0, 0, 0
    for y in range(height):
        count, columns = np.int32(0), np.int32(0)
        for x in range(width):
            count += np.int32(mask[y, x])
            columns += np.int32(mask[y, x]) * np.int32(x)
        area += int(count)
        sum_x += int(columns)
        sum_y += int(count) * y
    return area, sum_x, sum_y


@njit(cache=True, nogil=True)
def _label_moments(
    category: NDArray[np.uint16], instance: NDArray[np.uint16], n_categories: int, n_instances: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One pass; a run of equal labels in a row is added as a whole."""
    height, width = category.shape
    slot_of = np.full(n_categories * n_instances, -1, np.int32)
    codes = np.empty(64, np.int64)
    sums = np.zeros((64, 3), np.int64)
    used = 0
    for y in range(height):
        start = 0
        for x in range(1, width + 1):
            if x < width and category[y, x] == category[y, start] and instance[y, x] == instance[y, start]:
                continue
            if category[y, start] > 0:
                code = np.int64(category[y, start]) * n_instances + instance[y, start]
                slot = slot_of[code]
                if slot < 0:
                    if used == len(codes):
                        codes = np.concatenate((codes, np.empty(used, np.int64)))
                        sums = np.concatenate((sums, np.zeros((used, 3), np.int64)))
                    slot_of[code] = slot = used
                    codes[used] = code
                    used += 1
                length = x - start
                sums[slot, 0] += length
                sums[slot, 1] += length * (start + x - 1) // 2
                sums[slot, 2] += length * y
            start = x
    return codes[:used], sums[:used]
