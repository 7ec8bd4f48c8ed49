"""Stable Video Diffusion: World-in-World's cheapest base."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from worldgauge_train.nets.brought import Brought, kinds, picture_of

MEAN, DEVIATION = 0.7, 1.6
"""Of the logarithm of sigma in training (Blattmann et al. 2023, "Stable Video Diffusion", appendix D)."""
NOISE, MOTION = 0.02, 127
"""Noise on the picture that is shown, and the motion bucket: the pipeline's own."""


@kinds.register("svd")
class Svd(Brought):
    """A U-Net of frames: of x = x0 + sigma noise it says v. Frame 0 enters as latents beside every frame.

    CLIP sees it too. There is no text. The embedding of the level is made for all frames at once, so actions are added
    where the residual blocks take it.
    """

    classes: ClassVar[Mapping[str, str]] = {"StableVideoDiffusionPipeline": "StableVideoDiffusionPipeline"}
    modules: ClassVar[Mapping[str, str]] = {**Brought.modules, "ffn.0": "ff.net.0.proj", "ffn.2": "ff.net.2"}
    takes_words = False

    @property
    def nets(self) -> list[Any]:
        """See `Brought`."""
        return [self.pipe.unet]

    @property
    def stride(self) -> int:
        """Every frame is a latent frame."""
        return 1

    @property
    def multiple(self) -> int:
        """See `Brought`."""
        return int(self.pipe.vae_scale_factor * 2 ** (len(self.pipe.unet.config.block_out_channels) - 1))

    def width(self, net: Any) -> int:
        """See `Brought`."""
        return int(net.time_embedding.linear_2.out_features)

    def attach(self, net: Any, added: Callable[[Tensor], Tensor]) -> None:
        """Add to what each residual block takes; see `Brought`."""
        from diffusers.models.resnet import SpatioTemporalResBlock

        def before(
            module: Any, args: tuple[Any, ...], values: dict[str, Any]
        ) -> tuple[tuple[Any, ...], dict[str, Any]]:
            if "temb" in values:
                return args, {**values, "temb": added(values["temb"])}
            return (args[0], added(args[1]), *args[2:]), values

        for module in net.modules():
            if isinstance(module, SpatioTemporalResBlock):
                module.register_forward_pre_hook(before, with_kwargs=True)

    def losses(self, pixels: Tensor, prompts: Sequence[str], shift: float, generator: torch.Generator) -> Tensor:
        """Errors of v; see `Brought`."""
        net, pipe, count = self.pipe.unet, self.pipe, len(pixels)
        with torch.no_grad():
            vae = pipe.vae
            latents = vae.encode(pixels.flatten(0, 1).to(vae.dtype)).latent_dist.mode().float()
            latents = latents.unflatten(0, pixels.shape[:2]) * vae.config.scaling_factor
            first = pixels[:, 0].float()
            spoiled = first + NOISE * torch.randn(first.shape, generator=generator).to(first)
            shown = pipe._encode_vae_image(spoiled, pixels.device, 1, False).float()
            seen = pipe._encode_image([picture_of(one) for one in first], pixels.device, 1, False)
            ids = pipe._get_add_time_ids(int(self.fps) - 1, MOTION, NOISE, net.dtype, count, 1, False)
        sigma = torch.exp(MEAN + DEVIATION * torch.randn(count, generator=generator)).to(latents)
        noise, s = torch.randn(latents.shape, generator=generator).to(latents), sigma[:, None, None, None, None]
        x = (latents + s * noise) / (s.square() + 1).sqrt()
        guess = net(
            torch.cat([x, shown[:, None].expand(-1, x.shape[1], -1, -1, -1)], 2).to(net.dtype),
            0.25 * sigma.log(),
            encoder_hidden_states=seen.to(net.dtype),
            added_time_ids=ids.to(pixels.device),
            return_dict=False,
        )[0]
        wanted = (noise - s * latents) / (s.square() + 1).sqrt()
        return (guess.float() - wanted).square().flatten(1).mean(1)

    def call(self, guidance: float | None) -> dict[str, Any]:
        """See `Brought`."""
        scale = {} if guidance is None else {"min_guidance_scale": guidance, "max_guidance_scale": guidance}
        return {**scale, "fps": int(self.fps), "motion_bucket_id": MOTION, "noise_aug_strength": NOISE}
