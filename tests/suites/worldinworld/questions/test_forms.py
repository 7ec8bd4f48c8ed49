"""Forms of questions: worded, read, answered, and asked about homes."""

import re
from collections import Counter

import numpy as np
import pytest

from worldgauge.suites.worldinworld.questions.answering import parse_question, room_evidence
from worldgauge.suites.worldinworld.questions.episodes import (
    HIDDEN_SHARE,
    LEAST_M,
    SEEN_SHARE,
    ask_questions,
    seen_share,
)
from worldgauge.suites.worldinworld.questions.forms import (
    CATEGORIES,
    NAMES,
    ROOMS,
    NamedThing,
    answerable,
    read_room,
    read_thing,
    referring,
    synonyms,
)
from worldgauge.suites.worldinworld.questions.habits import blind_answer, categories_of, rooms_of
from worldgauge.suites.worldinworld.questions.templates import FORMS, OF_BOXES, names_meant, read_question
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.furniture import STATES
from worldgauge.worlds.indoor.homes import LABELS, HomeObject, build_home
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.ground import Level
from worldgauge.worlds.walking.primitives import Stance


def thing(instance, name, room, colour="white", low=(0, 0, 0), size=(1.0, 1.0, 1.0), state="", category=None):
    high = tuple(low[n] + size[n] for n in range(3))
    return HomeObject(instance, category or name, name, colour, room, low, high, state)


HOME = (
    thing(1, "sofa", "living room", "teal"),
    thing(2, "stool", "living room", "red", (3, 0, 0)),
    thing(3, "stool", "kitchen", "blue", (9, 0, 0)),
    thing(4, "fridge", "kitchen", "white", (10.5, 0, 0)),
    thing(5, "oven", "kitchen", "grey", (16, 0, 0), state="on"),
    thing(6, "bed", "bedroom", "green", (0, 9, 0), (2.0, 1.6, 0.5), "made"),
    thing(7, "pillow", "bedroom", "white", (0.1, 9.1, 0.3), (0.3, 0.5, 0.3), category="cushion"),
    thing(8, "pillow", "bedroom", "pink", (0.1, 9.9, 0.3), (0.3, 0.5, 0.3), category="cushion"),
    thing(9, "curtain", "bedroom", "orange", (4, 9, 0), state="open"),
    thing(10, "curtain", "bedroom", "orange", (5.5, 9, 0), state="open"),
    thing(11, "nightstand", "bedroom", "brown", (7, 9, 0), (0.4, 0.4, 0.5)),
    thing(12, "table lamp", "bedroom", "purple", (7.1, 9.1, 0.5), (0.2, 0.2, 0.4), "off", "lamp"),
)


ASKED = [
    ("What colour is the sofa?", "teal", (1,)),
    ("what color is the sofa", "teal", (1,)),
    ("Which room is the red stool in?", None, None),
    ("In which room is the red stool?", "in the living room", (2,)),
    ("How many pillows are on the bed?", "two", (6, 7, 8)),
    ("How many grown-ups is the bed made for?", "two", (6,)),
    ("Is the oven on or off?", "on", (5,)),
    ("Tell me whether the oven is off or on.", "on", (5,)),
    ("Would it save power to switch the oven off now?", "yes", (5,)),
    ("Is the table lamp using electricity at this moment?", "no", (12,)),
    ("Has somebody tidied the bed since it was last slept in?", "yes", (6,)),
    ("Could a neighbour look in past the curtain?", "yes", (9, 10)),
    ("What does the table lamp stand on?", "nightstand", (12, 11)),
    ("Is the blue stool closer to the fridge or to the oven?", "fridge", (3, 4, 5)),
    ("What in the living room could I sit on?", None, None),
    ("What in the kitchen could I sit on?", "stool", (3,)),
    ("What is the red object in the living room?", "stool", (2,)),
    ("What colour is the stool?", None, None),
    ("What colour is the treadmill?", None, None),
]


@pytest.mark.parametrize(("question", "text", "evidence"), ASKED)
def test_answers_by_hand(question, text, evidence):
    read = read_question(question)
    answer = None if read is None else read[0].answer(read[1], HOME)
    assert (answer and answer.text, answer and answer.evidence) == (text, evidence)


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("What colour is the sofa?", (1,)),
        ("What does the table lamp stand on?", (11,)),
        ("Is the blue stool closer to the fridge or to the oven?", (5,)),
        ("Would it save power to switch the oven off now?", (5,)),
    ],
)
def test_without_its_evidence_a_question_has_no_answer(question, missing):
    form, slots = read_question(question)
    assert form.answer(slots, [one for one in HOME if one.instance not in missing]) is None


def test_every_category_has_a_form_and_every_phrasing_is_read_back():
    assert {form.category for form in FORMS} == set(CATEGORIES)
    objects = build_home(2_000_003).objects
    for form in FORMS:
        questions = [slots for group in answerable(form, objects).values() for slots, _ in group]
        for slots in questions[:: max(len(questions) // 20, 1)]:
            for phrasing in range(len(form.phrasings)):
                found = read_question(form.worded(slots, phrasing))
                assert found[0] is form
                assert dict(found[1]) == dict(slots)


def test_an_answer_is_not_in_its_question_but_where_one_has_to_choose():
    objects = build_home(2_000_001).objects
    for form in FORMS:
        if form.name in ("nearer", "state"):
            continue
        for answer, group in answerable(form, objects).items():
            for slots, _ in group:
                assert not re.search(rf"\b{re.escape(answer)}\b", form.worded(slots, 0)), (form.name, slots)


def test_words_for_a_thing_mean_it_alone():
    objects = build_home(2_000_000).objects
    said = [(one, referring(one, objects)) for one in objects]
    assert sum(words is not None for _, words in said) > len(objects) / 3
    for one, words in said:
        if words is not None:
            assert one in words.meant(objects)
            assert len(words.meant(objects)) == 1 or one.name == "curtain"
            assert read_thing(words.words()) == words


def test_what_is_hidden_is_not_said():
    red, blue = HOME[1], HOME[2]
    assert referring(red, HOME) == NamedThing("stool", None, "living room")
    assert referring(red, HOME, hide=frozenset({"room"})) == NamedThing("stool", "red")
    assert referring(blue, HOME, hide=frozenset({"room", "colour"})) is None


def test_words_of_rooms_and_things():
    assert read_room("one of the bedrooms") == "bedroom"
    assert read_room("the attic") is None
    assert read_thing("the light wood desk in the study") == NamedThing("desk", "light wood", "study")
    assert read_thing("the unicorn") is None
    assert "couch" in synonyms("sofa")
    assert synonyms("unicorn") == ()


def test_all_things_of_homes_have_words_but_those_that_nobody_asks_about():
    found = {one.name for seed in (1_000_000, 2_000_000) for one in build_home(seed).objects}
    assert found <= NAMES.keys()
    assert STATES.keys() <= NAMES.keys()


def test_names_that_a_question_is_about():
    for question, names in (
        ("What colour is the sofa?", {"sofa"}),
        ("Which room holds something that has to be watered?", {"plant"}),
        ("What is the red object in the kitchen?", set()),
        ("Which room has something to work at?", {"desk"}),
    ):
        form, slots = read_question(question)
        assert names_meant(form, slots) == names


def test_questions_of_no_form_are_not_read():
    for question in ("", "Why?", "What is the meaning of the sofa?", "Is the oven red or off?"):
        assert read_question(question) is None


def test_blind_answers_of_the_table_are_possible_and_for_a_choice_one_of_it():
    form, slots = read_question("Is the sofa closer to the fridge or to the oven?")
    assert blind_answer(form, slots) == "fridge"
    form, slots = read_question("Is the oven on or off?")
    assert blind_answer(form, slots) in ("on", "off")
    assert set(rooms_of("fridge")) <= set(ROOMS)
    assert not rooms_of("unicorn")
    assert 0 < categories_of("bedroom")["bed"] <= 1
    assert not categories_of("attic")


def test_a_thing_in_a_room():
    asked = parse_question("What colour is the towel in the kitchen?")
    assert (asked.names, asked.room, asked.rooms) == ({"towel"}, "kitchen", {"kitchen": 1.0})
    assert asked.form.name == "colour"


def test_a_thing_without_a_room_is_where_such_things_are():
    rooms = parse_question("What colour is the fridge?").rooms
    assert (max(rooms, key=rooms.get), sum(rooms.values())) == ("kitchen", pytest.approx(1.0))


def test_a_room_alone():
    asked = parse_question("What in the bathroom is red?")
    assert (asked.names, asked.room) == (frozenset(), "bathroom")


def test_a_question_of_no_form_wants_what_it_mentions():
    asked = parse_question("Which brand are the towels that hang in the bathroom?")
    assert (asked.form, asked.names, asked.room) == (None, {"towel"}, "bathroom")
    rooms = parse_question("Who are you?").rooms
    assert set(rooms.values()) == {1 / len(rooms)}


@pytest.mark.parametrize(
    ("label", "room"), [("toilet", "bathroom"), ("counter", "kitchen"), ("bed", "bedroom"), ("sofa", "living room")]
)
def test_a_sign_of_a_room_tells_of_it_and_of_no_other(label, room):
    told = {kind: room_evidence(kind)[LABELS.index(label)] for kind in ROOMS}
    assert told[room] > 0.8
    assert sum(told.values()) == pytest.approx(1.0)


def test_what_is_in_every_room_tells_of_none():
    assert max(room_evidence(kind)[LABELS.index("picture")] for kind in ROOMS) < 0.5


SEED = 2_000_002


@pytest.fixture(scope="module")
def home():
    return Home(SEED)


@pytest.fixture(scope="module")
def questions(home):
    return ask_questions(home, Level(home.floor), home.objects, np.random.default_rng(3), 7)


def test_one_of_each_category(questions):
    assert (len(questions), {one.category for one in questions}) == (7, set(CATEGORIES))
    assert len({one.question for one in questions}) == 7


def test_none_can_be_guessed_without_looking(questions):
    for one in questions:
        assert one.blind_answer not in (one.answer, *one.extra_answers)


def test_each_is_read_back_and_answered_the_same_from_the_whole_home(home, questions):
    for one in questions:
        form, slots = read_question(one.question)
        answer = form.answer(slots, home.objects)
        assert (form.name, form.category) == (one.form, one.category)
        assert (answer.text, answer.evidence) == (one.answer, one.evidence)
        assert one.answer not in one.extra_answers
        assert one.blind_answer


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
