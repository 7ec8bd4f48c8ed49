"""Train a codec that learns, on the frames that the network will see, before the network."""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from statistics import median

import numpy as np
import torch
from torch import Tensor

from worldgauge.core.errors import DataError
from worldgauge_train.nets.checkpoint import load_tensors, save_tensors
from worldgauge_train.nets.codecs import Codec
from worldgauge_train.training.cache import CachedClip
from worldgauge_train.training.recipe import Recipe

FRAMES = 32
"""Frames a step."""
LEAST_DB = 30.0
"""What the codec must give frames of clips that it was not trained on."""
RATE = 1e-3
_HELD_OUT = 10


def trained_codec(codec: Codec, clips: Sequence[CachedClip] | None, recipe: Recipe, path: Path) -> None:
    """Train a codec, or read it where it is ready.

    One clip in ten is not trained on, and judges it.

    Args:
        codec: The codec; its weights are changed, where they are.
        clips: Clips with frames of the recipe's size. None for a codec that comes from a parent as it is.
        recipe: Says for how many steps, and the seed.
        path: File of its weights.

    Raises:
        DataError: It gives less than 30 dB, so that a network would learn its faults.
    """
    if clips is None:
        save_tensors(path, codec.state_dict())
        return
    if path.exists():
        codec.load_state_dict(load_tensors(path, codec.state_dict()))
        return
    device = next(codec.parameters()).device
    held = clips[:: -max(2, min(_HELD_OUT, len(clips)))] if len(clips) > 1 else clips
    ids = {clip.id for clip in held}
    frames = [clip.frames for clip in clips if clip.id not in ids] or [clip.frames for clip in clips]
    rng = np.random.default_rng([recipe.seed, 3])
    optimiser = _optimiser(codec)
    codec.train()
    for step in range(recipe.codec_steps):
        late = max(0.0, 2 * step / recipe.codec_steps - 1)
        for group in optimiser.param_groups:
            group["lr"] = RATE * (0.02 + 0.98 * 0.5 * (1 + np.cos(np.pi * late)))
        _take(codec, optimiser, _drawn(frames, FRAMES, rng).to(device))
    codec.eval()
    codec.measure(_drawn(frames, 8 * FRAMES, rng).to(device))
    found = fidelity_db(codec, _drawn([clip.frames for clip in held], 2 * FRAMES, rng).to(device))
    if not found >= LEAST_DB:
        raise DataError(
            f"the codec gives {found:.1f} dB on clips it was not trained on, and {LEAST_DB:g} are needed: "
            "raise codec_steps, latent_planes or codec_width"
        )
    save_tensors(path, codec.state_dict())


def seconds_of_codec(codec: Codec, clips: Sequence[CachedClip], recipe: Recipe, tried: int = 3) -> float:
    """Seconds that the training of a codec would take, from a few steps of a copy that is thrown away.

    Args:
        codec: The codec.
        clips: As for `trained_codec`.
        recipe: As for `trained_codec`.
        tried: Steps that are timed, after one that is not.
    """
    copy, frames = deepcopy(codec).requires_grad_(True).train(), [clip.frames for clip in clips]
    optimiser, taken, rng = _optimiser(copy), [], np.random.default_rng([recipe.seed, 3])
    device = next(codec.parameters()).device
    for _ in range(1 + tried):
        began = time.monotonic()
        _take(copy, optimiser, _drawn(frames, FRAMES, rng).to(device))
        taken.append(time.monotonic() - began)
    return median(taken[1:]) * recipe.codec_steps


def reconstruction_loss(made: Tensor, seen: Tensor) -> Tensor:
    """Mean absolute error of frames and of their differences between neighbours.

    Args:
        made: (B, 3, H, W) decoded frames.
        seen: The frames.
    """
    error = made - seen
    return error.abs().mean() + error.diff(dim=-1).abs().mean() + error.diff(dim=-2).abs().mean()


def fidelity_db(codec: Codec, seen: Tensor) -> float:
    """PSNR of frames that went through a codec.

    Args:
        codec: The codec.
        seen: (B, 3, H, W), -1 to 1.
    """
    with torch.no_grad():
        made = codec.decode(codec.encode(seen)).clamp(-1, 1)
    return float(10 * torch.log10(4 / (made - seen).square().mean()))


def _optimiser(codec: Codec) -> torch.optim.Optimizer:
    return torch.optim.AdamW(codec.parameters(), lr=RATE, betas=(0.9, 0.99))


def _take(codec: Codec, optimiser: torch.optim.Optimizer, seen: Tensor) -> None:
    """A step of training."""
    loss = reconstruction_loss(codec.decode(codec.encode(seen)), seen)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()


def _drawn(clips: Sequence[np.ndarray], count: int, rng: np.random.Generator) -> Tensor:
    """Frames, each of all clips as likely as any other."""
    starts = np.cumsum([0, *(len(clip) for clip in clips)])
    frames = []
    for place in rng.integers(starts[-1], size=count):
        number = int(np.searchsorted(starts, place, side="right")) - 1
        frames.append(clips[number][place - starts[number]])
    return torch.from_numpy(np.stack(frames)).permute(0, 3, 1, 2).float() / 127.5 - 1
