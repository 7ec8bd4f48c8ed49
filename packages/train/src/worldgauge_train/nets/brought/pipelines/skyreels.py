"""SkyReels-V2, image to video: MIND-World's base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from worldgauge_train.nets.brought import kinds
from worldgauge_train.nets.brought.pipelines.wan import Wan


@kinds.register("skyreels-v2")
class SkyReels(Wan):
    """As Wan 2.1, with a level for every latent frame. "Diffusion forcing" shows frame 0 in place, at level 0."""

    classes: ClassVar[Mapping[str, str]] = {
        name: name for name in ("SkyReelsV2ImageToVideoPipeline", "SkyReelsV2DiffusionForcingImageToVideoPipeline")
    }

    @staticmethod
    def shows_in_place(pipe: Any) -> bool:
        """See `Wan`."""
        return "DiffusionForcing" in type(pipe).__name__

    def before(self, net: Any, values: dict[str, Any]) -> dict[str, Any]:
        """A level for every latent frame in place of one for all."""
        if values["timestep"].ndim == 1:
            frames = values["hidden_states"].shape[2] // net.config.patch_size[0]
            spread = values["timestep"][:, None].expand(-1, frames)
            values = {**values, "timestep": spread, "enable_diffusion_forcing": True}
        return values

    def given(self, pixels: Tensor, latents: Tensor) -> Any:
        """See `Wan`."""
        return (latents[:, :, :1], None) if self.is_first_shown else super().given(pixels, latents)

    def guess(self, net: Any, x: Tensor, t: Tensor, prompts: Sequence[str], given: Any) -> Tensor:
        """See `Brought`."""
        if not self.is_first_shown:
            return super().guess(net, x, t, prompts, given)
        x = torch.cat([given[0], x[:, :, 1:]], 2)
        level = (t * self.pipe.scheduler.config.num_train_timesteps)[:, None].repeat(1, x.shape[2])
        level[:, 0] = 0
        guess: Tensor = net(
            hidden_states=x.to(net.dtype),
            timestep=level,
            encoder_hidden_states=torch.cat(self.words(prompts)).to(net.dtype),
            enable_diffusion_forcing=True,
            fps=[0 if int(self.fps) == 16 else 1] * len(x),
            return_dict=False,
        )[0]
        return guess

    def call(self, guidance: float | None) -> dict[str, Any]:
        """See `Brought`."""
        return {**super().call(guidance), **({"fps": int(self.fps)} if self.is_first_shown else {})}
