"""Embeddings of frames: CLIP ViT-L/14 with the head of LAION for the aesthetic score, and DINO."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from worldgauge.core.errors import DataError
from worldgauge.perception.networks import ComputeDevice, networks
from worldgauge.perception.networks._pretrained import CONFIG, framewise, load_pretrained, square_frames
from worldgauge.weights import expect, read_tensors

_CLIP_SIDE = 224
HEAD = "sa_0_4_vit_l_14_linear.pth"

_AT_ONCE, _ON_GPU = 8, 64
# CLIPs trained by others have the same tensors and another activation: nothing but this field tells them apart.
_CLIP_WANTED = {"image_size": _CLIP_SIDE, "patch_size": 14, "hidden_act": "quick_gelu"}
_CLIP_PUBLISHED = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "projection_dim": 768}
_CLIP_SMALLEST = 768
"""Width of the smallest CLIP that is published; what is narrower can be none of them."""
_TEXT_HALF = ("text_model.", "text_projection.", "logit_scale")
_CONSTANTS = ("vision_model.embeddings.position_ids",)
"""Counted from 0 up, in files of old versions of transformers."""


@networks.register("clip-laion", what="aesthetic", half=True)
class ClipLaion:
    """CLIP ViT-L/14 image features (n, 768) and LAION's linear head: `weight` (768,) and `bias`.
    With random weights of its size, float16 moved scores by 2e-4 at most, bfloat16 by 2e-3. `folder` holds OpenAI's
    whole clip-vit-large-patch14 and LAION's sa_0_4_vit_l_14_linear.pth. Source: Radford et al. 2021; MIND, visual
    quality."""

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
        for field, value in (_CLIP_WANTED | (_CLIP_PUBLISHED if config.hidden_size >= _CLIP_SMALLEST else {})).items():
            if (found := getattr(config, field)) != value:
                raise DataError(
                    f"{folder / CONFIG}: not CLIP ViT-L/14, whose {field} is {value}: this one's is {found}"
                )
        shapes = {"weight": (1, config.projection_dim), "bias": (1,)}
        head = expect(read_tensors(folder / HEAD), shapes, folder / HEAD)
        self.weight, self.bias = head["weight"][0], float(head["bias"][0])

    def answer(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Compute features (n, channels) float32, not normalised, of frames (n, 224, 224, 3) float32, normalised."""
        frames = square_frames(arrays["frames"], _CLIP_SIDE)
        sides = (self._model.config.projection_dim,)
        batches: dict[str, Any] = {"at_once": _AT_ONCE, "on_gpu": _ON_GPU}
        return {"features": framewise(frames, self._device, self._features, sides=sides, **batches)}

    def _features(self, pixels: Any) -> Any:
        return self._model(pixel_values=pixels.to(self._device.dtype)).image_embeds


_DINO_SIDE = 224
REGISTERS = 4

_DINO_PUBLISHED = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12}
_DINO_SMALLEST = 384
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
        if config.hidden_size >= _DINO_SMALLEST:
            wanted |= _DINO_PUBLISHED
        for field, value in wanted.items():
            if (found := getattr(config, field)) != value:
                raise DataError(
                    f"{folder / CONFIG}: not '{self.name}', whose {field} is {value}: this one's is {found}"
                )

    def answer(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Normalised frames (n, 224, 224, 3) -> tokens (n, tokens, channels): class, four registers, patches by row."""
        frames = square_frames(arrays["frames"], _DINO_SIDE)
        sides = (1 + REGISTERS + (_DINO_SIDE // self.patch_px) ** 2, self._model.config.hidden_size)
        return {"tokens": framewise(frames, self._device, self._tokens, sides=sides, at_once=_AT_ONCE, on_gpu=_ON_GPU)}

    def _tokens(self, pixels: Any) -> Any:
        return self._model(pixel_values=pixels.to(self._device.dtype)).last_hidden_state


@networks.register("dinov3-b16", what="dino", half=True)
class DinoV3(_Dino):
    """DINOv3 ViT-B/16: tokens (n, 201, 768).
    With random weights of its size, float16 moved patch tokens of length 1 by 0.0013, bfloat16 by 0.010. By `dino_mse`
    that is 2e-9 and 1.3e-7, where two frames were 1.7e-3 apart. `folder` holds Meta's dinov3-vitb16-pretrain-lvd1689m.
    Source: Siméoni et al. 2025; MIND."""

    name = "dinov3-b16"
    model_class = "DINOv3ViTModel"
    patch_px = 16


@networks.register("dinov2-b14", what="dino", half=True)
class DinoV2(_Dino):
    """DINOv2 ViT-B/14 with registers, whose weights need no account: tokens (n, 261, 768).
    `folder` holds Meta's dinov2-with-registers-base. Source: Oquab et al. 2023; Darcet et al. 2023."""

    name = "dinov2-b14"
    model_class = "Dinov2WithRegistersModel"
    patch_px = 14
