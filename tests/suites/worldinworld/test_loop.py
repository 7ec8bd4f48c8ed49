"""The loop with scripted policies: budgets, stops, merging, fallbacks, generators that do not disturb each other."""

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from support.vectors import cases
from worldgauge.core.episode import Goal
from worldgauge.suites.worldinworld.loop import FALLBACK, LoopStep, Rules, generator, run_episode
from worldgauge.suites.worldinworld.navigation.task import NavigationRules
from worldgauge.suites.worldinworld.policies.contract import CONFIDENT, ActionPlan, Candidate, Decision, PlanSearch
from worldgauge.suites.worldinworld.recognition.task import RecognitionRules
from worldgauge.suites.worldinworld.task import LoopSettings
from worldgauge.worlds.walking.primitives import Primitive, Stance, from_letters

FORWARD = ActionPlan((Primitive.FORWARD,), "script")


def kind(name: str) -> list[Any]:
    return [case for case in cases("wiw_loop", "cases") if case.values[0]["kind"] == name]


class Place:
    """Counts steps; stands for a simulator where the rules ask one."""

    world = target = None

    def __init__(self, visible: Sequence[bool] = (), reach: int | None = None) -> None:
        self.taken = 0
        self.turned: list[float] = []
        self.visible = visible
        self.reach = reach
        self.stance = Stance(0.0, 0.0, 0.0)
        self.ground = self

    def observe(self) -> Any:
        class HomeSight:
            pose = np.eye(4)

        return HomeSight()

    def turn(self, left_rad: float) -> None:
        self.turned.append(left_rad)

    def step(self, primitive: Primitive) -> bool:
        self.taken += 1
        return False

    def led_to(self, turn_left_rad: float, steps: Sequence[Primitive]) -> Stance:
        return self.stance

    def steps_left(self, stance: Stance, goal: object, radius_m: float) -> float:
        return 3.0

    def target_around(self) -> bool:
        return self.visible[self.taken - 1]

    def distance(self, here: object, there: object) -> float:
        return 0.0 if self.reach is not None and self.taken >= self.reach else 9.0


class Proposals:
    def __init__(self, plans: Callable[[int], list[ActionPlan]]) -> None:
        self.plans = plans
        self.asked = 0

    def propose(self, observation: Any, goal: Goal, history: Any, n: int, rng: np.random.Generator) -> list[ActionPlan]:
        self.asked += 1
        return self.plans(len(history))


class Answers:
    def __init__(self, decide: Callable[[int, Sequence[Candidate]], Decision]) -> None:
        self.decide = decide

    def revise(
        self, candidates: Sequence[Candidate], observation: Any, goal: Goal, history: Any, rng: np.random.Generator
    ) -> Decision:
        return self.decide(len(history), candidates)


def first(number: int, candidates: Sequence[Candidate]) -> Decision:
    return Decision(candidates[0].plan, 0)


@pytest.mark.parametrize("case", kind("ar_trace"))
@pytest.mark.parametrize("budget", ["paper", "inclusive"])
def test_recognition_ends_as_the_vectors_say(case: dict[str, Any], budget: str) -> None:
    assert case["threshold"] == CONFIDENT
    settings = LoopSettings.of({"decisions": case["K"], "budget": budget, "protocol": "published"})
    place = Place(case["visible_after_action"])
    rules = RecognitionRules(place, settings.of_task("recognition"), settings)  # type: ignore[arg-type]
    asked: list[int] = []

    def answer(number: int, candidates: Sequence[Candidate]) -> Decision:
        asked.append(number)
        label, p = case["steps"][number]
        return Decision(candidates[0].plan, 0, answer=label, confidence=p)

    end = run_episode(place, Goal(), Proposals(lambda n: [FORWARD]), Answers(answer), rules, None, [1])
    if budget == "inclusive":
        assert rules.label == case["released"]["label"]
        assert rules.count_steps(place.taken, end) == case["released"]["traj_len"]
        return
    expected = case["expected"]
    assert (rules.label, end) == (expected["label"], expected["reason"])
    assert rules.confidence == pytest.approx(expected["best_p"], abs=1e-6)
    assert (rules.count_steps(place.taken, end), len(asked)) == (expected["actions"], expected["queries"])


class Looks(Place):
    """A place whose target is in the front view of some looks only."""

    def __init__(self, in_front: Sequence[bool]) -> None:
        super().__init__([True] * 9)
        self.in_front = in_front
        self.look = -1

    def observe(self) -> Any:
        box = (0, 0, 9, 9) if self.in_front[self.look] else None
        return SimpleNamespace(pose=np.eye(4), box=box)


@pytest.mark.parametrize(
    ("in_front", "answers", "label", "asked"),
    [
        ([True, True], [("sofa", 0.9), ("bed", 0.3)], "bed", 2),  # the last look counts, however unsure
        ([True, False], [("sofa", 0.9), ("bed", 0.94)], "sofa", 2),  # but not one that does not show the target
        ([True, True], [("sofa", 0.95), ("bed", 0.3)], "sofa", 1),  # nor is there one once the answer is sure
    ],
)
def test_recognition_answers_by_its_last_look_after_a_whole_plan(in_front, answers, label, asked):
    settings = LoopSettings.of({"task": "recognition"})
    place = Looks(in_front)
    rules = RecognitionRules(place, settings.of_task("recognition"), settings)  # type: ignore[arg-type]
    offered: list[int] = []

    def answer(number: int, candidates: Sequence[Candidate]) -> Decision:
        place.look = number
        offered.append(len(candidates))
        plan = candidates[0].plan if candidates else None
        return Decision(plan, 0 if candidates else None, answer=answers[number][0], confidence=answers[number][1])

    proposals = Proposals(lambda n: [ActionPlan((Primitive.FORWARD,) * 5, "script")])
    run_episode(place, Goal(), proposals, Answers(answer), rules, None, [1])
    assert (rules.label, len(offered)) == (label, asked)
    assert place.taken == (5 if asked == 2 else 0)
    assert offered == [1, 0][:asked], "nothing is proposed at a look after which nothing is done"
    assert proposals.asked == 1


@pytest.mark.parametrize("case", kind("imagenav_budget"))
@pytest.mark.parametrize("budget", ["paper", "inclusive"])
def test_navigation_spends_its_budget_as_the_vectors_say(case: dict[str, Any], budget: str) -> None:
    settings = LoopSettings.of({"decisions": case["K"], "budget": budget, "protocol": "published"})
    place = Place(reach=case["reach_after_actions"])
    rules = NavigationRules(place, Stance(9, 0, 0), 0.5, settings.of_task("navigation"), settings)  # type: ignore[arg-type]
    lengths = case["plan_lengths_cycle"]
    proposals = Proposals(lambda n: [ActionPlan((Primitive.FORWARD,) * lengths[n % len(lengths)], "script")])
    steps: list[LoopStep] = []
    end = run_episode(place, Goal(), proposals, Answers(first), rules, None, [1], steps.append)
    expected = case["released" if budget == "inclusive" else "expected"]
    assert {"actions": place.taken, "decisions": len(steps), "success": end == "arrived"} == expected


class TwoDecisions(Rules[Primitive]):
    """Two decisions, the whole plan; one more look where asked."""

    def __init__(self, place: Place, has_last_look: bool = False) -> None:
        super().__init__(3, 5, 1.0)
        self.place = place
        self.has_last_look = has_last_look

    def truncated(self, history: Sequence[Any]) -> bool:
        return len(history) >= 2

    def terminated_by(self, decision: Decision) -> str | None:
        return "declared" if decision.stop else None

    def actions(self, decision: Decision) -> Iterator[Primitive]:
        return iter(() if decision.plan is None else decision.plan.steps)

    def fallback(self, observation: Any, rng: np.random.Generator) -> ActionPlan:
        return ActionPlan((Primitive.FORWARD,) * self.length, "straight on", flags=(FALLBACK,))

    def true_value(self, plan: ActionPlan) -> float | None:
        return float(len(plan.steps))


def test_equal_plans_are_imagined_once_and_all_in_one_call() -> None:
    place, calls = Place(), []

    def imagine(observation: Any, plans: Sequence[ActionPlan], number: int) -> list[None]:
        calls.append([plan.steps for plan in plans])
        return [None] * len(plans)

    plans = [
        ActionPlan(from_letters("FL"), "a"),
        ActionPlan(from_letters("FL"), "b"),
        ActionPlan(from_letters("R"), "a"),
    ]
    run_episode(place, Goal(), Proposals(lambda n: plans), Answers(first), TwoDecisions(place), imagine, [1])
    assert calls == [[from_letters("FL"), from_letters("R")]] * 2


def test_plans_that_differ_in_what_they_aim_at_are_two() -> None:
    place, seen = Place(), []
    plans = [ActionPlan(from_letters("F"), "a", aim={"landmark": n}) for n in (1, 2)]

    def decide(number: int, candidates: Sequence[Candidate]) -> Decision:
        seen.append(len(candidates))
        return Decision(None)

    run_episode(place, Goal(), Proposals(lambda n: plans), Answers(decide), TwoDecisions(place), None, [1])
    assert seen == [2, 2]


def test_no_plan_is_asked_for_twice_then_replaced_and_flagged() -> None:
    place, steps = Place(), []
    proposals = Proposals(lambda n: [])
    run_episode(place, Goal(), proposals, Answers(first), TwoDecisions(place), None, [1], steps.append)
    assert (proposals.asked, [step.candidates[0].plan.flags for step in steps]) == (4, [("fallback",)] * 2)
    assert place.taken == 10


def test_a_stop_carries_nothing_out() -> None:
    place = Place()
    decide = Answers(lambda n, candidates: Decision(candidates[0].plan, 0, stop=True))
    assert (
        run_episode(place, Goal(), Proposals(lambda n: [FORWARD]), decide, TwoDecisions(place), None, [1]) == "declared"
    )
    assert place.taken == 0


@pytest.mark.parametrize(("has_last_look", "decisions"), [(False, 2), (True, 3)])
def test_the_last_look(has_last_look: bool, decisions: int) -> None:
    place, steps = Place(), []
    rules = TwoDecisions(place, has_last_look)
    end = run_episode(place, Goal(), Proposals(lambda n: [FORWARD]), Answers(first), rules, None, [1], steps.append)
    assert (end, len(steps), place.taken) == ("budget", decisions, 2)


def test_a_turn_at_once_comes_before_the_steps_and_its_end_is_told() -> None:
    place, steps = Place(), []
    plan = ActionPlan(from_letters("F"), "script", turn_left_rad=0.7)
    run_episode(
        place, Goal(), Proposals(lambda n: [plan]), Answers(first), TwoDecisions(place), None, [1], steps.append
    )
    assert (place.turned, [step.turn_left_rad for step in steps]) == ([0.7, 0.7], [0.7, 0.7])
    assert [step.reason for step in steps] == [None, "budget"]


def test_what_plans_are_worth_is_told_of_where_they_were_made() -> None:
    place, steps = Place(), []
    rules = TwoDecisions(place)
    rules.true_value = lambda plan: float(place.taken)  # type: ignore[method-assign]
    run_episode(place, Goal(), Proposals(lambda n: [FORWARD]), Answers(first), rules, None, [1], steps.append)
    assert [step.true_values for step in steps] == [(0.0,), (1.0,)]


@pytest.mark.parametrize(("ratio", "expected"), [(0.0, 0), (1.0, 400), (0.25, 100)])
def test_the_model_is_asked_at_a_share_of_decisions(ratio: float, expected: int) -> None:
    place, calls = Place(), []
    rules = TwoDecisions(place)
    rules.ratio = ratio
    rules.truncated = lambda history: len(history) >= 400  # type: ignore[method-assign]

    def imagine(observation: Any, plans: Sequence[ActionPlan], number: int) -> list[None]:
        calls.append(number)
        return [None] * len(plans)

    run_episode(place, Goal(), Proposals(lambda n: [FORWARD]), Answers(first), rules, imagine, [7])
    assert len(calls) == pytest.approx(expected, abs=30 if 0 < ratio < 1 else 0)


def test_what_one_purpose_draws_changes_nothing_for_another() -> None:
    drawn = {purpose: generator([3], 5, purpose).random() for purpose in ("propose", "revise", "draw")}
    assert (len(set(drawn.values())), generator([3], 5, "revise").random()) == (3, drawn["revise"])
    assert generator([3], 6, "revise").random() != drawn["revise"]


class Searching(PlanSearch):
    """Makes the plans it is told to, a list each round, and takes the last one that is there."""

    def __init__(self, *rounds: Sequence[ActionPlan]) -> None:
        self.rounds, self._further = 1 + len(rounds), iter(rounds)
        self.begun: list[tuple[Any, ...]] = []

    def begin(self, candidates: Sequence[Candidate], *given: Any) -> None:
        self.begun.append(([one.plan for one in candidates], *given))

    def further(self, candidates: Sequence[Candidate], *given: Any) -> Sequence[ActionPlan]:
        return next(self._further)

    def revise(self, candidates: Sequence[Candidate], *given: Any) -> Decision:
        return Decision(candidates[-1].plan, len(candidates) - 1)


def test_a_planner_has_its_own_plans_imagined_round_by_round() -> None:
    place, calls, steps = Place(), [], []

    def imagine(observation: Any, plans: Sequence[ActionPlan], number: int) -> list[None]:
        calls.append([plan.steps for plan in plans])
        return [None] * len(plans)

    left, right, two = (ActionPlan(from_letters(text), "a") for text in ("L", "R", "FF"))
    search, proposer = Searching([left, FORWARD], [right, two], [], [], []), Proposals(lambda n: [FORWARD])
    run_episode(place, Goal(), proposer, search, TwoDecisions(place), imagine, [1], steps.append)
    first_decision = [[from_letters("F")], [from_letters("L")], [from_letters("R"), from_letters("FF")]]
    assert calls == [*first_decision, [from_letters("F")]]  # the round without new plans ends the search
    assert ([len(step.candidates) for step in steps], steps[0].past.decision.chosen) == ([4, 1], 3)
    assert steps[0].true_values == (1.0, 1.0, 1.0, 2.0)
    history = [step.past for step in steps]
    assert search.begun == [([FORWARD], history, 3, proposer)] * 2, "once per decision, before any further plan"


def test_without_a_model_a_planner_searches_nothing() -> None:
    place, search = Place(), Searching([ActionPlan(from_letters("L"), "a")])
    steps: list[LoopStep] = []
    run_episode(place, Goal(), Proposals(lambda n: [FORWARD]), search, TwoDecisions(place), None, [1], steps.append)
    assert all(len(step.candidates) == 1 for step in steps)
    assert not search.begun
