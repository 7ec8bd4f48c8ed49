"""Pixels as they are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from worldgauge_train.nets.codecs import Codec, codecs


@codecs.register("pixels")
class Pixels(Codec):
    """No codec: a network sees and draws pixels."""

    @classmethod
    def of_recipe(cls, settings: Mapping[str, Any]) -> Pixels:
        """Make one; see `Codec`."""
        return cls()

    @classmethod
    def of_checkpoint(cls, told: Mapping[str, Any], folder: Path | None) -> Pixels:
        """Make one; see `Codec`."""
        return cls()

    def encode(self, frames: Tensor) -> Tensor:
        """The frames; see `Codec`."""
        return frames

    def decode(self, planes: Tensor) -> Tensor:
        """The planes; see `Codec`."""
        return planes
