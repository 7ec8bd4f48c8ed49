"""Similarity of a build to the true one, block by block: the matching score, and measures of what it misses.

Blocks are compared by base name, without namespace and states, at equal cells from the pivot; what lies outside a
matrix is air. The matching score is a recall: a solid box of the commonest block of a house of one material gets full
marks. So precision and the IoUs are reported too. Source: MineAnyBuild, section 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.metrics._registry import metric
from worldgauge.worlds.blocks.blueprint import AIR_NAMES, Blueprint, base_name, shared_blocks

FULL = 10.0
MOST_MOVES = 2**24
"""Six times those of two builds of the published limits; more would take gigabytes."""
_PAIRS_A_MOVE = 16
"""Pairs of blocks of one name per shift up to which they are counted one by one, which is faster; above, Fourier
transforms count them."""
_CHUNK = 2_000_000


class Overlap(NamedTuple):
    """Block counts of ground truth and build; `matched` cells agree in base name, `occupied` are blocks in both."""

    truth: int
    built: int
    matched: int
    occupied: int


class Shift(NamedTuple):
    """A shift of the build along y, z and x in blocks, and its matches."""

    matched: int
    up: int
    south: int
    east: int


def overlap(truth: Blueprint, built: Blueprint) -> Overlap:
    """Count the blocks that all measures of this file are made of, pivot on pivot."""
    box = tuple(slice(0, min(a, b)) for a, b in zip(truth.cells.shape, built.cells.shape, strict=True))
    occupied = int((truth.solid[box] & built.solid[box]).sum())
    return Overlap(truth.blocks, built.blocks, shared_blocks(truth, built), occupied)


@metric("build_matching", unit="points", better="higher", bounds=(0.0, 10.0), source="MineAnyBuild, 3.2")
def matching_score(truth: Blueprint, built: Blueprint) -> float | None:
    """Return 10 M / N, the recall: the share of the truth's blocks that the build has.

    Args:
        truth: The true build.
        built: The agent's build.

    Returns:
        0 to 10; None for a truth without blocks.

    Examples:
        >>> from worldgauge.worlds.blocks.blueprint import Blueprint
        >>> truth = Blueprint.of([[[1, 1, 1, 2]]], ["stone", "glass"])
        >>> build_matching(truth, Blueprint.of([[[1, 1, 2, 2]]], ["stone", "glass"]))
        7.5
    """
    count = overlap(truth, built)
    return FULL * count.matched / count.truth if count.truth else None


@metric("build_precision", unit="1", better="higher", bounds=(0.0, 1.0), source="MineAnyBuild, 3.2")
def matching_precision(truth: Blueprint, built: Blueprint) -> float | None:
    """Return M / P: the share of the build's blocks that the truth has.

    Args:
        truth: The true build.
        built: The agent's build.

    Returns:
        0 to 1; 0 for a build without blocks, None for a truth without blocks.

    Examples:
        >>> from worldgauge.worlds.blocks.blueprint import Blueprint
        >>> truth = Blueprint.of([[[1, 1, 1, 2]]], ["stone", "glass"])
        >>> build_precision(truth, Blueprint.of([[[1, 2]]], ["stone", "glass"]))
        0.5
    """
    count = overlap(truth, built)
    if not count.truth:
        return None
    return count.matched / count.built if count.built else 0.0


@metric("build_f1", unit="1", better="higher", bounds=(0.0, 1.0), source="MineAnyBuild, 3.2")
def matching_f1(truth: Blueprint, built: Blueprint) -> float | None:
    """Return 2 M / (N + P), the harmonic mean of precision and recall.

    Args:
        truth: The true build.
        built: The agent's build.

    Returns:
        0 to 1; None for a truth without blocks.

    Examples:
        >>> from worldgauge.worlds.blocks.blueprint import Blueprint
        >>> truth = Blueprint.of([[[1, 1, 1, 2]]], ["stone", "glass"])
        >>> build_f1(truth, Blueprint.of([[[1, 1, 1, 1]]], ["stone", "glass"]))
        0.75
    """
    count = overlap(truth, built)
    return 2 * count.matched / (count.truth + count.built) if count.truth else None


@metric("build_typed_iou", unit="1", better="higher", bounds=(0.0, 1.0), source="MineAnyBuild, 3.2")
def typed_iou(truth: Blueprint, built: Blueprint) -> float | None:
    """Return M / (N + P - M): equal blocks over all blocks.

    Args:
        truth: The true build.
        built: The agent's build.

    Returns:
        0 to 1; None for a truth without blocks.

    Examples:
        >>> from worldgauge.worlds.blocks.blueprint import Blueprint
        >>> truth = Blueprint.of([[[1, 1, 1, 2]]], ["stone", "glass"])
        >>> build_typed_iou(truth, Blueprint.of([[[1, 1]]], ["stone", "glass"]))
        0.5
    """
    count = overlap(truth, built)
    return count.matched / (count.truth + count.built - count.matched) if count.truth else None


@metric("build_occupancy_iou", unit="1", better="higher", bounds=(0.0, 1.0), source="MineAnyBuild, 3.2")
def occupancy_iou(truth: Blueprint, built: Blueprint) -> float | None:
    """Return the IoU of occupied cells, whatever their blocks.

    Args:
        truth: The true build.
        built: The agent's build.

    Returns:
        0 to 1; None for a truth without blocks.

    Examples:
        >>> from worldgauge.worlds.blocks.blueprint import Blueprint
        >>> truth = Blueprint.of([[[1, 1, 1, 2]]], ["stone", "glass"])
        >>> build_occupancy_iou(truth, Blueprint.of([[[2, 2, 2]]], ["stone", "glass"]))
        0.75
    """
    count = overlap(truth, built)
    return count.occupied / (count.truth + count.built - count.occupied) if count.truth else None


@metric("build_best_shift", unit="points", better="higher", bounds=(0.0, 10.0), source="MineAnyBuild, 3.2")
def best_shift_score(truth: Blueprint, built: Blueprint) -> float | None:
    """Return the matching score of the build shifted to where it matches most.

    Args:
        truth: The true build.
        built: The agent's build.

    Returns:
        0 to 10; None for a truth without blocks, or more than MOST_MOVES shifts.

    Examples:
        >>> from worldgauge.worlds.blocks.blueprint import Blueprint
        >>> truth = Blueprint.of([[[1, 1, 1, 2]]], ["stone", "glass"])
        >>> built = Blueprint.of([[[-1, 1, 1, 1, 2]]], ["stone", "glass"])
        >>> build_matching(truth, built), build_best_shift(truth, built)
        (5.0, 10.0)
    """
    count = truth.blocks
    if not count or _moves(truth, built) > MOST_MOVES:
        return None
    return FULL * best_shift(truth, built).matched / count


def best_shift(truth: Blueprint, built: Blueprint) -> Shift:
    """Find exactly the block shift with the most matches; of equals the shortest, then the least up, south, east."""
    counts, zero = _matches_of_moves(truth, built)
    moves = np.argwhere(counts == counts.max()) - zero
    nearest = moves[np.lexsort((*moves.T[::-1], np.abs(moves).sum(axis=1)))[0]]
    up, south, east = (int(step) for step in nearest)
    return Shift(int(counts.max()), up, south, east)


def _moves(truth: Blueprint, built: Blueprint) -> int:
    """Count the shifts in which the two boxes overlap."""
    return math.prod(a + b - 1 for a, b in zip(truth.cells.shape, built.cells.shape, strict=True))


def _matches_of_moves(truth: Blueprint, built: Blueprint) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return matches by shift, (a + b - 1) along each axis of sides a and b, and the index of no shift."""
    zero = np.array(built.cells.shape) - 1
    shape = np.array(truth.cells.shape) + zero
    counts = np.zeros(shape, np.int64)
    spectrum: NDArray[np.complex128] | None = None
    padded = [_smooth(int(side)) for side in shape]
    for mine, theirs in _by_name(truth, built):
        if len(mine) * len(theirs) <= _PAIRS_A_MOVE * counts.size:
            # How often each difference of places occurs. One number is a difference: no side overflows.
            strides = np.array([shape[1] * shape[2], shape[2], 1])
            a, b = (mine + zero) @ strides, theirs @ strides
            total = np.zeros(int(np.prod(shape)), np.int64)
            step = max(1, _CHUNK // len(b))
            for start in range(0, len(a), step):
                total += np.bincount((a[start : start + step, None] - b[None]).ravel(), minlength=len(total))
            counts += total.reshape(shape)
        else:
            product = _transformed(mine, padded) * np.conj(_transformed(theirs, padded))
            spectrum = product if spectrum is None else spectrum + product
    if spectrum is not None:
        found = np.fft.irfftn(spectrum, s=padded, axes=(0, 1, 2))
        # A shift by -k is at index -k of the transform: bring them in order.
        found = np.roll(found, tuple(zero), axis=(0, 1, 2))[tuple(slice(0, int(side)) for side in shape)]
        counts += np.rint(found).astype(np.int64)
    return counts, zero


def _by_name(truth: Blueprint, built: Blueprint) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Places (n, 3) in truth and build of each base name that both have."""
    theirs: dict[str, list[int]] = {}
    for number, name in enumerate(built.materials, 1):
        theirs.setdefault(base_name(name), []).append(number)
    for name in dict.fromkeys(map(base_name, truth.materials)):
        if name in theirs and name not in AIR_NAMES:
            own = [number for number, other in enumerate(truth.materials, 1) if base_name(other) == name]
            a, b = np.argwhere(np.isin(truth.cells, own)), np.argwhere(np.isin(built.cells, theirs[name]))
            if len(a) and len(b):
                yield a, b


def _transformed(places: NDArray[np.int64], shape: list[int]) -> NDArray[np.complex128]:
    filled = np.zeros(shape)
    filled[tuple(places.T)] = 1
    return np.fft.rfftn(filled, axes=(0, 1, 2))


def _smooth(size: int) -> int:
    """The next number without prime factors above 5, for which the transform is fast."""
    while True:
        rest = size
        for factor in (2, 3, 5):
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            return size
        size += 1
