"""Tensors on disk: safetensors only, checked against what is expected before they are read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from worldgauge.core.errors import DataError
from worldgauge.core.io import dumps, write_file
from worldgauge_train.nets.shards import files_of, index_of, shards_of


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors in one step."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_file(path, safetensors.torch.save(plain))


def save_shards(path: Path, tensors: Mapping[str, Tensor], most_mb: int) -> None:
    """Write tensors to several files beside an index, as libraries of Hugging Face read them."""
    from huggingface_hub import split_torch_state_dict_into_shards

    pattern = f"{path.stem}{{suffix}}{path.suffix}"
    room = most_mb * 2**20 - 2**16  # what stands before the numbers of a file
    split = split_torch_state_dict_into_shards(dict(tensors), filename_pattern=pattern, max_shard_size=room)
    if not split.is_sharded:
        save_tensors(path, tensors)
        return
    for name, names in split.filename_to_tensors.items():
        save_tensors(path.with_name(name), {one: tensors[one] for one in names})
    told = {"metadata": split.metadata, "weight_map": split.tensor_to_filename}
    write_file(index_of(path), dumps(told, indent=2))
    path.unlink(missing_ok=True)


def load_tensors(path: Path, like: Mapping[str, Tensor], part: str = "") -> dict[str, Tensor]:
    """Read tensors of known names, shapes and types."""
    if files_of(path) == [path]:
        return _read(path, like, part)
    held = shards_of(path)
    for name in sorted(held.keys() ^ like.keys()):
        raise DataError(f"{index_of(path)}: tensor '{name}' is {'not known' if name in held else 'missing'}")
    found: dict[str, Tensor] = {}
    for file in files_of(path):
        found |= _read(file, {name: value for name, value in like.items() if held[name] == file.name}, "")
    return found


def _read(path: Path, like: Mapping[str, Tensor], part: str) -> dict[str, Tensor]:
    """Tensors of one file; see `load_tensors`."""
    try:
        with safetensors.safe_open(path, "pt") as file:
            there = {name.removeprefix(part) for name in file.keys() if name.startswith(part)}  # noqa: SIM118
            for name in sorted(there ^ like.keys()):
                raise DataError(f"{path}: tensor '{name}' is {'not known' if name in there else 'missing'}")
            for name, wanted in like.items():
                shape, kind = tuple(file.get_slice(part + name).get_shape()), file.get_slice(part + name).get_dtype()
                if shape != tuple(wanted.shape) or kind != _KINDS[wanted.dtype]:
                    raise DataError(
                        f"{path}: tensor '{name}' is {kind} {shape} in place of {_KINDS[wanted.dtype]} "
                        f"{tuple(wanted.shape)}"
                    )
            found = {name: file.get_tensor(part + name) for name in like}
    except FileNotFoundError:
        raise DataError(f"{path} is missing") from None
    except (OSError, safetensors.SafetensorError) as error:
        raise DataError(f"{path}: {error}") from None
    for name, tensor in found.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise DataError(f"{path}: tensor '{name}' holds values that are not finite")
    return found


_KINDS = {
    torch.float32: "F32",
    torch.float16: "F16",
    torch.float64: "F64",
    torch.int64: "I64",
    torch.uint8: "U8",
    torch.bfloat16: "BF16",
}
