"""A language model as the agent of navigation: candidate plans, and the choice among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from worldgauge.chat.prompt_runner import seed_of
from worldgauge.chat.prompts import Field
from worldgauge.chat.reply import AnswerError
from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.core.image import Image
from worldgauge.suites.closedloop.policies.asking import (
    ARRIVED,
    CHOICE,
    around,
    asker_of,
    film_strip,
    goal_view,
    in_turn,
    kind_of,
    past_in_words,
    plan_form,
    read_index,
    read_steps,
)
from worldgauge.suites.closedloop.policies.chat import StepsProposer
from worldgauge.suites.closedloop.policies.contract import (
    ActionPlan,
    Candidate,
    Decision,
    History,
    HomeObservation,
    PolicyKit,
)


class NavigationProposer(StepsProposer):
    """Steps for navigation."""

    def fields(self, observation: HomeObservation, goal: Goal) -> Mapping[str, Field]:
        """The goal image, and the four views."""
        if goal.image is None:
            raise UsageError("navigation needs a goal image, and this episode has none")
        return {"goal": goal_view(goal.image, observation.camera), "views": around(observation)}


ASKS = 30
"""Most requests for one choice or plan (released code)."""
STOP_ASKS = 5


class NavigationReviser:
    """A language model that compares what was imagined with the goal image; see `chat_reviser`."""

    def __init__(self, kit: PolicyKit) -> None:
        self._kind = kind_of(kit)
        self._length = kit.length
        self._declares = bool(kit.options.get("declared", False))
        self._asks = int(kit.options.get("asks", ASKS))
        self._asker = asker_of(kit)

    def revise(
        self,
        candidates: Sequence[Candidate],
        observation: HomeObservation,
        goal: Goal,
        history: History,
        rng: np.random.Generator,
    ) -> Decision:
        """Choose a plan, or stop if the agent has to announce its arrival and does; see `Reviser.revise`.

        The first candidate is taken if nothing was imagined, if there is only one and, flagged, if no reply can be
        read.
        """
        if goal.image is None:
            raise UsageError("navigation needs a goal image, and this episode has none")
        wanted = goal_view(goal.image, observation.camera)
        stop_seed, seed = seed_of(rng), seed_of(rng)
        notes: dict[str, Any] = {"kind": self._kind}
        if self._declares and self._arrived(observation, wanted, history, stop_seed, notes):
            notes["asks"] = self._asker.taken()
            return Decision(None, stop=True, notes=notes)
        plan, chosen = self._chosen(candidates, wanted, seed, notes)
        notes["asks"] = self._asker.taken()
        return Decision(plan, chosen, notes=notes)

    def _arrived(
        self, observation: HomeObservation, wanted: Image, history: History, seed: int, notes: dict[str, Any]
    ) -> bool:
        def fields(squeeze: int) -> dict[str, Field]:
            return {"goal": wanted, "views": around(observation), "history": past_in_words(history, squeeze)}

        try:
            return self._asker.ask(
                "navigation-stop",
                fields,
                lambda reply: bool(reply.value["arrived"]),
                seed=seed,
                asks=STOP_ASKS,
                schema=ARRIVED,
            ).value
        except AnswerError as error:
            notes["stop_fallback"] = str(error)
            return False

    def _chosen(
        self, candidates: Sequence[Candidate], wanted: Image, seed: int, notes: dict[str, Any]
    ) -> tuple[ActionPlan, int | None]:
        imagined = any(one.rollout is not None for one in candidates)
        if not imagined or (self._kind == "select" and len(candidates) == 1):
            return candidates[0].plan, 0
        try:
            if self._kind == "rewrite":
                return self._rewritten(candidates, wanted, seed), None
            index = self._asker.ask(
                "navigation-select",
                lambda squeeze: {**_shown(candidates, wanted, squeeze), "count": str(len(candidates))},
                lambda reply: read_index(reply.value["choice"], len(candidates)),
                seed=seed,
                asks=self._asks,
                schema=CHOICE,
            ).value
        except AnswerError as error:
            notes["fallback"] = str(error)
            index = 0
        return candidates[index].plan, index

    def _rewritten(self, candidates: Sequence[Candidate], wanted: Image, seed: int) -> ActionPlan:
        steps = self._asker.ask(
            "navigation-rewrite",
            lambda squeeze: {**_shown(candidates, wanted, squeeze), "length": str(self._length)},
            lambda reply: read_steps(reply.value["plan"], self._length),
            seed=seed,
            asks=self._asks,
            schema=plan_form("FLR"),
        ).value
        return ActionPlan(steps, "chat")


def _shown(candidates: Sequence[Candidate], wanted: Image, squeeze: int) -> dict[str, Field]:
    strips = [[] if one.rollout is None else film_strip(one.plan, one.rollout, squeeze) for one in candidates]
    return {"goal": wanted, "candidates": in_turn(candidates, strips)}
