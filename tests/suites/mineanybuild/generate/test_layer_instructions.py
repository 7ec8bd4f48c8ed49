"""Layer instructions: the published vectors, and that agents read them back exactly."""

from typing import Any

import numpy as np
import pytest

from support.vectors import cases
from worldgauge.suites.mineanybuild.agents import read_layers
from worldgauge.suites.mineanybuild.generate.instructions import layer_instruction, layer_lines
from worldgauge.worlds.blocks.blueprint import Blueprint, material

MATERIALS = (
    "oak_planks",
    "glass",
    material("oak_stairs", {"facing": "north", "half": "top", "shape": "straight", "waterlogged": False}),
    material("oak_stairs", {"facing": "south", "half": "top", "shape": "straight", "waterlogged": False}),
    material("lantern", {"hanging": True}),
    "minecraft:stone",
)


@pytest.mark.parametrize("case", cases("build_curation", "cases"))
def test_vectors(case: dict[str, Any]) -> None:
    expect = case["expect"]
    blueprint = Blueprint.of(expect["blueprint_with_states"], expect["materials_with_states"])
    assert layer_lines(blueprint) == expect["layer_instruction_xz"]


def test_layers_by_hand() -> None:
    # By hand.
    blueprint = Blueprint.of([[[2, -1, 1], [2, 1, 1]], [[-1, -1, -1], [-1, -1, 3]]], ["stone", "glass", "torch"])
    assert layer_instruction(blueprint, "small bench") == (
        "Build the small bench layer by layer from the ground up: 2 layers, 3 blocks wide (x) and 2 blocks long (z). "
        "Places are (x,z), counted from 0.\n"
        "Layer 1: glass: [(0,0), (0,1)], stone: [(1,1), (2,0), (2,1)]\n"
        "Layer 2: torch: [(2,1)]"
    )
    single = layer_instruction(Blueprint.of([[[1]]], ["stone"]), "dot")
    assert "1 layer, 1 block wide (x) and 1 block long (z)" in single
    # Pairs are sorted as numbers and kinds of air are left out.
    cells = np.full((1, 1, 12), 1, np.int32)
    cells[0, 0, 3] = 2
    text = layer_lines(Blueprint(cells, ("stone", "cave_air")))
    assert text == "Layer 1: stone: [" + ", ".join(f"({x},0)" for x in range(12) if x != 3) + "]"
    # Materials of one text are one list.
    assert layer_lines(Blueprint.of([[[1, 2, 1]]], ["stone", "stone"])) == "Layer 1: stone: [(0,0), (1,0), (2,0)]"


@pytest.mark.parametrize("seed", range(12))
def test_what_is_told_is_read_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 9, 3)
    cells = rng.choice([-1, *range(1, len(MATERIALS) + 1)], shape, p=[0.4, *[0.1] * 6]).astype(np.int32)
    cells[-1, -1, -1] = 1
    if shape[0] > 2:
        cells[1] = -1
    cells[:, 0, 0] = -1 if shape[1] > 1 else 1
    blueprint = Blueprint(cells, MATERIALS)
    listed = read_layers(layer_instruction(blueprint, "thing"), MATERIALS, (50, 80, 80))
    assert listed.unknown == ()
    assert listed.built == blueprint
