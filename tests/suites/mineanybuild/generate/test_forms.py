"""Forms of questions asked about rooms made by hand, at the limits of what they tell apart."""

import numpy as np
import pytest

from worldgauge.suites.mineanybuild.generate.commonsense import FORMS
from worldgauge.suites.mineanybuild.generate.room_plans import AskedQuestion
from worldgauge.suites.mineanybuild.generate.rooms import FurnishedRoom, Furniture, Style, WallOpening

STYLE = Style("oak", "red", "purpur", "white_concrete", "mangrove_planks")
DOOR = WallOpening("south", ((3, 9),), ((3, 8),))
WINDOW = WallOpening("east", ((9, 2), (9, 3)), ((8, 2), (8, 3)))


def asked(form: str, *pieces: Furniture, kind: str = "living room", seed: int = 1) -> AskedQuestion | None:
    """The question about a room 8 wide and 8 deep, door in the south wall at x = 3, window in the east wall."""
    room = FurnishedRoom(kind, 8, 8, STYLE, DOOR, WINDOW, pieces)
    return next(one for one in FORMS if one.name == form).ask(room, np.random.default_rng(seed))


@pytest.mark.parametrize(("at", "value"), [(5, "yes"), (6, "yes"), (4, "no"), (3, "no")])
def test_a_gap_as_wide_as_the_piece_is_wide_enough(at, value):
    """A sofa of three blocks between x = 1 and x = `at`."""
    plant, lamp = Furniture("plant", (1, 1), "south"), Furniture("lamp", (at, 1), "south")
    found = asked("gap", plant, lamp, Furniture("sofa", (3, 6), "north"))
    assert found.value == value
    assert str(at - 2) in found.answer
    assert "sofa fit into the gap between the plant and the lamp" in found.question


def test_what_is_low_does_not_hide_a_television():
    tv, sofa = Furniture("television", (3, 1), "south"), Furniture("sofa", (5, 6), "north")
    assert asked("television", tv, sofa).value == "yes"
    assert asked("television", tv, sofa, Furniture("chest", (4, 4), "south")).value == "yes"
    hidden = asked("television", tv, sofa, Furniture("plant", (4, 4), "south"))
    assert hidden.value == "no"
    assert "The plant stands between" in hidden.answer
    away = asked("television", tv, Furniture("sofa", (3, 6), "south"))
    assert away.value == "no"
    assert "faces south" in away.answer
    assert asked("television", tv, Furniture("sofa", (1, 6), "east")) is None, "beside it: in doubt"


def test_a_wall_with_four_free_blocks_has_room_for_a_shelf():
    """North: x = 1 to 4 free; the others hold three free blocks at most."""
    pieces = (
        Furniture("bookshelf", (5, 1), "south", 4),
        Furniture("bookshelf", (8, 4), "west", 2),
        Furniture("bookshelf", (7, 8), "north", 3),
        Furniture("bookshelf", (1, 5), "east", 2),
    )
    found = asked("shelf", *pieces)
    assert found.value == "north"
    assert "free for 4 blocks" in found.answer
    narrower = (Furniture("bookshelf", (4, 1), "south", 5), *pieces[1:])
    assert asked("shelf", *narrower) is None, "no wall at all"
    assert asked("shelf", *pieces[:3]) is None, "two walls"


def test_light_and_the_middle():
    # Light needs a lamp at hand.
    desk = Furniture("desk", (1, 1), "south")
    assert asked("light", desk, Furniture("lamp", (4, 1), "south"), kind="study").value == "yes"
    assert asked("light", desk, Furniture("lamp", (5, 1), "south"), kind="study").value == "yes"
    assert asked("light", desk, Furniture("lamp", (6, 1), "south"), kind="study") is None, "in doubt"
    far = asked("light", desk, Furniture("lamp", (8, 8), "north"), kind="study")
    assert far.value == "no"
    assert "in the south-east corner" in far.answer
    # A table 2 wide and 3 deep; the room's middle is at 5, 5.
    assert asked("centre", Furniture("table", (4, 4), "south")).value == "yes"
    assert asked("centre", Furniture("table", (4, 3), "south")).value == "yes"
    assert asked("centre", Furniture("table", (3, 4), "south")) is None, "one block: in doubt"
    off = asked("centre", Furniture("table", (2, 4), "south"))
    assert off.value == "no"
    assert off.facts["direction"] == "west"
    assert "move it east" in off.answer


def test_left_of_one_is_not_left_of_all():
    pieces = (
        Furniture("plant", (1, 1), "south"),
        Furniture("sofa", (3, 1), "south"),
        Furniture("lamp", (8, 1), "south"),
    )
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
    found = asked("turn", Furniture("chest", at, "south"))
    assert (found.value if found else None) == value


@pytest.mark.parametrize(("front", "value"), [("north", "right"), ("south", "left"), ("east", None), ("west", None)])
def test_hands_of_somebody_in_bed(front, value):
    """The window is in the east wall: on the right of whoever looks north, ahead of or behind others."""
    found = asked("bed", Furniture("bed", (4, 4), front), kind="bedroom")
    assert (found.value if found else None) == value


def test_a_row_is_closed_or_has_one_gap():
    sofa = Furniture("sofa", (3, 1), "south")
    closed = asked("way", sofa, Furniture("bookshelf", (1, 4), "south", 8))
    assert closed.value == "no"
    assert "from the west wall to the east wall" in closed.answer
    end = asked("way", sofa, Furniture("bookshelf", (1, 4), "south", 7))
    assert end.value == "yes"
    assert "towards the east wall" in end.answer
    middle = asked("way", sofa, Furniture("bookshelf", (1, 4), "south", 4), Furniture("bookshelf", (6, 4), "south", 3))
    assert "a gap in the middle" in middle.answer
    assert asked("way", sofa, Furniture("bookshelf", (1, 4), "south", 6)) is None, "two gaps"


def test_one_thing_only_may_be_out_of_place():
    sofa, bath, toilet = (
        Furniture("sofa", (3, 1), "south"),
        Furniture("bathtub", (5, 8), "north"),
        Furniture("toilet", (8, 8), "west"),
    )
    assert asked("belong", sofa).value == "yes"
    assert asked("belong", sofa, bath).value == "no"
    assert asked("misplaced", sofa, bath).value == "bathtub"
    assert asked("belong", sofa, bath, toilet) is None
    assert asked("misplaced", sofa, bath, toilet) is None
    assert asked("misplaced", sofa) is None
    assert asked("misplaced", Furniture("chest", (1, 1), "south"), kind="kitchen") is None, "odd, but nothing wrong"


def test_hindered_and_nearer_pieces():
    # What hinders stands before the whole front.
    wardrobe = Furniture("wardrobe", (3, 1), "south")
    bed = Furniture("bed", (3, 2), "south")
    found = asked("close", wardrobe, bed, kind="bedroom")
    assert found.facts == {"thing": "wardrobe", "other": "bed", "direction": "south", "action": "move"}
    assert asked("close", wardrobe, Furniture("bed", (4, 2), "south"), kind="bedroom") is None, "one door opens"
    assert asked("close", wardrobe, bed, Furniture("plant", (3, 4), "south"), kind="bedroom") is None, (
        "no room to move it"
    )
    # Of two pieces the nearer is much nearer.
    near, far = Furniture("plant", (4, 8), "north"), Furniture("lamp", (8, 1), "south")
    values = set()
    for seed in range(8):
        found = asked("nearer", near, far, seed=seed)
        assert found.answer.startswith("The plant.")
        values.add(found.value)
    assert values == {"first", "second"}
    assert asked("nearer", near, Furniture("lamp", (5, 8), "north")) is None, "hardly farther"


def test_what_blocks_the_door_or_the_window():
    chest = Furniture("chest", (3, 8), "north")
    assert asked("door", chest).value == "chest"
    assert asked("door", Furniture("chest", (4, 8), "north")) is None
    shelf = Furniture("bookshelf", (8, 1), "west", 3)
    assert asked("window", shelf).value == "bookshelf"
    assert asked("window", Furniture("bookshelf", (8, 3), "west", 3)) is None, "half of it is free"
    assert asked("window", Furniture("sofa", (8, 1), "west")) is None, "one looks over it"
