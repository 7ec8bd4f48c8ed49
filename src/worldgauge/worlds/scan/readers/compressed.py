"""Compressed geometry: Draco (extra `scan`) and meshopt (package `meshoptimizer`), for files that use it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import MissingExtraError, WorldError
from worldgauge.core.fields import short
from worldgauge.worlds.scan.readers._document import MOST_BYTES, MOST_ELEMENTS, Damaged, whole

_MOST_SWELL = 4096
"""How many bytes one compressed byte may become; more is a claim that no encoder makes."""


def meshopt_bytes(extension: Mapping[str, Any], packed: memoryview, where: str) -> memoryview:
    """Decode the bytes of a buffer view with EXT_meshopt_compression.

    Args:
        extension: Its object of the extension.
        packed: The compressed bytes.
        where: The view, for messages.

    Returns:
        The bytes.

    Raises:
        Damaged: The bytes are no such stream.
        WorldError: The package is not installed.
    """
    stride, count = whole(extension, "byteStride", where, 1, 256), whole(extension, "count", where, 1, MOST_ELEMENTS)
    mode, kept = extension.get("mode"), extension.get("filter", "NONE")
    if stride * count > min(MOST_BYTES, _MOST_SWELL * len(packed) + 65536):
        raise Damaged(f"{where}: {len(packed)} compressed bytes claim to hold {stride * count}")
    if mode not in ("ATTRIBUTES", "TRIANGLES", "INDICES"):
        raise Damaged(f"{where}: mode {short(mode)} of EXT_meshopt_compression is unknown")
    if kept not in ("NONE", "OCTAHEDRAL", "QUATERNION", "EXPONENTIAL") or (kept == "QUATERNION" and stride != 8):
        raise Damaged(f"{where}: filter {short(kept)} with byteStride {stride} is unknown")
    if (mode == "ATTRIBUTES" and stride % 4) or (mode != "ATTRIBUTES" and stride not in (2, 4)):
        raise Damaged(f"{where}: byteStride {stride} does not suit mode {mode}")
    try:
        import meshoptimizer
    except ImportError as error:
        raise WorldError(f"{where} is compressed by meshopt: pip install meshoptimizer") from error
    try:
        if mode == "ATTRIBUTES":
            raw = meshoptimizer.decode_vertex_buffer(count, stride, bytes(packed), np.dtype((np.void, stride)))
            decoded = np.frombuffer(raw.tobytes(), np.uint8)
            if kept == "EXPONENTIAL":
                decoded = _exponential(decoded)
            elif kept == "QUATERNION":
                decoded = _quaternions(decoded)
        else:
            decode = meshoptimizer.decode_index_buffer if mode == "TRIANGLES" else meshoptimizer.decode_index_sequence
            decoded = np.asarray(decode(count, 4, bytes(packed))).astype("<u2" if stride == 2 else "<u4")
    except (ValueError, RuntimeError, MemoryError) as error:
        raise Damaged(f"{where}: the bytes of EXT_meshopt_compression are damaged ({error})") from error
    # The filter of normals is left: they are not read.
    return memoryview(decoded.tobytes())


def draco_arrays(packed: bytes, ids: Mapping[str, int], where: str) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
    """Decode a primitive with KHR_draco_mesh_compression.

    Args:
        packed: The compressed bytes.
        ids: Draco's ids of attributes by glTF's names.
        where: The primitive, for messages.

    Returns:
        Triangles (T, 3), and attributes (V, n) by glTF's names.

    Raises:
        Damaged: The bytes are no such mesh.
        MissingExtraError: The package is not installed.
    """
    try:
        import DracoPy
    except ImportError as error:
        raise MissingExtraError(f"{where} is compressed by Draco, and", "scan") from error
    try:
        mesh = DracoPy.decode(packed)
        faces = np.asarray(mesh.faces).reshape(-1, 3)
        found = {int(one["unique_id"]): np.asarray(one["data"]) for one in mesh.attributes}
    except Exception as error:  # the package raises types of its own
        raise Damaged(f"{where}: its Draco data are damaged ({' '.join(str(error).split())[:80]})") from error
    if lost := [name for name, number in ids.items() if number not in found]:
        raise Damaged(f"{where}: its Draco data hold no {lost[0]}")
    return faces, {name: found[number].reshape(len(found[number]), -1) for name, number in ids.items()}


def _quaternions(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Undo the filter QUATERNION: three components, and which of four is left out, being the largest."""
    rows = data.view("<i2").reshape(-1, 4).astype(np.int64)
    small = rows[:, :3] / (rows[:, 3:] | 3) / np.sqrt(2.0)
    large = np.sqrt(np.maximum(1.0 - (small * small).sum(1), 0.0))
    place = (rows[:, 3:] & 3) + np.arange(1, 5)
    values = np.empty((len(rows), 4))
    np.put_along_axis(values, place % 4, np.column_stack([small, large]), 1)
    packed: NDArray[np.uint8] = np.rint(values * 32767).astype("<i2").reshape(-1).view(np.uint8)
    return packed


def _exponential(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Undo the filter EXPONENTIAL: 8 bits of exponent over 24 bits of mantissa, both signed."""
    word = data.view("<i4")
    power, mantissa = word >> 24, (word << 8) >> 8
    values: NDArray[np.uint8] = np.ldexp(mantissa.astype(np.float32), power).astype("<f4").view(np.uint8)
    return values
