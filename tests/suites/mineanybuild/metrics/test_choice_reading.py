"""Choices read from answers: the vectors, each rule by hand, any text, chance and accuracy."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.vectors import cases
from worldgauge.suites.mineanybuild.metrics.scores import (
    MOST_CHARACTERS,
    read_choice,
    read_choice_released,
    reasoning_accuracy,
)

LETTERS = ("A", "B", "C", "D")
WORDS = ("True", "False")
OWN = json.loads((Path(__file__).parents[1] / "cases.json").read_text("utf-8"))
"""Cases worked by hand."""


def choices_of(kind: int) -> tuple[str, ...]:
    return WORDS if kind == 3 else LETTERS


@pytest.mark.parametrize("case", cases("build_reasoning", "answers"))
def test_answers_of_the_reference(case: dict[str, Any]) -> None:
    choices = choices_of(case["kind"])
    read = read_choice(case["text"], choices)
    assert read == case["expect"]
    assert reasoning_accuracy(read, case["gold"]) == 100 * case["correct"]
    released = read_choice_released(case["text"], choices)
    assert reasoning_accuracy(released, case["gold"]) == 100 * case["exact_match"]


@pytest.mark.parametrize(("text", "choice"), OWN["letters"])
def test_letters_by_hand(text: str, choice: str | None) -> None:
    assert read_choice(text, LETTERS) == choice


@pytest.mark.parametrize(("text", "choice"), OWN["words"])
def test_words_by_hand(text: str, choice: str | None) -> None:
    assert read_choice(text, WORDS) == choice


@given(st.text(), st.sampled_from([LETTERS, WORDS]))
def test_any_text_gives_a_choice_or_none(text: str, choices: tuple[str, ...]) -> None:
    read = read_choice(text, choices)
    assert read is None or read in choices
    assert read_choice(f" \n{text}\t", choices) == read
    released = read_choice_released(text, choices)
    assert released is None or released == read, "what the published reading takes, ours takes"


@given(
    st.sampled_from([*LETTERS, *WORDS]), st.sampled_from(["{}", "**{}**", "Answer: {}", "The answer is {}.", "({})"])
)
def test_every_plain_form_is_read(choice: str, form: str) -> None:
    choices = WORDS if choice in WORDS else LETTERS
    for spelled in (choice, choice.lower(), choice.upper()):
        assert read_choice(form.format(spelled), choices) == choice


@pytest.mark.parametrize(
    "part", ["answer ", "answer is ", "option ", "\n", " B", "the ", "A", "answer" + " " * 999, "(" * 9]
)
def test_long_answers_take_no_time(part: str) -> None:
    text = part * (2 * MOST_CHARACTERS // len(part))
    start = time.process_time()
    read_choice(text, LETTERS)
    read_choice(text, WORDS)
    assert time.process_time() - start < 1
    assert read_choice(f"{text} Final answer: C", LETTERS) == "C"


def test_an_unreadable_answer_is_wrong() -> None:
    assert reasoning_accuracy(None, "A") == 0
    assert reasoning_accuracy("B", "A") == 0
    assert reasoning_accuracy("A", "A") == 100
