"""Actions told to a network that knows none: hooks add them to its embedding of the level."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from worldgauge_train.nets.brought import Brought

HIDDEN = 256
"""Size between the two layers."""


def grouped(rows: Tensor, stride: int) -> Tensor:
    """Rows of each latent frame: frame i of stride 4 has rows 4 i - 3 to 4 i, the first one none.

    Args:
        rows: (B, T, columns), what led to each of T = stride n + 1 frames. That of the first is not used.
        stride: Frames of a latent frame.

    Returns:
        (B, n + 1, stride columns).
    """
    first = rows.new_zeros((len(rows), 1, stride * rows.shape[2]))
    return torch.cat([first, rows[:, 1:].unflatten(1, (-1, stride)).flatten(2)], 1)


class Injection(nn.Module):  # type: ignore[misc, unused-ignore]
    """From rows to what is added. At first that is nothing: the last layer is zero.

    Args:
        columns: Numbers of a row.
        stride: Frames of a latent frame.
        width: Size of the embedding.
    """

    def __init__(self, columns: int, stride: int, width: int) -> None:
        super().__init__()
        self.stride = stride
        self.layers = nn.Sequential(nn.Linear(stride * columns, HIDDEN), nn.SiLU(), nn.Linear(HIDDEN, width))
        nn.init.zeros_(self.layers[-1].weight)
        nn.init.zeros_(self.layers[-1].bias)

    def forward(self, rows: Tensor) -> Tensor:
        """Rows (B, T, columns) as (B, F, width)."""
        told: Tensor = self.layers(grouped(rows, self.stride).to(self.layers[0].weight))
        return told


class Hooked:
    """A network whose embedding of the level is added to while it runs. The library's code stays as it is.

    Args:
        brought: The pipeline.
        net: One of its networks.
        injection: What is added.
    """

    def __init__(self, brought: Brought, net: Any, injection: Injection) -> None:
        self.injection = injection
        self._rows: Tensor | None = None
        self._told: Tensor | None = None
        self._batch = 0
        self._names = list(signature(net.forward).parameters)

        def before(
            module: Any, args: tuple[Any, ...], values: dict[str, Any]
        ) -> tuple[tuple[Any, ...], dict[str, Any]]:
            if self._rows is None:
                return args, values
            named = {**dict(zip(self._names, args, strict=False)), **values}
            self._told, self._batch = self.injection(self._rows), len(named[self._names[0]])
            return (), brought.before(net, named)

        net.register_forward_pre_hook(before, with_kwargs=True)
        brought.attach(net, self.added)

    @contextmanager
    def telling(self, rows: Tensor | None) -> Iterator[None]:
        """Tell actions while the network runs.

        Args:
            rows: (B, T, columns), what led to each frame. None for nothing.
        """
        self._rows = rows
        try:
            yield
        finally:
            self._rows = self._told = None

    def added(self, embedding: Tensor) -> Tensor:
        """Add what is told to an embedding (..., width) of a batch, or of as many as guidance makes of it."""
        if self._told is None:
            return embedding
        batch, frames, width = self._told.shape
        told = self._told.repeat(self._batch // batch, 1, 1)
        each = embedding.numel() // (width * self._batch * frames)
        if each * width * self._batch * frames != embedding.numel():
            raise ValueError(f"actions of {frames} latent frames do not fit an embedding of {tuple(embedding.shape)}")
        return embedding + told.repeat_interleave(each, 1).reshape(embedding.shape).to(embedding)
