"""How fast a model answers, with how much GPU memory, and what it tells. No score and no identity depends on it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from worldgauge.core.image import Frames
from worldgauge.core.model import RolloutRequest, WorldModel, checked_batch, checked_rollout
from worldgauge_serve import forget_gpu_peak, forget_notes, gpu_peak_bytes, notes


@runtime_checkable
class TellsOfAnswer(Protocol):
    """A model in another process that may tell of its last answer."""

    gpu_peak_bytes: int | None
    """Most GPU memory that tensors took, in bytes; None where it is not known."""
    notes: tuple[str, ...]
    """What the model has told with `worldgauge_serve.note`."""


class Stopwatch:
    """Measures all answers that a model gives to one task.

    Attributes:
        notes: What the model told about them, each text once.
    """

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._questions = self._frames = 0
        self._first_s = self._seconds = 0.0
        self._gpu_peak_bytes: int | None = None

    def rollout(self, model: WorldModel, request: RolloutRequest) -> Iterator[Frames]:
        """Run one rollout, checked as by `checked_rollout`. It counts when it has ended.

        Returns:
            The chunks (n, H, W, 3) uint8.
        """
        return self.timed(model, checked_rollout(model, request))

    def timed(
        self, model: WorldModel, chunks: Iterable[Any], count: Callable[[Any], int] = len
    ) -> Generator[Any, None, None]:
        """Measure one answer of a model, whoever checks it. It counts when it has ended."""
        forget_gpu_peak()
        forget_notes()
        first_s, waited_s, frames = math.nan, 0.0, 0
        waiting = iter(chunks)
        try:
            while True:
                asked = time.perf_counter()
                try:
                    chunk = next(waiting)
                except StopIteration:
                    waited_s += time.perf_counter() - asked
                    break
                waited_s += time.perf_counter() - asked
                first_s = first_s if frames else waited_s
                frames += count(chunk)
                yield chunk
        finally:
            if isinstance(waiting, Generator):
                waiting.close()
        self._add(model, first_s, waited_s, frames)

    def batch(self, model: WorldModel, requests: Sequence[RolloutRequest]) -> list[Frames]:
        """Run a batch of rollouts, checked as by `checked_batch`.

        Returns:
            One array (horizon, H, W, 3) uint8 for each request, in order.
        """
        if len(requests) < 2 or not hasattr(model, "rollout_batch"):
            return [np.concatenate(list(self.rollout(model, request))) for request in requests]
        forget_gpu_peak()
        forget_notes()
        asked = time.perf_counter()
        answers = checked_batch(model, requests)
        waited_s = time.perf_counter() - asked
        self._add(model, waited_s, waited_s, sum(map(len, answers)))
        return answers

    def plain(self) -> dict[str, Any] | None:
        """What was measured, plain JSON values; None without a rollout.

        "questions", "first_s" (mean seconds up to the first frame), "frames" and "seconds" (of all), "gpu_peak_bytes".
        """
        if not self._questions:
            return None
        return {
            "questions": self._questions,
            "first_s": round(self._first_s / self._questions, 6),
            "frames": self._frames,
            "seconds": round(self._seconds, 6),
            "gpu_peak_bytes": self._gpu_peak_bytes,
        }

    def _add(self, model: WorldModel, first_s: float, waited_s: float, frames: int) -> None:
        self._questions += 1
        self._first_s += first_s
        self._seconds += waited_s
        self._frames += frames
        behind = getattr(model, "behind", model)  # of a calibrated model
        if isinstance(behind, TellsOfAnswer):
            peak, told = behind.gpu_peak_bytes, behind.notes
        else:
            peak, told = gpu_peak_bytes(), notes()
        self.notes += [one for one in told if one not in self.notes]
        if peak is not None:
            self._gpu_peak_bytes = max(peak, self._gpu_peak_bytes or 0)
