"""PLY files: triangles and larger faces, colours of vertices or faces, and `object_id` of faces or vertices.

A colour is read by its declared type: `uchar` to 255, `ushort` to 65535, `float` and `double` to 1. Other whole numbers
must be 0 to 255.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError
from worldgauge.core.io import read_bytes
from worldgauge.worlds.scan._document import MOST_BYTES, MOST_ELEMENTS, Damaged
from worldgauge.worlds.scan.mesh import ScanMaterial, ScanMesh, Up, ours

_TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2",
    "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "float": "f4", "float32": "f4",
    "double": "f8", "float64": "f8",
}  # fmt: skip
_FORMATS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
_MOST_HEADER = 65536
_MOST_CORNERS = 255
_LONGEST_WORD = 48
_END = re.compile(rb"[\r\n]end_header[ \t]*(?:\r\n|\n|\r)")
_COLOURS = ("red", "green", "blue"), ("r", "g", "b"), ("diffuse_red", "diffuse_green", "diffuse_blue")
_UNREAD = re.compile("(?:diffuse_)?(?:red|green|blue)|[rgb]|gr[ae]y|intensity|luminance|colou?r|rgba?|f_dc_[012]", re.I)
"""Names of fields that hold colours when `_COLOURS` are not there."""
_SLACK = 0.002
"""By how much a float may pass 1 by rounding."""


@dataclass
class _Element:
    """A kind of row: its name, how many there are, and their fields (name, type, type of a list's length)."""

    name: str
    count: int
    fields: list[tuple[str, str, str | None]] = field(default_factory=list)


def read_ply(path: Path, *, up: Up = "z") -> ScanMesh:
    """Read a PLY file. Faces with more corners are cut into fans; instances are the numbers `object_id`."""
    try:
        return _mesh(read_bytes(path, MOST_BYTES), up)
    except Damaged as error:
        raise DataError(f"{path}: {error}") from error


def _mesh(data: bytes, up: Up) -> ScanMesh:
    data = data.removeprefix(b"\xef\xbb\xbf")
    order, elements, at, notes = _header(data)
    rows: dict[str, dict[str, Any]] = {}
    source = _Words(data[at:]) if order == "" else _Bytes(data, at, order)
    for element in elements:
        rows[element.name] = source.rows(element) if element.fields and element.count else {}
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
    types = {element.name: {name: kind for name, kind, _ in element.fields} for element in elements}
    colours, of_faces = (_colours(one, types[name], name, notes) for one, name in ((vertex, "vertex"), (face, "face")))
    if colours is None and of_faces is None:
        named = dict.fromkeys(one for some in types.values() for one in some if _UNREAD.fullmatch(one))
        if named:
            notes.append(f"colours in the fields {', '.join(named)} are left out: write red, green and blue")
    elif colours is not None and of_faces is not None:
        notes.append("colours of faces are left out: its vertices have colours")
    elif of_faces is not None:
        # A vertex for each colour around it: an old one << 32 with the colour.
        packed = np.ascontiguousarray(of_faces[own]).view("<u4").astype(np.int64)
        chosen, triangles = np.unique(np.where(triangles < 0, -1, triangles << 32 | packed), return_inverse=True)
        missing = int(chosen[0] < 0)
        chosen, triangles = chosen[missing:], triangles.reshape(-1, 3) - missing
        places, colours = places[chosen >> 32], chosen.astype("<u4").view(np.uint8).reshape(-1, 4)
    return ScanMesh(
        ours(places, up),
        triangles.astype(np.int32),
        np.zeros((len(places), 2)),
        colours,
        np.zeros(len(triangles), np.int32),
        instance,
        np.zeros(len(triangles), np.uint16),
        (ScanMaterial(),),
        (),
        notes=tuple(notes),
    )


class _Lists:
    """Lists of whole numbers, one per row; `length` (N,) is that of each."""

    def __init__(self, length: NDArray[np.int64], values: NDArray[Any]) -> None:
        self.length = length
        self.values = np.clip(np.nan_to_num(values.astype(np.float64), nan=-1.0), -1, 2**31).astype(np.int64)


class _Rows(ABC):
    """Numbers of a file, taken one after the other."""

    @abstractmethod
    def rows(self, element: _Element) -> dict[str, Any]:
        """Columns of an element by name; the next element begins after them."""

    @abstractmethod
    def take(self, count: int, kind: str, where: str) -> list[Any]:
        """The next `count` numbers of a type."""

    def one_by_one(self, element: _Element, where: str) -> dict[str, Any]:
        """Rows whose lists differ in length."""
        columns: dict[str, list[Any]] = {name: [] for name, _, _ in element.fields}
        lengths: dict[str, list[int]] = {name: [] for name, _, length in element.fields if length is not None}
        for _ in range(element.count):
            for name, kind, length in element.fields:
                count = 1
                if length is not None:
                    count = _list_size(self.take(1, length, where)[0], where)
                    lengths[name].append(count)
                columns[name] += self.take(count, kind, where)
        found: dict[str, Any] = {name: np.array(values, np.float64) for name, values in columns.items()}
        return found | {name: _Lists(np.array(counts, np.int64), found[name]) for name, counts in lengths.items()}


class _Words(_Rows):
    """Rows of text."""

    def __init__(self, data: bytes) -> None:
        self._words, self._at = data.split(), 0

    def rows(self, element: _Element) -> dict[str, Any]:
        """See `_Rows`."""
        where, width = f"element '{element.name[:20]}'", len(element.fields)
        try:
            if any(length for _, _, length in element.fields):
                return self.one_by_one(element, where)
            taken = self._next(element.count * width, where)
            if max(map(len, taken), default=0) > _LONGEST_WORD:
                raise Damaged(f"{where}: a word of more than {_LONGEST_WORD} letters is no number")
            table = np.array(taken, f"S{_LONGEST_WORD}").astype(np.float64).reshape(-1, width)
            return {name: table[:, n] for n, (name, _, _) in enumerate(element.fields)}
        except (ValueError, OverflowError) as error:
            raise Damaged(f"{where}: a word that is no number") from error

    def take(self, count: int, kind: str, where: str) -> list[Any]:
        """See `_Rows`."""
        return [float(word) for word in self._next(count, where)]

    def _next(self, count: int, where: str) -> list[bytes]:
        if count > len(self._words) - self._at:
            raise Damaged(f"{where}: the file ends before its last row")
        self._at += count
        return self._words[self._at - count : self._at]


class _Bytes(_Rows):
    """Binary rows in the byte order "<" or ">"."""

    def __init__(self, data: bytes, at: int, order: str) -> None:
        self._data, self._at, self._order = data, at, order

    def rows(self, element: _Element) -> dict[str, Any]:
        """See `_Rows`. Nearly always all rows have equally long lists; then they are one table."""
        where, start, spread = f"element '{element.name[:20]}'", self._at, list[Any]()
        for n, (_, value, length) in enumerate(element.fields):
            shape: tuple[int, ...] = ()
            if length is not None:
                size = _list_size(self.take(1, length, where)[0], where)
                spread.append((f"n{n}", self._order + length))
                shape = (size,)
            spread.append((f"f{n}", self._order + value, shape))
            self._at = start + np.dtype(spread).itemsize
        self._at, kind = start, np.dtype(spread)
        if element.count * kind.itemsize <= len(self._data) - start:
            table = np.frombuffer(self._data, kind, element.count, start)
            sizes = {n: kind[f"f{n}"].shape[0] for n, (_, _, length) in enumerate(element.fields) if length}
            if all((table[f"n{n}"] == size).all() for n, size in sizes.items()):
                self._at += element.count * kind.itemsize
                return {
                    name: _Lists(np.full(element.count, sizes[n]), table[f"f{n}"].reshape(-1))
                    if n in sizes
                    else table[f"f{n}"]
                    for n, (name, _, _) in enumerate(element.fields)
                }
        least = sum(np.dtype(length or value).itemsize for _, value, length in element.fields)
        if element.count * least > len(self._data) - start or not any(length for _, _, length in element.fields):
            raise Damaged(f"{where}: {element.count} rows pass the end of the file")
        return self.one_by_one(element, where)

    def take(self, count: int, kind: str, where: str) -> list[Any]:
        """See `_Rows`."""
        size = count * np.dtype(kind).itemsize
        if self._at + size > len(self._data):
            raise Damaged(f"{where}: its rows pass the end of the file")
        self._at += size
        taken: list[Any] = np.frombuffer(self._data, self._order + kind, count, self._at - size).tolist()
        return taken


def _list_size(size: float, where: str) -> int:
    if not 0 <= size <= _MOST_CORNERS or size != int(size):
        raise Damaged(f"{where}: a list of {size:g} numbers")
    return int(size)


def _header(data: bytes) -> tuple[str, list[_Element], int, list[str]]:
    """Byte order, elements, where the rows begin, and notes."""
    end = _END.search(data, 0, _MOST_HEADER)
    if not data.startswith(b"ply") or end is None:
        raise Damaged("this is no PLY file, or its header is cut off")
    notes: list[str] = []
    order: str | None = None
    elements: list[_Element] = []
    for line in re.split(r"[\r\n]+", data[: end.start()].decode("latin-1"))[1:]:
        words = line.split()
        if not words or words[0] in ("comment", "obj_info"):
            if words[1:2] == ["TextureFile"]:
                notes.append("textures of PLY files are left out: export the mesh as GLB to keep them")
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
    return order, elements, end.end(), notes


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


def _colours(rows: dict[str, Any], types: dict[str, str], name: str, notes: list[str]) -> NDArray[np.uint8] | None:
    """RGBA (N, 4) of the rows of an element by the types in the header; None where they have no colours."""
    names = next((some for some in _COLOURS if {*some} <= rows.keys()), None)
    if names is None:
        return None
    colours = np.full((len(rows[names[0]]), 4), 255, np.uint8)
    for column, one in enumerate(names):
        most, values = _white(types[one]), np.asarray(rows[one], np.float64)
        slack = _SLACK if most == 1 else 0.0
        if not ((values >= -slack) & (values <= most + slack)).all():
            worst = values[np.argmax(np.where(np.isfinite(values), np.abs(values), np.inf))]
            raise Damaged(
                f"{name}: '{one}' is {worst:g}; colours of its type {np.dtype(types[one]).name} are 0 to {most}; write "
                "them as uchar, 0 to 255"
            )
        colours[:, column] = np.clip(values * (255 / most) + 0.5, 0, 255).astype(np.uint8)
    if types[names[0]] == "u2" and 0 < max(np.max(rows[one]) for one in names) <= 255:
        notes.append("colours of type ushort are 0 to 65535, and none here passes 255: all are nearly black")
    opacity = next((one for one in ("alpha", "a", "diffuse_alpha") if one in rows), None)
    if opacity is not None and np.min(rows[opacity]) < _white(types[opacity]):
        notes.append("opacity of colours is left out: all triangles are opaque")
    return colours


def _white(kind: str) -> int:
    """Largest value of a colour of a declared type."""
    return 1 if kind[0] == "f" else 65535 if kind == "u2" else 255
