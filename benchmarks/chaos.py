"""A run of 1,000 tasks over 2 workers whose processes are killed at random, beside the same run left alone."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.engine.run import run as perform
from worldgauge.engine.suite.contract import Record, Score, Table, Task, TaskContext
from worldgauge.suites import suites

TASKS, WORKERS = 1000, 2
BETWEEN_KILLS_S = 3.0
TASK_S = 0.02
GOAL = 0.5
"""Share of the speed that must be left when a worker dies every 3 s on average; starting one anew takes 1 to 2 s."""


def run() -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp())
    try:
        alone_s, alone = _timed(folder / "alone")
        bare_s, _ = _timed(folder / "bare", wait=0.0)
        kills: list[int] = []
        stop = threading.Event()
        killer = threading.Thread(target=_kill_at_random, args=(kills, stop))
        killer.start()
        try:
            killed_s, killed = _timed(folder / "killed")
        finally:
            stop.set()
            killer.join()
        lines = [json.loads(line) for line in (killed / "journal.jsonl").read_text().splitlines()]
        assert (killed / "scores.jsonl").read_bytes() == (alone / "scores.jsonl").read_bytes()
    finally:
        shutil.rmtree(folder)
    return {
        "name": "chaos",
        "ours": round(TASKS / killed_s, 1),
        "reference": round(TASKS / alone_s, 1),
        "reference_name": "the same run without kills",
        "unit": f"tasks a second, each {TASK_S:g} s of work, on {WORKERS} workers",
        "ratio": round(alone_s / killed_s, 2),
        "goal": GOAL,
        "met": alone_s / killed_s >= GOAL,
        "kills": len(kills),
        "attempts": TASKS + sum(len(line.get("lost", ())) for line in lines),
        "overhead_ms": round(1000 * bare_s / TASKS, 2),
    }


def _timed(out: Path, wait: float = TASK_S) -> tuple[float, Path]:
    """Seconds of a run, without what it takes to start."""
    model = f"{__name__}:_Still?wait={wait}"
    began: list[float] = []
    steps = {"data": out.parent, "out": out, "workers": WORKERS, "progress": lambda step: began.append(time.time())}
    result = perform(_Chaos.name, model=model, **steps)
    seconds = time.time() - began[0]
    assert result.counts.scored == TASKS, result.failures
    (folder,) = result.directories.values()
    return seconds, folder


def _kill_at_random(kills: list[int], stop: threading.Event) -> None:
    rng = random.Random(1)
    while not stop.wait(rng.uniform(0, 2 * BETWEEN_KILLS_S)):
        workers = _children("worldgauge.engine.workers.worker")
        if workers:
            with suppress(ProcessLookupError):
                os.kill(rng.choice(workers), signal.SIGKILL)
                kills.append(1)


def _children(command: str) -> list[int]:
    """Child processes of this one with `command` in their command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            status, line = (folder / "status").read_text(), (folder / "cmdline").read_bytes()
            if f"\nPPid:\t{os.getpid()}\n" in status and command.encode() in line:
                found.append(int(folder.name))
    return found


class _Still:
    """Frames without content, after a moment of work."""

    def __init__(self, wait: float = TASK_S) -> None:
        self.spec = ModelSpec("still")
        self.wait = wait

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        time.sleep(self.wait)
        yield np.zeros((1, 8, 8, 3), np.uint8)


@suites.register("bench-chaos")
class _Chaos:
    """Tasks that hold nothing."""

    name = "bench-chaos"
    version = 1
    references = ()
    metrics = ()
    settings: Mapping[str, Any] = {}

    def tasks(self, source: Path) -> Iterator[Task]:
        return (Task(self.name, f"task/{n}", {}, str(n)) for n in range(TASKS))

    def perform(self, task: Task, subject: Any, task_context: TaskContext) -> Record:
        list(subject.rollout(None))
        return Record(task, subject.spec.name, task_context.directory)

    def score(self, record: Record, task_context: TaskContext) -> list[Score]:
        return [Score(record.task.id, "one", 1.0, n=1)]

    def summarize(self, scores: Mapping[str, Sequence[Score]], kinds: Mapping[str, str]) -> list[Table]:
        return []
