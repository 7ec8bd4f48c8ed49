"""LTX, image to video."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from worldgauge_train.nets.brought import Brought, kinds

MOST_PLACES = 4096
"""Places of a latent video at which the shift of its schedule is largest."""


@kinds.register("ltx")
class Ltx(Brought):
    """Places stand in a row, each with a level of its own; frame 0 stands in place, at level 0. Text goes to T5."""

    classes: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("LTXImageToVideoPipeline", "LTXPipeline"), "LTXImageToVideoPipeline"
    )
    modules: ClassVar[Mapping[str, str]] = {**Brought.modules, "ffn.0": "ff.net.0.proj", "ffn.2": "ff.net.2"}
    is_first_shown = True

    @property
    def stride(self) -> int:
        """See `Brought`."""
        return int(self.pipe.vae_temporal_compression_ratio)

    @property
    def multiple(self) -> int:
        """See `Brought`."""
        return int(self.pipe.vae_spatial_compression_ratio * self.pipe.transformer_spatial_patch_size)

    def entry(self, net: Any) -> Any:
        """See `Brought`."""
        return net.time_embed.emb.timestep_embedder

    def latents(self, pixels: Tensor) -> Tensor:
        """See `Brought`."""
        vae = self.pipe.vae
        made = vae.encode(pixels.transpose(1, 2).to(vae.dtype)).latent_dist.mode().float()
        found: Tensor = self.pipe._normalize_latents(made, vae.latents_mean, vae.latents_std)
        return found

    def said(self, prompt: str) -> Any:
        """Embedding and mask of one prompt."""
        return self.pipe.encode_prompt(prompt=[prompt], do_classifier_free_guidance=False)[:2]

    def levels(self, count: int, latents: Tensor, shift: float, generator: torch.Generator) -> Tensor:
        """Uniform before a shift that grows with the number of places, as the pipeline's schedule has it."""
        known, places = self.pipe.scheduler.config, math.prod(latents.shape[2:])
        low, high = known.get("base_shift", 0.5), known.get("max_shift", 1.15)
        first, last = known.get("base_image_seq_len", 256), known.get("max_image_seq_len", MOST_PLACES)
        grown = math.exp(low + (high - low) * (places - first) / (last - first))
        return super().levels(count, latents, shift or grown, generator)

    def guess(self, net: Any, x: Tensor, t: Tensor, prompts: Sequence[str], given: Any) -> Tensor:
        """See `Brought`."""
        patches = self.pipe.transformer_spatial_patch_size, self.pipe.transformer_temporal_patch_size
        frames, height, width = x.shape[2:]
        x = torch.cat([given, x[:, :, 1:]], 2)
        is_drawn = torch.ones_like(x[:, :1])
        is_drawn[:, :, 0] = 0
        level = t[:, None] * self.pipe.scheduler.config.num_train_timesteps
        embedded, mask = (torch.cat(part) for part in zip(*self.words(prompts), strict=True))
        space = self.pipe.vae_spatial_compression_ratio
        guess = net(
            hidden_states=self.pipe._pack_latents(x, *patches).to(net.dtype),
            encoder_hidden_states=embedded.to(net.dtype),
            timestep=level * self.pipe._pack_latents(is_drawn, *patches)[..., 0],
            encoder_attention_mask=mask,
            num_frames=frames,
            height=height,
            width=width,
            rope_interpolation_scale=(self.stride / self.fps, space, space),
            return_dict=False,
        )[0]
        found: Tensor = self.pipe._unpack_latents(guess, frames, height, width, *patches)
        return found

    def given(self, pixels: Tensor, latents: Tensor) -> Any:
        """The first latent frame."""
        return latents[:, :, :1]

    def call(self, guidance: float | None) -> dict[str, Any]:
        """See `Brought`."""
        return {**super().call(guidance), "frame_rate": int(self.fps)}
