"""Revisers that search at a table: `iterative` has a language model propose again, `resample` has the proposer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from worldgauge.chat.prompt_runner import seed_of
from worldgauge.chat.reply import AnswerError
from worldgauge.core.episode import Goal
from worldgauge.suites.worldinworld.manipulation.chat import ManipulationReviser, shown_with_strips
from worldgauge.suites.worldinworld.manipulation.process_proposer import farthest_points
from worldgauge.suites.worldinworld.manipulation.prompts import read_hand_plan
from worldgauge.suites.worldinworld.policies.asking import HAND_PLAN, OUTSIDE, plan_in_words, pose_in_words
from worldgauge.suites.worldinworld.policies.contract import (
    ActionPlan,
    Candidate,
    Candidates,
    Decision,
    History,
    PlanSearch,
    PolicyKit,
    Proposer,
    Rng,
    TableObservation,
    queries_of,
    revisers,
)

ITERATIONS = 4
REPROPOSE, RESAMPLE = "manipulation-repropose", "manipulation-resample"
Numbers = tuple[str, ...]


def numbers_of(plan: ActionPlan) -> Numbers:
    """What makes two plans one: the bins of their poses, as a language model reads and writes them."""
    said = ((pose_in_words(pose), pose) for pose in plan.poses)
    return tuple(str(tuple(pose)) if words == OUTSIDE else words for words, pose in said)


class LoggedPlan(NamedTuple):
    """A proposal; `tag` is the number of proposals before its round."""

    plan: ActionPlan
    tag: int


def vote(log: Sequence[LoggedPlan]) -> tuple[ActionPlan, list[int]]:
    """The plan of the last round that most rounds proposed, of equals the shortest, then the first; votes of each."""
    votes = Counter(numbers_of(one.plan) for one in log)
    last = [one.plan for one in log if one.tag == max(each.tag for each in log)]
    chosen = min(last, key=lambda plan: (-votes[numbers_of(plan)], len(plan.poses)))
    return chosen, [votes[numbers_of(one.plan)] for one in log]


def _decision(plan: ActionPlan, candidates: Candidates, notes: dict[str, Any]) -> Decision:
    """Take a plan: the candidate of the same numbers, if it is one."""
    own = [n for n, one in enumerate(candidates) if numbers_of(one.plan) == numbers_of(plan)]
    return Decision(candidates[own[0]].plan, own[0], notes=notes) if own else Decision(plan, notes=notes)


@revisers.register("iterative", tasks=("manipulation",), chat=True, imagines=True, prompts=(REPROPOSE,))
class IterativeReviser(ManipulationReviser, PlanSearch):
    """A language model proposes again after all its plans were imagined, until nothing is new; then proposals vote.

    Option iterations: most rounds of proposals, the proposer's included. The last ones are not imagined. The plan of
    the last round that most rounds proposed is taken, of equals the shortest, then the first.
    """

    def __init__(self, kit: PolicyKit) -> None:
        super().__init__(kit)
        self.rounds = int(kit.options.get("iterations", ITERATIONS)) - 1
        self._log: list[LoggedPlan] = []

    def begin(self, candidates: Candidates, history: History, n: int, proposer: Proposer[Any]) -> None:
        """Start the log of a decision; see `PlanSearch.begin`."""
        self._history, self._n = history, n
        self._log = [LoggedPlan(one.plan, 0) for one in candidates]
        self._notes: dict[str, Any] = {}
        self._settled = False

    def further(
        self, candidates: Candidates, observation: TableObservation, goal: Goal, n: int, rng: Rng
    ) -> list[ActionPlan]:
        """Proposals that were not imagined yet; see `PlanSearch.further`."""
        known = {numbers_of(one.plan) for one in candidates}
        proposed = self._propose(candidates, observation, goal, self._history, rng)
        new = [plan for plan in proposed if numbers_of(plan) not in known]
        self._settled = not new
        return new

    def revise(
        self, candidates: Candidates, observation: TableObservation, goal: Goal, history: History, rng: Rng
    ) -> Decision:
        """Let the proposals of all rounds vote; the first plan if nothing was imagined. See `Reviser.revise`."""
        if not self._log:
            return Decision(candidates[0].plan, 0)
        if not self._settled:
            self._propose(candidates, observation, goal, history, rng)
        plan, votes = vote(self._log)
        self._notes |= {
            "log": [plan_in_words(one.plan) for one in self._log],
            "tags": [one.tag for one in self._log],
            "votes": votes,
            "asks": self._asker.taken(),
        }
        self._log = []
        return _decision(plan, candidates, self._notes)

    def _propose(
        self, candidates: Candidates, observation: TableObservation, goal: Goal, history: History, rng: Rng
    ) -> list[ActionPlan]:
        """Ask for n plans and log them, each once."""
        seed, found = seed_of(rng), dict[Numbers, ActionPlan]()
        for sample in range(self._n):
            try:
                plan = self._asker.ask(
                    REPROPOSE,
                    lambda squeeze: {
                        **shown_with_strips(candidates, observation, goal, history, squeeze),
                        "count": str(len(candidates)),
                        "length": str(self._length),
                    },
                    lambda reply: read_hand_plan(reply.value, self._length),
                    seed=seed,
                    sample=sample,
                    samples=self._n,
                    asks=self._asks,
                    schema=HAND_PLAN,
                ).value
            except AnswerError as error:
                # Another sample of the same question would fare no better.
                self._notes["fallback"] = str(error)
                break
            found.setdefault(numbers_of(plan), plan)
        tag = len(self._log)
        self._log += [LoggedPlan(plan, tag) for plan in found.values()]
        return list(found.values())


@revisers.register("resample", tasks=("manipulation",), chat=True, imagines=True, prompts=(RESAMPLE,))
class ResampleReviser(ManipulationReviser, PlanSearch):
    """A language model takes a plan by descriptions of last frames, or has the proposer draw again.

    Of the drawn and the earlier plans, those are compared next that end farthest apart. Option iterations: most
    comparisons; if no plan is good enough in the last one, its last plan is taken (released code).
    """

    def __init__(self, kit: PolicyKit) -> None:
        super().__init__(kit)
        self.rounds = int(kit.options.get("iterations", ITERATIONS))
        self._compared: list[Numbers] = []

    def begin(self, candidates: Candidates, history: History, n: int, proposer: Proposer[Any]) -> None:
        """Compare the first candidates first; see `PlanSearch.begin`."""
        self._history, self._proposer = history, proposer
        self._compared = [numbers_of(one.plan) for one in candidates]
        self._notes: dict[str, Any] = {"choices": []}
        self._drawn: list[Any] = []
        self._taken: ActionPlan | None = None

    def further(
        self, candidates: Candidates, observation: TableObservation, goal: Goal, n: int, rng: Rng
    ) -> list[ActionPlan]:
        """Plans to compare next, if no plan is good enough; see `PlanSearch.further`."""
        self._taken = self._compare(RESAMPLE, candidates, goal, seed_of(rng))
        if self._taken is not None:
            return []
        self._drawn += queries_of(self._proposer)
        drawn = self._proposer.propose(observation, goal, self._history, n, rng)
        pool = {numbers_of(plan): plan for plan in [*drawn, *(one.plan for one in candidates)] if plan.poses}
        if pool:
            ends = farthest_points([plan.poses[-1][:3] for plan in pool.values()], n)
            self._compared = [list(pool)[index] for index in ends]
        return [pool[one] for one in self._compared if one in pool]

    def revise(
        self, candidates: Candidates, observation: TableObservation, goal: Goal, history: History, rng: Rng
    ) -> Decision:
        """Take the chosen plan, or compare for the last time; the first plan if nothing was imagined."""
        if not self._compared:
            return Decision(candidates[0].plan, 0)
        plan = self._taken or self._compare("manipulation-pick", candidates, goal, seed_of(rng))
        notes = {**self._notes, "asks": [*self._drawn, *self._asker.taken()]}
        last = self._shown(candidates)[-1].plan
        self._compared = []
        return _decision(last if plan is None else plan, candidates, notes)

    def _shown(self, candidates: Candidates) -> list[Candidate]:
        """Return the candidates that are compared now."""
        known = {numbers_of(one.plan): one for one in candidates}
        return [known[one] for one in self._compared]

    def _compare(self, prompt: str, candidates: Candidates, goal: Goal, seed: int) -> ActionPlan | None:
        """Return the plan that is chosen among those compared now; None if none is good enough."""
        shown = self._shown(candidates)
        try:
            index = self._by_words(prompt, shown, goal, seed, self._notes)
        except AnswerError as error:
            self._notes["fallback"] = str(error)
            index = 0
        self._notes["choices"].append(index)
        return None if index == -1 else shown[index].plan
