"""A language model as the agent of navigation: candidate plans, and the choice among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from worldgauge.chat.prompt_runner import seed_of
from worldgauge.chat.prompts import Field
from worldgauge.chat.reply import AnswerError
from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.core.image import Image
from worldgauge.suites.worldinworld.policies.asking import (
    ARRIVED,
    around,
    ask_index,
    asker_of,
    film_strip,
    goal_view,
    in_turn,
    kind_of,
    past_in_words,
    plan_form,
    read_steps,
)
from worldgauge.suites.worldinworld.policies.chat import ChatProposer
from worldgauge.suites.worldinworld.policies.contract import (
    ActionPlan,
    Candidate,
    Candidates,
    Decision,
    History,
    HomeObservation,
    PolicyKit,
    Rng,
)


def _goal_seen(observation: HomeObservation, goal: Goal) -> Image:
    if goal.image is None:
        raise UsageError("navigation needs a goal image, and this episode has none")
    return goal_view(goal.image, observation.camera)


class NavigationProposer(ChatProposer):
    """Steps for navigation."""

    def fields(self, observation: HomeObservation, goal: Goal, history: History, squeeze: int) -> Mapping[str, Field]:
        """The goal image, and the four views."""
        past = past_in_words(history, squeeze)
        return {"history": past, "goal": _goal_seen(observation, goal), "views": around(observation)}


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
        self, candidates: Candidates, observation: HomeObservation, goal: Goal, history: History, rng: Rng
    ) -> Decision:
        """Choose a plan (the first without rollouts or, flagged, a readable reply), or stop to announce arrival."""
        wanted = _goal_seen(observation, goal)
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
        views = around(observation)
        try:
            return self._asker.ask(
                "navigation-stop",
                lambda squeeze: {"goal": wanted, "views": views, "history": past_in_words(history, squeeze)},
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
                steps = self._asker.ask(
                    "navigation-rewrite",
                    lambda squeeze: {**_shown(candidates, wanted, squeeze), "length": str(self._length)},
                    lambda reply: read_steps(reply.value["plan"], self._length),
                    seed=seed,
                    asks=self._asks,
                    schema=plan_form("FLR"),
                ).value
                return ActionPlan(steps, "chat"), None
            index = ask_index(
                self._asker,
                "navigation-select",
                lambda squeeze: _shown(candidates, wanted, squeeze),
                len(candidates),
                seed=seed,
                asks=self._asks,
            )
        except AnswerError as error:
            notes["fallback"] = str(error)
            index = 0
        return candidates[index].plan, index


def _shown(candidates: Sequence[Candidate], wanted: Image, squeeze: int) -> dict[str, Field]:
    strips = [[] if one.rollout is None else film_strip(one.plan, one.rollout, squeeze) for one in candidates]
    return {"goal": wanted, "candidates": in_turn(candidates, strips)}
