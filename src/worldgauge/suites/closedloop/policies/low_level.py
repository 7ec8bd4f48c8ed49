"""The low level of questions: a language model turns words into a few primitives at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from worldgauge.chat.client import AnswerError, Reply
from worldgauge.chat.pictures import sheet, titled
from worldgauge.chat.prompt_runner import kept, seed_of
from worldgauge.chat.prompts import Field
from worldgauge.core.image import Image
from worldgauge.suites.closedloop.policies.asking import asker_of
from worldgauge.suites.closedloop.policies.contract import ActionPlan, HomeObservation, PolicyKit
from worldgauge.suites.closedloop.policies.forms import plan_form
from worldgauge.suites.closedloop.policies.prompt_images import steps_in_words
from worldgauge.suites.closedloop.policies.reading import neutral_views, read_steps
from worldgauge.suites.closedloop.questions.travel import AT_ONCE, Leg
from worldgauge.worlds.walking.primitives import Primitive, Steps

ASKS = 30


class ChatLowLevel:
    """A `travel.LowLevel` for one episode.

    Args:
        kit: The language model and its options.
        question: Of the episode.
        rng: Of the episode; seeds of the queries are drawn from it in turn.
    """

    def __init__(self, kit: PolicyKit, question: str, rng: np.random.Generator) -> None:
        self._asker = asker_of(kit)
        self._asks = int(kit.options.get("asks", ASKS))
        self._question = question
        self._rng = rng
        self._seen: list[Image] = []

    @property
    def asked(self) -> list[dict[str, Any]]:
        """Notes of every query so far."""
        return list(self._asker.notes)

    def __call__(self, plan: ActionPlan, look: Callable[[], HomeObservation], past: Sequence[Leg]) -> Steps:
        """Up to 4 primitives, or STOP alone or as the last, also where no reply could be read.

        Raises:
            EndpointError: For an outage.
            BudgetError: When the budget is used up.
        """
        del self._seen[len(past) :]
        view = look().front
        words = neutral_views(str((plan.aim or {}).get("text") or "")) or "go on"

        def fields(squeeze: int) -> dict[str, Field]:
            return {
                "plan": words,
                "question": self._question,
                "earlier": self._earlier(past, squeeze),
                "view": view,
                "length": str(AT_ONCE),
            }

        def read(reply: Reply) -> Steps:
            return read_steps(reply.value["plan"], AT_ONCE, stop=True)

        try:
            steps = self._asker.ask(
                "questions-step", fields, read, seed=seed_of(self._rng), asks=self._asks, schema=plan_form("FLRS")
            ).value
        except AnswerError as error:
            self._asker.notes[-1]["fallback"] = str(error)
            return (Primitive.STOP,)
        self._seen.append(view)
        return steps

    def _earlier(self, past: Sequence[Leg], squeeze: int) -> Field:
        told = kept(list(zip(self._seen, past, strict=False)), squeeze)
        if not told:
            return "nothing" if not past else "left out here"
        cells = [
            titled(view, f"then: {steps_in_words(leg.steps)}{', met an obstacle' if leg.stuck else ''}")
            for view, leg in told
        ]
        return [sheet(cells)]
