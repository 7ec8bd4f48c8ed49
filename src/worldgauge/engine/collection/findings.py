"""What checks of data sets say alike: many of one kind in one line, and numbers in short."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Finding:
    """One thing to know. error: the data cannot be used as they are. text: one line, names an example."""

    severity: Severity
    text: str


@dataclass(frozen=True)
class Spread:
    """Mean and population standard deviation over n trajectories, scenarios or clips."""

    n: int
    mean: float
    std: float


def grouped(
    severity: Severity, what: str, said: Iterable[tuple[str, str | None]], noun: str = "scenario"
) -> Iterator[Finding]:
    """One finding for all texts that differ only in names and numbers, with the first of them.

    said: id of what it is about, and the text. noun: what the ids are of.
    """
    groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for id, text in said:
        kind = re.sub(r"\d+(\.\d+)?", "#", (text or "").replace(id, "<s>"))
        groups[kind].append((id, text or ""))
    for group in groups.values():
        id, text = group[0]
        many = f"1 {noun}" if len(group) == 1 else f"{len(group)} {noun}s"
        yield Finding(severity, f"{many}, {what} (first: {id}): {text}")


def spread(values: Iterable[float | None]) -> Spread | None:
    """Mean and deviation of the values that are there; None when there is none."""
    array = np.array([value for value in values if value is not None], np.float64)
    return Spread(len(array), float(array.mean()), float(array.std())) if len(array) else None
