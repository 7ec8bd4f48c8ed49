"""Files: read within limits, written whole. One way each for bytes, text, JSON, names and folders."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from worldgauge.core.errors import DataError, UsageError

MAX_TEXT_BYTES = 16 * 2**20
"""Of a metadata file, a path or a side-car; published ones have some 10 kB."""
MAX_CAPTION_BYTES = 64 * 2**10

_PART = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
_SPECIAL = {"+inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def write_file(path: Path, data: bytes | str | Iterable[bytes]) -> None:
    """Put a file in place in one step; text is written as UTF-8. Raises DataError as `atomic_file`."""
    parts = [data.encode()] if isinstance(data, str) else [data] if isinstance(data, bytes) else data
    with atomic_file(path) as file:
        for part in parts:
            file.write(part)


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which is in place under `path` after the block; folders on the way are made.

    Nothing happens to an old one when the block raises. For one writer of a path at a time.
    Raises DataError when the system refuses, such as on a full disk; the refusal is its cause.
    """
    part = path.with_name(f".{path.name}.part")  # one name, so that what a killed process left is overwritten
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(part, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror or error})") from error


def check_inside(path: Path, root: Path) -> Path:
    """`path` when it lies in `root` also after its links are followed. Raises DataError else."""
    if not path.resolve().is_relative_to(root.resolve()):
        raise DataError(f"{path}: a link that leads out of {root}; put the file itself there")
    return path


def list_folder(folder: Path) -> list[Path]:
    """What lies in a folder, in natural order, without hidden files. Raises DataError when it cannot be listed."""
    try:
        paths = (path for path in folder.iterdir() if path.name[0] != ".")
        return sorted(paths, key=lambda path: natural_key(path.name))
    except OSError as error:
        raise DataError(f"{folder}: cannot be listed ({error.strerror})") from error


def natural_key(name: str) -> tuple[tuple[int, str], ...]:
    """Sort key that puts data-9 before data-10."""
    parts: list[str] = re.split(r"(\d{1,18})", name)
    return tuple((int(part), "") if i % 2 else (-1, part) for i, part in enumerate(parts))


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """A new folder to write in, which takes the place of `folder` at the end; nothing is left of it after an error.

    Raises DataError when it cannot be written, such as on a full disk.
    """
    part, old = (folder.with_name(f".{folder.name}.{end}") for end in ("part", "old"))
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        yield part
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)
            os.replace(folder, old)
        os.replace(part, folder)
    except OSError as error:
        raise DataError(f"{folder}: cannot be written ({error.strerror or error})") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def check_name(part: str, where: str) -> str:
    """`part` when it can be one component of an id and a path, else DataError."""
    if not _PART.fullmatch(part) or len(part) > 128:
        raise DataError(
            f"{where}: the name {part!r} needs letters, digits, '.', '_' or '-', and no leading '.'; rename it"
        )
    return part


def read_bytes(path: Path, limit: int) -> bytes:
    """The whole file, refused before reading when it passes the limit. Raises DataError."""
    try:
        size = path.stat().st_size
        if size > limit:
            raise DataError(f"{path}: {size} bytes pass the limit of {limit}")
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error


def digest_of(data: bytes | str) -> str:
    """SHA-256, hexadecimal, of bytes, or of a text in UTF-8."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def digest_of_file(path: Path) -> str:
    """SHA-256, hexadecimal, of a file of any size. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_text(path: Path, limit: int = MAX_TEXT_BYTES) -> str:
    """A UTF-8 file, refused before reading when it passes the limit; a byte order mark is left out."""
    try:
        return read_bytes(path, limit).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text (byte {error.start})") from error


def read_caption(path: Path) -> str:
    """The words of a UTF-8 file, without the white space around them."""
    return read_text(path, MAX_CAPTION_BYTES).strip()


def read_json_object(path: Path) -> dict[str, Any]:
    """The object of a JSON file. Raises DataError when it is none, or not strict JSON."""
    content = parse_json(read_text(path).encode(), str(path))
    if not isinstance(content, dict):
        raise DataError(f"{path}: expected an object of metadata")
    return content


def parse_json(data: bytes, where: str) -> Any:
    """Strict JSON: no NaN or infinity, no nesting beyond what the parser's stack holds."""

    try:
        return json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not valid JSON ({error}); write or download it again") from error


def dumps(value: Any, indent: int | None = None) -> str:
    """Strict JSON with sorted keys, on one line unless `indent` is given.

    Infinities are stored as {"value": null, "special": "+inf"}. Raises UsageError naming the place
    of anything that is not a JSON value or a numpy number.
    """
    return json.dumps(_to_json(value, "value"), allow_nan=False, sort_keys=True, indent=indent)


def loads(text: str) -> Any:
    """What `dumps` wrote. Raises ValueError on anything that is not strict JSON."""
    return json.loads(text, object_hook=_special_value, parse_constant=_refuse_constant)


def _to_json(value: Any, where: str) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.generic):
        return _to_json(value.item(), where)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        return {"value": None, "special": "nan" if math.isnan(value) else "+inf" if value > 0 else "-inf"}
    if isinstance(value, Mapping):
        return {_key(key, where): _to_json(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_json(item, f"{where}[{index}]") for index, item in enumerate(value)]
    raise UsageError(f"{where} is a {type(value).__name__}, which JSON cannot hold; give plain numbers, text or lists")


def _key(key: Any, where: str) -> str:
    if not isinstance(key, str):
        raise UsageError(f"{where} has the key {key!r}; JSON takes only text")
    return key


def _special_value(entry: dict[str, Any]) -> Any:
    if len(entry) == 2 and entry.get("value", 0) is None and entry.get("special") in _SPECIAL:
        return _SPECIAL[entry["special"]]
    return entry


def _refuse_constant(constant: str) -> Any:
    raise ValueError(f"'{constant}' is not JSON")
