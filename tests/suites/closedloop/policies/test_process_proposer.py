"""A policy of a walker in a process of its own: whole runs of three tasks, and how it may fail."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.served import MODELS, PYTHON
from support.served_policies import policies_of_this_test
from worldgauge.core.episode import Goal
from worldgauge.core.errors import SubjectError, UsageError
from worldgauge.core.geometry import Camera
from worldgauge.engine.run import run
from worldgauge.suites.closedloop.policies.contract import REFUSED, ActionPlan, PolicyKit
from worldgauge.suites.closedloop.policies.process_proposer import StepsProcess, checked_steps
from worldgauge.suites.closedloop.task import Settings
from worldgauge.worlds.walking.primitives import Primitive, letters


def at(target: str) -> str:
    return f"cmd:{PYTHON} -m worldgauge_serve '{MODELS / 'walkers.py'}:{target}'"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """No policy of another test; none is left behind."""
    with policies_of_this_test():
        yield


@pytest.mark.parametrize("task", ["navigation", "recognition", "questions"])
def test_a_script_acts_in_whole_episodes(episodes: Path, tmp_path: Path, task: str) -> None:
    settings = {
        "task": task,
        "proposer": "process",
        "policy": at("Ahead"),
        "decisions": 2,
        "candidates": 2,
        "view_px": 48,
        "panorama_px": 128,
        "judge": "rules",
    }
    result = run("closedloop", model=["none"], data=episodes, out=tmp_path, settings=settings)
    assert result is not None
    records = [json.loads(path.read_text()) for path in tmp_path.glob("none/records/*/record.json")]
    assert len(records) == 2
    decided = [one["facts"]["decisions"] for one in records]
    assert any(decided)
    for path, record in zip(tmp_path.glob("none/records/*/record.json"), records, strict=True):
        assert record["error"] is None
        assert record["facts"]["proposer"] == "process"
        trace = [json.loads(line) for line in (path.parent / "trace.jsonl").read_text().splitlines()]
        assert len(trace) == record["facts"]["decisions"]
        for step in trace:  # a policy that only goes straight on
            assert '"process"' in json.dumps(step)
            assert "fallback" not in json.dumps(step)
        assert record["facts"]["steps"] <= sum(range(1, 3))


def test_its_steps_are_those_that_are_carried_out(episodes: Path, tmp_path: Path) -> None:
    """In questions, too, where plans in words are carried out otherwise."""
    settings = {"proposer": "process", "policy": at("Ahead?how=turning"), "view_px": 48, "panorama_px": 128}
    executed: list[str] = []
    for task in ("navigation", "questions"):
        asked = {**settings, "task": task, "candidates": 1, "decisions": 3}
        run("closedloop", model=["none"], data=episodes, out=tmp_path / task, settings=asked)
        for path in (tmp_path / task).glob("none/records/*/trace.jsonl"):
            executed += [json.loads(line)["executed"] for line in path.read_text().splitlines()]
    assert len(executed) > 6
    assert set(executed) <= {"R", ""}  # nothing where the reviser answers


def test_two_plans_and_what_is_wrong_with_others() -> None:
    assert checked_steps(np.array([[1, 0], [2, 3], [0, 0]]), 2, "it") == [
        (Primitive.FORWARD,),
        (Primitive.TURN_LEFT, Primitive.TURN_RIGHT),
    ]
    for answer, words in (
        ([[1, 1, 1]], "plans of 3 steps"),
        ([[0, 1]], "0 after the last one"),
        ([[4, 0]], "steps are 1, 2 or 3"),
        ([[1.5, 0]], "steps are 1, 2 or 3"),
        ([[float("nan"), 0]], "steps are 1, 2 or 3"),
    ):
        with pytest.raises(SubjectError, match=words):
            checked_steps(np.array(answer), 2, "it")


class Sight:
    camera = Camera.from_horizontal_fov(8, 8, 90)
    box = None

    def view(self, side: str) -> Any:
        return np.zeros((8, 8, 3), np.uint8)


def proposed(target: str) -> list[ActionPlan]:
    kit = PolicyKit("recognition", 3, options={"policy": at(target)})
    return list(StepsProcess(kit).propose(Sight(), Goal(), [], 2, np.random.default_rng(0)))  # type: ignore[arg-type]


def test_what_breaks_a_promise_is_one_failed_step() -> None:
    assert [letters(plan.steps) for plan in proposed("Ahead")] == ["F", "FF"]
    for how, words in (("wrong step", "steps are 1, 2 or 3"), ("too long", "plans of 4 steps"), ("gap", "0 after")):
        (plan,) = proposed(f"Ahead?how={how.replace(' ', '%20')}")
        assert plan.flags == (REFUSED,)
        assert words in plan.aim["text"]  # type: ignore[index]
    assert proposed("Ahead?how=none") == []


def test_a_policy_of_an_arm_is_refused_and_none_is_told() -> None:
    with pytest.raises(UsageError, match="a policy is of kind 'policy', layout 'steps'"):
        proposed("Ahead?layout=things")
    with pytest.raises(UsageError, match="say which with --set policy="):
        Settings.of({"task": "navigation", "proposer": "process"})
