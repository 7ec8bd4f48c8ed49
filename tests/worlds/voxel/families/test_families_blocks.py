"""The families' blocks stand behind the settlements' in the tables, and change nothing of what was there."""

from __future__ import annotations

import hashlib

import numpy as np

from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.worlds.voxel._raycast import END_STATE
from worldgauge.worlds.voxel.blocks import KINDS, SETTLED_STATES, STATES, block, boxes_of
from worldgauge.worlds.voxel.camera import Grid, render
from worldgauge.worlds.voxel.families.matter import MATTER
from worldgauge.worlds.voxel.floor import NAMES
from worldgauge.worlds.voxel.generate import SMALLEST, generate
from worldgauge.worlds.voxel.textures import TEXELS, TEXTURE_OF
from worldgauge.worlds.voxel.world import KINDS as SETTLEMENTS

# Taken before there were families: stored worlds and films of settlements must not change.
STATE_NAMES = "8b9296c605a631d60cb9c36801babfc11d1fe94d8d8f094fcb4cc1dc6766d030"
TILES = "195d14964987e4d6dfab025cae0844f912a635be1dc15514ed95e55905503107"
PICTURES = "eeb717152f7aa56bd0c9cd34b71325224b795a16b45ee8ab1f81691b6792c3be"


def test_states_of_settlements_keep_their_index_and_their_tiles() -> None:
    assert SETTLED_STATES == 104
    names = [state.name for state in STATES[:SETTLED_STATES]]
    assert hashlib.sha256(repr(names).encode()).hexdigest() == STATE_NAMES
    texture = TEXTURE_OF[:SETTLED_STATES]
    used = TEXELS[: int(texture.max()) + 1]
    assert hashlib.sha256(used.tobytes() + texture.astype("<i4").tobytes()).hexdigest() == TILES


def test_settlements_are_painted_as_ever() -> None:
    sha = hashlib.sha256()
    camera = Camera.from_vertical_fov(160, 90, 70)
    for kind in SETTLEMENTS:
        world = generate(kind, 0, SMALLEST)
        assert world.states.max() < SETTLED_STATES
        grid = Grid.of(world)
        x, y = world.centre
        for turn in range(4):
            pose = pose_from_yaw_pitch([x + 0.5, y + 0.5, world.surface(x, y) + 2.6], turn * 1.5, -0.1)
            view = render(grid, pose, camera)
            for part in (view.rgb, view.category.astype("<u2"), view.instance.astype("<u2")):
                sha.update(part.tobytes())
    assert sha.hexdigest() == PICTURES


def test_states_and_materials_of_families() -> None:
    assert len(STATES) < END_STATE
    assert len({state.name for state in STATES}) == len(STATES)
    # Every new material has its shapes and ground lies at quarters.
    by_name = {kind.name: kind for kind in KINDS}
    for matter in MATTER:
        for name, shape in matter.kinds():
            assert by_name[name].shape == shape
            assert by_name[name].ground == matter.ground
    tops = [
        max(box[5] for box in boxes_of(block(f"turf{part}"))) for part in ("_quarter", "_slab", "_three_quarter", "")
    ]
    assert tops == [0.25, 0.5, 0.75, 1.0]
    # Ground of any height wears one texture on top.
    for name in ("turf", "dune", "regolith"):
        tiles = {int(TEXTURE_OF[block(name + part), 0]) for part in ("", "_quarter", "_slab", "_three_quarter")}
        assert len(tiles) == 1
    # Names are plain words.
    for name in NAMES.values():
        assert name == name.lower()
        assert 1 <= len(name.split()) <= 2
    assert np.all([key.isidentifier() for key in NAMES])
