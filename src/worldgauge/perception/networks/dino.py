"""DINO patch tokens: DINOv3 ViT-B/16, which MIND measures with, and DINOv2 ViT-B/14 with registers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from worldgauge.core.errors import DataError
from worldgauge.perception.networks import ComputeDevice, networks
from worldgauge.perception.networks._pretrained import CONFIG, load_pretrained
from worldgauge.perception.networks.preprocessing import framewise, square_frames

SIDE = 224
REGISTERS = 4

_AT_ONCE, _ON_GPU = 8, 64
_PUBLISHED = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12}
_SMALLEST = 384
"""Width of the smallest siblings that are published; what is narrower can be none of them."""


class _Dino:
    """A vision transformer of transformers whose last hidden states are asked for."""

    name: str
    version = 1
    model_class: ClassVar[str]
    patch_px: ClassVar[int]

    def __init__(self, folder: Path, device: ComputeDevice) -> None:
        self._model = load_pretrained(self.model_class, folder, device, what=f"'{self.name}'")
        self._device = device
        config = self._model.config
        wanted = {"patch_size": self.patch_px, "num_register_tokens": REGISTERS}
        if config.hidden_size >= _SMALLEST:
            wanted |= _PUBLISHED
        for field, value in wanted.items():
            if (found := getattr(config, field)) != value:
                raise DataError(
                    f"{folder / CONFIG}: not '{self.name}', whose {field} is {value}: this one's is {found}"
                )

    def answer(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """frames (n, 224, 224, 3) float32, normalised -> tokens (n, tokens, channels) float32.

        The class token and four registers come first, then the patches row by row. Raises ShapeError.
        """
        frames = square_frames(arrays["frames"], SIDE)
        sides = (1 + REGISTERS + (SIDE // self.patch_px) ** 2, self._model.config.hidden_size)
        return {"tokens": framewise(frames, self._device, self._tokens, sides=sides, at_once=_AT_ONCE, on_gpu=_ON_GPU)}

    def _tokens(self, pixels: Any) -> Any:
        return self._model(pixel_values=pixels.to(self._device.dtype)).last_hidden_state


@networks.register("dinov3-b16", what="dino", half=True)
class DinoV3(_Dino):
    """DINOv3 ViT-B/16: tokens (n, 201, 768).

    With random weights of its size, float16 moved patch tokens of length 1 by 0.0013, bfloat16 by 0.010: two answers to
    one frame are then 2e-9 and 1.3e-7 apart as `dino_mse` counts, where two frames were 1.7e-3. Source: Siméoni et al.
    2025; MIND, DINO feature error.

    Args:
        folder: Folder with config.json and model.safetensors as published by Meta (dinov3-vitb16-pretrain-lvd1689m).
        device: Device and precision.

    Raises:
        DataError: Files of another network, its larger and smaller siblings among them.
    """

    name = "dinov3-b16"
    model_class = "DINOv3ViTModel"
    patch_px = 16


@networks.register("dinov2-b14", what="dino", half=True)
class DinoV2(_Dino):
    """DINOv2 ViT-B/14 with registers, whose weights need no account: tokens (n, 261, 768).

    Source: Oquab et al. 2023; Darcet et al. 2023.

    Args:
        folder: Folder with config.json and model.safetensors as published by Meta (dinov2-with-registers-base).
        device: Device and precision.

    Raises:
        DataError: Files of another network.
    """

    name = "dinov2-b14"
    model_class = "Dinov2WithRegistersModel"
    patch_px = 14
