"""How far a build equals the one that was wanted, block by block: the matching score, and what it does not see.

Blocks are compared by base name, without namespace and states, at equal places from the pivot; what lies outside a
matrix is air. The matching score is a recall: a solid box of the commonest block of a house of one material gets full
marks. So precision and the shares of the union are reported too. Source: MineAnyBuild, section 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.metrics import metrics
from worldgauge.worlds.blocks.blueprint import AIR_NAMES, Blueprint, base_name, shared_blocks

FULL = 10.0
MOST_MOVES = 2**24
"""Six times those of two builds of the published limits; more would take gigabytes."""
_PAIRS_A_MOVE = 16
"""Pairs of blocks of one name for each move there is: up to so many are counted one by one, which is then the faster
way; above, Fourier transforms count them."""
_CHUNK = 2_000_000


class Overlap(NamedTuple):
    """Blocks of truth and build.

    Attributes:
        truth: N, blocks of the truth.
        built: P, blocks of the build.
        matched: M, blocks of one base name at one place.
        occupied: Blocks of any names at one place.
    """

    truth: int
    built: int
    matched: int
    occupied: int


class Shift(NamedTuple):
    """A move of the build.

    Attributes:
        matched: M when the build is moved.
        up: Blocks along y.
        south: Blocks along z.
        east: Blocks along x.
    """

    matched: int
    up: int
    south: int
    east: int


def overlap(truth: Blueprint, built: Blueprint) -> Overlap:
    """The counts that all measures of this file are made of, pivot on pivot."""
    box = tuple(slice(0, min(a, b)) for a, b in zip(truth.cells.shape, built.cells.shape, strict=True))
    occupied = int((truth.solid[box] & built.solid[box]).sum())
    return Overlap(truth.blocks, built.blocks, shared_blocks(truth, built), occupied)


@metrics.register(
    "build_matching", unit="points", better="higher", bounds=(0.0, 10.0), version=1, source="MineAnyBuild, 3.3"
)
def matching_score(truth: Blueprint, built: Blueprint) -> float | None:
    """10 M / N: the share of the truth's blocks that the build has. None for a truth without blocks."""
    count = overlap(truth, built)
    return FULL * count.matched / count.truth if count.truth else None


@metrics.register(
    "build_precision", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source="MineAnyBuild, 3.3"
)
def matching_precision(truth: Blueprint, built: Blueprint) -> float | None:
    """M / P: the share of the build's blocks that the truth has.

    Returns:
        The share; 0 for a build without blocks, None for a truth without blocks.
    """
    count = overlap(truth, built)
    if not count.truth:
        return None
    return count.matched / count.built if count.built else 0.0


@metrics.register("build_f1", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source="MineAnyBuild, 3.3")
def matching_f1(truth: Blueprint, built: Blueprint) -> float | None:
    """2 M / (N + P), the harmonic mean of matching (as a share) and precision. None for a truth without blocks."""
    count = overlap(truth, built)
    return 2 * count.matched / (count.truth + count.built) if count.truth else None


@metrics.register(
    "build_typed_iou", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source="MineAnyBuild, 3.3"
)
def typed_iou(truth: Blueprint, built: Blueprint) -> float | None:
    """Blocks of one name at one place over all blocks, M / (N + P - M). None for a truth without blocks."""
    count = overlap(truth, built)
    return count.matched / (count.truth + count.built - count.matched) if count.truth else None


@metrics.register(
    "build_occupancy_iou", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source="MineAnyBuild, 3.3"
)
def occupancy_iou(truth: Blueprint, built: Blueprint) -> float | None:
    """Places that both fill over places that either fills, with any block. None for a truth without blocks."""
    count = overlap(truth, built)
    return count.occupied / (count.truth + count.built - count.occupied) if count.truth else None


@metrics.register(
    "build_best_shift", unit="points", better="higher", bounds=(0.0, 10.0), version=1, source="MineAnyBuild, 3.3"
)
def best_shift_score(truth: Blueprint, built: Blueprint) -> float | None:
    """The matching score of the build moved to where it matches most.

    None for a truth without blocks, and where there are more than MOST_MOVES moves.
    """
    count = truth.blocks
    if not count or _moves(truth, built) > MOST_MOVES:
        return None
    return FULL * best_shift(truth, built).matched / count


def best_shift(truth: Blueprint, built: Blueprint) -> Shift:
    """The whole-block move of the build with the most matches.

    Of equal ones it is the shortest, then the one least up, south, east. Exact. All moves are counted at once: about 2
    s for builds that fill 50 x 80 x 80, milliseconds for usual ones.
    """
    counts, zero = _matches_of_moves(truth, built)
    moves = np.argwhere(counts == counts.max()) - zero
    nearest = moves[np.lexsort((*moves.T[::-1], np.abs(moves).sum(axis=1)))[0]]
    up, south, east = (int(step) for step in nearest)
    return Shift(int(counts.max()), up, south, east)


def _moves(truth: Blueprint, built: Blueprint) -> int:
    """Moves of the build in which the two boxes touch."""
    return math.prod(a + b - 1 for a, b in zip(truth.cells.shape, built.cells.shape, strict=True))


def _matches_of_moves(truth: Blueprint, built: Blueprint) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Matches for each move of the build, and the index of no move: (a + b - 1) along each axis of sides a and b."""
    zero = np.array(built.cells.shape) - 1
    shape = np.array(truth.cells.shape) + zero
    counts = np.zeros(shape, np.int64)
    spectrum: NDArray[np.complex128] | None = None
    padded = [_smooth(int(side)) for side in shape]
    for mine, theirs in _by_name(truth, built):
        if len(mine) * len(theirs) <= _PAIRS_A_MOVE * counts.size:
            counts += _counted(mine, theirs, zero, shape)
        else:
            product = _transformed(mine, padded) * np.conj(_transformed(theirs, padded))
            spectrum = product if spectrum is None else spectrum + product
    if spectrum is not None:
        found = np.fft.irfftn(spectrum, s=padded, axes=(0, 1, 2))
        # A move by -k stands at index -k of the transform: bring them in order.
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


def _counted(
    mine: NDArray[np.int64], theirs: NDArray[np.int64], zero: NDArray[np.int64], shape: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How often each difference of places occurs, by pairs. One number stands for a difference: no side overflows."""
    strides = np.array([shape[1] * shape[2], shape[2], 1])
    a, b = (mine + zero) @ strides, theirs @ strides
    total = np.zeros(int(np.prod(shape)), np.int64)
    step = max(1, _CHUNK // len(b))
    for start in range(0, len(a), step):
        total += np.bincount((a[start : start + step, None] - b[None]).ravel(), minlength=len(total))
    return total.reshape(shape)


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
