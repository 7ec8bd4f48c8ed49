"""What guessing comes to, and the best that can be had: printed beside every score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from worldgauge.blueprint import Blueprint, base_name

RANDOM_SIDE = 8
"""Of the matrix that the reference `random` answers with, in blocks."""


def random_matching(truth: Blueprint, materials: Sequence[str], side: int = RANDOM_SIDE) -> float | None:
    """Expected matching score, of 10, of a matrix of `side` blocks each way whose cells are drawn evenly from air and
    all of `materials`. None for a truth without blocks.

    A block of the truth within the matrix is met with the share of materials that have its base name.
    """
    if not truth.blocks:
        return None
    names = Counter(map(base_name, materials))
    within = Blueprint(truth.cells[:side, :side, :side], truth.materials)
    met = sum(count * names[base_name(name)] for name, count in within.counts().items())
    return 10.0 * met / (len(materials) + 1) / truth.blocks
