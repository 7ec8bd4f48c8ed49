"""An autoencoder that a user brings, as diffusers writes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from worldgauge.core.errors import DataError, MissingExtraError, UnknownNameError, UsageError
from worldgauge.core.io import digest_of_file, read_json_object
from worldgauge_train.nets.codecs import Codec, codecs

CLASSES = ("AutoencoderKL", "AutoencoderTiny")
"""Autoencoders of single frames."""
_CONFIG, _WEIGHTS = "config.json", "diffusion_pytorch_model.safetensors"


@codecs.register("diffusers")
class Adopted(Codec):
    """An autoencoder of single frames from a folder, as it is; weights as safetensors only.

    Args:
        folder: The folder, such as the folder `vae` of a pipeline.

    Raises:
        MissingExtraError: diffusers is not installed.
        DataError: The folder holds no such autoencoder, or a damaged one.
    """

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
            raise UsageError("this network draws in the planes of an autoencoder: name its folder with codec=FOLDER")
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
