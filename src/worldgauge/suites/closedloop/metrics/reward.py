"""Choosing among imagined plans by how similar their ends are to the goal: the revision by image distance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from worldgauge.core.errors import UsageError

_TIE = 1e-12
"""Rewards this close are equal: means of equal numbers differ in the last bits."""


class Ranking(NamedTuple):
    """Candidates by reward.

    Attributes:
        rewards: One per candidate, higher is better, -inf for one without frames.
        best: Index of the best, the first of equals.
    """

    rewards: tuple[float, ...]
    best: int


def ranked_by_distance(distances: Sequence[Sequence[float]]) -> Ranking:
    """Rewards of candidates from the distance of each of their plan frames to the goal.

    reward = 1 - mean distance, over as many frames as the longest has: shorter ones repeat their last.
    Source: World-in-World, section 7, revision by LPIPS.

    Args:
        distances: By candidate, one per frame; frame 0 is left out.

    Raises:
        UsageError: Without candidates, and for distances that are not finite.
    """
    if not distances:
        raise UsageError("there are no candidates to choose from")
    if not all(math.isfinite(one) for clip in distances for one in clip):
        raise UsageError("distances to the goal are not all finite")
    longest = max(len(clip) for clip in distances)
    rewards = tuple(_reward(clip, longest) for clip in distances)
    highest = max(rewards)
    return Ranking(rewards, next(index for index, reward in enumerate(rewards) if reward >= highest - _TIE))


def _reward(clip: Sequence[float], longest: int) -> float:
    if not clip:
        return -math.inf
    return 1 - math.fsum([*clip, *[clip[-1]] * (longest - len(clip))]) / longest
