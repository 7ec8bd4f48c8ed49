"""Pixel metrics of many pairs of frames at once, on tensors of torch (extra `torch`), wherever these lie.

The same definitions as the CPU's kernels (`metrics.frame_pairs`, `metrics.psnr_ssim`, `perception.instances`), which
are the ones that scores come from unless a device is asked for. Values differ from theirs in the last digits of float32
only; whole numbers, such as the MSE of uint8 frames, do not differ. torch may not round products in convolutions to
fewer bits (TF32): `perception.score_device` sees to that.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.metrics._bilinear import places
from worldgauge.metrics._ssim import WINDOW, WINDOW_TAPS

_RADIUS = WINDOW // 2
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2


def fitted(frames: Any, rows: int, columns: int, top: int, left: int, size: tuple[int, int]) -> Any:
    """Part of frames (n, h, w, 3) on another grid, (n, 3, height, width): `_bilinear.resample` of each."""
    width, height = size
    lines = frames.permute(0, 3, 1, 2).float()
    above, below, parts = _places_on(lines.device, frames.shape[1], rows, top, height)
    lower = lines[:, :, above]
    lines = lower + parts[:, None] * (lines[:, :, below] - lower)
    if columns != frames.shape[2]:
        before, after, shares = _places_on(lines.device, frames.shape[2], columns, left, width)
        nearer = lines[..., before]
        lines = nearer + shares * (lines[..., after] - nearer)
    else:
        lines = lines[..., left : left + width]
    return (lines / 255).clamp_(max=1)


def squared_errors_and_ssim(x: Any, y: Any) -> tuple[Any, Any]:
    """(n,) squared differences and SSIM of pairs (n, 3, H, W) in [0, 1], as `_ssim.squared_error_and_ssim` has them."""
    import torch

    apart, together = (x - y) * 255, (x + y) * 255
    squared = _mean((x - y).square_())
    mirrored = torch.nn.functional.pad
    apart, together = (mirrored(each, (_RADIUS,) * 4, mode="reflect") for each in (apart, together))
    similar = _mean(_ssim_map(apart, together, least_spread=0.0))
    return squared, torch.where(squared == 0, torch.ones_like(similar), similar)


def ssim_inside(a: Any, b: Any) -> Any:
    """(n,) SSIM over the windows that fit in frames (n, H, W, 3) uint8: `metrics.psnr_ssim.ssim_table` of each pair."""
    import torch

    if a.shape != b.shape or min(a.shape[1:3]) < WINDOW:
        raise ShapeError(f"frames need one shape, {WINDOW} pixels a side or more: {tuple(a.shape)}, {tuple(b.shape)}")
    x, y = (each.permute(0, 3, 1, 2).float() for each in (a, b))
    similar = _mean(_ssim_map(x - y, x + y, least_spread=None))
    same = (a == b).flatten(1).all(1)
    return torch.where(same, torch.ones_like(similar), similar)


def squared_errors(a: Any, b: Any) -> Any:
    """(n,) squared differences of frames (n, H, W, 3) uint8, from exact sums: `metrics.psnr_ssim.mse` of each pair."""
    import torch

    apart = (a.to(torch.int32) - b.to(torch.int32)).square_().flatten(1)
    return apart.sum(1, dtype=torch.int64).double() / apart.shape[1]


def resized(frames: Any, width: int, height: int) -> Any:
    """Frames (n, h, w, 3) uint8 at another size: `core.video.resize` of each, except for one level in 3 of 1,000
    values. Area average when no side grows, else bilinear about pixel centres."""
    import torch

    rows, columns = frames.shape[1:3]
    if (columns, rows) == (width, height):
        return frames
    lines = frames.permute(0, 3, 1, 2).to(torch.float32)
    if width <= columns and height <= rows:
        if (columns, rows) == (2 * width, 2 * height):  # OpenCV has a kernel for halves, which rounds up
            sums = lines.unflatten(3, (width, 2)).sum(4).unflatten(2, (height, 2)).sum(3)
            found = ((sums + 2) / 4).floor_()
        else:
            across, down = (_area(lines.device, *pair) for pair in ((columns, width), (rows, height)))
            found = (down @ (lines @ across.T)).round_()
    else:
        before, after, shares = _places_on(lines.device, columns, width, 0, width)
        above, below, parts = _places_on(lines.device, rows, height, 0, height)
        # OpenCV's own whole numbers, in steps of 1/2048, so that what it rounds down is rounded down here.
        shares, parts = (each.mul(2048).round_().int() for each in (shares, parts))
        whole = lines.int()
        whole = (whole[..., before] * (2048 - shares) + whole[..., after] * shares) >> 4
        upper, lower = whole[:, :, above] * (2048 - parts)[:, None] >> 16, whole[:, :, below] * parts[:, None] >> 16
        found = upper + lower + 2 >> 2
    return found.clamp_(0, 255).to(torch.uint8).permute(0, 2, 3, 1)


def label_sums(category: Any, instance: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Area and coordinate sums of each pair of category and instance number in label images (n, H, W), category 0
    excluded. Returns sorted keys (k, 3): image, category, instance; and (k, 3): area, sum of columns, sum of rows."""
    import torch

    n, height, width = category.shape
    codes = torch.arange(n, device=category.device)[:, None, None] << 32 | category.long() << 16 | instance.long()
    known, place = torch.unique(codes, return_inverse=True)
    columns = torch.arange(width, device=codes.device).expand_as(codes)
    rows = torch.arange(height, device=codes.device)[:, None].expand_as(codes)
    sums = torch.zeros(3, len(known), dtype=torch.int64, device=codes.device)
    for one, values in zip(sums, (torch.ones_like(codes), columns, rows), strict=True):
        one.index_add_(0, place.flatten(), values.flatten())
    keys, found = known.cpu().numpy(), sums.T.cpu().numpy()
    parts = np.stack([keys >> 32, keys >> 16 & 0xFFFF, keys & 0xFFFF], -1)
    shown = parts[:, 1] > 0
    return parts[shown], found[shown]


def _ssim_map(apart: Any, together: Any, least_spread: float | None) -> Any:
    """SSIM of every window, from a - b and a + b (n, 3, H, W), on the scale of 255; see `metrics._ssim`.
    Both are taken about whole numbers near their means, so that squares and their rounding stay small."""
    centre_d, centre_s = (each.mean((1, 2, 3), keepdim=True).round() for each in (apart, together))
    d, s = apart - centre_d, together - centre_s
    mean_d, mean_s = _weighted(d), _weighted(s)
    spread_d, spread_s = _weighted(d.square_()) - mean_d.square(), _weighted(s.square_()) - mean_s.square()
    if least_spread is not None:
        spread_d, spread_s = spread_d.clamp_(min=least_spread), spread_s.clamp_(min=least_spread)
    mean_d, mean_s = (mean_d + centre_d).square_(), (mean_s + centre_s).square_()
    light, contrast = (mean_s + mean_d) * 0.5 + _C1, (spread_s + spread_d) * 0.5 + _C2
    return (light - mean_d) * (contrast - spread_d) / (light * contrast)


def _weighted(maps: Any) -> Any:
    """Gaussian mean about every pixel whose window fits in the map: (n, 3, H, W) to (n, 3, H - 10, W - 10)."""
    import torch

    taps = torch.from_numpy(WINDOW_TAPS).to(maps.device)
    convolved = torch.nn.functional.conv2d
    flat = maps.flatten(0, 1)[:, None]
    return convolved(convolved(flat, taps[None, None, :, None]), taps[None, None, None, :]).unflatten(
        0, maps.shape[:2]
    )[:, :, 0]


def _mean(maps: Any) -> Any:
    """(n,) float64 means over all but the first axis."""
    import torch

    return maps.flatten(1).mean(1, dtype=torch.float64)


def _places_on(device: Any, n: int, grid: int, skipped: int, count: int) -> tuple[Any, Any, Any]:
    """`places` as tensors: indices before and after, and the share of the latter."""
    import torch

    before, after, share = (torch.from_numpy(each).to(device) for each in places(n, grid, skipped, count))
    return before.long(), after.long(), share


def _area(device: Any, n: int, count: int) -> Any:
    import torch

    return torch.from_numpy(_area_shares(n, count)).to(device)


@lru_cache(maxsize=32)
def _area_shares(n: int, count: int) -> NDArray[np.float32]:
    """(count, n) share of every source pixel in every pixel of a smaller row, as OpenCV's area average has them."""
    edges = np.arange(count + 1) * (n / count)
    inside = np.minimum(edges[1:, None], np.arange(1, n + 1)) - np.maximum(edges[:-1, None], np.arange(n))
    shares: NDArray[np.float32] = (np.clip(inside, 0, 1) * (count / n)).astype(np.float32)
    return shares
