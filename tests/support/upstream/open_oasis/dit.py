import torch
from utils import sigmoid_beta_schedule


class DiT(torch.nn.Module):
    """Predicts the velocity that leads to the frame before the new one, times `gain`."""

    max_frames = 32

    def __init__(self):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.zeros(()))
        self.register_buffer("kept", torch.cumprod(1 - sigmoid_beta_schedule(1000), 0).float(), persistent=False)

    def forward(self, x, t, external_cond):
        frames = x.shape[1]
        assert x.shape == (1, frames, 16, 18, 32)
        assert frames <= self.max_frames
        assert t.shape == (1, frames)
        assert t.dtype == torch.long
        assert external_cond.shape == (1, frames, 25)
        kept = self.kept[t[0, -1]]
        clean = x[:, -2] * self.gain
        v = torch.zeros_like(x)
        v[:, -1] = (kept.sqrt() * x[:, -1] - clean) / (1 - kept).sqrt()
        return v


DiT_models = {"DiT-S/2": DiT}
