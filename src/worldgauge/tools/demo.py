"""The demo: every suite on a small data set, each in a process of its own.

python -m worldgauge.tools.demo SUITE FOLDER [--full] [--workers N]

performs the part of one suite. Progress goes to stdout, one JSON object a line.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import queue
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldgauge.core.errors import DataError, RunError, WorldgaugeError
from worldgauge.core.io import dumps, read_json_object
from worldgauge.engine.store import atomic_write, write_error
from worldgauge.engine.suite.base import suites
from worldgauge.engine.suite.contract import DemoSet
from worldgauge.engine.workers.worker import THREAD_LIMITS
from worldgauge.terminal.options import INTERRUPTED, KNOWN_ERROR
from worldgauge.version import __version__

if TYPE_CHECKING:
    from worldgauge.engine.model_run import RunStep

CARD = "card.json"
"""Written last: a part that has one is complete."""
QUICK_FILMS = 4
"""Tasks shown as films in the reports of the quick demo: encoding them takes most of the time of a report."""
STAGES = ("collecting", "running", "writing the report")


def run_part(suite: str, folder: Path, *, full: bool, workers: int) -> dict[str, Any]:
    """Do the whole part of a suite. What is done already is kept."""
    from worldgauge.engine.collect import collect
    from worldgauge.engine.run import RunRequest, execute
    from worldgauge.report import write_report
    from worldgauge.report.overview import suite_card

    shown = demo_set(suite, full)
    spent = {}
    start = _spent()
    made = collect(
        suite,
        folder / "data",
        workers=workers,
        progress=lambda step: _tell(STAGES[0], step.done, step.total),
        **shown.options,
    )
    if made.failures:
        raise RunError(f"{suite}: {made.failures[0]}")
    spent["collect"] = _spent() - start
    start = _spent()
    request = RunRequest(
        suite,
        models=shown.models,
        data=folder / "data",
        out=folder / "runs",
        workers=workers,
        settings=shown.settings,
        stand_in=shown.stand_in,
    )
    result = execute(request, _run_printer(len(shown.models)))
    if not result.ok:
        failed = result.failures[0]
        raise RunError(f"{suite}: {failed.task} of {failed.model} failed: {failed.error}")
    spent["run"] = _spent() - start
    start = _spent()
    _tell(STAGES[2], 0, 1)
    write_report([folder / "runs"], folder / "report.html", films=24 if full else QUICK_FILMS)
    card = suite_card([folder / "runs"], f"{suite}/report.html") | {"counts": asdict(result.counts)}
    spent["report"] = _spent() - start
    return {**card, "core_seconds": {name: round(seconds, 1) for name, seconds in spent.items()}}


def demo_set(suite: str, full: bool) -> DemoSet:
    """What a suite shows in the demo."""
    found = suites.get(suite).demo_set(full=full)
    if found is None:
        raise RunError(f"suite '{suite}' has no demo")
    return found


def _run_printer(models: int) -> Callable[[RunStep], None]:
    """Print the progress of a run over all of its models."""
    finished: dict[str, int] = {}
    expected: dict[str, int] = {}

    def show(step: RunStep) -> None:
        before = sum(finished.values()) if finished else -1
        finished[step.model], expected[step.model] = step.finished, step.expected
        if (done := sum(finished.values())) != before:
            # Models with a decoy test have more tasks than the others.
            waiting = min(expected.values()) * (models - len(expected))
            _tell(STAGES[1], done, sum(expected.values()) + waiting)

    return show


def _tell(stage: str, done: int, total: int) -> None:
    print(dumps({"stage": stage, "done": done, "total": total}), flush=True)


def _spent() -> float:
    """Processor time of this process and of the workers that have ended, in seconds."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def main() -> None:
    """Do the part that the command line names, and end with 0, or with 2 after a line that says why not."""
    reader = argparse.ArgumentParser()
    reader.add_argument("suite")
    reader.add_argument("folder", type=Path)
    reader.add_argument("--full", action="store_true")
    reader.add_argument("--workers", type=int, default=1)
    given = reader.parse_args()
    start = time.monotonic()
    try:
        given.folder.mkdir(parents=True, exist_ok=True)
        card = run_part(given.suite, given.folder, full=given.full, workers=given.workers)
    except WorldgaugeError as error:
        print(dumps({"error": str(error)}), flush=True)
        sys.exit(KNOWN_ERROR)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    card["seconds"] = round(time.monotonic() - start, 1)
    atomic_write(given.folder / CARD, dumps(card))


MANIFEST = "demo.json"
LOG = "log.txt"
STAGE_SHARES = (0.35, 0.6, 0.05)
"""Of the time of a part, as measured over all suites."""
TICK_S = 0.5


@dataclass
class DemoPart:
    """One suite of the demo and its progress: `stage` in `STAGES`, -1 before it starts; times of `time.monotonic`."""

    suite: str
    folder: Path
    shown: DemoSet
    stage: int = -1
    done: int = 0
    total: int = 0
    started: float | None = None
    ended: float | None = None
    error: str = ""
    card: Mapping[str, Any] | None = None

    @property
    def share(self) -> float:
        """Share of its work that is done, from 0 to 1."""
        if self.ended is not None:
            return 1.0
        if self.stage < 0:
            return 0.0
        return sum(STAGE_SHARES[: self.stage]) + STAGE_SHARES[self.stage] * self.done / max(self.total, 1)


@dataclass
class Demo:
    """The demo in a folder."""

    folder: Path
    full: bool
    slots: int
    parts: list[DemoPart]
    started: float = field(default_factory=time.monotonic)

    def seconds_left(self) -> float | None:
        """Estimate of the time left, from what has been done so far; None while that is too little."""
        now = [part for part in self.parts if part.started is not None or part.card is None]
        finished = sum(part.shown.core_seconds * part.share for part in now)
        left = [part.shown.core_seconds * (1 - part.share) for part in now]
        if finished < 0.03 * (finished + sum(left)):
            return None
        pace = (time.monotonic() - self.started) * min(self.slots, len(now)) / finished
        return pace * max(sum(left) / self.slots, max(left))


def open_demo(folder: Path, *, full: bool, workers: int) -> Demo:
    """Open a folder for the demo, new or interrupted."""
    shown = {name: suites.get(name).demo_set(full=full) for name in suites.names()}
    parts = [DemoPart(name, folder / name, found) for name, found in shown.items() if found is not None]
    parts.sort(key=lambda part: part.shown.place)
    _claim(folder, {"demo": "full" if full else "quick", "worldgauge": __version__})
    for part in parts:
        part.card = _card_of(part)
        if part.card is not None:
            part.ended = time.monotonic()
    needed_mb = sum(part.shown.megabytes for part in parts if part.card is None)
    free_mb = shutil.disk_usage(folder).free / 1e6
    if free_mb < needed_mb:
        raise RunError(
            f"the demo needs about {needed_mb:.0f} MB and {folder} has {free_mb:.0f} MB left: "
            "make room, or choose a folder on another disk with --out"
        )
    return Demo(folder, full, max(1, min(workers, len(parts))), parts)


def perform(demo: Demo, workers: int, watch: Callable[[Demo], None]) -> None:
    """Do all parts that are not complete. Parts that fail do not stop the others."""
    waiting = ordered([part for part in demo.parts if part.card is None], demo.slots)
    running: dict[str, subprocess.Popen[str]] = {}
    heard: queue.Queue[tuple[DemoPart, str | None]] = queue.Queue()
    each = max(1, workers // max(1, min(demo.slots, len(waiting))))
    # The lock is held until the file is closed or this process ends.
    lock = (demo.folder / MANIFEST).open("rb")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise RunError(
            f"a demo is running in {demo.folder}: wait for it, or choose another folder with --out"
        ) from None
    try:
        while waiting or running:
            while waiting and len(running) < demo.slots:
                part = waiting.pop(0)
                running[part.suite] = _start(part, demo.full, each, heard)
            watch(demo)
            try:
                part, line = heard.get(timeout=TICK_S)
            except queue.Empty:
                continue
            if line is None:
                status = running.pop(part.suite).wait()
                part.ended = time.monotonic()
                part.card = _card_of(part) if status == 0 else None
                if part.card is None and not part.error:
                    part.error = f"its process ended with {status}; see {part.folder / LOG}"
            else:
                _hear(part, line)
        watch(demo)
    finally:
        for process in running.values():
            process.send_signal(signal.SIGINT)
        for process in running.values():
            process.wait()
        lock.close()


def ordered(parts: Sequence[DemoPart], slots: int) -> list[DemoPart]:
    """The order in which parts start: the longest first, and with it the shortest, so that there is a table early."""
    order = sorted(parts, key=lambda part: -part.shown.core_seconds)
    if order:
        order.insert(min(1, slots - 1), order.pop())
    return order


def _start(
    part: DemoPart, full: bool, workers: int, heard: queue.Queue[tuple[DemoPart, str | None]]
) -> subprocess.Popen[str]:
    part.folder.mkdir(exist_ok=True)
    part.started, part.stage, part.done, part.total = time.monotonic(), 0, 0, 1
    words = [sys.executable, "-m", "worldgauge.tools.demo", part.suite, str(part.folder), "--workers", str(workers)]
    with (part.folder / LOG).open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [*words, *(["--full"] if full else [])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            encoding="utf-8",
            env={**os.environ, **dict.fromkeys(THREAD_LIMITS, "1")},
        )

    def listen() -> None:
        for line in process.stdout or ():
            heard.put((part, line))
        heard.put((part, None))

    threading.Thread(target=listen, daemon=True).start()
    return process


def _hear(part: DemoPart, line: str) -> None:
    try:
        told = json.loads(line)
        if "error" in told:
            part.error = str(told["error"])
        else:
            part.stage, part.done, part.total = STAGES.index(told["stage"]), int(told["done"]), int(told["total"])
    except (ValueError, KeyError, TypeError):
        return  # a library printed something


def _card_of(part: DemoPart) -> Mapping[str, Any] | None:
    """The card of a complete part, or None."""
    with suppress(DataError):
        return read_json_object(part.folder / CARD) if (part.folder / CARD).is_file() else None
    return None


def _claim(folder: Path, identity: Mapping[str, str]) -> None:
    """Make the folder, or make sure that it holds this demo."""
    found = folder / MANIFEST
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if found.exists():
            before = read_json_object(found)
            if before != identity:
                raise RunError(
                    f"{folder} holds another demo ({before.get('demo')}, of worldgauge {before.get('worldgauge')}): "
                    "choose another folder with --out, or remove it"
                )
            return
        if any(folder.iterdir()):
            raise RunError(f"{folder} is not empty and holds no demo: choose another folder with --out")
    except OSError as error:
        raise write_error(error, folder) from error
    except DataError as error:
        raise RunError(f"{error}; remove {folder}, or choose another folder with --out") from error
    atomic_write(found, dumps(identity))


if __name__ == "__main__":
    main()
