"""Answers from what was really seen: the exact facts of things that covered enough of a real view."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldgauge.suites.closedloop.policies.contract import SIDES, Decision, HomeObservation
from worldgauge.suites.closedloop.questions.generate.episodes import SEEN_SHARE
from worldgauge.suites.closedloop.questions.parsed import ParsedQuestion, parse_question


class SeenThings:
    """What was seen in one episode, and the answer that follows from it.

    Attributes:
        asked: The question, as its words are read.
        things: Facts of the things seen so far, by object number.

    Args:
        question: The question.
    """

    def __init__(self, question: str) -> None:
        self.asked: ParsedQuestion = parse_question(question)
        self.things: dict[int, Any] = {}

    def look(self, observation: HomeObservation) -> None:
        """Add the things that cover SEEN_SHARE of one of the four real views."""
        enough = SEEN_SHARE * observation.camera.width * observation.camera.height
        for side in SIDES:
            numbers, counts = np.unique(observation.instances(side), return_counts=True)
            for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
                if number in observation.things and count >= enough:
                    self.things[number] = observation.things[number]

    def answer(self) -> Decision | None:
        """Return the decision that answers the question; None while what was seen does not justify an answer."""
        asked = self.asked
        found = None if asked.form is None else asked.form.answer(asked.slots, list(self.things.values()))
        if found is None:
            return None
        return Decision(None, answer=found.text, confidence=1.0, stop=True, notes={"seen": list(found.evidence)})
