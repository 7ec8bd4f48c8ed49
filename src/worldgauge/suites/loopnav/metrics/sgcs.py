"""Scene Graph Consistency Score: are the objects of the scene still there, and in place? (LoopNav, section 3.3)

The scene graph of a frame holds, for each category, its instances: centroid and area. Two instances of a category can
be matched when their centroids are nearer than tau times the image diagonal. p is the size of a maximum matching.

    S_c = 2 p_c / (m_c + n_c)      w_c = (area in A + area in B) / 2      SGCS = sum(w_c S_c) / sum(w_c)

By convention A is the generated video and B the truth. The score is symmetric.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from worldgauge.core.errors import ShapeError
from worldgauge.metrics._registry import metric
from worldgauge.perception.instances import Instances, SceneGraph
from worldgauge.suites.loopnav.metrics.matching import maximum_matching, padded_cost_matches

TAU = 0.1
STRIDE = 5

Empty = Literal["null", "zero"]
Matching = Literal["maximum", "padded_cost"]


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


@metric(
    "sgcs", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source="LoopNav (arXiv 2505.22976), section 3.3"
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
    """Scene Graph Consistency Score of one frame pair.

    The values "zero" and "padded_cost" reproduce the released script where it differs from the paper.

    Args:
        a: SceneGraph of one frame.
        b: SceneGraph of the other.
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


def _category_score(a: Instances, b: Instances, limit: float, matching: Matching) -> CategoryScore:
    m, n = len(a), len(b)
    area_a, area_b = float(a.area.sum()), float(b.area.sum())
    p = 0
    if m and n:
        distance = np.hypot(a.cx[:, None] - b.cx, a.cy[:, None] - b.cy)
        p = padded_cost_matches(distance, limit) if matching == "padded_cost" else maximum_matching(distance < limit)
    score = 2 * p / (m + n) if m + n else 1.0
    return CategoryScore(m, n, p, score, area_a, area_b, (area_a + area_b) / 2)
