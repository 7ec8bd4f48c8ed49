"""Marked boxes: the published vectors, and what is refused instead of moved by one."""

from typing import Any

import numpy as np
import pytest

from support.vectors import cases
from worldgauge.core.errors import DataError
from worldgauge.suites.build.curation.marked_boxes import box_to_blueprint
from worldgauge.worlds.blocks.blueprint import Blueprint, difficulty_factor


def blocks_of(case: dict[str, Any]) -> list[tuple[int, int, int, str, dict[str, Any]]]:
    return [(x, y, z, name, states) for x, y, z, name, states in case["blocks"]]


@pytest.mark.parametrize("case", cases("build_curation", "cases"))
def test_vectors(case: dict[str, Any]) -> None:
    expect = case["expect"]
    found = box_to_blueprint(blocks_of(case), case["start_pos"], case["end_pos"])
    assert found.rows() == expect["blueprint_with_states"]
    assert list(found.materials) == expect["materials_with_states"]
    assert found.size._asdict() == expect["3d_info"]
    assert found.blocks == expect["block_amount"]
    assert found.names_only().rows() == expect["blueprint_names_only"]
    assert list(found.names_only().materials) == expect["materials_names_only"]
    assert difficulty_factor(found.blocks, found.size) == expect["difficulty_factor"]


@pytest.mark.parametrize("case", cases("build_curation", "cases")[:4])
def test_order_of_the_blocks_does_not_matter(case: dict[str, Any]) -> None:
    blocks = blocks_of(case)
    shuffled = [blocks[i] for i in np.random.default_rng(1).permutation(len(blocks))]
    one, other = (box_to_blueprint(told, case["start_pos"], case["end_pos"]) for told in (blocks, shuffled))
    assert (one.rows(), one.materials) == (other.rows(), other.materials)


def test_a_jigsaw_is_what_it_becomes_with_states_and_air_is_air() -> None:
    row = [
        (0, 0, 0, "minecraft:jigsaw", {"final_state": "minecraft:oak_stairs[half=top,facing=north]"}),
        (1, 0, 0, "jigsaw", {"final_state": "minecraft:air"}),
        (2, 0, 0, "structure_void", {}),
        (3, 0, 0, "cave_air", {}),
        (4, 0, 0, "oak_stairs", {"facing": "north", "half": "top"}),
    ]
    found = box_to_blueprint(row, (0, 0, 0), (4, 0, 0))
    assert found == Blueprint.of([[[1, -1, -1, -1, 1]]], ["oak_stairs[facing=north,half=top]"])
    with pytest.raises(DataError, match="jigsaw without final_state"):
        box_to_blueprint([(0, 0, 0, "jigsaw", None)], (0, 0, 0), (0, 0, 0))


def test_as_released_materials_come_as_given_and_only_air_is_air() -> None:
    row = [
        (4, 0, 0, "stone", {}),
        (3, 0, 0, "minecraft:cave_air", {}),
        (1, 0, 0, "jigsaw", {"final_state": "minecraft:air"}),
        (0, 0, 0, "jigsaw", {"final_state": "minecraft:structure_void"}),
        (2, 0, 0, "air", {}),
        (5, 0, 0, "minecraft:oak_log", {"axis": "y"}),
    ]
    found = box_to_blueprint(row, (0, 0, 0), (5, 0, 0), parity="released")
    assert found.rows() == [[[-1, 3, -1, 2, 1, 4]]]
    assert found.materials == ("stone", "cave_air", "air", "oak_log[axis=y]")
    assert box_to_blueprint(row, (0, 0, 0), (5, 0, 0)).rows() == [[[-1, -1, -1, -1, 1, 2]]]
    full = [(x, 0, 0, "dirt", {}) for x in range(2)]
    assert box_to_blueprint(full, (0, 0, 0), (1, 0, 0), parity="released").rows() == [[[1, 1]]]


@pytest.mark.parametrize("case", cases("build_curation", "cases"))
def test_where_only_air_is_air_and_cells_come_in_order_parity_changes_nothing(case: dict[str, Any]) -> None:
    found = box_to_blueprint(blocks_of(case), case["start_pos"], case["end_pos"], parity="released")
    kinds = {"cave_air", "void_air", "air"} & set(found.names_only().materials)
    if not kinds:
        assert found.rows() == case["expect"]["blueprint_with_states"]
        assert list(found.materials) == case["expect"]["materials_with_states"]


def test_a_block_that_is_not_loaded_is_an_error_and_moves_nothing() -> None:
    blocks = [(x, 64, 0, "stone", {}) for x in (-1, 1)]
    with pytest.raises(DataError, match=r"1 of 3 blocks of the box are missing \(first: \(0, 64, 0\)\)"):
        box_to_blueprint(blocks, (-1, 64, 0), (1, 64, 0))


def test_blocks_outside_and_twice_and_boxes_that_are_none() -> None:
    stone = ("stone", {})
    with pytest.raises(DataError, match="outside the box"):
        box_to_blueprint([(1, 0, 0, *stone)], (0, 0, 0), (0, 0, 0))
    with pytest.raises(DataError, match="twice"):
        box_to_blueprint([(0, 0, 0, *stone)] * 2, (0, 0, 0), (0, 0, 0))
    with pytest.raises(DataError, match="smallest corner first"):
        box_to_blueprint([], (1, 0, 0), (0, 0, 0))
    with pytest.raises(DataError, match="512 a side"):
        box_to_blueprint([], (0, 0, 0), (10**9, 0, 0))
    with pytest.raises(DataError, match="in all"):
        box_to_blueprint([], (0, 0, 0), (511, 511, 511))
