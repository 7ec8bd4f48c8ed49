"""What a checkpoint says of itself, read without torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any

from worldgauge.core.errors import DataError
from worldgauge.core.io import loads, read_json_object
from worldgauge_train.nets.shards import files_of
from worldgauge_train.training.log import read_log
from worldgauge_train.training.terms import LICENCE, terms_told
from worldgauge_train.training.validation import COLUMNS, table_of

CONFIG, WEIGHTS, FORMAT = "config.json", "model.safetensors", "worldgauge-trained/1"
MAX_HEADER = 64 * 2**20


def inspected(folder: Path) -> dict[str, Any]:
    """Read what a checkpoint says of itself.

    Args:
        folder: Folder of the checkpoint.

    Returns:
        "config", "tensors" (shape by name), "parameters", and "validation", the rows of the log that have one.

    Raises:
        DataError: There is no checkpoint, or a damaged one.
    """
    config = read_json_object(folder / CONFIG)
    if config.get("format") != FORMAT:
        raise DataError(f"{folder / CONFIG}: no checkpoint of 'worldgauge train' ({FORMAT})")
    files = [one for one in files_of(folder / WEIGHTS) if one.exists()]
    tensors = {name: shape for one in files for name, shape in tensor_shapes(one).items()}
    rows = [row for row in read_log(folder) if "mse_1s" in row]
    found = {
        "config": config,
        "tensors": tensors,
        "parameters": sum(prod(shape) for shape in tensors.values()),
        "validation": rows,
    }
    try:
        list(sentences_of(found))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder / CONFIG}: {error!r}; it is damaged") from None
    return found


def tensor_shapes(path: Path) -> dict[str, list[int]]:
    """Shapes in a safetensors file, from its header alone.

    Args:
        path: The file.

    Raises:
        DataError: It is no such file.
    """
    try:
        with open(path, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            if not 2 <= size <= min(MAX_HEADER, path.stat().st_size - 8):
                raise DataError(f"{path}: a header of {size} bytes does not fit; it is damaged")
            header = loads(file.read(size).decode("utf-8"))
        if not isinstance(header, dict):
            raise ValueError("no object")
        return {
            name: [int(side) for side in one["shape"]] for name, one in sorted(header.items()) if name != "__metadata__"
        }
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: {error}; it is no safetensors file") from None


def sentences_of(found: Mapping[str, Any]) -> Iterator[str]:
    """What a checkpoint says of itself, for a reader.

    Args:
        found: What `inspected` gave.
    """
    config, recipe = found["config"], found["config"].get("recipe", {})
    size = "x".join(map(str, recipe.get("size", [])))
    done = f"{config.get('steps_done', 0)} of {recipe.get('steps')} steps, {config.get('seconds', 0):.0f} s"
    yield f"{config.get('architecture', '?')}, stage {recipe.get('stage')}, frames of {size}: {done}"
    yield f"{found['parameters']} weights in {len(found['tensors'])} tensors"
    for row in config.get("data", []):
        what = f"{row['clips']} clips, {row['frames']} frames, {len(row['scenes'])} scenes"
        more = f", {row['unknown']} clips of unknown scenes" if row.get("unknown") else ""
        yield f"trained on {row['source']} ({row.get('split', 'train')}): {what}{more}; digest {row['digest'][:12]}"
    if config.get(LICENCE):
        yield f"terms of the pictures it learned from: {', '.join(terms_told(config))}"
    for one in config.get("lineage", []):
        yield f"began from a checkpoint of the stage {one['stage']}, weights {one['weights'][:12]}"
    if isinstance(config.get("versions"), dict):
        by = ", ".join(f"{name} {number}" for name, number in config["versions"].items())
        yield f"trained on {config.get('device')} in {config.get('precision')}, by {by}"
    for row in found["validation"]:
        numbers = table_of({name: row.get(name) for name in COLUMNS})
        yield f"after {row['step']} steps: " + ", ".join(f"{name} {text}" for name, text in numbers)
