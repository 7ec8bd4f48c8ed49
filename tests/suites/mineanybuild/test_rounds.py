"""Answers in other forms, and in rounds with feedback: prompts, scores per round, and a run that is killed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from support.chat_endpoint import FakeEndpoint, error, ok
from support.task_context import QuietContext
from worldgauge.chat.prompts import Prompts
from worldgauge.core.agent import AgentSpec, Answer, Problem, agents
from worldgauge.core.errors import UsageError
from worldgauge.engine.resume import RunKeys, _in_force
from worldgauge.engine.run import run
from worldgauge.engine.suite.contract import Score, Task
from worldgauge.suites.mineanybuild.agents import ChatAgent, example_of, template_of
from worldgauge.suites.mineanybuild.answer_forms import fenced
from worldgauge.suites.mineanybuild.feedback import MOST_PLACES, differences
from worldgauge.suites.mineanybuild.format import LIMITS
from worldgauge.suites.mineanybuild.metrics.blueprint_reading import read_blueprint
from worldgauge.suites.mineanybuild.protocol import truth_of
from worldgauge.suites.mineanybuild.scoring import HEADLINE
from worldgauge.suites.mineanybuild.suite import MineAnyBuild
from worldgauge.worlds.blocks.blueprint import Blueprint

FORMS = ("layers", "runs", "fills")
BUILDS = ("planning-detailed", "planning-simple", "understanding", "creativity")


def scores_of(task: Task, agent: object, folder: Path, **settings: object) -> dict[str, Score]:
    suite = MineAnyBuild(**settings)
    folder.mkdir(parents=True)
    context = QuietContext(folder, 0)
    return {score.metric: score for score in suite.score(suite.perform(task, agent, context), context)}


def first_task(builds: Path, kind: str) -> Task:
    return next(iter(MineAnyBuild(task=kind).tasks(builds)))


@pytest.mark.parametrize("form", FORMS)
def test_the_truth_gets_full_marks_in_each_form(builds: Path, tmp_path: Path, form: str) -> None:
    for number, kind in enumerate(("planning", "understanding")):
        for task in list(MineAnyBuild(task=kind).tasks(builds))[number::2]:
            found = scores_of(task, agents.get("truth")(), tmp_path / task.id, answer=form)
            assert found[HEADLINE].value == 100.0
            assert found[HEADLINE].facts["pieces"] > 0
    task = first_task(builds, "understanding")
    reader = scores_of(task, agents.get("reader")(), tmp_path / "reader", answer=form)
    assert reader["understanding/build_matching"].value == 10.0
    matrix = scores_of(task, agents.get("copy-example")(), tmp_path / "matrix")
    example = scores_of(task, agents.get("copy-example")(), tmp_path / "example", answer=form)
    assert example[HEADLINE].value == matrix[HEADLINE].value
    # A matrix is not what was requested: a failure with its reason, no build without blocks.
    wrong = scores_of(task, Says(fenced(truth_of(task).cells)), tmp_path / "wrong", answer=form)
    assert wrong[HEADLINE].value == 0.0
    assert wrong["understanding/build_executable"].facts["reason"] == "bad_line"


class Says:
    spec = AgentSpec("says")

    def __init__(self, text: str) -> None:
        self.text = text

    def answer(self, problem: Problem) -> str:
        return self.text


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", BUILDS)
def test_prompts_differ_by_the_form_alone(name: str, form: str) -> None:
    kind, _, variant = name.partition("-")
    problem = Problem("t", kind, "x", 0, variant, materials=("stone",), most=LIMITS, form=form)
    prompts = Prompts("worldgauge.suites.mineanybuild")
    own, template = prompts[name], template_of(problem, prompts)
    assert "matrix" not in template.text
    assert "-1" not in template.text.replace('"air": -1', "").replace("2-1", "")
    assert template.places == own.places
    assert template.label != own.label
    names = tuple(json.loads(re.search(r"^Materials: (\{.*\})$", own.text, re.MULTILINE)[1]))[1:]
    example = read_blueprint(example_of(template.text), names, form=form)  # type: ignore[arg-type]
    assert example.strict
    assert example.blueprint == read_blueprint(example_of(own.text), names).blueprint


def test_a_users_prompt_is_sent_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "creativity.txt").write_text("Fills, please: $materials $instruction $limits")
    prompts = Prompts("worldgauge.suites.mineanybuild", tmp_path)
    assert template_of(Problem("t", "creativity", "x", 0, form="fills"), prompts) == prompts["creativity"]


def test_settings_of_forms_and_rounds() -> None:
    plain, again = ({"answer": "matrix", "rounds": 1, "feedback": "pictures"}, {"rounds": 2})
    keys = [
        RunKeys(MineAnyBuild(**given), {}, 0).of_record("t", "f") for given in ({}, plain, again, {"answer": "runs"})
    ]
    assert len(set(keys)) == 3
    assert not {"answer", "rounds", "feedback", "answer_digest"} & set(_in_force(MineAnyBuild(**plain), frozenset()))
    assert MineAnyBuild(**plain).departures == MineAnyBuild().departures
    assert "answer=runs" in MineAnyBuild(answer="runs").departures[-1]
    with pytest.raises(UsageError, match="Did you mean 'layers'"):
        MineAnyBuild(answer="layer")
    with pytest.raises(UsageError, match="leave out parser=released"):
        MineAnyBuild(answer="runs", parity="released")
    with pytest.raises(UsageError, match="give rounds=2"):
        MineAnyBuild(feedback="differences")


class Repairs:
    """Begins with 16 blocks missing, and repairs half of what is wrong in each round."""

    spec = AgentSpec("repairs", inputs=frozenset({"truth"}))

    def answer(self, problem: Problem) -> str:
        truth = read_blueprint(problem.truth, problem.materials).blueprint
        if problem.previous is None:
            cells = truth.cells.copy()
            cells[tuple(np.argwhere(cells > 0)[:16].T)] = -1
        else:
            cells = read_blueprint(problem.previous, problem.materials).blueprint.cells.copy()
            wrong = np.argwhere(cells != truth.cells)
            repaired = tuple(wrong[: len(wrong) // 2].T)
            cells[repaired] = truth.cells[repaired]
        return fenced(cells)


def test_an_agent_that_repairs_half_of_its_errors(builds: Path, tmp_path: Path) -> None:
    task = first_task(builds, "planning")
    blocks = truth_of(task).blocks
    found = scores_of(task, Repairs(), tmp_path / "r", rounds=4, feedback="differences")
    missing = [16, 8, 4, 2]
    assert found["planning/build_matching"].value == pytest.approx(10 * (blocks - 2) / blocks)
    rounds = found[HEADLINE].facts["rounds"]
    expected = [100 * 2 * (blocks - n) / (2 * blocks - n) for n in missing]
    assert [one["f1"] for one in rounds] == pytest.approx(expected)
    assert rounds[-1]["full_marks"] == found[HEADLINE].value
    assert "rounds" not in scores_of(task, Repairs(), tmp_path / "one")[HEADLINE].facts
    table = next(
        one
        for one in MineAnyBuild().summarize({"a": list(found.values())}, {"a": "model"}, {"a": []})
        if one.metric == "planning/by_round"
    )
    assert [cell.mean for cell in table.rows[0].cells[4:]] == pytest.approx(expected)


class Notes:
    """Remembers its problems."""

    spec = AgentSpec("notes")

    def __init__(self, *answers: str) -> None:
        self.answers, self.seen = list(answers), []

    def answer(self, problem: Problem) -> Answer:
        self.seen.append(problem)
        return Answer(self.answers[len(self.seen) - 1])


def test_what_feedback_holds(builds: Path, tmp_path: Path) -> None:
    task = first_task(builds, "understanding")
    truth = truth_of(task)
    one = fenced(np.ones((1, 1, 1), np.int32))
    agent = Notes("no plan", one, one)
    scores_of(task, agent, tmp_path / "p", rounds=3)
    assert agent.seen[0].feedback == ()
    assert agent.seen[1].feedback == ("It cannot be built: no fenced part.",)
    text, views = agent.seen[2].feedback
    assert text.startswith("It was built: 1 blocks, 1 wide (x)")
    assert views.ndim == 3
    assert agent.seen[2].previous == one
    agent = Notes(one, one)
    scores_of(task, agent, tmp_path / "d", rounds=2, feedback="differences")
    (text,) = agent.seen[1].feedback
    assert f" of {truth.blocks}." in text
    assert not any(name in text for name in truth.materials)
    # Creativity has no right answer that differences could be from.
    agent = Notes(one, one)
    scores_of(first_task(builds, "creativity"), agent, tmp_path / "c", rounds=2, feedback="differences")
    assert agent.seen[1].feedback == ("It was built: 1 blocks, 1 wide (x), 1 deep (z) and 1 high (y).",)
    # Questions have one round.
    agent = Notes("A")
    scores_of(first_task(builds, "reasoning"), agent, tmp_path / "q", rounds=3)
    assert len(agent.seen) == 1


def test_differences_worked_by_hand() -> None:
    truth = Blueprint.of([[[*[1] * 80, 1, 2, -1]]], ["stone", "glass"])
    built = Blueprint.of([[[*[1] * 80, 2, -1, 1]], [[*[-1] * 82, 2]]], ["stone[axis=y]", "oak_planks"])
    assert list(differences(truth, built)) == [
        "Right blocks: 80 of 82. Of a wrong material: 1. Where air belongs: 2. Missing: 1.",
        "x=80, y=0, z=0: wrong material.",
        "x=81, y=0, z=0: a block is missing.",
        "x=82, y=0, z=0: air belongs here.",
        "x=82, y=1, z=0: air belongs here.",
    ]
    assert len(list(differences(truth, truth))) == 1
    solid = Blueprint(np.ones((9, 9, 9), np.int32), ("stone",))
    assert len(list(differences(truth, solid))) == 1 + 4
    assert len(list(differences(solid, truth))) == 1 + MOST_PLACES
    assert len(list(differences(Blueprint.of([[[1]]], ["stone"]), solid))) == 1 + 1


class Guesses:
    """Plans nothing: a full box, then another material or air wherever the feedback names an error."""

    spec = AgentSpec("guesses")

    def __init__(self, shape: tuple[int, int, int]) -> None:
        self.cells = np.ones(shape, np.int32)

    def answer(self, problem: Problem) -> str:
        for x, y, z, what in re.findall(r"x=(\d+), y=(\d+), z=(\d+): (\w+)", " ".join(map(str, problem.feedback))):
            cell = int(y), int(z), int(x)
            self.cells[cell] = -1 if what == "air" else 1 + self.cells[cell] % len(problem.materials)
        return fenced(self.cells)


def test_guessing_by_feedback_gains_no_more_than_the_places_named(builds: Path, tmp_path: Path) -> None:
    for task in list(MineAnyBuild(task="planning").tasks(builds))[::2]:
        truth = truth_of(task)
        agent = Guesses(truth.cells.shape)
        wrong = (agent.cells != truth.cells).sum()
        scores_of(task, agent, tmp_path / task.id, rounds=5, feedback="differences")
        repaired = wrong - (agent.cells != truth.cells).sum()
        assert 0 < repaired <= 4 * min(MOST_PLACES, max(1, truth.blocks // 20))


def test_rounds_by_a_language_model_go_on_where_they_were_lost(
    builds: Path, tmp_path: Path, endpoint: FakeEndpoint
) -> None:
    """The endpoint goes down in round 2: the next run asks for what is missing, and ends with the same bytes."""
    answers = [fenced(np.full((1, 1, n), 1, np.int32)) for n in (1, 2, 3)]

    def asked(name: str) -> object:
        model = ChatAgent(f"m@{endpoint.url}", recording=tmp_path / f"{name}-chat")
        settings = {"task": "understanding", "rounds": 3, "feedback": "differences"}
        return run("mineanybuild", model=model, data=builds, out=tmp_path / name, settings=settings, limit=1)

    endpoint.then(*(ok(one) for one in answers))
    assert asked("whole").counts.failed == 0
    said = [str(request.body["messages"]) for request in endpoint.asked]
    assert "This became of it" not in said[0]
    assert "It was built: 2 blocks" in said[2]
    endpoint.then(ok(answers[0]), error(401))
    assert asked("lost").counts.failed == 1
    count = len(endpoint.asked)
    endpoint.then(*(ok(one) for one in answers[1:]))
    assert asked("lost").counts.failed == 0
    assert len(endpoint.asked) == count + 2
    for pattern in ("*/records/*/answer*.txt", "*/scores.jsonl"):
        whole, lost = (sorted((tmp_path / name).glob(pattern)) for name in ("whole", "lost"))
        assert [path.name for path in whole] == [path.name for path in lost]
        assert [path.read_bytes() for path in whole] == [path.read_bytes() for path in lost]


KILLED = """
import os
from pathlib import Path
from worldgauge.core.agent import AgentSpec

class Mine:
    def __init__(self, log=""):
        self.once = Path(log)
        self.spec = AgentSpec("mine")

    def answer(self, problem):
        if problem.previous is not None and problem.feedback and not self.once.exists():
            self.once.touch()
            os.kill(os.getpid(), 9)
        cells = 1 if problem.previous is None else problem.previous.count("1") + 1
        return "```[[[" + ",".join("1" * cells) + "]]]```"
"""


@pytest.mark.slow
def test_a_worker_that_is_killed_in_round_2_ends_with_the_same_bytes(builds: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(KILLED)
    found = []
    for name in ("killed", "whole"):  # once is there for the second
        model = f"{tmp_path / 'mine.py'}:Mine?log={tmp_path / 'once'}"
        settings = {"task": "planning", "rounds": 3}
        result = run("mineanybuild", model=model, data=builds, out=tmp_path / name, settings=settings, limit=1)
        assert result.counts.failed == 0, result.failures
        paths = sorted((tmp_path / name).glob("*/records/*/answer*.txt"))
        found.append([path.read_bytes() for path in paths])
        assert len(paths) == 3
    assert found[0] == found[1]
    assert found[0][-1].count(b"1") == 3
