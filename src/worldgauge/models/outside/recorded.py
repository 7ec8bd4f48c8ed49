"""`recording` and `recorded`: store the rollouts of a model while it runs, and play them again without it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from worldgauge.core.errors import SubjectError, UsageError
from worldgauge.core.image import Frames
from worldgauge.core.model import Needs, RolloutRequest, WorldModel, checked_batch, imagines
from worldgauge.models import models
from worldgauge.models.address import ModelAddress
from worldgauge.models.outside._rollouts import Rollouts
from worldgauge.serving import RemoteModel, open_model


@models.register("recorded")
class Recorded:
    """Play the rollouts that `recording` has stored, without the model.

    Its spec is that of the model, so it gets the same requests. Extra inputs of the model stay marked.

    Args:
        folder: Folder of the rollouts.

    Raises:
        UsageError: The folder does not say whose rollouts it holds.
    """

    def __init__(self, folder: str) -> None:
        self._rollouts = Rollouts(Path(folder).expanduser())
        spec, source = self._rollouts.owner()
        self.spec = replace(spec, name=f"{spec.name}-recorded", settings={"of": source, "settings": spec.settings})

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """The stored frames of a request, in chunks of one.

        Args:
            request: The request.

        Yields:
            `horizon` frames, each (1, H, W, 3).

        Raises:
            SubjectError: The request was not recorded.
        """
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
    """Run another model and store its rollouts; a stored rollout is not requested again.

    It takes the place of the model and has its spec.

    Args:
        of: A registered model, such as "warp?view=panorama", or a served one, such as "cmd:..." (also the class of a
            file).
        folder: Folder of the rollouts, stored losslessly.

    Attributes:
        behind: The model itself, for code that waits for a served model or ends it.
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
        """The `horizon` frames of a request in one chunk, stored or new."""
        return iter(self.rollout_batch([request])[0])

    def rollout_batch(self, requests: Sequence[RolloutRequest]) -> list[list[Frames]]:
        """One chunk for each request; those that are not stored yet are requested together."""
        missing = [request for request in requests if self._rollouts.find(request) is None]
        for request, frames in zip(missing, checked_batch(self._model, missing), strict=True):
            self._rollouts.add(request, frames)
        kept = [self._rollouts.find(request) for request in requests]
        return [[] if clip is None else [clip.to_array()] for clip in kept]


def _opened(of: str) -> tuple[WorldModel, str]:
    """The model that `of` names, and its source. Raises UsageError, UnknownNameError or SubjectError."""
    address = ModelAddress.parse(of)
    if (address.calibration, address.context_frames) != (None, None):
        raise UsageError(f"recording: '{of}': give calibration and context_frames to the recording, not to 'of'")
    if address.is_served:
        served = open_model(of)
        return served, served.source
    try:
        return models.get(address.target)(**address.settings), of
    except (ValueError, TypeError) as error:
        raise UsageError(f"recording: model '{of}' cannot be made: {error}") from None
