"""Embedded worlds and builds as GLB files, for Blender, Unity, simulators and our own world `scan`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import UsageError
from worldgauge.worlds import open_world
from worldgauge.worlds._glb import Pages, Patch, write_glb
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.scan.mesh import Up

EXPORTED = ("indoor", "voxel")
"""Worlds that can be written."""
STARTER = {"home-1": WorldFacts("indoor", {"seed": 1}), "home-2": WorldFacts("indoor", {"seed": 2})}
"""Scans of our own to begin with, by the names of their files."""


class GlbSummary(NamedTuple):
    """What a file holds."""

    triangles: int
    things: int
    pages: int
    size_bytes: int


def export_world(
    facts: WorldFacts, path: Path, *, texel_m: float = 0.005, quality: int | None = 92, up: Up = "y"
) -> GlbSummary:
    """Write an embedded world as a GLB file, with textures, names and instance numbers.
    `texel_m` and `quality` (JPEG, or None for PNG) are for homes; texels of villages are 1/16 m, as PNG."""
    if facts.name not in EXPORTED:
        raise UsageError(f"world '{facts.name}' cannot be exported; these can: {', '.join(EXPORTED)}")
    if not 0.001 <= texel_m <= 1:
        raise UsageError(f"a texel is 0.001 to 1 m wide, got {texel_m}")
    if quality is not None and not 1 <= quality <= 100:
        raise UsageError(f"quality is 1 to 100, got {quality}")
    world = open_world(facts)
    from worldgauge.worlds._export_meshes import home_patches, village_patches
    from worldgauge.worlds.indoor import Home
    from worldgauge.worlds.voxel import Voxel

    if isinstance(world, Home):
        made = home_patches(world.scene.looks, world.categories, texel_m, quality)
    else:
        assert isinstance(world, Voxel)
        made = village_patches(world.voxels)
    return _written(path, *made, up)


def export_starter(folder: Path, *, texel_m: float = 0.008) -> dict[Path, GlbSummary]:
    """Write the scans to begin with: two homes with textures, names and instances, under 8 MB in all."""
    return {
        path: export_world(facts, path, texel_m=texel_m, quality=85)
        for path, facts in ((folder / f"{name}.glb", facts) for name, facts in STARTER.items())
    }


def export_build(blueprint: Blueprint, path: Path, *, up: Up = "y") -> GlbSummary:
    """Write a build as a GLB file, with its colours and the names of its blocks."""
    from worldgauge.worlds._export_meshes import build_patches

    return _written(path, *build_patches(blueprint), up)


def _written(path: Path, patches: list[Patch], pages: Pages, up: Up) -> GlbSummary:
    write_glb(path, patches, pages, up=up)
    things = len({patch.instance for patch in patches} - {0})
    return GlbSummary(sum(len(patch.triangles) for patch in patches), things, len(pages.images), path.stat().st_size)
