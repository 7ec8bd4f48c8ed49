"""`oracle`: knows what every candidate would really come to. The most that choosing among them can bring."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.suites.closedloop.policies.contract import Candidate, Decision, History, Kit, Observation, revisers


@revisers.register("oracle", tasks=("navigation", "manipulation"), imagines=False)
class Oracle:
    """Takes the candidate of the highest true value, the first of equal ones; looks at no frame."""

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
        """The best plan."""
        values = [candidate.true_value() for candidate in candidates]
        chosen = max(range(len(values)), key=lambda n: -math.inf if values[n] is None else float(values[n]))  # type: ignore[arg-type]
        return Decision(candidates[chosen].plan, chosen, scores=tuple(values))
