import hashlib
import subprocess
import sys

import numpy as np
import pytest

from support.paint import painted_colours
from worldgauge.worlds.voxel import textures
from worldgauge.worlds.voxel.blocks import CATEGORIES, KINDS, STATES, block
from worldgauge.worlds.voxel.textures import FACES, SHADES, SKY, SKY_ZENITH, TEXELS, TEXTURE_OF, texture_of

PAINTED = [state.name for state in STATES if KINDS[state.kind].shape != "empty"]


def test_shapes_are_those_the_camera_and_the_segmenter_read():
    assert TEXELS.dtype == np.uint8
    assert TEXELS.shape[1:] == (16, 16, 4)
    assert TEXTURE_OF.shape == (len(STATES), 3)
    assert TEXTURE_OF.min() >= 0
    assert TEXTURE_OF.max() < len(TEXELS)
    assert len(SHADES) == len(FACES) == 7
    assert 0 < SHADES.min() < SHADES.max() <= 1


@pytest.mark.parametrize("state", PAINTED)
def test_every_block_shows_something_that_is_not_flat(state):
    side = texture_of(state, "north")
    seen = side[side[..., 3] > 0]
    assert len(seen) >= 16
    assert len(np.unique(seen, axis=0)) > 1
    assert set(np.unique(side[..., 3])) <= {0, 255}


def test_tiles_show_their_matter():
    assert not texture_of("air", "up").any()
    # Full blocks have no holes but glass.
    holed = {k.name for k in KINDS if k.shape in ("cube", "liquid") and (texture_of(k.name, "east")[..., 3] == 0).any()}
    assert holed == {"glass"}
    # Different matter has different tiles.
    same = {}
    for kind in KINDS:
        if kind.shape in ("cube", "liquid", "cross"):
            three = b"".join(texture_of(kind.name, face).tobytes() for face in ("up", "east", "down"))
            same.setdefault(three, []).append(kind.name)
    assert [names for names in same.values() if len(names) > 1] == []
    # Stairs and slabs wear their material.
    assert np.array_equal(texture_of("oak_stairs[facing=west]", "up"), texture_of("oak_planks", "up"))
    assert np.array_equal(texture_of("sandstone_slab", "south"), texture_of("cut_sandstone", "south"))
    # Turf is green above and earth below.
    grass = block("grass_block")
    assert np.array_equal(texture_of(grass, "down"), texture_of("dirt", "down"))
    side, dirt = texture_of(grass, "west"), texture_of("dirt", "west")
    assert (side[0, :, 1] > side[0, :, 0]).all()
    assert np.array_equal(side[15], dirt[15])


def test_same_bytes_in_another_process():
    code = (
        "import hashlib; from worldgauge.worlds.voxel.textures import TEXELS; print(hashlib.sha256(TEXELS).hexdigest())"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert other == hashlib.sha256(TEXELS.tobytes()).hexdigest()


def test_mipmaps_and_sky():
    tile = np.zeros((1, 16, 16, 4), np.uint8)
    tile[0, 0, 0] = (200, 100, 50, 255)
    tile[0, 0, 1] = (100, 200, 150, 255)
    levels = textures.mipmaps(tile)
    assert [level.shape[1] for level in levels] == [16, 8, 4, 2, 1]
    assert levels[1][0, 0, 0].tolist() == [150, 150, 100, 255]
    assert levels[4][0, 0, 0].tolist() == [150, 150, 100, 255]
    assert levels[1][0, 1, 1].tolist() == [0, 0, 0, 0]
    # Sky runs from horizon to zenith.
    colours = textures.sky_colours(256)
    assert tuple(colours[0]) == SKY
    assert tuple(colours[-1]) == SKY_ZENITH
    assert (np.diff(colours.astype(int), axis=0) <= 0).all()


def test_categories_hardly_share_a_colour():
    rgb, category = painted_colours()
    colours, owner = np.unique(rgb, axis=0, return_inverse=True)
    owners = np.zeros((len(colours), len(CATEGORIES)), bool)
    owners[owner.ravel(), category] = True
    # The flanks of turf, path and snow are the earth below them; everything else keeps to itself.
    earthy = [CATEGORIES.index(name) for name in ("grass", "path", "dirt", "snow")]
    shared = owners.sum(1) > 1
    beyond_earth = shared & np.delete(owners, earthy, axis=1).any(1)
    assert beyond_earth.mean() < 0.002
    assert shared.mean() < 0.01
