"""Report of a data check: counts, a table and findings, in the same form for every format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from worldgauge.engine.collection.findings import Finding, Spread


@dataclass(frozen=True)
class DataTable:
    """A table of text.

    Attributes:
        title: Text above the table.
        columns: Names of the columns. The first column names the row.
        rows: One text per column in each row.
        notes: Lines below the table.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class DataReport:
    """Result of a data check.

    Attributes:
        noun: What the items are called, in the plural ("walks").
        n_valid: Number of usable items.
        n_items: Number of all items.
        n_frames: Frames of the usable items.
        findings: What is wrong or worth knowing. An error means that the data cannot be used as they are.
        table: Counts and means, for people.
        facts: All results as plain JSON values.
        frames_noun: What the frames are called, in the plural.
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
    """The mean as text for a table, or a dash where there is no value."""
    return "-" if spread is None else number_text(spread.mean)


def number_text(value: float) -> str:
    """A number as text for a table: three decimals below 100, one from there on."""
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.1f}"
