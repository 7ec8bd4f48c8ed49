"""Eight families of scenes that look nothing like each other, for walks in first and third person.

Listing the families must stay quick: `build` imports the one that it draws.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from worldgauge.worlds.voxel.world import VoxelWorld


def build(family: str, seed: int, size: tuple[int, int, int]) -> VoxelWorld:
    """Build a scene of a family. Use `generate.generate`, which checks the arguments."""
    from worldgauge.worlds.voxel.families.stage import Stage
    from worldgauge.worlds.voxel.world import FAMILIES, VoxelWorld

    stage = Stage.empty(size, seed, FAMILIES.index(family))
    import_module(f"{__name__}.{family}").draw(stage)
    canvas = stage.canvas
    canvas.renumber()
    return VoxelWorld(family, seed, canvas.states, canvas.instances, stage.centre, tuple(canvas.drawn))
