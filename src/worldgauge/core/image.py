"""RGB images: the one alias, and PNG files within limits."""

from __future__ import annotations

import struct
from pathlib import Path

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
"""Of a PNG file."""
MAX_PIXELS = 8192 * 8192


def png(picture: Image | NDArray[np.uint16]) -> bytes:
    """The PNG file of a picture (H, W, 3) uint8 RGB, or of levels (H, W) uint16. Raises ShapeError on others."""
    import cv2

    coloured = picture.ndim == 3 and picture.shape[2] == 3 and picture.dtype == np.uint8
    if not (coloured or (picture.ndim == 2 and picture.dtype == np.uint16)) or not picture.size:
        raise ShapeError(f"a picture needs (H, W, 3) uint8 or (H, W) uint16, got {picture.shape} {picture.dtype}")
    # OpenCV's colours are blue first.
    _, data = cv2.imencode(".png", np.ascontiguousarray(picture[..., ::-1]) if coloured else picture)
    return data.tobytes()


def read_png(path: Path) -> Image:
    """A PNG file as (H, W, 3) uint8 RGB. Raises DataError as `decode_png`, and when the file is too large."""
    return decode_png(read_bytes(path, MAX_IMAGE_BYTES), str(path))


def decode_png(data: bytes, where: str) -> Image:
    """A PNG as (H, W, 3) uint8 RGB. Raises DataError when it is none, is too large or is damaged."""
    import cv2

    width, height = png_header_size(data, where)
    if not 0 < width * height <= MAX_PIXELS:
        raise DataError(f"{where}: {width}x{height} pixels are none or pass the limit of {MAX_PIXELS}")
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error:
        image = None
    if image is None:
        raise DataError(f"{where}: the picture is damaged; write or download it again")
    return np.ascontiguousarray(np.asarray(image, np.uint8)[..., ::-1])


def png_size(path: Path) -> tuple[int, int]:
    """(width, height) of a PNG file, from its header. Raises DataError when it is none."""
    try:
        with open(path, "rb") as file:
            return png_header_size(file.read(24), str(path))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error


def png_header_size(data: bytes, where: str) -> tuple[int, int]:
    """(width, height) that the first 24 bytes of a PNG tell. Raises DataError when it is none."""
    if len(data) < 24 or data[:8] != b"\x89PNG\r\n\x1a\n" or data[12:16] != b"IHDR":
        raise DataError(f"{where}: not a PNG picture; write or download it again")
    width, height = struct.unpack(">II", data[16:24])
    return int(width), int(height)


def write_png(path: Path, frame: Image) -> None:
    """A frame (H, W, 3) uint8 RGB as a PNG file. Raises DataError when it cannot be written, ShapeError as `png`."""
    data = png(frame)
    try:
        path.write_bytes(data)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror or error})") from error
