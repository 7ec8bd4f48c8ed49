"""Sharpness of frames, since a memory benchmark must not be misled by good looks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from worldgauge.report.evidence import Evidence

METRIC = "sharpness"


@dataclass(frozen=True)
class Appearance:
    """Sharpness of all subjects.

    Attributes:
        name: Name of the axis.
        values: Value by label and task.
        relative: Whether values are relative, with 1 as sharp as the truth.
    """

    name: str
    values: Mapping[str, Mapping[str, float]]
    relative: bool

    def mean(self, label: str) -> float | None:
        """Mean over trajectories; None without any."""
        values = self.values.get(label, {})
        return math.fsum(values.values()) / len(values) if values else None


def appearance(evidence: Evidence) -> Appearance | None:
    """Sharpness divided by that of the truth on the same trajectory.

    Without a run of the truth the sharpness itself is used.

    Args:
        evidence: The compared runs.

    Returns:
        The sharpness. None when it was not measured.
    """
    if not evidence.has(METRIC):
        return None
    values = {run.label: run.values(METRIC) for run in evidence.runs}
    truth = next((values[e.label] for e in evidence.runs if e.is_truth and values[e.label]), None)
    if truth is None:
        return Appearance(METRIC, values, relative=False)
    shares = {
        label: {task: v / truth[task] for task, v in theirs.items() if truth.get(task)}
        for label, theirs in values.items()
    }
    return Appearance(f"{METRIC}, truth = 1", shares, relative=True)
