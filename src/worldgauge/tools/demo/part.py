"""The part of one suite in the demo, in a process of its own: collect, run, report, and a card for the index.

python -m worldgauge.tools.demo.part SUITE FOLDER [--full] [--workers N]

Progress goes to stdout, one JSON object a line.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldgauge.core.errors import RunError, WorldgaugeError
from worldgauge.core.io import dumps
from worldgauge.engine.suite.base import suites
from worldgauge.engine.suite.contract import DemoSet
from worldgauge.terminal.options import INTERRUPTED, KNOWN_ERROR

if TYPE_CHECKING:
    from worldgauge.engine.collection.kernel import CollectProgress
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
    """Do the whole part of a suite. What is done already is kept.

    Args:
        suite: Name of the suite.
        folder: Folder of the part.
        full: Whether to use the large set.
        workers: Number of parallel processes.

    Returns:
        The content of the card.

    Raises:
        WorldgaugeError: When the part cannot be completed.
    """
    from worldgauge.engine.collection.kernel import collect
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
    """What a suite shows in the demo.

    Raises:
        RunError: For a suite without a demo.
    """
    found = suites.get(suite).demo_set(full=full)
    if found is None:
        raise RunError(f"suite '{suite}' has no demo")
    return found


def clearly_ranked(rows: Sequence[CardRow], better: str) -> bool:
    """Whether every subject is better than the next one by intervals that do not meet.

    Args:
        rows: The subjects, the best first.
        better: "higher" or "lower".
    """
    for one, other in pairwise(rows):
        if None in (one.low, one.high, other.low, other.high):
            return False
        above, below = (one, other) if better == "higher" else (other, one)
        if not above.low > below.high:  # type: ignore[operator]
            return False
    return True


def headline_rows(table: Table, subjects: Sequence[str], column: str = "") -> tuple[str, list[CardRow]]:
    """One column of a headline table for some subjects.

    Args:
        table: The table.
        subjects: Labels in the order of the rows.
        column: Name of the column. Empty for the one that sums the table up: the first where columns are metrics,
            else the last.

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
    from worldgauge.report.films.previews import preview_task

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


if __name__ == "__main__":
    main()
