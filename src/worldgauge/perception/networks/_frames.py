"""Frames on their way into a network and its answers on their way out, a few at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.perception.networks.place import Place, inference, torch_for

Float32 = NDArray[np.float32]


def framewise(
    frames: NDArray[Any], place: Place, run: Callable[[Any], Any], *, sides: tuple[int, ...], at_once: int
) -> Float32:
    """(n, *sides) float32: what `run` gives for frames (n, H, W, 3) float32, shown to it as (at_once, 3, H, W).

    They come to `run` in float32 at `place`. Raises ShapeError for other frames.
    """
    if frames.ndim != 4 or frames.shape[3] != 3 or frames.dtype != np.float32 or 0 in frames.shape[1:]:
        raise ShapeError(f"expected frames (n, H, W, 3) float32, got {frames.shape} {frames.dtype}")
    torch = torch_for("a network")
    found = np.empty((len(frames), *sides), np.float32)
    with inference(place):
        for start in range(0, len(frames), at_once):
            part = np.ascontiguousarray(frames[start : start + at_once].transpose(0, 3, 1, 2))
            found[start : start + at_once] = run(torch.tensor(part, device=place.device)).float().cpu().numpy()
    return found


def square_frames(frames: NDArray[Any], side: int) -> NDArray[Any]:
    """The same frames. Raises ShapeError unless they are `side` pixels high and wide."""
    if frames.shape[1:3] != (side, side):
        raise ShapeError(f"expected frames (n, {side}, {side}, 3), got {frames.shape}")
    return frames
