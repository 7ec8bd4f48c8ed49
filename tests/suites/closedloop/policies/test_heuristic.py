"""Random plans that keep the heuristic's rules."""

from typing import Any

import numpy as np
import pytest

from support.vectors import cases
from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.suites.closedloop.policies.contract import Decision, PastDecision, PolicyKit, proposers
from worldgauge.suites.closedloop.policies.simple import HeuristicProposer, valid
from worldgauge.worlds.walking.primitives import Primitive, Steps

F, L, R = Primitive.FORWARD, Primitive.TURN_LEFT, Primitive.TURN_RIGHT
VALID = [case for case in cases("wiw_loop", "cases") if case.values[0]["kind"] == "heuristic_valid"]


def steps_of(words: list[str]) -> Steps:
    return tuple(Primitive[word.upper()] for word in words)


def history_of(steps: Steps) -> list[PastDecision]:
    return [PastDecision(Decision(None), (step,), (False,), np.eye(4)) for step in steps]


def drawn(history: Steps, n: int, seed: int, **options: Any) -> list[Steps]:
    proposer = HeuristicProposer(PolicyKit("recognition", 5, options=options))
    plans = proposer.propose(None, Goal(), history_of(history), n, np.random.default_rng(seed))  # type: ignore[arg-type]
    return [plan.steps for plan in plans]


@pytest.mark.parametrize("case", VALID)
def test_vectors(case: dict[str, Any]) -> None:
    assert valid(steps_of(case["history"]), steps_of(case["plan"])) is case["expected"]


def test_what_lies_behind_is_not_judged() -> None:
    assert valid((L, R, L, L, L, L, L), (F, R))
    assert not valid((L, R, L, L, L, L), (L,))


@pytest.mark.parametrize("history", [(), (L,), (R, R, R, R), (F, L, L, L)])
def test_every_plan_is_valid_and_of_full_length(history: Steps) -> None:
    plans = drawn(history, 300, 1)
    assert len(plans) == 300
    assert all(len(plan) == 5 and valid(history, plan) for plan in plans)


def test_first_steps_are_uniform_over_what_is_allowed() -> None:
    firsts = [plan[0] for plan in drawn((), 3000, 2)]
    assert all(abs(firsts.count(step) / 3000 - 1 / 3) < 0.03 for step in (F, L, R))
    after_left = [plan[0] for plan in drawn((L,), 2000, 3)]
    assert R not in after_left
    assert abs(after_left.count(F) / 2000 - 1 / 2) < 0.04


def test_decisions_draw_their_own_plans_and_the_release_does_not() -> None:
    assert drawn((), 3, 4) == drawn((), 3, 4)
    assert drawn((), 3, 4) != drawn((), 3, 5)
    assert drawn((), 3, 4, seeds="zero") == drawn((F,), 3, 5, seeds="zero")


def test_other_seeds_are_refused_and_it_is_registered() -> None:
    with pytest.raises(UsageError, match="'decision' or 'zero'"):
        HeuristicProposer(PolicyKit("navigation", 5, options={"seeds": "one"}))
    assert proposers.entry("heuristic").facts["tasks"] == ("recognition", "navigation")
