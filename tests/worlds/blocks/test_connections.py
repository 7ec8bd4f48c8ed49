from itertools import product

import numpy as np
import pytest

from worldgauge.worlds.blocks.blueprint import Blueprint, material, states_of
from worldgauge.worlds.blocks.mesh import joined

COMPASS = ("north", "east", "south", "west")
STEP = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}
BACK = {"north": "south", "south": "north", "east": "west", "west": "east"}


def build(placed: dict[tuple[int, int, int], str]) -> Blueprint:
    """A blueprint of texts by x, y, z."""
    names = sorted(set(placed.values()))
    size = [max(place[axis] for place in placed) + 1 for axis in range(3)]
    cells = np.full((size[1], size[2], size[0]), -1)
    for (x, y, z), name in placed.items():
        cells[y, z, x] = names.index(name) + 1
    return Blueprint(cells, tuple(names))


def states(blueprint: Blueprint, x: int, y: int, z: int) -> dict[str, str]:
    whole = joined(blueprint)
    return whole.blocks[whole.cells[y, z, x]][1]


def sides(blueprint: Blueprint, x: int, y: int, z: int, value: str = "true") -> set[str]:
    found = states(blueprint, x, y, z)
    return {way for way in COMPASS if found[way] == value}


# Stairs in the east show their whole back when they face west, towards their high side.
JOINED = """
    oak_fence spruce_fence stone glass oak_slab[type=double] oak_fence_gate[facing=north] oak_stairs[facing=west]
    no_such_block
"""
NOT_JOINED = """
    nether_brick_fence oak_leaves carved_pumpkin oak_slab torch oak_fence_gate[facing=east] cobblestone_wall
    oak_stairs[facing=east] air
"""


@pytest.mark.parametrize("neighbour", [*JOINED.split(), *NOT_JOINED.split()])
def test_what_a_fence_joins_to_in_the_east(neighbour):
    joins = {"east"} if neighbour in JOINED.split() else set()
    assert sides(build({(0, 0, 0): "oak_fence", (1, 0, 0): neighbour}), 0, 0, 0) == joins


def test_fences_and_panes_join():
    pair = build({(0, 0, 0): "nether_brick_fence", (1, 0, 0): "nether_brick_fence"})
    assert sides(pair, 0, 0, 0) == {"east"}
    # Given states are kept.
    alone = build({(0, 0, 0): "oak_fence[north=true]", (1, 0, 0): "stone"})
    assert sides(alone, 0, 0, 0) == {"north", "east"}
    cut = build({(0, 0, 0): "oak_fence[east=false]", (1, 0, 0): "stone"})
    assert sides(cut, 0, 0, 0) == set()
    # Panes bars and walls join each other and whole sides.
    row = build({(0, 0, 0): "stone", (1, 0, 0): "glass_pane", (2, 0, 0): "iron_bars", (3, 0, 0): "cobblestone_wall"})
    assert sides(row, 1, 0, 0) == {"west", "east"}
    assert sides(row, 2, 0, 0) == {"west", "east"}
    assert sides(row, 3, 0, 0, "low") == {"west"}
    assert sides(build({(0, 0, 0): "glass_pane", (1, 0, 0): "oak_fence"}), 0, 0, 0) == set()


def test_walls_have_posts_and_tall_sides():
    row = {(x, 0, 0): "cobblestone_wall" for x in range(5)}
    ups = [states(build(row), x, 0, 0)["up"] for x in range(5)]
    assert ups == ["true", "false", "false", "false", "true"]
    post = build({**row, (2, 1, 0): "brick_wall"})
    assert [states(post, x, 0, 0)["up"] for x in range(5)] == ["true", "false", "true", "false", "true"]
    torch = build({**row, (2, 1, 0): "oak_fence"})
    assert states(torch, 2, 0, 0)["up"] == "true"
    corner = build({(0, 0, 0): "stone_brick_wall", (1, 0, 0): "stone_brick_wall", (0, 0, 1): "stone_brick_wall"})
    assert states(corner, 0, 0, 0)["up"] == "true"
    cross = build({(1, 0, 1): "mud_brick_wall", **{(1 + x, 0, 1 + z): "mud_brick_wall" for x, z in STEP.values()}})
    assert states(cross, 1, 0, 1)["up"] == "false"
    # Wall sides are tall under whole blocks and under joined walls.
    two = {(x, y, 0): "cobblestone_wall" for x in range(3) for y in range(2)}
    assert sides(build(two), 1, 0, 0, "tall") == {"west", "east"}
    assert sides(build(two), 1, 1, 0, "low") == {"west", "east"}
    roofed = build({**{(x, 0, 0): "cobblestone_wall" for x in range(3)}, (1, 1, 0): "stone"})
    assert sides(roofed, 1, 0, 0, "tall") == {"west", "east"}
    assert states(roofed, 1, 0, 0)["up"] == "false"
    assert sides(roofed, 0, 0, 0, "low") == {"east"}
    # Gates between walls hang lower.
    row = build({(0, 0, 0): "cobblestone_wall", (1, 0, 0): "oak_fence_gate", (2, 0, 0): "cobblestone_wall"})
    assert states(row, 1, 0, 0)["in_wall"] == "true"
    assert sides(row, 0, 0, 0, "low") == {"east"}


def corner_by_the_rules(at: dict[tuple[int, int], tuple[str, str]], x: int, z: int) -> str:
    """The shape of stairs at (x, z), one cell at a time. at: facing and half of all stairs."""
    facing, half = at[x, z]

    def seen(way: str) -> str | None:
        found = at.get((x + STEP[way][0], z + STEP[way][1]))
        return found[0] if found is not None and found[1] == half else None

    left = COMPASS[COMPASS.index(facing) - 1]
    for ahead, kind in ((seen(facing), "outer"), (seen(BACK[facing]), "inner")):
        if ahead is None or ahead in (facing, BACK[facing]):
            continue
        beside = seen(BACK[ahead] if kind == "outer" else ahead)
        if beside != facing:
            return f"{kind}_{'left' if ahead == left else 'right'}"
    return "straight"


def test_corners_of_stairs_by_the_rules_one_at_a_time():
    rng = np.random.default_rng(4)
    texts = [f"oak_stairs[facing={way},half={half}]" for way in COMPASS for half in ("bottom", "top")]
    texts += [text.replace("oak", "stone") for text in texts[:3]]
    kinds: dict[str, int] = {}
    for _ in range(40):
        cells = rng.integers(0, len(texts) + 1, (1, 6, 7))
        cells[cells == 0] = -1
        blueprint = Blueprint(cells, tuple(texts))
        at = {}
        for (_, z, x), number in np.ndenumerate(cells):
            if number > 0:
                said = states_of(texts[number - 1])[1]
                at[x, z] = said["facing"], said["half"]
        whole = joined(blueprint)
        for x, z in at:
            shape = whole.blocks[whole.cells[0, z, x]][1]["shape"]
            assert shape == corner_by_the_rules(at, x, z), (cells.tolist(), x, z)
            kinds[shape] = kinds.get(shape, 0) + 1
    assert min(kinds.values()) > 50
    assert len(kinds) == 5


def test_a_roof_edge_goes_round_its_corner():
    # Rising towards north in the south row and towards west in the east column: an outer corner where they meet.
    roof = build(
        {
            (0, 0, 1): "oak_stairs[facing=north,half=bottom]",
            (1, 0, 1): "oak_stairs[facing=north,half=bottom]",
            (1, 0, 0): "oak_stairs[facing=west,half=bottom]",
        }
    )
    assert states(roof, 1, 0, 1)["shape"] == "outer_left"
    given = build({(0, 0, 0): "oak_stairs[facing=west]", (0, 0, 1): "oak_stairs[facing=north,shape=straight]"})
    assert states(given, 0, 0, 1)["shape"] == "straight"


def test_turning_a_build_turns_what_is_joined():
    rng = np.random.default_rng(1)
    names = ["oak_fence", "cobblestone_wall", "glass_pane", "stone", "oak_leaves", "vine", "redstone_wire"]
    names += [f"oak_stairs[facing={way},half=bottom]" for way in COMPASS]
    turn = dict(zip(COMPASS, (*COMPASS[1:], COMPASS[0]), strict=True))

    def turned(text: str) -> str:
        name, said = states_of(text)
        said = {turn.get(key, key): turn.get(value, value) for key, value in said.items()}
        return material(name, said)

    for _ in range(10):
        cells = rng.integers(0, len(names) + 1, (3, 4, 5))
        cells[cells == 0] = -1
        before = joined(Blueprint(cells, tuple(names)))
        after = joined(Blueprint(np.rot90(cells, 1, (2, 1)), tuple(turned(name) for name in names)))
        expected = np.rot90(before.cells, 1, (2, 1))
        for place, number in np.ndenumerate(expected):
            if number >= 0:
                text = material(*before.blocks[number])
                assert material(*after.blocks[after.cells[place]]) == turned(text)


def test_doors_plants_fluids_and_air():
    stack = build({(0, y, 0): "oak_door" for y in range(2)} | {(1, y, 0): "sunflower" for y in range(2)})
    assert [states(stack, x, y, 0)["half"] for x, y in product(range(2), range(2))] == ["lower", "upper"] * 2
    water = build({(0, 0, 0): "water", (0, 1, 0): "water"})
    assert [states(water, 0, y, 0)["full"] for y in range(2)] == ["true", "false"]
    # A wall that runs north to south: the door that fills a gap in it faces along the east.
    along = build({(0, 0, 0): "stone", (0, 0, 1): "oak_door", (0, 0, 2): "stone"})
    assert states(along, 0, 0, 1)["facing"] == "east"
    across = build({(0, 0, 0): "stone", (1, 0, 0): "oak_door", (2, 0, 0): "stone"})
    assert states(across, 1, 0, 0)["facing"] == "north"
    # Air of every kind and unused materials leave nothing.
    cells = np.array([[[1, 2, 3, -1]]])
    whole = joined(Blueprint(cells, ("cave_air", "structure_void", "stone", "oak_fence")))
    assert whole.cells.tolist() == [[[-1, -1, 0, -1]]]
    assert whole.blocks == (("stone", {}),)
    empty = joined(Blueprint(np.full((1, 1, 1), -1), ()))
    assert empty.blocks == ()


@pytest.mark.parametrize("way", COMPASS)
def test_what_hangs_on_a_wall_faces_away_from_it(way):
    x, z = STEP[BACK[way]]
    hung = build({(1, 0, 1): "wall_torch", (1 + x, 0, 1 + z): "stone", (0, 1, 0): "ladder"})
    assert states(hung, 1, 0, 1)["facing"] == way
    assert states(hung, 0, 1, 0)["facing"] == "north", "by default where no wall is"
