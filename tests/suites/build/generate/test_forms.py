"""Forms of questions asked about rooms made by hand, at the limits of what they tell apart."""

import numpy as np
import pytest

from worldgauge.suites.build.generate.commonsense import FORMS
from worldgauge.suites.build.generate.room_plans import AskedQuestion
from worldgauge.suites.build.generate.rooms import Opening, Piece, Room, Style

STYLE = Style("oak", "red", "purpur", "white_concrete", "mangrove_planks")
DOOR = Opening("south", ((3, 9),), ((3, 8),))
WINDOW = Opening("east", ((9, 2), (9, 3)), ((8, 2), (8, 3)))


def asked(form: str, *pieces: Piece, kind: str = "living room", seed: int = 1) -> AskedQuestion | None:
    """The question about a room 8 wide and 8 deep, door in the south wall at x = 3, window in the east wall."""
    room = Room(kind, 8, 8, STYLE, DOOR, WINDOW, pieces)
    return next(one for one in FORMS if one.name == form).ask(room, np.random.default_rng(seed))


@pytest.mark.parametrize(("at", "value"), [(5, "yes"), (6, "yes"), (4, "no"), (3, "no")])
def test_a_gap_as_wide_as_the_piece_is_wide_enough(at, value):
    """A sofa of three blocks between x = 1 and x = `at`."""
    plant, lamp = Piece("plant", (1, 1), "south"), Piece("lamp", (at, 1), "south")
    found = asked("gap", plant, lamp, Piece("sofa", (3, 6), "north"))
    assert found is not None
    assert found.value == value
    assert str(at - 2) in found.answer
    assert "sofa fit into the gap between the plant and the lamp" in found.question


def test_what_is_low_does_not_hide_a_television():
    tv, sofa = Piece("television", (3, 1), "south"), Piece("sofa", (5, 6), "north")
    assert asked("television", tv, sofa).value == "yes"
    assert asked("television", tv, sofa, Piece("chest", (4, 4), "south")).value == "yes"
    hidden = asked("television", tv, sofa, Piece("plant", (4, 4), "south"))
    assert hidden.value == "no"
    assert "The plant stands between" in hidden.answer
    away = asked("television", tv, Piece("sofa", (3, 6), "south"))
    assert away.value == "no"
    assert "faces south" in away.answer
    assert asked("television", tv, Piece("sofa", (1, 6), "east")) is None, "beside it: in doubt"


def test_a_wall_with_four_free_blocks_has_room_for_a_shelf():
    """North: x = 1 to 4 free; the others hold three free blocks at most."""
    pieces = (
        Piece("bookshelf", (5, 1), "south", 4),
        Piece("bookshelf", (8, 4), "west", 2),
        Piece("bookshelf", (7, 8), "north", 3),
        Piece("bookshelf", (1, 5), "east", 2),
    )
    found = asked("shelf", *pieces)
    assert found is not None
    assert found.value == "north"
    assert "free for 4 blocks" in found.answer
    narrower = (Piece("bookshelf", (4, 1), "south", 5), *pieces[1:])
    assert asked("shelf", *narrower) is None, "no wall at all"
    assert asked("shelf", *pieces[:3]) is None, "two walls"


def test_light_needs_a_lamp_at_hand():
    desk = Piece("desk", (1, 1), "south")
    assert asked("light", desk, Piece("lamp", (4, 1), "south"), kind="study").value == "yes"
    assert asked("light", desk, Piece("lamp", (5, 1), "south"), kind="study").value == "yes"
    assert asked("light", desk, Piece("lamp", (6, 1), "south"), kind="study") is None, "in doubt"
    far = asked("light", desk, Piece("lamp", (8, 8), "north"), kind="study")
    assert far.value == "no"
    assert "in the south-east corner" in far.answer


def test_a_table_is_in_the_middle_within_half_a_block():
    """A table 2 wide and 3 deep; the room's middle is at 5, 5."""
    assert asked("centre", Piece("table", (4, 4), "south")).value == "yes"
    assert asked("centre", Piece("table", (4, 3), "south")).value == "yes"
    assert asked("centre", Piece("table", (3, 4), "south")) is None, "one block: in doubt"
    off = asked("centre", Piece("table", (2, 4), "south"))
    assert off.value == "no"
    assert off.facts["direction"] == "west"
    assert "move it east" in off.answer


def test_left_of_one_is_not_left_of_all():
    pieces = (Piece("plant", (1, 1), "south"), Piece("sofa", (3, 1), "south"), Piece("lamp", (8, 1), "south"))
    for seed in range(12):
        found = asked("left", *pieces, seed=seed)
        first = found.question.split(" stands left")[0].split()[-1]
        third = found.question.removesuffix(" as well?").split()[-1]
        order = ["plant", "sofa", "lamp"]
        assert (order.index(first) < order.index(third)) == (found.value == "yes")


@pytest.mark.parametrize(
    ("at", "value"), [((1, 8), "left"), ((8, 8), "right"), ((3, 1), "straight on"), ((5, 2), None), ((8, 4), "right")]
)
def test_turns_at_the_door(at, value):
    """From 3.5, 9 looking north: (5, 2) is 17 degrees off, neither ahead nor to the side."""
    found = asked("turn", Piece("chest", at, "south"))
    assert (found.value if found else None) == value


@pytest.mark.parametrize(("front", "value"), [("north", "right"), ("south", "left"), ("east", None), ("west", None)])
def test_hands_of_somebody_in_bed(front, value):
    """The window is in the east wall: on the right of whoever looks north, ahead of or behind others."""
    found = asked("bed", Piece("bed", (4, 4), front), kind="bedroom")
    assert (found.value if found else None) == value


def test_a_row_is_closed_or_has_one_gap():
    sofa = Piece("sofa", (3, 1), "south")
    closed = asked("way", sofa, Piece("bookshelf", (1, 4), "south", 8))
    assert closed.value == "no"
    assert "from the west wall to the east wall" in closed.answer
    end = asked("way", sofa, Piece("bookshelf", (1, 4), "south", 7))
    assert end.value == "yes"
    assert "towards the east wall" in end.answer
    middle = asked("way", sofa, Piece("bookshelf", (1, 4), "south", 4), Piece("bookshelf", (6, 4), "south", 3))
    assert "a gap in the middle" in middle.answer
    assert asked("way", sofa, Piece("bookshelf", (1, 4), "south", 6)) is None, "two gaps"


def test_one_thing_only_may_be_out_of_place():
    sofa, bath, toilet = (
        Piece("sofa", (3, 1), "south"),
        Piece("bathtub", (5, 8), "north"),
        Piece("toilet", (8, 8), "west"),
    )
    assert asked("belong", sofa).value == "yes"
    assert asked("belong", sofa, bath).value == "no"
    assert asked("misplaced", sofa, bath).value == "bathtub"
    assert asked("belong", sofa, bath, toilet) is None
    assert asked("misplaced", sofa, bath, toilet) is None
    assert asked("misplaced", sofa) is None
    assert asked("misplaced", Piece("chest", (1, 1), "south"), kind="kitchen") is None, "odd, but nothing wrong"


def test_what_hinders_stands_before_the_whole_front():
    wardrobe = Piece("wardrobe", (3, 1), "south")
    bed = Piece("bed", (3, 2), "south")
    found = asked("close", wardrobe, bed, kind="bedroom")
    assert found.facts == {"thing": "wardrobe", "other": "bed", "direction": "south", "action": "move"}
    assert asked("close", wardrobe, Piece("bed", (4, 2), "south"), kind="bedroom") is None, "one door opens"
    assert asked("close", wardrobe, bed, Piece("plant", (3, 4), "south"), kind="bedroom") is None, "no room to move it"


def test_of_two_pieces_the_nearer_is_much_nearer():
    near, far = Piece("plant", (4, 8), "north"), Piece("lamp", (8, 1), "south")
    values = set()
    for seed in range(8):
        found = asked("nearer", near, far, seed=seed)
        assert found.answer.startswith("The plant.")
        values.add(found.value)
    assert values == {"first", "second"}
    assert asked("nearer", near, Piece("lamp", (5, 8), "north")) is None, "hardly farther"


def test_what_blocks_the_door_or_the_window():
    chest = Piece("chest", (3, 8), "north")
    assert asked("door", chest).value == "chest"
    assert asked("door", Piece("chest", (4, 8), "north")) is None
    shelf = Piece("bookshelf", (8, 1), "west", 3)
    assert asked("window", shelf).value == "bookshelf"
    assert asked("window", Piece("bookshelf", (8, 3), "west", 3)) is None, "half of it is free"
    assert asked("window", Piece("sofa", (8, 1), "west")) is None, "one looks over it"
