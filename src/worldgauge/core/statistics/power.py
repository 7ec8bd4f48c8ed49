"""What corrected paired tests can find in a data set, before any model has run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from worldgauge.core.statistics.paired import FEWEST_CLUSTERS, minimum_detectable_effect
from worldgauge.core.statistics.sample import effective_number

LARGE_EFFECT = 2.0
"""Difference that orders two models, in standard deviations: the better one is ahead in 98 % of clusters."""
MOST_MODELS = 50
"""Largest number of models that is reported."""


@dataclass(frozen=True)
class Power:
    """What tests with 80 % power can find. Unit: standard deviation of the difference of two models over clusters.

    Attributes:
        clusters: Number of clusters.
        models: Largest number of models that can be ordered if they differ by LARGE_EFFECT; 0 for none, at most
            MOST_MODELS.
        tests: Number of tests that are corrected together; 0 if unknown.
        effect: Minimum detectable effect of these tests; None without a test.
    """

    clusters: int
    models: int
    tests: int = 0
    effect: float | None = None

    def __str__(self) -> str:
        """One line for the user."""
        held = f"Power: {self.clusters} cluster{'' if self.clusters == 1 else 's'}"
        if self.clusters < FEWEST_CLUSTERS:
            return f"{held} cannot order models. A test needs {FEWEST_CLUSTERS}."
        if self.models:
            most = "or more " if self.models == MOST_MODELS else ""
            line = f"{held} can order {self.models} {most}models that differ by {LARGE_EFFECT:g} standard deviations"
        else:
            line = f"{held} of very unequal sizes cannot order models"
        if self.effect is None:
            return f"{line}."
        tests = "one test finds" if self.tests == 1 else f"{self.tests} tests find"
        return f"{line}; {tests} differences of {self.effect:.2g} with 80 % power."


def power_of(clusters: Iterable[str], tests: int = 0) -> Power:
    """What paired tests can find in a data set.

    Args:
        clusters: Cluster of each task.
        tests: Number of tests that are corrected together; 0 if unknown.

    Returns:
        The power.
    """
    sizes = Counter(clusters)
    if len(sizes) < FEWEST_CLUSTERS:
        return Power(len(sizes), 0, tests)
    effective = effective_number(np.array([*sizes.values()], np.float64))
    error, degrees = np.array([1 / math.sqrt(effective)]), np.array([max(1.0, effective - 1)])

    def effect(tests: int) -> float:
        return float(minimum_detectable_effect(error, degrees, tests=tests)[0])

    models = max((n for n in range(2, MOST_MODELS + 1) if effect(n * (n - 1) // 2) <= LARGE_EFFECT), default=0)
    return Power(len(sizes), models, tests, effect(tests) if tests else None)
