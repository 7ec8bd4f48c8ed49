"""Tables made of scores: cells with intervals, rows in order, and how small a difference a set could show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from worldgauge.core.statistics import bootstrap_interval, mean_std, smallest_resolvable_difference
from worldgauge.engine.suite.contract import Better, Cell, TableRow

FEWEST_PAIRS = 5
"""Tasks that two subjects must share before the spread of their differences says anything."""
_BOOTSTRAP_SEED = 20250522


def make_cell(values: Iterable[float | None], bounds: tuple[float, float], expected: int | None = None) -> Cell:
    """Mean, population std, n and a 95% bootstrap interval; missing and infinite values are counted, not averaged.

    bounds: what values the metric can have: an interval of few values may reach beyond them. expected: how many there
    should be, as many as `values` unless said.
    """
    values = list(values)
    known = [value for value in values if value is not None and np.isfinite(value)]
    total = mean_std(known)
    interval = bootstrap_interval(known, rng=np.random.default_rng(_BOOTSTRAP_SEED))
    low, high = (None, None) if interval is None else np.clip(interval, *bounds).tolist()
    return Cell(total.mean, total.std, total.n, low, high, expected=len(values) if expected is None else expected)


def sort_rows(rows: Sequence[TableRow], better: Better, column: int = -1) -> list[TableRow]:
    """Best first by one column, flagged rows after the others; rows without a mean there at the end."""
    sign = 1 if better == "lower" else -1

    def key(row: TableRow) -> tuple[bool, bool, float, str]:
        mean = row.cells[column].mean
        return mean is None, bool(row.flag), sign * mean if mean is not None else 0.0, row.label

    return sorted(rows, key=key)


def resolution_note(values: Mapping[str, Mapping[str, float | None]], tasks: str) -> str:
    """The line under a table on how small a difference the set could show.

    values: {subject: {task id: value}}, of two subjects or more. tasks: what tasks are called, in the plural.
    """
    smallest = smallest_difference(values)
    return "The smallest difference between two subjects that this set could resolve (80% power, 5% level) " + (
        f"is about {smallest:.3g}, the median over pairs of subjects."
        if smallest
        else f"cannot be estimated: it takes {FEWEST_PAIRS} {tasks} that two subjects share."
    )


def smallest_difference(values: Mapping[str, Mapping[str, float | None]]) -> float | None:
    """Median over pairs of subjects of the smallest resolvable paired difference; None where no pair has enough."""
    known = {
        subject: {task: value for task, value in own.items() if value is not None and np.isfinite(value)}
        for subject, own in values.items()
    }
    subjects = sorted(known)
    found = []
    for i, a in enumerate(subjects):
        for b in subjects[i + 1 :]:
            common = sorted(known[a].keys() & known[b].keys())
            if len(common) >= FEWEST_PAIRS:
                resolvable = smallest_resolvable_difference([known[a][t] - known[b][t] for t in common])
                if resolvable is not None:
                    found.append(resolvable)
    return float(np.median(found)) if found else None
