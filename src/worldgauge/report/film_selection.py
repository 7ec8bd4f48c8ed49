"""Choice of the tasks that get a film, when there are more than a page can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from worldgauge.report.evidence import ComparedRun, Evidence, cell_of


@dataclass(frozen=True)
class Extremes:
    """The worst and the best trajectory of one subject.

    Attributes:
        label: Label of the subject.
        worst: Task and value.
        best: Task and value.
    """

    label: str
    worst: tuple[str, float]
    best: tuple[str, float]


def find_extremes(evidence: Evidence, metric: str, *, higher: bool = True) -> list[Extremes]:
    """Find the worst and best trajectory of every subject that has a value. The first task wins ties.

    Args:
        evidence: Scores of all runs.
        metric: The metric.
        higher: Higher values are better.
    """
    found = []
    for run in evidence.runs:
        known = run.values(metric)
        values = {task: known[task] for task in evidence.groups if task in known}
        if values:
            low, high = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
            worst, best = (low, high) if higher else (high, low)
            found.append(Extremes(run.label, (worst, values[worst]), (best, values[best])))
    return found


def select_tasks(evidence: Evidence, cases: Sequence[Extremes], limit: int) -> list[str]:
    """Choose tasks for films, in the order of the tasks.

    All of them where they fit. Otherwise the worst and best of the models under test, then those of the references that
    saw nothing hidden, then a spread over the cells of the table.

    Args:
        evidence: The compared runs.
        cases: Extremes, from `find_extremes`.
        limit: Largest number of tasks.

    Returns:
        Ids of the tasks.
    """
    tasks = list(evidence.groups)
    if len(tasks) <= limit:
        return tasks
    ranked = sorted(cases, key=lambda case: _interest(evidence[case.label]))
    wanted = [task for case in ranked for task in (case.worst[0], case.best[0])]
    cells: dict[str, list[str]] = {}
    for task in tasks:
        cells.setdefault(cell_of(evidence.groups[task]), []).append(task)
    spread = [task for layer in zip_longest(*cells.values()) for task in layer if task is not None]
    # Half of the room is kept for the spread: extremes alone would show no ordinary walk.
    first = list(dict.fromkeys(wanted))[: max(1, limit // 2)]
    room = limit - len(first)
    if 0 < room < len(cells):
        # More cells than room: not the first ones, which are all of one kind, but some of every kind.
        spread = [spread[k * len(cells) // room] for k in range(room)] + spread
    chosen = set(list(dict.fromkeys([*first, *spread]))[:limit])
    return [task for task in tasks if task in chosen]


def _interest(run: ComparedRun) -> tuple[bool, bool]:
    return run.kind == "reference", run.privileged
