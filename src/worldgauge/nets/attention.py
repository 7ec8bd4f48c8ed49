"""Attention along time: who sees whom, where in time a token stands, and attention over given tokens."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

BASE = 100.0
"""Base of the rotary periods; a window has few steps."""


def rotated(x: Tensor, at: Tensor) -> Tensor:
    """Turn pairs of channels by angles that grow with time (rotary embedding, Su et al. 2021, "RoFormer").

    Args:
        x: (..., T, d), d even.
        at: (T,) times.

    Returns:
        (..., T, d). Products of two such tokens depend on the distance of their times alone.
    """
    half = x.shape[-1] // 2
    rates = BASE ** (-torch.arange(half, device=x.device, dtype=x.dtype) / half)
    angles = at.to(x.dtype)[:, None] * rates
    one, other = x[..., :half], x[..., half:]
    return torch.cat([one * angles.cos() - other * angles.sin(), one * angles.sin() + other * angles.cos()], -1)


def attended(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Attend.

    Args:
        q: (B, heads, n, d).
        k: (B, heads, m, d).
        v: (B, heads, m, d).
        mask: (n, m), True where one sees the other; each sees some. None: all see all.
    """
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def forced(steps: int, lead: int, window: int, device: torch.device | None = None) -> Tensor:
    """Who sees whom in teacher forcing: [clean steps 0 .. steps - 2 | noisy steps lead .. steps - 1].

    Clean i sees clean j for 0 <= i - j < window; noisy i sees itself, and clean j for 0 < i - j < window.

    Args:
        steps: Steps.
        lead: Steps that are only seen.
        window: Steps within sight, the own one counted.
        device: Where the mask is wanted.

    Returns:
        (2 steps - lead - 1, 2 steps - lead - 1) bool.
    """
    at = torch.cat([torch.arange(steps - 1), torch.arange(lead, steps)])
    noisy = torch.arange(len(at)) >= steps - 1
    apart = at[:, None] - at[None, :]
    to_clean = ~noisy[None, :] & (apart < window) & torch.where(noisy[:, None], apart > 0, apart >= 0)
    mask = to_clean | (noisy[:, None] & noisy[None, :] & (apart == 0))
    return mask.to(device) if device is not None else mask


def both_ways(lead: int, steps: int, device: torch.device | None = None) -> Tensor:
    """Who sees whom where the future is seen too: the steps of the past each other, all others everything.

    Args:
        lead: Steps of the past.
        steps: All steps.
        device: Where the mask is wanted.

    Returns:
        (steps, steps) bool.
    """
    past = torch.arange(steps) < lead
    mask = ~past[:, None] | past[None, :]
    return mask.to(device) if device is not None else mask
