from types import SimpleNamespace

import torch


class AutoencoderKL(torch.nn.Module):
    """The mean colour of each patch of 20x20 pixels in the first three of 16 channels, row by row."""

    patch_size = 20

    def __init__(self):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.zeros(()))

    def encode(self, x):
        assert x.shape[1:] == (3, 360, 640)
        colours = torch.nn.functional.avg_pool2d(x, 20).flatten(2).transpose(1, 2) * self.gain
        return SimpleNamespace(mean=torch.nn.functional.pad(colours, (0, 13)))

    def decode(self, z):
        assert z.shape[1:] == (576, 16)
        grid = z[..., :3].transpose(1, 2).reshape(-1, 3, 18, 32)
        return grid.repeat_interleave(20, 2).repeat_interleave(20, 3)


VAE_models = {"vit-l-20-shallow-encoder": AutoencoderKL}
