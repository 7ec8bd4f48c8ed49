"""Codecs: the planes in which a network sees and draws frames."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from worldgauge.core.errors import DataError, MissingExtraError, UnknownNameError, UsageError
from worldgauge.core.io import digest_of_file, read_json_object
from worldgauge.core.registry import Registry


class Codec(nn.Module):
    """Turns pixels in -1..1 into the planes of a network, and back.

    Attributes:
        planes: Planes of a frame, P.
        shrink: Height and width of frames as multiples of those of their planes.
        learns: Whether it is trained before the network.
    """

    planes: int = 3
    shrink: int = 1
    learns: bool = False

    @classmethod
    def of_recipe(cls, settings: Mapping[str, Any]) -> Codec:
        """Make one by the keys of a recipe."""
        raise NotImplementedError

    @classmethod
    def of_checkpoint(cls, told: Mapping[str, Any], folder: Path | None) -> Codec:
        """Make one by what a checkpoint tells of it; the weights of one that was trained are read afterwards."""
        raise NotImplementedError

    @property
    def told(self) -> dict[str, Any]:
        """What a checkpoint tells of it, as plain JSON values."""
        return {}

    def encode(self, frames: Tensor) -> Tensor:
        """Turn pixels (B, 3, H, W) in -1..1 into planes."""
        raise NotImplementedError

    def decode(self, planes: Tensor) -> Tensor:
        """Turn planes into pixels (B, 3, H, W) in -1..1."""
        raise NotImplementedError

    def measure(self, frames: Tensor) -> None:
        """Fit the scale of the planes after training, on frames (B, 3, H, W) in -1..1; only for codecs that learn."""


codecs: Registry[type[Codec]] = Registry("codec")


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


LEVELS = 4
"""Levels of the autoencoder; each but the first halves height and width."""


@codecs.register("tiny")
class Tiny(Codec):
    """The architecture AutoencoderTiny of diffusers, a plane of 16 numbers for 8x8 pixels by default."""

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
        """Set the scale of the planes by frames (B, 3, H, W): mean 0 and variance 1 of each."""
        with torch.no_grad():
            planes = self.inner.encode(frames).latents
            self.mean.copy_(planes.mean((0, 2, 3)))
            self.deviation.copy_(planes.std((0, 2, 3)).clamp(min=1e-3))


CLASSES = ("AutoencoderKL", "AutoencoderTiny")
"""Autoencoders of single frames."""
_CONFIG, _WEIGHTS = "config.json", "diffusion_pytorch_model.safetensors"


@codecs.register("diffusers")
class Adopted(Codec):
    """An autoencoder of single frames from a folder, as it is; weights as safetensors only."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        try:
            import diffusers
        except ImportError:
            raise MissingExtraError("codec 'diffusers'", "adapt") from None
        config = read_json_object(folder / _CONFIG)
        name = config.get("_class_name")
        if name not in CLASSES:
            raise UnknownNameError(f"autoencoder in {folder / _CONFIG}", str(name), CLASSES)
        if not (folder / _WEIGHTS).is_file():
            raise DataError(f"{folder / _WEIGHTS} is missing; weights are read as safetensors only")
        try:
            self.inner = getattr(diffusers, name).from_pretrained(
                str(folder), use_safetensors=True, local_files_only=True, low_cpu_mem_usage=False
            )
        except (OSError, ValueError, RuntimeError, TypeError) as error:
            raise DataError(f"{folder}: {str(error).splitlines()[0]}") from None
        self.inner.requires_grad_(False)
        inner = self.inner.config
        self.planes = int(inner.latent_channels)
        widths = inner.get("block_out_channels") or inner.get("encoder_block_out_channels")
        self.shrink = 2 ** (len(widths) - 1)
        self.scale, self.shift = float(inner.get("scaling_factor") or 1.0), float(inner.get("shift_factor") or 0.0)
        self.digest = digest_of_file(folder / _WEIGHTS)

    @classmethod
    def of_recipe(cls, settings: Mapping[str, Any]) -> Adopted:
        """Make one; see `Codec`."""
        if not settings["codec_folder"]:
            raise UsageError("recipe: the codec 'diffusers' needs codec_folder, the folder of an autoencoder")
        made = cls(Path(settings["codec_folder"]).expanduser())
        if any(side % made.shrink for side in settings["size"]):
            raise UsageError(f"recipe: this autoencoder takes sizes that are multiples of {made.shrink}")
        return made

    @classmethod
    def of_checkpoint(cls, told: Mapping[str, Any], folder: Path | None) -> Adopted:
        """Make one; see `Codec`."""
        if folder is None:
            raise UsageError("this network generates latents: name the folder of its autoencoder with codec=FOLDER")
        made = cls(folder)
        if made.digest != told["digest"]:
            raise DataError(f"{folder} holds another autoencoder than the network was trained with")
        return made

    @property
    def told(self) -> dict[str, Any]:
        """Digest of its weights, by which it is known again."""
        return {"digest": self.digest}

    def encode(self, frames: Tensor) -> Tensor:
        """Encode, scaled as its config says; see `Codec`."""
        made = self.inner.encode(frames)
        planes: Tensor = made.latents if hasattr(made, "latents") else made.latent_dist.mode()
        return (planes - self.shift) * self.scale

    def decode(self, planes: Tensor) -> Tensor:
        """Decode; see `Codec`."""
        frames: Tensor = self.inner.decode(planes / self.scale + self.shift).sample
        return frames
