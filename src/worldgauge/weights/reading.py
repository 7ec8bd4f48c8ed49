"""Tensors of a weight file, read without running anything that stands in it, and held to names and shapes.

Nothing is allocated before it is known that the file can hold it: a few bytes cannot ask for all memory.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError
from worldgauge.weights._formats import read_npz, read_safetensors
from worldgauge.weights._torch_format import read_torch
from worldgauge.weights.weight_set import WeightFile

Float32 = NDArray[np.float32]
_SHOWN = 3


def read_tensors(path: Path) -> dict[str, Float32]:
    """Arrays by name of a weight file: .npz, .safetensors, or .pth (which needs the extra 'torch'). Runs no code of it.

    Floating-point tensors of any width, as float32; others, such as counters, are left out.
    Raises DataError for a file that is missing, no such file, or holds more than tensors.
    """
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
    """The tensors that `shapes` names, and no others.

    shapes: by name, None for a side of any length. where: file they are of, for messages.
    Raises DataError for tensors that are missing, of another shape, or hold what is no finite number.
    """
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
    """The bytes of the file `known`, which is a program (TorchScript), to be run as they are and not read again.

    Raises DataError for any other file, and where its digest is not published: a program does what its maker likes.
    """
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
    got = hashlib.sha256(data).hexdigest()
    if got != known.sha256:
        raise DataError(f"{path}: expected sha256 {known.sha256}, got {got}; a program that is not known is not run")
    return data


def _few(names: list[str]) -> str:
    listed = ", ".join(f"'{name}'" for name in names[:_SHOWN])
    return listed + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _sides(shape: tuple[int | None, ...]) -> str:
    return " x ".join("any" if side is None else str(side) for side in shape) or "()"
