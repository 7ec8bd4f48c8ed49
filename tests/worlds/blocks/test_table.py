from itertools import product

import pytest

from worldgauge.worlds.blocks import table
from worldgauge.worlds.blocks.fittings import FULL


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


def test_default_states_are_one_value_of_each_property():
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


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("stone", "stone"),
        ("minecraft:Oak_Log", "oak_log[axis=y]"),
        ("oak_log[axis=x]", "oak_log[axis=x]"),
        ("oak_log[axis=q,colour=red]", "oak_log[axis=y]"),
        ("oak_slab[type=top]", "oak_slab[type=top,waterlogged=false]"),
        ("grass", "short_grass"),
        ("Oak Planks", "oak_planks"),
        ("no_such_block[b=1,a=2]", "no_such_block[a=2,b=1]"),
    ],
)
def test_complete_says_all_states_and_only_those(text, whole):
    assert table.complete(text) == whole
    assert table.complete(whole) == whole


def test_known_is_about_the_name_only():
    assert table.known("minecraft:oak_stairs[facing=north]")
    assert table.known("air")
    assert not table.known("oak_stair")
    assert table.properties("oak_stair") == {}
    assert table.default_states("") == {}


def test_boxes_are_those_of_the_state():
    assert table.boxes("oak_slab", {"type": "top"}) == ((0, 8, 0, 16, 16, 16),)
    assert table.boxes("oak_slab", {"type": "double"}) == (FULL,)
    # A door that is shut stands at the side opposite to where it faces; open and hung left it lies along the west.
    assert table.boxes("oak_door", {"facing": "north", "open": "false"}) == ((0, 0, 13, 16, 16, 16),)
    assert table.boxes("oak_door", {"facing": "north", "open": "true", "hinge": "left"}) == ((0, 0, 0, 3, 16, 16),)
    assert table.boxes("oak_trapdoor", {"half": "top"}) == ((0, 13, 0, 16, 16, 16),)
    assert table.boxes("carrots", {}) == ()
    assert table.boxes("no_such_block", {}) == (FULL,)
    assert table.boxes("oak_slab", {"type": "sideways"}) == table.boxes("oak_slab", {})
