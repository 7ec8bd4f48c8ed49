"""How good frames look, as far as a number can say: what a memory benchmark must not be fooled by."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from worldgauge.report.evidence import Evidence


@dataclass(frozen=True)
class Appearance:
    """name: what the axis says. values: label -> task -> value. relative: 1 is as sharp as the truth."""

    name: str
    values: Mapping[str, Mapping[str, float]]
    relative: bool

    def mean(self, label: str) -> float | None:
        """Mean over trajectories; None without any."""
        values = self.values.get(label, {})
        return math.fsum(values.values()) / len(values) if values else None


def appearance(evidence: Evidence) -> Appearance | None:
    """Sharpness divided by that of the truth on the same trajectory; None when the scores say nothing about looks.

    Without a run of the truth the plain sharpness, without sharpness SSIM.
    """
    sharp = _metric(evidence, "sharp")
    metric = sharp or _metric(evidence, "ssim")
    if metric is None:
        return None
    values = {entrant.label: entrant.values(metric) for entrant in evidence.entrants}
    truth = next((values[e.label] for e in evidence.entrants if "truth" in e.sees and values[e.label]), None)
    if sharp is None or truth is None:
        return Appearance(metric, values, relative=False)
    shares = {
        label: {task: v / truth[task] for task, v in theirs.items() if truth.get(task)}
        for label, theirs in values.items()
    }
    return Appearance(f"{metric}, truth = 1", shares, relative=True)


def _metric(evidence: Evidence, word: str) -> str | None:
    return next((m for m in evidence.metrics if word in m and any(e.values(m) for e in evidence.entrants)), None)
