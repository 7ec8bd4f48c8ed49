"""Choices read from answers: the vectors, each rule by hand, any text, chance and accuracy."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.vectors import cases
from worldgauge.suites.build.metrics.scores import (
    MOST_CHARACTERS,
    read_choice,
    read_choice_released,
    reasoning_accuracy,
)

LETTERS = ("A", "B", "C", "D")
WORDS = ("True", "False")


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


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("```\nb\n```", "B"),
        ("<C>!", "C"),
        ('{"answer": "D"}', "D"),
        ('{"final_answer": "D"}', "D"),
        ("The correct final answer: 'A'.", "A"),
        ("choice = B", "B"),
        ("Option A shows it; the answer is option C.", "C"),
        ("I take the answer B, since its arm points left.", "B"),
        ("It must be B, as B alone has its arm on the left.", "B"),
        ("It must be B.\n", "B"),
        ("Not A, so B.", None),
        ("Between B and D", None),
        ("Is it A?", None),
        ("A figure like B", "B"),
        ("AB", None),
        ("b is my guess", None),
        ("the answers B", "B"),
        ("the answers are B or C", None),
        (r"Its arm points left. \boxed{B}", "B"),
        (r"First \boxed{C}, but on reflection \boxed{\text{A}}.", "A"),
        ("B looks right at first.\n<answer>A</answer>", "A"),
        ("<ANSWER> (d) </ANSWER>", "D"),
        (r"\boxed{7}, so B", "B"),
        ("**A** because its arm points left", "A"),
        ("A) because its arm points left", "A"),
        ("A because its arm points left", "A"),
        ("A is the one that cannot be turned", "A"),
        ("It's A", "A"),
        ("It's A, since its arm points left", "A"),
        ("I would say A here", "A"),
        ("A\n\nFigure B has its arm on the right.", "A"),
        ("A.\n\nB is a mirror image, and so is C.", "A"),
        ("Figure B has its arm on the right, C too.\n\nA", "A"),
        ("B\n\nA figure like this has its arm on the left.", "B"),
        ("A\nB\nC\nD", None),
        ("A\nNo, its arm points right.\nC", "C"),
        (r"\boxed{\textbf{\text{(C)}}}", "C"),
        (r"\boxed{\text{Option C}}, not B", "C"),
        (r"<answer>\boxed{C}</answer>", "C"),
        ("A looks right.\n<answer>C. The arm points left</answer>", "C"),
        ("It is not A.<|begin_of_box|>C<|end_of_box|>", "C"),
        ("C<|im_end|>", "C"),
        ("A cube lies left of B. A rod lies right of it.", "B"),
        ("(A cube is on the left)", None),
        ("Is it B?", None),
        ("A and B are alike", None),
    ],
)
def test_letters_by_hand(text: str, choice: str | None) -> None:
    assert read_choice(text, LETTERS) == choice


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("**False**", "False"),
        ("The answer would be true, I think; not false", "True"),
        ("They are untrue", None),
        ("False. It is falsely drawn.", "False"),
        ("true true", "True"),
    ],
)
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
