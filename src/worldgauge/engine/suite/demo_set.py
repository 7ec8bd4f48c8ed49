"""What a suite shows in `worldgauge demo`: a small data set, and references that the suite ranks on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class DemoSet:
    """A data set of a suite, and the subjects that are shown on it.

    Attributes:
        place: Place of the suite on the page.
        question: What the suite asks, in one sentence.
        options: Options of the collection of the suite's name.
        subjects: Models or agents as text, the best first: the order that the headline must show.
        settings: Settings of the suite.
        column: Column of the headline table that is shown. Empty for the one that sums it up.
        core_seconds: Processor time that it took when measured. Orders the work and gives the time left.
        megabytes: Disk space that it needs.
        beside: Models or agents that are shown too, without a place in the order.
    """

    place: int
    question: str
    options: Mapping[str, Any]
    subjects: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    column: str = ""
    core_seconds: float = 60.0
    megabytes: float = 50.0
    beside: tuple[str, ...] = ()
