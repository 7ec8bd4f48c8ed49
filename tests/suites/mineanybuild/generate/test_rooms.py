"""Furnished rooms: what stands where, in cells of the floor and in blocks."""

import numpy as np
import pytest

from worldgauge.core.errors import UnknownNameError, WorldError
from worldgauge.suites.mineanybuild.generate.commonsense import commonsense
from worldgauge.suites.mineanybuild.generate.room_plans import (
    KINDS,
    RoomPlan,
    free_run,
    from_door,
    gap,
    place_words,
    roomiest,
)
from worldgauge.suites.mineanybuild.generate.rooms import (
    COMPASS,
    DESIGNS,
    HEIGHT,
    MISPLACED,
    SIDES,
    SILL,
    FurnishedRoom,
    Furniture,
    Style,
    WallOpening,
    built_of,
    turned,
)
from worldgauge.worlds.blocks.blueprint import base_name, states_of
from worldgauge.worlds.blocks.table import known, properties

STYLE = Style("oak", "red", "purpur", "white_concrete", "spruce_planks")
SOUTH_DOOR = WallOpening("south", ((3, 7),), ((3, 6),))
EAST_WINDOW = WallOpening("east", ((9, 2), (9, 3)), ((8, 2), (8, 3)))


def room_of(*pieces: Furniture) -> FurnishedRoom:
    """8 wide, 6 deep, its door in the south wall, its window in the east wall."""
    return FurnishedRoom("bedroom", 8, 6, STYLE, SOUTH_DOOR, EAST_WINDOW, pieces)


def test_pieces_and_blocks_turn_with_their_front():
    # A wardrobe is two wide and one deep; seen from before it, the corner is its left end.
    for front, second in (("south", (5, 4)), ("west", (4, 5)), ("north", (3, 4)), ("east", (4, 3))):
        piece = Furniture("wardrobe", (4, 4), front)
        assert piece.cells == ((4, 4), second)
        dx, dz = COMPASS[front]
        assert piece.before == ((4 + dx, 4 + dz), (second[0] + dx, second[1] + dz))
    assert Furniture("wardrobe", (4, 4), "south").centre == (5.0, 4.5)
    assert Furniture("bookshelf", (1, 1), "south", 5).cells == tuple((x, 1) for x in range(1, 6))
    # Blocks turn with their piece.
    assert built_of("{wood}_stairs[half=bottom,facing={back}]", STYLE, "east") == "oak_stairs[facing=west,half=bottom]"
    room = room_of(Furniture("bed", (1, 1), "south"))
    head = room.blueprint.named()[1, 1, 1]
    foot = room.blueprint.named()[1, 2, 1]
    assert states_of(head) == ("red_bed", {"facing": "north", "occupied": "false", "part": "head"})
    assert states_of(foot)[1]["part"] == "foot"


def test_walls_floor_door_and_window_are_where_the_plan_says():
    names = room_of().blueprint.named()
    assert names.shape == (HEIGHT + 2, 8, 10)
    assert (names[0] == "spruce_planks").all()
    assert (names[-1] == "smooth_stone").all()
    assert names[1, 7, 3] == "oak_door[facing=south,half=lower,hinge=left,open=false,powered=false]"
    assert states_of(names[2, 7, 3])[1]["half"] == "upper"
    assert (names[SILL : SILL + 2, 2:4, 9] == "glass").all()
    outside = names[1:-1].copy()
    outside[:, 1:-1, 1:-1] = "white_concrete"
    assert {base_name(name) for name in np.unique(outside)} == {"white_concrete", "glass", "oak_door"}
    assert (names[1:-1, 1:-1, 1:-1] == "air").all()


@pytest.mark.parametrize("name", sorted(DESIGNS))
@pytest.mark.parametrize("front", SIDES)
def test_every_piece_fills_the_cells_it_takes(name, front):
    piece = Furniture(name, (5, 4), front)
    door = WallOpening("south", ((3, 13),), ((3, 12),))
    window = WallOpening("east", ((13, 2), (13, 3)), ((12, 2), (12, 3)))
    blueprint = FurnishedRoom("library", 12, 12, STYLE, door, window, (piece,)).blueprint
    inner = blueprint.solid[1:-1, 1:-1, 1:-1]
    filled = {(int(x) + 1, int(z) + 1) for z, x in np.argwhere(inner.any(axis=0))}
    assert filled == set(piece.cells)
    assert inner.any(axis=(1, 2)).sum() == len(_layers(name))
    for text in blueprint.materials:
        name, states = states_of(text)
        assert known(name), text
        assert not states or states.keys() == properties(name).keys(), text
        assert all(value in properties(name)[key] for key, value in states.items()), text


def _layers(name: str) -> list[str]:
    return [layer.replace("/", "") for layer in DESIGNS[name].layers.split("|") if set(layer) - set("./")]


def test_places_in_words():
    room = room_of(
        Furniture("chest", (1, 1), "south"),
        Furniture("desk", (4, 1), "south"),
        Furniture("table", (4, 3), "south"),
        Furniture("bookshelf", (8, 6), "west"),
        Furniture("bookshelf", (1, 3), "south", 8),
    )
    assert [place_words(room, piece) for piece in room.pieces] == [
        *("in the north-west corner", "at the north wall", "away from the walls"),
        *("in the south-east corner", "at the west wall"),
    ]


def test_distances_and_reach_by_hand():
    # Distances and directions by hand.
    room = room_of()
    assert gap([(1, 1)], [(4, 2)]) == 2
    assert gap([(1, 1)], [(2, 2)]) == 0
    # The door is in the south wall at x = 3: its sill is at (3.5, 7).
    assert from_door(room, (3.5, 2.0)) == (5.0, 0.0)
    assert from_door(room, (6.5, 6.0)) == (1.0, 3.0)
    assert from_door(room, (1.5, 6.0)) == (1.0, -2.0)
    # Free runs leave out furniture door and window.
    room = room_of(Furniture("chest", (3, 1), "south"))
    assert free_run(room, "north") == tuple((x, 1) for x in range(4, 9))
    assert free_run(room, "south") == tuple((x, 6) for x in range(4, 9))
    assert free_run(room, "east") == ((8, 4), (8, 5), (8, 6))
    assert free_run(room, "west") == tuple((1, z) for z in range(1, 7))
    assert roomiest(room) == "west"
    # What can be reached stops at a closed row.
    row = Furniture("bookshelf", (1, 4), "south", 8)
    bed, rug = Furniture("bed", (1, 1), "south"), Furniture("rug", (4, 5), "south")
    assert room_of(bed).is_reached(bed)
    assert not room_of(bed, row).is_reached(bed)
    assert room_of(bed, Furniture("bookshelf", (1, 4), "south", 7)).is_reached(bed)
    assert len(room_of(row, rug).reached) == 16, "rugs are walked over"
    blocked = room_of(Furniture("chest", (3, 6), "south"))
    assert not blocked.reached


def test_unknown_names_are_refused():
    rng = np.random.default_rng(1)
    with pytest.raises(UnknownNameError, match="no kind of room 'attic'"):
        RoomPlan.empty("attic", rng)
    with pytest.raises(UnknownNameError, match="no piece of furniture 'throne'"):
        RoomPlan.empty("bedroom", rng).put("throne", (2, 2), "south")
    with pytest.raises(WorldError, match="0 pieces called 'bed'"):
        room_of().piece("bed")
    with pytest.raises(WorldError, match="2 pieces called 'chest'"):
        room_of(Furniture("chest", (1, 1), "south"), Furniture("chest", (2, 1), "south")).piece("chest")


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_furnished_rooms_can_be_used(kind):
    """All pieces are reached, none overlap, none is tall before the window or stands behind the door."""
    for seed in range(12):
        rng = np.random.default_rng([seed, 5])
        plan = RoomPlan.empty(kind, rng)
        plan.furnish(KINDS[kind], rng)
        room = plan.room()
        cells = [cell for piece in room.pieces for cell in piece.cells]
        assert len(room.pieces) >= min(3, len(KINDS[kind]))
        assert len(cells) == len(set(cells))
        assert all(room.within(cell) for cell in cells)
        assert not set(plan.entrance) & set(cells)
        assert all(map(room.is_reached, room.pieces))
        for piece in room.pieces:
            assert piece.height == 1 or not set(piece.cells) & set(room.window.inside)
            assert kind in DESIGNS[piece.name].rooms
        assert room.door.wall != room.window.wall


def test_placement_and_turns():
    # What finds no room is not put.
    plan = RoomPlan.empty("bedroom", np.random.default_rng(3), sides=(7, 7))
    assert plan.put("bed", (1, 1), "south")
    assert not plan.put("chest", (1, 2), "south"), "the bed is there"
    assert not plan.put("chest", (1, 0), "south"), "the wall is there"
    assert not plan.put("wardrobe", (7, 7), "south", width=None), "its doors would open into the wall"
    assert not plan.by_wall("bookshelf", "north", 6), "it would stick out of the corner"
    assert len(plan.pieces) == 1
    # Misplaced pieces belong somewhere else.
    for name, kinds in MISPLACED.items():
        assert kinds <= set(KINDS)
        assert not kinds & DESIGNS[name].rooms
    assert all(set(pieces) <= set(DESIGNS) for pieces in KINDS.values())
    assert all(kind in DESIGNS[name].rooms for kind, pieces in KINDS.items() for name in pieces)
    # Quarter turns.
    assert [turned("north", n) for n in range(-1, 4)] == ["west", "north", "east", "south", "west"]


def test_pictures_show_the_room_from_the_door_and_from_above():
    """The left half of the picture from above is the west of the room, the upper half the north."""
    for question in list(commonsense(4, 16))[:6]:
        inside, above = question.views
        room = question.room
        assert "looking" in inside.caption or "corner" in inside.caption
        for piece in room.pieces:
            x, z = piece.centre
            at = np.linalg.inv(above.pose) @ [x, -z, 1.0, 1.0]
            (u, v), depth = above.camera.project(at[:3])
            assert depth > 0
            assert (u < 320) == (x < room.width / 2 + 1) or x == room.width / 2 + 1
            assert (v < 240) == (z < room.depth / 2 + 1) or z == room.depth / 2 + 1
            assert 0 <= u < 640
            assert 0 <= v < 480
        eye = inside.pose[:3, 3]
        cell = room.blueprint.cells[int(eye[2]), int(-eye[1]), int(eye[0])]
        assert cell == -1, "the eye is in the open"
