"""Marks by rules for answers of commonsense: by hand, and what holds for any text."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldgauge.suites.build.critics.marking import (
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
PAIR = "Which two pieces of furniture stand too close together?"
BOTH = "The wardrobe and the bed. Its doors cannot be opened; move the bed to the south."
NEARER = "Which is nearer to the door, the lamp or the desk?"
LAMP = "The lamp. It stands in the north-east corner, close to the door; the desk is farther away."
TURN = "From the door, does one turn left, turn right or go straight on to get to the stove?"
LEFT = "To the left. From the door one looks north; the stove is on the left-hand side, at the west wall."
SHELF = "Along which wall is room for a shelf of 4 blocks?"
EAST = "Along the east wall. There the floor is free for 6 blocks."
MANY = "How many chairs stand at the table?"
THREE = "Three. One side of the table has none."
OPEN = "What makes this room uncomfortable?"
GLOOM = "Its ceiling hangs so low that people bump their heads."

RIGHT = [
    (WAY, CLOSED, "No, a bookcase blocks the way from east to west, it has to be moved."),
    (WAY, CLOSED, "no"),
    (WAY, CLOSED, "The answer is no."),
    (WAY, CLOSED, "No one can get through, the shelves block it."),
    (WAY, CLOSED, "It's impossible: a row of shelves is in the way."),
    (WAY, CLOSED, "You can't."),
    (WAY, CLOSED, "The way is blocked by the bookshelves."),
    (WAY, FREE, "**Yes**, there is an opening at the east."),
    (WAY, FREE, "Yes - go north through the gap. Nothing blocks it."),
    (WAY, FREE, "Nothing blocks the way."),
    (WAY, FREE, "One can walk around the shelves."),
    (DOOR, CHEST, "The chest should be moved to the north wall."),
    (DOOR, CHEST, "a crate"),
    (DOOR, CHEST, "It is not the bookshelf but the chest that blocks the door."),
    (DOOR, CHEST, "The door is blocked by the chest; put it next to the bookshelf."),
    (PAIR, BOTH, "The bed and the wardrobe."),
    (PAIR, BOTH, "The closet, bed"),
    (NEARER, LAMP, "The lamp"),
    (NEARER, LAMP, "The lantern is nearer than the desk."),
    (TURN, LEFT, "Left"),
    (TURN, LEFT, "Turn left."),
    (TURN, LEFT, "The stove is on the left-hand side."),
    (SHELF, EAST, "The eastern wall, where the floor is free."),
    (SHELF, EAST, "There is room along the east wall."),
    (MANY, THREE, "There are 3 chairs."),
    (OPEN, GLOOM, "The low ceiling: people bump their heads when it hangs so low."),
]
WRONG = [
    (WAY, CLOSED, "Yes."),
    (WAY, CLOSED, "Yes, through the gap in the bookshelves, which block nothing at the west and east wall."),
    (WAY, CLOSED, "Nothing blocks the way."),
    (WAY, FREE, "No, the bookshelves block the way."),
    (WAY, FREE, "One cannot walk there."),
    (DOOR, CHEST, "The bed. It should be moved."),
    (DOOR, CHEST, "The door."),
    (DOOR, CHEST, "Nothing."),
    (DOOR, CHEST, "It is not the chest."),
    (DOOR, CHEST, "the bed, the chest, the sofa and the table"),
    (PAIR, BOTH, "The sofa and the table."),
    (NEARER, LAMP, "The desk is nearer than the lamp."),
    (TURN, LEFT, "To the right."),
    (TURN, LEFT, "Straight on."),
    (TURN, LEFT, "Left, right or straight on."),
    (SHELF, EAST, "The west wall."),
    (SHELF, EAST, "North, east, south and west."),
    (MANY, THREE, "There are 4 chairs."),
    (OPEN, GLOOM, "Nobody has painted it."),
]
PARTLY = [
    (WAY, CLOSED, "Yes and no."),
    (WAY, CLOSED, "Maybe."),
    (WAY, CLOSED, "A nice room with a red rug"),
    (DOOR, CHEST, "The chest or the sofa."),
    (PAIR, BOTH, "The wardrobe and the sofa."),
    (PAIR, BOTH, "The wardrobe."),
    (SHELF, EAST, "The east or north wall."),
]
NOTHING = ["", "   ", "...", "I don't know.", "I do not know", "n/a", "\n\n", "unknown"]


@pytest.mark.parametrize(("question", "expected", "said"), RIGHT)
def test_the_same_tendency_gets_eight_or_more(question, expected, said):
    assert mark_by_rules(question, expected, said).mark >= 8


@pytest.mark.parametrize(("question", "expected", "said"), WRONG)
def test_the_opposite_gets_three_or_less(question, expected, said):
    assert mark_by_rules(question, expected, said).mark <= 3


@pytest.mark.parametrize(("question", "expected", "said"), PARTLY)
def test_what_is_unclear_or_half_right_lies_between(question, expected, said):
    assert 1.5 <= mark_by_rules(question, expected, said).mark <= 7


@pytest.mark.parametrize("said", NOTHING)
def test_no_answer_gets_nothing(said):
    assert mark_by_rules(WAY, CLOSED, said).mark == 0
    assert mark_by_rules(DOOR, CHEST, said).reason == "no answer"


def test_the_expected_answer_gets_full_marks_in_any_case():
    for question, expected, _ in RIGHT:
        assert mark_by_rules(question, expected, expected).mark == 10
        assert mark_by_rules(question, expected, expected.upper()).mark == 10
        assert mark_by_rules(question, expected, f"**{expected}**").mark == 10


def test_key_facts_decide_between_right_answers():
    """Worked by hand: facts of CHEST beyond the question are chest, before, move, away, north."""
    bare = mark_by_rules(DOOR, CHEST, "The chest.").mark
    action = mark_by_rules(DOOR, CHEST, "The chest, which should be moved.").mark
    whole = mark_by_rules(DOOR, CHEST, "The chest, which should be moved away to the north wall.").mark
    other = mark_by_rules(DOOR, CHEST, "The chest, which should be moved away to the south wall.").mark
    assert bare < action < whole < 10
    assert other < whole
    assert bare == pytest.approx(8.4)
    assert whole == pytest.approx(9.6)


def test_naming_all_sides_wins_nothing():
    short = mark_by_rules(WAY, FREE, "Yes.").mark
    assert mark_by_rules(WAY, FREE, "Yes: north, east, south, west, left, right, straight on.").mark == short == 8


def test_long_answers_cost():
    """One mark for each 35 words begun beyond 70, four at most."""
    for words, cost in ((70, 0), (71, 1), (105, 1), (106, 2), (140, 2), (141, 3), (300, 4), (5000, 4)):
        said = "No. " + "really " * (words - 1)
        marked = mark_by_rules(WAY, CLOSED, said)
        assert marked.notes["words"] == words
        assert marked.mark == 8 - cost
        assert ("allowed" in marked.reason) == (cost > 0)


def test_without_an_expected_answer_there_is_no_mark():
    marked = mark_by_rules("?", "  ", "Yes")
    assert marked.mark == 0
    assert "no expected answer" in marked.reason


def test_an_expected_answer_without_yes_is_read_for_its_tendency():
    """Published answers need not begin with yes or no."""
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


def test_words_and_sentences():
    assert words_of("It isn't the North-West center.") == ["it", "is", "not", "the", "north", "west", "centre", "."]
    assert sentence(words_of("The bed, the sofa. And more")) == ["the", "bed", "the", "sofa"]
    assert is_yes_or_no("This is a kitchen. Does all of it belong here?")
    assert not is_yes_or_no("Coming in, does one turn left or right?")
    assert not is_yes_or_no("Which wall is free?")


def test_what_is_named_and_listed():
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
