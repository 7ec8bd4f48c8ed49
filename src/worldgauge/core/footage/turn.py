"""Display matrices: quarter turns and mirrorings that a video states beside its pictures, as phones write them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from worldgauge.core.errors import DataError
from worldgauge.core.image import Image

_STRAIGHT = math.sin(math.radians(1))
"""Angles within a degree of a quarter turn count as one, as for ffmpeg."""


@dataclass(frozen=True)
class Turn:
    """How a stored picture becomes the shown one: rows and columns swapped, then columns and rows reversed."""

    swaps: bool = False
    reverses_columns: bool = False
    reverses_rows: bool = False

    @classmethod
    def of(cls, picture: Any, where: str) -> Turn:
        """Read the display matrix of a decoded picture.

        Raises:
            DataError: The angle is no multiple of 90 degrees.
        """
        try:
            data = picture.side_data.get("DISPLAYMATRIX")
        except ValueError as error:  # PyAV does not know every kind of data that may lie beside a matrix
            if picture.rotation:
                raise DataError(f"{where}: its display matrix cannot be read; turn it and write it again") from error
            data = None
        if data is None:
            return cls()
        across_x, across_y, _, down_x, down_y = np.frombuffer(bytes(data), np.int32)[:5].tolist()
        straight, crossed = math.hypot(across_x, down_y), math.hypot(across_y, down_x)
        if straight == crossed == 0:
            return cls()
        if crossed <= _STRAIGHT * straight:
            return cls(False, across_x < 0, down_y < 0)
        if straight <= _STRAIGHT * crossed:
            return cls(True, down_x < 0, across_y < 0)
        angle = math.degrees(math.atan2(-across_y, across_x))
        raise DataError(f"{where}: is to be shown turned by {angle:.0f} degrees; turn it and write it again")

    def size(self, width: int, height: int) -> tuple[int, int]:
        """(width, height) of the shown picture, from those of the stored one."""
        return (height, width) if self.swaps else (width, height)

    def apply(self, image: Image) -> Image:
        """The shown picture, (H, W, 3), from the stored one."""
        if self.swaps:
            image = image.transpose(1, 0, 2)
        if self.reverses_columns:
            image = image[:, ::-1]
        if self.reverses_rows:
            image = image[::-1]
        return np.ascontiguousarray(image)
