"""Captions of views of a voxel world, from its exact labels and objects."""

from __future__ import annotations

import numpy as np

from worldgauge.core.english import some
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds import View
from worldgauge.worlds.captions import seen, sentence
from worldgauge.worlds.voxel.blocks import CATEGORIES, SOLID
from worldgauge.worlds.voxel.floor import CATEGORIES as NAMES
from worldgauge.worlds.voxel.world import ANYWHERE, KINDS, PLACES, VoxelWorld

_CLOSE = 0.75
"""Share of the pixels from which on one object hides its surroundings."""
_IN_VIEW = 0.02
_OUTSIDE = 0.1
"""Share of sky that no window of a hall shows."""
_HOUSES = frozenset({"barn", "church", "corner house", "cottage", "igloo", "library", "longhouse", "market stall"})
_HOUSES |= {"minaret", "pavilion", "pyramid", "round hut", "ruin", "smithy", "tent", "townhouse", "watchtower"}
_HOUSES |= {"watermill", "windmill"}
"""What shows that a place is a village."""
_NATURE = {"tree": "trees", "flower": "flowers", "water": "water", "building": "buildings"}
"""Words for cells that belong to no named object, by category."""


def caption_of_cells(world: VoxelWorld, view: View, pose: FloatArray, viewpoint: str) -> str:
    """Describe a view: the place as far as it is in view, the sky, and the largest objects."""
    pixels = np.bincount(view.category.ravel(), minlength=len(CATEGORIES)) / view.category.size
    share = dict(zip(CATEGORIES, pixels.tolist(), strict=False))

    def noun_of(number: int) -> str | None:
        return NAMES.get(world.drawn[number - 1].kind) if number <= len(world.drawn) else None

    nouns = seen(view, noun_of)
    things = [some(noun, count) for noun, count in nouns]
    if not world.drawn:
        things = [word for category, word in _NATURE.items() if share[category] >= _IN_VIEW]
    largest = int(np.bincount(view.instance.ravel())[1:].max(initial=0))
    if nouns and nouns[0][1] == 1 and largest >= _CLOSE * view.instance.size:
        inside = "the inside of" if _roofed(world, pose) else "a close view of"
        return sentence(f"{inside} {things[0]} made of blocks", things[1:], viewpoint)
    words, outdoors = PLACES.get(world.kind, ANYWHERE), share["sky"] >= _IN_VIEW
    built = share["building"] >= _IN_VIEW
    if world.kind in KINDS:
        built = any(noun in _HOUSES for noun, _ in nouns)
    elif world.kind == "interior":
        built = share["sky"] < _OUTSIDE
    place = words.where(built=built, sign=share.get(words.sign, 1.0) >= _IN_VIEW)
    light = " under a clear blue sky" if outdoors else " in daylight"
    return sentence(place, things, viewpoint if world.kind == "interior" and built else light + viewpoint)


def _roofed(world: VoxelWorld, pose: FloatArray) -> bool:
    """Whether there is a solid cell above the camera."""
    x, y, z = (int(value) for value in np.floor(np.asarray(pose)[:3, 3]))
    return world.inside(x, y) and bool(SOLID[world.states[x, y, max(z + 1, 0) :]].any())
