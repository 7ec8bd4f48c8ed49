"""A world from a kind and a seed."""

from __future__ import annotations

import difflib
import math

import numpy as np

from worldgauge.core.errors import WorldError
from worldgauge.worlds.voxel import families
from worldgauge.worlds.voxel.plants import place_boulders, plant_flowers, plant_trees, sow_herbs
from worldgauge.worlds.voxel.settlement import build_settlement, plan_settlement
from worldgauge.worlds.voxel.styles import BIOMES
from worldgauge.worlds.voxel.terrain import Canvas, make_terrain
from worldgauge.worlds.voxel.world import FAMILIES, KINDS, VoxelWorld

SMALLEST = (160, 160, 56)
"""Cells along x, y, z below which a settlement or a scene does not fit."""

LARGEST = 2**28
"""Cells in all, 0.8 GB: sizes come from files."""

_WIDEST_RADIUS = 62


def generate(kind: str, seed: int, size: tuple[int, int, int] = (320, 320, 64)) -> VoxelWorld:
    """Generate a settlement or scene. Equal arguments give equal cells on every machine.

    Args:
        size: Cells along x, y, z; at least SMALLEST.
    """
    _check(kind, seed, size)
    if kind in FAMILIES:
        return families.build(kind, seed, size)
    biome = BIOMES[kind]
    radius = min(_WIDEST_RADIUS, min(size[:2]) // 2 - 18)
    # A stream of randomness for each stage: a change of one leaves the others as they were.
    lie, layout, building, growth = np.random.default_rng([seed, KINDS.index(kind)]).spawn(4)
    land = make_terrain(lie, size, biome, radius)
    plan = plan_settlement(layout, land, biome, radius)
    canvas = Canvas.blank(size)
    land.fill(canvas, biome)
    build_settlement(building, canvas, land, biome, plan)
    taken = place_boulders(growth, canvas, land, biome, plan.taken)
    taken = plant_trees(growth, canvas, land, biome, taken, radius)
    plant_flowers(growth, canvas, land, biome, taken)
    sow_herbs(growth, canvas, land, biome, taken)
    canvas.renumber()
    return VoxelWorld(kind, seed, canvas.states, canvas.instances, land.centre, tuple(canvas.drawn))


def _check(kind: str, seed: int, size: tuple[int, int, int]) -> None:
    known = (*KINDS, *FAMILIES)
    if kind not in known:
        near = difflib.get_close_matches(kind, known, n=1, cutoff=0.4)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise WorldError(f"no world of kind '{kind}': {hint}known are {', '.join(known)}")
    if seed < 0:
        raise WorldError(f"seed {seed} is negative: give 0 or more")
    if len(size) != 3 or any(given < least for given, least in zip(size, SMALLEST, strict=True)):
        raise WorldError(f"a world of {size} cells has no room: give at least {SMALLEST}")
    if math.prod(size) > LARGEST:
        raise WorldError(f"a world of {size} cells is too large: give at most {LARGEST} cells in all")
