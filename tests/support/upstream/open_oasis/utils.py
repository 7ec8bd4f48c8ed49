import torch


def sigmoid_beta_schedule(timesteps):
    """Betas (timesteps,) that leave a share of signal falling evenly from almost 1 to almost 0."""
    kept = torch.linspace(0.9999, 0.0001, timesteps, dtype=torch.float64)
    before = torch.cat([torch.ones(1, dtype=torch.float64), kept[:-1]])
    return 1 - kept / before
