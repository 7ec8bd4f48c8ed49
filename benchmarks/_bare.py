"""A suite whose tasks hold nothing and models that answer at once: what a run costs is then worldgauge's own part."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.engine.options import option
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Record, Score, Task, TaskContext
from worldgauge.suites import suites

WAIT_VARIABLE = "WORLDGAUGE_BENCH_WAIT_S"


class Still:
    """Frames without content, after a moment of work.

    Args:
        wait: Seconds of it.
    """

    def __init__(self, wait: float = 0.0) -> None:
        self.spec = ModelSpec("still")
        self.wait = wait

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """One black frame."""
        if self.wait:  # a sleep of 0 s still gives the processor away
            time.sleep(self.wait)
        yield np.zeros((1, 8, 8, 3), np.uint8)


class Pausing(Still):
    """The same after as many seconds as a variable of the environment says, so that they are not part of what it is."""

    def __init__(self) -> None:
        super().__init__(float(os.environ.get(WAIT_VARIABLE, "0")))


@suites.register("bench-bare")
class Bare(Suite):
    """Tasks that hold nothing."""

    @dataclass(frozen=True)
    class Settings:
        """How many of them.

        Attributes:
            tasks: Number of tasks.
            scores: Number of scores of each task.
            series: Length of the curve of each score.
        """

        tasks: int = option(1000, "number of tasks")
        scores: int = option(2, "number of scores of each task", low=1, high=5)
        series: int = option(0, "length of the curve of each score")

    name = "bench-bare"
    titles: ClassVar[Mapping[str, str]] = {"psnr": "PSNR", "mse": "MSE"}
    choosing_settings = frozenset({"tasks"})

    def tasks(self, source: Path) -> Iterator[Task]:
        """Tasks of two groups, by number."""
        return (
            Task(self.name, f"{'AB'[n % 2]}/task/{n}", {}, str(n), {"type": "AB"[n % 2]})
            for n in range(self.options.tasks)
        )

    def perform(self, task: Task, model: Any, task_context: TaskContext) -> Record:
        """Ask for one frame and keep nothing."""
        list(model.rollout(None))
        return Record(task, model.spec.name, task_context.directory)

    def score(self, record: Record, task_context: TaskContext) -> list[Score]:
        """Numbers that differ from task to task."""
        number = int(record.task.id.rpartition("/")[2])
        curve = tuple((t, t / 7) for t in range(self.options.series))
        names = ("psnr", "mse", "detail", "sharpness", "imaging")[: self.options.scores]
        return [
            Score(record.task.id, name, number % (89 - place) / 100, n=1, group=record.task.group, series=curve)
            for place, name in enumerate(names)
        ]
