"""Generated settlements for tests, each built once a test process."""

from functools import lru_cache

import numpy as np

from worldgauge.worlds.voxel.blocks import KINDS, STATES
from worldgauge.worlds.voxel.generate import SMALLEST, generate
from worldgauge.worlds.voxel.world import VoxelWorld

NAMES = np.array([KINDS[state.kind].name for state in STATES])
"""Name of the kind of every state."""


@lru_cache(maxsize=8)
def world_of(kind: str, seed: int, *, small: bool = False) -> VoxelWorld:
    return generate(kind, seed, SMALLEST) if small else generate(kind, seed)
