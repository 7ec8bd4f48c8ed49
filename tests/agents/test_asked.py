"""What a question wants, and what views say about the room they are in."""

import numpy as np
import pytest

from worldgauge.agents.asked import room_likelihood, wanted
from worldgauge.worlds.indoor.homes import LABELS


def test_a_thing_in_a_room():
    asked = wanted("What colour is the towel in the kitchen?")
    assert (asked.names, asked.room, asked.rooms) == ({"towel"}, "kitchen", {"kitchen": 1.0})
    assert asked.form is not None
    assert asked.form.name == "colour"


def test_a_thing_without_a_room_is_where_such_things_are():
    rooms = wanted("What colour is the fridge?").rooms
    assert max(rooms, key=rooms.get) == "kitchen"
    assert sum(rooms.values()) == pytest.approx(1.0)


def test_a_room_alone():
    asked = wanted("What in the bathroom is red?")
    assert (asked.names, asked.room) == (frozenset(), "bathroom")


def test_a_question_of_no_form_wants_what_it_mentions():
    asked = wanted("Which brand are the towels that hang in the bathroom?")
    assert (asked.form, asked.names, asked.room) == (None, {"towel"}, "bathroom")
    rooms = wanted("Who are you?").rooms
    assert set(rooms.values()) == {1 / len(rooms)}


@pytest.mark.parametrize(
    ("room", "labels"),
    [
        ("bathroom", {"toilet", "bathtub", "sink", "towel"}),
        ("kitchen", {"counter", "appliances", "sink"}),
        ("bedroom", {"bed", "cushion", "cabinet", "chest of drawers", "window", "curtain", "door"}),
        ("gym", {"gym equipment", "window", "curtain", "door"}),
    ],
)
def test_what_is_in_view_tells_the_room(room, labels):
    likely = room_likelihood(np.array([float(label in labels) for label in LABELS]))
    assert max(likely, key=likely.get) == room
    assert sum(likely.values()) == pytest.approx(1.0)
