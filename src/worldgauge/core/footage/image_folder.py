"""Folders of numbered images as videos."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from worldgauge.core._decoding import MAX_FRAMES, FileSource
from worldgauge.core.errors import DataError
from worldgauge.core.image import Image
from worldgauge.core.io import digest_of_file, list_folder

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
_FORMATS = "png_pipe,jpeg_pipe,webp_pipe"


def images_in(folder: Path) -> list[Path]:
    """Images of a folder in natural order: frame 2 comes before frame 10. Hidden files are left out."""
    return [path for path in list_folder(folder) if path.suffix.lower() in IMAGE_SUFFIXES and path.is_file()]


def digest_of_video(path: Path) -> str:
    """SHA-256 of a video file, or over the names and contents of a folder of images."""
    if not path.is_dir():
        return digest_of_file(path)
    whole = hashlib.sha256()
    for image in images_in(path):
        whole.update(f"{image.name}\\0{digest_of_file(image)}\\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


class ImageFolder:
    """Frames of a folder of images.

    Attributes:
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
        self._images = images_in(path)
        self.count = len(self._images)
        if not self._images:
            raise DataError(f"{path}: no such video; a folder needs PNG, JPEG or WebP images")
        if self.count > MAX_FRAMES:
            raise DataError(f"{path}: more than {MAX_FRAMES} images")
        self._check_names()
        self.size = FileSource(self._images[0], _FORMATS).size

    def _check_names(self) -> None:
        """Refuse images of which the order is not known, or one is missing."""
        first = self._images[0].name
        words = [re.split(r"(\d+)", path.name) for path in self._images]
        for path, parts in zip(self._images, words, strict=True):
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
        for path, before, number in zip(self._images[1:], counted, counted[1:], strict=False):
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
        frame = FileSource(self._images[index], _FORMATS).frame(0)
        if (frame.shape[1], frame.shape[0]) != self.size:
            shown = f"{frame.shape[1]}x{frame.shape[0]}"
            raise DataError(f"{self._images[index]}: is {shown}, the first image {self.size[0]}x{self.size[1]}")
        return frame

    def read(self, indices: Iterable[int]) -> Iterator[Image]:
        """Images at `indices`, in that order."""
        return map(self.frame, indices)
