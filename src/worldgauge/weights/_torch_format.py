"""Reader of torch's own files: state dicts, of which nothing but tensors is taken."""

from __future__ import annotations

import importlib
import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, MissingExtraError
from worldgauge.weights._formats import held

_WRAPPERS = ("params", "state_dict", "model")
"""Names under which training code keeps the state dict, alone in its file."""


def read_torch(path: Path) -> dict[str, NDArray[np.float32]]:
    """Tensors of a state dict, in torch's zip or its older format. Raises MissingExtraError, DataError."""
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
    held(path, sum(4 * value.numel() for value in floating.values()))
    try:
        return {name: value.to(torch.float32).contiguous().numpy() for name, value in floating.items()}
    except (TypeError, RuntimeError, NotImplementedError) as error:
        raise DataError(f"{path}: holds tensors that are no plain arrays ({_first_line(error)})") from error


def _check_archive(path: Path) -> None:
    """Raise DataError for a zip that unpacks to more than it is, and for a program."""
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
    held(path, sum(one.file_size for one in members))


def _why(error: Exception) -> str:
    """What the file asked for, where torch says so; never torch's advice to read it without care."""
    if asked := re.search(r"(?:GLOBAL|global|class) `?([\w.]+\.\w+)", str(error)):
        return f"it asks for {asked[1]}"
    return "torch refuses it" if "weights_only" in str(error) else _first_line(error)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
