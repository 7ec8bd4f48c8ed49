"""What a run of a set can tell apart, before there is one."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np

from worldgauge.core.statistics import Sample, minimum_detectable_effect

WANTED = 10.0
"""Percentage points that a set should resolve; of one that does not, it is told how many episodes would. Also how far
apart the subjects are of which a discordance is measured."""
DRAWS = 200
"""Ways in which episodes that end differently are spread over the scenes."""
_SEED = 20251018


def resolvable_points(scenes: Sequence[Hashable], discordance: float, *, draws: int = DRAWS) -> float | None:
    """Smallest difference in success between two subjects that a run would show with 80 % power at the 5 % level.

    Paired differences of 0 and of 100 points to either side, as often as measured and ten points in the mean, are
    spread over the episodes by chance and given to the test's own `minimum_detectable_effect`, whose clusters are the
    scenes.

    Args:
        scenes: Scene of each episode.
        discordance: Share of episodes that two subjects about ten points apart end differently, in (0, 1].
        draws: Ways to spread them; the result is their root mean square.

    Returns:
        Percentage points, at most 100; None for fewer than two scenes.
    """
    if len(set(scenes)) < 2:
        return None
    n, apart = len(scenes), WANTED / 100
    ended = max(1, round(discordance * n))
    better = min(ended, max(1, round((discordance + apart) / 2 * n)))
    worse = ended - better
    differences = np.zeros(n)
    differences[:better], differences[better : better + worse] = 100.0, -100.0
    rng = np.random.default_rng(_SEED)
    spread = [rng.permutation(differences).tolist() for _ in range(draws)]
    found = [Sample.of([one], [scenes]).estimate() for one in spread]
    errors, degrees = (np.array(column) for column in zip(*((one.error, one.degrees) for one in found), strict=True))
    return min(100.0, float(np.sqrt(np.mean(minimum_detectable_effect(errors, degrees) ** 2))))


def episodes_wanted(episodes: int, resolves: float | None, *, wanted: float = WANTED) -> int | None:
    """How many episodes of the same kind, spread over scenes alike, would resolve `wanted` points.

    The smallest difference falls with the root of the number of episodes.

    Args:
        episodes: Episodes at hand.
        resolves: What they resolve, by `resolvable_points`.
        wanted: Percentage points, above 0.

    Returns:
        The number, rounded up to tens; None where the episodes at hand do, or what they resolve is not known.
    """
    if resolves is None or resolves <= wanted:
        return None
    return 10 * math.ceil(episodes * (resolves / wanted) ** 2 / 10)
