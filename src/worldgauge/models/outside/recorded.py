"""`recording` and `recorded`: rollouts of a model, kept while it is asked, and played again without it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from worldgauge.core.errors import SubjectError, UsageError
from worldgauge.core.image import Frames
from worldgauge.core.model import Needs, RolloutRequest, WorldModel, checked_batch, imagines
from worldgauge.models import models
from worldgauge.models.outside._rollouts import Rollouts
from worldgauge.serving import RemoteModel, is_served, open_model
from worldgauge_serve import settings_of


@models.register("recorded")
class Recorded:
    """Rollouts that `recording` has kept: another model's answers, without the model.

    folder: where they lie. Its spec is that of the model, so that it is asked the same; what the model was handed
    beyond its context stays marked.
    """

    def __init__(self, folder: str) -> None:
        self._rollouts = Rollouts(Path(folder).expanduser())
        spec, source = self._rollouts.owner()
        self.spec = replace(spec, name=f"{spec.name}-recorded", settings={"of": source, "settings": spec.settings})

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` frames, one a chunk. Raises SubjectError for what was not recorded."""
        clip = self._rollouts.find(request)
        if clip is None:
            about = f" of task '{request.task}'" if request.task else ""
            raise SubjectError(
                f"model '{self.spec.name}': no rollout{about} lies at {self._rollouts.path_of(request)}; "
                "record the same run, by 'recording?of=MODEL&folder=...'"
            )
        return (frame[None] for frame in clip)


@models.register("recording")
class Recording:
    """Another model, whose rollouts are kept as they come; what has been kept is not asked again.

    of: a registered model, as in "warp?view=panorama", or a served one, as in "cmd:..." (also of a file's class).
    folder: where they are kept, lossless. It passes for the model: its spec is that of the model. behind: the model;
    whoever waits for a served one, or ends it, finds it there.
    """

    def __init__(self, of: str, folder: str) -> None:
        self._model, source = _opened(of)
        self.behind: WorldModel = getattr(self._model, "behind", self._model)
        self._rollouts = Rollouts(Path(folder).expanduser())
        try:
            if not imagines(self._model):
                raise UsageError(f"recording: '{of}' imagines nothing that could be kept")
            self._rollouts.claim(self._model.spec, source)
        except UsageError:
            if isinstance(self.behind, RemoteModel):
                self.behind.close()
            raise
        self.spec = replace(self._model.spec, settings={"of": source, "settings": self._model.spec.settings})
        self.needs = Needs.of(self._model)

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` frames in one chunk."""
        return iter(self.rollout_batch([request])[0])

    def rollout_batch(self, requests: Sequence[RolloutRequest]) -> list[list[Frames]]:
        """One chunk a request; those that are not kept yet are asked together."""
        missing = [request for request in requests if self._rollouts.find(request) is None]
        for request, frames in zip(missing, checked_batch(self._model, missing), strict=True):
            self._rollouts.add(request, frames)
        kept = [self._rollouts.find(request) for request in requests]
        return [[] if clip is None else [clip.to_array()] for clip in kept]


def _opened(of: str) -> tuple[WorldModel, str]:
    """The model that `of` names, and its source. Raises UsageError, UnknownNameError or SubjectError."""
    if is_served(of):
        served = open_model(of)
        return served, served.source
    name, _, query = of.partition("?")
    try:
        return models.get(name)(**settings_of(query)), of
    except (ValueError, TypeError) as error:
        raise UsageError(f"recording: model '{of}' cannot be made: {error}") from None
