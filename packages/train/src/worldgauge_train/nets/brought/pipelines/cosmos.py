"""Cosmos-Predict2, video to world, from one picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar

import torch
from torch import Tensor

from worldgauge.core.errors import UsageError
from worldgauge_train.nets.brought import Brought, kinds
from worldgauge_train.nets.brought.pipelines.wan import encoded

SHOWN_AT = 0.0001 / 1.0001
"""Level at which the picture is said to be, as the pipeline has it."""


class Unwatched:
    """In place of the makers' guardrail: a frame that it blurs or withholds would be measured as the model's own."""

    def to(self, device: Any) -> Unwatched:
        """The same."""
        return self

    def check_text_safety(self, text: str) -> bool:
        """All texts pass."""
        return True

    def check_video_safety(self, frames: Any) -> Any:
        """All frames pass as they are."""
        return frames


@kinds.register("cosmos-predict2")
class Cosmos(Brought):
    """A level for every latent frame; frame 0 stands in place and in a mask beside. Text goes to T5.

    Its schedule is told in sigma; of x = (1 - t) x0 + t noise with t = sigma / (1 + sigma) its network says noise - x0.
    """

    classes: ClassVar[Mapping[str, str]] = {"Cosmos2VideoToWorldPipeline": "Cosmos2VideoToWorldPipeline"}
    modules: ClassVar[Mapping[str, str]] = {**Brought.modules, "ffn.0": "ff.net.0.proj", "ffn.2": "ff.net.2"}
    parts: ClassVar[Mapping[str, Any]] = {"safety_checker": Unwatched()}
    is_first_shown = True

    def __init__(self, pipe: Any) -> None:
        super().__init__(pipe)
        if pipe.transformer.config.concat_padding_mask and find_spec("torchvision") is None:
            raise UsageError("Cosmos-Predict2 needs a package that fits torch: pip install torchvision")

    def width(self, net: Any) -> int:
        """See `Brought`."""
        return int(net.time_embed.t_embedder.linear_2.out_features)

    def entry(self, net: Any) -> Any:
        """See `Brought`."""
        return net.time_embed.t_embedder

    def latents(self, pixels: Tensor) -> Tensor:
        """See `Brought`."""
        return encoded(self.pipe.vae, pixels) * self.pipe.scheduler.config.sigma_data

    def levels(self, count: int, latents: Tensor, shift: float, generator: torch.Generator) -> Tensor:
        """The logarithm of sigma is normal; a shift multiplies sigma."""
        return torch.sigmoid(torch.randn(count, generator=generator) + torch.tensor(shift or 1.0).log())

    def given(self, pixels: Tensor, latents: Tensor) -> Any:
        """The first latent frame."""
        return latents[:, :, :1]

    def guess(self, net: Any, x: Tensor, t: Tensor, prompts: Sequence[str], given: Any) -> Tensor:
        """See `Brought`."""
        scale = self.pipe.vae_scale_factor_spatial
        x = torch.cat([given, x[:, :, 1:]], 2)
        level = t[:, None, None, None, None].repeat(1, 1, x.shape[2], 1, 1)
        level[:, :, 0] = SHOWN_AT
        is_shown = torch.zeros_like(x[:, :1])
        is_shown[:, :, 0] = 1
        guess: Tensor = net(
            hidden_states=x.to(net.dtype),
            timestep=level.to(net.dtype),
            encoder_hidden_states=torch.cat(self.words(prompts)).to(net.dtype),
            fps=int(self.fps),
            condition_mask=is_shown.to(net.dtype),
            padding_mask=x.new_zeros(1, 1, x.shape[3] * scale, x.shape[4] * scale, dtype=net.dtype),
            return_dict=False,
        )[0]
        return guess

    def call(self, guidance: float | None) -> dict[str, Any]:
        """See `Brought`."""
        return {**super().call(guidance), "fps": int(self.fps)}
