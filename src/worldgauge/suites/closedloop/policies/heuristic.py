"""Random plans that do not undo themselves: the paper's heuristic proposal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.suites.closedloop.policies.contract import ActionPlan, History, HomeObservation, PolicyKit, proposers
from worldgauge.worlds.walking.primitives import Primitive, Steps

MAX_TURNS = 4
"""Equal turns in a row."""

_CHOICES = (Primitive.FORWARD, Primitive.TURN_LEFT, Primitive.TURN_RIGHT)
_INVERSE = {Primitive.TURN_LEFT: Primitive.TURN_RIGHT, Primitive.TURN_RIGHT: Primitive.TURN_LEFT}


@proposers.register("heuristic", tasks=("recognition", "navigation"), chat=False)
class HeuristicProposer:
    """Uniform over forward and the two turns: no turn is undone at once, and no more than four in a row are equal.

    Source: section 3 of the paper; for where seeds start, the released code.
    Options: seeds, "decision" (each decision draws its own plans) or "zero" (candidate number m is drawn with seed m
    at every decision, as the release does, so that the same plans come back unless a rule forbids their first turns).

    Raises:
        UsageError: On other seeds.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._length = kit.length
        seeds = kit.options.get("seeds", "decision")
        if seeds not in ("decision", "zero"):
            raise UsageError(f"seeds of the proposer 'heuristic' are 'decision' or 'zero', got {seeds!r}")
        self._from_zero = seeds == "zero"

    def propose(
        self, observation: HomeObservation, goal: Goal, history: History, n: int, rng: np.random.Generator
    ) -> Sequence[ActionPlan]:
        """n plans of L primitives each; some may be equal. It uses nothing but what was executed."""
        behind = executed(history)
        rngs = [np.random.default_rng(m) for m in range(n)] if self._from_zero else [rng] * n
        return [ActionPlan(_drawn(behind, self._length, one), "heuristic") for one in rngs]


def valid(history: Steps, plan: Steps) -> bool:
    """Whether a plan keeps the rules after the primitives of `history`, which itself is not checked.

    Vectors: wiw_loop.json, kind heuristic_valid.
    """
    behind = history
    for step in plan:
        if not _allowed(behind, step):
            return False
        behind = (*behind, step)
    return True


def executed(history: History) -> Steps:
    """All primitives that were executed, in order."""
    return tuple(step for past in history for step in past.executed)


def _allowed(behind: Steps, step: Primitive) -> bool:
    if step not in _INVERSE or not behind:
        return True
    return behind[-1] is not _INVERSE[step] and behind[-MAX_TURNS:] != (step,) * MAX_TURNS


def _drawn(behind: Steps, length: int, rng: np.random.Generator) -> Steps:
    plan: Steps = ()
    for _ in range(length):
        choices = [step for step in _CHOICES if _allowed((*behind, *plan), step)]
        plan = (*plan, choices[int(rng.integers(len(choices)))])
    return plan
