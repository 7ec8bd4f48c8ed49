"""What spatial understanding is told: every block of a build by its place, layer by layer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from worldgauge.worlds.blocks.blueprint import Blueprint


def layer_instruction(blueprint: Blueprint, name: str) -> str:
    """A sentence with name, number of layers, width and depth, then `layer_lines` (MineAnyBuild, section 3.2).

    name: as in "Build a NAME.".
    """
    size = blueprint.size
    return (
        f"Build the {name} layer by layer from the ground up: {_counted(size.height, 'layer')}, "
        f"{_counted(size.width, 'block')} wide (x) and {_counted(size.depth, 'block')} long (z). "
        f"Places are (x,z), counted from 0.\n{layer_lines(blueprint)}"
    )


def layer_lines(blueprint: Blueprint) -> str:
    """One line a layer from the bottom: "Layer 1: glass: [(2,0)], oak_planks: [(0,0), (0,1)]".

    Layers count from 1, places are (x,z) from 0, sorted by x, then z; materials are sorted by their text, with states.
    Air is left out; a layer of air alone has a line without materials. `agents.answer` reads it back.
    """
    return "\n".join(_lines(blueprint))


def _lines(blueprint: Blueprint) -> Iterator[str]:
    solid = blueprint.solid
    for y, layer in enumerate(blueprint.cells):
        places: dict[str, list[tuple[int, int]]] = defaultdict(list)
        z, x = np.nonzero(solid[y])
        for block, at in zip(layer[z, x].tolist(), zip(x.tolist(), z.tolist(), strict=True), strict=True):
            places[blueprint.materials[block - 1]].append(at)
        listed = (
            f"{name}: [{', '.join(f'({x},{z})' for x, z in sorted(found))}]" for name, found in sorted(places.items())
        )
        yield f"Layer {y + 1}: {', '.join(listed)}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
