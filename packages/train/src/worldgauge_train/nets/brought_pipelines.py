"""The pipelines of diffusers that can be brought, one class each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar

import torch
from torch import Tensor

from worldgauge.core.errors import UsageError
from worldgauge_train.nets.brought import Brought, kinds, picture_of


def scaled(vae: Any, latents: Tensor) -> Tensor:
    """Latents (B, C, F, h, w) of Wan's autoencoder as its networks have them: standardised per channel."""
    mean, deviation = (
        torch.tensor(numbers).to(latents)[:, None, None, None]
        for numbers in (vae.config.latents_mean, vae.config.latents_std)
    )
    return (latents - mean) / deviation


def encoded(vae: Any, pixels: Tensor) -> Tensor:
    """The modes of the latents (B, C, F, h, w) float32 of frames (B, T, 3, H, W), by the autoencoder of Wan."""
    latents: Tensor = vae.encode(pixels.transpose(1, 2).to(vae.dtype)).latent_dist.mode()
    return scaled(vae, latents.float())


@kinds.register("wan")
class Wan(Brought):
    """Frame 0 enters as further channels (its latents in a video grey elsewhere, and a mask), in TI2V-5B in place.
    Wan 2.1 shows it to CLIP besides. Text goes to UMT5."""

    classes: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("WanImageToVideoPipeline", "WanPipeline"), "WanImageToVideoPipeline"
    )

    def __init__(self, pipe: Any) -> None:
        super().__init__(pipe)
        self.is_first_shown = self.shows_in_place(pipe)
        if not self.is_first_shown and self.nets[0].config.in_channels == pipe.vae.config.z_dim:
            raise UsageError(f"this {type(pipe).__name__} is conditioned on text only: no image enters its network")

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
    Its schedule has sigma: of x = (1 - t) x0 + t noise with t = sigma / (1 + sigma), its network predicts noise -
    x0."""

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


MEAN, DEVIATION = 0.7, 1.6
"""Of the logarithm of sigma in training (Blattmann et al. 2023, "Stable Video Diffusion", appendix D)."""
NOISE, MOTION = 0.02, 127
"""Noise on the picture that is shown, and the motion bucket: the pipeline's own."""


@kinds.register("svd")
class Svd(Brought):
    """A U-Net of frames: of x = x0 + sigma noise it says v. Frame 0 enters as latents beside every frame.
    CLIP sees it too; there is no text. The level embedding is made for all frames at once, so actions are added where
    the residual blocks take it."""

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
