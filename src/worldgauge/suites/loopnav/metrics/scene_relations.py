"""Beyond presence and place: do matched things keep their relations and their shapes?

SGCS matches by place, so it cannot see that two things of one category changed places. It can be seen by matching
things by look instead (nearest mean colour, say) and comparing where the matched things stand relative to each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray
from worldgauge.metrics._registry import metric
from worldgauge.perception.instances import Instances, SceneGraph, instance_table
from worldgauge.suites.loopnav.metrics.matching import assignment, closest_maximum_matching
from worldgauge.suites.loopnav.metrics.scene_variants import STUFF
from worldgauge.suites.loopnav.metrics.sgcs import TAU

DEAD_BAND = 0.05
"""Share of the diagonal within which neither of two things is left of, or above, the other."""

NEAR = 0.25
"""Share of the diagonal within which two things are near."""

Pairs = Mapping[str, NDArray[np.int64]]
"""By category, for each instance of A its partner in B, -1 for none."""


def match_by_place(
    a: SceneGraph, b: SceneGraph, *, height: int, width: int, tau: float = TAU
) -> dict[str, NDArray[np.int64]]:
    """Match instances as SGCS does: as many pairs as possible, and of those matchings the one of least total distance.

    Args:
        a: Generated scene.
        b: True scene.
        height: Of the image, pixels.
        width: Of the image, pixels.
        tau: Distance limit as a share of the diagonal.

    Returns:
        Pairs of indices by category.
    """
    limit = tau * math.hypot(height, width)
    return {name: closest_maximum_matching(_distances(a[name], b[name]), limit) for name in a if name in b}


def match_by_look(look_a: Mapping[str, FloatArray], look_b: Mapping[str, FloatArray]) -> dict[str, NDArray[np.int64]]:
    """Assign instances with the least total difference in look, wherever they stand.

    Args:
        look_a: By category (k, d), one row per instance in the scene's order; see `mean_colours`.
        look_b: Likewise for the other scene.

    Returns:
        Pairs of indices by category.
    """
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
    """Mean RGB of every instance of label images, in the order of `instances_from_labels`.

    Args:
        rgb: Frame (H, W, 3), uint8.
        category: Category labels (H, W), uint16.
        instance: Instance labels (H, W), uint16.
        names: Names of the categories.
        min_area: Least area of an instance, pixels.

    Returns:
        By category (k, 3).
    """
    keys, sums = instance_table(category, instance, len(names))
    codes = category.astype(np.int64) * (int(instance.max()) + 1) + instance
    order = np.searchsorted(keys[:, 0] * (int(instance.max()) + 1) + keys[:, 1], codes[category > 0])
    pixels = rgb[category > 0]
    totals = np.stack([np.bincount(order, pixels[:, c], minlength=len(keys)) for c in range(3)], -1)
    kept = sums[:, 0] >= min_area
    colours = totals / np.maximum(sums[:, :1], 1)
    found = {name: colours[kept & (keys[:, 0] == i)] for i, name in enumerate(names, start=1)}
    return {name: rows for name, rows in found.items() if len(rows)}


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
    """Intersection over union of two masks after their centroids are aligned (by whole pixels).

    What the shift moves out of the image counts as lost.

    Args:
        a: Mask (H, W).
        b: Mask (H, W).

    Raises:
        ShapeError: On empty masks or other shapes.
    """
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
