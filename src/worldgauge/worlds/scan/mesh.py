"""Triangles of a scan in our frame, with their textures, however these are stored."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, MissingExtraError, UsageError
from worldgauge.core.image import check_parts, picture_size
from worldgauge.worlds.scan._document import Damaged

REPEAT, CLAMP, MIRROR = 0, 1, 2
"""What a texture does beyond its border."""

Wrap = tuple[int, int]
"""Of its columns and of its rows."""
Up = Literal["y", "z"]
"""The axis that points up in a file."""


@dataclass(frozen=True)
class ScanMaterial:
    """How triangles look."""

    page: int = -1  # index of the texture, -1 without one
    wrap: Wrap = (REPEAT, REPEAT)  # REPEAT, CLAMP or MIRROR for columns and rows
    factor: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)  # RGBA, 0 to 1, times colours
    two_sided: bool = False
    cutoff: float = 0.0  # opacity below which texels are holes
    nearest: bool = False  # draw texels as squares


@dataclass(frozen=True)
class ScanMesh:
    """Triangles in our frame: metres, z up."""

    vertices: NDArray[np.float64]  # (V, 3)
    triangles: NDArray[np.int32]  # (T, 3), counter-clockwise seen from the front
    uv: NDArray[np.float64]  # (V, 2), 0 to 1 from the upper left corner of the texture; zeros without one
    colours: NDArray[np.uint8] | None  # (V, 4), RGBA; None if no vertex has one
    material: NDArray[np.int32]  # (T,), index into `materials`
    instance: NDArray[np.uint16]  # (T,), 0 for none
    category: NDArray[np.uint16]  # (T,), index into `categories`
    materials: tuple[ScanMaterial, ...]
    pages: tuple[NDArray[np.uint8], ...]  # textures (H, W, 4), RGBA
    categories: tuple[str, ...] = ("void",)
    notes: tuple[str, ...] = ()
    missing: tuple[bool, ...] = ()  # pages that replace textures that could not be read


def ours(points: NDArray[np.float64], up: Up) -> NDArray[np.float64]:
    """Points (N, 3) of a file in our frame. Axes trade places and signs only, so no bit of a number changes.
    With y up, a file is in the published simulator's frame; with z up it becomes that by its rule, +y in front."""
    x, y, z = points.T
    return np.stack([-z, -x, y] if up == "y" else [y, -x, z], -1)


def theirs(points: NDArray[Any], up: Up) -> NDArray[Any]:
    """Points (N, 3) of our frame in that of a file; the inverse of `ours`."""
    x, y, z = points.T
    return np.stack([-y, z, -x] if up == "y" else [-y, x, z], -1)


def named(mesh: ScanMesh, names: Mapping[int, str]) -> ScanMesh:
    """A mesh whose things have the categories of a table."""
    categories = {"void": 0}
    table = np.zeros(65_536, np.uint16)
    for number, name in sorted(names.items()):
        words = " ".join(name.replace("_", " ").replace("-", " ").split())[:100]
        table[number] = categories.setdefault(words, len(categories)) if words else 0
    return replace(mesh, category=table[mesh.instance], categories=tuple(categories))


def joined(
    parts: Sequence[tuple[ScanMesh, NDArray[np.float64], int]], names: Sequence[str], notes: Sequence[str] = ()
) -> ScanMesh:
    """Join meshes: each with its vertices (V, 3) in place and instance (0: none). Equal meshes share textures."""
    materials: list[ScanMaterial] = []
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
    whole = ScanMesh(
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


def _colours(mesh: ScanMesh) -> NDArray[np.uint8]:
    return np.full((len(mesh.vertices), 4), 255, np.uint8) if mesh.colours is None else mesh.colours


MOST_PX = 16384
"""Side of a texture that is read."""
_WHOLE_PX = 8192
"""Side of a texture that is decoded as it is; JPEGs beyond are reduced while they are decoded."""

Texels = NDArray[np.uint8]


def cap_px() -> int:
    """Side to which textures are reduced: WORLDGAUGE_SCAN_TEXTURE_PX, by default 4096."""
    text = os.environ.get("WORLDGAUGE_SCAN_TEXTURE_PX", "4096")
    if not text.isdecimal() or not 16 <= int(text) <= MOST_PX:
        raise UsageError(f"WORLDGAUGE_SCAN_TEXTURE_PX is '{text[:20]}'; give a whole number from 16 to {MOST_PX}")
    return int(text)


def decode_texture(data: bytes, where: str) -> Texels:
    """Decode a texture of any known kind to (H, W, 4) RGBA, reduced by whole factors to at most `cap_px()` per side."""
    if data[:12] == b"\xabKTX 20\xbb\r\n\x1a\n" or data[:2] == b"sB":
        return _reduced(_basis(data, where))
    try:
        width, height = picture_size(data, where)
        check_parts(data, where)
    except DataError as error:
        raise Damaged(str(error)) from error
    if not min(width, height) > 0 or max(width, height) > MOST_PX:
        raise Damaged(f"{where}: {width}x{height} pixels are none, or pass the limit of {MOST_PX} a side")
    return _reduced(_by_opencv(data, where, max(width, height)))


def checks() -> Texels:
    """What stands in for a texture that cannot be read: magenta and grey squares."""
    board = np.indices((64, 64)).sum(0) // 8 % 2 == 0
    texels = np.full((64, 64, 4), 255, np.uint8)
    texels[..., :3] = np.where(board[..., None], np.array([255, 0, 255]), np.array([128, 128, 128]))
    return texels


def _by_opencv(data: bytes, where: str, longest: int) -> Texels:
    import cv2

    flag = cv2.IMREAD_UNCHANGED
    if data[:2] == b"\xff\xd8":
        flag = cv2.IMREAD_COLOR
        for factor, reduced in ((2, cv2.IMREAD_REDUCED_COLOR_2), (4, cv2.IMREAD_REDUCED_COLOR_4)):
            if longest > _WHOLE_PX * factor // 2:
                flag = reduced
    elif longest > _WHOLE_PX:
        raise Damaged(f"{where}: {longest} pixels a side pass the limit of {_WHOLE_PX} for PNG and WebP")
    try:
        decoded = cv2.imdecode(np.frombuffer(data, np.uint8), flag)
    except cv2.error:
        decoded = None
    if decoded is None:
        raise Damaged(f"{where}: the picture is damaged")
    picture: NDArray[Any] = np.asarray(decoded)
    if picture.dtype == np.uint16:
        picture = (picture >> 8).astype(np.uint8)
    if picture.ndim == 2:
        picture = np.repeat(picture[..., None], 3, -1)
    texels = np.full((*picture.shape[:2], 4), 255, np.uint8)
    texels[..., :3] = picture[..., 2::-1] if picture.shape[2] >= 3 else picture[..., :1]
    if picture.shape[2] in (2, 4):
        texels[..., 3] = picture[..., -1]
    return texels


def _basis(data: bytes, where: str) -> Texels:
    try:
        import opengl_basisu
    except ImportError as error:
        raise MissingExtraError(f"{where} is a Basis texture, and", "scan") from error
    try:
        texture = opengl_basisu.open(data)
        if max(texture.width, texture.height) > _WHOLE_PX:
            raise Damaged(f"{where}: {texture.width}x{texture.height} pixels pass the limit of {_WHOLE_PX} a side")
        texels = np.asarray(texture.transcode("rgba8").data, np.uint8)
    except (opengl_basisu.BasisuError, opengl_basisu.UnsupportedError, ValueError, MemoryError) as error:
        raise Damaged(f"{where}: the Basis texture is damaged ({' '.join(str(error).split())[:80]})") from error
    # Encoders may store the lowest row first and say so.
    return np.ascontiguousarray(texels[::-1] if texture.y_flipped else texels)


def _reduced(texels: Texels) -> Texels:
    """Texels averaged by whole factors, until no side passes the cap."""
    import cv2

    longest, cap = max(texels.shape[:2]), cap_px()
    if longest <= cap:
        return texels
    factor = -(-longest // cap)
    size = max(texels.shape[1] // factor, 1), max(texels.shape[0] // factor, 1)
    return np.asarray(cv2.resize(texels, size, interpolation=cv2.INTER_AREA), np.uint8)
