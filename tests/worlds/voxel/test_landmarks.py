"""The named things of a voxel world."""

from collections import Counter

import numpy as np
import pytest

from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.blocks import KINDS as BLOCKS
from worldgauge.worlds.voxel.blocks import STATES
from worldgauge.worlds.voxel.floor import CATEGORIES, find_landmarks
from worldgauge.worlds.voxel.world import KINDS, VoxelWorld

SMALL = (160, 160, 56)


@pytest.fixture(scope="module")
def worlds() -> dict[str, Voxel]:
    return {kind: Voxel(kind, 3, SMALL) for kind in KINDS}


def block_names(world: Voxel, instance: int) -> set[str]:
    cells = world.voxels.states[world.voxels.instances == instance]
    return {BLOCKS[STATES[state].kind].name for state in np.unique(cells)}


def test_landmarks_are_what_walkers_meet_and_cameras_see(worlds: dict[str, Voxel]) -> None:
    found = Counter(one.category for world in worlds.values() for one in world.landmarks)
    assert len(found) >= 35
    for world in worlds.values():
        assert len({one.category for one in world.landmarks}) >= 15
        assert len({one.instance for one in world.landmarks}) == len(world.landmarks)
    # Boxes hold what a walker meets.
    world = worlds["plains"]
    tree = next(one for one in world.landmarks if one.category == "birch tree")
    cells = np.argwhere(world.voxels.instances == tree.instance)
    assert tree.high[2] == cells[:, 2].max() + 1
    assert tree.high[0] - tree.low[0] == tree.high[1] - tree.low[1] == 1
    trunk = world.voxels.states[int(tree.low[0]), int(tree.low[1]), int(tree.low[2])]
    assert BLOCKS[STATES[trunk].kind].name == "birch_log"
    well = next(one for one in world.landmarks if one.category == "well")
    assert (well.high[0] - well.low[0], well.high[1] - well.low[1]) == (4, 4)
    # Numbers are those that the camera sees.
    world = worlds["plains"]
    well = next(one for one in world.landmarks if one.category == "well")
    eye = np.array([*well.centre[:2], well.high[2] + 6.0])
    view = world.view(pose_from_yaw_pitch(eye, 0.0, -np.pi / 2 + 0.01), Camera.from_vertical_fov(32, 32, 50))
    assert view.instance[16, 16] == well.instance


MADE_OF = """
    plains: well=water, oak tree=oak_log oak_leaves, birch tree=birch_log, lamp post=lantern_post, haystack=hay_bale
    plains: market stall=pumpkin melon barrel
    desert: cactus=cactus, palm tree=acacia_log
    snowy: igloo=ice_bricks, frozen pond=ice
    taiga: spruce tree=spruce_log
    savanna: acacia tree=acacia_leaves
"""
MATTER = [
    (kind.strip(), *(part.strip() for part in thing.split("=")))
    for kind, things in (line.split(":") for line in MADE_OF.strip().splitlines())
    for thing in things.split(",")
]


@pytest.mark.parametrize(("kind", "category", "blocks"), MATTER)
def test_things_are_made_of_what_their_name_says(
    worlds: dict[str, Voxel], kind: str, category: str, blocks: str
) -> None:
    of_it = [one for one in worlds[kind].landmarks if one.category == category]
    assert of_it
    # A neighbour may have been built over a part of a few.
    assert sum(set(blocks.split()) <= block_names(worlds[kind], one.instance) for one in of_it[:20]) >= 0.8 * len(
        of_it[:20]
    )


def test_names_change_nothing_and_are_complete(worlds: dict[str, Voxel]) -> None:
    named = worlds["plains"].voxels
    bare = VoxelWorld(named.kind, named.seed, named.states, named.instances, named.centre)
    assert bare.digest() == named.digest()
    assert find_landmarks(bare) == ()
    assert len(named.drawn) == named.instances.max()
    # The same seed has the same landmarks.
    assert Voxel("taiga", 3, SMALL).landmarks == worlds["taiga"].landmarks
    # Every design and species is named or knowingly not.
    kinds = {one.kind for world in worlds.values() for one in world.voxels.drawn}
    assert kinds - set(CATEGORIES) <= {"path", "water", "post"}
