"""Prompts of the build suite: whole, and with examples that do what they tell others to do."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from worldgauge.chat.prompt_runner import Misread
from worldgauge.chat.prompts import Prompts
from worldgauge.core.errors import UsageError
from worldgauge.suites.mineanybuild.agents import example_of, read_layers, read_stated
from worldgauge.suites.mineanybuild.critics import DIMENSIONS
from worldgauge.suites.mineanybuild.critics.chat import read_grades
from worldgauge.suites.mineanybuild.critics.rules import stated_facts, true_facts
from worldgauge.suites.mineanybuild.generate.instructions import layer_instruction
from worldgauge.suites.mineanybuild.metrics.blueprint_reading import BlueprintReading, read_blueprint
from worldgauge.worlds.blocks.blueprint import Blueprint

PROMPTS = Prompts("worldgauge.suites.mineanybuild")
MATRIX_PROMPTS = ("planning-detailed", "planning-simple", "understanding", "creativity")
BUILD = frozenset({"materials", "instruction", "limits"})
PLACES = {
    "planning-detailed": BUILD | {"picture"},
    "planning-simple": BUILD | {"picture"},
    "understanding": BUILD | {"picture"},
    "creativity": BUILD,
    "reasoning": {"question", "picture", "choices"},
    "commonsense": {"question", "pictures"},
    "critic-planning": {"instruction", "reference", "picture"},
    "critic-understanding": {"instruction", "reference", "picture"},
    "critic-creativity": {"instruction", "picture"},
    "compare": {"instruction", "first", "second"},
    "commonsense-judge": {"question", "reference", "answer"},
    "instruction-writer": {"name", "structure"},
}


def example(name: str) -> tuple[dict[str, int], str, BlueprintReading, Blueprint]:
    """Materials, instruction and reading of the example of a prompt."""
    text = PROMPTS[name].text
    materials = re.search(r"^Materials: (\{.*\})$", text, re.MULTILINE)
    instruction = re.search(r"^Instruction: (.*?)^Answer:$", text, re.MULTILINE | re.DOTALL)
    answer = example_of(text)
    assert instruction is not None
    assert answer is not None
    mapping = json.loads(materials[1])
    reading = read_blueprint(answer, tuple(mapping)[1:])
    assert reading.blueprint is not None
    return mapping, instruction[1], reading, reading.blueprint


def test_there_are_these_and_no_others() -> None:
    assert set(PROMPTS.names()) == set(PLACES)


@pytest.mark.parametrize("name", PROMPTS.names())
def test_ours_are_versioned_and_take_their_places(name: str) -> None:
    template = PROMPTS[name]
    assert template.version.isdigit()
    assert template.places == PLACES[name]
    messages = template.messages(**dict.fromkeys(template.places, "THIS"))
    assert [message.role for message in messages] == ["system", "user"]
    text = "".join(str(part) for message in messages for part in message.parts)
    assert text.count("THIS") == len(template.places)
    assert "$" not in text
    assert all(len(line) <= 120 for line in template.text.splitlines())


@pytest.mark.parametrize("name", MATRIX_PROMPTS)
def test_examples_are_read_without_a_warning(name: str) -> None:
    mapping, _, reading, built = example(name)
    assert reading.strict
    assert list(mapping.values()) == [-1, *range(1, len(mapping))]
    used = set(built.cells[built.cells > 0].tolist())
    # Creativity shows that a material may be left out; elsewhere all are to be used.
    assert used == (set(range(1, len(mapping))) - ({3} if name == "creativity" else set()))


@pytest.mark.parametrize("name", MATRIX_PROMPTS)
def test_examples_cannot_be_read_along_other_axes(name: str) -> None:
    cells = example(name)[3].cells
    _, depth, width = cells.shape
    assert depth != width
    for flip in (cells[:, ::-1], cells[:, :, ::-1]):
        assert (flip != cells).any()


@pytest.mark.parametrize("name", MATRIX_PROMPTS)
def test_the_rules_are_told(name: str) -> None:
    text = " ".join(PROMPTS[name].text.split())
    for words in (
        "matrix[y][z][x]",
        "-1 is air",
        "exactly one matrix",
        "Air is the whole number -1",
        "Use only blocks from the materials",
        "Copy nothing else from it",
    ):
        assert words in text


def test_examples_of_understanding_and_planning() -> None:
    # The list of understanding is its matrix.
    mapping, instruction, _, built = example("understanding")
    listed = read_layers(instruction, tuple(mapping)[1:], (50, 80, 80))
    assert listed.built == built
    assert instruction.split() == layer_instruction(built, "bench").split()  # the words that tasks of ours have
    transposed = Blueprint(built.cells.transpose(0, 2, 1), built.materials)
    assert transposed != built
    # The place that the text explains.
    assert "(2,0) in layer 1 is matrix[0][0][2]" in PROMPTS["understanding"].text
    assert built.cells[0, 0, 2] == 1
    assert "no plan, no reasons" in PROMPTS["understanding"].text
    # The shed of planning is what its words say.
    mapping, instruction, _, built = example("planning-detailed")
    cells = built.cells
    assert read_stated(instruction, tuple(mapping)[1:], (50, 80, 80)).size == cells.shape == (4, 3, 4)
    assert (cells[[0, 3]] == 1).all()  # floor and roof
    south, east = cells[1:3, -1], cells[1:3, :, -1]
    assert (south == [1, -1, 1, 1]).all()  # the door, in the southern row alone, left of the middle
    assert (east == [[1, 1, 1], [1, 2, 1]]).all()  # the window
    assert (cells[1:3, 1, 1:3] == -1).all()  # the room of 2 x 1
    assert (cells == -1).sum() == 2 * 2 + 2


def test_examples_of_the_wall_and_of_creativity() -> None:
    # The wall of planning is what its words say.
    cells = example("planning-simple")[3].cells
    assert cells.shape == (2, 2, 3)
    assert (cells[0, 0] == 1).all()
    assert (cells[0, 1] == [1, -1, -1]).all()
    assert (cells[1, 0] == [1, -1, 2]).all()
    # The chosen materials of creativity keep their numbers.
    mapping, _, reading, _ = example("creativity")
    chosen = re.search(r"^Chosen materials: (\{.*\})$", PROMPTS["creativity"].text, re.MULTILINE)
    assert json.loads(chosen[1]).items() < mapping.items()
    assert list(reading.warnings) == []


@pytest.mark.parametrize("kind", DIMENSIONS)
def test_critics_are_shown_a_form_that_can_be_read(kind: str) -> None:
    text = PROMPTS[f"critic-{kind}"].text
    grades, comments = read_grades(text, DIMENSIONS[kind])
    assert tuple(grades) == DIMENSIONS[kind]
    assert all(comments.values())
    for dimension in DIMENSIONS[kind]:
        # A grade out of the example's hand is told not to be taken over, and each dimension has its three anchors.
        (line,) = [one for one in text.replace(";\n ", ";").splitlines() if one.startswith(f"- {dimension}")]
        assert re.search(r": 1 .*; 5 .*; ?10 ", " ".join(line.split()))
    assert "take none over" in text


def test_examples_of_critics_commonsense_and_the_writer() -> None:
    # Critics are told what the reference counts.
    assert "would get 8" in PROMPTS["critic-planning"].text
    assert "would get\n10" in PROMPTS["critic-understanding"].text
    assert "no reference" in PROMPTS["critic-creativity"].text
    with pytest.raises(Misread, match="no JSON object"):
        read_grades("", DIMENSIONS["planning"])
    # The example of commonsense keeps its own limit.
    answer = example_of(PROMPTS["commonsense"].text)
    assert len(answer.split()) <= 70
    assert "at most 70 words" in PROMPTS["commonsense"].text
    # The well of the instruction writer is what its words say.
    text = PROMPTS["instruction-writer"].text
    words = text.partition("of another structure:")[2].partition("End of the example.")[0]
    names = ("cobblestone", "water", "oak_fence", "spruce_slab", "spruce_planks")
    cells = np.full((6, 4, 4), -1, np.int32)
    cells[0], cells[0, 1:3, 1:3] = 1, 2
    cells[1:4, ::3, ::3] = 3
    cells[4], cells[5, 1:3, 1:3] = 4, 5
    facts = stated_facts(words, names)
    assert {fact.kind for fact in facts} == {"size", "count", "material", "part"}
    assert true_facts(facts, Blueprint(cells, names)) == facts
    assert len(words.split()) < 150


def test_a_users_file_replaces_ours(tmp_path: Path) -> None:
    (tmp_path / "reasoning.txt").write_text("$question $picture, one of $choices")
    own = Prompts("worldgauge.suites.mineanybuild", tmp_path)
    assert own["reasoning"].own
    assert own["creativity"] == PROMPTS["creativity"]
    (tmp_path / "reasoning.txt").write_text("$question")
    with pytest.raises(UsageError, match=r"lacks \$choices, \$picture"):
        Prompts("worldgauge.suites.mineanybuild", tmp_path)
