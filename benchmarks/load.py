"""A run of very many tasks that cost nothing: does a task, a resumption, a report or the viewer get dearer with each?

`python -m benchmarks.load --tasks 100000 --out FOLDER` is the long form; all figures are of one process of the leader.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from benchmarks._bare import Bare
from worldgauge.engine.run import run as perform

TASKS, STEPS, WORKERS = 2_000, 10, 2
GOAL = 1.10
"""How much more memory the last tenth of a run may take than the second, in which everything is loaded."""
_MODEL = "benchmarks._bare:Still"


def run() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return measure(TASKS, Path(folder))


def measure(tasks: int, folder: Path) -> dict[str, Any]:
    """Run, resume, report on and look at `tasks` tasks, and a tenth of them for comparison.

    Args:
        tasks: Number of tasks.
        folder: Where the runs go.

    Returns:
        What `python -m benchmarks load --json` prints.
    """
    few = {what: _in_own_process(what, tasks // STEPS, folder / "few") for what in ("run", *_AFTER)}
    many = {what: _in_own_process(what, tasks, folder / "many") for what in ("run", *_AFTER)}
    steps = many["run"]["steps"]
    growth = steps[-1]["leader_mb"] / steps[1]["leader_mb"]
    return {
        "name": "load",
        "unit": f"MB of the leading process at the end of {tasks:,} tasks",
        "ours": round(steps[-1]["leader_mb"], 1),
        "reference": round(steps[1]["leader_mb"], 1),
        "reference_name": "after the second tenth of them",
        "ratio": round(growth, 3),
        "goal": GOAL,
        "met": growth <= GOAL,
        "steps": steps,
        "us_a_task": {
            name: {what: round(1e6 * one[what]["cpu_s"] / count) for what in _AFTER}
            for name, count, one in (("few", tasks // STEPS, few), ("many", tasks, many))
        },
        "seconds": {what: many[what]["cpu_s"] for what in _AFTER},
        "peak_mb": {what: many[what]["peak_mb"] for what in ("run", *_AFTER)},
        "page_mb": many["report"]["page_mb"],
    }


def _in_own_process(what: str, tasks: int, folder: Path) -> Any:
    command = [sys.executable, "-m", "benchmarks.load", "--tasks", str(tasks), "--out", str(folder), "--only", what]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def _run(tasks: int, folder: Path) -> dict[str, Any]:
    """Seconds of each tenth of a run, and the memory after it."""
    folder.mkdir(parents=True, exist_ok=True)
    steps: list[dict[str, float]] = []
    last = [time.monotonic(), _seconds_of_all()]

    def watch(step: Any) -> None:
        if step.status is not None and step.finished % (tasks // STEPS) == 0:
            now = [time.monotonic(), _seconds_of_all()]
            steps.append(
                {
                    "tasks": step.finished,
                    "clock_s": round(now[0] - last[0], 2),
                    "cpu_s": round(now[1] - last[1], 2),
                    "leader_mb": round(_resident_mb(os.getpid()), 1),
                    "worker_mb": round(max(map(_resident_mb, _children())), 1),
                }
            )
            last[:] = now

    arguments = {"data": folder, "out": folder, "settings": {"tasks": tasks}, "workers": WORKERS, "progress": watch}
    result = perform(Bare.name, model=_MODEL, **arguments)
    assert result.counts.scored == tasks, result.failures[:3]
    return {"steps": steps, "peak_mb": _peak_mb()}


def _resume(tasks: int, folder: Path) -> dict[str, Any]:
    """The same command on the finished run."""
    result, seconds = _timed(
        lambda: perform(Bare.name, model=_MODEL, data=folder, out=folder, settings={"tasks": tasks}, workers=WORKERS)
    )
    assert result.counts.scored == tasks
    return {"cpu_s": seconds, "peak_mb": _peak_mb()}


def _report(tasks: int, folder: Path) -> dict[str, Any]:
    from worldgauge.report import write_report

    page, seconds = _timed(lambda: write_report([folder], folder / "report.html"))
    return {"cpu_s": seconds, "peak_mb": _peak_mb(), "page_mb": round(page.stat().st_size / 1e6, 2)}


def _viewer(tasks: int, folder: Path) -> dict[str, Any]:
    """From a cold start to the list of all tasks of the run."""
    from worldgauge.tools.viewer import Viewer

    def ask(path: str) -> Any:
        with urllib.request.urlopen(f"{viewer.link}{path}") as answer:
            return json.loads(answer.read())

    def act() -> None:
        (group,) = ask("api/runs")["groups"]
        assert len(ask(f"api/tasks?g={group['id']}")["tasks"]) == tasks

    with closing(Viewer(folder)) as viewer:
        viewer.start()
        _, seconds = _timed(act)
    return {"cpu_s": seconds, "peak_mb": _peak_mb()}


_AFTER: dict[str, Callable[[int, Path], dict[str, Any]]] = {"resume": _resume, "report": _report, "viewer": _viewer}


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    before = time.process_time()
    value = work()
    return value, round(time.process_time() - before, 2)


def _children() -> list[int]:
    return [int(n) for n in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()]


def _seconds_of_all() -> float:
    """Processor seconds of this process and of its living children."""
    ticks = 0
    for process in [os.getpid(), *_children()]:
        with suppress(OSError):
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _resident_mb(process: int) -> float:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize() / 1e6
    except OSError:
        return 0.0


def _peak_mb() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6, 1)


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", type=int, default=TASKS, help=f"default: {TASKS}")
    parser.add_argument("--out", type=Path, help="folder of the runs, kept; by default one that is removed")
    parser.add_argument("--only", choices=["run", *_AFTER], help="one part, in this process, on the folder itself")
    options = parser.parse_args()
    if options.only:
        result = {"run": _run, **_AFTER}[options.only](options.tasks, options.out)
    elif options.out:
        result = measure(options.tasks, options.out)
    else:
        with tempfile.TemporaryDirectory() as folder:
            result = measure(options.tasks, Path(folder))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
