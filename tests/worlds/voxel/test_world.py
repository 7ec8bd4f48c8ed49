"""The registered voxel world: found, built, and built again."""

import json

import numpy as np
import pytest

from support.cells import litter
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.worlds import open_world, worlds
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.blocks import CATEGORIES


def test_the_registered_world_is_found_built_and_built_again() -> None:
    world = worlds.get("voxel")("plains", 5, [160, 160, 56])
    assert world.categories == CATEGORIES
    facts = world.facts
    assert facts.params == {"kind": "plains", "seed": 5, "size": (160, 160, 56)}
    stored = json.loads(json.dumps(facts.params))
    again = open_world(WorldFacts(facts.name, stored, facts.digest))
    assert again.facts == facts
    pose = pose_from_yaw_pitch([*np.add(world.voxels.centre, 0.5), 40.0], 0.3, -0.6)
    camera = Camera.from_vertical_fov(64, 36, 75)
    assert np.array_equal(world.view(pose, camera).rgb, again.view(pose, camera).rgb)
    assert world.view(pose, camera).position is None
    assert world.view(pose, camera, position=True).position.shape == (36, 64, 3)


def test_other_cells_under_the_same_name_are_noticed() -> None:
    world = Voxel.from_cells(litter(2))
    facts = world.facts
    assert facts.params["size"] == (11, 12, 7)
    with pytest.raises(WorldError):
        open_world(facts)
    other = Voxel("plains", 5, (160, 160, 56)).facts
    with pytest.raises(WorldError, match="collect the data again"):
        open_world(WorldFacts("voxel", {**other.params, "seed": 6}, other.digest))


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(WorldError, match="known"):
        Voxel("swamp", 0)
