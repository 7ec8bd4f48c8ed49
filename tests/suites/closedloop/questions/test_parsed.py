"""What a question wants, and which things tell of which room."""

import pytest

from worldgauge.suites.closedloop.questions.answering import parse_question, room_evidence
from worldgauge.suites.closedloop.questions.forms import ROOMS
from worldgauge.worlds.indoor.homes import LABELS


def test_a_thing_in_a_room():
    asked = parse_question("What colour is the towel in the kitchen?")
    assert (asked.names, asked.room, asked.rooms) == ({"towel"}, "kitchen", {"kitchen": 1.0})
    assert asked.form is not None
    assert asked.form.name == "colour"


def test_a_thing_without_a_room_is_where_such_things_are():
    rooms = parse_question("What colour is the fridge?").rooms
    assert max(rooms, key=rooms.get) == "kitchen"
    assert sum(rooms.values()) == pytest.approx(1.0)


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
