"""A scan as triangles, textures and names: what every reader gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

REPEAT, CLAMP, MIRROR = 0, 1, 2
"""What a texture does beyond its border."""

Wrap = tuple[int, int]
"""Of its columns and of its rows."""
Up = Literal["y", "z"]
"""The axis that points up in a file."""


@dataclass(frozen=True)
class Material:
    """How triangles look.

    Attributes:
        page: Index of the texture, -1 without one.
        wrap: What the texture does beyond its border: REPEAT, CLAMP or MIRROR for columns and rows.
        factor: RGBA, 0 to 1, by which colours are multiplied.
        two_sided: Whether its triangles are seen from behind.
        cutoff: Opacity below which texels are holes; 0 where nothing is cut.
        nearest: Whether texels are drawn as squares.
    """

    page: int = -1
    wrap: Wrap = (REPEAT, REPEAT)
    factor: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    two_sided: bool = False
    cutoff: float = 0.0
    nearest: bool = False


@dataclass(frozen=True)
class Mesh:
    """Triangles in our frame: metres, z up.

    Attributes:
        vertices: (V, 3) float64.
        triangles: (T, 3) int32, counter-clockwise seen from the front.
        uv: (V, 2) float64, 0 to 1 from the upper left corner of the texture; zeros where there is none.
        colours: (V, 4) uint8, RGBA; None where no vertex has one.
        material: (T,) int32, index into `materials`.
        instance: (T,) uint16, number of the thing; 0 for none.
        category: (T,) uint16, index into `categories`.
        materials: Materials.
        pages: Textures, (H, W, 4) uint8 RGBA.
        categories: Names of categories; the first is "void".
        notes: What was found and left out or replaced, a sentence each.
        missing: (P,) bool, pages that stand in for textures that could not be read.
    """

    vertices: NDArray[np.float64]
    triangles: NDArray[np.int32]
    uv: NDArray[np.float64]
    colours: NDArray[np.uint8] | None
    material: NDArray[np.int32]
    instance: NDArray[np.uint16]
    category: NDArray[np.uint16]
    materials: tuple[Material, ...]
    pages: tuple[NDArray[np.uint8], ...]
    categories: tuple[str, ...] = ("void",)
    notes: tuple[str, ...] = ()
    missing: tuple[bool, ...] = ()


def ours(points: NDArray[np.float64], up: Up) -> NDArray[np.float64]:
    """Points (N, 3) of a file in our frame. Axes trade places and signs only, so no bit of a number changes.

    A file with y up is in the frame of the published simulator; one with z up becomes that by its rule, in which +y is
    the front.

    Args:
        points: Points of the file.
        up: The axis that points up in the file.
    """
    x, y, z = points.T
    return np.stack([-z, -x, y] if up == "y" else [y, -x, z], -1)


def theirs(points: NDArray[np.float64], up: Up) -> NDArray[np.float64]:
    """Points (N, 3) of our frame in that of a file; the inverse of `ours`."""
    x, y, z = points.T
    return np.stack([-y, z, -x] if up == "y" else [-y, x, z], -1)


def named(mesh: Mesh, names: Mapping[int, str]) -> Mesh:
    """A mesh whose things have the categories of a table.

    Args:
        mesh: The mesh, with numbers of things.
        names: Category of each number; an empty one, and a number that is missing, is category 0.

    Returns:
        The mesh.
    """
    categories = {"void": 0}
    table = np.zeros(65_536, np.uint16)
    for number, name in sorted(names.items()):
        words = " ".join(name.replace("_", " ").replace("-", " ").split())[:100]
        table[number] = categories.setdefault(words, len(categories)) if words else 0
    return replace(mesh, category=table[mesh.instance], categories=tuple(categories))


def joined(
    parts: Sequence[tuple[Mesh, NDArray[np.float64], int]], names: Sequence[str], notes: Sequence[str] = ()
) -> Mesh:
    """Several meshes as one.

    Args:
        parts: Each mesh, where its vertices lie (V, 3), and the number of the thing that it is; 0 for none. A mesh that
            is there several times keeps one copy of its textures.
        names: Category of each part; "" for none.
        notes: What else is to be told.

    Returns:
        The mesh; the things within a part are not kept.
    """
    materials: list[Material] = []
    pages: list[NDArray[np.uint8]] = []
    missing: list[bool] = []
    held: dict[int, int] = {}
    told: list[str] = list(notes)
    first, triangles, material = 0, [], []
    coloured = any(mesh.colours is not None for mesh, _, _ in parts)
    for mesh, _, _ in parts:
        if id(mesh) not in held:
            held[id(mesh)] = len(materials)
            moved = [replace(one, page=one.page + len(pages)) if one.page >= 0 else one for one in mesh.materials]
            materials += moved
            pages += mesh.pages
            missing += mesh.missing
            told += mesh.notes
        triangles.append(mesh.triangles.astype(np.int64) + first)
        material.append(mesh.material + held[id(mesh)])
        first += len(mesh.vertices)
    counts = [len(mesh.triangles) for mesh, _, _ in parts]
    instance = np.repeat(np.array([number for _, _, number in parts], np.uint16), counts)
    whole = Mesh(
        np.concatenate([points for _, points, _ in parts]),
        np.concatenate(triangles).astype(np.int32),
        np.concatenate([mesh.uv for mesh, _, _ in parts]),
        np.concatenate([_colours(mesh) for mesh, _, _ in parts]) if coloured else None,
        np.concatenate(material).astype(np.int32),
        instance,
        np.zeros(len(instance), np.uint16),
        tuple(materials),
        tuple(pages),
        notes=tuple(dict.fromkeys(told)),
        missing=tuple(missing),
    )
    return named(whole, {number: name for (_, _, number), name in zip(parts, names, strict=True) if number})


def _colours(mesh: Mesh) -> NDArray[np.uint8]:
    return np.full((len(mesh.vertices), 4), 255, np.uint8) if mesh.colours is None else mesh.colours
