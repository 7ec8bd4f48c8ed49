"""The language model that answers questions about a home, and decides where to look for the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from worldgauge.chat.client import AnswerError, Reply
from worldgauge.chat.prompt_runner import Misread, seed_of
from worldgauge.chat.prompts import Field
from worldgauge.core.episode import Goal
from worldgauge.suites.closedloop.policies.asking import kind_of
from worldgauge.suites.closedloop.policies.contract import (
    ActionPlan,
    Candidate,
    Decision,
    History,
    HomeObservation,
    PolicyKit,
)
from worldgauge.suites.closedloop.policies.forms import CHOICE_AND_ANSWER
from worldgauge.suites.closedloop.policies.reading import read_answer, read_index
from worldgauge.suites.closedloop.questions.eqa_prompt import QuestionPrompter, QuestionScene


class Said(NamedTuple):
    """What one query returned.

    Attributes:
        plan: The plan.
        chosen: Index of the candidate that `plan` is; None for a plan of its own.
        answer: The answer, if it gave one.
    """

    plan: ActionPlan
    chosen: int | None
    answer: str | None


class QuestionReviser:
    """Answer and plan from one query that shows what was imagined; see `chat_reviser`."""

    def __init__(self, kit: PolicyKit) -> None:
        self._kind = kind_of(kit)
        self._inquiry = QuestionPrompter(kit)

    def revise(
        self,
        candidates: Sequence[Candidate],
        observation: HomeObservation,
        goal: Goal,
        history: History,
        rng: np.random.Generator,
    ) -> Decision:
        """Choose an answer or a plan; see `Reviser.revise`.

        An answer ends the episode if the same query, asked once more, brings one too; the second one counts. If no
        reply can be read, the first candidate is taken without an answer, flagged.

        Raises:
            EndpointError: For an outage.
            BudgetError: If the budget is used up.
        """
        scene = self._inquiry.look(observation, goal, history)
        seed = seed_of(rng)
        notes: dict[str, Any] = {"kind": self._kind}
        said = Said(candidates[0].plan, 0, None)
        try:
            said = self._query(scene, candidates, seed, 0)
            if said.answer is not None:
                notes["first_answer"], said = said.answer, said._replace(answer=None)
                said = self._query(scene, candidates, seed, 1)
        except AnswerError as error:
            notes["fallback"] = str(error)
        notes["asks"] = self._inquiry.asker.taken()
        return Decision(said.plan, said.chosen, said.answer, stop=said.answer is not None, notes=notes)

    def _query(self, scene: QuestionScene, candidates: Sequence[Candidate], seed: int, sample: int) -> Said:
        """Ask once: the first query (sample 0) or the one that confirms it (1)."""
        imagined = any(one.rollout is not None for one in candidates)
        if imagined and self._kind == "select":
            return self._selected(scene, candidates, seed, sample)
        name = "questions-plan-imagined" if imagined else "questions-plan"
        decided = scene.decide(name, seed=seed, sample=sample, samples=2, candidates=candidates if imagined else ())
        if self._kind == "select":
            return Said(candidates[0].plan, 0, decided.answer)
        return Said(scene.plan(decided), None, decided.answer)

    def _selected(self, scene: QuestionScene, candidates: Sequence[Candidate], seed: int, sample: int) -> Said:
        def fields(squeeze: int) -> dict[str, Field]:
            return {**scene.seen(squeeze), **scene.imagined(candidates), "count": str(len(candidates))}

        def read(reply: Reply) -> Said:
            answer = read_answer(reply.value["answer"])
            try:
                chosen = read_index(reply.value["choice"], len(candidates))
            except Misread:
                if answer is None:
                    raise
                chosen = 0  # an answer needs no plan
            return Said(candidates[chosen].plan, chosen, answer)

        asker, asks = self._inquiry.asker, self._inquiry.asks
        return asker.ask(
            "questions-select",
            fields,
            read,
            seed=seed,
            sample=sample,
            samples=2,
            asks=asks,
            schema=CHOICE_AND_ANSWER,
        ).value
