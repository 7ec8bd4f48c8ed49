"""`recording` and `recorded`: store the rollouts of a model while it runs, and play them again without it."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import Context
from worldgauge.core.errors import DataError, ModelError, UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Frames
from worldgauge.core.model import (
    FORM_OF,
    ModelSpec,
    Needs,
    RolloutRequest,
    WorldModel,
    checked_batch,
    imagines,
    visible,
)
from worldgauge.core.video import Clip, Writer
from worldgauge.models import models
from worldgauge.models.address import ModelAddress
from worldgauge.serving import RemoteModel, open_model

MODEL = "model.json"
VERSION = 2
MAX_BYTES = 1 << 20
_DECIMALS = 6
"""Decimals to which poses and actions are compared; sums of turns and steps differ between machines beyond them."""


class Rollouts:
    """Stored rollouts of one model; any number of processes may add to the folder at the same time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._spec: ModelSpec | None = None

    def find(self, request: RolloutRequest) -> Clip | None:
        """Look up the frames of a request."""
        path = self.path_of(request)
        if not path.is_file():
            return None
        clip = Clip.open(path)
        if len(clip) != request.horizon or (clip.width, clip.height) != request.frame_size:
            raise ModelError(
                f"{path}: {len(clip)} frames of {clip.width}x{clip.height} do not fit what is asked; delete it and "
                "record it again"
            )
        return clip

    def add(self, request: RolloutRequest, frames: Frames) -> None:
        """Store the frames (horizon, H, W, 3) of a request, completely or not at all."""
        path = self.path_of(request)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # In a separate folder: several processes may work on the same request.
            with tempfile.TemporaryDirectory(prefix=".part-", dir=path.parent) as own:
                part = Path(own) / path.name
                with Writer(part, fps=request.context.clip.fps, kind="lossless") as out:
                    out.write(frames)
                os.replace(part, path)
        except OSError as error:
            raise DataError(f"{path}: cannot be written ({error.strerror})") from error

    def path_of(self, request: RolloutRequest) -> Path:
        """Path of the video of a request, whether it exists or not."""
        if self._spec is None:
            self._spec = self.owner()[0]
        name = digest_of(request, self._spec)
        return self.folder / name[:2] / f"{name}.mp4"

    def claim(self, spec: ModelSpec, source: str) -> None:
        """State whose rollouts these are."""
        self._spec = spec
        content = {"version": VERSION, "spec": spec.told, "source": source}
        text = json.dumps(content, allow_nan=False, sort_keys=True, indent=1, default=dict) + "\n"
        path = self.folder / MODEL
        if path.exists():
            if json.loads(text) != self._read():
                raise UsageError(f"{self.folder} holds rollouts of another model or version; give another folder")
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self.folder, prefix=".part-", delete=False) as file:
                file.write(text)
            os.replace(file.name, path)
        except OSError as error:
            raise UsageError(f"{self.folder}: cannot hold rollouts ({error.strerror})") from error

    def owner(self) -> tuple[ModelSpec, str]:
        """Spec and source of the model whose rollouts these are."""
        content = self._read()
        try:
            spec = dict(content["spec"])
            pairs = {key: tuple(value) for key, value in spec.items() if isinstance(value, list)}
            self._spec = ModelSpec(**{**spec, **pairs, "inputs": frozenset(spec["inputs"])})
            return self._spec, str(content["source"])
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{self.folder / MODEL}: names no model ({error}); record the rollouts again") from None

    def _read(self) -> Mapping[str, Any]:
        path = self.folder / MODEL
        try:
            if path.stat().st_size > MAX_BYTES:
                raise ValueError("it is too large")
            content = json.loads(path.read_text("utf-8-sig"))
        except (OSError, ValueError, RecursionError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise UsageError(f"{path}: cannot be read ({why}); 'recording?of=MODEL&folder=...' makes it") from None
        if not isinstance(content, dict) or content.get("version") != VERSION:
            raise UsageError(f"{path}: of another version; record the rollouts again")
        return content


def digest_of(request: RolloutRequest, spec: ModelSpec) -> str:
    """Digest of what a model uses: its control, required inputs, context, horizon and seed. It leaves out the task id
    and what follows from the rest, such as depth, world and truth."""
    request = visible(request, spec)
    context, used = request.context, {FORM_OF[spec.control], *spec.inputs}
    actions = request.actions if "actions" in used else None
    content = {
        "version": VERSION,
        "horizon": request.horizon,
        "seed": request.seed,
        "text": request.text if "text" in used else None,
        "fps": context.clip.fps,
        "camera": {"kind": type(context.camera).__name__, **asdict(context.camera)},
        "space": context.actions.space.name,
        "future": None if actions is None else actions.space.name,
        **({"caption": request.caption} if "caption" in used else {}),
    }
    digest = hashlib.sha256(json.dumps(content, allow_nan=False, sort_keys=True).encode())
    poses = request.poses if "poses" in used else None
    for part in _arrays(request.context, poses, None if actions is None else actions.values):
        digest.update(repr((part.dtype.str, part.shape)).encode())
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()


def _arrays(context: Context, poses: FloatArray | None, future: NDArray[Any] | None) -> Iterator[NDArray[Any]]:
    yield context.clip.to_array()
    for numbers in (context.poses, context.actions.values, poses, future):
        # Negative zero becomes zero.
        yield np.empty(0) if numbers is None else np.round(np.asarray(numbers, "<f8"), _DECIMALS) + 0.0


@models.register("recorded")
class Recorded:
    """Play the rollouts that `recording` has stored, without the model.
    Its spec is the model's, so it gets the same requests."""

    def __init__(self, folder: str) -> None:
        self._rollouts = Rollouts(Path(folder).expanduser())
        spec, source = self._rollouts.owner()
        self.spec = replace(spec, name=f"{spec.name}-recorded", settings={"of": source, "settings": spec.settings})

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """The stored frames of a request, in chunks of one."""
        clip = self._rollouts.find(request)
        if clip is None:
            about = f" of task '{request.task}'" if request.task else ""
            raise ModelError(
                f"model '{self.spec.name}': no rollout{about} lies at {self._rollouts.path_of(request)}; "
                "record the same run, by 'recording?of=MODEL&folder=...'"
            )
        return (frame[None] for frame in clip)


@models.register("recording")
class Recording:
    """Run another model and store its rollouts; a stored rollout is not requested again.
    It has the spec of the model `of`, which is `behind`. `folder` holds the rollouts, lossless."""

    def __init__(self, of: str, folder: str) -> None:
        self._model, source = _opened(of)
        self.behind: WorldModel = getattr(self._model, "behind", self._model)
        self._rollouts = Rollouts(Path(folder).expanduser())
        try:
            if not imagines(self._model):
                raise UsageError(f"recording: '{of}' generates nothing that could be stored")
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
    """The model that `of` names, and its source. Raises UsageError, UnknownNameError or ModelError."""
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
