"""Small glTF files, made part by part."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

COMPONENTS = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}
KINDS = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4"}


class Glb:
    """A document with one buffer, which grows."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.content: dict[str, Any] = {
            "asset": {"version": "2.0"},
            "scene": 0,
            "scenes": [{"nodes": []}],
            "nodes": [],
            "meshes": [],
            "accessors": [],
            "bufferViews": [],
        }

    def view(self, data: bytes, **more: Any) -> int:
        """Append bytes as a view."""
        self.data += bytes(-len(self.data) % 4)
        self.content["bufferViews"].append({"buffer": 0, "byteOffset": len(self.data), "byteLength": len(data), **more})
        self.data += data
        return len(self.content["bufferViews"]) - 1

    def array(self, values: Any, kind: str = "f4", **more: Any) -> int:
        """Append an array as an accessor."""
        held: NDArray[Any] = np.asarray(values).astype("<" + kind)
        width = 1 if held.ndim == 1 else held.shape[1]
        accessor = {"bufferView": self.view(held.tobytes()), "componentType": COMPONENTS[kind], "count": len(held)}
        return self.add("accessors", {**accessor, "type": KINDS[width], **more})

    def add(self, name: str, part: dict[str, Any]) -> int:
        """Append a part to a list of the document."""
        self.content.setdefault(name, []).append(part)
        return len(self.content[name]) - 1

    def mesh(self, *primitives: dict[str, Any], **node: Any) -> int:
        """Append a mesh and a node of the scene that draws it."""
        mesh = self.add("meshes", {"primitives": list(primitives)})
        number = self.add("nodes", {"mesh": mesh, **node})
        self.content["scenes"][0]["nodes"].append(number)
        return number

    def image(self, data: bytes, kind: str = "image/png", **texture: Any) -> int:
        """Append a picture, its texture and a material; returns the material."""
        source = self.add("images", {"bufferView": self.view(data), "mimeType": kind})
        number = self.add("textures", {"source": source, **texture})
        return self.add("materials", {"pbrMetallicRoughness": {"baseColorTexture": {"index": number}}})

    def write(self, path: Path) -> Path:
        """Write the file."""
        path.write_bytes(self.bytes())
        return path

    def bytes(self) -> bytes:
        """The file."""
        self.content["buffers"] = [{"byteLength": len(self.data)}]
        text = json.dumps(self.content).encode()
        text += b" " * (-len(text) % 4)
        data = bytes(self.data) + bytes(-len(self.data) % 4)
        head = struct.pack("<4sII", b"glTF", 2, 28 + len(text) + len(data))
        return head + struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data


TRIANGLE = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
QUAD = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]


def triangle(points: Any = TRIANGLE, *, picture: bytes | None = None, **primitive: Any) -> Glb:
    """One triangle, or other `points`, without indices; a picture is its texture."""
    made = Glb()
    look = {} if picture is None else {"material": made.image(picture)}
    made.mesh({"attributes": {"POSITION": made.array(points)}, **look, **primitive})
    return made
