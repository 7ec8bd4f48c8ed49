"""Files of the build suite: paths, JSON lists, pictures. Limits are checked before memory is taken."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.fields import short
from worldgauge.core.image import MAX_PIXELS, Image, png
from worldgauge.core.io import check_inside, digest_of_file, parse_json, write_file
from worldgauge.suites.build.kinds import KINDS, Kind

ARCHITECTURES = "data/architectures.json"
TASKS: Mapping[Kind, str] = {
    "planning": "task/Task_Spatial_Planning.json",
    "understanding": "task/Task_Spatial_Understanding.json",
    "creativity": "task/Task_Creativity.json",
    "reasoning": "task/Task_Spatial_Reasoning.json",
    "commonsense": "task/Task_Spatial_Commonsense.json",
}
MAX_JSON_BYTES = 128 * 2**20
"""Per file; a published architecture has some 100 kB at most."""
MAX_IMAGE_BYTES = 64 * 2**20
MAX_HEADER_BYTES = 2**20
"""Most bytes before the size of a JPEG: notes and thumbnails of cameras."""
MAX_TAIL_BYTES = 2**16
"""What may stand after the end of a picture. A decoder fills what a shorter file lacks with grey."""
JPEG_QUALITY = 95
MAX_NAME = 300
_PNG, _JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"


def missing(root: Path) -> list[str]:
    """Return files of the published layout that are missing; the data have no tasks of their kinds."""
    return [name for name in (ARCHITECTURES, *(TASKS[kind] for kind in KINDS)) if not (Path(root) / name).is_file()]


def read_rows(root: Path, name: str) -> list[Any]:
    """Read the list in a JSON file.

    Args:
        root: Folder of the data set.
        name: Path of the file in it.

    Raises:
        DataError: If it is not a list, cannot be read, or exceeds `MAX_JSON_BYTES`.
    """
    path = check_inside(Path(root) / name, root)
    value = parse_json(_read(path, MAX_JSON_BYTES), str(path))
    if not isinstance(value, list):
        raise DataError(f"{path}: expected one list of objects, got {short(value)}")
    return value


def image_path(root: Path, relative: str) -> Path:
    """Path of a picture.

    Args:
        root: Folder of the data set.
        relative: Path within the folder data; a leading ./, / or data/ makes no difference.

    Raises:
        DataError: For a name that leads elsewhere.
    """
    try:
        return check_inside(Path(root) / "data" / plain_image(relative), Path(root))
    except (ValueError, OSError) as error:
        raise DataError(f"{root}: the picture {short(relative)}: {error}") from None


def plain_image(name: str) -> str:
    """A picture's path within the folder data, however a file spells it.

    Raises:
        ValueError: For another place.
    """
    parts = [part for part in PurePosixPath(name.strip()).parts if part not in ("/", "//", ".")]
    parts = parts[1:] if parts[:1] == ["data"] else parts
    printable = name.isprintable() and len(name) <= MAX_NAME and "\\" not in name
    if not printable or not parts or ".." in parts or parts[0].endswith(":"):
        raise ValueError(f"{short(name)} is no name of a picture; give one such as /data/images/wiki/hut.png")
    return "/".join(parts)


def read_image(root: Path, relative: str) -> Image:
    """Read a PNG or JPEG file; transparent parts become white.

    Args:
        root: Folder of the data set.
        relative: As for `image_path`.

    Returns:
        (H, W, 3) uint8 RGB.

    Raises:
        DataError: When there is none, or it is too large, damaged or outside the root.
    """
    import cv2

    path = image_path(root, relative)
    data = _read(path, MAX_IMAGE_BYTES)
    _check_size(path, *_size(path, data))
    if (b"IEND" if data[:8] == _PNG else b"\xff\xd9") not in data[-MAX_TAIL_BYTES:]:
        raise DataError(f"{path}: the picture is damaged, its end is missing; write or download it again")
    try:
        # Palettes and grey become colours; the transparency of a PNG is kept to lay the picture on white.
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
        whole = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED) if data[:8] == _PNG else None
    except cv2.error:
        image = whole = None
    if image is None:
        raise DataError(f"{path}: the picture is damaged; write or download it again")
    rgb = np.ascontiguousarray(np.asarray(image, np.uint8)[..., ::-1])
    if whole is not None and whole.ndim == 3 and whole.shape[2] == 4 and whole.shape[:2] == rgb.shape[:2]:
        rgb = _on_white(rgb, np.asarray(whole[..., 3]))
    return rgb


def image_size(root: Path, relative: str) -> tuple[int, int]:
    """Read (width, height) of an image from its header.

    Args:
        root: Folder of the data set.
        relative: As for `image_path`.

    Raises:
        DataError: As `read_image`.
    """
    path = image_path(root, relative)
    size = _size(path, _read(path, MAX_IMAGE_BYTES, MAX_HEADER_BYTES))
    _check_size(path, *size)
    return size


def write_image(root: Path, relative: str, image: Image) -> None:
    """Write a picture, whole or not at all: JPEG for .jpg and .jpeg, else PNG.

    Args:
        root: Folder of the data set.
        relative: As for `image_path`.
        image: (H, W, 3) uint8 RGB.

    Raises:
        DataError: For a name with another ending or outside the root.
        ShapeError: For another array.
    """
    import cv2

    path = image_path(root, relative)
    ending = path.suffix.lower()
    if ending not in (".png", ".jpg", ".jpeg"):
        raise DataError(f"{path}: pictures are written as .png or .jpg; rename it")
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or not image.size:
        raise ShapeError(f"a picture needs (H, W, 3) uint8, got {image.shape} {image.dtype}")
    if ending == ".png":
        write_file(path, png(image))
        return
    settings = [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY]
    _, data = cv2.imencode(".jpg", np.ascontiguousarray(image[..., ::-1]), settings)
    write_file(path, data.tobytes())


def image_digest(root: Path, relative: str) -> str:
    """Return the SHA-256 of an image's bytes in hex; "unreadable" if it cannot be read, a fault of its tasks alone.

    Args:
        root: Folder of the data set.
        relative: As for `image_path`.
    """
    try:
        path = image_path(root, relative)
        _read(path, MAX_IMAGE_BYTES, head=0)  # within the limits
        return digest_of_file(path)
    except (DataError, OSError):
        return "unreadable"


def _read(path: Path, limit: int, head: int | None = None) -> bytes:
    """A file, or its first `head` bytes; refused where it is larger than `limit`."""
    try:
        if not path.is_file():
            raise DataError(f"{path}: no such file; download or write it again")
        if path.stat().st_size > limit:
            raise DataError(f"{path}: passes the limit of {limit} bytes")
        with open(path, "rb") as file:
            return file.read(limit if head is None else head)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error


def _check_size(path: Path, width: int, height: int) -> None:
    if not 0 < width * height <= MAX_PIXELS:
        raise DataError(f"{path}: {width}x{height} pixels are none or pass the limit of {MAX_PIXELS}")


def _size(path: Path, data: bytes) -> tuple[int, int]:
    """(width, height) as the header of a PNG or JPEG says."""
    if data[:8] == _PNG and len(data) >= 24 and data[12:16] == b"IHDR":
        width, height = struct.unpack(">II", data[16:24])
        return int(width), int(height)
    if data[:3] == _JPEG and (size := _jpeg_size(data)) is not None:
        return size
    raise DataError(f"{path}: neither a PNG nor a JPEG picture; write or download it again")


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Size in the frame header, which is the first segment numbered C0 to CF that is no table."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        kind = data[at + 1]
        if kind == 0xFF:  # fill
            at += 1
            continue
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return int(width), int(height)
        at += 2 + max(2, struct.unpack(">H", data[at + 2 : at + 4])[0])
    return None


def _on_white(rgb: Image, alpha: NDArray[Any]) -> Image:
    """`rgb` over white by `alpha` (H, W), of 8 or 16 bits."""
    share = (alpha.astype(np.float32) / np.iinfo(alpha.dtype).max)[..., None]
    return np.asarray(np.rint(rgb * share + 255 * (1 - share)), np.uint8)
