"""Candidate plans of poses from a language model that is shown a table, for an arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from worldgauge.chat.client import AnswerError
from worldgauge.chat.prompt_runner import seed_of
from worldgauge.chat.prompts import Field
from worldgauge.core.episode import Goal
from worldgauge.suites.closedloop.manipulation.prompts import ASKS, read_hand_plan, table_now
from worldgauge.suites.closedloop.policies.asking import asker_of
from worldgauge.suites.closedloop.policies.contract import ActionPlan, History, PolicyKit, TableObservation
from worldgauge.suites.closedloop.policies.forms import HAND_PLAN


class TableProposer:
    """Plans of up to L poses, for manipulation. asked: how the last ones were, for the trace."""

    def __init__(self, kit: PolicyKit) -> None:
        self._length = kit.length
        self._asker = asker_of(kit)
        self._asks = int(kit.options.get("asks", ASKS))
        self.asked: list[dict[str, Any]] = []

    def propose(
        self, observation: TableObservation, goal: Goal, history: History, n: int, rng: np.random.Generator
    ) -> Sequence[ActionPlan]:
        """Up to n plans, no two of the same poses; none where none can be read, for which the loop has a fallback.

        Raises:
            EndpointError: For an outage.
            BudgetError: When the budget is used up.
            UsageError: For a goal without an instruction.
        """
        seed = seed_of(rng)

        def fields(squeeze: int) -> Mapping[str, Field]:
            return {**table_now(observation, goal, history, squeeze), "length": str(self._length)}

        plans: list[ActionPlan] = []
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
