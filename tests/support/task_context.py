"""The least a suite needs of a bench, and of a model."""

from collections.abc import Iterator
from pathlib import Path

from worldgauge.core.image import Frames
from worldgauge.core.model import Blinding, ModelSpec, RolloutRequest
from worldgauge.engine.suite.contract import Stopwatch
from worldgauge.perception.score_device import Means


class QuietContext:
    """The least a suite needs of a bench."""

    def __init__(self, directory: Path, seed: int = 7) -> None:
        self.directory = directory
        self.seed = seed
        self.speed, self.blinding = Stopwatch(), Blinding()
        self.means = Means()
        self.is_built_in = True
        self.with_decoy = None
        self.calls: list[tuple[int, int]] = []

    def progress(self, done: int, total: int) -> None:
        self.calls.append((done, total))


class Given:
    """Shows frames that were made beforehand."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self.spec = ModelSpec("given")

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        yield self._frames[: request.horizon]
