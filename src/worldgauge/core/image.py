"""RGB images: their type aliases, and reading and writing PNG files within limits."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.io import read_bytes

Image = NDArray[np.uint8]
"""(H, W, 3) uint8 RGB."""
Frames = NDArray[np.uint8]
"""(T, H, W, 3) uint8 RGB."""
Box = tuple[int, int, int, int]
"""x0, y0, x1, y1 in pixels; x1 and y1 are the first outside."""
MAX_IMAGE_BYTES = 256 * 2**20
"""Largest PNG file."""
MAX_PIXELS = 8192 * 8192


def locked(array: NDArray[Any]) -> NDArray[Any]:
    """A view of an array that cannot be written to."""
    view = array.view()
    view.setflags(write=False)
    return view


def png(picture: Image | NDArray[np.uint16]) -> bytes:
    """Encode a picture as PNG.

    Args:
        picture: (H, W, 3) uint8 RGB, or levels (H, W) uint16.

    Returns:
        The bytes of the file.

    Raises:
        ShapeError: The picture has another shape or dtype, or is empty.
    """
    import cv2

    coloured = picture.ndim == 3 and picture.shape[2] == 3 and picture.dtype == np.uint8
    if not (coloured or (picture.ndim == 2 and picture.dtype == np.uint16)) or not picture.size:
        raise ShapeError(f"a picture needs (H, W, 3) uint8 or (H, W) uint16, got {picture.shape} {picture.dtype}")
    # OpenCV orders the channels blue, green, red.
    _, data = cv2.imencode(".png", np.ascontiguousarray(picture[..., ::-1]) if coloured else picture)
    return data.tobytes()


def read_png(path: Path) -> Image:
    """Read a PNG file.

    Args:
        path: The file.

    Returns:
        (H, W, 3) uint8 RGB.

    Raises:
        DataError: The file is unreadable, too large, damaged or not a PNG.
    """
    return decode_png(read_bytes(path, MAX_IMAGE_BYTES), str(path))


def decode_png(data: bytes, where: str) -> Image:
    """Decode the bytes of a PNG file.

    Args:
        data: The bytes.
        where: Name of the source, for messages.

    Returns:
        (H, W, 3) uint8 RGB.

    Raises:
        DataError: The data are no PNG, have too many pixels or are damaged.
    """
    import cv2

    width, height = png_header_size(data, where)
    if not 0 < width * height <= MAX_PIXELS:
        raise DataError(f"{where}: {width}x{height} pixels are none or pass the limit of {MAX_PIXELS}")
    _check_parts(data, where)
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error:
        image = None
    if image is None:
        raise DataError(f"{where}: the picture is damaged; write or download it again")
    return np.ascontiguousarray(np.asarray(image, np.uint8)[..., ::-1])


def _check_parts(data: bytes, where: str) -> None:
    """Whether the parts of a PNG lie within it: the decoder takes as much memory as a part claims to need."""
    at, kind = 8, b""
    while at + 12 <= len(data) and kind != b"IEND":
        size, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        if at + 12 + size > len(data):
            raise DataError(
                f"{where}: a part of {size} bytes passes the end of the picture; write or download it again"
            )
        at += 12 + size


def png_size(path: Path) -> tuple[int, int]:
    """Size of a PNG file, read from its header.

    Args:
        path: The file.

    Returns:
        (width, height) in pixels.

    Raises:
        DataError: The file cannot be read or is no PNG.
    """
    try:
        with open(path, "rb") as file:
            return png_header_size(file.read(24), str(path))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error


def png_header_size(data: bytes, where: str) -> tuple[int, int]:
    """Size of a PNG, from its first 24 bytes.

    Args:
        data: At least the first 24 bytes.
        where: Name of the source, for messages.

    Returns:
        (width, height) in pixels.

    Raises:
        DataError: The data are no PNG.
    """
    if len(data) < 24 or data[:8] != b"\x89PNG\r\n\x1a\n" or data[12:16] != b"IHDR":
        raise DataError(f"{where}: not a PNG picture; write or download it again")
    width, height = struct.unpack(">II", data[16:24])
    return int(width), int(height)


def write_png(path: Path, frame: Image) -> None:
    """Write a frame as a PNG file.

    Args:
        path: The file.
        frame: (H, W, 3) uint8 RGB.

    Raises:
        DataError: The file cannot be written.
        ShapeError: The frame has another shape or dtype.
    """
    data = png(frame)
    try:
        path.write_bytes(data)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror or error})") from error
