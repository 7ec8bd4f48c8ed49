"""What a probe found: numbers with intervals, a strip of frames, and rows for experiment trackers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from worldgauge.core.image import Image
from worldgauge.engine.suite.contract import Score
from worldgauge.engine.suite.tables import score_cell
from worldgauge.metrics._registry import metric_bounds


@dataclass(frozen=True)
class ProbeValue:
    """One number of a probe: the mean over the tasks that have a value.

    Attributes:
        mean: The mean. None where no task has a value.
        low: Lower end of its 95% interval. None for fewer than two values.
        high: Upper end of the interval.
        n: Number of tasks with a value.
        reason: Why there is no value. None where there is one.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None = None


@dataclass(frozen=True)
class ProbeResult:
    """What one call of a probe found.

    Attributes:
        suite: Name of the suite.
        step: Step of the training.
        values: Numbers by metric.
        missing: Why a task has no scores, by its id.
        strip: Frames of the first tasks, (H, W, 3) uint8: the recording above, the model below. None where no task was
            performed.
        seconds: Duration of the call.
    """

    suite: str
    step: int
    values: Mapping[str, ProbeValue] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    strip: Image | None = None
    seconds: float = 0.0

    def rows(self) -> dict[str, float]:
        """The numbers by the names that experiment trackers show. What is missing has no row.

        Returns:
            For each metric its mean as "SUITE/METRIC", and below that "/low", "/high" and "/n"; the seconds, and the
            number of tasks without scores.
        """
        rows: dict[str, float] = {}
        for metric, value in self.values.items():
            parts = {"": value.mean, "/low": value.low, "/high": value.high, "/n": value.n or None}
            rows |= {f"{self.suite}/{metric}{end}": part for end, part in parts.items() if part is not None}
        return {**rows, f"{self.suite}/seconds": self.seconds, f"{self.suite}/missing": len(self.missing)}

    def to_tensorboard(self, writer: Any) -> None:
        """Write to TensorBoard.

        Args:
            writer: A `SummaryWriter`, of torch or of tensorboardX.
        """
        for name, value in self.rows().items():
            writer.add_scalar(name, value, self.step)
        if self.strip is not None:
            writer.add_image(f"{self.suite}/strip", self.strip, self.step, dataformats="HWC")
        if self.missing:
            writer.add_text(f"{self.suite}/missing", _as_list(self.missing), self.step)

    def to_trackio(self, run: Any) -> None:
        """Log to trackio.

        Args:
            run: What `trackio.init` returned.
        """
        import trackio

        run.log({**self.rows(), **self._picture(trackio.Image)}, step=self.step)

    def to_wandb(self, run: Any) -> None:
        """Log to Weights & Biases, which takes steps in rising order only.

        Args:
            run: What `wandb.init` returned.
        """
        import wandb

        run.log({**self.rows(), **self._picture(wandb.Image)}, step=self.step)

    def _picture(self, kind: Any) -> dict[str, Any]:
        return {} if self.strip is None else {f"{self.suite}/strip": kind(self.strip)}


def summarize_scores(scores: Iterable[Score]) -> dict[str, ProbeValue]:
    """Mean and interval of each metric over tasks. Missing and infinite values are left out."""
    by_metric: dict[str, list[Score]] = {}
    for score in scores:
        by_metric.setdefault(score.metric, []).append(score)
    return {metric: _value_of(metric, own) for metric, own in sorted(by_metric.items())}


def _value_of(metric: str, scores: list[Score]) -> ProbeValue:
    cell = score_cell(scores, metric_bounds(metric))
    reasons = [score.reason or "its value is infinite" for score in scores]
    return ProbeValue(cell.mean, cell.low, cell.high, cell.n, None if cell.n else reasons[0])


def _as_list(missing: Mapping[str, str]) -> str:
    return "\n".join(f"- {task}: {reason}" for task, reason in missing.items())
