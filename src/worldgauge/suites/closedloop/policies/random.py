"""`random`: takes any candidate. What is left of a gain when the choice is by chance is not the model's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.suites.closedloop.policies.contract import Candidate, Decision, History, Kit, Observation, revisers


@revisers.register("random", tasks=("navigation", "manipulation"), imagines=False)
class Chance:
    """Takes a candidate by chance, equally likely each."""

    def __init__(self, kit: Kit) -> None:
        pass

    def revise(
        self,
        candidates: Sequence[Candidate],
        observation: Observation,
        goal: Goal,
        history: History,
        rng: np.random.Generator,
    ) -> Decision:
        """One of the plans."""
        chosen = int(rng.integers(len(candidates)))
        return Decision(candidates[chosen].plan, chosen)
