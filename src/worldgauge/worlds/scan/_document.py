"""The container of glTF files: JSON, buffers and accessors, with every length checked before anything is made of it."""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import short
from worldgauge.core.errors import DataError, MissingExtraError, WorldError
from worldgauge.core.io import check_inside, parse_json, read_bytes

MOST_BYTES = 8 * 2**30
"""Of a file and all that lies beside it."""
MOST_ELEMENTS = 200_000_000
"""Of one accessor, and of all indices."""
_MOST_JSON = 256 * 2**20
_COMPONENTS: dict[int, np.dtype[Any]] = {
    5120: np.dtype("<i1"), 5121: np.dtype("<u1"), 5122: np.dtype("<i2"),
    5123: np.dtype("<u2"), 5125: np.dtype("<u4"), 5126: np.dtype("<f4"),
}  # fmt: skip
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
_MOST_ZEROS = 10_000_000
"""Elements of an accessor without stored values, of which a small file can claim any number."""

_MOST_SWELL = 4096
"""How many bytes one compressed byte may become; more is a claim that no encoder makes."""


class Damaged(Exception):
    """A part of a file is not what it should be; the reader adds the file's name."""


class Document:
    """A glTF file: its parts by kind and number."""

    def __init__(self, path: Path) -> None:
        self.path = path
        data = read_bytes(path, MOST_BYTES)
        self._binary: memoryview | None = None
        if data[:4] == b"glTF":
            text, self._binary = _parts_of(data)
        elif data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{":
            if len(data) > _MOST_JSON:
                raise Damaged(f"{len(data)} bytes of JSON pass the limit of {_MOST_JSON}")
            text = data
        else:
            raise Damaged("this is no glTF file: it begins with neither 'glTF' nor JSON")
        content = parse_json(text, f"{path}: JSON")
        self.content: dict[str, Any] = checked_object(content, "JSON")
        version = checked_object(self.content.get("asset"), "asset").get("version")
        if not isinstance(version, str) or version.split(".")[0] != "2":
            raise Damaged(f"asset: version {short(version)} is not 2.0; export it again as glTF 2.0")
        self._buffers: dict[int, memoryview] = {}
        self._views: dict[int, memoryview] = {}

    def item(self, kind: str, index: Any, user: str) -> dict[str, Any]:
        """Part `index` of the list `kind`, such as "meshes"."""
        listed = self.content.get(kind, [])
        if not isinstance(listed, list):
            raise Damaged(f"{kind} is no list")
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(listed):
            raise Damaged(f"{user}: there is no {kind}[{short(index)}]")
        return checked_object(listed[index], f"{kind}[{index}]")

    def extensions(self, kind: str) -> tuple[str, ...]:
        """Names of extensions, of the list extensionsUsed or extensionsRequired."""
        names = self.content.get(kind, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise Damaged(f"{kind} is no list of names")
        return tuple(names)

    def bytes_of(self, index: Any, user: str) -> memoryview:
        """Bytes of a buffer view, decompressed where it is compressed."""
        view = self.item("bufferViews", index, user)
        if index not in self._views:
            packed = extension(view, "EXT_meshopt_compression", f"bufferViews[{index}]")
            if packed is not None:
                held = self._part(packed, f"bufferViews[{index}].EXT_meshopt_compression")
                self._views[index] = meshopt_bytes(packed, held, f"bufferViews[{index}]")
            else:
                self._views[index] = self._part(view, f"bufferViews[{index}]")
        return self._views[index]

    def array(self, index: Any, widths: tuple[int, ...], user: str, *, exact: bool = False) -> NDArray[Any]:
        """Values (count, width) of an accessor. Unless `exact`, normalised whole numbers become 0 to 1 or -1 to 1."""
        accessor, where = self.item("accessors", index, user), f"accessors[{index}]"
        kind = accessor.get("type")
        width = _WIDTHS.get(kind, 0) if isinstance(kind, str) else 0
        if width not in widths:
            raise Damaged(f"{where}: type {short(kind)} does not suit {user}")
        dtype = _component(accessor, where)
        count = whole(accessor, "count", where, 1, MOST_ELEMENTS)
        if "bufferView" in accessor:
            held = self.bytes_of(accessor["bufferView"], where)
            view = self.item("bufferViews", accessor["bufferView"], where)
            start = whole(accessor, "byteOffset", where, 0, MOST_BYTES, 0)
            element = dtype.itemsize * width
            stride = whole(view, "byteStride", where, 1, 255, element) if "byteStride" in view else element
            if stride < element or start + (count - 1) * stride + element > len(held):
                raise Damaged(f"{where}: {count} elements of {element} bytes pass the end of its buffer view")
            values: NDArray[Any] = np.ndarray((count, width), dtype, held, start, (stride, dtype.itemsize))
        elif count > _MOST_ZEROS:
            raise Damaged(f"{where}: {count} elements without a bufferView pass the limit of {_MOST_ZEROS}")
        else:
            values = np.zeros((count, width), dtype)
        if "sparse" in accessor:
            values = self._sparse(checked_object(accessor["sparse"], f"{where}.sparse"), values, where)
        if exact or dtype.kind == "f" or accessor.get("normalized") is not True:
            return values
        scaled = values.astype(np.float32) / np.float32(np.iinfo(dtype).max)
        return np.maximum(scaled, -1) if dtype.kind == "i" else scaled

    def _sparse(self, sparse: Mapping[str, Any], values: NDArray[Any], where: str) -> NDArray[Any]:
        where = f"{where}.sparse"
        count = whole(sparse, "count", where, 1, len(values))
        parts = []
        for name, width in (("indices", 1), ("values", values.shape[1])):
            part = checked_object(sparse.get(name), f"{where}.{name}")
            dtype = _component(part, where) if name == "indices" else values.dtype
            held = self.bytes_of(part.get("bufferView"), where)
            start = whole(part, "byteOffset", where, 0, MOST_BYTES, 0)
            if start + count * dtype.itemsize * width > len(held):
                raise Damaged(f"{where}.{name} pass the end of their buffer view")
            parts.append(np.frombuffer(held, dtype, count * width, start).reshape(count, width))
        at = parts[0][:, 0].astype(np.int64)
        if at.min() < 0 or at.max() >= len(values):
            raise Damaged(f"{where}: index {int(at.max())} of {len(values)} elements")
        values = values.copy()
        values[at] = parts[1]
        return values

    def _part(self, view: Mapping[str, Any], where: str) -> memoryview:
        """Bytes of a buffer from byteOffset on."""
        held = self._buffer(view.get("buffer"), where)
        start = whole(view, "byteOffset", where, 0, MOST_BYTES, 0)
        length = whole(view, "byteLength", where, 1, MOST_BYTES)
        if start + length > len(held):
            raise Damaged(f"{where}: bytes {start} to {start + length} pass the end of a buffer of {len(held)}")
        return held[start : start + length]

    def _buffer(self, index: Any, user: str) -> memoryview:
        buffer, where = self.item("buffers", index, user), f"buffers[{index}]"
        if index not in self._buffers:
            length = whole(buffer, "byteLength", where, 1, MOST_BYTES)
            if "uri" in buffer:
                held = memoryview(self.linked(buffer["uri"], where))
            elif index == 0 and self._binary is not None:
                held = self._binary
            else:
                raise Damaged(f"{where}: it has neither a uri nor a part of the file")
            if len(held) < length:
                raise Damaged(f"{where}: {len(held)} bytes are there of {length}")
            self._buffers[index] = held
        return self._buffers[index]

    def linked(self, uri: Any, where: str) -> bytes:
        """Bytes of a `data:` URI, or of a file beside this one."""
        if not isinstance(uri, str):
            raise Damaged(f"{where}: uri {short(uri)} is no text")
        if uri.startswith("data:"):
            head, _, body = uri.partition(",")
            if not head.endswith(";base64"):
                raise Damaged(f"{where}: a data URI without base64")
            try:
                return base64.b64decode(body, validate=True)
            except (binascii.Error, ValueError) as error:
                raise Damaged(f"{where}: a data URI that is no base64") from error
        name = unquote(uri)
        if ":" in name or "\\" in name or "\0" in name or name.startswith("/") or ".." in name.split("/"):
            raise Damaged(f"{where}: uri {short(uri)} leaves the folder of the file; only files inside it are read")
        try:
            beside = check_inside(self.path.parent / name, self.path.parent)
        except (DataError, OSError, ValueError) as error:
            raise Damaged(f"{where}: uri {short(uri)} leaves the folder of the file") from error
        return read_bytes(beside, MOST_BYTES)


def checked_object(value: Any, where: str) -> dict[str, Any]:
    """`value` if it is a JSON object."""
    if not isinstance(value, dict):
        raise Damaged(f"{where} is {short(value)}, not an object")
    return value


def checked_list(value: Any, where: str) -> list[Any]:
    """`value` if it is a JSON list."""
    if not isinstance(value, list):
        raise Damaged(f"{where} is {short(value)}, not a list")
    return value


def whole(content: Mapping[str, Any], key: str, where: str, low: int, high: int, default: int | None = None) -> int:
    """A whole-number field from `low` to `high`."""
    value = content.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Damaged(f"{where}: {key} is {short(value)}, not a whole number from {low} to {high}")
    return value


def numbers(content: Mapping[str, Any], key: str, where: str, default: tuple[float, ...]) -> tuple[float, ...]:
    """A field of as many finite numbers as `default` has."""
    value = content.get(key)
    if value is None:
        return default
    fits = isinstance(value, list) and len(value) == len(default)
    if not fits or not all(type(one) in (int, float) and abs(one) < 1e9 for one in value):
        raise Damaged(f"{where}: {key} is {short(value)}, not {len(default)} numbers")
    return tuple(float(one) for one in value)


def extension(content: Mapping[str, Any], name: str, where: str) -> dict[str, Any] | None:
    """The object of an extension of a part; None where it has none."""
    held = content.get("extensions")
    if held is None or name not in checked_object(held, f"{where}.extensions"):
        return None
    return checked_object(held[name], f"{where}.extensions.{name}")


def _component(content: Mapping[str, Any], where: str) -> np.dtype[Any]:
    kind = content.get("componentType")
    if not isinstance(kind, int) or kind not in _COMPONENTS:
        raise Damaged(f"{where}: componentType {short(kind)} is unknown")
    return _COMPONENTS[kind]


def _parts_of(data: bytes) -> tuple[bytes, memoryview | None]:
    """JSON and binary part of a GLB."""
    if len(data) < 20:
        raise Damaged(f"a GLB of {len(data)} bytes is cut off")
    version, length = struct.unpack_from("<II", data, 4)
    if version != 2:
        raise Damaged(f"GLB version {version} is not 2; export it again as glTF 2.0")
    if not 20 <= length <= len(data):
        raise Damaged(f"the GLB is cut off: {len(data)} of {length} bytes are there")
    at, text, binary = 12, None, None
    whole_file = memoryview(data)
    while at + 8 <= length:
        size, kind = struct.unpack_from("<I4s", data, at)
        at += 8
        if at + size > length:
            raise Damaged(f"a part of {size} bytes at byte {at} passes the end of the GLB")
        if kind == b"JSON" and text is None:
            if size > _MOST_JSON:
                raise Damaged(f"{size} bytes of JSON pass the limit of {_MOST_JSON}")
            text = bytes(whole_file[at : at + size])
        elif kind == b"BIN\0" and binary is None:
            binary = whole_file[at : at + size]
        at += size
    if text is None:
        raise Damaged("the GLB has no JSON part")
    return text, binary


def meshopt_bytes(extension: Mapping[str, Any], packed: memoryview, where: str) -> memoryview:
    """Decode the bytes of a buffer view with EXT_meshopt_compression."""
    stride, count = whole(extension, "byteStride", where, 1, 256), whole(extension, "count", where, 1, MOST_ELEMENTS)
    mode, kept = extension.get("mode"), extension.get("filter", "NONE")
    if stride * count > min(MOST_BYTES, _MOST_SWELL * len(packed) + 65536):
        raise Damaged(f"{where}: {len(packed)} compressed bytes claim to hold {stride * count}")
    if mode not in ("ATTRIBUTES", "TRIANGLES", "INDICES"):
        raise Damaged(f"{where}: mode {short(mode)} of EXT_meshopt_compression is unknown")
    if kept not in ("NONE", "OCTAHEDRAL", "QUATERNION", "EXPONENTIAL") or (kept == "QUATERNION" and stride != 8):
        raise Damaged(f"{where}: filter {short(kept)} with byteStride {stride} is unknown")
    if (mode == "ATTRIBUTES" and stride % 4) or (mode != "ATTRIBUTES" and stride not in (2, 4)):
        raise Damaged(f"{where}: byteStride {stride} does not suit mode {mode}")
    try:
        import meshoptimizer
    except ImportError as error:
        raise WorldError(f"{where} is compressed by meshopt: pip install meshoptimizer") from error
    try:
        if mode == "ATTRIBUTES":
            raw = meshoptimizer.decode_vertex_buffer(count, stride, bytes(packed), np.dtype((np.void, stride)))
            decoded = np.frombuffer(raw.tobytes(), np.uint8)
            if kept == "EXPONENTIAL":
                # Undo the filter EXPONENTIAL: 8 bits of exponent over 24 bits of mantissa, both signed.
                word = decoded.view("<i4")
                power, mantissa = word >> 24, (word << 8) >> 8
                values: NDArray[np.uint8] = np.ldexp(mantissa.astype(np.float32), power).astype("<f4").view(np.uint8)
                decoded = values
            elif kept == "QUATERNION":
                decoded = _quaternions(decoded)
        else:
            decode = meshoptimizer.decode_index_buffer if mode == "TRIANGLES" else meshoptimizer.decode_index_sequence
            decoded = np.asarray(decode(count, 4, bytes(packed))).astype("<u2" if stride == 2 else "<u4")
    except (ValueError, RuntimeError, MemoryError) as error:
        raise Damaged(f"{where}: the bytes of EXT_meshopt_compression are damaged ({error})") from error
    # The filter of normals is left: they are not read.
    return memoryview(decoded.tobytes())


def draco_arrays(packed: bytes, ids: Mapping[str, int], where: str) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
    """Decode a primitive with KHR_draco_mesh_compression: triangles (T, 3), and attributes (V, n) by glTF's names."""
    try:
        import DracoPy
    except ImportError as error:
        raise MissingExtraError(f"{where} is compressed by Draco, and", "scan") from error
    try:
        mesh = DracoPy.decode(packed)
        faces = np.asarray(mesh.faces).reshape(-1, 3)
        found = {int(one["unique_id"]): np.asarray(one["data"]) for one in mesh.attributes}
    except Exception as error:  # the package raises types of its own
        raise Damaged(f"{where}: its Draco data are damaged ({' '.join(str(error).split())[:80]})") from error
    if lost := [name for name, number in ids.items() if number not in found]:
        raise Damaged(f"{where}: its Draco data hold no {lost[0]}")
    return faces, {name: found[number].reshape(len(found[number]), -1) for name, number in ids.items()}


def _quaternions(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Undo the filter QUATERNION: three components, and which of four is left out, being the largest."""
    rows = data.view("<i2").reshape(-1, 4).astype(np.int64)
    small = rows[:, :3] / (rows[:, 3:] | 3) / np.sqrt(2.0)
    large = np.sqrt(np.maximum(1.0 - (small * small).sum(1), 0.0))
    place = (rows[:, 3:] & 3) + np.arange(1, 5)
    values = np.empty((len(rows), 4))
    np.put_along_axis(values, place % 4, np.column_stack([small, large]), 1)
    packed: NDArray[np.uint8] = np.rint(values * 32767).astype("<i2").reshape(-1).view(np.uint8)
    return packed
