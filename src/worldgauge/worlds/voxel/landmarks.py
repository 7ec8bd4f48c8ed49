"""The things of a voxel world that have a name: buildings, plants, ponds and what stands between them.

A landmark is one object of the world. What is inside a house is part of the house, since the camera's labels do not
tell them apart; so a barrel in a stall is no landmark.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldgauge.worlds.voxel.families.names import NAMES
from worldgauge.worlds.voxel.world import VoxelWorld
from worldgauge.worlds.walking.floor import Landmark

REACH_CELLS = 2
"""Height above the ground up to which a walker meets an object: a tree's trunk, not its crown; walls, not eaves."""

CATEGORIES: dict[str, str] = {
    # buildings
    "cottage": "cottage",
    "townhouse": "townhouse",
    "longhouse": "longhouse",
    "corner_house": "corner house",
    "barn": "barn",
    "smithy": "smithy",
    "library": "library",
    "church": "church",
    "windmill": "windmill",
    "watermill": "watermill",
    "watchtower": "watchtower",
    "minaret": "minaret",
    "temple": "pyramid",
    "tent": "tent",
    "igloo": "igloo",
    "round_hut": "round hut",
    "stall": "market stall",
    # between and beyond them
    "well": "well",
    "pavilion": "pavilion",
    "farm": "vegetable garden",
    "pen": "animal pen",
    "ruin": "ruin",
    "stones": "stone circle",
    "camp": "campsite",
    "lamp_post": "lamp post",
    "haystack": "haystack",
    "pond": "pond",
    "frozen_pond": "frozen pond",
    "boulder": "boulder",
    # plants
    "oak": "oak tree",
    "great_oak": "oak tree",
    "birch": "birch tree",
    "spruce": "spruce tree",
    "pine": "spruce tree",
    "snowy_spruce": "spruce tree",
    "snowy_pine": "spruce tree",
    "acacia": "acacia tree",
    "tall_acacia": "acacia tree",
    "palm": "palm tree",
    "dead_tree": "dead tree",
    "cactus": "cactus",
    "shrub": "shrub",
    "dead_bush": "dry bush",
    "poppy": "poppies",
    "dandelion": "dandelions",
    "cornflower": "cornflowers",
    "white_daisy": "daisies",
    "orange_tulip": "tulips",
    "sunflower_bush": "sunflowers",
    "pumpkin": "pumpkins",
    **NAMES,
}
"""Category of each kind of object that has a name; pines are drawn as slim spruces."""

_SURFACES = ("pond", "frozen_pond")
_NATURAL = {"path", "water", "pond", "frozen_pond"}


def find_landmarks(world: VoxelWorld) -> tuple[Landmark, ...]:
    """Objects with a name in the order of their numbers; none where the world does not say what they are.

    x and y of a box are those of the part that a walker meets (see REACH_CELLS), z that of the whole object.
    """
    where = np.argwhere(world.instances)
    owners = world.instances[tuple(where.T)].astype(np.int64)
    kinds = np.array([one.kind in CATEGORIES for one in world.drawn], np.bool_)
    known = owners <= len(kinds)
    known[known] = kinds[owners[known] - 1]
    where, owners = where[known], owners[known]
    ground = np.array([one.ground for one in world.drawn], np.int64)
    flat = np.array([one.kind in _SURFACES for one in world.drawn], np.bool_)
    rise = where[:, 2] - ground[owners - 1]
    met = np.where(flat[owners - 1], rise == 0, (rise > 0) & (rise <= REACH_CELLS))
    low, high = _extent(where, owners, len(kinds))
    near_low, near_high = _extent(where[met], owners[met], len(kinds))
    found = []
    for number, one in enumerate(world.drawn, start=1):
        if one.kind in CATEGORIES and near_high[number, 0] >= 0:
            (x0, y0), (x1, y1) = near_low[number, :2].tolist(), near_high[number, :2].tolist()
            z0, z1 = float(low[number, 2]), float(high[number, 2])
            found.append(Landmark(CATEGORIES[one.kind], number, (x0, y0, z0), (x1, y1, z1)))
    return tuple(found)


def is_terrain(world: VoxelWorld) -> NDArray[np.bool_]:
    """Which object numbers (0, 1, ...) are ground to walk on: terrain and streets; all, where nothing is known."""
    numbers = max(int(world.instances.max(initial=0)), len(world.drawn))
    if not world.drawn:
        return np.ones(numbers + 1, np.bool_)
    named = [one.kind in _NATURAL for one in world.drawn]
    return np.array([True, *named, *[False] * (numbers - len(named))], np.bool_)


def _extent(
    cells: NDArray[np.int64], owners: NDArray[np.int64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower and upper corners (count + 1, 3) of every object; the upper one is -1 where it has no cell."""
    low = np.full((count + 1, 3), np.inf)
    high = np.full((count + 1, 3), -1.0)
    np.minimum.at(low, owners, cells)
    np.maximum.at(high, owners, cells + 1)
    return low, high
