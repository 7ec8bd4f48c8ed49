"""Workers on Ray of one machine, killed at random with the actors that hold them: nothing may be lost or change.

`python -m benchmarks.cluster_chaos --workers 8 --tasks 1000 --kill-s 300` prints one JSON object. It needs the extra
`cluster`. An actor takes ten seconds and more to start on a small machine: kill more slowly than that.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks._bare import Bare
from worldgauge.engine.run import run as perform

WORKERS, TASKS, TASK_S, BETWEEN_KILLS_S, KILL_S = 4, 200, 0.5, 10.0, 60.0
_VICTIMS = {"worker": b"worldgauge.engine.workers.worker", "actor": b"ray::Relay"}


def run() -> dict[str, Any]:
    return measure(WORKERS, TASKS, TASK_S, BETWEEN_KILLS_S, KILL_S)


def measure(workers: int, tasks: int, task_s: float, between_s: float, kill_s: float) -> dict[str, Any]:
    """Run tasks on Ray while worker processes and actors are killed, and the same tasks here, undisturbed.

    Args:
        workers: Number of workers, each with an actor of its own.
        tasks: Number of tasks.
        task_s: Seconds that each waits.
        between_s: Mean seconds between two kills.
        kill_s: Seconds after which no more are killed.

    Returns:
        What `python -m benchmarks cluster_chaos --json` prints.
    """
    if find_spec("ray") is None:
        return {"name": "cluster_chaos", "not_run": "the extra 'cluster' is not installed"}
    import ray

    with tempfile.TemporaryDirectory() as folder:
        alone, _ = _folder_of(Path(folder, "alone"), tasks, 0.0, workers=1)
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        ray.init("local", num_cpus=workers, include_dashboard=False, log_to_driver=False)
        kills, stop = Counter[str](), threading.Event()
        killer = threading.Thread(target=_kill_at_random, args=(kills, stop, between_s, kill_s))
        began = time.monotonic()
        killer.start()
        try:
            killed, failures = _folder_of(Path(folder, "killed"), tasks, task_s, workers=workers, on="ray")
        finally:
            stop.set()
            killer.join()
            ray.shutdown()
        seconds = time.monotonic() - began
        # What was lost three times has failed, and is asked for once more by the same command.
        killed, left = _folder_of(killed.parent, tasks, task_s, workers=1)
        same = _scores(killed) == _scores(alone)
        lines = [json.loads(line) for line in (killed / "journal.jsonl").read_text().splitlines()]
    return {
        "name": "cluster_chaos",
        "unit": f"tasks that ended well in the first run, on {workers} workers of Ray; the second ends the others",
        "ours": tasks - failures,
        "reference": tasks,
        "reference_name": "all",
        "ratio": round(1 - failures / tasks, 4),
        "goal": 1.0,
        "met": same and not left,
        "lost_three_times": failures,
        "same_bytes": same,
        "kills": dict(kills),
        "begun_again": sum(len(line.get("lost", ())) for line in lines),
        "seconds": round(seconds),
        "undisturbed_s": round(tasks * task_s / workers),
    }


def _folder_of(out: Path, tasks: int, wait: float, **more: Any) -> tuple[Path, int]:
    """The run's folder, and how many of its tasks failed."""
    model = f"benchmarks._bare:Still?wait={wait}"
    result = perform(Bare.name, model=model, data=out.parent, out=out, settings={"tasks": tasks}, **more)
    (folder,) = result.directories.values()
    return folder, tasks - result.counts.scored


def _scores(folder: Path) -> bytes:
    """The scores of a run, whatever its model is called: how long it waits is part of that."""
    return (folder / "scores.jsonl").read_bytes().replace(folder.name.encode(), b"it")


def _kill_at_random(kills: Counter[str], stop: threading.Event, between_s: float, kill_s: float) -> None:
    """Worker processes and actors in turn, as chance has it."""
    rng, end = random.Random(1), time.monotonic() + kill_s
    while not stop.wait(rng.uniform(0, 2 * between_s)) and time.monotonic() < end:
        kind = rng.choice(list(_VICTIMS))
        found = _descendants(_VICTIMS[kind])
        if found:
            with suppress(ProcessLookupError):
                os.kill(rng.choice(found), signal.SIGKILL)
                kills[kind] += 1


def _descendants(words: bytes) -> list[int]:
    """Processes that this one started, directly or not, with these words in their command line."""
    parents, lines = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            process = int(folder.name)
            parents[process] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            lines[process] = (folder / "cmdline").read_bytes()

    def is_ours(process: int) -> bool:
        while process in parents:
            process = parents[process]
            if process == os.getpid():
                return True
        return False

    return [process for process, line in lines.items() if words in line and is_ours(process)]


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster_chaos", description=__doc__.split("\n")[0])
    parser.add_argument("--workers", type=int, default=WORKERS, help="default: %(default)s")
    parser.add_argument("--tasks", type=int, default=TASKS, help="default: %(default)s")
    parser.add_argument("--task-s", type=float, default=TASK_S, help="seconds that a task waits (%(default)s)")
    parser.add_argument("--between-s", type=float, default=BETWEEN_KILLS_S, help="mean of two kills (%(default)s)")
    parser.add_argument("--kill-s", type=float, default=KILL_S, help="seconds of kills (%(default)s)")
    given = parser.parse_args()
    print(json.dumps(measure(given.workers, given.tasks, given.task_s, given.between_s, given.kill_s)))


if __name__ == "__main__":
    main()
