"""References that answer without a model: each does what its name says, for every kind of task."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from worldgauge.chat.prompts import Prompts
from worldgauge.core.agent import Agent, Answer, Problem, agents
from worldgauge.core.errors import NotApplicableError, UnknownNameError
from worldgauge.suites.mineanybuild.agents import example_of
from worldgauge.suites.mineanybuild.answer_forms import fenced
from worldgauge.suites.mineanybuild.format import BUILD_KINDS, KINDS, LIMITS, Kind
from worldgauge.suites.mineanybuild.metrics.blueprint_reading import read_blueprint

MATERIALS = ("stone_bricks", "glass", "oak_stairs[facing=north,half=bottom]")
REFERENCES = ("castle", "copy-example", "degraded", "empty", "random", "reader", "solid-box", "truth")
TRUE = fenced(np.array([[[1, 2], [3, 1]], [[2, -1], [-1, -1]]]))


def problem(kind: Kind, **more: object) -> Problem:
    choices = ("A", "B", "C", "D") if kind == "reasoning" else ()
    materials = MATERIALS if kind in BUILD_KINDS else ()
    instruction = "Construct a watchtower." if kind in BUILD_KINDS else "Which way is the door?"
    truth = TRUE if kind in BUILD_KINDS else "The truth."
    made = Problem("t1", kind, instruction, 7, choices=choices, materials=materials, most=LIMITS, truth=truth)
    return replace(made, **more)  # type: ignore[arg-type]


def said(name: str, asked: Problem) -> str:
    answer = agents.get(name)().answer(asked)
    assert isinstance(answer, Answer)
    return answer.text


def test_all_are_registered_and_keep_the_contract() -> None:
    assert {*REFERENCES, "chat"} <= set(agents.names())
    for name in REFERENCES:
        agent = agents.get(name)()
        assert isinstance(agent, Agent)
        assert agent.spec.name == name
        assert agent.spec.privileged is (name in ("truth", "degraded"))
    with pytest.raises(UnknownNameError, match="Did you mean 'solid-box'"):
        agents.get("solidbox")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", REFERENCES)
def test_same_task_and_seed_same_answer(name: str, kind: Kind) -> None:
    assert said(name, problem(kind)) == said(name, problem(kind))


@pytest.mark.parametrize("kind", BUILD_KINDS)
@pytest.mark.parametrize("name", [name for name in REFERENCES if name != "truth"])
def test_every_build_can_be_read(name: str, kind: Kind) -> None:
    reading = read_blueprint(said(name, problem(kind)), MATERIALS)
    assert reading.reason == ("no_blocks" if name == "empty" else None)
    assert reading.shape is not None
    assert reading.strict or name in ("empty", "copy-example")


def test_truth_empty_and_solid_box() -> None:
    # Truth repeats and has nothing of its own.
    assert said("truth", problem("commonsense")) == "The truth."
    with pytest.raises(NotApplicableError, match="task 't1' has no right answer"):
        said("truth", problem("creativity", truth=None))
    # Empty says nothing.
    assert said("empty", problem("planning")) == "```json\n[[[-1]]]\n```"
    assert said("empty", problem("reasoning")) == said("empty", problem("commonsense")) == ""
    # Solid box is full of the first material.
    built = read_blueprint(said("solid-box", problem("creativity")), MATERIALS).blueprint
    assert built.cells.shape == (8, 8, 8)
    assert built.counts() == {"stone_bricks": 512}
    sized = problem("planning", instruction="A hut 5 blocks wide (x), 4 blocks deep (z) and 3 blocks high.")
    built = read_blueprint(said("solid-box", sized), MATERIALS).blueprint
    assert built.cells.shape == (3, 4, 5)
    assert said("solid-box", problem("reasoning")) == "A"
    with pytest.raises(NotApplicableError, match="no materials"):
        said("solid-box", problem("planning", materials=()))


def test_the_castle_is_the_same_for_every_brief() -> None:
    briefs = [problem(kind, task=f"t{n}", instruction=f"Build number {n}.") for n, kind in enumerate(BUILD_KINDS)]
    (text,) = {said("castle", brief) for brief in briefs}
    assert read_blueprint(text, MATERIALS).blueprint.cells.shape == (14, 17, 17)
    small = read_blueprint(said("castle", problem("creativity", most=(3, 80, 2))), MATERIALS).blueprint
    assert small.cells.shape == (3, 17, 2)


def test_degraded_spoils_a_share_of_what_is_right() -> None:
    truth = read_blueprint(TRUE, MATERIALS).blueprint.cells
    shares = []
    for share in (0.0, 0.3, 1.0):
        agent = agents.get("degraded")(share=share)
        builds = [agent.answer(problem("planning", task=f"t{n}", seed=n)).text for n in range(200)]
        cells = np.stack([read_blueprint(text, MATERIALS).blueprint.cells for text in builds])
        assert ((cells == -1) == (truth == -1)).all(), "air stays air"
        shares.append(float((cells != truth)[:, truth != -1].mean()))
        kept = (
            sum(agent.answer(problem("reasoning", task=f"t{n}", seed=n)).text == "The truth." for n in range(200)) / 200
        )
        assert kept == pytest.approx(1 - share, abs=0.1)
    assert shares == [0.0, pytest.approx(0.3, abs=0.07), 1.0]
    with pytest.raises(NotApplicableError, match="no right answer"):
        said("degraded", problem("creativity", truth=None))


@pytest.mark.parametrize("name", ["random", "solid-box", "reader"])
def test_builds_stay_within_what_is_allowed(name: str) -> None:
    built = read_blueprint(said(name, problem("creativity", most=(3, 80, 2))), MATERIALS).blueprint
    assert built.cells.shape == (3, 8, 2)


def test_random_is_uniform_by_seed() -> None:
    # Random is uniform.
    letters = Counter(said("random", problem("reasoning", seed=n)) for n in range(2000))
    assert set(letters) == set("ABCD")
    # 4.5 standard deviations of a binomial of 2000 and 1/4.
    assert all(abs(count - 500) < 88 for count in letters.values())
    words = Counter(said("random", problem("commonsense", seed=n)) for n in range(400))
    assert sorted(words) == ["No, it is not.", "Yes, it is."]
    built = read_blueprint(said("random", problem("planning")), MATERIALS).blueprint
    cells = Counter(built.cells.ravel().tolist())
    assert set(cells) == {-1, 1, 2, 3}
    assert all(abs(count - 128) < 45 for count in cells.values())
    # Random depends on the seed alone: the name of a task is another one in every run.
    first = said("random", problem("planning"))
    assert first != said("random", problem("planning", seed=8))
    assert first == said("random", problem("planning", task="t2"))


@pytest.mark.parametrize(
    ("kind", "variant", "prompt"),
    [
        ("planning", "detailed", "planning-detailed"),
        ("planning", "simple", "planning-simple"),
        ("understanding", "", "understanding"),
        ("creativity", "", "creativity"),
        ("commonsense", "", "commonsense"),
    ],
)
def test_copy_example_repeats_what_the_prompt_shows(kind: Kind, variant: str, prompt: str) -> None:
    template = Prompts("worldgauge.suites.mineanybuild")[prompt]
    text = said("copy-example", problem(kind, variant=variant))
    assert f"Answer:\n{text}\nEnd of the example." in template.text
    assert "$" not in text


def test_copy_example_and_fenced_matrices() -> None:
    # Copy example without an example takes the first choice.
    assert said("copy-example", problem("reasoning", choices=("True", "False"))) == "True"
    assert example_of("Answer:\nunfinished") is None
    # Fenced matrices come back.
    rng = np.random.default_rng(3)
    for _ in range(20):
        cells = rng.choice(np.array([-1, 1, 2, 3], np.int32), rng.integers(1, 7, 3))
        reading = read_blueprint(fenced(cells), MATERIALS)
        if (cells == -1).all():
            assert reading.reason == "no_blocks"
            continue
        assert reading.strict
        assert (reading.blueprint.cells == cells).all()
