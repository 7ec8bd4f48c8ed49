"""Marks by rules for answers of commonsense: by hand, and what holds for any text."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldgauge.suites.mineanybuild.critics.marking import (
    COMPASS,
    HANDS,
    THINGS,
    first_listed,
    is_yes_or_no,
    mark_by_rules,
    named,
    said_at_once,
    sentence,
    tendency,
    words_of,
)

WAY = "Can somebody walk from the door to the bed without climbing over anything?"
CLOSED = "No. The bookshelves stand in a row from the west wall to the east wall and block the way; one must be moved."
FREE = "Yes. The row of bookshelves has a gap near the east wall; walk through it to the north."
DOOR = "Which piece of furniture blocks the door, and where is a better place for it?"
CHEST = "The chest. It stands right before the door; move it away, for example to the north wall."
CASES = json.loads((Path(__file__).parents[1] / "cases.json").read_text("utf-8"))
RIGHT, WRONG, PARTLY = (
    [(case["question"], case["expected"], said) for case in CASES["marks"] for said in case[kind]]
    for kind in ("right", "wrong", "partly")
)


@pytest.mark.parametrize(("question", "expected", "said"), RIGHT)
def test_the_same_tendency_gets_eight_or_more(question, expected, said):
    assert mark_by_rules(question, expected, said).mark >= 8


@pytest.mark.parametrize(("question", "expected", "said"), WRONG)
def test_the_opposite_gets_three_or_less(question, expected, said):
    assert mark_by_rules(question, expected, said).mark <= 3


@pytest.mark.parametrize(("question", "expected", "said"), PARTLY)
def test_what_is_unclear_or_half_right_lies_between(question, expected, said):
    assert 1.5 <= mark_by_rules(question, expected, said).mark <= 7


@pytest.mark.parametrize("said", CASES["no answers"])
def test_no_answer_gets_nothing(said):
    assert mark_by_rules(WAY, CLOSED, said).mark == 0
    assert mark_by_rules(DOOR, CHEST, said).reason == "no answer"


def test_marks_follow_facts_and_length():
    # The expected answer gets full marks in any case.
    for question, expected, _ in RIGHT:
        assert mark_by_rules(question, expected, expected).mark == 10
        assert mark_by_rules(question, expected, expected.upper()).mark == 10
        assert mark_by_rules(question, expected, f"**{expected}**").mark == 10
    # Worked by hand: facts of CHEST beyond the question are chest, before, move, away, north.
    bare = mark_by_rules(DOOR, CHEST, "The chest.").mark
    action = mark_by_rules(DOOR, CHEST, "The chest, which should be moved.").mark
    whole = mark_by_rules(DOOR, CHEST, "The chest, which should be moved away to the north wall.").mark
    other = mark_by_rules(DOOR, CHEST, "The chest, which should be moved away to the south wall.").mark
    assert bare < action < whole < 10
    assert other < whole
    assert bare == pytest.approx(8.4)
    assert whole == pytest.approx(9.6)
    # Naming all sides wins nothing.
    short = mark_by_rules(WAY, FREE, "Yes.").mark
    assert mark_by_rules(WAY, FREE, "Yes: north, east, south, west, left, right, straight on.").mark == short == 8
    # One mark for each 35 words begun beyond 70, four at most.
    for words, cost in ((70, 0), (71, 1), (105, 1), (106, 2), (140, 2), (141, 3), (300, 4), (5000, 4)):
        said = "No. " + "really " * (words - 1)
        marked = mark_by_rules(WAY, CLOSED, said)
        assert marked.notes["words"] == words
        assert marked.mark == 8 - cost
        assert ("allowed" in marked.reason) == (cost > 0)


def test_expected_answers_that_are_missing_or_have_no_yes():
    # Without an expected answer there is no mark.
    marked = mark_by_rules("?", "  ", "Yes")
    assert marked.mark == 0
    assert "no expected answer" in marked.reason
    # Published answers need not begin with yes or no.
    expected = "The refrigerator cannot stand in the bathroom because it would get wet."
    assert mark_by_rules("Is the refrigerator well placed?", expected, "No, it is a bathroom.").mark >= 8
    assert mark_by_rules("Is the refrigerator well placed?", expected, "Yes, it is.").mark <= 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Yes, it is", "yes"),
        ("Answer: No.", "no"),
        ("I think yes", "yes"),
        ("no", "no"),
        ("No it does not", "no"),
        ("No furniture blocks it", None),
        ("Yes and no", "both"),
        ("It depends on the light", "both"),
        ("The chest", None),
        ("", None),
        ("Correct!", "yes"),
        ("nope", "no"),
    ],
)
def test_what_is_said_at_once(text, said):
    assert said_at_once(words_of(text)) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("No furniture blocks it", "yes"),
        ("The lamp is too far from the desk", "no"),
        ("The lamp is not too far", "yes"),
        ("It fits well", "yes"),
        ("It does not fit", "no"),
        ("a red rug", None),
    ],
)
def test_what_a_sentence_tends_to(text, said):
    assert tendency(words_of(text)) == said


def test_words_sentences_and_names():
    # Words and sentences.
    assert words_of("It isn't the North-West center.") == ["it", "is", "not", "the", "north", "west", "centre", "."]
    assert sentence(words_of("The bed, the sofa. And more")) == ["the", "bed", "the", "sofa"]
    assert is_yes_or_no("This is a kitchen. Does all of it belong here?")
    assert not is_yes_or_no("Coming in, does one turn left or right?")
    assert not is_yes_or_no("Which wall is free?")
    # What is named and listed.
    words = words_of("Not the sofa: the dining tables and a book shelf, next to the TV set")
    found = named(words, THINGS)
    assert [one.name for one in found] == ["sofa", "table", "bookshelf", "television"]
    assert [one.denied for one in found] == [True, False, False, False]
    assert first_listed(words, found) == {"table", "bookshelf"}
    assert [one.name for one in named(words_of("left-hand side, north east"), HANDS, COMPASS)] == [
        "left",
        "north",
        "east",
    ]


TOKENS = (
    *("yes", "no", "not", "the", "left", "right", "north", "bed", "chest", "and", "or", "blocks", "nothing", "maybe"),
    *("3", "three", "is", "which", ".", ",", ";", "?"),
)
TEXTS = st.text(max_size=300) | st.lists(st.sampled_from(TOKENS), max_size=40).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(question=TEXTS, expected=TEXTS, said=TEXTS)
def test_any_text_gets_a_mark_between_0_and_10(question, expected, said):
    marked = mark_by_rules(question, expected, said)
    assert 0 <= marked.mark <= 10
    assert marked.mark == round(marked.mark, 1)
    assert marked == mark_by_rules(question, expected, said)
    assert marked.reason


@settings(max_examples=100, deadline=None)
@given(expected=TEXTS, question=TEXTS)
def test_the_expected_answer_itself_is_full_marks(expected, question):
    if any(word.isalnum() for word in words_of(expected)) and words_of(expected) != words_of("none"):
        marked = mark_by_rules(question, expected, expected)
        assert marked.mark == 10 or marked.reason == "no answer"


@settings(max_examples=100, deadline=None)
@given(said=TEXTS, more=st.integers(1, 400))
def test_more_words_of_nothing_never_pay(said, more):
    """Beyond what is read, words only cost."""
    said = f"room {said} ."
    before = mark_by_rules(WAY, CLOSED, said).mark
    assert mark_by_rules(WAY, CLOSED, said + " really" * more).mark <= before


@pytest.mark.parametrize(
    "text", ["no " * 33_000, "a" * 100_000, "\n" * 100_000, "yes,no;" * 14_000, "north-" * 16_000, "'s" * 50_000]
)
def test_long_texts_are_read_in_bounded_time(text):
    begun = time.perf_counter()
    for place in range(3):
        texts = [WAY, CLOSED, "No."]
        texts[place] = text
        assert 0 <= mark_by_rules(*texts).mark <= 10
    assert time.perf_counter() - begun < 2


@pytest.mark.parametrize(
    "refusal",
    [
        "I cannot do that.",
        "I can't see the picture.",
        "Sorry, I can't help with that.",
        "As an AI model I cannot view images.",
        "I'm unable to see it.",
        "We do not know.",
    ],
)
def test_a_refusal_is_no_answer_and_no_no(refusal: str) -> None:
    assert mark_by_rules("Is there a way to the desk?", "No. The shelves block it.", refusal).mark == 0.0


def test_cannot_within_an_answer_is_a_no() -> None:
    said = "I cannot walk to the desk: the shelves block the way."
    assert mark_by_rules("Is there a way to the desk?", "No. The shelves block it.", said).mark >= 8.0
