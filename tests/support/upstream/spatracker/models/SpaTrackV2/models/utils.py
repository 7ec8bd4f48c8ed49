import torch


def get_points_on_a_grid(size, extent, center=None, device="cpu"):
    rows, columns = (torch.linspace(side / 64, side - side / 64, size, device=device) for side in extent)
    y, x = torch.meshgrid(rows, columns, indexing="ij")
    return torch.stack([x, y], -1).reshape(1, -1, 2)
