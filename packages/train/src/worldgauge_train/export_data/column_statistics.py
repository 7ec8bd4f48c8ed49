"""Statistics of columns that are added up table by table, so that no more than one table is held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image

_VALUES = np.arange(256) / 255.0


@dataclass(frozen=True)
class ColumnStatistics:
    """What is known of the columns of a table.

    Attributes:
        count: Rows.
        low: The least value of each column, shape (C,).
        high: The largest.
        mean: The mean.
        squares: The sum of the squared distances from the mean.
    """

    count: int
    low: FloatArray
    high: FloatArray
    mean: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, table: Any) -> ColumnStatistics:
        """Those of a table, shape (N, C) or (N,), N at least 1."""
        rows = np.asarray(table, np.float64).reshape(len(table), -1)
        mean = rows.mean(0)
        return cls(len(rows), rows.min(0), rows.max(0), mean, ((rows - mean) ** 2).sum(0))

    @classmethod
    def of_pictures(cls, pictures: list[Image]) -> ColumnStatistics:
        """Those of the channels of pictures, each shape (H, W, 3), 0 to 255; told from 0 to 1. Counts hold no frame."""
        counts = np.zeros((3, 256), np.int64)
        for picture in pictures:
            for channel in range(3):
                counts[channel] += np.bincount(picture[..., channel].ravel(), minlength=256)
        number = int(counts[0].sum())
        seen = counts > 0
        mean = counts @ _VALUES / number
        return cls(
            number,
            _VALUES[seen.argmax(1)],
            _VALUES[255 - seen[:, ::-1].argmax(1)],
            mean,
            (counts * (_VALUES - mean[:, None]) ** 2).sum(1),
        )

    def __add__(self, other: ColumnStatistics) -> ColumnStatistics:
        """Those of both tables together (Chan, Golub and LeVeque, 1979)."""
        count = self.count + other.count
        step = other.mean - self.mean
        return ColumnStatistics(
            count,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.mean + step * (other.count / count),
            self.squares + other.squares + step**2 * (self.count * other.count / count),
        )

    def told(self, shape: tuple[int, ...] = (-1,)) -> dict[str, Any]:
        """Plain lists: min, max, mean, std and count.

        Args:
            shape: The shape of all but the count.
        """
        found = {"min": self.low, "max": self.high, "mean": self.mean, "std": np.sqrt(self.squares / self.count)}
        return {**{name: value.reshape(shape).tolist() for name, value in found.items()}, "count": [self.count]}
