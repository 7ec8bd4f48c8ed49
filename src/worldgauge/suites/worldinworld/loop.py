"""The closed loop: propose, simulate, revise, execute (World-in-World, section 3). It knows none of the tasks.

A task supplies its rules: how many decisions, when the episode is over, when a decision ends it, and how much of a
decision is carried out. The words are Gymnasium's: an episode is terminated by what happens in it, truncated by its
budget. Rollouts live for one decision.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.image import Frames
from worldgauge.core.model import RolloutRequest, WorldModel
from worldgauge.engine.suite.contract import Stopwatch
from worldgauge.engine.suite.rollout import frames_made
from worldgauge.suites.worldinworld.policies.contract import (
    ActionPlan,
    Candidate,
    Decision,
    History,
    PastDecision,
    PlanSearch,
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
    """The environment of an episode, much as in Gymnasium; the rules decide what the result of an action means."""

    def reset(self) -> Any:
        """Put everything where the episode starts."""

    def observe(self) -> Any:
        """What is sensed now: a `HomeObservation`, or a `TableObservation`."""

    def turn(self, left_rad: float) -> None:
        """Turn on the spot, by any angle."""

    def step(self, action: Taken) -> bool:
        """Carry out one action; whether it collided, or otherwise did not end as asked."""


class Rules(ABC, Generic[Action]):
    """A task's rules for one episode: when it ends, and how much of a decision is carried out.

    Attributes:
        candidates: M, plans proposed at each decision.
        length: L, most primitives or poses of a plan.
        ratio: Share of decisions at which the world model is queried (TTS ratio).
        has_last_look: Whether one more decision, not carried out, follows the budget: an answer needs the last view.
        plans_at_last_look: Whether plans are imagined at that look too, for answers read from what was imagined.
        checks_every_step: Whether `terminated` is also queried between the actions of a decision.
    """

    has_last_look = False
    plans_at_last_look = True
    checks_every_step = False

    def __init__(self, candidates: int, length: int, ratio: float) -> None:
        self.candidates, self.length, self.ratio = candidates, length, ratio

    def terminated(self) -> str | None:
        """Why the episode is over now, asked before every decision; None while it goes on."""
        return None

    @abstractmethod
    def truncated(self, history: History) -> bool:
        """Whether the budget is used up."""

    def terminated_by(self, decision: Decision) -> str | None:
        """Why a decision ends the episode before anything of it is carried out; None where it does not."""
        return None

    def terminated_after_actions(self) -> str | None:
        """Why the episode is over after a decision was carried out; None while it goes on."""
        return None

    def first_turn_rad(self, decision: Decision) -> float:
        """The turn to the left, in radians, with which a decision begins; asked before `actions`."""
        return 0.0 if decision.plan is None else decision.plan.turn_left_rad

    @abstractmethod
    def actions(self, decision: Decision) -> Iterator[Action]:
        """Actions that are carried out of a decision; each is drawn after the one before was taken."""

    def count_steps(self, steps: int, end: str) -> int:
        """Number of actions of an episode by the task's count."""
        return steps

    @abstractmethod
    def true_value(self, plan: ActionPlan) -> float | None:
        """What a plan is really worth, higher is better; None where unknown."""

    @abstractmethod
    def fallback(self, observation: Any, rng: np.random.Generator) -> ActionPlan:
        """The plan of a decision for which none was proposed, flagged `FALLBACK`."""

    def queries(self) -> Sequence[Any]:
        """Notes of all queries so far to a language model that carries decisions out."""
        return ()


class Imagination(ABC):
    """Queries a world model, and stores what is seen between decisions.

    Attributes:
        speed: Through it the model is queried; an episode sets its own.
        asked: Frames requested so far; `made` is what the model generated, more if it declares lengths.
        caption: Sentence about the first view; None if unknown.
    """

    caption: str | None = None

    def __init__(self, model: WorldModel) -> None:
        self._model, self.speed = model, Stopwatch()
        self.calls = self.asked = self.made = 0

    def remember(self) -> None:  # noqa: B027 - most show the present view only
        """Store what is seen now; called at the start and after every action."""

    @abstractmethod
    def __call__(self, observation: Any, plans: Sequence[ActionPlan], number: int, /) -> Sequence[Rollout | None]:
        """All rollouts of decision `number`, also for a plan that needs no model."""

    def _query(self, requests: Sequence[RolloutRequest]) -> Sequence[Frames]:
        answers = self.speed.batch(self._model, requests)
        self.calls += len(requests)
        self.asked += sum(request.horizon for request in requests)
        self.made += sum(frames_made(self._model.spec, request.horizon) for request in requests)
        return answers


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
    imagine: Imagination | None,
    seed: Sequence[int],
    note: Callable[[LoopStep], None] = lambda step: None,
) -> str:
    """Act until the episode is over; without a world model by the base policy."""
    history: list[PastDecision] = []
    reason = rules.terminated()
    while reason is None:
        last = rules.truncated(history)
        number = len(history)
        observation = env.observe()
        plans: list[ActionPlan] = []
        if rules.plans_at_last_look or not last:
            plans = proposals(observation, goal, proposer, rules, history, [*seed, number])
        asked = imagine is not None and bool(plans) and generator(seed, number, "draw").random() < rules.ratio
        rollouts = imagine(observation, plans, number) if asked and imagine is not None else [None] * len(plans)
        candidates = _candidates(rules, plans, rollouts)
        if asked and imagine is not None and isinstance(reviser, PlanSearch):
            reviser.begin(candidates, history, rules.candidates, proposer)
            candidates = _searched(candidates, reviser, observation, goal, rules, imagine, [*seed, number])
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
    """The plans of one decision without repetitions: the proposer is asked twice, then the task's fallback is used."""
    for again in range(2):
        rng = generator(seed, again, "propose")
        plans = merge_plans(proposer.propose(observation, goal, history, rules.candidates, rng))
        if plans:
            return plans
    return [rules.fallback(observation, generator(seed, 2, "propose"))]


def _searched(
    candidates: tuple[Candidate, ...],
    reviser: PlanSearch,
    observation: Any,
    goal: Goal,
    rules: Rules[Any],
    imagine: Imagination,
    seed: Sequence[int],
) -> tuple[Candidate, ...]:
    """The candidates, and those of the rounds that a planner adds to them."""
    for again in range(1, reviser.rounds):
        rng = generator(seed, again, "search")
        known = [candidate.plan for candidate in candidates]
        plans = reviser.further(candidates, observation, goal, rules.candidates, rng)
        plans = merge_plans([*known, *plans])[len(known) :]
        if not plans:
            break
        candidates += _candidates(rules, plans, imagine(observation, plans, seed[-1]))
    return candidates


def generator(seed: Sequence[int], number: int, purpose: str) -> np.random.Generator:
    """The generator of one purpose at one decision; draws of one purpose do not affect another."""
    return np.random.default_rng([*seed, number, int.from_bytes(purpose.encode()[:6], "big")])


def _candidates(
    rules: Rules[Any], plans: Sequence[ActionPlan], rollouts: Sequence[Rollout | None]
) -> tuple[Candidate, ...]:
    pairs = zip(plans, rollouts, strict=True)
    return tuple(Candidate(plan, rollout, partial(rules.true_value, plan)) for plan, rollout in pairs)
