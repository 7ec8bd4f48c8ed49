"""The folder of a brought pipeline: which kind it is, its digest, and how it is loaded. Only safetensors, no code."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path
from typing import Any

import torch

from worldgauge.core.errors import DataError, MissingExtraError, UsageError
from worldgauge.core.io import digest_of_file, read_json_object
from worldgauge_train.nets.brought import Brought, kinds

INDEX = "model_index.json"
_KEPT = (".json", ".safetensors", ".txt", ".model")
"""Files of a pipeline that make what it draws."""


def digest_of_pipeline(folder: Path) -> str:
    """SHA-256 over names and contents of all that makes a pipeline; about a second a GB.

    Args:
        folder: Its folder.
    """
    whole = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in _KEPT and path.is_file()):
        whole.update(f"{path.relative_to(folder).as_posix()}\0{digest_of_file(path)}\n".encode())
    return whole.hexdigest()


def kind_of(folder: Path) -> type[Brought]:
    """The kind of the pipeline in a folder.

    Args:
        folder: The folder.

    Raises:
        DataError: It holds no pipeline, or code of its own.
        UsageError: Pipelines of that class are not known here.
    """
    if not (folder / INDEX).is_file():
        raise DataError(f"{folder} holds no {INDEX}, so it is no pipeline of diffusers")
    index = read_json_object(folder / INDEX)
    made = index.get("_class_name")
    found = [kind for kind in (one.load() for one in kinds) if made in kind.classes]
    if not found:
        known = sorted(name for one in kinds for name in one.load().classes)
        raise UsageError(f"{folder} is a {made}; those that can be post-trained are {', '.join(known)}")
    kind = found[0]
    for name, entry in index.items():
        if name.startswith("_") or not isinstance(entry, list) or entry[:1] == [None] or name in kind.parts:
            continue
        if entry[0] not in ("diffusers", "transformers") or any((folder / name).glob("*.py")):
            raise DataError(f"{folder / INDEX}: {name} brings code of its own, which is not run")
    return kind


def open_brought(folder: Path, device: str = "cpu", half: bool = False) -> Brought:
    """Load a pipeline.

    Args:
        folder: Its folder.
        device: Where it runs.
        half: Networks and text encoder in bfloat16; the autoencoder stays in float32.

    Raises:
        MissingExtraError: diffusers or what it needs is not installed.
        DataError: The folder holds no pipeline, or a damaged one.
        UsageError: Pipelines of that class are not known here.
    """
    kind = kind_of(folder)
    try:
        import diffusers
    except ImportError:
        raise MissingExtraError("a pipeline of diffusers", "adapt") from None
    kinds_of_number: Any = {"default": torch.bfloat16, "vae": torch.float32} if half else torch.float32
    try:
        diffusers.utils.logging.disable_progress_bar()
        loaded = getattr(diffusers, kind.classes[read_json_object(folder / INDEX)["_class_name"]])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # `torch_dtype` has a new name in the newest version alone
            pipe = loaded.from_pretrained(
                str(folder), torch_dtype=kinds_of_number, use_safetensors=True, local_files_only=True, **kind.parts
            ).to(device)
    except (AttributeError, ImportError, KeyError, OSError, RuntimeError, TypeError, ValueError) as error:
        raise DataError(f"{folder}: {str(error).strip().splitlines()[0][:300]}") from None
    pipe.set_progress_bar_config(disable=True)
    return kind(pipe)
