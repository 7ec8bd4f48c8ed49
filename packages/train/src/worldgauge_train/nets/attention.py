"""Attention along time: who sees whom, where in time a token stands, and attention over given tokens."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

BASE = 100.0
"""Base of the rotary periods; a window has few steps."""
LONG = 256
"""Tokens from which a mask is cut into blocks, of 128 each: below there are too few to skip any."""


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


def attended(q: Tensor, k: Tensor, v: Tensor, mask: Any = None) -> Tensor:
    """Attend.

    Args:
        q: (B, heads, n, d).
        k: (B, heads, m, d).
        v: (B, heads, m, d).
        mask: (n, m), True where one sees the other; each sees some. Or what `blocked` made of that. None: all see all.
    """
    if mask is None or isinstance(mask, Tensor):
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    mixed: Tensor = _flex(q.is_cuda)(q, k, v, block_mask=mask)
    return mixed


def placed(mask: Tensor, device: torch.device) -> Any:
    """A mask on a device, as attention takes it there.

    On CUDA `flex_attention` skips the blocks of a long mask in which nobody sees anybody. A short mask has none. Its
    gradients add up in any order, so it is left out where the same bytes are asked for.

    Args:
        mask: (n, m), True where one sees the other.
        device: The device.
    """
    is_long = device.type == "cuda" and min(mask.shape) >= LONG and not torch.are_deterministic_algorithms_enabled()
    return blocked(mask.to(device)) if is_long else mask.to(device)


def blocked(mask: Tensor) -> Any:
    """A mask as `flex_attention` takes it, for any batch and all heads.

    Args:
        mask: (n, m), True where one sees the other.
    """
    from torch.nn.attention.flex_attention import create_block_mask

    def sees(batch: Tensor, head: Tensor, one: Tensor, other: Tensor) -> Tensor:
        return mask[one, other]

    return create_block_mask(sees, None, None, *mask.shape, device=str(mask.device))


@cache
def _flex(compiled: bool) -> Any:
    """`flex_attention`; only compiled it skips anything."""
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention) if compiled else flex_attention


def forced(steps: int, lead: int, window: int) -> Tensor:
    """Who sees whom in teacher forcing: [clean steps 0 .. steps - 2 | noisy steps lead .. steps - 1].

    Clean i sees clean j for 0 <= i - j < window; noisy i sees itself, and clean j for 0 < i - j < window.

    Args:
        steps: Steps.
        lead: Steps that are only seen.
        window: Steps within sight, the own one counted.

    Returns:
        (2 steps - lead - 1, 2 steps - lead - 1) bool.
    """
    at = torch.cat([torch.arange(steps - 1), torch.arange(lead, steps)])
    noisy = torch.arange(len(at)) >= steps - 1
    apart = at[:, None] - at[None, :]
    to_clean = ~noisy[None, :] & (apart < window) & torch.where(noisy[:, None], apart > 0, apart >= 0)
    return to_clean | (noisy[:, None] & noisy[None, :] & (apart == 0))


def both_ways(lead: int, steps: int) -> Tensor:
    """Who sees whom where the future is seen too: the steps of the past each other, all others everything.

    Args:
        lead: Steps of the past.
        steps: All steps.

    Returns:
        (steps, steps) bool.
    """
    past = torch.arange(steps) < lead
    return ~past[:, None] | past[None, :]
