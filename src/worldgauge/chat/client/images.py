"""Encoding of pictures for a model: only pixels are sent, never a file or an address."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.image import Image


@dataclass(frozen=True)
class Encoding:
    """How pictures are sent.

    Attributes:
        format: "png" keeps every pixel, "jpeg" is smaller.
        quality: Quality of jpeg, 1 to 100.
        max_side: Longest side in pixels; larger pictures are scaled down by area.
        max_bytes: Largest encoded picture in bytes.

    Raises:
        UsageError: A field is out of range.
    """

    format: Literal["png", "jpeg"] = "png"
    quality: int = 90
    max_side: int = 1024
    max_bytes: int = 8 * 2**20

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            UsageError: A setting is out of range.
        """
        if self.format not in ("png", "jpeg"):
            raise UsageError(f"image format is {self.format!r}; give png or jpeg")
        if not 1 <= self.quality <= 100 or self.max_side < 1 or self.max_bytes < 1:
            raise UsageError(f"{self}: quality is 1 to 100, max_side and max_bytes are at least 1")

    @property
    def facts(self) -> dict[str, Any]:
        """The settings that change the picture that the model sees."""
        facts: dict[str, Any] = {"format": self.format, "max_side": self.max_side}
        return facts | ({"quality": self.quality} if self.format == "jpeg" else {})

    def sent_size(self, image: Image) -> tuple[int, int]:
        """(width, height) in pixels at which `image` is sent."""
        height, width = image.shape[:2]
        scale = min(1.0, self.max_side / max(height, width))
        return max(1, round(width * scale)), max(1, round(height * scale))

    def identify(self, image: Image) -> str:
        """Digest of the pixels and of how they are sent; the same on every machine, whatever its encoder."""
        digest = hashlib.sha256(repr((image.shape, sorted(self.facts.items()))).encode())
        digest.update(np.ascontiguousarray(image).data)
        return digest.hexdigest()

    def encode(self, image: Image) -> bytes:
        """Encode a picture.

        Args:
            image: (H, W, 3) uint8 RGB.

        Returns:
            The bytes that are sent.

        Raises:
            UsageError: They are more than `max_bytes`.
        """
        import cv2

        size = self.sent_size(image)
        if size != (image.shape[1], image.shape[0]):
            image = cv2.resize(image, size, interpolation=cv2.INTER_AREA).astype(np.uint8)
        options = [cv2.IMWRITE_JPEG_QUALITY, self.quality] if self.format == "jpeg" else []
        data = bytes(cv2.imencode(f".{self.format}", image[..., ::-1], options)[1].data)
        if len(data) > self.max_bytes:
            raise UsageError(
                f"a picture of {size[0]} x {size[1]} takes {len(data)} bytes as {self.format}, more than "
                f"{self.max_bytes}; lower max_side, or send jpeg"
            )
        return data

    def data_url(self, data: bytes) -> str:
        """An encoded picture as a data URL."""
        return f"data:image/{self.format};base64,{base64.b64encode(data).decode()}"


def checked_image(given: Any) -> Image:
    """Check that a value is a picture.

    Args:
        given: The value. A path or an address is refused: a string that names a file is no permission to read it.

    Returns:
        The picture, (H, W, 3) uint8 RGB.

    Raises:
        UsageError: It is not an array.
        ShapeError: The array has another shape or dtype.
    """
    if not isinstance(given, np.ndarray):
        raise UsageError(f"an image is {type(given).__name__}; give its pixels, an array (H, W, 3) uint8")
    if given.dtype != np.uint8 or given.ndim != 3 or given.shape[2] != 3 or 0 in given.shape:
        raise ShapeError(f"an image has shape {given.shape} and dtype {given.dtype}; give (H, W, 3) uint8")
    return given
