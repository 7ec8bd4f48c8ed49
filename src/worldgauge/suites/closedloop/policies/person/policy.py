"""`person`: somebody proposes plans on a page, and decides there where the reviser is `person` (docs/policies.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.image import Image
from worldgauge.suites.closedloop.policies.contract import (
    SIDES,
    ActionPlan,
    Candidate,
    Decision,
    History,
    HomeObservation,
    PolicyKit,
    letters,
    proposers,
    revisers,
)
from worldgauge.suites.closedloop.policies.person.desk import PERSON, Act, Seat, Turn, desk_here
from worldgauge.suites.closedloop.policies.process_proposer import aim_of
from worldgauge.suites.closedloop.report import drawing
from worldgauge.worlds.walking.primitives import STEP_M, TURN_DEG

TASKS = ("recognition", "navigation", "questions")
GUESS = 0.5
"""Confidence of an answer that comes with a plan: the person wants to see more. An answer alone is sure, 1."""


@proposers.register(PERSON, tasks=TASKS, chat=False)
class PersonProposer:
    """Asks a person for plans, on a page that shows what a policy in its own process is shown.

    A decision of the loop is a whole plan, so the person composes one and then has it carried out; what is seen on the
    way is not shown, as no policy sees it. Option: declared, whether the agent must say that it has arrived.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._kit = kit

    def propose(
        self, observation: HomeObservation, goal: Goal, history: History, n: int, rng: np.random.Generator
    ) -> Sequence[ActionPlan]:
        """Wait for up to n plans, one where nothing is imagined; see `Proposer.propose`.

        An answer or an end is a plan without steps whose aim says so, for the reviser `person`.

        Raises:
            AbandonedError: When nobody has had the page open for long.
        """
        turn = _turn(self._kit, observation, goal, history, n)
        if not turn.most and not turn.stops:
            return [ActionPlan((), PERSON, aim=aim_of(self._kit.task, "the budget is used up"))]
        act = desk_here().ask(turn)
        aim = _aim(self._kit.task, act)
        return [ActionPlan(steps, PERSON, aim=aim) for steps in act.plans or ((),)]


@revisers.register(PERSON, tasks=TASKS, chat=False, imagines=False, declares=True)
class PersonReviser:
    """Does what the person has said to the proposer `person`: carries out the plan, answers, or ends the episode."""

    def __init__(self, kit: PolicyKit) -> None:
        self._kit = kit

    def revise(
        self,
        candidates: Sequence[Candidate],
        observation: HomeObservation,
        goal: Goal,
        history: History,
        rng: np.random.Generator,
    ) -> Decision:
        """Decide as the person did; at a last look for which nothing was proposed, ask. See `Reviser.revise`.

        Raises:
            AbandonedError: When nobody has had the page open for long.
        """
        if not candidates:
            aim = _aim(self._kit.task, desk_here().ask(_turn(self._kit, observation, goal, history, 0)))
            plan = None
        else:
            plan = candidates[0].plan
            aim = dict(plan.aim or {})
        answer = aim.get("answer")
        if plan is not None and plan.steps:
            return Decision(plan, 0, answer, None if answer is None else GUESS)
        return Decision(None, None, answer, None if answer is None else 1.0, stop=True)


def _turn(kit: PolicyKit, observation: HomeObservation, goal: Goal, history: History, n: int) -> Turn:
    """The decision as the page shows it."""
    seat = desk_here().seat
    assert seat is not None  # an episode has begun
    left = seat.left(history)
    is_last = left is not None and left <= 0
    decides = seat.reviser == PERSON
    answers = decides and bool(goal.text or goal.choices)
    declares = decides and bool(kit.options.get("declared"))
    pictures: dict[str, Image] = {side: observation.view(side) for side in SIDES}
    if observation.box is not None:
        pictures["front"] = drawing.draw_box(pictures["front"], list(observation.box))
    if goal.image is not None:
        pictures["goal"] = goal.image
    told: dict[str, Any] = {
        "instruction": seat.instruction,
        "left": left,
        "total": seat.total,
        "unit": seat.unit,
        "notes": list(_notes(seat, kit, observation, goal, is_last=is_last)),
        "history": [{"steps": letters(tuple(past.executed)), "bumped": any(past.collided)} for past in history],
        "step": f"{STEP_M:g} m",
        "angle": f"{TURN_DEG:g} degrees",
    }
    return Turn(
        told,
        pictures,
        kit.length,
        0 if is_last else n if seat.imagines and not decides else min(n, 1),
        answers=answers,
        choices=tuple(goal.choices or ()) if answers else (),
        guesses=answers and bool(goal.choices) and not is_last,
        stops="I have arrived" if declares else "I do not know" if answers and is_last else "",
    )


def _notes(seat: Seat, kit: PolicyKit, observation: HomeObservation, goal: Goal, *, is_last: bool) -> Sequence[str]:
    """What somebody has to know of the rules, one sentence each. Nothing of it is the truth about the scene."""
    notes = []
    asks = bool(goal.text or goal.choices)
    if is_last:
        notes.append("This is the last look: nothing is carried out any more.")
    if asks and seat.reviser != PERSON:
        notes.append(f"You choose where to go. The answer is not yours: the reviser '{seat.reviser}' gives it.")
    if seat.imagines and seat.reviser != PERSON and not is_last:
        notes.append(f"A world model imagines your plans, and the reviser '{seat.reviser}' chooses one of them.")
    if goal.choices and observation.box is None:
        notes.append("The thing is not in the front view, so there is no red box, and no answer counts from here.")
    if goal.image is not None and not kit.options.get("declared"):
        notes.append("The episode ends by itself at a decision for which you stand at the goal.")
    if not seat.whole and not is_last:
        notes.append("Only the beginning of a plan is carried out (protocol=published).")
    return notes


def _aim(task: str, act: Act) -> dict[str, Any]:
    """What a plan is for; an answer and the end stand there, too."""
    said = "steps of a person" if act.plans else "a person's answer" if act.answer is not None else "a person ends it"
    aim = aim_of(task, said)
    return aim if act.answer is None else {**aim, "answer": act.answer}
