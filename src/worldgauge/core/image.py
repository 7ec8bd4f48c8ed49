"""RGB images: their type aliases, and reading and writing picture files within limits."""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.io import digest_of_file, list_folder, read_bytes

Image = NDArray[np.uint8]
"""(H, W, 3) uint8 RGB."""
Frames = NDArray[np.uint8]
"""(T, H, W, 3) uint8 RGB."""
Box = tuple[int, int, int, int]
"""x0, y0, x1, y1 in pixels; x1 and y1 are the first outside."""
MAX_IMAGE_BYTES = 256 * 2**20
"""Largest file of a picture."""
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

    Examples:
        >>> png(np.zeros((2, 3, 3), np.uint8))[1:4]
        b'PNG'
    """
    import cv2

    coloured = picture.ndim == 3 and picture.shape[2] == 3 and picture.dtype == np.uint8
    if not (coloured or (picture.ndim == 2 and picture.dtype == np.uint16)) or not picture.size:
        raise ShapeError(f"a picture needs (H, W, 3) uint8 or (H, W) uint16, got {picture.shape} {picture.dtype}")
    # OpenCV orders the channels blue, green, red. Its own choice of compression makes levels five times as large.
    hard = [cv2.IMWRITE_PNG_COMPRESSION, 6, cv2.IMWRITE_PNG_STRATEGY, cv2.IMWRITE_PNG_STRATEGY_DEFAULT]
    if coloured:
        _, data = cv2.imencode(".png", np.ascontiguousarray(picture[..., ::-1]))
    else:
        _, data = cv2.imencode(".png", np.asarray(picture, np.uint16), hard)
    return data.tobytes()


def read_png(path: Path) -> Image:
    """Read a PNG file.

    Args:
        path: The file.

    Returns:
        (H, W, 3) uint8 RGB.

    Raises:
        DataError: The file is unreadable, too large, damaged or not a PNG.

    Examples:
        >>> from pathlib import Path
        >>> write_png(Path("red.png"), np.full((2, 3, 3), [255, 0, 0], np.uint8))
        >>> read_png(Path("red.png"))[0, 0].tolist()
        [255, 0, 0]
    """
    return decode_png(read_bytes(path, MAX_IMAGE_BYTES), str(path))


def decode_png(data: bytes, where: str) -> Image:
    """Decode the bytes of a PNG file to RGB (H, W, 3) uint8."""
    png_header_size(data, where)
    return decode_picture(data, where)


def decode_picture(data: bytes, where: str) -> Image:
    """Decode a PNG, JPEG or WebP to RGB (H, W, 3) uint8, upright by its EXIF data and without transparency."""
    import cv2

    width, height = picture_size(data, where)
    if not 0 < width * height <= MAX_PIXELS:
        raise DataError(f"{where}: {width}x{height} pixels are none or pass the limit of {MAX_PIXELS}")
    check_parts(data, where)
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error:
        image = None
    if image is None:
        raise DataError(f"{where}: the picture is damaged; write or download it again")
    return np.ascontiguousarray(np.asarray(image, np.uint8)[..., ::-1])


def decode_levels(data: bytes, where: str, size: tuple[int, int]) -> NDArray[np.uint16]:
    """Decode the bytes of a grey PNG of 8 or 16 bits, of a size (width, height), to levels (H, W) uint16."""
    import cv2

    if png_header_size(data, where) != size:
        raise DataError(f"{where}: the picture is not {size[0]}x{size[1]} pixels; write it again")
    check_parts(data, where)
    levels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if levels is None or levels.ndim != 2:
        raise DataError(f"{where}: the picture is damaged or not grey; write it again")
    return np.asarray(levels, np.uint16)


def picture_size(data: bytes, where: str) -> tuple[int, int]:
    """(width, height) in pixels of a PNG, JPEG or WebP as stored, from its header."""
    if data[:2] == b"\xff\xd8":
        return _jpeg_header(data, where)[:2]
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP" and len(data) >= 30:
        kind = data[12:16]
        if kind == b"VP8X":
            return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
        if kind == b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        return int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF
    if data[:4] == b"\x89PNG":
        return png_header_size(data, where)
    raise DataError(f"{where}: neither a PNG, a JPEG nor a WebP picture; write or download it again")


def check_parts(data: bytes, where: str) -> None:
    """Check that the parts of a PNG, JPEG or WebP are whole: decoders take as much memory as a part claims to need."""
    if data[:2] == b"\xff\xd8":
        if data.find(b"\xff\xd9", _jpeg_header(data, where)[2]) < 0:
            raise DataError(f"{where}: the picture is cut off; write or download it again")
        return
    is_png = data[:4] == b"\x89PNG"
    at, head, order = (8, 12, ">I") if is_png else (12, 8, "<I")
    end = len(data) if is_png else min(8 + int.from_bytes(data[4:8], "little"), len(data))
    while at + head <= end:
        (size,) = struct.unpack_from(order, data, at if is_png else at + 4)
        if at + head + size > end:
            raise DataError(
                f"{where}: a part of {size} bytes passes the end of the picture; write or download it again"
            )
        if data[at + 4 : at + 8] == b"IEND":
            return
        at += head + size + (0 if is_png else size % 2)


def _jpeg_header(data: bytes, where: str) -> tuple[int, int, int]:
    """Width and height of a JPEG, and where they are stated."""
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker in (0xFF, 0x01) or 0xD0 <= marker <= 0xD8:
            at += 1 if marker == 0xFF else 2
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height, at
        at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    raise DataError(f"{where}: the JPEG is damaged")


def png_size(path: Path) -> tuple[int, int]:
    """(width, height) in pixels of a PNG file, from its header."""
    try:
        with open(path, "rb") as file:
            return png_header_size(file.read(24), str(path))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error


def png_header_size(data: bytes, where: str) -> tuple[int, int]:
    """(width, height) in pixels of a PNG, from its first 24 bytes."""
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

    Examples:
        >>> from pathlib import Path
        >>> write_png(Path("blue.png"), np.full((2, 3, 3), [0, 0, 255], np.uint8))
        >>> read_png(Path("blue.png")).shape
        (2, 3, 3)
    """
    data = png(frame)
    try:
        path.write_bytes(data)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror or error})") from error


IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
_OTHER_SUFFIXES = (".avif", ".bmp", ".exr", ".gif", ".heic", ".jp2", ".ppm", ".tga", ".tif", ".tiff")
MAX_IMAGES = 1_000_000


def images_in(folder: Path) -> list[Path]:
    """Images of a folder in natural order: frame 2 comes before frame 10. Hidden files are left out."""
    return [path for path in list_folder(folder) if path.suffix.lower() in IMAGE_SUFFIXES and path.is_file()]


def digest_of_video(path: Path) -> str:
    """SHA-256 of a video file, or over the names and contents of a folder of images."""
    if not path.is_dir():
        return digest_of_file(path)
    whole = hashlib.sha256()
    for image in images_in(path):
        whole.update(f"{image.name}\0{digest_of_file(image)}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def _unnumbered(path: Path) -> str:
    return re.sub(r"\d+", "", path.stem)


class ImageFolder:
    """Frames of a folder of images, all of the size of the first one."""

    fps = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self.images = images_in(path)
        self.count = len(self.images)
        if not self.images:
            raise DataError(f"{path}: no such video; a folder needs PNG, JPEG or WebP images")
        if self.count > MAX_IMAGES:
            raise DataError(f"{path}: more than {MAX_IMAGES} images")
        self._check_names()
        height, width = self._read(0).shape[:2]
        self.size = width, height

    def _check_names(self) -> None:
        """Refuse images of which the order is not known, or one is missing."""
        first = self.images[0].name
        for path in list_folder(self.path):
            if path.suffix.lower() in _OTHER_SUFFIXES and _unnumbered(path) == _unnumbered(self.images[0]):
                raise DataError(f"{self.path}: {path.name} is no PNG, JPEG or WebP image; convert it, or move it away")
        words = [re.split(r"(\d+)", path.name) for path in self.images]
        for path, parts in zip(self.images, words, strict=True):
            if parts[::2] != words[0][::2]:
                raise DataError(f"{self.path}: names of images may differ in numbers only, not as {first}, {path.name}")
        numbers = [[int(number) for number in parts[1::2]] for parts in words]
        varying = [column for column in zip(*numbers, strict=True) if len({*column}) > 1]
        if len(varying) != 1:
            if self.count > 1:
                raise DataError(f"{self.path}: names of images need one number that counts them, not as {first}")
            return
        (counted,) = varying
        step = counted[1] - counted[0]
        for path, before, number in zip(self.images[1:], counted, counted[1:], strict=False):
            if number - before != step:
                raise DataError(f"{self.path}: images are not numbered evenly before {path.name}; is one missing?")

    def frames_at(self, fps: float) -> Sequence[int]:
        """All images, whatever the rate."""
        return range(self.count)

    def why_no_rate(self) -> str:
        """Message that refuses the folder, for a reader without a rate."""
        return f"{self.path}: a folder of images states no frame rate; give it, such as score --video-fps 24"

    def frame(self, index: int) -> Image:
        """The image at `index`, (H, W, 3) uint8 RGB."""
        frame = self._read(index)
        if (frame.shape[1], frame.shape[0]) != self.size:
            shown = f"{frame.shape[1]}x{frame.shape[0]}"
            raise DataError(f"{self.images[index]}: is {shown}, the first image {self.size[0]}x{self.size[1]}")
        return frame

    def read(self, indices: Iterable[int]) -> Iterator[Image]:
        """Images at `indices`, in that order."""
        return map(self.frame, indices)

    def _read(self, index: int) -> Image:
        path = self.images[index]
        data = read_bytes(path, MAX_IMAGE_BYTES)
        if b"acTL" in data.partition(b"IDAT")[0] or (data[12:16] == b"VP8X" and data[20] & 2):
            raise DataError(f"{path}: is animated; write each of its frames as an image")
        return decode_picture(data, str(path))
