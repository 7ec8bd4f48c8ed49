"""Draw with a trained network: step after step, each from the last frames, which it may have drawn itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from worldgauge.core.errors import DataError
from worldgauge.nets.action_rows import Rows
from worldgauge.nets.checkpoint import load_tensors
from worldgauge.nets.conv import ConvNet, ConvShape
from worldgauge.nets.levels import descended, sampling_levels

FORMAT = "worldgauge-trained/1"
CONFIG, WEIGHTS = "config.json", "model.safetensors"


class Drawing:
    """A network and how it is asked.

    Args:
        net: The network.
        steps: Denoising steps; 0 for a network that guesses a step at once, from no noise.
    """

    def __init__(self, net: ConvNet, steps: int) -> None:
        self.net, self.steps = net.eval(), steps

    @classmethod
    def open(cls, folder: Path, config: Mapping[str, Any]) -> Drawing:
        """Read a checkpoint.

        Args:
            folder: Its folder.
            config: Content of its config.json.

        Raises:
            DataError: The files do not fit together, or are damaged.
        """
        try:
            told: dict[str, Any] = dict(config["network"])
            shape = ConvShape(**{**told, "channels": tuple(told["channels"])})
            steps = int(config["denoising_steps"])
            with torch.device("meta"):
                net = ConvNet(shape)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise DataError(f"{folder / CONFIG}: {error!r}") from None
        net = net.to_empty(device="cpu")
        net.load_state_dict(load_tensors(folder / WEIGHTS, net.state_dict()))
        return cls(net, steps)

    def frames(self, past: NDArray[np.uint8], rows: Rows, seed: int) -> Iterator[NDArray[np.uint8]]:
        """Draw what follows.

        Args:
            past: (n, H, W, 3), n from 1; the last C count. A shorter one is filled up in front with its first frame.
            rows: (horizon, columns): what leads to each frame to draw.
            seed: Seed of the noise; the noise of a step depends on its number alone besides.

        Yields:
            (K, H, W, 3) uint8, the last one shorter where the horizon ends in it.
        """
        shape = self.net.shape
        k, c = shape.frames, shape.past
        short = past[np.maximum(np.arange(len(past) - c, len(past)), 0)]
        seen = torch.from_numpy(np.ascontiguousarray(short)).permute(0, 3, 1, 2)[None].float() / 127.5 - 1
        filled = np.concatenate([rows, np.zeros((-len(rows) % k, rows.shape[1]), np.float32)])
        with torch.inference_mode():
            for number, first in enumerate(range(0, len(rows), k)):
                told = torch.from_numpy(np.ascontiguousarray(filled[first : first + k]))[None]
                drawn = self._step(seen, told, np.random.SeedSequence([seed, number])).clamp(-1, 1)
                seen = torch.cat([seen[:, k:], drawn], 1)
                pixels = ((drawn[0] + 1) * 127.5).round().to(torch.uint8).permute(0, 2, 3, 1).numpy()
                yield np.ascontiguousarray(pixels[: len(rows) - first])

    def _step(self, seen: Tensor, told: Tensor, seed: np.random.SeedSequence) -> Tensor:
        shape = (1, self.net.shape.frames, *seen.shape[2:])
        if self.steps == 0:
            guess: Tensor = self.net(torch.zeros(shape), torch.ones(1), seen, told)
            return guess
        generator = torch.Generator().manual_seed(int(seed.generate_state(1, np.uint64)[0] >> np.uint64(1)))
        x = torch.randn(shape, generator=generator)
        levels = sampling_levels(self.steps)
        for t, following in pairwise(levels):
            x = descended(x, self.net(x, torch.full((1,), t), seen, told), t, following)
        return x
