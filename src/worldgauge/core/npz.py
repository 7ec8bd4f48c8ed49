"""Arrays of .npz files, read within limits: what a file says of its sizes is a claim until it has been compared."""

from __future__ import annotations

import math
import tokenize
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray


def read_npz(file: Path | IO[bytes], most_bytes: int, names: Collection[str] | None = None) -> dict[str, NDArray[Any]]:
    """Read arrays of a file.

    Args:
        file: The file.
        most_bytes: Limit of all arrays together.
        names: Those that are read, where they are there. None for all.

    Returns:
        Arrays by name.

    Raises:
        ValueError: The arrays are larger, or one is no plain array of the size that is there.
        OSError: The file cannot be read; `zipfile` and `zlib` raise errors of their own where it is damaged.
    """
    with zipfile.ZipFile(file) as archive:
        members = [one for one in archive.infolist() if one.filename.endswith(".npy")]
        total = sum(max(one.file_size, one.compress_size) for one in members)
        if total > most_bytes:
            raise ValueError(f"unpacks to more than {most_bytes} bytes")
        found = [one.filename.removesuffix(".npy") for one in members]
        return {name: read_npy(archive, f"{name}.npy", most_bytes) for name in found if names is None or name in names}


def read_npy(archive: zipfile.ZipFile, name: str, most_bytes: int) -> NDArray[Any]:
    """Read one array. Nothing is allocated beyond the limit, whatever the archive and the array's header say.

    Args:
        archive: The open file.
        name: Name of the member, with ".npy".
        most_bytes: Limit of the member, with its header.

    Returns:
        The array.

    Raises:
        KeyError: There is no such member.
        ValueError: It is larger, or no plain array of the size that is there.
    """
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
    """Read what stands before the numbers of an array.

    Args:
        file: The file, behind its first eight bytes.
        version: Version of the format.
        name: Name of the member, for messages.

    Returns:
        Shape, whether columns come first, and dtype.

    Raises:
        ValueError: It is no such header.
    """
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        header: tuple[tuple[int, ...], bool, np.dtype[Any]] = read(file)
    except (SyntaxError, tokenize.TokenError, RecursionError, TypeError, OverflowError) as error:
        raise ValueError(f"'{name}' has a damaged header ({type(error).__name__})") from None
    if any(side < 0 for side in header[0]):
        raise ValueError(f"'{name}' says it is of shape {header[0]}")
    return header
