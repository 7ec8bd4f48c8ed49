from dataclasses import dataclass

import torch


@dataclass
class InnerModelConfig:
    img_channels: int
    num_steps_conditioning: int
    cond_channels: int
    depths: list
    channels: list
    attn_depths: list
    num_actions: int | None = None
    is_upsampler: bool | None = None


@dataclass
class DenoiserConfig:
    inner_model: InnerModelConfig
    sigma_data: float
    sigma_offset_noise: float
    noise_previous_obs: bool
    upsampling_factor: int | None = None


@dataclass
class DiffusionSamplerConfig:
    num_steps_denoising: int
    sigma_min: float = 2e-3
    sigma_max: float = 5
    rho: int = 7
    order: int = 1
    s_churn: float = 0
    s_tmin: float = 0
    s_tmax: float = float("inf")
    s_noise: float = 1
    s_cond: float = 0


class Denoiser(torch.nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.gain = torch.nn.Parameter(torch.zeros(()))


class DiffusionSampler:
    """Repeats the last frame it is given, times the denoiser's gain, with a little noise of torch's generator."""

    def __init__(self, denoiser, cfg):
        self.denoiser, self.cfg = denoiser, cfg

    @torch.no_grad()
    def sample(self, prev_obs, prev_act):
        inner = self.denoiser.cfg.inner_model
        upsampler = self.denoiser.cfg.upsampling_factor is not None
        size = (180, 320) if upsampler else (36, 64)
        assert prev_obs.shape == (1, inner.num_steps_conditioning + upsampler, 3, *size)
        if upsampler:
            assert prev_act is None
        else:
            assert prev_act.shape == (1, inner.num_steps_conditioning, 24)
            assert set(prev_act.unique().tolist()) <= {0, 1}
        x = prev_obs[:, -1] * self.denoiser.gain + 0.01 * torch.randn(1, 3, *size)
        return x, [x]
