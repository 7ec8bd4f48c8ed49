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
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from worldgauge.core.errors import DataError, RunError, WorldgaugeError
from worldgauge.core.io import dumps, read_json_object
from worldgauge.engine.store import atomic_write, write_error
from worldgauge.engine.suite.base import suites
from worldgauge.engine.suite.contract import DemoSet
from worldgauge.engine.workers.worker import THREAD_LIMITS
from worldgauge.terminal.options import INTERRUPTED, KNOWN_ERROR
from worldgauge.version import __version__

if TYPE_CHECKING:
    from worldgauge.engine.collect import CollectProgress
    from worldgauge.engine.result import RunResult
    from worldgauge.engine.subject_run import RunStep
    from worldgauge.engine.suite.contract import Table

CARD = "card.json"
"""Written last: a part that has one is complete."""
QUICK_FILMS = 4
"""Tasks shown as films in the reports of the quick demo: encoding them takes most of the time of a report."""
STAGES = ("collecting", "running", "writing the report")


@dataclass(frozen=True)
class CardRow:
    """One subject in the headline of a card.

    Attributes:
        label: Name of the subject.
        mean: Mean of the headline metric.
        low: Lower end of its 95% interval.
        high: Upper end.
        n: Number of values.
    """

    label: str
    mean: float | None
    low: float | None
    high: float | None
    n: int


def run_part(suite: str, folder: Path, *, full: bool, workers: int) -> dict[str, Any]:
    """Do the whole part of a suite. What is done already is kept."""
    from worldgauge.engine.collect import collect
    from worldgauge.engine.run import run
    from worldgauge.report import write_report

    shown = demo_set(suite, full)
    spent = {}
    start = _spent()
    made = collect(suite, folder / "data", workers=workers, progress=_tell_collected, **shown.options)
    if made.failures:
        raise RunError(f"{suite}: {made.failures[0]}")
    spent["collect"] = _spent() - start
    start = _spent()
    subjects = (*shown.subjects, *shown.beside)
    result = run(
        suite,
        model=subjects,
        data=folder / "data",
        out=folder / "runs",
        workers=workers,
        settings=shown.settings,
        progress=_RunTeller(len(subjects)),
    )
    if not result.ok:
        failed = result.failures[0]
        raise RunError(f"{suite}: {failed.task} of {failed.subject} failed: {failed.error}")
    spent["run"] = _spent() - start
    start = _spent()
    _tell(STAGES[2], 0, 1)
    write_report([folder / "runs"], folder / "report.html", films=24 if full else QUICK_FILMS)
    card = _card(suite, shown, result, folder)
    spent["report"] = _spent() - start
    return {**card, "core_seconds": {name: round(seconds, 1) for name, seconds in spent.items()}}


def demo_set(suite: str, full: bool) -> DemoSet:
    """What a suite shows in the demo."""
    found = suites.get(suite).demo_set(full=full)
    if found is None:
        raise RunError(f"suite '{suite}' has no demo")
    return found


def clearly_ranked(rows: Sequence[CardRow], better: str) -> bool:
    """Whether every subject is better than the next one by intervals that do not meet."""
    for one, other in pairwise(rows):
        if None in (one.low, one.high, other.low, other.high):
            return False
        above, below = (one, other) if better == "higher" else (other, one)
        if not above.low > below.high:  # type: ignore[operator]
            return False
    return True


def headline_rows(table: Table, subjects: Sequence[str], column: str = "") -> tuple[str, list[CardRow]]:
    """One column of a headline table for some subjects.

    Returns:
        Name of the column, and one row per subject.
    """
    place = table.columns.index(column or table.columns[0 if table.betters else -1])
    cells = {row.label: row.cells[place] for row in table.rows}
    rows = []
    for label in (label for label in subjects if label in cells):
        cell = cells[label]
        # Equal values, such as those of ground truth, have no interval, and yet a certain place.
        ends = (cell.mean, cell.mean) if cell.std == 0 else (cell.low, cell.high)
        rows.append(CardRow(label, cell.mean, *ends, cell.n))
    return table.columns[place], rows


def _card(suite: str, shown: DemoSet, result: RunResult, folder: Path) -> dict[str, Any]:
    from worldgauge.report.task_films import preview_task

    labels = list(result.directories)
    ordered = labels[: len(shown.subjects)]
    table = result.table()[0]
    column, rows = headline_rows(table, labels, shown.column)
    better = table.betters[0] if table.betters else table.better
    return {
        "suite": suite,
        "question": shown.question,
        "title": table.title,
        "column": column,
        "unit": table.unit,
        "better": better,
        "rows": [asdict(row) for row in rows],
        "ranked": clearly_ranked([row for row in rows if row.label in ordered], better),
        "beside": [label for label in labels if label not in ordered],
        "counts": asdict(result.counts),
        "subject_kind": suites.get(suite).subject_kind,
        "settings": dict(shown.settings),
        "previews": [asdict(one) for one in preview_task([folder / "runs"], labels, table.metric)],
    }


class _RunTeller:
    """Tells the progress of a run over all of its subjects."""

    def __init__(self, subjects: int) -> None:
        self._subjects = subjects
        self._finished: dict[str, int] = {}
        self._told = -1

    def __call__(self, step: RunStep) -> None:
        self._finished[step.subject] = step.finished
        done = sum(self._finished.values())
        if done != self._told:
            self._told = done
            _tell(STAGES[1], done, step.expected * self._subjects)


def _tell_collected(step: CollectProgress) -> None:
    _tell(STAGES[0], step.done, step.total)


def _tell(stage: str, done: int, total: int) -> None:
    print(dumps({"stage": stage, "done": done, "total": total}), flush=True)


def _spent() -> float:
    """Processor time of this process and of the workers that have ended, in seconds."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def main() -> None:
    """Do the part that the command line names, and end with 0, or with 2 after a line that says why not."""
    from worldgauge.engine.store import atomic_write

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
class Part:
    """One suite of the demo and how far it has come.

    Attributes:
        suite: Name of the suite.
        folder: Its folder.
        shown: What it shows.
        stage: Index in `STAGES`. -1 before it has started.
        done: Items of the stage that are done.
        total: All items of the stage.
        started: Time of its start, from `time.monotonic`. None before.
        ended: Time of its end.
        error: Why it failed. Empty otherwise.
        card: Content of its card. None until it is complete.
    """

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
    """The demo in a folder.

    Attributes:
        folder: Folder of the demo.
        full: Whether it shows the large sets.
        slots: Number of parts that run at once.
        parts: The parts, in the order of the page.
        started: Time of the start, from `time.monotonic`.
    """

    folder: Path
    full: bool
    slots: int
    parts: list[Part]
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
    parts = [Part(name, folder / name, found) for name, found in shown.items() if found is not None]
    parts.sort(key=lambda part: part.shown.place)
    identity = {"demo": "full" if full else "quick", "worldgauge": __version__}
    _claim(folder, identity)
    for part in parts:
        part.card = _card_of(part)
        if part.card is not None:
            part.ended = time.monotonic()
    _check_space(folder, sum(part.shown.megabytes for part in parts if part.card is None))
    return Demo(folder, full, max(1, min(workers, len(parts))), parts)


def perform(demo: Demo, workers: int, watch: Callable[[Demo], None]) -> None:
    """Do all parts that are not complete. Parts that fail do not stop the others.

    Args:
        watch: Called after every change, and twice a second.
    """
    waiting = ordered([part for part in demo.parts if part.card is None], demo.slots)
    running: dict[str, subprocess.Popen[str]] = {}
    heard: queue.Queue[tuple[Part, str | None]] = queue.Queue()
    each = max(1, workers // max(1, min(demo.slots, len(waiting))))
    lock = _lock(demo.folder)
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
                _end(part, running.pop(part.suite).wait())
            else:
                _hear(part, line)
        watch(demo)
    finally:
        for process in running.values():
            process.send_signal(signal.SIGINT)
        for process in running.values():
            process.wait()
        lock.close()


def ordered(parts: Sequence[Part], slots: int) -> list[Part]:
    """The order in which parts start: the longest first, and with it the shortest, so that there is a table early."""
    order = sorted(parts, key=lambda part: -part.shown.core_seconds)
    if order:
        order.insert(min(1, slots - 1), order.pop())
    return order


def _start(part: Part, full: bool, workers: int, heard: queue.Queue[tuple[Part, str | None]]) -> subprocess.Popen[str]:
    part.folder.mkdir(exist_ok=True)
    part.started, part.stage, part.done, part.total = time.monotonic(), 0, 0, 1
    words = [
        sys.executable,
        "-m",
        "worldgauge.tools.demo",
        part.suite,
        str(part.folder),
        "--workers",
        str(workers),
    ]
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
    threading.Thread(target=_listen, args=(part, process, heard), daemon=True).start()
    return process


def _listen(part: Part, process: subprocess.Popen[str], heard: queue.Queue[tuple[Part, str | None]]) -> None:
    for line in process.stdout or ():
        heard.put((part, line))
    heard.put((part, None))


def _hear(part: Part, line: str) -> None:
    try:
        told = json.loads(line)
        if "error" in told:
            part.error = str(told["error"])
        else:
            part.stage, part.done, part.total = STAGES.index(told["stage"]), int(told["done"]), int(told["total"])
    except (ValueError, KeyError, TypeError):
        return  # a library printed something


def _end(part: Part, status: int) -> None:
    part.ended = time.monotonic()
    part.card = _card_of(part) if status == 0 else None
    if part.card is None and not part.error:
        part.error = f"its process ended with {status}; see {part.folder / LOG}"


def _card_of(part: Part) -> Mapping[str, Any] | None:
    """The card of a complete part, or None."""
    if not (part.folder / CARD).is_file():
        return None
    try:
        return read_json_object(part.folder / CARD)
    except DataError:
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


def _lock(folder: Path) -> IO[bytes]:
    """Make sure that no other demo runs in the folder, until the file is closed or this process ends."""
    file = (folder / MANIFEST).open("rb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise RunError(f"a demo is running in {folder}: wait for it, or choose another folder with --out") from None
    return file


def _check_space(folder: Path, megabytes: float) -> None:
    free = shutil.disk_usage(folder).free / 1e6
    if free < megabytes:
        raise RunError(
            f"the demo needs about {megabytes:.0f} MB and {folder} has {free:.0f} MB left: "
            "make room, or choose a folder on another disk with --out"
        )


if __name__ == "__main__":
    main()
