"""PLY files: triangles and larger faces, colours of vertices, and `object_id` of faces or vertices."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError
from worldgauge.core.io import read_bytes
from worldgauge.worlds.scan.mesh import Material, Mesh, Up, ours
from worldgauge.worlds.scan.readers._document import MOST_BYTES, MOST_ELEMENTS, Damaged

_TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2",
    "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "float": "f4", "float32": "f4",
    "double": "f8", "float64": "f8",
}  # fmt: skip
_FORMATS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
_MOST_HEADER = 65536
_MOST_CORNERS = 255


@dataclass
class _Element:
    """A kind of row: its name, how many there are, and their fields (name, type, type of a list's length)."""

    name: str
    count: int
    fields: list[tuple[str, str, str | None]] = field(default_factory=list)


def read_ply(path: Path, *, up: Up = "z") -> Mesh:
    """Read a PLY file.

    Args:
        path: The file.
        up: The axis that points up in it.

    Returns:
        Its triangles in our frame; faces with more corners are cut into fans. Instances are the numbers `object_id`.

    Raises:
        DataError: The file is damaged or cannot be read; the message names the part.
    """
    try:
        return _mesh(read_bytes(path, MOST_BYTES), up)
    except Damaged as error:
        raise DataError(f"{path}: {error}") from error


def _mesh(data: bytes, up: Up) -> Mesh:
    order, elements, at = _header(data)
    rows: dict[str, dict[str, Any]] = {}
    words = _Words(data[at:].split()) if order == "" else None
    for element in elements:
        if words is not None:
            rows[element.name] = _text_rows(words, element)
        else:
            rows[element.name], at = _binary_rows(data, at, element, order)
    vertex, face = rows.get("vertex"), rows.get("face")
    if vertex is None or any(axis not in vertex for axis in "xyz"):
        raise Damaged("it has no vertices with x, y and z")
    corners = None if face is None else face.get("vertex_indices", face.get("vertex_index"))
    if face is None or not isinstance(corners, _Lists):
        raise Damaged("it has no faces")
    places = np.stack([vertex[axis].astype(np.float64) for axis in "xyz"], -1)
    triangles, own = _fans(corners)
    if not len(triangles):
        raise Damaged("it holds no triangles")
    triangles = np.where((triangles < 0) | (triangles >= len(places)), -1, triangles)
    instance = _instances(face, vertex, triangles, own)
    return Mesh(
        ours(places, up),
        triangles.astype(np.int32),
        np.zeros((len(places), 2)),
        _colours(vertex),
        np.zeros(len(triangles), np.int32),
        instance,
        np.zeros(len(triangles), np.uint16),
        (Material(),),
        (),
    )


class _Lists:
    """Lists of whole numbers, one a row.

    Attributes:
        length: (N,) how many each row has.
        values: All numbers, row by row.
    """

    def __init__(self, length: NDArray[np.int64], values: NDArray[np.int64]) -> None:
        self.length, self.values = length, values


class _Words:
    """Words of a text, taken one after the other."""

    def __init__(self, words: list[bytes]) -> None:
        self._words, self._at = words, 0

    def take(self, count: int, where: str) -> list[bytes]:
        """The next `count` words."""
        if count > len(self._words) - self._at:
            raise Damaged(f"{where}: the file ends before its last row")
        self._at += count
        return self._words[self._at - count : self._at]


def _header(data: bytes) -> tuple[str, list[_Element], int]:
    """Byte order, elements, and where the rows begin."""
    head = data[:_MOST_HEADER]
    end = head.find(b"end_header")
    stop = head.find(b"\n", end)
    if not head.startswith(b"ply") or end < 0 or stop < 0:
        raise Damaged("this is no PLY file, or its header is cut off")
    order: str | None = None
    elements: list[_Element] = []
    for line in head[:end].decode("latin-1").splitlines()[1:]:
        words = line.split()
        if not words or words[0] in ("comment", "obj_info"):
            continue
        if words[0] == "format" and len(words) > 1 and words[1] in _FORMATS:
            order = _FORMATS[words[1]]
        elif words[0] == "element" and len(words) == 3 and words[2].isdecimal() and len(words[2]) < 12:
            if int(words[2]) > MOST_ELEMENTS:
                raise Damaged(f"header: {words[2]} rows of '{words[1][:20]}' pass the limit of {MOST_ELEMENTS}")
            elements.append(_Element(words[1], int(words[2])))
        elif words[0] == "property" and elements and len(words) == 3 and words[1] in _TYPES:
            elements[-1].fields.append((words[2], _TYPES[words[1]], None))
        elif words[:2] == ["property", "list"] and elements and len(words) == 5 and {*words[2:4]} <= _TYPES.keys():
            elements[-1].fields.append((words[4], _TYPES[words[3]], _TYPES[words[2]]))
        else:
            raise Damaged(f"header: the line '{line[:60]}' is not understood")
    if order is None:
        raise Damaged("header: it names no format")
    return order, elements, stop + 1


def _binary_rows(data: bytes, at: int, element: _Element, order: str) -> tuple[dict[str, Any], int]:
    where, lists = f"element '{element.name[:20]}'", [one for one in element.fields if one[2] is not None]
    if not element.fields or not element.count:
        return {}, at
    if not lists:
        kind = np.dtype([(f"f{n}", order + one[1]) for n, one in enumerate(element.fields)])
        if element.count * kind.itemsize > len(data) - at:
            raise Damaged(f"{where}: {element.count} rows pass the end of the file")
        table = np.frombuffer(data, kind, element.count, at)
        return {one[0]: table[f"f{n}"] for n, one in enumerate(element.fields)}, at + element.count * kind.itemsize
    if len(lists) > 1:
        raise Damaged(f"{where}: rows with several lists are not read")
    # Nearly always all rows have equally long lists; then they are one table.
    kind_of_length = np.dtype(order + str(lists[0][2]))
    before = sum(np.dtype(one[1]).itemsize for one in element.fields[: element.fields.index(lists[0])])
    if at + before + kind_of_length.itemsize > len(data):
        raise Damaged(f"{where}: its rows pass the end of the file")
    size = int(np.frombuffer(data, kind_of_length, 1, at + before)[0])
    if 0 < size <= _MOST_CORNERS:
        spread: list[Any] = []
        for n, (_, value, length) in enumerate(element.fields):
            if length is not None:
                spread.append(("length", order + length))
            spread.append((f"f{n}", order + value, (size,)) if length is not None else (f"f{n}", order + value))
        kind = np.dtype(spread)
        if element.count * kind.itemsize <= len(data) - at:
            table = np.frombuffer(data, kind, element.count, at)
            if (table["length"] == size).all():
                found: dict[str, Any] = {one[0]: table[f"f{n}"] for n, one in enumerate(element.fields)}
                held = found[lists[0][0]].astype(np.int64)
                found[lists[0][0]] = _Lists(np.full(element.count, size), held.reshape(-1))
                return found, at + element.count * kind.itemsize
    return _uneven_rows(data, at, element, order)


def _uneven_rows(data: bytes, at: int, element: _Element, order: str) -> tuple[dict[str, Any], int]:
    """Rows whose lists differ in length, one by one."""
    where = f"element '{element.name[:20]}'"
    plain: dict[str, list[Any]] = {name: [] for name, _, length in element.fields if length is None}
    lengths, parts, listed = [], [], ""
    kinds = [
        (name, np.dtype(order + value), None if length is None else np.dtype(order + length))
        for name, value, length in element.fields
    ]
    least = sum((length or value).itemsize for _, value, length in kinds)
    if element.count * least > len(data) - at:
        raise Damaged(f"{where}: {element.count} rows pass the end of the file")
    for _ in range(element.count):
        for name, value, length in kinds:
            count, kind = 1, value
            if length is not None:
                if at + length.itemsize > len(data):
                    raise Damaged(f"{where}: its rows pass the end of the file")
                count = int(np.frombuffer(data, length, 1, at)[0])
                at += length.itemsize
                if not 0 <= count <= _MOST_CORNERS:
                    raise Damaged(f"{where}: a list of {count} numbers")
                lengths.append(count)
                listed = name
            if at + count * kind.itemsize > len(data):
                raise Damaged(f"{where}: its rows pass the end of the file")
            held = np.frombuffer(data, kind, count, at)
            at += count * kind.itemsize
            if length is None:
                plain[name].append(held[0])
            else:
                parts.append(held)
    found: dict[str, Any] = {name: np.array(values) for name, values in plain.items()}
    numbers = np.concatenate(parts) if parts else np.zeros(0)
    found[listed] = _Lists(np.array(lengths, np.int64), np.nan_to_num(numbers.astype(np.float64)).astype(np.int64))
    return found, at


def _text_rows(words: _Words, element: _Element) -> dict[str, Any]:
    where = f"element '{element.name[:20]}'"
    columns: dict[str, list[Any]] = {name: [] for name, _, _ in element.fields}
    if not element.count:
        return {}
    lengths: list[int] = []
    listed = ""
    try:
        if not any(length for _, _, length in element.fields):
            width = len(element.fields)
            table = (
                np.array(words.take(element.count * width, where), "S32").astype(np.float64).reshape(-1, max(width, 1))
            )
            return {name: table[:, n] for n, (name, _, _) in enumerate(element.fields)}
        for _ in range(element.count):
            for name, _, length in element.fields:
                if length is None:
                    columns[name].append(float(words.take(1, where)[0]))
                    continue
                count = int(words.take(1, where)[0])
                if not 0 <= count <= _MOST_CORNERS:
                    raise Damaged(f"{where}: a list of {count} numbers")
                lengths.append(count)
                listed = name
                columns[name] += [int(word) for word in words.take(count, where)]
    except (ValueError, OverflowError) as error:
        raise Damaged(f"{where}: a word that is no number") from error
    found: dict[str, Any] = {name: np.array(values) for name, values in columns.items() if name != listed}
    if sum(lengths) != len(columns.get(listed, [])):
        raise Damaged(f"{where}: rows with several lists are not read")
    numbers = np.array([min(max(one, -1), 2**31 - 1) for one in columns[listed]], np.int64)
    found[listed] = _Lists(np.array(lengths, np.int64), numbers)
    return found


def _fans(corners: _Lists) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Triangles (T, 3) of faces, and the face of each."""
    count = np.maximum(corners.length - 2, 0)
    if count.sum() > MOST_ELEMENTS // 3:
        raise Damaged(f"its faces are more than {MOST_ELEMENTS // 3} triangles")
    own = np.repeat(np.arange(len(count)), count)
    first = np.cumsum(corners.length) - corners.length
    step = np.arange(len(own)) - np.repeat(np.cumsum(count) - count, count)
    start = first[own]
    values = corners.values
    return np.stack([values[start], values[start + step + 1], values[start + step + 2]], -1).reshape(-1, 3), own


def _instances(
    face: dict[str, Any], vertex: dict[str, Any], triangles: NDArray[np.int64], own: NDArray[np.int64]
) -> NDArray[np.uint16]:
    """Numbers of things: of the face, or of its first corner."""
    if "object_id" in face:
        numbers = np.asarray(face["object_id"])[own]
    elif "object_id" in vertex:
        numbers = np.asarray(vertex["object_id"])[np.maximum(triangles[:, 0], 0)]
    else:
        return np.zeros(len(triangles), np.uint16)
    numbers = np.nan_to_num(numbers.astype(np.float64), nan=0.0, posinf=2e9, neginf=-1.0)
    numbers = np.where(numbers < 0, 0, numbers)
    if numbers.max() > 65535:
        raise Damaged(f"object_id {int(numbers.max())} is larger than 65535")
    return numbers.astype(np.uint16)


def _colours(vertex: dict[str, Any]) -> NDArray[np.uint8] | None:
    names = next((some for some in (("red", "green", "blue"), ("r", "g", "b")) if {*some} <= vertex.keys()), None)
    if names is None:
        return None
    values = [np.asarray(vertex[name]) for name in names]
    scale = 255.0 if values[0].dtype.kind == "f" and np.nanmax(values[0], initial=0.0) <= 1.0 else 1.0
    held = np.nan_to_num(np.stack([one.astype(np.float64) for one in values], -1)) * scale
    colours = np.full((len(held), 4), 255, np.uint8)
    colours[:, :3] = np.clip(held + 0.5 * (scale != 1.0), 0, 255).astype(np.uint8)
    return colours
