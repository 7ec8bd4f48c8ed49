"""Builds as meshes: faces in plain colours, one thing a kind of block."""

from __future__ import annotations

import numpy as np

from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.blocks.mesh import mesh_of
from worldgauge.worlds.blocks.render import in_world, shades_of
from worldgauge.worlds.export.glb import Pages, Patch

_COLUMNS = 64
_SQUARE_PX = 4
"""Side of a colour on its page: wide enough that no filter reaches the next one in the middle."""


def patches_of(blueprint: Blueprint) -> tuple[list[Patch], Pages]:
    """Mesh of a build, in the colours and the light of its pictures.

    Args:
        blueprint: The build.

    Returns:
        Patches, by kind of block, opacity and whether both sides are seen; and a page of colours.

    Raises:
        ShapeError: For sides of more than 2000 blocks.
    """
    mesh = mesh_of(blueprint)
    names = sorted(set(mesh.names))
    kind = np.array([names.index(name) for name in mesh.names], np.int64)[mesh.block]
    rgb = np.rint(mesh.colours[:, :3] * shades_of(mesh)[:, None]).astype(np.uint8)
    colours, own = np.unique(rgb, axis=0, return_inverse=True)
    own = own.reshape(-1)
    height = -(-max(len(colours), 1) // _COLUMNS)
    squares = np.zeros((height * _COLUMNS, 3), np.uint8)
    squares[: len(colours)] = colours
    page = squares.reshape(height, _COLUMNS, 3).repeat(_SQUARE_PX, 0).repeat(_SQUARE_PX, 1)
    row, column = np.divmod(own, _COLUMNS)
    middle = np.stack([(column + 0.5) / _COLUMNS, (row + 0.5) / height], -1)
    corners = in_world(mesh.quads)
    patches = []
    for number, opacity, two_sided in np.unique(
        np.stack([kind, mesh.colours[:, 3], mesh.two_sided], 1).astype(np.int64), axis=0
    ).tolist():
        faces = np.flatnonzero((kind == number) & (mesh.colours[:, 3] == opacity) & (mesh.two_sided == two_sided))
        triangles = np.array([[0, 1, 2], [0, 2, 3]]) + 4 * np.arange(len(faces))[:, None, None]
        patches.append(
            Patch(
                number + 1,
                names[number].replace("_", " "),
                0,
                corners[faces].reshape(-1, 3).astype(np.float32),
                middle[faces].repeat(4, 0).astype(np.float32),
                triangles.reshape(-1, 3).astype(np.uint32),
                bool(two_sided),
                opacity / 255,
            )
        )
    return patches, Pages((page,), quality=None, nearest=True)
