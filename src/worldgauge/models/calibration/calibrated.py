"""A model whose gains, signs and delay are undone, by what it is sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from worldgauge.core.actions import describe
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Frames
from worldgauge.core.model import Needs, RolloutRequest, TellsPath, WorldModel, checked_batch, checked_rollout, imagines
from worldgauge.models.calibration.file import Calibration, check_owner, read_calibration
from worldgauge.models.calibration.undo import undone_actions, undone_poses
from worldgauge_serve import resting


class Calibrated:
    """A model that is sent what makes it do what is asked.

    Controls are divided by their measured gains, swapped ones are swapped back, and a delay is waited for: the model is
    asked for as many frames more, of which the first are dropped. What the calibration does not know is sent as it is.

    Args:
        model: The model.
        file: Its calibration, or the folder of it.
        source: Where it comes from, with its fingerprint; a calibration of another one is refused.

    Attributes:
        spec: That of the model, with the digest of the calibration in its settings. It has no lengths: what is asked is
            brought to those of the model when the frames that are waited for are with it.
        behind: The model itself, for code that waits for a served model or ends it.

    Raises:
        DataError: The file is no calibration, or of another version.
        UsageError: It is the calibration of another model, or knows nothing.
    """

    def __init__(self, model: WorldModel, file: str | Path, source: str = "") -> None:
        self._model = model
        self._calibration = read_calibration(Path(file).expanduser())
        check_owner(self._calibration, model.spec, str(file), source)
        self.behind: WorldModel = getattr(model, "behind", model)
        settings = {**model.spec.settings, "calibration": self._calibration.digest[:16]}
        self.spec = replace(model.spec, settings=settings, lengths=None)
        self.needs = Needs.of(model)
        self.imagines = imagines(model)

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """The frames that the model draws for what it is sent.

        Args:
            request: The request.

        Yields:
            `horizon` frames, in the model's own chunks.

        Raises:
            NotApplicableError: What is asked cannot be sent: see `undo`.
        """
        sent = undone(request, self._calibration)
        late = sent.horizon - request.horizon
        for chunk in checked_rollout(self._model, sent):
            kept = chunk[late:]
            late = max(0, late - len(chunk))
            if len(kept):
                yield kept

    def rollout_batch(self, requests: Sequence[RolloutRequest]) -> list[list[Frames]]:
        """One chunk for each request; the model gets them together."""
        sent = [undone(request, self._calibration) for request in requests]
        answers = checked_batch(self._model, sent)
        return [
            [frames[one.horizon - request.horizon :]]
            for frames, one, request in zip(answers, sent, requests, strict=True)
        ]

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """Poses (horizon, 4, 4) of the frames where the model knows them."""
        if not isinstance(self._model, TellsPath):
            return None
        sent = undone(request, self._calibration)
        path = self._model.camera_path(sent)
        return None if path is None else path[sent.horizon - request.horizon :]


def undone(request: RolloutRequest, calibration: Calibration) -> RolloutRequest:
    """The request that makes a model do what `request` asks.

    Every form of the future is changed alike, so that they still say the same; words are made of the actions again.

    Args:
        request: What is asked.
        calibration: What the model does.

    Returns:
        The request, with as many frames more as the model is late.

    Raises:
        NotApplicableError: The actions are of another space than the calibrated one, or faster than the model; or a
            model that words drive is told nothing else, and words cannot be divided.
    """
    late = calibration.delay or 0
    actions, poses, text = request.actions, request.poses, None
    if actions is None and calibration.control == "text":
        raise NotApplicableError("calibrated, and told in words alone, which no gain can change")
    if actions is not None:
        names = tuple(axis.name for axis in actions.space.axes)
        if calibration.control == "actions" and names != calibration.axes:
            raise NotApplicableError(
                f"calibrated for the actions {', '.join(calibration.axes)}, and asked for {', '.join(names)}; "
                "calibrate it for these with --space"
            )
        changed = undone_actions(actions, calibration)
        actions = replace(changed, values=np.concatenate([changed.values, resting(changed, late)]))
        text = None if request.text is None else describe(actions)
    if poses is not None:
        changed_poses = undone_poses(poses, request.context.poses[-1], calibration)
        poses = np.concatenate([changed_poses, np.repeat(changed_poses[-1:], late, axis=0)])
    return replace(request, horizon=request.horizon + late, actions=actions, poses=poses, text=text)
