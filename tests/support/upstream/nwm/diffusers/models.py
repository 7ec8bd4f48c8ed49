from types import SimpleNamespace

import torch


class AutoencoderKL(torch.nn.Module):
    """Mean colours of 8x8 pixels in three of four channels."""

    @classmethod
    def from_pretrained(cls, name):
        assert name == "stabilityai/sd-vae-ft-ema"
        return cls()

    def encode(self, x):
        assert x.shape[1:] == (3, 224, 224)
        means = torch.nn.functional.pad(torch.nn.functional.avg_pool2d(x, 8), (0, 0, 0, 0, 0, 1))
        return SimpleNamespace(latent_dist=SimpleNamespace(sample=lambda: means))

    def decode(self, z):
        return SimpleNamespace(sample=z[:, :3].repeat_interleave(8, 2).repeat_interleave(8, 3))
