"""Findings of a data check: similar findings are grouped into one line, numbers are summarised."""

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
    """One result of a data check.

    Attributes:
        severity: "error", "warning" or "info". An error means that the data cannot be used as they are.
        text: One line, with an example.
    """

    severity: Severity
    text: str


@dataclass(frozen=True)
class Spread:
    """Mean and population standard deviation over trajectories, scenarios or clips.

    Attributes:
        n: Number of values.
        mean: Their mean.
        std: Their population standard deviation.
    """

    n: int
    mean: float
    std: float


def grouped(
    severity: Severity, what: str, said: Iterable[tuple[str, str | None]], noun: str = "scenario"
) -> Iterator[Finding]:
    """One finding for all texts that differ only in names and numbers.

    Args:
        severity: Severity of the findings.
        what: What happened to the items, in a few words.
        said: Pairs of an item's id and its text.
        noun: What the items are called, in the singular.

    Yields:
        One finding per group, with the number of items and the first of them.
    """
    groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for id, text in said:
        kind = re.sub(r"\d+(\.\d+)?", "#", (text or "").replace(id, "<s>"))
        groups[kind].append((id, text or ""))
    for group in groups.values():
        id, text = group[0]
        yield Finding(severity, f"{counted(len(group), noun)}, {what} (first: {id}): {text}")


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 try", "2 tries".

    Args:
        number: How many there are.
        noun: What they are called, in the singular.

    Returns:
        The number and the noun, in the plural unless the number is 1.
    """
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


def spread(values: Iterable[float | None]) -> Spread | None:
    """Mean and standard deviation of the values that are not None.

    Args:
        values: Numbers, or None where a value is missing.

    Returns:
        The spread, or None where there is no value.
    """
    array = np.array([value for value in values if value is not None], np.float64)
    return Spread(len(array), float(array.mean()), float(array.std())) if len(array) else None
