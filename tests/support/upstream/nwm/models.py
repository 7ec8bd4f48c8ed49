import torch


class CDiT(torch.nn.Module):
    """Repeats the latent of the last frame, times `gain`; checks what it is told."""

    def __init__(self, context_size, input_size, in_channels):
        super().__init__()
        self.size = (1, context_size, in_channels, input_size, input_size)
        self.gain = torch.nn.Parameter(torch.zeros(()))
        self.told = []

    def forward(self, x, t, y, x_cond, rel_t):
        assert x_cond.shape == self.size
        assert x.shape == (1, *self.size[2:])
        assert y.shape == (1, 3)
        assert rel_t.tolist() == [1 / 128]
        self.told.append(y[0].tolist())
        return x_cond[:, -1] * self.gain + 0.001 * x


CDiT_models = {"CDiT-L/2": CDiT}
