"""CausalInferencePipeline: goes on from what it was shown, brighter by 0.01 for each frame that a key is held."""

import numpy as np
import torch

CALLS = []


class CausalInferencePipeline:
    def __init__(self, args, device="cuda", generator=None, vae_decoder=None):
        self.num_frame_per_block = args["num_frame_per_block"]
        self.generator, self.vae_decoder = generator, vae_decoder

    def to(self, device=None, dtype=None):
        assert self.generator.states is not None, "the checkpoint is loaded before"
        return self

    def inference(
        self, noise, conditional_dict, initial_latent=None, return_latents=False, mode="universal", profile=False
    ):
        assert noise.shape[1] == 16
        new = noise.shape[2]
        assert noise.shape == (1, 16, new, 44, 80)
        assert new % self.num_frame_per_block == 0
        before = initial_latent.shape[2] if initial_latent is not None else 0
        assert before % self.num_frame_per_block == 0
        total, frames = before + new, 1 + 4 * (before + new - 1)
        for name, value in conditional_dict.items():
            assert value.dtype == torch.bfloat16, f"{name} is {value.dtype}, the network bfloat16"
        given = {name: value.float().cpu().numpy() for name, value in conditional_dict.items()}
        assert given["cond_concat"].shape == (1, 20, total, 44, 80)
        assert given["visual_context"].shape == (1, 257, 1280)
        assert given["mouse_cond"].shape == (1, frames, 2)
        assert given["keyboard_cond"].shape == (1, frames, 4)
        assert given["cond_concat"][0, :4].sum() == 4 * 44 * 80, "only the first latent frame is known"
        assert noise.dtype == torch.bfloat16
        CALLS.append({**given, "noise": noise.float().cpu().numpy()})
        start = given["cond_concat"][:, 4:, :1] if initial_latent is None else initial_latent.float().cpu().numpy()
        held = np.cumsum(given["keyboard_cond"][0, :, 0])[np.maximum(4 * np.arange(total) - 1, 0)]
        held[0] = 0
        drawn = np.repeat(start[:, :, -1:], total, axis=2)
        drawn[:, :3] += 0.01 * (held - held[max(before - 1, 0)])[None, None, :, None, None]
        drawn[:, :3] += 1e-3 * noise.float().cpu().numpy().std()
        if before:
            drawn[:, :, :before] = start
        if return_latents:
            return torch.from_numpy(drawn).to(noise.device)
        cache, videos = [None] * 5, []
        for at in range(before, total, 3):
            block = np.ascontiguousarray(drawn[:, :, at : at + 3].transpose(0, 2, 1, 3, 4))
            video, cache = self.vae_decoder(torch.from_numpy(block).to(torch.float16), *cache)
            videos.append(video)
        return videos
