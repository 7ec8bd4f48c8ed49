"""The reader: layer lists come back to the cell; of other instructions it takes sizes and names."""

from __future__ import annotations

import time

import numpy as np
import pytest

from support.vectors import cases
from worldgauge.core.agent import Answer, Problem
from worldgauge.core.errors import UsageError
from worldgauge.suites.mineanybuild.agents import Reader, hollow_box, read_layers, read_stated
from worldgauge.suites.mineanybuild.format import LIMITS
from worldgauge.suites.mineanybuild.generate.instructions import describe, layer_instruction
from worldgauge.suites.mineanybuild.metrics.blueprint_reading import read_blueprint
from worldgauge.worlds.blocks.blueprint import AIR, Blueprint


def answered(instruction: str, materials: tuple[str, ...], kind: str = "understanding") -> Answer:
    return Reader().answer(Problem("t", kind, instruction, 1, materials=materials, most=LIMITS))


@pytest.mark.parametrize("case", cases("build_curation", "cases"))
def test_published_lists_come_back(case: dict) -> None:
    expect = case["expect"]
    materials = tuple(expect["materials_with_states"])
    truth = Blueprint.of(expect["blueprint_with_states"], materials)
    answer = answered(expect["layer_instruction_xz"], materials)
    built = read_blueprint(answer.text, materials)
    assert built.strict
    assert built.blueprint.trimmed() == truth.trimmed()
    assert answer.notes == {"read": "layers", "unknown": []}


@pytest.mark.parametrize("seed", range(30))
def test_lists_of_ours_come_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    materials = ("oak_stairs[facing=north,half=top]", "stone", "oak_stairs[facing=south,half=top]", "Bed (Head, Left)")
    cells = rng.choice(np.array([AIR, AIR, 1, 2, 3, 4], np.int32), rng.integers(1, 9, 3))
    cells[0, 0, 0] = 2
    truth = Blueprint(cells, materials)
    listed = read_layers(layer_instruction(truth, "thing of 9 layers, layer 3: odd"), materials, LIMITS)
    assert listed.built == truth
    assert listed.unknown == ()


def test_layers_are_read_by_place_and_name() -> None:
    # Places are x before z.
    listed = read_layers("Layer 1: stone: [(2,0), (0,1)]", ("stone",), LIMITS)
    assert listed.built.rows() == [[[-1, -1, 1], [1, -1, -1]]]
    # Empty layers count.
    listed = read_layers("Layer 1: stone: [(0,0)]\nLayer 2:\nLayer 3: stone: [(0,0)]", ("stone",), LIMITS)
    assert listed.built.rows() == [[[1]], [[-1]], [[1]]]
    # Names match by text then by base name.
    text = "Layer 1: minecraft:Oak_Stairs: [(0,0)], oak_stairs[facing=east]: [(1,0)], marble: [(2,0)]"
    listed = read_layers(text, ("stone", "oak_stairs[facing=west]", "oak_stairs[facing=east]"), LIMITS)
    assert listed.built.rows() == [[[2, 3]]]
    assert listed.unknown == ("marble",)


def test_extents_are_those_that_are_said_and_allowed() -> None:
    def shape(head: str) -> tuple[int, ...]:
        listed = read_layers(f"{head}\nLayer 1: stone: [(1,0)]", ("stone",), (5, 6, 7))
        return listed.built.cells.shape

    assert shape("It has 3 layers, 4 blocks wide (x) and 2 blocks long (z).") == (3, 2, 4)
    assert shape("It has 99 layers, 99 blocks wide (x) and 99 blocks long (z).") == (5, 6, 7)
    assert shape("It has 1 layer, 1 block wide (x) and 0 blocks long (z).") == (1, 1, 2)
    assert shape("Nothing is said.") == (1, 1, 2)


def test_what_lies_beyond_the_limits_is_left_out() -> None:
    text = "Layer 1: stone: [(0,0), (9999,0), (0,80)]\nLayer 9999: stone: [(0,0)]"
    listed = read_layers(text, ("stone",), LIMITS)
    assert listed.built.cells.shape == (1, 1, 1)
    assert read_layers("Layer 51: stone: [(0,0)]", ("stone",), LIMITS) is None
    assert read_layers("Layer 1: stone, and more of it", ("stone",), LIMITS) is None


@pytest.mark.parametrize(
    "text",
    [
        "Layer 1: " + "stone: [(0,0), " * 20_000,
        "Layer 1: stone: [" + "(1,2)," * 50_000,
        "Layer 1: " + ": [" * 50_000,
        "Layer 1:" * 20_000,
        "Layer 1: a:" + " " * 100_000 + "[",
        "9 blocks " * 20_000,
        "stone " * 20_000 + "9" * 100_000,
    ],
)
def test_long_texts_take_no_long_time(text: str) -> None:
    began = time.perf_counter()
    answered(text, ("stone", "stone_bricks"), "planning")
    assert time.perf_counter() - began < 1.0


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("It is 5 blocks wide (x), 7 blocks deep (z) and 4 blocks high.", (4, 7, 5)),
        ("Height is 4, width 5, length of 7.", (4, 7, 5)),
        ("Build a 5*7*4 (width, length, height) house.", (4, 7, 5)),
        ("a hall 5 X 7 x 4", (4, 7, 5)),
        ("4 blocks tall and 5 wide", None),
        ("300 blocks wide, 1 block deep, 300 blocks high", (50, 1, 80)),
        ("0 blocks wide, 1 block deep, 3 blocks high", None),
        ("no numbers", None),
    ],
)
def test_sizes_are_found(text: str, size: tuple[int, int, int] | None) -> None:
    assert read_stated(text, (), LIMITS).size == size


def test_materials_and_other_instructions() -> None:
    # Materials are found in order and longer names first.
    materials = ("stone", "stone_bricks", "oak_stairs[facing=north]", "oak_stairs[facing=south]", "glass")
    text = "Lay 9 blocks of stone bricks, then oak_stairs around; Glass on top of the stones. No cobblestone."
    assert read_stated(text, materials, LIMITS).mentioned == (2, 3, 5, 1)
    assert read_stated("nothing of these", materials, LIMITS).mentioned == ()
    # Other instructions become a hollow box in bands.
    text = "A hut 4 blocks wide (x), 3 blocks deep (z) and 4 blocks high, of cobblestone below and oak planks above."
    answer = answered(text, ("oak_planks", "cobblestone", "glass"), "planning")
    reading = read_blueprint(answer.text, ("oak_planks", "cobblestone", "glass"))
    assert reading.blueprint is not None
    ring = lambda k: [[k] * 4, [k, -1, -1, k], [k] * 4]  # noqa: E731
    assert reading.blueprint.rows() == [[[2] * 4] * 3, ring(2), ring(1), [[1] * 4] * 3]
    assert answer.notes == {"read": "size mentioned", "size": [4, 3, 4]}


def test_layers_are_built_of_what_is_stated_for_them() -> None:
    text = (
        "Build a hut. It is 3 blocks wide (x), 3 blocks deep (z) and 4 blocks high. Use 20 blocks of oak planks and 12 "
        "blocks of stone bricks. The lowest layer consists mostly of stone bricks. The next 2 layers consist mostly of "
        "oak planks, with a door of stone. The top layer consists mostly of stone."
    )
    materials = ("stone", "oak_planks", "stone_bricks")
    stated = read_stated(text, materials, LIMITS)
    assert stated == ((4, 3, 3), (2, 3, 1), (3, 2, 2, 1), 32)
    built = read_blueprint(answered(text, materials, "planning").text, materials).blueprint
    assert built.cells[:, 0, 0].tolist() == [3, 2, 2, 1]
    assert built.cells[1, 1, 1] == AIR
    full = text.replace("20 blocks", "25 blocks")  # 37 of 36 cells: nearer to a full box than to one with a room
    built = read_blueprint(answered(full, materials, "planning").text, materials).blueprint
    assert (built.cells > 0).all()


def test_bands_that_do_not_fill_the_height_are_not_believed() -> None:
    text = "9 blocks wide, 9 blocks deep, 4 blocks high. The lowest 2 layers consist mostly of glass, not of stone."
    assert read_stated(text, ("stone", "glass"), LIMITS).layers == (2, 2)
    built = read_blueprint(answered(text, ("stone", "glass"), "planning").text, ("stone", "glass")).blueprint
    assert built.cells[:, 0, 0].tolist() == [2, 2, 1, 1]
    assert read_stated("The lowest 9999 layers consist of glass.", ("glass",), LIMITS).layers == (1,) * 50
    assert read_stated("All layers consist mostly of marble.", ("glass",), LIMITS).layers == ()


@pytest.mark.parametrize("seed", range(10))
def test_instructions_of_ours_are_understood(seed: int) -> None:
    rng = np.random.default_rng(seed)
    materials = ("stone", "stone_bricks", "oak_planks", "oak_stairs[facing=north]")
    height, depth, width = (int(side) for side in rng.integers(4, 9, 3))
    layers = np.sort(rng.integers(1, 5, height))
    cells = hollow_box((height, depth, width), tuple(layers.tolist()))
    truth = Blueprint(cells, materials)
    built = read_blueprint(answered(describe(truth, "hut"), materials, "planning").text, materials).blueprint
    assert built is not None
    assert built == truth


def test_what_lacks_a_size_names_or_limits() -> None:
    # Without a size or names it builds all the same.
    assert answered("Build a tower of glass.", ("stone", "glass"), "creativity").notes["read"] == "mentioned"
    assert answered("Build a tower.", ("stone", "glass"), "creativity").notes["read"] == "nothing"
    # Hollow boxes are hollow.
    cells = hollow_box((5, 6, 7), (1,))
    assert (cells == 1).sum() == 5 * 6 * 7 - 3 * 4 * 5
    assert (hollow_box((1, 1, 1), (2, 1)) == [[[2]]]).all()
    assert (hollow_box((2, 3, 3), (2, 1)) > 0).all()
    # Pictures are answered by chance.
    seen = {Reader().answer(Problem("t", "reasoning", "?", n, choices=("True", "False"))).text for n in range(20)}
    assert seen == {"True", "False"}
    # A problem without limits is refused.
    with pytest.raises(UsageError, match="most="):
        Reader().answer(Problem("t", "planning", "Build a hut.", 1, materials=("stone",)))
