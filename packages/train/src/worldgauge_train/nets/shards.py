"""Weights in one file, or in several beside an index, as libraries of Hugging Face write them. Read without torch."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

from worldgauge.core.errors import DataError
from worldgauge.core.io import digest_of_file, read_json_object

_SHARD = re.compile(r"-\d{5}-of-\d{5}")


def files_of(path: Path) -> list[Path]:
    """The files that hold tensors: the one that is named, or its shards."""
    if path.exists() or not index_of(path).exists():
        return [path]
    return [path.with_name(name) for name in sorted(set(shards_of(path).values()))]


def digest_of_weights(path: Path) -> str:
    """Digest of the files that hold tensors."""
    digests = [digest_of_file(one) for one in files_of(path)]
    return digests[0] if len(digests) == 1 else sha256("\n".join(digests).encode()).hexdigest()


def index_of(path: Path) -> Path:
    """The index of shards that a file may be replaced by."""
    return path.with_name(f"{path.name}.index.json")


def shards_of(path: Path) -> dict[str, str]:
    """Name of the file of each tensor, as the index tells it."""
    told = read_json_object(index_of(path)).get("weight_map")
    if not isinstance(told, dict) or not told:
        raise DataError(f"{index_of(path)}: no weight_map of tensors and files")
    for file in told.values():
        whole = isinstance(file, str) and file.startswith(path.stem) and file.endswith(path.suffix)
        if not whole or not _SHARD.fullmatch(file[len(path.stem) : -len(path.suffix)]):
            raise DataError(f"{index_of(path)}: {str(file)[:60]!r} is no shard of {path.name}")
    return told
