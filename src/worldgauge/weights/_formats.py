"""Readers of .npz and .safetensors that believe nothing a file says of its size."""

from __future__ import annotations

import json
import math
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError

Float32 = NDArray[np.float32]

MOST_BYTES = 8 << 30
"""Of all tensors of a file, as float32."""
_MOST_HEADER_BYTES = 16 << 20
_MOST_SWELLING = 16
"""Bytes of tensors a byte of file: float16 doubles, packing gains little on weights, and a thousandfold in a bomb."""
_FREE_BYTES = 1 << 20
_SIZES = {
    **{"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1},
    **{"U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1},
}


def held(path: Path, bytes: int) -> None:
    """Raise DataError unless a file as long as `path` can honestly hold tensors of so many bytes."""
    most = min(MOST_BYTES, max(_FREE_BYTES, _MOST_SWELLING * path.stat().st_size))
    if bytes > most:
        raise DataError(f"{path}: says it holds {bytes} bytes of tensors; {most} are the most it may")


def read_safetensors(path: Path) -> dict[str, Float32]:
    """8 bytes header length, JSON header, then the data of all tensors, little-endian, no gaps. Raises DataError."""
    whole = path.stat().st_size
    with path.open("rb") as file:
        start = 8 + int.from_bytes(file.read(8), "little")
        if not 8 < start <= min(whole, 8 + _MOST_HEADER_BYTES):
            raise DataError(f"{path}: no safetensors file, its header would be {start - 8} bytes of {whole}")
        places = _places(path, file.read(start - 8), whole - start)
        held(path, sum(4 * math.prod(shape) for kind, shape, _ in places.values() if "F" in kind))
        tensors = {}
        for name, (kind, shape, offset) in places.items():
            if "F" in kind:
                file.seek(start + offset)
                raw = np.fromfile(file, f"<u{_SIZES[kind]}", math.prod(shape))
                tensors[name] = _float32(raw, kind).reshape(shape)
    return tensors


def _places(path: Path, header: bytes, room: int) -> dict[str, tuple[str, tuple[int, ...], int]]:
    """Kind, shape and offset in the data of every tensor, by name; together all of the data, each byte once."""
    try:
        entries = json.loads(header, object_pairs_hook=_once)
        entries.pop("__metadata__", None)
        places = {name: _place(entry) for name, entry in entries.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"{path}: no safetensors file ({error or type(error).__name__})") from error
    end = 0
    for name, (_, _, start, stop) in sorted(places.items(), key=lambda place: place[1][2:]):
        if start != end or stop > room:
            raise DataError(
                f"{path}: tensor '{name}' says it lies at {start} to {stop}, expected from {end} within {room}"
            )
        end = stop
    if end != room:
        raise DataError(f"{path}: {room - end} bytes are of no tensor")
    return {name: (kind, shape, start) for name, (kind, shape, start, _) in places.items()}


def _place(entry: Any) -> tuple[str, tuple[int, ...], int, int]:
    kind, shape, (start, stop) = entry["dtype"], entry["shape"], entry["data_offsets"]
    if kind not in _SIZES:
        raise ValueError(f"tensors of dtype {str(kind)[:20]!r} are not read")
    if not isinstance(shape, list) or not all(type(side) is int and side >= 0 for side in (*shape, start, stop)):
        raise ValueError("a shape or place is no whole numbers")
    if math.prod(shape) * _SIZES[kind] != stop - start:
        raise ValueError(f"{kind} of shape {shape} is not {stop - start} bytes")
    return kind, tuple(shape), start, stop


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands in its header twice")
    return found


def _float32(raw: NDArray[Any], kind: str) -> Float32:
    """Numbers of the bits `raw`, unsigned integers of the width of `kind`."""
    if kind == "BF16":  # the upper half of a float32
        return (raw.astype(np.uint32) << 16).view(np.float32)
    return raw.view(f"<f{_SIZES[kind]}").astype(np.float32, copy=False)


def read_npz(path: Path) -> dict[str, Float32]:
    """Arrays of a zip of .npy files. Raises DataError."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [one for one in archive.infolist() if one.filename.endswith(".npy")]
            held(path, sum(one.file_size for one in members))
            tensors = {}
            for member in members:
                with archive.open(member) as file:
                    array = _npy(path, member, file)
                if array is not None:
                    tensors[member.filename.removesuffix(".npy")] = array
    except (
        zipfile.BadZipFile,
        zlib.error,
        ValueError,
        TypeError,
        EOFError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise DataError(f"{path}: not a readable weight file ({error})") from error
    return tensors


def _npy(path: Path, member: zipfile.ZipInfo, file: IO[bytes]) -> Float32 | None:
    """One array; None for one that is not of floating-point numbers."""
    version = np.lib.format.read_magic(file)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = header(file)
    if dtype.hasobject:
        raise DataError(f"{path}: '{member.filename}' holds objects, which is more than tensors")
    if math.prod(shape) * dtype.itemsize > member.file_size:
        raise DataError(f"{path}: '{member.filename}' says it is of shape {shape}, and has {member.file_size} bytes")
    if dtype.kind != "f":
        return None
    data = file.read(math.prod(shape) * dtype.itemsize)
    array = np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")
    return array.astype(np.float32)
