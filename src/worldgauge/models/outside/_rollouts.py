"""A folder of stored rollouts: lossless videos named by the digest of their request, and a file that names the model.

model.json             the spec and the source of the model whose rollouts these are
ab/abcd....mp4         frames of one request, named by `digest_of` it
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import Context
from worldgauge.core.errors import DataError, SubjectError, UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Frames
from worldgauge.core.model import FORM_OF, ModelSpec, RolloutRequest
from worldgauge.core.video import Clip, Writer

MODEL = "model.json"
VERSION = 1
MAX_BYTES = 1 << 20
_DECIMALS = 6
"""Decimals to which poses and actions are compared; sums of turns and steps differ between machines beyond them."""


class Rollouts:
    """Stored rollouts of one model; any number of processes may add to the folder at the same time.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._spec: ModelSpec | None = None

    def find(self, request: RolloutRequest) -> Clip | None:
        """Look up the frames of a request.

        Args:
            request: The request.

        Returns:
            The frames; None when there are none.

        Raises:
            SubjectError: The stored frames do not fit the request.
        """
        path = self.path_of(request)
        if not path.is_file():
            return None
        clip = Clip.open(path)
        if len(clip) != request.horizon or (clip.width, clip.height) != request.frame_size:
            raise SubjectError(
                f"{path}: {len(clip)} frames of {clip.width}x{clip.height} do not fit what is asked; delete it and "
                "record it again"
            )
        return clip

    def add(self, request: RolloutRequest, frames: Frames) -> None:
        """Store the frames of a request, completely or not at all.

        Args:
            request: The request.
            frames: (horizon, H, W, 3) uint8.

        Raises:
            DataError: The file cannot be written, such as on a full disk.
        """
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
        """State whose rollouts these are.

        Args:
            spec: Spec of the model.
            source: Source of the model.

        Raises:
            UsageError: The folder belongs to another model or version, or cannot be written.
        """
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
        """Spec and source of the model whose rollouts these are.

        Returns:
            The spec and the source.

        Raises:
            UsageError: They cannot be read.
        """
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
    """Digest of everything that a model says it uses for its answer.

    It covers the control that binds and those inputs that the model requires, the context (frames, poses, actions and
    camera), the horizon and the seed. It does not cover the id of the task, nor what follows from the rest: depth,
    world, truth, and the caption and forms of the future that are not required.

    Args:
        request: The request.
        spec: What the model declares.

    Returns:
        SHA-256 in hexadecimal.
    """
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
