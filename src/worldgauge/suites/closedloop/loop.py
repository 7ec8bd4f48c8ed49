"""The closed loop: propose, simulate, revise, execute (World-in-World, section 3). It knows none of the tasks.

A task supplies its rules: how many decisions, when the episode is over, when a decision ends it, and how much of a
decision is carried out. Rollouts live for one decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.suites.closedloop.policies.contract import (
    Candidate,
    Decision,
    History,
    Past,
    Plan,
    Proposer,
    Reviser,
    Rollout,
    merged,
)

FALLBACK = "fallback"
Does = TypeVar("Does", contravariant=True)
Done = TypeVar("Done", covariant=True)
Action = TypeVar("Action")
"""What is carried out at once: a primitive of a walker, a pose of an arm."""


class Place(Protocol[Does]):
    """What the loop needs of a simulator."""

    def observe(self) -> Any:
        """What is sensed here and now: an `Observation`, or a `TableObservation`."""
        ...

    def turn(self, left_rad: float) -> None:
        """Turn on the spot, by any angle."""
        ...

    def step(self, action: Does) -> bool:
        """Take one step; whether it met something, or otherwise did not end as asked."""
        ...


class Rules(Protocol[Done]):
    """What a task says. candidates: M. length: L. ratio: of the decisions at which the model is asked (TTS ratio).

    asks_last: whether one more decision is made after the budget is used up, of which nothing is carried out: tasks
    that ask for an answer let the last step be seen. every_step: whether `over` is also asked within a decision.
    """

    candidates: int
    length: int
    ratio: float
    asks_last: bool
    every_step: bool

    def over(self) -> str | None:
        """Why the episode is over here and now, asked before every decision; None when it is not."""
        ...

    def spent(self, history: History) -> bool:
        """Whether the budget is used up."""
        ...

    def ends(self, decision: Decision) -> str | None:
        """Why a decision ends the episode; None when it does not."""
        ...

    def turn(self, decision: Decision) -> float:
        """The turn to the left in radians with which a decision is begun, at once; asked before `steps`."""
        ...

    def steps(self, decision: Decision) -> Iterator[Done]:
        """What is carried out of a decision; asked for the next one after the step before has been taken."""
        ...

    def after(self) -> str | None:
        """Why the episode is over after a decision was carried out; None when it is not."""
        ...

    def counted(self, steps: int, end: str) -> int:
        """How many actions an episode of `steps` steps that ended for reason `end` took, by the task's count."""
        ...

    def true_value(self, plan: Plan) -> float | None:
        """What a plan would really come to, higher is better."""
        ...

    def fallback(self, observation: Any, rng: np.random.Generator) -> Plan:
        """The plan of a decision for which none was proposed, flagged `FALLBACK`."""
        ...


class Imagine(Protocol):
    """Asks the world model. calls: rollouts that were asked of it so far."""

    calls: int

    def __call__(self, observation: Any, plans: Sequence[Plan], number: int, /) -> Sequence[Rollout | None]:
        """All rollouts of decision `number`; for a plan that needs no model as well."""
        ...


@dataclass(frozen=True)
class Step:
    """One turn of the loop, for the trace."""

    number: int
    observation: Any
    candidates: tuple[Candidate, ...]
    past: Past
    imagined: bool
    turn_left_rad: float
    true_values: tuple[float | None, ...]
    reason: str | None


def run_episode(
    place: Place[Action],
    goal: Goal,
    proposer: Proposer[Any],
    reviser: Reviser[Any],
    rules: Rules[Action],
    imagine: Imagine | None,
    seed: Sequence[int],
    note: Callable[[Step], None] = lambda step: None,
) -> str:
    """Act until the episode is over; returns why: what the rules said, or "budget".

    imagine: None for the base policy. seed: of the episode; proposals, draws and revisions of every decision have
    generators of their own. note: called with each decision once it is carried out.
    """
    history: list[Past] = []
    reason = rules.over()
    while reason is None:
        last = rules.spent(history)
        number = len(history)
        observation = place.observe()
        plans = proposals(observation, goal, proposer, rules, history, [*seed, number])
        asked = imagine is not None and generator(seed, number, "draw").random() < rules.ratio
        rollouts = imagine(observation, plans, number) if asked and imagine is not None else [None] * len(plans)
        candidates = tuple(
            Candidate(plan, rollout, _later(rules, plan)) for plan, rollout in zip(plans, rollouts, strict=True)
        )
        decision = reviser.revise(candidates, observation, goal, history, generator(seed, number, "revise"))
        reason = rules.ends(decision) or ("budget" if last else None)
        executed: list[Action] = []
        collided: list[bool] = []
        # Now, and not when they are written down: they are of where the agent stands before it acts.
        values = tuple(candidate.true_value() for candidate in candidates)
        turn = 0.0
        if reason is None:
            turn = rules.turn(decision)
            if turn:
                place.turn(turn)
            for action in rules.steps(decision):
                collided.append(place.step(action))
                executed.append(action)
                if rules.every_step and rules.over() is not None:
                    break
            reason = rules.after()
        history.append(Past(decision, tuple(executed), tuple(collided), observation.pose))
        reason = reason or rules.over()
        if reason is None and rules.spent(history) and not rules.asks_last:
            reason = "budget"
        note(Step(number, observation, candidates, history[-1], asked, turn, values, reason))
    return reason


def proposals(
    observation: Any, goal: Goal, proposer: Proposer[Any], rules: Rules[Any], history: History, seed: Sequence[int]
) -> list[Plan]:
    """The plans of one decision without repetitions: asked for twice, then what the task falls back on."""
    for again in range(2):
        rng = generator(seed, again, "propose")
        plans = merged(proposer.propose(observation, goal, history, rules.candidates, rng))
        if plans:
            return plans
    return [rules.fallback(observation, generator(seed, 2, "propose"))]


def generator(seed: Sequence[int], number: int, purpose: str) -> np.random.Generator:
    """The generator of one purpose at one decision: what one draws changes nothing for another."""
    return np.random.default_rng([*seed, number, int.from_bytes(purpose.encode()[:6], "big")])


def _later(rules: Rules[Any], plan: Plan) -> Callable[[], float | None]:
    return lambda: rules.true_value(plan)
