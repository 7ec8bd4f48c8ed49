"""Choosing among imagined ways by how like the goal they end up: the revision by image distance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from worldgauge.core.errors import UsageError

_TIE = 1e-12
"""Rewards this close are equal: means of equal numbers differ in the last bits."""


class Ranking(NamedTuple):
    """rewards: of each candidate, higher is better, -inf for one without frames. best: index, the first of equals."""

    rewards: tuple[float, ...]
    best: int


def ranked_by_distance(distances: Sequence[Sequence[float]]) -> Ranking:
    """Rewards of candidates from the distance of each of their plan frames to the goal, frame 0 left out.

    reward = 1 - mean distance, over as many frames as the longest has: shorter ones repeat their last.
    Raises UsageError without candidates, and for distances that are not finite.
    Source: World-in-World, section 7, revision by LPIPS.
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
