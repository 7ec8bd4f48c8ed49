"""Candidate plans of poses from a language model that is shown a table, for an arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from worldgauge.agents.chat import AnswerError
from worldgauge.agents.contract import History, Kit, Plan, TableObservation
from worldgauge.agents.language.asking import Asker, seed_of
from worldgauge.agents.language.forms import HAND_PLAN
from worldgauge.agents.language.table import ASKS, read_hand_plan, table_now
from worldgauge.agents.prompts import Field
from worldgauge.episode import Goal


class TableProposer:
    """Plans of up to L poses, for manipulation. asked: how the last ones were, for the trace."""

    def __init__(self, kit: Kit) -> None:
        self._length = kit.length
        self._asker = Asker.of(kit)
        self._asks = int(kit.options.get("asks", ASKS))
        self.asked: list[dict[str, Any]] = []

    def propose(
        self, observation: TableObservation, goal: Goal, history: History, n: int, rng: np.random.Generator
    ) -> Sequence[Plan]:
        """Up to n plans, no two of the same poses; none where none can be read, for which the loop has a fallback.

        Raises EndpointError and BudgetError, UsageError for a goal without an instruction.
        """
        seed = seed_of(rng)

        def fields(squeeze: int) -> Mapping[str, Field]:
            return {**table_now(observation, goal, history, squeeze), "length": str(self._length)}

        plans: list[Plan] = []
        for sample in range(n):
            try:
                plan = self._asker.ask(
                    "manipulation-propose",
                    fields,
                    lambda reply: read_hand_plan(reply.value, self._length),
                    seed=seed,
                    sample=sample,
                    samples=n,
                    asks=self._asks,
                    schema=HAND_PLAN,
                ).value
            except AnswerError:
                # Another sample of the same question would fare no better.
                break
            # The same poses in other words lead to the same place.
            if all(plan.poses != other.poses for other in plans):
                plans.append(plan)
        self.asked = self._asker.taken()
        return plans
