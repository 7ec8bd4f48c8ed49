"""Candidate plans from a language model that is shown the red box."""

from __future__ import annotations

from collections.abc import Mapping

from worldgauge.chat.prompts import Field
from worldgauge.core.episode import Goal
from worldgauge.suites.closedloop.policies.chat_proposer import StepsProposer
from worldgauge.suites.closedloop.policies.contract import HomeObservation
from worldgauge.suites.closedloop.recognition.target_view import target_in_words, target_now


class RecognitionProposer(StepsProposer):
    """Steps for recognition."""

    def fields(self, observation: HomeObservation, goal: Goal) -> Mapping[str, Field]:
        """The view with the red box, and where it is."""
        return {"view": target_now(observation), "where": target_in_words(observation)}
