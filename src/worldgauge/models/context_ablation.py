"""The context ablation: a model with fewer context frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Frames
from worldgauge.core.model import (
    Needs,
    RolloutRequest,
    TellsPath,
    WorldModel,
    checked_batch,
    checked_rollout,
    holds_videos,
    imagines,
)

SHOWN = "shown"
"""Name of `context_frames` in the settings and the label of the wrapped model. Cache keys and run folders hold it, so
that it stays: runs from before continue."""


class ContextAblation:
    """A model that gets only its last context frames (`context_frames=N`); `behind` is the model itself. If lengths are
    declared, missing frames repeat the first."""

    def __init__(self, model: WorldModel, frames: int) -> None:
        held, name = model.spec.max_context, model.spec.name
        if isinstance(frames, bool) or not isinstance(frames, int) or frames < 1:
            raise UsageError(f"model '{name}': context_frames must be a number of frames, at least 1, got {frames!r}")
        if held is not None and held <= frames:
            raise UsageError(f"model '{name}' takes {held} at most: context_frames={frames} changes nothing")
        if holds_videos(model):
            raise UsageError(
                f"model '{name}': finished videos cannot be made again from fewer frames; leave out context_frames"
            )
        self._model, self._frames = model, frames
        self.behind: WorldModel = getattr(model, "behind", model)
        self.spec = replace(model.spec, max_context=frames, settings={**model.spec.settings, SHOWN: frames})
        self.needs = Needs.of(model)
        self.imagines = imagines(model)

    def rollout(self, request: RolloutRequest) -> Iterable[Frames]:
        """`horizon` frames that the model generates from the last frames of the context, in its own chunks."""
        return checked_rollout(self._model, self._less(request))

    def rollout_batch(self, requests: Sequence[RolloutRequest]) -> list[list[Frames]]:
        """One chunk for each request; the model gets them together."""
        return [[frames] for frames in checked_batch(self._model, [self._less(request) for request in requests])]

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """Poses (horizon, 4, 4) of the frames where the model knows them."""
        return self._model.camera_path(self._less(request)) if isinstance(self._model, TellsPath) else None

    def _less(self, request: RolloutRequest) -> RolloutRequest:
        return replace(request, context=request.context.last(self._frames))
