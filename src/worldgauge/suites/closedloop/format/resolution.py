"""What a run of a set can tell apart, before there is one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from worldgauge.core.statistics import smallest_resolvable_difference

DRAWS = 30
"""Ways in which episodes that end differently are spread over the scenes."""
_SEED = 20251018


def resolvable_points(scenes: Sequence[Hashable], discordance: float, *, draws: int = DRAWS) -> float | None:
    """Smallest difference in success between two subjects that a run would show with 80 % power at the 5 % level.

    Paired differences of 0 and of 100 points to either side, as often as measured, are spread over the episodes by
    chance and given to the test's own `smallest_resolvable_difference`, whose clusters are the scenes.

    Args:
        scenes: Scene of each episode.
        discordance: Share of episodes that two subjects about ten points apart end differently, in (0, 1].
        draws: Ways to spread them; the result is their root mean square.

    Returns:
        Percentage points, at most 100; None for fewer than two scenes.
    """
    each = max(1, round(discordance * len(scenes) / 2))
    differences = np.zeros(len(scenes))
    differences[:each], differences[each : 2 * each] = 100.0, -100.0
    rng = np.random.default_rng(_SEED)
    spread = [rng.permutation(differences).tolist() for _ in range(draws)]
    found = [smallest_resolvable_difference(one, scenes) for one in spread]
    known = [one for one in found if one is not None]
    return min(100.0, float(np.sqrt(np.mean(np.square(known))))) if known else None
