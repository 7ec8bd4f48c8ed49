"""Measures of a build without a reference: support, connectivity, symmetry, order, and its inside.

Beyond the paper, which grades builds by a vision model alone. Names without states are compared throughout.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worldgauge.metrics._registry import metric
from worldgauge.worlds.blocks.blueprint import AIR, AIR_NAMES, Blueprint, Size, base_name

_SOURCE = "ours; MineAnyBuild has none"
Mask = NDArray[np.bool_]

FALLING = re.compile(
    r"^(?:sand|red_sand|gravel|suspicious_(?:sand|gravel)|.*concrete_powder|(?:.+_)?anvil|dragon_egg)$"
)
"""Blocks that fall where nothing is below them."""
PASSABLE = re.compile(
    r"(?:^|_)(?:door|trapdoor|gate|carpet|plate|button|torch|sign|banner|rail|ladder|vine|vines|sapling|tulip|flower"
    r"|dandelion|poppy|orchid|allium|bluet|daisy|cornflower|lily|grass|fern|bush|mushroom|snow|water|lever|web|roots"
    r"|cane|wheat|carrots|potatoes|beetroots|stem|tripwire|wire|rose|lilac|peony|sunflower|moss_carpet|light|sprouts)$"
)
"""Blocks that one walks through, doors being opened, by how their names end."""
WINDOWS = re.compile(r"(?:^|_)(?:glass|pane|bars)$")
DOORS = re.compile(r"_door$")


@dataclass(frozen=True)
class Soundness:
    """Measures of one build, shares None without such a thing; `layers` are different plans, `inside` is sheltered."""

    blocks: int
    size: Size
    materials: int
    layers: int
    fill: float
    inside: int
    doors: int
    windows: int
    supported: float | None
    connected: float | None
    symmetry: float | None
    order: float | None
    alike: float | None
    evenness: float | None
    reachable: float | None


def soundness(built: Blueprint) -> Soundness:
    """Compute all measures of a build; one without blocks has size 0 and none of the shares."""
    plain = built.trimmed().names_only()
    solid = plain.solid
    blocks = int(solid.sum())
    return Soundness(
        blocks=blocks,
        size=plain.size if blocks else Size(0, 0, 0),
        materials=len(plain.counts()),
        layers=len({layer.tobytes() for layer in plain.cells}) if blocks else 0,
        fill=blocks / solid.size if blocks else 0.0,
        inside=int(sheltered(plain).sum()),
        doors=_parts(_called(plain, DOORS), _ALL_AROUND)[1],
        windows=_parts(_called(plain, WINDOWS), _ALL_AROUND)[1],
        supported=supported_share(plain),
        connected=connected_share(plain),
        symmetry=symmetry(plain),
        order=order(plain),
        alike=alike_share(plain),
        evenness=evenness(plain),
        reachable=reachable_share(plain),
    )


@metric("build_supported", unit="1", better="higher", bounds=(0.0, 1.0), source=_SOURCE)
def supported_share(built: Blueprint) -> float | None:
    """Return the share of blocks joined to the lowest layer of the build by faces or edges, and not falling.

    Edges count, since roofs of stairs and round shapes hold by them; corners do not. Sand and similar blocks fall when
    air is below; torches and carpets count as any other block. None without blocks.

    Examples:
        >>> from worldgauge.worlds.blocks.blueprint import Blueprint
        >>> floating = Blueprint.of([[[1, 1]], [[1, -1]], [[-1, -1]], [[1, -1]]], ["stone"])
        >>> build_supported(floating)
        0.75
    """
    plain = built.trimmed()
    solid = plain.solid
    if not solid.any():
        return None
    labels, _ = _parts(solid, _FACES_AND_EDGES)
    grounded = solid & np.isin(labels, np.unique(labels[0][solid[0]]))
    falls = np.zeros_like(solid)
    falls[1:] = _called(plain, FALLING)[1:] & ~solid[:-1]
    return float((grounded & ~falls).sum() / solid.sum())


@metric("build_connected", unit="1", better="higher", bounds=(0.0, 1.0), source=_SOURCE)
def connected_share(built: Blueprint) -> float | None:
    """Return the share of blocks in the largest part connected by faces, edges or corners. None without blocks.

    Examples:
        >>> from worldgauge.worlds.blocks.blueprint import Blueprint
        >>> build_connected(Blueprint.of([[[1, 1, 1, -1, 1]]], ["stone"]))
        0.75
    """
    solid = built.solid
    if not solid.any():
        return None
    labels, _ = _parts(solid, _ALL_AROUND)
    return float(np.bincount(labels[solid])[1:].max() / solid.sum())


@metric("build_symmetry", unit="1", better="higher", bounds=(0.0, 1.0), source=_SOURCE)
def symmetry(built: Blueprint) -> float | None:
    """Return the share of blocks with an equal one in the best mirror image (x or z) or turn about the vertical axis.

    Quarter turns only if the smallest box is square. None without blocks.

    Examples:
        >>> from worldgauge.worlds.blocks.blueprint import Blueprint
        >>> build_symmetry(Blueprint.of([[[1, 1], [1, 2]]], ["stone", "glass"]))
        0.5
    """
    plain = built.trimmed().names_only()
    solid = plain.solid
    if not solid.any():
        return None
    cells = np.where(solid, plain.cells, AIR)
    images = [cells[:, :, ::-1], cells[:, ::-1], cells[:, ::-1, ::-1]]
    if cells.shape[1] == cells.shape[2]:
        images.append(np.rot90(cells, axes=(1, 2)))
    return float(max(((image == cells) & solid).sum() for image in images) / solid.sum())


@metric("build_order", unit="1", better="neither", bounds=(-1.0, 1.0), source=_SOURCE)
def order(built: Blueprint) -> float | None:
    """Return Cohen's kappa of touching cells: near 0 for blocks placed at random, 1 for one kind.

    Over all pairs of touching cells of the smallest box, air being one kind. None without blocks.

    Examples:
        >>> from worldgauge.worlds.blocks.blueprint import Blueprint
        >>> build_order(Blueprint.of([[[1, 2], [2, 1]]], ["stone", "glass"]))  # no two neighbours are alike
        -1.0
    """
    plain = built.trimmed().names_only()
    solid = plain.solid
    if not solid.any():
        return None
    cells = np.where(solid, plain.cells, AIR)
    pairs = [(np.moveaxis(cells, axis, 0)[1:], np.moveaxis(cells, axis, 0)[:-1]) for axis in range(3)]
    count = sum(one.size for one, _ in pairs)
    shares = np.unique(cells, return_counts=True)[1] / cells.size
    chance = float((shares**2).sum())
    if len(shares) == 1 or count == 0:
        return 1.0
    alike = sum(int((one == other).sum()) for one, other in pairs) / count
    return max(-1.0, (alike - chance) / (1 - chance))


@metric("build_alike", unit="1", better="neither", bounds=(0.0, 1.0), source=_SOURCE)
def alike_share(built: Blueprint) -> float | None:
    """Return the share of pairs of touching blocks that are of one material.

    It is low for materials scattered over a good shape, which `order` hardly detects, since most pairs of cells are
    air. 1 if no two touch, None without blocks.

    Examples:
        >>> from worldgauge.worlds.blocks.blueprint import Blueprint
        >>> build_alike(Blueprint.of([[[1, 1, 2]]], ["stone", "glass"]))
        0.5
    """
    plain = built.names_only()
    solid = plain.solid
    if not solid.any():
        return None
    alike = pairs = 0
    for axis in range(3):
        one, other = (np.moveaxis(plain.cells, axis, 0)[part] for part in (slice(1, None), slice(None, -1)))
        both = np.moveaxis(solid, axis, 0)[1:] & np.moveaxis(solid, axis, 0)[:-1]
        alike += int((both & (one == other)).sum())
        pairs += int(both.sum())
    return alike / pairs if pairs else 1.0


@metric("build_evenness", unit="1", better="neither", bounds=(0.0, 1.0), source=_SOURCE)
def evenness(built: Blueprint) -> float | None:
    """Return the normalised entropy of the materials in use: 0 for one material, 1 for equal parts of several.

    Examples:
        >>> from worldgauge.worlds.blocks.blueprint import Blueprint
        >>> build_evenness(Blueprint.of([[[1, 1, 1]]], ["stone"]))
        0.0
        >>> round(build_evenness(Blueprint.of([[[1, 2]]], ["stone", "glass"])), 6)
        1.0
    """
    counts = np.array(list(built.names_only().counts().values()), float)
    if not len(counts):
        return None
    shares = counts / counts.sum()
    return float(-(shares * np.log(shares)).sum() / math.log(len(counts))) if len(counts) > 1 else 0.0


@metric("build_offered_used", unit="1", better="neither", bounds=(0.0, 1.0), source=_SOURCE)
def offered_used(built: Blueprint, offered: Sequence[str]) -> float | None:
    """Return the share of the offered materials that the build uses; None if none is offered.

    Args:
        built: The build.
        offered: Names of materials.

    Examples:
        >>> from worldgauge.worlds.blocks.blueprint import Blueprint
        >>> build_offered_used(Blueprint.of([[[1, 1]]], ["stone"]), ["stone", "glass"])
        0.5
    """
    names = {base_name(name) for name in offered} - AIR_NAMES
    return len(names & set(built.names_only().counts())) / len(names) if names else None


@metric("build_reachable", unit="1", better="higher", bounds=(0.0, 1.0), source=_SOURCE)
def reachable_share(built: Blueprint) -> float | None:
    """Return the share of the inside that a figure two blocks high can reach from outside, through doors and gaps.

    Steps up count as well as level paths: a hole two blocks high far up, or in the roof, is an entrance too. None
    without an inside.

    Examples:
        >>> from worldgauge.worlds.blocks.blueprint import Blueprint
        >>> hut = np.ones((4, 3, 3), int)
        >>> hut[1:3, 1, 1] = -1  # a closed room
        >>> open_hut = hut.copy()
        >>> open_hut[1:3, 1, 0] = -1  # a gap two blocks high
        >>> build_reachable(Blueprint(hut, ("stone",))), build_reachable(Blueprint(open_hut, ("stone",)))
        (0.0, 1.0)
    """
    plain = built.trimmed()
    inside = sheltered(plain)
    if not inside.any():
        return None
    free = np.pad(~plain.solid | _called(plain, PASSABLE), 2, constant_values=True)
    stands = free.copy()
    stands[:-1] &= free[1:]
    stands[-1] = True
    labels, _ = _parts(stands, _FACES)
    reached = labels == labels[-1, 0, 0]
    reached[1:] |= reached[:-1]
    return float((reached & free)[2:-2, 2:-2, 2:-2][inside].mean())


def sheltered(built: Blueprint) -> Mask:
    """Free cells with a block above and on at least three sides (a door opens the fourth); passable blocks are free."""
    wall = built.solid & ~_called(built, PASSABLE)
    sides = sum(_seen(wall, axis, ahead).astype(np.int8) for axis in (1, 2) for ahead in (True, False))
    inside: Mask = ~wall & _seen(wall, 0, True) & (sides >= 3)
    return inside


def _seen(wall: Mask, axis: int, ahead: bool) -> Mask:
    """Where a wall stands somewhere further along an axis, or, not `ahead`, somewhere back."""
    turned = np.flip(wall, axis) if ahead else wall
    seen: Mask = np.maximum.accumulate(turned, axis)
    return np.flip(seen, axis) if ahead else seen


def _called(built: Blueprint, pattern: re.Pattern[str]) -> Mask:
    """(height, depth, width), where a block is whose base name has the pattern."""
    numbers = [number for number, name in enumerate(built.materials, 1) if pattern.search(base_name(name))]
    found: Mask = np.isin(built.cells, numbers)
    return found


_FACES, _FACES_AND_EDGES, _ALL_AROUND = 1, 2, 3
"""How blocks of one part touch: the number of axes along which they may be apart."""


def _parts(mask: Mask, reach: int) -> tuple[NDArray[np.int32], int]:
    """Numbers of the connected parts of a mask, 0 outside of it, and how many there are."""
    from scipy import ndimage  # loaded late: the registry of metrics imports this module for every suite

    labels, count = ndimage.label(mask, ndimage.generate_binary_structure(3, reach))
    return labels, int(count)
