"""Variants of SGCS that need no new segmentation: each is computed from stored frame scores or stored scenes.

They show what the plain score hides: small things lost (macro, objects), frames that hold nothing to remember
(informative), agreement by chance, timing drift, and things never seen before (coverage bins).
Relations: SGCS matches by place, so it cannot see that two things of one category changed places. Things matched by
look instead (nearest mean colour, say) show it: where do they stand relative to each other?
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray, wrap_angle
from worldgauge.metrics._registry import metric
from worldgauge.perception.instances import Instances, SceneGraph, instance_table
from worldgauge.suites.loopnav.metrics.sgcs import (
    TAU,
    Empty,
    FrameScore,
    Matching,
    VideoScore,
    assignment,
    closest_maximum_matching,
    frame_sgcs,
    video_score,
)

STUFF = ("sky", "grass", "path", "dirt", "sand", "snow", "water", "ceiling", "floor", "wall")
"""What has no countable objects: ground, water, sky, and the shell of a room."""

BACKDROP = ("sky", "grass")
"""What a frame that has left the settlement, or a collapsed model, still shows."""


@metric("sgcs_macro", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source="SGCS without area weights")
def macro_sgcs(frame: FrameScore) -> float | None:
    """Unweighted mean of S_c over the categories present in either frame; None when there is none.

    A lost flower counts as much as a lost sky.

    Examples:
        >>> from worldgauge.perception.instances import Instances
        >>> sky, flower = Instances.of([(40, 10, 90)]), Instances.of([(40, 50, 20)])  # rows of x, y and area
        >>> _, (frame,) = sgcs([{"sky": sky}], [{"sky": sky, "flower": flower}], height=60, width=80)
        >>> round(frame.value, 2), sgcs_macro(frame)  # the flower is lost
        (0.9, 0.5)
    """
    present = [c.score for c in frame.categories.values() if c.m + c.n]
    return math.fsum(present) / len(present) if present else None


@metric("sgcs_objects", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source="SGCS of objects only")
def object_sgcs(frame: FrameScore) -> float | None:
    """SGCS over object categories only: sum(w_c S_c) / sum(w_c).

    Args:
        frame: Scores of one frame; all categories but STUFF count.

    Returns:
        Score in [0, 1]; None without objects.

    Examples:
        >>> from worldgauge.perception.instances import Instances
        >>> sky, tree = Instances.of([(40, 10, 90)]), Instances.of([(40, 50, 20)])  # rows of x, y and area
        >>> _, (frame,) = sgcs([{"sky": sky}], [{"sky": sky, "tree": tree}], height=60, width=80)
        >>> round(frame.value, 2), sgcs_objects(frame)  # the tree is lost
        (0.9, 0.0)
    """
    kept = [c for name, c in frame.categories.items() if name not in STUFF]
    weight = math.fsum(c.weight for c in kept)
    return min(1.0, math.fsum(c.weight * c.score for c in kept) / weight) if weight else None


def information(frame: FrameScore) -> float:
    """1 - BACKDROP's share of all areas in B, the ground truth alone, so that a model cannot change its own weights."""
    total = math.fsum(c.area_b for c in frame.categories.values())
    backdrop = math.fsum(c.area_b for name, c in frame.categories.items() if name in BACKDROP)
    return 1 - backdrop / total if total else 0.0


@metric(
    "sgcs_informative",
    unit="1",
    better="higher",
    bounds=(0.0, 1.0),
    version=1,
    source="LoopNav, outlook: segment weights",
)
def informative_sgcs(frames: Sequence[FrameScore]) -> float | None:
    """Mean frame score weighted by `information`: sum(u_t s_t) / sum(u_t); None when all weights are 0.

    Examples:
        >>> from worldgauge.perception.instances import Instances
        >>> sky, tree = ({name: Instances.of([(40, 30, 90)])} for name in ("sky", "tree"))
        >>> score, frames = sgcs([sky, sky], [sky, tree], height=60, width=80)
        >>> score.value, sgcs_informative(frames)  # a frame of sky alone does not count
        (0.5, 0.0)
    """
    pairs = [(information(frame), frame.value) for frame in frames if frame.value is not None]
    weight = math.fsum(u for u, _ in pairs)
    return min(1.0, math.fsum(u * value for u, value in pairs) / weight) if weight else None


def chance_level(
    a: Sequence[SceneGraph],
    b: Sequence[SceneGraph],
    *,
    height: int,
    width: int,
    tau: float = TAU,
    empty: Empty = "null",
    matching: Matching = "maximum",
    shifts: int = 8,
) -> float | None:
    """Mean score of frame t of A with frame (t + k) mod T of B, without random numbers.

    A frozen video scores exactly its own chance level if all k are taken.
    """
    count = len(a)
    if len(b) != count:
        raise ShapeError(f"chance level needs as many scenes on both sides, got {count} and {len(b)}")
    offsets = np.unique(np.linspace(1, count - 1, min(shifts, count - 1)).round().astype(int)) if count > 1 else ()
    rules: dict[str, Any] = {"height": height, "width": width, "tau": tau, "empty": empty, "matching": matching}
    values = [frame_sgcs(a[t], b[(t + k) % count], **rules).value for k in offsets for t in range(count)]
    return video_score(values, empty=empty).value if values else None


@metric(
    "sgcs_chance_corrected",
    unit="1",
    better="higher",
    bounds=(-math.inf, 1.0),
    version=1,
    source="SGCS above chance, as in Cohen's kappa",
)
def chance_corrected(score: float | None, chance: float | None) -> float | None:
    """Score above chance, (s - c) / (1 - c): 0 at the chance level, 1 for the truth, negative below chance.

    Args:
        score: s, of the video.
        chance: c, from `chance_level`.

    Returns:
        At most 1; None when a value is missing or c is 1.

    Examples:
        >>> sgcs_chance_corrected(0.75, chance=0.5)
        0.5
    """
    if score is None or chance is None or chance >= 1:
        return None
    return (score - chance) / (1 - chance)


@metric(
    "sgcs_drift_tolerant",
    unit="1",
    better="higher",
    bounds=(0.0, 1.0),
    version=1,
    source="SGCS against the best of neighbouring frames",
)
def drift_tolerant_sgcs(
    a: Sequence[SceneGraph],
    b: Sequence[SceneGraph],
    *,
    window: int,
    height: int,
    width: int,
    tau: float = TAU,
    empty: Empty = "null",
    matching: Matching = "maximum",
) -> tuple[VideoScore, list[int | None]]:
    """Each frame t of A against the best of B[t - window .. t + window], and the shift that was best.

    The nearest shift wins ties. No defined frame scores lower than in the plain score. To find timing drift, compare
    with `window=0` and look at the shifts: a steady run of one sign is drift.

    Args:
        a: T generated scenes.
        b: T true scenes.
        window: Largest shift, counted in the given scenes, not in frames of the video.
        height: Of the images, pixels.
        width: Of the images, pixels.
        tau: Distance limit of SGCS as a share of the diagonal.
        empty: How a frame without any category counts.
        matching: How instances are matched.

    Returns:
        The score, and the best shift of every frame; None where no shift is defined.

    Raises:
        ShapeError: When the numbers of scenes differ.

    Examples:
        >>> from worldgauge.perception.instances import Instances
        >>> left, right = ({"tree": Instances.of([(x, 30, 90)])} for x in (10, 70))
        >>> early, truth = [left, right, right], [left, left, right]
        >>> score, shifts = sgcs_drift_tolerant(early, truth, window=1, height=60, width=80)
        >>> score.value, shifts
        (1.0, [0, 1, 0])
    """
    if len(a) != len(b):
        raise ShapeError(f"drift tolerance needs as many scenes on both sides, got {len(a)} and {len(b)}")
    rules: dict[str, Any] = {"height": height, "width": width, "tau": tau, "empty": empty, "matching": matching}
    values: list[float | None] = []
    chosen: list[int | None] = []
    for t, scene in enumerate(a):
        best: tuple[float | None, int | None] = (None, None)
        for shift in sorted(range(-window, window + 1), key=abs):
            if not 0 <= t + shift < len(b):
                continue
            value = frame_sgcs(scene, b[t + shift], **rules).value
            if value is not None and (best[0] is None or value > best[0]):
                best = value, shift
        values.append(best[0])
        chosen.append(best[1])
    return video_score(values, empty=empty), chosen


SEEN_SHARE = 0.5
"""Share of a frame's surfaces from which on it counts as seen before."""


class Bin(NamedTuple):
    """Frames whose coverage is in one interval: low is included, high excluded except in the last bin."""

    low: float
    high: float
    n: int
    mean: float | None


def sgcs_by_coverage(
    values: Sequence[float | None],
    coverage: Sequence[float | None],
    edges: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 0.95, 1.0),
) -> list[Bin]:
    """Frame scores grouped by how much of the frame had been seen before, which separates memory from invention."""
    pairs = [(v, c) for v, c in zip(values, coverage, strict=True) if v is not None and c is not None]
    if any(not edges[0] <= c <= edges[-1] for _, c in pairs):
        raise ShapeError(f"coverage must lie in [{edges[0]}, {edges[-1]}]")
    bins = []
    for low, high in itertools.pairwise(edges):
        mine = [v for v, c in pairs if low <= c < high or (c == high == edges[-1])]
        bins.append(Bin(low, high, len(mine), math.fsum(mine) / len(mine) if mine else None))
    return bins


@metric("sgcs_seen", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source="SGCS of frames seen before")
def seen_sgcs(
    values: Sequence[float | None], coverage: Sequence[float | None], share: float = SEEN_SHARE
) -> VideoScore:
    """Mean score of the frames of which at least `share` had been seen before: memory.

    Args:
        values: Frame scores, one per sampled frame; undefined ones are counted.
        coverage: Share seen before in [0, 1], one per sampled frame; frames with None are left out.
        share: Least coverage, SEEN_SHARE by default.

    Examples:
        >>> sgcs_seen([1.0, 0.5, 0.25], coverage=[1.0, 0.75, 0.0])
        VideoScore(value=0.75, n=2, undefined=0)
    """
    return _scored_where(values, [c is not None and c >= share for c in coverage])


@metric("sgcs_unseen", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source="SGCS of frames not seen before")
def unseen_sgcs(
    values: Sequence[float | None], coverage: Sequence[float | None], share: float = SEEN_SHARE
) -> VideoScore:
    """Mean score of the frames of which less than `share` had been seen before: invention, or luck.

    Args:
        values: Frame scores, one per sampled frame; undefined ones are counted.
        coverage: Share seen before in [0, 1], one per sampled frame; frames with None are left out.
        share: Coverage below which a frame counts, SEEN_SHARE by default.

    Examples:
        >>> sgcs_unseen([1.0, 0.5, 0.25], coverage=[1.0, 0.75, 0.0])
        VideoScore(value=0.25, n=1, undefined=0)
    """
    return _scored_where(values, [c is not None and c < share for c in coverage])


def _scored_where(values: Sequence[float | None], kept: Sequence[bool]) -> VideoScore:
    mine = [value for value, keep in zip(values, kept, strict=True) if keep]
    return video_score(mine) if mine else VideoScore(None, 0, 0)


@metric(
    "loop_closure",
    unit="1",
    better="higher",
    bounds=(0.0, 1.0),
    version=1,
    source="SGCS of the last frames against the look-around",
)
def loop_closure(
    last: Sequence[SceneGraph],
    last_yaw: ArrayLike,
    around: Sequence[SceneGraph],
    around_yaw: ArrayLike,
    *,
    height: int,
    width: int,
    tau: float = TAU,
    max_turn: float = math.radians(10),
) -> VideoScore:
    """Last generated frames against the look-around at the start; it needs no truth of the way back.

    Each frame is compared with the look-around frame of nearest heading.

    Args:
        last: n last generated scenes.
        last_yaw: Their headings (n,), radians.
        around: m scenes of the look-around.
        around_yaw: Their headings (m,), radians.
        height: Of the images, pixels.
        width: Of the images, pixels.
        tau: Distance limit of SGCS as a share of the diagonal.
        max_turn: Largest difference of heading, radians; a frame without a look-around frame within it is undefined.

    Raises:
        ShapeError: When there is nothing to compare, or not one heading per scene.

    Examples:
        >>> from worldgauge.perception.instances import Instances
        >>> tree, house = ({name: Instances.of([(40, 30, 90)])} for name in ("tree", "building"))
        >>> loop_closure([tree, house], [0.1, 0.1], around=[tree, house], around_yaw=[0.0, 3.1], height=60, width=80)
        VideoScore(value=0.5, n=2, undefined=0)
    """
    yaw, reference = np.asarray(last_yaw, np.float64), np.asarray(around_yaw, np.float64)
    if len(yaw) != len(last) or len(reference) != len(around) or not len(last) or not len(around):
        raise ShapeError(
            "loop closure needs scenes with one heading each, got "
            f"{len(yaw)} headings for {len(last)} scenes and {len(reference)} for {len(around)}"
        )
    values: list[float | None] = []
    for scene, heading in zip(last, yaw, strict=True):
        turn = np.abs(wrap_angle(reference - heading))
        nearest = int(np.argmin(turn))
        close = turn[nearest] <= max_turn
        values.append(frame_sgcs(scene, around[nearest], height=height, width=width, tau=tau).value if close else None)
    return video_score(values)


DEAD_BAND = 0.05
"""Share of the diagonal within which neither of two things is left of, or above, the other."""

NEAR = 0.25
"""Share of the diagonal within which two things are near."""

Pairs = Mapping[str, NDArray[np.int64]]
"""By category, for each instance of A its partner in B, -1 for none."""


def match_by_place(
    a: SceneGraph, b: SceneGraph, *, height: int, width: int, tau: float = TAU
) -> dict[str, NDArray[np.int64]]:
    """Match instances as SGCS does: as many pairs as possible, and of those matchings that of least total distance."""
    limit = tau * math.hypot(height, width)
    return {name: closest_maximum_matching(_distances(a[name], b[name]), limit) for name in a if name in b}


def match_by_look(look_a: Mapping[str, FloatArray], look_b: Mapping[str, FloatArray]) -> dict[str, NDArray[np.int64]]:
    """Assign instances with the least total difference of `mean_colours` (k, d), wherever they stand."""
    return {
        name: assignment(np.linalg.norm(look_a[name][:, None] - look_b[name], axis=-1))
        for name in look_a
        if name in look_b
    }


def mean_colours(
    rgb: NDArray[np.uint8],
    category: NDArray[np.uint16],
    instance: NDArray[np.uint16],
    names: Sequence[str],
    *,
    min_area: int = 1,
) -> dict[str, FloatArray]:
    """Mean RGB (k, 3) by category of instances of `min_area` pixels, in the order of `instances_from_labels`."""
    keys, sums = instance_table(category, instance, len(names))
    kept = sums[:, 0] >= min_area
    colours = _colour_sums(rgb, category, instance, keys) / np.maximum(sums[:, :1], 1)
    found = {name: colours[kept & (keys[:, 0] == i)] for i, name in enumerate(names, start=1)}
    return {name: rows for name, rows in found.items() if len(rows)}


@njit(cache=True, nogil=True)
def _colour_sums(
    rgb: NDArray[np.uint8], category: NDArray[np.uint16], instance: NDArray[np.uint16], keys: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Sums (k, 3) of the colours of the pixels of each pair of labels in `keys`, which hold all that occur."""
    numbers = int(instance.max()) + 1
    row = np.zeros((int(category.max()) + 1) * numbers, np.int64)
    for k in range(len(keys)):
        row[keys[k, 0] * numbers + keys[k, 1]] = k
    sums = np.zeros((len(keys), 3), np.int64)
    for y in range(category.shape[0]):
        for x in range(category.shape[1]):
            if category[y, x] > 0:
                k = row[int(category[y, x]) * numbers + int(instance[y, x])]
                for c in range(3):
                    sums[k, c] += rgb[y, x, c]
    return sums


@metric(
    "sgcs_relations",
    unit="1",
    better="higher",
    bounds=(0.0, 1.0),
    version=1,
    source="LoopNav, outlook: relational edges",
)
def relation_score(a: SceneGraph, b: SceneGraph, pairs: Pairs, *, height: int, width: int) -> float | None:
    """Share of the scene graph's edges between objects that A and B have in common: 2 sum(g) / (E_a + E_b).

    An edge joins two objects of a frame (all categories but STUFF); E counts them. For two matched objects the
    agreement g is the mean of three relations: left-of and above, each 1, 1/2 (one side within DEAD_BAND of the
    diagonal) or 0 (contradiction), and near (within NEAR of the diagonal), 1 or 0. Edges that touch an unmatched object
    agree by 0.

    Args:
        a: Generated scene.
        b: True scene.
        pairs: Matched instances by category.
        height: Of the image, pixels.
        width: Of the image, pixels.

    Returns:
        Share in [0, 1]; None when neither frame has two objects.

    Examples:
        >>> from worldgauge.perception.instances import Instances
        >>> trees = {"tree": Instances.of([(10, 30, 5), (70, 30, 5)])}
        >>> kept, swapped = ({"tree": np.array(partners)} for partners in ([0, 1], [1, 0]))
        >>> [round(sgcs_relations(trees, trees, pairs, height=60, width=80), 2) for pairs in (kept, swapped)]
        [1.0, 0.67]
    """
    diagonal = math.hypot(height, width)
    objects_a, objects_b = (_objects(scene) for scene in (a, b))
    edges = sum(math.comb(len(rows), 2) for rows in (objects_a, objects_b))
    if not edges:
        return None
    rows_a, rows_b = _partners(a, b, pairs)
    first, second = np.triu_indices(len(rows_a), 1)
    agreement = np.zeros(len(first))
    if len(first):
        one, other = ((rows[second] - rows[first]) / diagonal for rows in (rows_a, rows_b))
        sides = [np.where(np.abs(step) <= DEAD_BAND, 0.0, np.sign(step)) for step in (one, other)]
        near = [np.hypot(*step.T) <= NEAR for step in (one, other)]
        agreement = ((1 - np.abs(sides[0] - sides[1]) / 2).sum(-1) + (near[0] == near[1])) / 3
    return float(2 * agreement.sum() / edges)


def shape_iou(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> float:
    """IoU of masks (H, W) with centroids aligned by whole pixels; what the shift moves out counts as lost."""
    if a.shape != b.shape or a.ndim != 2 or not a.any() or not b.any():
        raise ShapeError(f"shape IoU needs two masks (H, W) that are not empty, got {a.shape} and {b.shape}")
    rows_a, columns_a = np.nonzero(a)
    rows_b, columns_b = np.nonzero(b)
    dy, dx = round(float(rows_a.mean() - rows_b.mean())), round(float(columns_a.mean() - columns_b.mean()))
    rows, columns = rows_b + dy, columns_b + dx
    inside = (rows >= 0) & (rows < a.shape[0]) & (columns >= 0) & (columns < a.shape[1])
    common = int(a[rows[inside], columns[inside]].sum())
    return common / (len(rows_a) + len(rows_b) - common)


@metric("sgcs_shape", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source="LoopNav, outlook: shape level")
def shape_score(
    masks_a: Mapping[str, Sequence[NDArray[np.bool_]]], masks_b: Mapping[str, Sequence[NDArray[np.bool_]]], pairs: Pairs
) -> float | None:
    """Mean shape IoU of matched pairs, weighted by their mean area.

    Args:
        masks_a: Masks (H, W) by category, in the order of the scene that `pairs` was made from.
        masks_b: Likewise for the other scene.
        pairs: Matched instances by category.

    Returns:
        Score in [0, 1]; None when nothing is matched.

    Examples:
        >>> whole = np.ones((4, 4), bool)
        >>> half = whole & (np.arange(4) < 2)
        >>> sgcs_shape({"tree": [half]}, {"tree": [whole]}, {"tree": np.array([0])})
        0.5
    """
    total = weights = 0.0
    for name, columns in pairs.items():
        for i, j in enumerate(columns):
            if j < 0:
                continue
            a, b = masks_a[name][i], masks_b[name][j]
            weight = (int(a.sum()) + int(b.sum())) / 2
            total += weight * shape_iou(a, b)
            weights += weight
    return total / weights if weights else None


def _distances(a: Instances, b: Instances) -> FloatArray:
    distance: FloatArray = np.hypot(a.cx[:, None] - b.cx, a.cy[:, None] - b.cy)
    return distance


def _objects(scene: SceneGraph) -> list[Any]:
    return [row for name, group in scene.items() if name not in STUFF for row in group.rows()]


def _partners(a: SceneGraph, b: SceneGraph, pairs: Pairs) -> tuple[FloatArray, FloatArray]:
    """Centroids (k, 2) of matched objects, row i of A with row i of B."""
    left, right = [np.zeros((0, 2))], [np.zeros((0, 2))]
    for name, columns in pairs.items():
        if name in STUFF:
            continue
        rows = np.flatnonzero(columns >= 0)
        left.append(np.stack([a[name].cx, a[name].cy], -1)[rows])
        right.append(np.stack([b[name].cx, b[name].cy], -1)[columns[rows]])
    return np.concatenate(left), np.concatenate(right)
