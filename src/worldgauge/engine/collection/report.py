"""What a check of a data set found: counts, a table and findings, the same form for every format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from worldgauge.engine.collection.findings import Finding, Spread


@dataclass(frozen=True)
class DataTable:
    """Rows of text under columns, the first of which names the row. title: above it. notes: below it, a line each."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class DataReport:
    """What a check found.

    Attributes:
        noun: What the items are called ("walks").
        n_valid, n_items: How many are usable, and of how many.
        n_frames: Frames of the usable ones.
        frames_noun: What those are called.
        findings: What is wrong or worth knowing; an error means that the data cannot be used as they are.
        table: Counts and means, for people.
        facts: All of it, plain JSON values.
    """

    noun: str
    n_valid: int
    n_items: int
    n_frames: int
    findings: Sequence[Finding]
    table: DataTable | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    frames_noun: str = "frames"

    @property
    def ok(self) -> bool:
        """Whether no finding is an error."""
        return not any(finding.severity == "error" for finding in self.findings)


def mean_text(spread: Spread | None) -> str:
    """The mean for a table; a dash where there is none."""
    return "-" if spread is None else number_text(spread.mean)


def number_text(value: float) -> str:
    """A number for a table."""
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.1f}"
