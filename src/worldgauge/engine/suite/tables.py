"""Make tables from scores: cells with intervals, sorted rows, and the smallest difference that can be resolved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from worldgauge.core.statistics import bootstrap_interval, mean_std, smallest_resolvable_difference
from worldgauge.engine.suite.contract import Better, Cell, TableRow

FEWEST_PAIRS = 5
"""Smallest number of shared tasks for which the spread of two subjects' differences is meaningful."""
_BOOTSTRAP_SEED = 20250522


def make_cell(values: Iterable[float | None], bounds: tuple[float, float], expected: int | None = None) -> Cell:
    """Mean, population standard deviation, count and 95% bootstrap interval of values.

    Missing and infinite values are counted but not averaged.

    Args:
        values: Numbers, or None where a value is missing.
        bounds: Smallest and largest possible value of the metric. They limit the interval.
        expected: Number of values that there should be, by default the number of `values`.

    Returns:
        The cell.
    """
    values = list(values)
    known = [value for value in values if value is not None and np.isfinite(value)]
    total = mean_std(known)
    interval = bootstrap_interval(known, rng=np.random.default_rng(_BOOTSTRAP_SEED))
    low, high = (None, None) if interval is None else np.clip(interval, *bounds).tolist()
    return Cell(total.mean, total.std, total.n, low, high, expected=len(values) if expected is None else expected)


def sort_rows(rows: Sequence[TableRow], better: Better, column: int = -1) -> list[TableRow]:
    """Sort rows by one column, best first. Flagged rows follow the others; rows without a mean come last.

    Args:
        rows: The rows.
        better: Direction of better values.
        column: Index of the column.

    Returns:
        The sorted rows.
    """
    sign = 1 if better == "lower" else -1

    def key(row: TableRow) -> tuple[bool, bool, float, str]:
        mean = row.cells[column].mean
        return mean is None, bool(row.flag), sign * mean if mean is not None else 0.0, row.label

    return sorted(rows, key=key)


def resolution_note(values: Mapping[str, Mapping[str, float | None]], tasks: str) -> str:
    """The line below a table that gives the smallest difference that the data set can resolve.

    Args:
        values: Values by subject and task id, for two or more subjects.
        tasks: What the tasks are called, in the plural.

    Returns:
        The line.
    """
    smallest = smallest_difference(values)
    return "The smallest difference between two subjects that this set could resolve (80% power, 5% level) " + (
        f"is about {smallest:.3g}, the median over pairs of subjects."
        if smallest
        else f"cannot be estimated: it takes {FEWEST_PAIRS} {tasks} that two subjects share."
    )


def smallest_difference(values: Mapping[str, Mapping[str, float | None]]) -> float | None:
    """Smallest difference between two subjects that a data set can resolve: the median over pairs of subjects.

    Args:
        values: Values by subject and task id.

    Returns:
        The paired difference. None where no pair shares enough tasks.
    """
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
