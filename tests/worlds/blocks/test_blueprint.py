"""Blueprints: what a matrix holds, how materials are written, how much two share, how hard one is."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.vectors import cases
from worldgauge.core.errors import ShapeError
from worldgauge.worlds.blocks import table
from worldgauge.worlds.blocks.blueprint import (
    Blueprint,
    base_name,
    difficulty_factor,
    first_seen,
    material,
    shared_blocks,
    states_of,
    tier_of,
)
from worldgauge.worlds.blocks.fittings import FULL

HUT = Blueprint.of([[[1, 1], [1, 2]], [[-1, 2], [-1, -1]]], ["stone", "oak_slab[type=top]"])


@st.composite
def blueprints(draw: st.DrawFn) -> Blueprint:
    shape = tuple(draw(st.integers(1, 4)) for _ in range(3))
    names = draw(st.lists(st.sampled_from(["stone", "oak_slab[type=top]", "oak_slab", "cave_air"]), max_size=4))
    seed = draw(st.integers(0, 2**32 - 1))
    cells = np.random.default_rng(seed).integers(-1, len(names) + 1, shape)
    return Blueprint(np.where(cells == 0, -1, cells), tuple(names))


@pytest.mark.parametrize("case", cases("build_difficulty", "cases"))
def test_difficulty_of_the_vectors(case: dict) -> None:
    box = case["3d_info"]
    factor = difficulty_factor(case["block_amount"], tuple(box.get(side) for side in ("width", "height", "depth")))
    assert factor == case["difficulty_factor"]
    if factor is not None:
        assert tier_of(factor) == case["tier"]


def test_difficulty_and_materials_in_words() -> None:
    # 60 blocks in a box of five each way: 60 + 60 * 5 + 125 = 485, and log10(485) = 2.686.
    assert difficulty_factor(60, (5, 5, 5)) == 2.3
    assert [tier_of(factor) for factor in (1.8, 1.9, 3.7, 3.8)] == ["easy", "medium", "medium", "hard"]
    assert difficulty_factor(0, (0, 0, 0)) is None
    assert difficulty_factor(3, (1, None, 1)) is None
    # Materials in words.
    assert material("minecraft:Oak_Stairs", {"half": "top", "facing": "east", "waterlogged": False}) == (
        "oak_stairs[facing=east,half=top,waterlogged=false]"
    )
    assert states_of("minecraft:oak_stairs[half=top, facing=east]") == ("oak_stairs", {"half": "top", "facing": "east"})
    assert material("stone", {"lit": None}) == material("stone", None) == "stone"
    assert states_of("stone[]") == ("stone", {})
    assert base_name(" minecraft:Oak_Stairs[half=top] ") == "oak_stairs"
    assert base_name("some_mod:glass[a=b:c]") == "glass", "matching leaves out every namespace (specification, 5)"


def test_blueprints_hold_and_compare_blocks() -> None:
    assert HUT.size == (2, 2, 2)
    assert HUT.blocks == 5
    assert HUT.counts() == {"stone": 3, "oak_slab[type=top]": 2}
    assert HUT.mapping == {"air": -1, "stone": 1, "oak_slab[type=top]": 2}
    assert HUT.named()[1, 0].tolist() == ["air", "oak_slab[type=top]"]
    assert HUT.rows() == [[[1, 1], [1, 2]], [[-1, 2], [-1, -1]]]
    # Equal by blocks whatever their numbers.
    other = Blueprint.of([[[2, 2], [2, 1]], [[-1, 1], [-1, -1]]], ["oak_slab[type=top]", "stone"])
    assert other == HUT
    assert other.digest != HUT.digest
    assert other != Blueprint.of([[[1]]], ["stone"])
    assert HUT != "hut"
    # Names only joins states.
    mixed = Blueprint.of([[[1, 2, 3]]], ["oak_slab[type=top]", "oak_slab[type=bottom]", "stone"])
    plain = mixed.names_only()
    assert plain.materials == ("oak_slab", "stone")
    assert plain.rows() == [[[1, 1, 2]]]
    # Blocks of one material that is listed twice are counted together.
    assert Blueprint.of([[[1, 2, 3, 2]]], ["stone", "stone", "cave_air"]).counts() == {"stone": 3}
    # Materials in the order of first sight.
    cells = np.array([[[3, 2], [0, 1]], [[2, 4], [0, 0]]], np.int32)
    built = first_seen(cells, ["air", "glass", "stone", "oak_planks", "stone", "never"])
    assert built.materials == ("oak_planks", "stone", "glass"), "x outermost, then y, then z"
    assert built.rows() == [[[1, 2], [-1, 3]], [[2, 2], [-1, -1]]]


@pytest.mark.parametrize("rows", [[[1]], [[[1], [1, 2]]], [[["a"]]], [], 3])
def test_what_is_no_matrix_is_refused(rows: list) -> None:
    with pytest.raises(ShapeError, match="blueprint"):
        Blueprint.of(rows, ["stone"])


def test_numbers_without_a_material_or_a_place_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"cell \[0\]\[0\]\[1\] holds 2; give -1 for air, or 1 to 1"):
        Blueprint.of([[[1, 2]]], ["stone"])
    assert Blueprint.of([[[1, 2, 0, -7]]], ["stone"], unknown="air").rows() == [[[1, -1, -1, -1]]]
    # Numbers that do not fit are not wrapped.
    with pytest.raises(ShapeError, match=r"holds 4294967297; give -1 for air, or 1 to 1"):
        Blueprint(np.array([[[2**32 + 1]]]), ("stone",))
    assert Blueprint.of([[[2**32 + 1, 1]]], ["stone"], unknown="air").rows() == [[[-1, 1]]]


@given(blueprints())
def test_trimmed_keeps_every_block_and_is_tight(build: Blueprint) -> None:
    cut = build.trimmed()
    assert cut.blocks == build.blocks
    assert cut.counts() == build.counts()
    if cut.blocks:
        for axis in range(3):
            filled = cut.solid.any(axis=tuple(other for other in range(3) if other != axis))
            assert filled[0]
            assert filled[-1]


@given(blueprints(), blueprints())
def test_shared_blocks_are_those_of_one_name_at_one_place(a: Blueprint, b: Blueprint) -> None:
    count = 0
    for place in np.ndindex(*a.cells.shape):
        if a.solid[place] and all(i < n for i, n in zip(place, b.cells.shape, strict=True)):
            count += base_name(str(a.named()[place])) == base_name(str(b.named()[place]))
    assert shared_blocks(a, b) == count == shared_blocks(b, a)
    assert shared_blocks(a, a) == a.blocks


@pytest.mark.parametrize("cell", [1.7, "1", True, None, 2**70])
def test_what_is_no_whole_number_is_not_bent_into_one(cell: object) -> None:
    with pytest.raises(ShapeError, match="whole numbers"):
        Blueprint.of([[[cell]]], ["stone"])
    with pytest.raises(ShapeError, match="whole numbers"):
        Blueprint(np.array([[[cell]]]), ("stone",))


def test_the_table_is_that_of_the_version_it_names():
    # Counts of the specification, section 9, measured there from the data of 1.20.4.
    names = table.names()
    assert len(names) == 1058
    states = [len(list(product(*table.properties(name).values()))) for name in names]
    assert sum(states) == 26_644
    default = [table.boxes(name, {}) for name in names]
    assert sum(boxes == (FULL,) for boxes in default) == 423
    assert sum(boxes == () for boxes in default) == 225
    assert "Permission is hereby granted" in table._table()["notice"]
    # Default states are one value of each property.
    for name in table.names():
        properties, default = table.properties(name), table.default_states(name)
        assert list(properties) == list(default)
        assert all(default[key] in values for key, values in properties.items())
    assert table.default_states("oak_stairs") == {
        "facing": "north",
        "half": "bottom",
        "shape": "straight",
        "waterlogged": "false",
    }
    assert table.default_states("oak_log") == {"axis": "y"}


WHOLE = """
    stone>stone, minecraft:Oak_Log>oak_log[axis=y], oak_log[axis=x]>oak_log[axis=x], grass>short_grass
    oak_log[axis=q;colour=red]>oak_log[axis=y], oak_slab[type=top]>oak_slab[type=top;waterlogged=false]
    Oak Planks>oak_planks, no_such_block[b=1;a=2]>no_such_block[a=2;b=1]
"""


@pytest.mark.parametrize("pair", [pair.strip() for line in WHOLE.strip().splitlines() for pair in line.split(",")])
def test_complete_says_all_states_and_only_those(pair):
    text, whole = pair.replace(";", ",").split(">")
    assert table.complete(text) == whole
    assert table.complete(whole) == whole


def test_names_and_boxes():
    assert table.known("minecraft:oak_stairs[facing=north]")
    assert table.known("air")
    assert not table.known("oak_stair")
    assert table.properties("oak_stair") == {}
    assert table.default_states("") == {}
    # Boxes are those of the state.
    assert table.boxes("oak_slab", {"type": "top"}) == ((0, 8, 0, 16, 16, 16),)
    assert table.boxes("oak_slab", {"type": "double"}) == (FULL,)
    # A door that is shut stands at the side opposite to where it faces; open and hung left it lies along the west.
    assert table.boxes("oak_door", {"facing": "north", "open": "false"}) == ((0, 0, 13, 16, 16, 16),)
    assert table.boxes("oak_door", {"facing": "north", "open": "true", "hinge": "left"}) == ((0, 0, 0, 3, 16, 16),)
    assert table.boxes("oak_trapdoor", {"half": "top"}) == ((0, 13, 0, 16, 16, 16),)
    assert table.boxes("carrots", {}) == ()
    assert table.boxes("no_such_block", {}) == (FULL,)
    assert table.boxes("oak_slab", {"type": "sideways"}) == table.boxes("oak_slab", {})
