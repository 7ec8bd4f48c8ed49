"""`mppi`: a planner like `cem` that weighs all imagined plans instead of keeping the best ones."""

from __future__ import annotations

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.suites.closedloop.navigation.cem_reviser import CrossEntropyReviser
from worldgauge.suites.closedloop.navigation.nearness.network import identity
from worldgauge.suites.closedloop.policies.contract import revisers

TEMPERATURE = 0.3
"""Lambda, in standard deviations of the distances so far: their unit is the network's own."""
SPREAD = (1.5, 1.5, 2.0, 2.0)
"""Standard deviations of turns and steps of the first leg, then of the second."""


@revisers.register("mppi", tasks=("navigation",), imagines=True, identity=identity)
class PathIntegralReviser(CrossEntropyReviser):
    """Draws new plans around the weighted mean of all so far, with a spread that stays (Williams et al. 2017, MPPI).

    A plan weighs exp(-far / lambda), far being how far from the goal its imagined end seems.
    """

    name = "mppi"

    def drawn_from(self, far: FloatArray, legs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where the next plans are drawn; see `CrossEntropyReviser.drawn_from`."""
        weights = np.exp(-(far - far.min()) / max(TEMPERATURE * float(far.std()), 1e-9))
        middle: FloatArray = weights @ legs / weights.sum()
        return middle, np.array(SPREAD)
