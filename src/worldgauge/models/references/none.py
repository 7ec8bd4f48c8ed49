"""`none`: no world model at all. What proposal and revision are worth alone."""

from __future__ import annotations

from collections.abc import Iterator

from worldgauge.core.errors import NotApplicableError
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.models import models


@models.register("none")
class NoModel:
    """Imagines nothing: the floor of the closed loop, the same policies deciding from what they see."""

    imagines = False

    def __init__(self) -> None:
        self.spec = ModelSpec("none", max_context=1)

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """Raises NotApplicableError."""
        raise NotApplicableError("'none' imagines nothing: it is a reference of suites that do without a world model")
