"""`none`: no revision. The first candidate is carried out, whatever was imagined."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.suites.closedloop.policies.contract import Candidate, Decision, History, Kit, Observation, revisers


@revisers.register("none", tasks=("navigation", "manipulation"), imagines=False)
class First:
    """Takes the first candidate: what revision is worth is measured against it."""

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
        """The first plan."""
        return Decision(candidates[0].plan, 0)
