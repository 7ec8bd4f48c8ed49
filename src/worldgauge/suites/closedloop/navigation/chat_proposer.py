"""Candidate plans from a language model that is shown the goal image."""

from __future__ import annotations

from collections.abc import Mapping

from worldgauge.chat.prompts import Field
from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.suites.closedloop.policies.chat_proposer import StepsProposer
from worldgauge.suites.closedloop.policies.contract import HomeObservation
from worldgauge.suites.closedloop.policies.prompt_images import around, goal_view


class NavigationProposer(StepsProposer):
    """Steps for navigation."""

    def fields(self, observation: HomeObservation, goal: Goal) -> Mapping[str, Field]:
        """The goal image, and the four views."""
        if goal.image is None:
            raise UsageError("navigation needs a goal image, and this episode has none")
        return {"goal": goal_view(goal.image, observation.camera), "views": around(observation)}
