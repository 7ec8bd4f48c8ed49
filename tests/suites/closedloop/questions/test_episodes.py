"""Questions about a home: one right answer, evidence out of sight at the start and in reach, and repeatable."""

from collections import Counter

import numpy as np
import pytest

from worldgauge.suites.closedloop.questions.episodes import (
    HIDDEN_SHARE,
    LEAST_M,
    SEEN_SHARE,
    ask_questions,
    seen_share,
)
from worldgauge.suites.closedloop.questions.forms import CATEGORIES
from worldgauge.suites.closedloop.questions.templates import OF_BOXES, read_question
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.ground import Level
from worldgauge.worlds.walking.primitives import Stance

SEED = 2_000_002


@pytest.fixture(scope="module")
def home():
    return Home(SEED)


@pytest.fixture(scope="module")
def questions(home):
    return ask_questions(home, Level(home.floor), home.objects, np.random.default_rng(3), 7)


def test_one_of_each_category(questions):
    assert len(questions) == 7
    assert {one.category for one in questions} == set(CATEGORIES)
    assert len({one.question for one in questions}) == 7


def test_none_can_be_guessed_without_looking(questions):
    for one in questions:
        assert one.blind not in (one.answer, *one.extra)


def test_each_is_read_back_and_answered_the_same_from_the_whole_home(home, questions):
    for one in questions:
        form, slots = read_question(one.question)
        answer = form.answer(slots, home.objects)
        assert form.name == one.form
        assert form.category == one.category
        assert (answer.text, answer.evidence) == (one.answer, one.evidence)
        assert one.answer not in one.extra
        assert one.blind


def test_evidence_is_out_of_sight_at_the_start(home, questions):
    things = {one.instance: one for one in home.objects}
    for one in questions:
        assert max(seen_share(home, one.start, things[n]) for n in one.evidence) < HIDDEN_SHARE < SEEN_SHARE


def test_the_reference_is_no_shorter_than_the_crow_flies_to_where_something_is_seen(home, questions):
    geodesic = Geodesic(home.floor)
    for one in questions:
        assert one.reference_m >= LEAST_M
        assert geodesic.stands(one.start[:2])
        # Wherever one gets in much less than that, nothing of a single piece of evidence is seen.
        if len(one.evidence) == 1:
            (thing,) = (each for each in home.objects if each.instance in one.evidence)
            path = geodesic.path(one.start[:2], geodesic.nearest(np.add(thing.low, thing.high)[:2] / 2))
            early = [Stance(float(x), float(y), 0.0) for x, y in path[:1]]
            assert all(seen_share(home, stance, thing) < SEEN_SHARE for stance in early)


@pytest.mark.slow
def test_same_seed_same_questions_and_another_seed_others(home, questions):
    again = ask_questions(home, Level(home.floor), home.objects, np.random.default_rng(3), 7)
    other = ask_questions(home, Level(home.floor), home.objects, np.random.default_rng(4), 3)
    assert again == questions
    assert [one.question for one in other] != [one.question for one in questions[:3]]


def test_none_are_made_where_none_are_asked_for(home):
    assert ask_questions(home, Level(home.floor), home.objects, np.random.default_rng(0), 0) == []


def test_why_there_are_no_questions(home):
    ground = Level(home.floor)
    reasons: Counter[str] = Counter()
    assert not ask_questions(
        home, ground, home.objects[:1], np.random.default_rng(0), 4, forms=OF_BOXES, discards=reasons
    )
    assert any("no question fits" in reason for reason in reasons)
    reasons.clear()
    ask_questions(home, ground, home.objects, np.random.default_rng(0), 7, discards=reasons)
    assert {"guess", "start"} & {word for reason in reasons for word in reason.split()}
