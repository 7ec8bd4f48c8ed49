"""Agents that do not plan: none of them makes a claim of MineAnyBuild, and an honest one does."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from support.task_context import QuietContext
from worldgauge.core.agent import Agent, AgentSpec, Answer, Problem, agents
from worldgauge.engine.collect import collect
from worldgauge.engine.suite.contract import Score, Task
from worldgauge.report.compare import ReportVerdict, verdict_of_kinds
from worldgauge.report.evidence import ComparedRun, Evidence
from worldgauge.report.wording import Vocabulary
from worldgauge.suites.mineanybuild.agents import Castle, CopyExample, Reader, castle, limits_of, read_stated
from worldgauge.suites.mineanybuild.answer_forms import fenced
from worldgauge.suites.mineanybuild.format import BUILD_KINDS
from worldgauge.suites.mineanybuild.generate.commonsense import commonsense
from worldgauge.suites.mineanybuild.scoring import HEADLINE
from worldgauge.suites.mineanybuild.suite import MineAnyBuild

QUESTIONS = 5
"""Of the 36 about a figure; enough, since figures are the clusters."""


class Cheat:
    """An agent under a name of its own."""

    def __init__(self, name: str, build: Callable[[Problem], str], choice: int = 0, words: str = "") -> None:
        self.spec = AgentSpec(name)
        self._build, self._choice, self._words = build, choice, words

    def answer(self, problem: Problem) -> Answer:
        if problem.kind in BUILD_KINDS:
            return Answer(self._build(problem))
        if problem.choices:
            return Answer(problem.choices[self._choice])
        return Answer(self._words or self.room(problem.instruction))

    def room(self, question: str) -> str:
        sided = re.match(r".*\b(left|right)\b.*\b(left|right)\b", question.lower())
        return "It is on the left." if sided else "No, it is not; it is blocked by the bookshelf, move it."


class Prior(Cheat):
    """Knows what is asked most often: the commonest first word of answers to questions that begin alike."""

    def room(self, question: str) -> str:
        start = question.split()[:3]
        alike = [one.answer for one in commonsense(11, 120) if one.question.split()[:3] == start]
        return Counter(alike or ["Yes."]).most_common(1)[0][0]


def one_castle(problem: Problem) -> str:
    height, depth, width = limits_of(problem)
    return fenced(castle(len(problem.materials))[:height, :depth, :width])


def by_reader(problem: Problem) -> str:
    return Reader().answer(problem).text


def castle_if_creative(problem: Problem) -> str:
    return one_castle(problem) if problem.kind == "creativity" else by_reader(problem)


def by_example(problem: Problem) -> str:
    return CopyExample().answer(problem).text


def of_materials(problem: Problem) -> str:
    """All materials of the brief in layers, in a box as large as it says, with every one of them in it."""
    stated = read_stated(problem.instruction, problem.materials, limits_of(problem))
    height, depth, width = stated.size or (8, 8, 8)
    layers = 1 + np.arange(height) % len(problem.materials)
    return fenced(np.broadcast_to(layers[:, None, None], (height, depth, width)).astype(np.int32))


CHEATS = {
    "castle-if-creative": Cheat("castle-if-creative", castle_if_creative),
    "castle-always": Cheat("castle-always", one_castle),
    "words": Cheat("words", by_reader),
    "copies-the-example": Cheat("copies-the-example", by_example),
    "first-choice": Cheat("first-choice", by_reader, 0, "Yes."),
    "last-choice-both-ways": Cheat("last-choice-both-ways", by_reader, -1, "Yes and no, on the left and on the right."),
    "materials-of-the-brief": Cheat("materials-of-the-brief", of_materials),
    "prior": Prior("prior", castle_if_creative),
}


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> list[Task]:
    """Tasks on 8 builds, 6 figures and 24 rooms."""
    root = tmp_path_factory.mktemp("builds")
    collect("mineanybuild", root, structures=8, stimuli=6, commonsense=24, size_px=64)
    seen: Counter[str] = Counter()
    found = []
    for task in MineAnyBuild().tasks(root):
        seen[task.cluster] += task.group["task"] == "reasoning"
        if task.group["task"] != "reasoning" or seen[task.cluster] <= QUESTIONS:
            found.append(task)
    return found


@pytest.fixture(scope="module")
def run_of(tasks: list[Task], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., ComparedRun]:
    """The run of an agent."""
    suite = MineAnyBuild()

    def run(name: str, agent: Agent, kind: str) -> ComparedRun:
        scores: list[Score] = []
        for task in tasks:
            context = QuietContext(tmp_path_factory.mktemp("task"), seed=crc32(task.id.encode()))
            scored = suite.score(suite.perform(task, agent, context), context)
            cluster = task.cluster or suite.cluster_of(task.id, task.group)
            scores += [replace(one, cluster=cluster) for one in scored if one.metric == HEADLINE]
        facts = {"settings": {}, "source": "data", "seed": 0, "model": {"address": name}}
        return ComparedRun(name, name, name, kind, (), None, facts, Path(name), tuple(scores), (), {})  # type: ignore[arg-type]

    return run


@pytest.fixture(scope="module")
def floors(run_of: Callable[..., ComparedRun]) -> list[ComparedRun]:
    """Runs of all floor baselines."""
    return [run_of(name, agents.get(name)(), "baseline") for name in MineAnyBuild.floor_baselines]


def say(*runs: ComparedRun) -> ReportVerdict:
    made, suite = Evidence("mineanybuild", {}, runs), MineAnyBuild
    words = Vocabulary.of(suite())
    found = verdict_of_kinds(
        made, HEADLINE, suite.claims, bounds=(0.0, 100.0), floor=suite.floor_baselines, flags={}, words=words
    )
    assert found is not None
    return found


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_makes_no_claim(name: str, run_of: Callable[..., ComparedRun], floors: list[ComparedRun]) -> None:
    said = say(run_of(name, CHEATS[name], "model"), *floors)
    assert said.headline.startswith(f"Nothing shows that {name} plans builds or places blocks that are listed or ")
    assert "reativity" not in said.headline


def test_an_agent_that_is_nearly_right_makes_the_claims_but_that_of_what_words_alone_get(
    run_of: Callable[..., ComparedRun], floors: list[ComparedRun]
) -> None:
    honest = run_of("degraded", agents.get("degraded")(), "model")
    said = say(honest, *floors)
    assert said.headline.startswith("degraded plans builds, rotates figures mentally and judges rooms, better than")
    assert any(line.startswith("Understanding:") and "is not shown" in line for line in said.support)
    # Without the reader and the castle there is no claim: the author cannot choose the floors.
    few = say(honest, *floors[2:])
    assert few.headline.startswith("Nothing shows that degraded ")
    assert few.support[0] == "No claim is made without the baselines reader and castle."


def test_the_castle_ignores_pictures_and_briefs() -> None:
    other = Problem("t", "creativity", "Build a ship.", 3, materials=("stone", "glass"), most=(50, 80, 80))
    assert Castle().answer(other).text == one_castle(
        Problem("u", "planning", "", 1, materials=("a", "b"), most=(50, 80, 80))
    )
