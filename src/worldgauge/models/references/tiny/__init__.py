"""`tiny`: the small learned world model that comes with worldgauge, so that every table has a learned row."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import as_file, files
from typing import Any

import numpy as np

from worldgauge.core.errors import DataError, NotApplicableError
from worldgauge.core.image import Frames
from worldgauge.core.io import digest_of, loads
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.core.npz import read_npz
from worldgauge.models import models
from worldgauge.models.references.tiny.action_rows import action_rows
from worldgauge.models.references.tiny.forward import Weights, guessed_step
from worldgauge.models.references.tiny.scenes import trained_scenes

FILE = "tiny.npz"
SIZE, FRAMES, PAST = (64, 36), 4, 8
"""Width and height, frames a step, and past frames that it sees, as in the recipe `tiny`."""
MOST_BYTES = 8_000_000


@models.register("tiny")
class Tiny:
    """A network of a million weights that draws 64x36 from the last third of a second and the motion that is asked for.

    It was trained by `worldgauge train --recipe tiny` on walks through worlds of ours; it remembers nothing else. It
    needs numpy only.
    """

    def __init__(self) -> None:
        self._weights, facts, digest = _shipped()
        self.trained_scenes = trained_scenes(facts)
        self.spec = ModelSpec("tiny", frame_size=SIZE, max_context=PAST, chunk=FRAMES, settings={"weights": digest})

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """Draw the frames that follow a context, a step at a time from its own last ones.

        Args:
            request: The request; actions drive it.

        Yields:
            (4, 36, 64, 3), the last one shorter where the horizon ends in it.

        Raises:
            NotApplicableError: Actions that move no camera.
        """
        actions = request.actions
        assert actions is not None
        if not any(any(axis.motion) for axis in actions.space.axes):
            raise NotApplicableError(f"actions of '{actions.space.name}' move no camera, and 'tiny' is one")
        rows = action_rows(actions, request.context.camera, "motion")
        filled = np.concatenate([rows, np.zeros((-len(rows) % FRAMES, rows.shape[1]), np.float32)])
        past = request.context.clip.to_array()
        past = past[np.maximum(np.arange(len(past) - PAST, len(past)), 0)]
        seen = past.transpose(0, 3, 1, 2).astype(np.float32) / 127.5 - 1
        for first in range(0, len(rows), FRAMES):
            drawn = guessed_step(self._weights, seen, filled[first : first + FRAMES]).clip(-1, 1)
            seen = np.concatenate([seen[FRAMES:], drawn])
            pixels = np.rint((drawn + 1) * 127.5).astype(np.uint8).transpose(0, 2, 3, 1)
            yield np.ascontiguousarray(pixels[: len(rows) - first])


@lru_cache(maxsize=1)
def _shipped() -> tuple[Weights, dict[str, Any], str]:
    """Weights, what they were trained on, and the digest of the file."""
    with as_file(files(__package__) / FILE) as path:
        try:
            arrays = read_npz(path, MOST_BYTES)
            facts = loads(arrays.pop("facts").tobytes().decode())
            digest = digest_of(path.read_bytes())
        except (OSError, KeyError, ValueError, zipfile.BadZipFile, zlib.error) as error:
            raise DataError(f"{path}: {error}; install worldgauge again") from None
    return {name: value.astype(np.float32) for name, value in arrays.items()}, facts, digest
