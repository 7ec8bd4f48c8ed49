"""The encoder: latent frame k is the mean of its frames, and the picture for CLIP."""

import numpy as np
import torch


class _Clip:
    def encode_video(self, video):
        assert video.shape == (1, 3, 1, 352, 640)
        return torch.from_numpy(np.zeros((1, 257, 1280), np.float32)).to(video.device)


class _Wrapper:
    clip = _Clip()

    def requires_grad_(self, _):
        return self

    def eval(self):
        return self

    def to(self, *_):
        return self

    def encode(self, video, device, tiled=False, tile_size=None, tile_stride=None):
        assert tiled
        assert (tile_size, tile_stride) == ([44, 80], [23, 38])
        assert video.dtype == torch.bfloat16
        values = video.float().cpu().numpy()
        batch, colours, frames, height, width = values.shape
        assert (batch, colours, height, width) == (1, 3, 352, 640)
        assert frames % 4 == 1
        small = values.reshape(1, 3, frames, 44, 8, 80, 8).mean((4, 6))
        parts = [small[:, :, :1], *(small[:, :, k : k + 4].mean(2, keepdims=True) for k in range(1, frames, 4))]
        latents = np.concatenate(parts, axis=2)
        out = np.zeros((1, 16, *latents.shape[2:]), np.float32)
        out[:, :3] = latents
        return torch.from_numpy(out).to(device)


def get_wanx_vae_wrapper(path, dtype):
    return _Wrapper()
