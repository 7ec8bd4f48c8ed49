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
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks._bare import Bare
from worldgauge.engine.run import run as perform

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
    model = f"benchmarks._bare:Still?wait={wait}"
    began: list[float] = []
    steps = {"data": out.parent, "out": out, "workers": WORKERS, "progress": lambda step: began.append(time.time())}
    result = perform(Bare.name, model=model, settings={"tasks": TASKS}, **steps)
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
