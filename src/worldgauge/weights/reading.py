"""Tensors of a weight file, read without running anything that stands in it."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from worldgauge.errors import DataError, MissingExtraError

Float32 = NDArray[np.float32]


def read_tensors(path: Path) -> dict[str, Float32]:
    """Arrays by name of a weight file: .npz, .safetensors, or .pth (which needs the extra 'torch'). Runs no code of it.

    Raises DataError for a file that is missing or no such file.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such weight file")
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files}
        if path.suffix == ".safetensors":
            return _read_safetensors(path)
    except (ValueError, KeyError, OSError, TypeError) as error:
        raise DataError(f"{path}: not a readable weight file ({error})") from error
    if path.suffix in (".pth", ".pt"):
        try:
            torch = importlib.import_module("torch")
        except ImportError:
            raise MissingExtraError(f"reading {path.name}", "torch") from None
        try:
            # weights_only: tensors are read, nothing in the file is executed.
            state = torch.load(path, map_location="cpu", weights_only=True)
            return {name: tensor.numpy() for name, tensor in state.items()}
        except Exception as error:
            raise DataError(f"{path}: not a file of tensors ({error})") from error
    raise DataError(f"{path}: weights come as .npz, .safetensors or .pth")


def _read_safetensors(path: Path) -> dict[str, Float32]:
    """Float32 tensors of the format: 8 bytes header length, JSON header, raw little-endian data."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    body = data[8 + size :]
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, stop = entry["data_offsets"]
            tensors[name] = np.frombuffer(body[start:stop], "<f4").reshape(entry["shape"])
    return tensors
