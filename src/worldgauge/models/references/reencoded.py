"""`reencoded`: the truth after one pass through a viewable video. What compression alone costs in every metric."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.core.video import Clip, Writer
from worldgauge.models import models


@models.register("reencoded")
class Reencoded:
    """The recorded future, encoded once as a video for browsers and read back: the ceiling of videos handed in."""

    def __init__(self) -> None:
        self.spec = ModelSpec("reencoded", inputs=frozenset({"truth"}))

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` frames, one a chunk. Raises NotApplicableError without a recorded future."""
        if request.truth is None:
            raise NotApplicableError("'reencoded' needs the recorded future, and this task has none")
        return _passed(request.truth)

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """Where the recorded frames were taken, where that is known."""
        return request.truth_poses


def _passed(truth: Clip) -> Iterator[Frames]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "truth.mp4"
        with Writer(path, fps=truth.fps, kind="viewable") as out:
            for frame in truth:
                out.write(frame)
        for frame in Clip.open(path):
            # Odd sides were made even by one more row or column.
            yield frame[None, : truth.height, : truth.width]
