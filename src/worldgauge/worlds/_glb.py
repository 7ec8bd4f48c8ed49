"""Textured faces as a GLB file: glTF 2.0 in one binary file, unlit, as Blender, Unity, Habitat and three.js read it."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import UsageError
from worldgauge.core.image import Image
from worldgauge.core.io import write_file
from worldgauge.version import __version__
from worldgauge.worlds.scan.mesh import Up, theirs

_FLOAT, _UINT32 = 5126, 5125
_VERTICES, _INDICES = 34962, 34963


@dataclass(frozen=True)
class Patch:
    """Triangles of one thing on one texture."""

    instance: int  # 0 for walls, ground and the like
    category: str
    page: int
    vertices: NDArray[np.float32]  # (V, 3) metres, in our frame
    uv: NDArray[np.float32]  # (V, 2), 0 to 1 from the upper left corner of the texture
    triangles: NDArray[np.uint32]  # (T, 3), counter-clockwise seen from outside
    two_sided: bool = False
    opacity: float = 1.0

    @property
    def look(self) -> tuple[int, bool, float]:
        """What decides its material."""
        return self.page, self.two_sided, self.opacity


@dataclass(frozen=True)
class Pages:
    """Textures of a file."""

    images: tuple[Image, ...]  # (H, W, 3) uint8, or (H, W, 4) if texels of opacity 0 are holes
    quality: int | None = 92  # of JPEG, 1 to 100; None for PNG
    nearest: bool = False  # draw texels as squares
    repeat: bool = False  # beyond the border


def write_glb(path: Path, patches: Sequence[Patch], pages: Pages, *, up: Up = "y") -> None:
    """Write patches as a GLB file. Things become nodes, named by category, with their instance in `extras`."""
    if not patches or any(not 0 <= patch.page < len(pages.images) for patch in patches):
        raise UsageError(f"{path}: nothing to write, or a face without its texture")
    store = _Store()
    images = [_encoded(image, pages.quality) for image in pages.images]
    kind = "image/png" if pages.quality is None else "image/jpeg"
    views = [{"bufferView": store.add(data), "mimeType": kind} for data in images]
    meshes, nodes = [], []
    materials = {key: n for n, key in enumerate(dict.fromkeys(patch.look for patch in patches))}
    owned: dict[tuple[int, str], list[Patch]] = {}
    for patch in patches:
        owned.setdefault((patch.instance, patch.category), []).append(patch)
    for (instance, category), own in owned.items():
        meshes.append({"primitives": [_primitive(store, patch, up, materials) for patch in own]})
        extras = {"instance": instance, "category": category}
        nodes.append({"name": category, "mesh": len(meshes) - 1, "extras": extras})
    filters = {"magFilter": 9728, "minFilter": 9984} if pages.nearest else {"magFilter": 9729, "minFilter": 9987}
    document = {
        "asset": {"version": "2.0", "generator": f"worldgauge {__version__}"},
        "extensionsUsed": ["KHR_materials_unlit"],
        "scene": 0,
        "scenes": [{"nodes": list(range(len(nodes)))}],
        "nodes": nodes,
        "meshes": meshes,
        "materials": [_material(*look, pages.images[look[0]].shape[2] == 4) for look in materials],
        "samplers": [{**filters, **dict.fromkeys(("wrapS", "wrapT"), 10497 if pages.repeat else 33071)}],
        "textures": [{"source": n, "sampler": 0} for n in range(len(views))],
        "images": views,
        "accessors": store.accessors,
        "bufferViews": store.views,
        "buffers": [{"byteLength": len(store.data)}],
    }
    write_file(path, _container(document, bytes(store.data)))


class _Store:
    """The binary part of a file while it grows."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []

    def add(self, data: bytes, target: int | None = None) -> int:
        """Append bytes; returns the number of their view."""
        self.data += bytes(-len(self.data) % 4)
        view = {"buffer": 0, "byteOffset": len(self.data), "byteLength": len(data)}
        self.views.append(view if target is None else {**view, "target": target})
        self.data += data
        return len(self.views) - 1

    def add_array(self, values: NDArray[Any], kind: str, component: int, target: int, *, bounds: bool = False) -> int:
        """Append an array; returns the number of its accessor."""
        view = self.add(np.ascontiguousarray(values).tobytes(), target)
        count = values.size if kind == "SCALAR" else len(values)
        accessor: dict[str, Any] = {"bufferView": view, "componentType": component, "count": count, "type": kind}
        if bounds:
            accessor |= {"min": values.min(0).tolist(), "max": values.max(0).tolist()}
        self.accessors.append(accessor)
        return len(self.accessors) - 1


def _material(page: int, two_sided: bool, opacity: float, cut: bool) -> dict[str, Any]:
    colour: dict[str, Any] = {"baseColorTexture": {"index": page}, "metallicFactor": 0, "roughnessFactor": 1}
    material: dict[str, Any] = {"pbrMetallicRoughness": colour, "extensions": {"KHR_materials_unlit": {}}}
    if two_sided:
        material["doubleSided"] = True
    if opacity < 1:
        colour["baseColorFactor"] = [1, 1, 1, round(opacity, 4)]
        material["alphaMode"] = "BLEND"
    elif cut:
        material["alphaMode"] = "MASK"
    return material


def _primitive(store: _Store, patch: Patch, up: Up, materials: dict[tuple[int, bool, float], int]) -> dict[str, Any]:
    turned = theirs(patch.vertices, up).astype("<f4")
    return {
        "attributes": {
            "POSITION": store.add_array(turned, "VEC3", _FLOAT, _VERTICES, bounds=True),
            "TEXCOORD_0": store.add_array(patch.uv.astype("<f4"), "VEC2", _FLOAT, _VERTICES),
        },
        "indices": store.add_array(patch.triangles.astype("<u4").reshape(-1), "SCALAR", _UINT32, _INDICES),
        "material": materials[patch.look],
    }


def _encoded(image: Image, quality: int | None) -> bytes:
    bgr = np.ascontiguousarray(image[..., [2, 1, 0, 3][: image.shape[2]]])
    options = [cv2.IMWRITE_PNG_COMPRESSION, 6] if quality is None else [cv2.IMWRITE_JPEG_QUALITY, quality]
    return bytes(cv2.imencode(".png" if quality is None else ".jpg", bgr, options)[1].tobytes())


def _container(document: dict[str, Any], data: bytes) -> bytes:
    text = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-len(text) % 4)
    data += bytes(-len(data) % 4)
    length = 12 + 8 + len(text) + 8 + len(data)
    if length >= 2**32:
        raise UsageError("a GLB file holds less than 4 GiB: take coarser texels")
    head = struct.pack("<4sII", b"glTF", 2, length)
    return head + struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data
