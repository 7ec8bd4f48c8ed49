"""The closed loop: propose, simulate, revise, execute (World-in-World, section 3). It knows none of the tasks.

A task supplies its rules: how many decisions, when the episode is over, when a decision ends it, and how much of a
decision is carried out. The words are Gymnasium's: an episode is terminated by what happens in it, truncated by its
budget. Rollouts live for one decision.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.suites.closedloop.policies.contract import (
    ActionPlan,
    Candidate,
    Decision,
    History,
    PastDecision,
    Proposer,
    Reviser,
    Rollout,
    merge_plans,
)

FALLBACK = "fallback"
"""Flag of a plan that stands in where none was proposed."""
Action = TypeVar("Action")
"""What is carried out at once: a primitive of a walker, a pose of an arm."""
Taken = TypeVar("Taken", contravariant=True)


class Env(Protocol[Taken]):
    """The environment of an episode, much as in Gymnasium; what came of an action is for the rules to say."""

    def reset(self) -> Any:
        """Put everything where the episode starts; what is sensed there."""
        ...

    def observe(self) -> Any:
        """What is sensed here and now: a `HomeObservation`, or a `TableObservation`."""
        ...

    def turn(self, left_rad: float) -> None:
        """Turn on the spot, by any angle."""
        ...

    def step(self, action: Taken) -> bool:
        """Carry out one action.

        Returns:
            Whether it met something, or otherwise did not end as asked.
        """
        ...


class Rules(ABC, Generic[Action]):
    """What a task says to the loop about one episode: when it ends, and how much of a decision is carried out.

    Attributes:
        candidates: M, plans that are proposed at each decision.
        length: L, most primitives or poses of a plan.
        ratio: Share of decisions at which the world model is asked (TTS ratio).
        has_last_look: Whether one more decision is made after the budget is used up, of which nothing is carried out:
            tasks that ask for an answer let the last step be seen.
        checks_every_step: Whether `terminated` is also asked between the actions of a decision.
    """

    has_last_look = False
    checks_every_step = False

    def __init__(self, candidates: int, length: int, ratio: float) -> None:
        self.candidates, self.length, self.ratio = candidates, length, ratio

    def terminated(self) -> str | None:
        """Why the episode is over here and now, asked before every decision; None while it goes on."""
        return None

    @abstractmethod
    def truncated(self, history: History) -> bool:
        """Whether the budget is used up."""

    def terminated_by(self, decision: Decision) -> str | None:
        """Why a decision ends the episode before anything of it is carried out; None where it does not."""
        return None

    def terminated_after_actions(self) -> str | None:
        """Why the episode is over once a decision was carried out; None while it goes on."""
        return None

    def first_turn_rad(self, decision: Decision) -> float:
        """The turn to the left, in radians, with which a decision begins, at once; asked before `actions`."""
        return 0.0 if decision.plan is None else decision.plan.turn_left_rad

    @abstractmethod
    def actions(self, decision: Decision) -> Iterator[Action]:
        """What is carried out of a decision; the next action is drawn after the one before was taken."""

    def count_steps(self, steps: int, end: str) -> int:
        """How many actions an episode of `steps` steps that ended for the reason `end` took, by the task's count."""
        return steps

    @abstractmethod
    def true_value(self, plan: ActionPlan) -> float | None:
        """What a plan would really come to, higher is better; None where that is not known."""

    @abstractmethod
    def fallback(self, observation: Any, rng: np.random.Generator) -> ActionPlan:
        """The plan of a decision for which none was proposed, flagged `FALLBACK`."""

    def queries(self) -> Sequence[Any]:
        """Notes of what a language model was asked to carry decisions out, of all decisions so far."""
        return ()


class Imagine(Protocol):
    """Asks the world model. calls: rollouts that were asked of it so far."""

    calls: int

    def __call__(self, observation: Any, plans: Sequence[ActionPlan], number: int, /) -> Sequence[Rollout | None]:
        """All rollouts of decision `number`; for a plan that needs no model as well."""
        ...


class RemembersViews(Imagine, Protocol):
    """One that is also told what is seen between decisions."""

    def remember(self) -> None:
        """Keep what is seen now: asked at the start and after every action."""
        ...


@dataclass(frozen=True)
class LoopStep:
    """One decision and what was carried out of it, for the trace."""

    number: int
    observation: Any
    candidates: tuple[Candidate, ...]
    past: PastDecision
    imagined: bool
    turn_left_rad: float
    true_values: tuple[float | None, ...]
    reason: str | None


def run_episode(
    env: Env[Action],
    goal: Goal,
    proposer: Proposer[Any],
    reviser: Reviser[Any],
    rules: Rules[Action],
    imagine: Imagine | None,
    seed: Sequence[int],
    note: Callable[[LoopStep], None] = lambda step: None,
) -> str:
    """Act until the episode is over.

    Args:
        env: Where it happens, reset.
        goal: What the agent is told to do.
        proposer, reviser: The agent.
        rules: The task's.
        imagine: The world model; None for the base policy.
        seed: Of the episode; proposals, draws and revisions of every decision have generators of their own.
        note: Called with each decision once it is carried out.

    Returns:
        Why it is over: what the rules say, or "budget".
    """
    history: list[PastDecision] = []
    reason = rules.terminated()
    while reason is None:
        last = rules.truncated(history)
        number = len(history)
        observation = env.observe()
        plans = proposals(observation, goal, proposer, rules, history, [*seed, number])
        asked = imagine is not None and generator(seed, number, "draw").random() < rules.ratio
        rollouts = imagine(observation, plans, number) if asked and imagine is not None else [None] * len(plans)
        candidates = tuple(
            Candidate(plan, rollout, _true_value_of(rules, plan)) for plan, rollout in zip(plans, rollouts, strict=True)
        )
        decision = reviser.revise(candidates, observation, goal, history, generator(seed, number, "revise"))
        reason = rules.terminated_by(decision) or ("budget" if last else None)
        executed: list[Action] = []
        collided: list[bool] = []
        # Now, and not when they are written down: they are of where the agent stands before it acts.
        values = tuple(candidate.true_value() for candidate in candidates)
        turn = 0.0
        if reason is None:
            turn = rules.first_turn_rad(decision)
            if turn:
                env.turn(turn)
            for action in rules.actions(decision):
                collided.append(env.step(action))
                executed.append(action)
                if rules.checks_every_step and rules.terminated() is not None:
                    break
            reason = rules.terminated_after_actions()
        history.append(PastDecision(decision, tuple(executed), tuple(collided), observation.pose))
        reason = reason or rules.terminated()
        if reason is None and rules.truncated(history) and not rules.has_last_look:
            reason = "budget"
        note(LoopStep(number, observation, candidates, history[-1], asked, turn, values, reason))
    return reason


def proposals(
    observation: Any, goal: Goal, proposer: Proposer[Any], rules: Rules[Any], history: History, seed: Sequence[int]
) -> list[ActionPlan]:
    """The plans of one decision without repetitions: asked for twice, then what the task falls back on."""
    for again in range(2):
        rng = generator(seed, again, "propose")
        plans = merge_plans(proposer.propose(observation, goal, history, rules.candidates, rng))
        if plans:
            return plans
    return [rules.fallback(observation, generator(seed, 2, "propose"))]


def generator(seed: Sequence[int], number: int, purpose: str) -> np.random.Generator:
    """The generator of one purpose at one decision: what one draws changes nothing for another."""
    return np.random.default_rng([*seed, number, int.from_bytes(purpose.encode()[:6], "big")])


def _true_value_of(rules: Rules[Any], plan: ActionPlan) -> Callable[[], float | None]:
    return lambda: rules.true_value(plan)
