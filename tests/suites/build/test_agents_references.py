"""References that answer without a model: each does what its name says, for every kind of task."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from worldgauge.chat.prompts import Prompts
from worldgauge.core.agent import Agent, Answer, Problem, agents
from worldgauge.core.errors import NotApplicableError, UnknownNameError
from worldgauge.suites.build.agents import example_of, fenced
from worldgauge.suites.build.format import BUILD_KINDS, KINDS, LIMITS, Kind
from worldgauge.suites.build.metrics.blueprint_reading import read_blueprint

MATERIALS = ("stone_bricks", "glass", "oak_stairs[facing=north,half=bottom]")
REFERENCES = ("copy-example", "empty", "random", "reader", "solid-box", "truth")


def problem(kind: Kind, **more: object) -> Problem:
    choices = ("A", "B", "C", "D") if kind == "reasoning" else ()
    materials = MATERIALS if kind in BUILD_KINDS else ()
    instruction = "Construct a watchtower." if kind in BUILD_KINDS else "Which way is the door?"
    made = Problem("t1", kind, instruction, 7, choices=choices, materials=materials, most=LIMITS, truth="The truth.")
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
        assert agent.spec.privileged is (name == "truth")
    with pytest.raises(UnknownNameError, match="Did you mean 'solid-box'"):
        agents.get("solidbox")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", REFERENCES)
def test_same_task_and_seed_same_answer(name: str, kind: Kind) -> None:
    assert said(name, problem(kind)) == said(name, problem(kind))


@pytest.mark.parametrize("kind", BUILD_KINDS)
@pytest.mark.parametrize("name", ["copy-example", "empty", "random", "reader", "solid-box"])
def test_every_build_can_be_read(name: str, kind: Kind) -> None:
    reading = read_blueprint(said(name, problem(kind)), MATERIALS)
    assert reading.reason == ("no_blocks" if name == "empty" else None)
    assert reading.shape is not None
    assert reading.strict or name in ("empty", "copy-example")


def test_truth_repeats_and_has_nothing_of_its_own() -> None:
    assert said("truth", problem("commonsense")) == "The truth."
    with pytest.raises(NotApplicableError, match="task 't1' has no right answer"):
        said("truth", problem("creativity", truth=None))


def test_empty_says_nothing() -> None:
    assert said("empty", problem("planning")) == "```json\n[[[-1]]]\n```"
    assert said("empty", problem("reasoning")) == said("empty", problem("commonsense")) == ""


def test_solid_box_is_full_of_the_first_material() -> None:
    built = read_blueprint(said("solid-box", problem("creativity")), MATERIALS).blueprint
    assert built is not None
    assert built.cells.shape == (8, 8, 8)
    assert built.counts() == {"stone_bricks": 512}
    sized = problem("planning", instruction="A hut 5 blocks wide (x), 4 blocks deep (z) and 3 blocks high.")
    built = read_blueprint(said("solid-box", sized), MATERIALS).blueprint
    assert built is not None
    assert built.cells.shape == (3, 4, 5)
    assert said("solid-box", problem("reasoning")) == "A"
    with pytest.raises(NotApplicableError, match="no materials"):
        said("solid-box", problem("planning", materials=()))


@pytest.mark.parametrize("name", ["random", "solid-box", "reader"])
def test_builds_stay_within_what_is_allowed(name: str) -> None:
    built = read_blueprint(said(name, problem("creativity", most=(3, 80, 2))), MATERIALS).blueprint
    assert built is not None
    assert built.cells.shape == (3, 8, 2)


def test_random_is_uniform() -> None:
    letters = Counter(said("random", problem("reasoning", task=f"t{n}")) for n in range(2000))
    assert set(letters) == set("ABCD")
    # 4.5 standard deviations of a binomial of 2000 and 1/4.
    assert all(abs(count - 500) < 88 for count in letters.values())
    words = Counter(said("random", problem("commonsense", task=f"t{n}")) for n in range(400))
    assert sorted(words) == ["No, it is not.", "Yes, it is."]
    built = read_blueprint(said("random", problem("planning")), MATERIALS).blueprint
    assert built is not None
    cells = Counter(built.cells.ravel().tolist())
    assert set(cells) == {-1, 1, 2, 3}
    assert all(abs(count - 128) < 45 for count in cells.values())


def test_random_depends_on_seed_and_task() -> None:
    first = said("random", problem("planning"))
    assert first != said("random", problem("planning", seed=8))
    assert first != said("random", problem("planning", task="t2"))


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
    template = Prompts("worldgauge.suites.build")[prompt]
    text = said("copy-example", problem(kind, variant=variant))
    assert f"Answer:\n{text}\nEnd of the example." in template.text
    assert "$" not in text


def test_copy_example_without_an_example_takes_the_first_choice() -> None:
    assert said("copy-example", problem("reasoning", choices=("True", "False"))) == "True"
    assert example_of("Answer:\nunfinished") is None


def test_fenced_matrices_come_back() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        cells = rng.choice(np.array([-1, 1, 2, 3], np.int32), rng.integers(1, 7, 3))
        reading = read_blueprint(fenced(cells), MATERIALS)
        if (cells == -1).all():
            assert reading.reason == "no_blocks"
            continue
        assert reading.strict
        assert reading.blueprint is not None
        assert (reading.blueprint.cells == cells).all()
