"""Wan 2.1 and 2.2, image to video: 14B with CLIP, A14B with two experts, and TI2V-5B."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from worldgauge.core.errors import UsageError
from worldgauge_train.nets.brought import Brought, kinds, picture_of


def scaled(vae: Any, latents: Tensor) -> Tensor:
    """Latents of the autoencoder of Wan as its networks have them: less the mean, over the deviation, by channel.

    Args:
        vae: The autoencoder.
        latents: (B, C, F, h, w).
    """
    mean, deviation = (
        torch.tensor(numbers).to(latents)[:, None, None, None]
        for numbers in (vae.config.latents_mean, vae.config.latents_std)
    )
    return (latents - mean) / deviation


def encoded(vae: Any, pixels: Tensor) -> Tensor:
    """The likeliest latents of frames.

    Args:
        vae: The autoencoder of Wan.
        pixels: (B, T, 3, H, W).

    Returns:
        (B, C, F, h, w) float32.
    """
    latents: Tensor = vae.encode(pixels.transpose(1, 2).to(vae.dtype)).latent_dist.mode()
    return scaled(vae, latents.float())


@kinds.register("wan")
class Wan(Brought):
    """Frame 0 enters as further channels (its latents in a video grey elsewhere, and a mask), in TI2V-5B in place.

    Wan 2.1 shows it to CLIP besides. Text goes to UMT5.
    """

    classes: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("WanImageToVideoPipeline", "WanPipeline"), "WanImageToVideoPipeline"
    )

    def __init__(self, pipe: Any) -> None:
        super().__init__(pipe)
        self.is_first_shown = self.shows_in_place(pipe)
        if not self.is_first_shown and self.nets[0].config.in_channels == pipe.vae.config.z_dim:
            raise UsageError(f"this {type(pipe).__name__} is told words alone: no picture enters its network")

    @staticmethod
    def shows_in_place(pipe: Any) -> bool:
        """Whether frame 0 stands among the latent frames, at level 0."""
        return bool(pipe.config.get("expand_timesteps"))

    @property
    def nets(self) -> list[Any]:
        """Of A14B the one for much noise, then the one for little."""
        return [net for net in (self.pipe.transformer, getattr(self.pipe, "transformer_2", None)) if net is not None]

    def net_at(self, t: Tensor) -> Any:
        """The expert whose levels these are. A batch has levels on one side of the border; see `levels`."""
        border = self.pipe.config.get("boundary_ratio")
        return self.nets[0] if border is None or bool((t >= border).all()) else self.nets[-1]

    def levels(self, count: int, latents: Tensor, shift: float, generator: torch.Generator) -> Tensor:
        """As of all; where two experts share the levels, all of a batch are of the one that the first falls to."""
        t = super().levels(count, latents, shift, generator)
        border = self.pipe.config.get("boundary_ratio")
        if border is None:
            return t
        return t.clamp(min=border) if t[0] >= border else t.clamp(max=border * (1 - 1e-6))

    def before(self, net: Any, values: dict[str, Any]) -> dict[str, Any]:
        """A level for every place in place of one for all, as TI2V-5B has them anyhow."""
        hidden, patch = values["hidden_states"], net.config.patch_size
        if values["timestep"].ndim == 1:
            places = [side // step for side, step in zip(hidden.shape[2:], patch, strict=True)]
            spread = values["timestep"][:, None].expand(-1, places[0] * places[1] * places[2])
            values = {**values, "timestep": spread}
        return values

    def latents(self, pixels: Tensor) -> Tensor:
        """See `Brought`."""
        return encoded(self.pipe.vae, pixels)

    def given(self, pixels: Tensor, latents: Tensor) -> Any:
        """What the pipeline itself makes of the first frame, and what CLIP sees of it."""
        made = [self._shown(one, part) for one, part in zip(pixels[:, :1], latents, strict=True)]
        seen = None
        if self.nets[0].config.image_dim is not None:
            seen = torch.cat([self.pipe.encode_image(picture_of(one), pixels.device) for one in pixels[:, 0]])
        return torch.cat(made), seen

    def _shown(self, first: Tensor, latents: Tensor) -> Tensor:
        """Condition of one clip, (1, C, F, h, w); in TI2V-5B of its first latent frame alone."""
        _, frames, h, w = latents.shape
        scale, length = int(self.pipe.vae_scale_factor_spatial), 1 + (frames - 1) * self.stride
        found: tuple[Tensor, ...] = self.pipe.prepare_latents(
            first, 1, len(latents), h * scale, w * scale, length, torch.float32, first.device, latents=latents[None]
        )
        return found[1].float()

    def guess(self, net: Any, x: Tensor, t: Tensor, prompts: Sequence[str], given: Any) -> Tensor:
        """See `Brought`."""
        shown, seen = given
        level = t * self.pipe.scheduler.config.num_train_timesteps
        if self.is_first_shown:
            x = torch.cat([shown[:, :, :1], x[:, :, 1:]], 2)
            patch = net.config.patch_size
            is_drawn = torch.ones_like(x[:, 0, :, :: patch[1], :: patch[2]])
            is_drawn[:, 0] = 0
            level = (level[:, None, None, None] * is_drawn).flatten(1)
        else:
            x = torch.cat([x, shown], 1)
        values = {} if seen is None else {"encoder_hidden_states_image": seen.to(net.dtype)}
        guess: Tensor = net(
            hidden_states=x.to(net.dtype),
            timestep=level,
            encoder_hidden_states=torch.cat(self.words(prompts)).to(net.dtype),
            return_dict=False,
            **values,
        )[0]
        return guess
