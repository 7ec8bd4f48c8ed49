"""What the camera of the embedded world can paint, told by the textures alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldgauge.worlds.voxel.blocks import CATEGORIES, CATEGORY_OF, SETTLED_STATES
from worldgauge.worlds.voxel.textures import FACE_GROUP, SHADES, TEXELS, TEXTURE_OF, mipmaps, sky_colours


def painted_colours() -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
    """Every RGB that the camera can paint near by, (n, 3), and the category it is painted for, (n,).

    One row a distinct colour and category: level 0 and 1 of the textures under each light, and the sky.
    """
    levels = mipmaps(TEXELS)[:2]
    found = {(*map(int, rgb), CATEGORIES.index("sky")) for rgb in sky_colours(256)}
    for state in range(1, SETTLED_STATES):
        for face, shade in enumerate(SHADES):
            for level in levels:
                tile = level[TEXTURE_OF[state, FACE_GROUP[face]]].reshape(-1, 4)
                lit = np.rint(tile[tile[:, 3] > 0, :3] * shade).astype(int)
                found |= {(*row, int(CATEGORY_OF[state])) for row in np.unique(lit, axis=0).tolist()}
    table = np.array(sorted(found))
    return table[:, :3].astype(np.uint8), table[:, 3].astype(np.uint16)
