"""Draw with a trained network: step after step, each from earlier ones, which it may have drawn itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from worldgauge.core.errors import DataError, UsageError
from worldgauge.models.baselines.tiny import Rows
from worldgauge_train.nets.architectures import (
    Recalled,
    VideoNetwork,
    architectures,
    descended,
    noised,
    sampling_levels,
)
from worldgauge_train.nets.checkpoint import load_tensors
from worldgauge_train.nets.codecs import Codec, Pixels, codecs
from worldgauge_train.nets.memory import memories
from worldgauge_train.nets.reckoning import POSE, Poses, seen_from

FORMAT = "worldgauge-trained/1"
CONFIG, WEIGHTS, CODEC = "config.json", "model.safetensors", "codec.safetensors"
LARGEST = 4096
"""Largest size that a file may tell of a network."""


class Question(NamedTuple):
    """What a network is queried with.

    Attributes:
        past: (n, H, W, 3) uint8, n from 1.
        rows: (horizon, columns): what leads to each frame to generate.
        seed: Seed of the noise, which otherwise depends on the number of the step alone.
        past_rows: (n, columns): what led to each frame of the past. None: no actions.
        poses: (n + horizon, 5), dead reckoning of all frames, for memories that fetch. None: all at one place.
    """

    past: NDArray[np.uint8]
    rows: Rows
    seed: int
    past_rows: Rows | None = None
    poses: Poses | None = None


@dataclass(frozen=True)
class Sampling:
    """How a network is sampled.

    Attributes:
        steps: Denoising steps; 0 for a network that guesses a step at once, from no noise.
        guidance: How far the guess goes away from the one without actions; 1 leaves it.
        stabilise: Noise level added to generated frames before the next step.
        forget: Fetch the last frame instead of the memory's picks.
    """

    steps: int = 1
    guidance: float = 1.0
    stabilise: float = 0.0
    forget: bool = False


class SampledNetwork:
    """A network, sampled from at most `most` past frames (0: all), with `half` in bfloat16 where that is safe."""

    def __init__(
        self,
        net: VideoNetwork,
        sampling: Sampling,
        codec: Codec | None = None,
        most: int = 0,
        device: str = "cpu",
        half: bool = False,
    ) -> None:
        self.device, self.half = torch.device(device), half
        self.net, self.codec = net.eval().to(self.device), (codec or Pixels()).eval().to(self.device)
        self.sampling, self.most = sampling, most
        self.memory = memories.get(net.shape.memory)(net.shape.fetched)

    @property
    def chunk(self) -> int:
        """Frames that are drawn at once."""
        frames: int = self.net.shape.frames * self.net.at_once
        return frames

    def frames(self, past: NDArray[np.uint8], rows: Rows, seed: int) -> Iterator[NDArray[np.uint8]]:
        """Generate chunks (K, H, W, 3) uint8 after a past (n, H, W, 3) of unknown actions; the last may be short."""
        for (chunk,) in self.batch([Question(past, rows, seed)]):
            yield chunk

    def batch(self, asked: Sequence[Question]) -> Iterator[list[NDArray[np.uint8]]]:
        """Generate for several questions at once: each time a chunk (K, H, W, 3) uint8 per question, cut to its
        horizon."""
        chunks = self._drawn(asked)
        while True:
            # Never across a yield: whoever takes a chunk and trains on must have gradients.
            with torch.inference_mode(), torch.autocast(self.device.type, torch.bfloat16, enabled=self.half):
                chunk = next(chunks, None)
            if chunk is None:
                return
            yield chunk

    def _drawn(self, asked: Sequence[Question]) -> Iterator[list[NDArray[np.uint8]]]:
        step, horizon, length = self.chunk, len(asked[0].rows), len(asked[0].past)
        k, least = int(self.net.shape.frames), int(self.net.shape.past)
        whole = -(-length // k) * k
        taken = max(least, min(whole, self.most) if self.most else whole)
        numbers = np.arange(length - taken, length)
        past = self._planes(np.stack([one.past[np.maximum(numbers, 0)] for one in asked]))
        led = np.stack([_led(one, numbers) for one in asked])
        rows = np.pad(np.stack([one.rows for one in asked]), ((0, 0), (0, -horizon % step), (0, 0)))
        kept = self.net.begin(past, self._tensor(led))
        seen = self._planes(np.stack([one.past for one in asked])) if self.memory.frames else past
        nowhere = np.zeros((length + horizon, POSE))
        album = _Album([nowhere if one.poses is None else one.poses for one in asked], seen)
        for number, first in enumerate(range(0, horizon, step)):
            told = self._tensor(rows[:, first : first + step])
            recalled = None
            if self.memory.frames:
                here = length + min(first + step, horizon) - 1
                recalled = self._recalled(album, here, length + first - self.net.shape.past)
            seeds = [np.random.SeedSequence([one.seed, number]) for one in asked]
            drawn = self._step(kept, past, told, seeds, recalled)
            pixels = self.codec.decode(drawn.flatten(0, 1)).clamp(-1, 1).unflatten(0, drawn.shape[:2])
            drawn = drawn.clamp(-1, 1) if isinstance(self.codec, Pixels) else drawn
            if self.memory.frames:
                album.add(drawn)
            again, level = drawn, self.sampling.stabilise
            if level:
                added = self._noise([np.random.SeedSequence([*one.entropy, 1]) for one in seeds], drawn)  # type: ignore[misc]
                again = noised(drawn, added, torch.full((len(drawn),), level, device=self.device))
            kept = self._took(kept, again, told, level)
            shown = ((pixels.float() + 1) * 127.5).round().to(torch.uint8).permute(0, 1, 3, 4, 2).cpu().numpy()
            yield [np.ascontiguousarray(one[: horizon - first]) for one in shown]

    def _planes(self, frames: NDArray[np.uint8]) -> Tensor:
        pixels = torch.from_numpy(np.ascontiguousarray(frames)).to(self.device).permute(0, 1, 4, 2, 3).float()
        planes = self.codec.encode((pixels / 127.5 - 1).flatten(0, 1))
        return planes.unflatten(0, frames.shape[:2])

    def _tensor(self, rows: Rows) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(rows, np.float32)).to(self.device)

    def _noise(self, seeds: Sequence[np.random.SeedSequence], like: Tensor) -> Tensor:
        """Noise of each question by its own seed, drawn on the CPU, so that it is the same everywhere."""
        drawn = []
        for seed in seeds:
            generator = torch.Generator().manual_seed(int(seed.generate_state(1, np.uint64)[0] >> np.uint64(1)))
            drawn.append(torch.randn((1, *like.shape[1:]), generator=generator))
        return torch.cat(drawn).to(self.device)

    def _step(
        self, kept: Any, past: Tensor, told: Tensor, seeds: Sequence[np.random.SeedSequence], recalled: Recalled | None
    ) -> Tensor:
        x = past.new_zeros((len(past), self.chunk, *past.shape[2:]))
        if self.sampling.steps == 0:
            return self._guess(kept, x, 1.0, told, recalled)
        x = self._noise(seeds, x)
        for t, following in pairwise(sampling_levels(self.sampling.steps)):
            x = descended(x, self._guess(kept, x, t, told, recalled), t, following)
        return x

    def _guess(self, kept: Any, x: Tensor, t: float, told: Tensor, recalled: Recalled | None) -> Tensor:
        level = torch.full((len(x),), t, device=self.device)
        guess = self.net.guess(kept, x, level, told, recalled).float()
        if self.sampling.guidance == 1:
            return guess
        without = self.net.guess(kept, x, level, torch.zeros_like(told), recalled).float()
        return without + self.sampling.guidance * (guess - without)

    def _took(self, kept: Any, drawn: Tensor, told: Tensor, level: float) -> Any:
        """Take in what was drawn, a step at a time."""
        k = self.net.shape.frames
        for first in range(0, drawn.shape[1], k):
            kept = self.net.take(kept, drawn[:, first : first + k], told[:, first : first + k], level)
        return kept

    def _recalled(self, album: _Album, here: int, before: int) -> Recalled:
        fetched, relative = [], []
        for number, poses in enumerate(album.poses):
            least = max(before, 1)
            picks = self.memory.picks(poses[:least], poses[here])
            if self.sampling.forget:
                picks = np.full_like(picks, album.frames.shape[1] - 1)
            fetched.append(album.frames[number, torch.from_numpy(picks)])
            relative.append(seen_from(poses[picks], poses[here]))
        return Recalled(torch.stack(fetched), self._tensor(np.stack(relative).astype(np.float32)))


class _Album:
    """All frames seen and drawn, with their poses."""

    def __init__(self, poses: Sequence[Poses], seen: Tensor) -> None:
        self.frames, self.poses = seen, poses

    def add(self, drawn: Tensor) -> None:
        self.frames = torch.cat([self.frames, drawn], 1)


def _led(asked: Question, numbers: NDArray[np.intp]) -> Rows:
    """Rows of the frames of the past with these numbers; none before the first."""
    if asked.past_rows is None:
        return np.zeros((len(numbers), asked.rows.shape[1]), np.float32)
    rows = asked.past_rows[np.maximum(numbers, 0)].copy()
    rows[numbers < 0] = 0
    return rows


def checked_shape(shape: Any) -> Any:
    """Check the sizes of a network that a file tells, before anything is made of them."""
    for name, value in asdict(shape).items():
        numbers = value if isinstance(value, tuple) else (value,)
        if isinstance(value, str) and len(numbers) == 1:
            continue
        if len(numbers) > LARGEST or not all(type(one) in (int, bool) and 0 <= one <= LARGEST for one in numbers):
            raise ValueError(f"{name} is {str(value)[:40]}; whole numbers up to {LARGEST} are known")
    return shape


def _narrowed(shape: Any, window: int) -> Any:
    trained = getattr(shape, "window", None)
    if trained is None or not 1 < window <= trained:
        rule = (
            "has no window of steps" if trained is None else f"was trained with a window of {trained}: give 2 to that"
        )
        raise UsageError(f"window = {window}: this network {rule}")
    return replace(shape, window=window)


def open_drawing(
    folder: Path,
    config: Mapping[str, Any],
    *,
    sampling: Sampling | None = None,
    codec_folder: Path | None = None,
    window: int | None = None,
    last: bool = False,
    device: str = "cpu",
    half: bool = False,
) -> SampledNetwork:
    """Read a checkpoint."""
    try:
        kind = architectures.get(str(config.get("architecture", "conv")))
        shape = checked_shape(kind.shape_read(dict(config["network"])))
        steps, most = int(config["denoising_steps"]), int(config.get("most_past", shape.past))
        told = dict(config.get("codec", {"name": "pixels"}))
        if window is not None:
            shape = _narrowed(shape, window)
        with torch.device("meta"):
            net = kind(shape)
        codec = codecs.get(str(told.pop("name"))).of_checkpoint(told, codec_folder)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"{folder / CONFIG}: {error!r}") from None
    states = sorted((folder / "state").glob("*.safetensors")) if last else []
    if last and not states:
        raise DataError(f"{folder / 'state'} holds no state of a training, and so no last weights")
    like = net.state_dict()
    found = load_tensors(states[-1], like, "net.") if last else load_tensors(folder / WEIGHTS, like)
    net = net.to_empty(device="cpu")
    net.load_state_dict(found)
    if codec.learns:
        codec.load_state_dict(load_tensors(folder / CODEC, codec.state_dict()))
    return SampledNetwork(net, sampling or Sampling(steps), codec, most, device, half)
