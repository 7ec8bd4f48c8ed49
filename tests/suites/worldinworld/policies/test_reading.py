"""What replies mean: the reference cases, and all the ways to mean nothing."""

from __future__ import annotations

import math
from typing import Any

import pytest

from support.vectors import cases
from worldgauge.chat.prompt_runner import Misread
from worldgauge.core.errors import UsageError
from worldgauge.suites.worldinworld.policies.asking import (
    LETTERS,
    HighLevelDecision,
    lettered,
    neutral_views,
    read_answer,
    read_high_level,
    read_index,
    read_mark,
    read_steps,
    to_last_stop,
    token_choice,
)
from worldgauge.worlds.walking.primitives import Primitive

F, L, R, S = Primitive


@pytest.mark.parametrize("case", [c for c in cases("wiw_loop", "cases") if c.values[0]["kind"] == "token_choice"])
def test_token_choice_agrees_with_the_reference(case: dict[str, Any]) -> None:
    alternatives = [(token, logprob) for token, logprob in case["top_logprobs"]]
    found = token_choice(alternatives, case["categories"], case["letters"])
    assert (found, case["letters"]) == (pytest.approx(case["expected"], abs=1e-6), LETTERS)


def test_letters_are_36() -> None:
    assert len(set(LETTERS)) == len(LETTERS) == 36


def test_confidences_are_not_scaled_and_keep_the_order_of_the_options() -> None:
    found = token_choice([("B", -1.0), ("A", -2.0), ("B", -9.0)], ["x", "y"])
    assert list(found.items()) == [("x", math.exp(-2)), ("y", math.exp(-1))]


@pytest.mark.parametrize("token", [" A", "A.", "a", "AB", "", "x", "C", "\n"])
def test_a_token_counts_only_when_it_is_exactly_a_letter(token: str) -> None:
    assert token_choice([(token, -0.1)], ["x", "y"]) == {}


def test_a_probability_is_at_most_one() -> None:
    assert token_choice([("A", 0.5)], ["x"]) == {"x": 1.0}


def test_no_more_options_than_letters() -> None:
    for call in (lambda: token_choice([], ["x"] * 37), lambda: lettered(["x"] * 37)):
        with pytest.raises(UsageError, match="37 options, but there are 36 letters"):
            call()
    assert lettered(["chair"] * 27).splitlines()[26] == "Γ. chair"


@pytest.mark.parametrize(
    ("given", "steps"),
    [
        (["F", "L", "R"], (F, L, R)),
        ("[F, L, L]", (F, L, L)),
        ("F L;R", (F, L, R)),
        ('["f", "r"]', (F, R)),
        ("1, 2, 3", (F, L, R)),
        ([1, 3], (F, R)),
        (["forward", "turn_left", "Turn Right", "turn-left"], (F, L, R, L)),
    ],
)
def test_plans_are_read(given: Any, steps: tuple[Primitive, ...]) -> None:
    assert read_steps(given, 5) == steps


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (["F"] * 6, "a plan of 6 steps, where 1 to 5"),
        ([], "a plan of 0 steps"),
        ("[]", "a plan of 0 steps"),
        (["F", "up"], "'up' is no step"),
        ([True], "'True' is no step"),
        ([0], "'0' is no step"),
        ("go forward", "'go' is no step"),
        (["F", "S"], "no stop"),
    ],
)
def test_other_plans_are_refused_and_never_cut(given: Any, problem: str) -> None:
    with pytest.raises(Misread, match=problem):
        read_steps(given, 5)


def test_a_stop_only_ends_a_plan() -> None:
    assert read_steps(["F", "S"], 4, stop=True) == (F, S)
    assert read_steps(["S"], 4, stop=True) == (S,)
    for wrong in (["S", "F"], ["S", "S"]):
        with pytest.raises(Misread, match="only ends"):
            read_steps(wrong, 4, stop=True)


def test_candidates_are_counted_from_one() -> None:
    assert [read_index(n, 3) for n in (1, 2, 3)] == [0, 1, 2]
    for wrong in (0, 4, -1, 1.0, "1", True, None):
        with pytest.raises(Misread, match="where 1 to 3 were shown"):
            read_index(wrong, 3)


VISIBLE: Any = {"front": {1, 4}, "left": set(), "right": {2}, "back": set()}
FINE = {"reason": "r", "plan": "go on", "view": "front", "landmark": 4, "answer": None}


def test_a_high_level_decision_is_read() -> None:
    assert read_high_level(FINE, VISIBLE) == HighLevelDecision("r", "go on", "front", 4, None)
    answered = FINE | {"landmark": None, "plan": "", "answer": "It is red. Or so"}
    assert read_high_level(answered, VISIBLE) == HighLevelDecision("r", "", "front", None, "It is red.")


@pytest.mark.parametrize("name", list(FINE))
def test_all_five_fields_must_be_there(name: str) -> None:
    given = {field: value for field, value in FINE.items() if field != name}
    with pytest.raises(Misread, match=f"lacks {name}"):
        read_high_level(given, VISIBLE)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"view": "up"}, "view 'up', where front, left, right, back"),
        ({"landmark": 2}, "landmark 2 is not marked in the front view; there: 1, 4"),
        ({"view": "left"}, "landmark 4 is not marked in the left view; there: none"),
        ({"landmark": True}, "landmark True"),
        ({"answer": 3}, "no text"),
        ({"landmark": None, "plan": " "}, "neither an answer nor a landmark nor a plan"),
    ],
)
def test_what_contradicts_the_views_is_refused(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(Misread, match=problem):
        read_high_level(FINE | change, VISIBLE)


@pytest.mark.parametrize("given", [None, "", "  ", "None", "none.", "null", "N/A", "No Answer"])
def test_no_answer_is_none(given: str | None) -> None:
    assert read_answer(given) is None


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("It is red. The", "It is red."),
        ("One. Two. Three", "One. Two."),
        ("red", "red"),
        ("2.5 metres", "2.5 metres"),
        ("About 2.5 metres. I th", "About 2.5 metres."),
        (" in the\nkitchen ", "in the kitchen"),
        ("", ""),
    ],
)
def test_text_after_the_last_full_stop_is_cut(text: str, cut: str) -> None:
    assert to_last_stop(text) == cut


def test_names_of_views_become_neutral_and_turns_stay() -> None:
    said = "Go to the door in the Left view, then left; the back image shows nothing, nor does the right-hand view."
    assert neutral_views(said) == (
        "Go to the door in the view ahead, then left; the view ahead shows nothing, nor does the view ahead."
    )
    assert neutral_views("turn right and look behind the sofa") == "turn right and look behind the sofa"


@pytest.mark.parametrize(("text", "mark"), [("fine\nMARK: 4", 4), ("MARK:1 no, MARK: 5", 5), ("MARK: **2**", 2)])
def test_marks_are_read(text: str, mark: int) -> None:
    assert read_mark(text) == mark


@pytest.mark.parametrize("text", ["", "5", "mark 5", "MARK: six", "MARK: 0", "MARK: 6", "MARK: -3", "MARK: 4.5"])
def test_anything_else_is_no_mark(text: str) -> None:
    with pytest.raises(Misread):
        read_mark(text)
