"""Reads tensors of a weight file without running any code in it, and checks their names and shapes.

Nothing is allocated before it is certain that the file can hold it, so a few bytes cannot claim all memory.
"""

from __future__ import annotations

import difflib
import importlib
import json
import math
import re
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, MissingExtraError
from worldgauge.core.io import digest_of, read_header
from worldgauge.weights.catalogue import WeightFile

Float32 = NDArray[np.float32]
_SHOWN = 3


def read_tensors(path: Path) -> dict[str, Float32]:
    """Read float tensors by name, as float32: .npz, .safetensors or .pth (extra 'torch'). No code is run."""
    if not path.is_file():
        raise DataError(f"{path}: no such weight file")
    readers = {".npz": read_npz, ".safetensors": read_safetensors, ".pth": read_torch, ".pt": read_torch}
    if path.suffix not in readers:
        raise DataError(f"{path}: weights come as .npz, .safetensors or .pth")
    try:
        return readers[path.suffix](path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error


def expect(
    tensors: Mapping[str, Float32], shapes: Mapping[str, tuple[int | None, ...]], where: str | Path
) -> dict[str, Float32]:
    """Check tensors for names and shapes."""
    missing = [name for name in shapes if name not in tensors]
    if missing:
        near = difflib.get_close_matches(missing[0], tensors, n=1)
        hint = f" (there is '{near[0]}')" if near else f" (there are {_few(list(tensors))})" if tensors else ""
        raise DataError(f"{where}: not these weights, it lacks {_few(missing)}{hint}")
    for name, shape in shapes.items():
        got = tensors[name].shape
        if len(got) != len(shape) or any(due not in (None, side) for due, side in zip(shape, got, strict=True)):
            raise DataError(f"{where}: not these weights, '{name}' is of shape {_sides(got)}, not {_sides(shape)}")
    for name in shapes:
        if not np.isfinite(tensors[name]).all():
            raise DataError(f"{where}: '{name}' holds numbers that are not finite")
    return {name: tensors[name] for name in shapes}


def known_program(path: Path, known: WeightFile) -> bytes:
    """Bytes of a file that is a program (TorchScript), to be run as they are, without reading the file again."""
    if not known.published:
        raise DataError(f"{path}: is a program, and the digest of the one that may be run is not known; not run")
    if not path.is_file():
        raise DataError(f"{path}: no such weight file")
    size = path.stat().st_size
    if known.bytes is not None and size != known.bytes:
        raise DataError(f"{path}: expected {known.bytes} bytes, got {size}; a program that is not known is not run")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    got = digest_of(data)
    if got != known.sha256:
        raise DataError(f"{path}: expected sha256 {known.sha256}, got {got}; a program that is not known is not run")
    return data


def _few(names: list[str]) -> str:
    listed = ", ".join(f"'{name}'" for name in names[:_SHOWN])
    return listed + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _sides(shape: tuple[int | None, ...]) -> str:
    return " x ".join("any" if side is None else str(side) for side in shape) or "()"


MOST_BYTES = 8 << 30
"""Largest size of all tensors of a file, as float32."""
_MOST_HEADER_BYTES = 16 << 20
_MOST_SWELLING = 16
"""Most tensor bytes per file byte: float16 doubles, compression gains little on weights, a bomb a thousandfold."""
_FREE_BYTES = 1 << 20
_SIZES = {
    **{"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1},
    **{"U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1},
}


def check_size(path: Path, bytes: int) -> None:
    """Check that a file is long enough to hold its tensors."""
    most = min(MOST_BYTES, max(_FREE_BYTES, _MOST_SWELLING * path.stat().st_size))
    if bytes > most:
        raise DataError(f"{path}: says it holds {bytes} bytes of tensors; {most} are the most it may")


def read_safetensors(path: Path) -> dict[str, Float32]:
    """Read tensors by name, as float32: 8 bytes header length, JSON header, data in little-endian without gaps."""
    whole = path.stat().st_size
    with path.open("rb") as file:
        start = 8 + int.from_bytes(file.read(8), "little")
        if not 8 < start <= min(whole, 8 + _MOST_HEADER_BYTES):
            raise DataError(f"{path}: no safetensors file, its header would be {start - 8} bytes of {whole}")
        places = _places(path, file.read(start - 8), whole - start)
        check_size(path, sum(4 * math.prod(shape) for kind, shape, _ in places.values() if "F" in kind))
        tensors = {}
        for name, (kind, shape, offset) in places.items():
            if "F" in kind:
                file.seek(start + offset)
                raw = np.fromfile(file, f"<u{_SIZES[kind]}", math.prod(shape))
                # BF16 is the upper half of a float32.
                bits = raw.astype(np.uint32) << 16 if kind == "BF16" else raw
                tensors[name] = bits.view(f"<f{bits.itemsize}").astype(np.float32, copy=False).reshape(shape)
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


def read_npz(path: Path) -> dict[str, Float32]:
    """Read the arrays of a zip of .npy files. Returns arrays by name, as float32."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [one for one in archive.infolist() if one.filename.endswith(".npy")]
            check_size(path, sum(one.file_size for one in members))
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
    shape, fortran, dtype = read_header(file, version, member.filename)
    if dtype.hasobject:
        raise DataError(f"{path}: '{member.filename}' holds objects, which is more than tensors")
    if math.prod(shape) * dtype.itemsize > member.file_size:
        raise DataError(f"{path}: '{member.filename}' says it is of shape {shape}, and has {member.file_size} bytes")
    if dtype.kind != "f":
        return None
    data = file.read(math.prod(shape) * dtype.itemsize)
    array = np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")
    return array.astype(np.float32)


_WRAPPERS = ("params", "state_dict", "model")
"""Names under which training code keeps the state dict, alone in its file."""


def read_torch(path: Path) -> dict[str, NDArray[np.float32]]:
    """Read a state dict in torch's zip format or its older format. Returns tensors by name, as float32."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        raise MissingExtraError(f"reading {path.name}", "torch") from None
    _check_archive(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of old formats: whether they can be read is said below
            # weights_only: tensors are read, nothing in the file is executed.
            state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # of many kinds
        raise DataError(f"{path}: holds more than tensors, or none, and is not read ({_why(error)})") from error
    if isinstance(state, Mapping) and len(state) == 1 and isinstance(inner := next(iter(state.values())), Mapping):
        state = inner if next(iter(state)) in _WRAPPERS else state
    if not isinstance(state, Mapping):
        raise DataError(f"{path}: holds a {type(state).__name__}, not tensors by name")
    for name, value in state.items():
        if not isinstance(name, str) or not isinstance(value, torch.Tensor):
            raise DataError(f"{path}: holds more than tensors: '{str(name)[:80]}' is a {type(value).__name__}")
    floating = {name: value.detach() for name, value in state.items() if value.is_floating_point()}
    # A view of a few numbers can say that it is of any size.
    check_size(path, sum(4 * value.numel() for value in floating.values()))
    try:
        return {name: value.to(torch.float32).contiguous().numpy() for name, value in floating.items()}
    except (TypeError, RuntimeError, NotImplementedError) as error:
        raise DataError(f"{path}: holds tensors that are no plain arrays ({_first_line(error)})") from error


def _check_archive(path: Path) -> None:
    """Raise DataError for a zip that unpacks to far more than its size, and for a program."""
    if not zipfile.is_zipfile(path):
        return
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise DataError(f"{path}: not a readable weight file ({error})") from error
    if any(one.filename.split("/", 1)[-1].startswith("code/") for one in members):
        raise DataError(f"{path}: is a program (TorchScript), not tensors, and is not read")
    if any(one.compress_type != zipfile.ZIP_STORED for one in members):
        raise DataError(f"{path}: is packed, which torch's own files never are")
    check_size(path, sum(one.file_size for one in members))


def _why(error: Exception) -> str:
    """What the file requested, when torch reports it; torch's advice to read it without checks is left out."""
    if asked := re.search(r"(?:GLOBAL|global|class) `?([\w.]+\.\w+)", str(error)):
        return f"it asks for {asked[1]}"
    return "torch refuses it" if "weights_only" in str(error) else _first_line(error)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
