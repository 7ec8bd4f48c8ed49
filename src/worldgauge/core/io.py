"""Files: read within limits, written completely or not at all. Helpers for bytes, text, JSON, names and folders."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import shutil
import stat
import time
import tokenize
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from functools import lru_cache, wraps
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, UsageError

T = TypeVar("T")
MAX_TEXT_BYTES = 16 * 2**20
"""Largest metadata file, path or side-car; published ones have about 10 kB."""
MAX_CAPTION_BYTES = 64 * 2**10

_PART = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
_SPECIAL = {"+inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def write_file(path: Path, data: bytes | str | Iterable[bytes]) -> None:
    """Write a file in one step.

    Args:
        path: The file.
        data: Bytes, an iterable of bytes, or text, which is written as UTF-8.

    Raises:
        DataError: The file cannot be written, such as on a full disk.

    Examples:
        >>> from pathlib import Path
        >>> write_file(Path("notes/first.txt"), "2 m ahead")
        >>> Path("notes/first.txt").read_text()
        '2 m ahead'
    """
    parts = [data.encode()] if isinstance(data, str) else [data] if isinstance(data, bytes) else data
    with atomic_file(path) as file:
        for part in parts:
            file.write(part)


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name only after the block succeeds. Use one writer for a path at a time."""
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
    """Check that a path lies in a folder, also after its links are followed."""
    if not _has_no_link(path, root) and not path.resolve().is_relative_to(root.resolve()):
        written, below = (Path(os.path.normpath(one.absolute())) for one in (path, root))
        if written.is_relative_to(below):
            raise DataError(f"{path}: a link that leads out of {root}; put the file itself there")
        raise DataError(f"{path}: leads out of {root}; name a file in that folder")
    return path


def _has_no_link(path: Path, root: Path) -> bool:
    """Whether the path is written as one below the root, and nothing between them is a link; cheaper than following."""
    below, name = os.fspath(root).rstrip("/") + "/", os.fspath(path)
    if not name.startswith(below) or ".." in path.parts:
        return False
    ends = (at for at in range(len(below), len(name) + 1) if name[at : at + 1] in ("/", ""))
    try:
        return not any(stat.S_ISLNK(os.lstat(name[:end]).st_mode) for end in ends)
    except OSError:  # what is not there is no link; the rest is for the slower look
        return False


def list_folder(folder: Path) -> list[Path]:
    """Entries of a folder in natural order, without hidden files."""
    try:
        paths = (path for path in folder.iterdir() if path.name[0] != ".")
        return sorted(paths, key=lambda path: natural_key(path.name))
    except OSError as error:
        raise DataError(f"{folder}: cannot be listed ({error.strerror})") from error


def natural_key(name: str) -> tuple[tuple[Decimal, str], ...]:
    """Sort key that puts data-9 before data-10, and the time stamp 1700000000.25 before 1700000000.3."""
    parts: list[str] = re.split(r"(\d{9,15}\.\d{1,15}|\d{1,18})", name)
    return tuple((Decimal(part), "") if i % 2 else (Decimal(-1), part) for i, part in enumerate(parts))


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Create a new folder that replaces `folder` after the block has finished; after an error nothing is left of it."""
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
    """Check that a name can be one component of an id and of a path."""
    if not _PART.fullmatch(part) or len(part) > 128:
        raise DataError(
            f"{where}: the name {part!r} needs letters, digits, '.', '_' or '-', and no leading '.'; rename it"
        )
    return part


def read_bytes(path: Path, limit: int) -> bytes:
    """Read a whole file, after a check of its size."""
    try:
        size = path.stat().st_size
        if size > limit:
            raise DataError(f"{path}: {size} bytes pass the limit of {limit}")
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error


def digest_of(data: bytes | str) -> str:
    """SHA-256 of bytes, or of a text in UTF-8, in hexadecimal; JSON may hold lone surrogates, which count too."""
    return hashlib.sha256(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data).hexdigest()


Stamp = tuple[int, int, int, int, int]
"""Size, time of the last change of the content and of the file, inode and device: differs wherever the content may."""


def stamp_of(path: Path) -> Stamp | None:
    """The stamp of a file, a key for what is read from it; None for a file that is missing or out of reach."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_dev


def cached_by_stamp(maxsize: int) -> Callable[[Callable[[Path], T]], Callable[[Path], T]]:
    """Cache the last results of a function that reads a file, each while the stamp of its file stays the same."""

    def decorate(read: Callable[[Path], T]) -> Callable[[Path], T]:
        @lru_cache(maxsize=maxsize)
        def held(path: Path, stamp: Stamp | None) -> T:
            return read(path)

        return wraps(read)(lambda path: held(path, stamp_of(path)))

    return decorate


def digest_or_fault(path: Path | None) -> bytes:
    """SHA-256 of a file for a fingerprint; of one that cannot be read the reason, found again where it is opened."""
    if path is None:
        return b"none"
    try:
        return bytes.fromhex(digest_of_file(path))
    except OSError as error:
        return f"unreadable: {error.strerror}".encode()


def digest_of_file(path: Path) -> str:
    """SHA-256 of a file of any size, in hexadecimal. A file is read once while its stamp stays the same.

    Args:
        path: The file.

    Returns:
        The digest.

    Raises:
        OSError: The file cannot be read.

    Examples:
        >>> from pathlib import Path
        >>> write_file(Path("abc.txt"), "abc")
        >>> digest_of_file(Path("abc.txt"))[:8]
        'ba7816bf'
    """
    stamp = stamp_of(path)
    key = os.path.abspath(path), stamp
    found = _digests.get(key)
    if stamp is None or found is None:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        # A file may change again within one tick of the clock of its file system, which is up to 2 s.
        if stamp and abs(time.time_ns() - stamp[2]) > _SETTLED_NS and stamp_of(path) == stamp:
            if len(_digests) >= _MOST_DIGESTS:
                _digests.clear()
            _digests[key] = found
    return found


_digests: dict[tuple[str, Stamp | None], str] = {}
_SETTLED_NS, _MOST_DIGESTS = 2_000_000_000, 1 << 16


def digest_of_folder(folder: Path) -> str:
    """SHA-256 over the names and contents of all files of a folder, in hexadecimal."""
    files = sorted((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*") if path.is_file())
    return digest_of("\n".join(f"{digest_of_file(path)} {name}" for name, path in files))


def read_text(path: Path, limit: int = MAX_TEXT_BYTES) -> str:
    """Read a UTF-8 file, after a check of its size; a byte order mark is left out."""
    return decode_text(read_bytes(path, limit), str(path))


def decode_text(data: bytes, where: str) -> str:
    """Decode UTF-8 text; a byte order mark is left out."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:4]:
        raise DataError(f"{where}: not UTF-8 text, but UTF-16, UTF-32 or no text; save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: not UTF-8 text (byte {error.start}); save it as UTF-8") from error


def read_csv(path: Path, limit: int = MAX_TEXT_BYTES) -> io.StringIO:
    """Read a CSV file for the `csv` module; blanks at ends of lines, and how lines end, change nothing."""
    return io.StringIO(re.sub(r"[ \t]*(\r\n?|\n|$)", "\n", read_text(path, limit)))


def read_caption(path: Path) -> str:
    """Text of a UTF-8 file, without the white space around it."""
    return read_text(path, MAX_CAPTION_BYTES).strip()


def read_json_object(path: Path, *, allow_nan: bool = False) -> dict[str, Any]:
    """Read a JSON file that holds one object.

    Args:
        path: The file.
        allow_nan: Whether NaN and infinities, which Python's own writer leaves in a file, are read as None.

    Returns:
        The object.

    Raises:
        DataError: The file cannot be read, is not strict JSON, or holds no object.

    Examples:
        >>> from pathlib import Path
        >>> write_file(Path("facts.json"), '{"fps": 20}')
        >>> read_json_object(Path("facts.json"))
        {'fps': 20}
    """
    content = parse_json(read_text(path).encode(), str(path), allow_nan=allow_nan)
    if not isinstance(content, dict):
        raise DataError(f"{path}: expected an object of metadata")
    return content


def parse_json(data: bytes, where: str, *, allow_nan: bool = False) -> Any:
    """Parse strict JSON, as deep as the parser's stack allows; `allow_nan` reads NaN and infinity as None."""

    try:
        return json.loads(data, parse_constant=(lambda _: None) if allow_nan else _refuse_constant)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not valid JSON ({error}); write or download it again") from error


def dumps(value: Any, indent: int | None = None) -> str:
    """Encode a value as strict JSON with sorted keys.

    Infinities are stored as {"value": null, "special": "+inf"}.

    Args:
        value: JSON values and numpy numbers, nested.
        indent: Spaces of each level; None for one line.

    Returns:
        The text.

    Raises:
        UsageError: A part is not a JSON value or a numpy number; the message names its place.

    Examples:
        >>> dumps({"fps": np.float32(20), "best": float("inf")})
        '{"best": {"special": "+inf", "value": null}, "fps": 20.0}'
    """
    return json.dumps(_to_json(value, "value"), allow_nan=False, sort_keys=True, indent=indent)


def loads(text: str) -> Any:
    """Decode what `dumps` wrote."""
    try:
        # Most texts hold no infinity; then no object needs a look. An escape could hide the word.
        return (_DECODER if "special" in text or "\\" in text else _PLAIN_DECODER).decode(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


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


_DECODER = json.JSONDecoder(object_hook=_special_value, parse_constant=_refuse_constant)
"""One for all: making one costs as much as decoding a short line."""
_PLAIN_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
"""For texts without infinities."""


def read_npz(file: Path | IO[bytes], most_bytes: int, names: Collection[str] | None = None) -> dict[str, NDArray[Any]]:
    """Read arrays of a file."""
    with zipfile.ZipFile(file) as archive:
        members = [one for one in archive.infolist() if one.filename.endswith(".npy")]
        total = sum(max(one.file_size, one.compress_size) for one in members)
        if total > most_bytes:
            raise ValueError(f"unpacks to more than {most_bytes} bytes")
        found = [one.filename.removesuffix(".npy") for one in members]
        return {name: read_npy(archive, f"{name}.npy", most_bytes) for name in found if names is None or name in names}


def read_npy(archive: zipfile.ZipFile, name: str, most_bytes: int) -> NDArray[Any]:
    """Read one array. Nothing is allocated beyond the limit, whatever the archive and the array's header say."""
    member = archive.getinfo(name)
    size = max(member.file_size, member.compress_size)
    if size > most_bytes:
        raise ValueError(f"'{name}' has {size} bytes, more than {most_bytes}")
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):  # later ones are for headers beyond 64 KB, and say how long theirs is in 4 bytes
            raise ValueError(f"'{name}' is of version {version} of the format; write plain arrays")
        shape, is_fortran, dtype = read_header(file, version, name)
        if dtype.hasobject:
            raise ValueError(f"'{name}' holds objects, which is more than numbers")
        needed = math.prod(shape) * dtype.itemsize
        if needed > member.file_size:
            raise ValueError(f"'{name}' says it is of shape {shape}, and has {member.file_size} bytes")
        data = bytearray(file.read(needed))
    if len(data) < needed:
        raise ValueError(f"'{name}' ends early")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if is_fortran else "C")


def read_header(file: IO[bytes], version: tuple[int, int], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read what stands before the numbers of an array."""
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        header: tuple[tuple[int, ...], bool, np.dtype[Any]] = read(file)
    except (SyntaxError, tokenize.TokenError, RecursionError, TypeError, OverflowError) as error:
        raise ValueError(f"'{name}' has a damaged header ({type(error).__name__})") from None
    if any(side < 0 for side in header[0]):
        raise ValueError(f"'{name}' says it is of shape {header[0]}")
    return header
