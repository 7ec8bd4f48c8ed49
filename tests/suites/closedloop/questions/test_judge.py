"""The judge by rules: what is right in other words, what is half right, and what is wrong."""

import pytest

from worldgauge.suites.closedloop.policies.contract import PolicyKit
from worldgauge.suites.closedloop.questions.judge import judges

RIGHT = [
    ("What colour is the sofa?", "grey", (), "It's gray."),
    ("", "in the kitchen", (), "The fridge is in the kitchen."),
    ("", "in the study", (), "home office"),
    ("", "two", ("2",), "There are two pillows"),
    ("", "two", ("2",), "2"),
    ("", "yes", (), "Yes, it is on."),
    ("", "no", (), "It isn't."),
    ("Is the oven on or off?", "off", (), "It is switched off"),
    ("Is the oven on or off?", "off", (), "It is not on"),
    ("", "towel", (), "a red towel"),
    ("", "coffee table", ("low table",), "Low table"),
    ("", "teal", (), "turquoise"),
    ("", "behind the curtain", (), "it hangs behind the curtain"),
    ("", "tv", ("television",), "The television on the wall"),
]
HALF = [
    ("", "dark brown", (), "brown", 3),
    ("", "coffee table", (), "the dining table", 3),
    ("", "in the kitchen", (), "in the kitchen or the bathroom", 2),
    ("", "two", (), "three pillows", 2),
    ("", "two", (), "two or three", 2),
    ("", "next to the window", (), "beside the window", 2),
]
WRONG = [
    ("", "grey", (), "blue"),
    ("", "in the kitchen", (), "in the bathroom"),
    ("", "in the kitchen", (), "not in the kitchen"),
    ("", "yes", (), "no"),
    ("", "yes", (), "perhaps"),
    ("", "two", (), "nine"),
    ("Is the oven on or off?", "off", (), "on"),
    ("", "towel", (), "mirror"),
    ("", "towel", (), ""),
    ("", "towel", (), "No Answer"),
    ("", "towel", (), "I do not know."),
    ("", "behind the curtain", (), "nobody would guess"),
]


@pytest.fixture(scope="module")
def judge():
    return judges.get("rules")(PolicyKit("questions", 13))


@pytest.mark.parametrize(("question", "answer", "extra", "given"), RIGHT)
def test_right_in_other_words(judge, question, answer, extra, given):
    assert judge.mark(question, answer, extra, given).sigma == 5


@pytest.mark.parametrize(("question", "answer", "extra", "given", "sigma"), HALF)
def test_half_right(judge, question, answer, extra, given, sigma):
    assert judge.mark(question, answer, extra, given).sigma == sigma


@pytest.mark.parametrize(("question", "answer", "extra", "given"), WRONG)
def test_wrong(judge, question, answer, extra, given):
    assert judge.mark(question, answer, extra, given).sigma == 1


def test_an_extra_answer_is_as_right_as_the_answer(judge):
    assert judge.mark("", "hob", (), "cooker").sigma == 1
    assert judge.mark("", "hob", ("cooker",), "cooker").sigma == 5


def test_more_shared_words_are_never_worth_less(judge):
    given = ["x", "left x y z", "left of x y", "left of the big x", "left of the big bed"]
    marks = [judge.mark("", "left of the big bed", (), one).sigma for one in given]
    assert marks == sorted(marks)
    assert marks[0] == 1
    assert marks[-1] == 5
