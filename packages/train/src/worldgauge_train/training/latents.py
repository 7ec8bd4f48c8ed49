"""The codec that a training trains first, and the frames that it encodes, on the disk."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Iterable, Sequence
from copy import deepcopy
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from worldgauge.core.errors import DataError
from worldgauge.core.io import atomic_file, digest_of
from worldgauge_train.nets.checkpoint import load_tensors, save_tensors
from worldgauge_train.nets.codecs import Codec, Pixels
from worldgauge_train.training.cache import CachedClip, Look, as_pixels, one_writer
from worldgauge_train.training.recipe import Recipe

FRAMES = 32
"""Frames a step."""
LEAST_DB = 30.0
"""What the codec must give frames of clips that it was not trained on."""
RATE = 1e-3
_HELD_OUT = 10


def trained_codec(codec: Codec, clips: Sequence[CachedClip] | None, recipe: Recipe, path: Path) -> None:
    """Train a codec, or read it if it is ready. One clip in ten is held out to evaluate it."""
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
    """Seconds that the training of a codec would take, from a few steps of a copy that is thrown away."""
    copy, frames = deepcopy(codec).requires_grad_(True).train(), [clip.frames for clip in clips]
    optimiser, taken, rng = _optimiser(copy), [], np.random.default_rng([recipe.seed, 3])
    device = next(codec.parameters()).device
    for _ in range(1 + tried):
        began = time.monotonic()
        _take(copy, optimiser, _drawn(frames, FRAMES, rng).to(device))
        taken.append(time.monotonic() - began)
    return median(taken[1:]) * recipe.codec_steps


def reconstruction_loss(made: Tensor, seen: Tensor) -> Tensor:
    """Mean absolute error of decoded frames (B, 3, H, W) and of the differences between their neighbours."""
    error = made - seen
    return error.abs().mean() + error.diff(dim=-1).abs().mean() + error.diff(dim=-2).abs().mean()


def fidelity_db(codec: Codec, seen: Tensor) -> float:
    """PSNR of frames (B, 3, H, W) in -1..1 that went through a codec."""
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


MOST_MAPPED = 16_384
"""Files of planes that are mapped at once: Linux allows a process 65,530 maps, and decoded frames need some, too."""
_AT_ONCE = 64
"""Frames that are encoded at once."""


def look_through(codec: Codec, clips: Collection[CachedClip], folder: Path | None, device: str) -> Look:
    """How windows look at clips for a network that sees the planes of a codec."""
    if isinstance(codec, Pixels):
        return as_pixels
    return Planes(codec, {clip.id for clip in clips}, folder, device)


class Planes:
    """Encodes clips on first use, also mirrored, since the planes of a mirrored clip are different. Those of `stored`
    ids are on disk as float16, in a folder named by the codec and `_maker`."""

    def __init__(self, codec: Codec, stored: Collection[str], folder: Path | None, device: str) -> None:
        self._codec, self._stored, self._device = codec, stored, device
        self._folder = None if folder is None else folder / f"planes-{digest_of_codec(codec)[:32]}-{_maker(device)}"
        self._held: dict[tuple[str, bool], NDArray[Any]] = {}
        self._mapped: dict[tuple[str, bool], NDArray[Any]] = {}

    def __call__(self, clip: CachedClip, turned: bool) -> NDArray[Any]:
        """Planes (T, P, h, w) of a clip as float16; see `windows.Look`."""
        key = (clip.id, turned)
        if self._folder is None or clip.id not in self._stored:
            if key not in self._held:
                self._held[key] = self._encoded(clip, turned)
            return self._held[key]
        if key not in self._mapped:
            if len(self._mapped) >= MOST_MAPPED:
                del self._mapped[next(iter(self._mapped))]
            self._mapped[key] = self._read(clip, turned, self._folder)
        return self._mapped[key]

    def lacking(self, clips: Iterable[CachedClip], mirrors: bool) -> int:
        """Bytes of planes that are not on disk yet and will be."""
        if self._folder is None:
            return 0
        ways = (False, True) if mirrors else (False,)
        return sum(
            bytes_of(self._codec, [clip])
            for clip in clips
            for turned in ways
            if clip.id in self._stored and not _file_of(self._folder, clip, turned).exists()
        )

    def keep(self, clips: Iterable[CachedClip]) -> None:
        """Forget all other clips of which planes lie in memory."""
        ids = {clip.id for clip in clips}
        self._held = {key: planes for key, planes in self._held.items() if key[0] in ids}

    def _read(self, clip: CachedClip, turned: bool, folder: Path) -> NDArray[Any]:
        path = _file_of(folder, clip, turned)
        if not path.exists():
            with one_writer(folder):
                if not path.exists():
                    with atomic_file(path) as file:
                        np.save(file, self._encoded(clip, turned), allow_pickle=False)
        try:
            planes: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        except (EOFError, OSError, ValueError) as error:
            raise DataError(f"{path}: {error}; delete it, and it is made again") from None
        if planes.dtype != np.float16 or planes.ndim != 4 or len(planes) != len(clip):
            raise DataError(
                f"{path}: {planes.dtype} {planes.shape} is not what it was; delete it, and it is made again"
            )
        return planes

    def _encoded(self, clip: CachedClip, turned: bool) -> NDArray[Any]:
        frames, parts = as_pixels(clip, turned), []
        with torch.no_grad():
            for first in range(0, len(frames), _AT_ONCE):
                seen = pixels_of(frames[first : first + _AT_ONCE], self._device)
                parts.append(self._codec.encode(seen).half().cpu().numpy())
        return np.concatenate(parts)


def bytes_of(codec: Codec, clips: Iterable[CachedClip]) -> int:
    """Bytes of the planes of clips, as they are."""
    return sum(2 * codec.planes * one.frames[..., 0].size // codec.shrink**2 for one in clips)


def _file_of(folder: Path, clip: CachedClip, turned: bool) -> Path:
    return folder / f"{digest_of(clip.id)[:32]}{'-mirrored' if turned else ''}.npy"


def pixels_of(frames: NDArray[np.uint8], device: str) -> Tensor:
    """Frames (..., H, W, 3) as (..., 3, H, W), -1 to 1."""
    return torch.from_numpy(np.ascontiguousarray(frames)).to(device).movedim(-1, -3).float() / 127.5 - 1


def _maker(device: str) -> str:
    """What tells planes apart that are not the same bytes: the kind of device, and on others than CPUs the order."""
    kind = torch.device(device).type
    in_order = kind != "cpu" and torch.are_deterministic_algorithms_enabled()
    return f"{kind}-deterministic" if in_order else kind


def digest_of_codec(codec: Codec) -> str:
    """SHA-256 over what a codec tells of itself and all its weights."""
    whole = hashlib.sha256(f"{type(codec).__name__}\0{sorted(codec.told.items())}".encode())
    for name, value in sorted(codec.state_dict().items()):
        whole.update(f"{name}\0{tuple(value.shape)}\0{value.dtype}\0".encode())
        whole.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return whole.hexdigest()
