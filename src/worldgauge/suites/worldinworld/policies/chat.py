"""`chat`: a language model that proposes steps, or is shown what was imagined and decides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from worldgauge.chat.prompt_runner import seed_of
from worldgauge.chat.prompts import Field
from worldgauge.chat.reply import AnswerError, Reply
from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.suites.worldinworld.policies.asking import Form, asker_of, plan_form, read_steps
from worldgauge.suites.worldinworld.policies.contract import (
    ActionPlan,
    History,
    PolicyKit,
    Proposer,
    Reviser,
    Rng,
    proposers,
    revisers,
)
from worldgauge.suites.worldinworld.task import closed_loop_tasks, task_names

NAME = "chat"


@proposers.register(NAME, tasks=(), chat=True)
def chat_proposer(kit: PolicyKit) -> Proposer[Any]:
    """A language model proposes plans, sampled at temperature 1; prompts `*-propose` and `questions-plan`.

    It retries unreadable replies 30 times (manipulation: 12); without any plan, an arm gets one random pose, flagged.
    Options: temperature, top_p, max_tokens, asks (per plan); for questions open_heading and landmarks ("exact" or
    "detected").
    """
    own = closed_loop_tasks.get(kit.task).shared_proposers.get(NAME)
    if own is None:
        raise UsageError(f"no task '{kit.task}' for the proposer 'chat'")
    return own(kit)


class ChatProposer(ABC):
    """Plans of up to L primitives of a walker; a task says what the prompt holds, and may read other plans."""

    asks: ClassVar[int] = 30
    """Most requests for one plan (released code)."""
    form: ClassVar[Form] = plan_form("FLR")

    def __init__(self, kit: PolicyKit) -> None:
        self._length = kit.length
        self._asker = asker_of(kit)
        self._asks = int(kit.options.get("asks", self.asks))
        self._name = f"{kit.task}-propose"
        self.asked: list[dict[str, Any]] = []

    @abstractmethod
    def fields(self, observation: Any, goal: Goal, history: History, squeeze: int) -> Mapping[str, Field]:
        """What the prompt says of the goal, of what is seen and of the past."""

    def read(self, reply: Reply) -> ActionPlan:
        """The plan in a reply."""
        return ActionPlan(read_steps(reply.value["plan"], self._length), NAME)

    def propose(self, observation: Any, goal: Goal, history: History, n: int, rng: Rng) -> list[ActionPlan]:
        """Up to n plans, fewer where replies could not be read; see `Proposer.propose`."""
        seed = seed_of(rng)
        plans: list[ActionPlan] = []
        for sample in range(n):
            try:
                plan = self._asker.ask(
                    self._name,
                    lambda squeeze: {**self.fields(observation, goal, history, squeeze), "length": str(self._length)},
                    self.read,
                    seed=seed,
                    sample=sample,
                    samples=n,
                    asks=self._asks,
                    schema=self.form,
                )
            except AnswerError:
                # Another sample of the same question would fare no better.
                break
            plans.append(plan.value)
        self.asked = self._asker.taken()
        return plans


@revisers.register("chat", tasks=(), chat=True, imagines=True, declares=True)
def chat_reviser(kit: PolicyKit) -> Reviser[Any]:
    """A language model compares what was imagined; in recognition and questions it also gives the answer.

    After unreadable replies the decision falls back, noted as "fallback", "fallback_answer" or "stop_fallback"; an
    outage raises. Options: kind, "select" or "rewrite" (as released); declared (navigation: it first says if it has
    arrived); revision ("frames" or "described"); tracker ("geometry" or "sam2"); landmarks ("exact" or "detected");
    temperature, top_p, max_tokens, asks, top_logprobs.
    """
    own = closed_loop_tasks.get(kit.task).shared_revisers.get("chat")
    if own is None:
        able = (name for name in task_names() if closed_loop_tasks.get(name).shared_revisers.get("chat"))
        raise UsageError(f"no task '{kit.task}' for the reviser 'chat'; it knows {', '.join(able)}")
    return own(kit)
