"""Candidate plans of poses for an arm from a language model that is shown the table."""

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
    """Plans of up to L poses, for manipulation.

    Attributes:
        asked: How the last plans were asked for, for the trace.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._length = kit.length
        self._asker = asker_of(kit)
        self._asks = int(kit.options.get("asks", ASKS))
        self.asked: list[dict[str, Any]] = []

    def propose(
        self, observation: TableObservation, goal: Goal, history: History, n: int, rng: np.random.Generator
    ) -> Sequence[ActionPlan]:
        """Ask for up to n plans with different poses; see `Proposer.propose`.

        If no reply can be read there are none, and the loop falls back on the task's own plan.

        Raises:
            EndpointError: For an outage.
            BudgetError: If the budget is used up.
            UsageError: If the goal has no instruction.
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
                # Another sample of the same prompt would not do better.
                break
            # The same poses in other words are the same plan.
            if all(plan.poses != other.poses for other in plans):
                plans.append(plan)
        self.asked = self._asker.taken()
        return plans
