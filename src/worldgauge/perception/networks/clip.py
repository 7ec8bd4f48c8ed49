"""The image half of CLIP ViT-L/14 and LAION's linear head on it, which give the aesthetic score."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError
from worldgauge.perception.networks import ComputeDevice, networks
from worldgauge.perception.networks._pretrained import CONFIG, load_pretrained
from worldgauge.perception.networks.preprocessing import framewise, square_frames
from worldgauge.weights import expect, read_tensors

SIDE = 224
HEAD = "sa_0_4_vit_l_14_linear.pth"

_AT_ONCE, _ON_GPU = 8, 64
# CLIPs trained by others have the same tensors and another activation: nothing but this field tells them apart.
_WANTED = {"image_size": SIDE, "patch_size": 14, "hidden_act": "quick_gelu"}
_PUBLISHED = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "projection_dim": 768}
_SMALLEST = 768
"""Width of the smallest CLIP that is published; what is narrower can be none of them."""
_TEXT_HALF = ("text_model.", "text_projection.", "logit_scale")
_CONSTANTS = ("vision_model.embeddings.position_ids",)
"""Counted from 0 up, in files of old versions of transformers."""


@networks.register("clip-laion", what="aesthetic", half=True)
class ClipLaion:
    """CLIP ViT-L/14 image features (n, 768) and LAION's linear head.

    `metrics.learned.aesthetic` makes scores of them. With random weights of its size, float16 moved scores by
    2e-4 at most, bfloat16 by 2e-3. Source: Radford et al. 2021; LAION aesthetic predictor; MIND, visual quality.

    Args:
        folder: Folder with config.json and model.safetensors of the whole CLIP as published by OpenAI
            (clip-vit-large-patch14), whose text half is left out, and sa_0_4_vit_l_14_linear.pth of LAION.
        device: Device and precision.

    Attributes:
        weight: (768,) float32 of the head.
        bias: Of the head.

    Raises:
        DataError: Files of another network, or a head that does not fit.
    """

    name = "clip-laion"
    version = 1

    def __init__(self, folder: Path, device: ComputeDevice) -> None:
        self._model = load_pretrained(
            "CLIPVisionModelWithProjection",
            folder,
            device,
            what=f"'{self.name}'",
            ignored_prefixes=(*_TEXT_HALF, *_CONSTANTS),
            also=("clip",),
        )
        self._device = device
        config = self._model.config
        for field, value in (_WANTED | (_PUBLISHED if config.hidden_size >= _SMALLEST else {})).items():
            if (found := getattr(config, field)) != value:
                raise DataError(
                    f"{folder / CONFIG}: not CLIP ViT-L/14, whose {field} is {value}: this one's is {found}"
                )
        self.weight, self.bias = _head(folder / HEAD, config.projection_dim)

    def answer(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Compute features (n, channels) float32, not normalised, of frames (n, 224, 224, 3) float32, normalised.

        Raises:
            ShapeError: Other shapes.
        """
        frames = square_frames(arrays["frames"], SIDE)
        sides = (self._model.config.projection_dim,)
        batches: dict[str, Any] = {"at_once": _AT_ONCE, "on_gpu": _ON_GPU}
        return {"features": framewise(frames, self._device, self._features, sides=sides, **batches)}

    def _features(self, pixels: Any) -> Any:
        return self._model(pixel_values=pixels.to(self._device.dtype)).image_embeds


def _head(path: Path, channels: int) -> tuple[NDArray[np.float32], float]:
    held = expect(read_tensors(path), {"weight": (1, channels), "bias": (1,)}, path)
    return held["weight"][0], float(held["bias"][0])
