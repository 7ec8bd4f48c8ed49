"""Workers on Ray of one machine, killed at random with the actors that hold them: nothing may be lost or change.

`python -m benchmarks.cluster_chaos --workers 8 --tasks 1000 --kill-s 300` prints one JSON object. It needs the extra
`cluster`. An actor takes ten seconds and more to start on a small machine: kill more slowly than that.

Everything lies in one folder that is removed at the end: the runs, Ray's own files, and what killed actors leave.
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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks._bare import WAIT_VARIABLE, Bare
from worldgauge.engine.run import run as perform

WORKERS, TASKS, TASK_S, BETWEEN_KILLS_S, KILL_S = 4, 200, 0.5, 10.0, 60.0
_RAY = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # Many workers on few cores: two start at a time, and each may take its time.
    "RAY_worker_maximum_startup_concurrency": "2",
    "RAY_prestart_worker_first_driver": "0",
    "RAY_worker_register_timeout_seconds": "600",
}
_VICTIMS = {"worker": b"worldgauge.engine.workers.worker", "actor": b"ray::Relay"}


def run() -> dict[str, Any]:
    return measure(WORKERS, TASKS, TASK_S, BETWEEN_KILLS_S, KILL_S)


def measure(
    workers: int, tasks: int, task_s: float, between_s: float, kill_s: float, stop_s: float = float("inf")
) -> dict[str, Any]:
    """Run tasks on Ray while worker processes and actors are killed, and the same tasks here, undisturbed.

    Args:
        workers: Number of workers, each with an actor of its own.
        tasks: Number of tasks.
        task_s: Seconds that each waits.
        between_s: Mean seconds between two kills.
        kill_s: Seconds after which no more are killed.
        stop_s: Seconds after which the run on Ray is interrupted, done or not.

    Returns:
        What `python -m benchmarks cluster_chaos --json` prints.
    """
    if find_spec("ray") is None:
        return {"name": "cluster_chaos", "not_run": "the extra 'cluster' is not installed"}
    import ray

    # Short, since Ray puts sockets into it, whose paths may have 107 bytes.
    with tempfile.TemporaryDirectory(prefix="wg") as folder:
        alone = _folder_of(Path(folder, "alone"), tasks)
        (scratch := Path(folder, "scratch")).mkdir()
        killed, kills, seconds = Path(folder, "killed"), Kills(), 0.0
        with _environment(_RAY | {"TMPDIR": str(scratch), WAIT_VARIABLE: str(task_s)}):
            began = time.monotonic()
            room = {"object_store_memory": 100 << 20, "_temp_dir": str(Path(folder, "ray"))}
            ray.init("local", num_cpus=workers, include_dashboard=False, log_to_driver=False, **room)
            stop = threading.Event()
            killer = threading.Thread(target=_kill_at_random, args=(kills, stop, between_s, kill_s))
            clock = threading.Timer(min(stop_s, threading.TIMEOUT_MAX), os.kill, (os.getpid(), signal.SIGINT))
            clock.daemon = True
            killer.start()
            clock.start()
            try:
                with suppress(KeyboardInterrupt):
                    _folder_of(killed, tasks, workers=workers, on="ray")
                clock.cancel()
                seconds = time.monotonic() - began
            finally:
                stop.set()
                killer.join()
                ray.shutdown()
        (journal,) = killed.glob("*/journal.jsonl")
        ended = [json.loads(line) for line in journal.read_text().splitlines()]
        failures = sum(line["status"] == "failed" for line in ended)
        # What was lost three times has failed; the same command asks it once more, and what was not begun.
        again = _folder_of(killed, tasks)
        same = (again / "scores.jsonl").read_bytes() == (alone / "scores.jsonl").read_bytes()
    good = len(ended) - failures
    return {
        "name": "cluster_chaos",
        "unit": f"tasks that ended well in the first run, on {workers} workers of Ray; the second ends the others",
        "ours": good,
        "reference": tasks,
        "reference_name": "all",
        "ratio": round(good / tasks, 4),
        "goal": 1.0,
        "met": same,
        "not_begun": tasks - len(ended),
        "lost_three_times": failures,
        "same_bytes": same,
        "kills": dict(kills.done),
        "most_workers_at_once": kills.most_workers,
        "begun_again": sum(len(line.get("lost", ())) for line in ended),
        "seconds": round(seconds),
        "undisturbed_s": round(tasks * task_s / workers),
    }


@dataclass
class Kills:
    """What the killer did and saw.

    Attributes:
        done: Kills by kind of process.
        most_workers: Largest number of worker processes that were there at once.
    """

    done: Counter[str] = field(default_factory=Counter)
    most_workers: int = 0


def _folder_of(out: Path, tasks: int, **more: Any) -> Path:
    """The folder of a run after it."""
    model = "benchmarks._bare:Pausing"
    result = perform(Bare.name, model=model, data=out.parent, out=out, settings={"tasks": tasks}, **more)
    (folder,) = result.directories.values()
    return folder


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """These variables and no others of their names, also for the folder that Python has chosen for temporary files."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    tempfile.tempdir = None
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
        tempfile.tempdir = None


def _kill_at_random(kills: Kills, stop: threading.Event, between_s: float, kill_s: float) -> None:
    """Worker processes and actors in turn, as chance has it."""
    rng, end = random.Random(1), time.monotonic() + kill_s
    while not stop.wait(rng.uniform(0, 2 * between_s)) and time.monotonic() < end:
        kind = rng.choice(list(_VICTIMS))
        processes = {name: _descendants(words) for name, words in _VICTIMS.items()}
        kills.most_workers = max(kills.most_workers, len(processes["worker"]))
        if processes[kind]:
            with suppress(ProcessLookupError):
                os.kill(rng.choice(processes[kind]), signal.SIGKILL)
                kills.done[kind] += 1


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
    parser.add_argument("--stop-s", type=float, default=float("inf"), help="seconds after which it is interrupted")
    given = parser.parse_args()
    seconds = given.task_s, given.between_s, given.kill_s, given.stop_s
    print(json.dumps(measure(given.workers, given.tasks, *seconds)))


if __name__ == "__main__":
    main()
