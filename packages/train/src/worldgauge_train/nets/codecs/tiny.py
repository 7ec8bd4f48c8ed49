"""A small autoencoder, trained on the same frames before the network, and frozen then."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from worldgauge.core.errors import MissingExtraError, UsageError
from worldgauge_train.nets.codecs import Codec, codecs

LEVELS = 4
"""Levels of the autoencoder; each but the first halves height and width."""


@codecs.register("tiny")
class Tiny(Codec):
    """The architecture AutoencoderTiny of diffusers, a plane of 16 numbers for 8x8 pixels by default.

    Args:
        planes: Planes of a frame.
        width: Channels inside.

    Raises:
        MissingExtraError: diffusers is not installed.
    """

    learns = True
    shrink = 2 ** (LEVELS - 1)

    def __init__(self, planes: int, width: int) -> None:
        super().__init__()
        try:
            from diffusers import AutoencoderTiny
        except ImportError:
            raise MissingExtraError("codec 'tiny'", "adapt") from None
        self.planes, self.width = planes, width
        channels = (width,) * LEVELS
        self.inner = AutoencoderTiny(
            encoder_block_out_channels=channels, decoder_block_out_channels=channels, latent_channels=planes
        )
        self.register_buffer("mean", torch.zeros(planes))
        self.register_buffer("deviation", torch.ones(planes))

    @classmethod
    def of_recipe(cls, settings: Mapping[str, Any]) -> Tiny:
        """Make one; see `Codec`."""
        if any(side % cls.shrink for side in settings["size"]):
            raise UsageError(f"recipe: the codec 'tiny' takes sizes that are multiples of {cls.shrink}")
        return cls(settings["latent_planes"], settings["codec_width"])

    @classmethod
    def of_checkpoint(cls, told: Mapping[str, Any], folder: Path | None) -> Tiny:
        """Make one; see `Codec`."""
        return cls(int(told["planes"]), int(told["width"]))

    @property
    def told(self) -> dict[str, Any]:
        """Its sizes."""
        return {"planes": self.planes, "width": self.width}

    def encode(self, frames: Tensor) -> Tensor:
        """Encode, scaled to zero mean and unit variance; see `Codec`."""
        planes: Tensor = self.inner.encode(frames).latents
        return (planes - self.mean[:, None, None]) / self.deviation[:, None, None]

    def decode(self, planes: Tensor) -> Tensor:
        """Decode; see `Codec`."""
        frames: Tensor = self.inner.decode(planes * self.deviation[:, None, None] + self.mean[:, None, None]).sample
        return frames

    def measure(self, frames: Tensor) -> None:
        """Set the scale of the planes by frames: mean 0 and variance 1 of each.

        Args:
            frames: (B, 3, H, W).
        """
        with torch.no_grad():
            planes = self.inner.encode(frames).latents
            self.mean.copy_(planes.mean((0, 2, 3)))
            self.deviation.copy_(planes.std((0, 2, 3)).clamp(min=1e-3))
