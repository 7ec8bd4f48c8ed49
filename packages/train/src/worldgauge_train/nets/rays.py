"""Rays of the places of a frame, as another pose sees them."""

from __future__ import annotations

import torch
from torch import Tensor

RAY = 6
"""Numbers of a ray."""


def rays(relative: Tensor, grid: tuple[int, int]) -> Tensor:
    """Pluecker coordinates of the rays through the places of frames: direction d, and moment p x d of its camera at p.

    Networks are not told of lenses, so that of all frames sees 90 degrees from side to side; rows of actions are told
    in multiples of what they are with that one, too.

    Args:
        relative: (..., 5) poses of the frames as seen from another: metres forward, to the left and up, yaw and pitch.
        grid: (rows, columns) of places.

    Returns:
        (..., rows x columns, 6), in the other's frame: forward, left, up.
    """
    down, across = grid
    columns, rows = (torch.arange(n, device=relative.device, dtype=relative.dtype) + 0.5 for n in (across, down))
    left = (1 - 2 * columns / across).expand(down, across).flatten()
    up = ((1 - 2 * rows / down) * down / across)[:, None].expand(down, across).flatten()
    length = (1 + left.square() + up.square()).sqrt()
    yaw, pitch = relative[..., 3, None], relative[..., 4, None]
    ahead = pitch.cos() - up * pitch.sin()  # tilted up first, then turned
    direction = (
        torch.stack(
            [
                yaw.cos() * ahead - yaw.sin() * left,
                yaw.sin() * ahead + yaw.cos() * left,
                pitch.sin() + up * pitch.cos(),
            ],
            -1,
        )
        / length[:, None]
    )
    place = relative[..., None, :3].expand(direction.shape)
    return torch.cat([direction, torch.linalg.cross(place, direction)], -1)
