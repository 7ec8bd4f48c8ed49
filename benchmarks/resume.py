"""Finding what is left of a run of 1,000 tasks that are all done, each with five scores of 97 frames."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.engine.run import run as perform
from worldgauge.engine.suite.contract import Record, Score, Table, Task, TaskContext
from worldgauge.suites import suites

TASKS, METRICS, FRAMES = 1000, 5, 97
GOAL_S = 2.0


def run() -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp())
    suites.register("bench-resume")(_Suite)
    try:
        perform("bench-resume", model=_Model(), data=folder, out=folder / "out")
        began = time.perf_counter()
        again = perform("bench-resume", model=_Model(), data=folder, out=folder / "out")
        ours = time.perf_counter() - began
        assert again.counts.scored == TASKS
        reference = _one_growing_file(folder)
    finally:
        suites._entries.pop("bench-resume")
        shutil.rmtree(folder)
    return {
        "name": "resume",
        "ours": round(ours, 3),
        "reference": round(reference, 3),
        "reference_name": "one growing JSON read and written whole, as MIND's script does",
        "unit": "s for 1,000 finished tasks",
        "ratio": round(reference / ours, 1),
        "goal": GOAL_S,
        "met": ours <= GOAL_S,
    }


def _one_growing_file(folder: Path) -> float:
    """Seconds to read one JSON file of all results and rewrite it whole for one more, as MIND's script does."""
    path = folder / "results.json"
    entry = {f"metric{m}": [t / 7 + m for t in range(FRAMES)] for m in range(METRICS)}
    path.write_text(json.dumps({str(n): entry for n in range(TASKS)}))
    began = time.perf_counter()
    results = json.loads(path.read_text())
    results["one more"] = entry
    path.write_text(json.dumps(results))
    return time.perf_counter() - began


class _Model:
    spec = ModelSpec("still")

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        yield np.zeros((request.horizon, 8, 8, 3), np.uint8)


class _Suite:
    name = "bench-resume"
    version = 1
    references = ()
    metrics = ()
    settings: Mapping[str, Any] = {}

    def tasks(self, source: Path) -> Iterator[Task]:
        return (Task(self.name, f"ABA/village/{n}", {}, str(n)) for n in range(TASKS))

    def perform(self, task: Task, subject: Any, task_context: TaskContext) -> Record:
        return Record(task, subject.spec.name, task_context.directory)

    def score(self, record: Record, task_context: TaskContext) -> list[Score]:
        series = tuple((t, t / 7) for t in range(FRAMES))
        return [Score(record.task.id, f"metric{m}", float(m), n=FRAMES, series=series) for m in range(METRICS)]

    def summarize(self, scores: Mapping[str, Sequence[Score]], kinds: Mapping[str, str]) -> list[Table]:
        return []
