"""Small voxel worlds for tests, made without the generator."""

import numpy as np

from worldgauge.worlds.voxel.blocks import block
from worldgauge.worlds.voxel.world import VoxelWorld


def meadow(size: int = 48, ground: int = 4, blocks: dict[tuple[int, int, int], str] | None = None) -> VoxelWorld:
    """Flat grass up to z = ground, with single blocks put into it."""
    states = np.zeros((size, size, ground + 16), np.uint8)
    states[:, :, :ground] = block("grass_block")
    for cell, name in (blocks or {}).items():
        states[cell] = block(name)
    return VoxelWorld("plains", 0, states, np.zeros(states.shape, np.uint16), (size // 2, size // 2))


def hills(size: int = 200, huts: int = 40, seed: int = 0) -> VoxelWorld:
    """Rolling grass with wooden huts that have a doorway, some trees and a pond."""
    rng = np.random.default_rng(seed)
    x, y = np.meshgrid(np.arange(size), np.arange(size), indexing="ij")
    height = (14 + 3 * np.sin(x / 17) + 3 * np.cos(y / 23)).astype(int)
    states = np.zeros((size, size, 40), np.uint8)
    states[np.arange(40) < height[..., None]] = block("grass_block")
    for i, j in rng.integers(5, size - 12, (huts, 2)):
        z = height[i, j]
        states[i : i + 6, j : j + 6, z : z + 5] = block("oak_planks")
        states[i + 1 : i + 5, j + 1 : j + 5, z : z + 4] = 0
        states[i + 2, j, z : z + 2] = 0
    for i, j in rng.integers(5, size - 5, (huts, 2)):
        states[i, j, height[i, j] : height[i, j] + 4] = block("oak_log")
    return VoxelWorld("plains", seed, states, np.zeros(states.shape, np.uint16), (size // 2, size // 2))
