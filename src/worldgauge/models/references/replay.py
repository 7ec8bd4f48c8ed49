"""`replay`: plays what it saw backwards. Near the ideal where the way back mirrors the way out."""

from __future__ import annotations

from collections.abc import Iterator

from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.models import models


@models.register("replay")
class Replay:
    """The context in reverse order, then forward again, and so on."""

    def __init__(self) -> None:
        self.spec = ModelSpec("replay")

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """Context frames C-1, C-2, ..., 0, 1, ..., C-1, ..., `horizon` in all."""
        count = len(request.context)
        cycle = [*range(count - 1, -1, -1), *range(1, count - 1)] or [0]
        order = (cycle[t % len(cycle)] for t in range(request.horizon))
        return (request.context.clip[index][None] for index in order)
