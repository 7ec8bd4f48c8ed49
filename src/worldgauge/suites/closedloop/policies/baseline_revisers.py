"""Baseline revisers that use nothing imagined: `none`, `random` and `oracle`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.suites.closedloop.policies.contract import (
    Candidate,
    Decision,
    History,
    HomeObservation,
    PolicyKit,
    revisers,
)

TASKS = ("navigation", "manipulation")


@revisers.register("none", tasks=TASKS, imagines=False)
class FirstReviser:
    """Takes the first candidate: what revision is worth is measured against it."""

    def __init__(self, kit: PolicyKit) -> None:
        pass

    def revise(
        self,
        candidates: Sequence[Candidate],
        observation: HomeObservation,
        goal: Goal,
        history: History,
        rng: np.random.Generator,
    ) -> Decision:
        """The first plan."""
        return Decision(candidates[0].plan, 0)


@revisers.register("random", tasks=TASKS, imagines=False)
class RandomReviser:
    """Takes a candidate by chance, equally likely each: a gain that is left then is not the model's."""

    def __init__(self, kit: PolicyKit) -> None:
        pass

    def revise(
        self,
        candidates: Sequence[Candidate],
        observation: HomeObservation,
        goal: Goal,
        history: History,
        rng: np.random.Generator,
    ) -> Decision:
        """One of the plans."""
        chosen = int(rng.integers(len(candidates)))
        return Decision(candidates[chosen].plan, chosen)


@revisers.register("oracle", tasks=TASKS, imagines=False)
class OracleReviser:
    """Takes the candidate of the highest true value, the first of equal ones: the most that choosing can bring."""

    def __init__(self, kit: PolicyKit) -> None:
        pass

    def revise(
        self,
        candidates: Sequence[Candidate],
        observation: HomeObservation,
        goal: Goal,
        history: History,
        rng: np.random.Generator,
    ) -> Decision:
        """The best plan."""
        values = [candidate.true_value() for candidate in candidates]
        chosen = max(range(len(values)), key=lambda n: -math.inf if values[n] is None else float(values[n]))  # type: ignore[arg-type]
        return Decision(candidates[chosen].plan, chosen, scores=tuple(values))
