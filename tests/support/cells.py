"""Small boxes of cells for tests of the camera."""

import numpy as np

from worldgauge.worlds.voxel.blocks import CATEGORIES, STATES, block
from worldgauge.worlds.voxel.world import VoxelWorld

SKY_LABEL = CATEGORIES.index("sky")
FACE_NAMES = ("east", "west", "north", "south", "up", "down", "plant")


def world_of(states: np.ndarray) -> VoxelWorld:
    instances = (np.arange(states.size).reshape(states.shape) % 60_000 + 1).astype(np.uint16)
    return VoxelWorld("plains", 0, states, np.where(states > 0, instances, 0).astype(np.uint16), (0, 0))


def litter(seed: int, shape: tuple[int, int, int] = (11, 12, 7), density: float = 0.3) -> VoxelWorld:
    """A floor with blocks of every state thrown on it, some above others."""
    rng = np.random.default_rng(seed)
    states = np.zeros(shape, np.uint8)
    states[:, :, 0] = rng.choice([block("grass_block"), block("path"), block("water")], shape[:2])
    thrown = rng.integers(1, len(STATES), shape)
    # Panes, glass and water matter most beside their like.
    thrown = np.where(
        rng.random(shape) < 0.3,
        rng.choice([block("oak_fence"), block("glass_pane"), block("glass"), block("water")], shape),
        thrown,
    )
    here = rng.random(shape) < density * np.linspace(1, 0.2, shape[2])
    here[:, :, 0] = False
    states[here] = thrown[here]
    return world_of(states)
