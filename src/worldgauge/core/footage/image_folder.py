"""Folders of numbered images as videos."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from worldgauge.core.errors import DataError
from worldgauge.core.image import MAX_IMAGE_BYTES, Image, decode_picture
from worldgauge.core.io import digest_of_file, list_folder, read_bytes

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
    """Frames of a folder of images.

    Attributes:
        images: Files of the images.
        size: (width, height) of the first image; each other must have it.
        count: Number of images.
        fps: None: images state no rate.

    Args:
        path: The folder.

    Raises:
        DataError: It holds no image, an image is missing by its number, or the first cannot be read.
    """

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
