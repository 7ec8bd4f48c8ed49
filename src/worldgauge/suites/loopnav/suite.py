"""LoopNav: does the model redraw the same place on the way back?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from worldgauge.core.model import WorldModel
from worldgauge.core.video import Clip
from worldgauge.engine.suite.base import Suite, suites
from worldgauge.engine.suite.contract import Failure, Record, Score, Table, Task, TaskContext, TaskView
from worldgauge.suites.loopnav import protocol, scoring, summary, tasks
from worldgauge.suites.loopnav.settings import LoopNavSettings


@suites.register("loopnav")
class LoopNav(Suite):
    """Explore a loop, then redraw the way back: spatial memory on walks A -> B -> A and A -> B -> C -> A."""

    name = "loopnav"
    version = 1
    Settings = LoopNavSettings
    references = (
        "truth",
        "freeze",
        "noise",
        "mean",
        "replay",
        "forgetful",
        "memory",
        "memory-plane",
        "drift",
    )
    floor_references = ("freeze", "noise", "mean", "replay", "forgetful")
    claim = "redraws the place it has seen"
    vocabulary: ClassVar[Mapping[str, str]] = {
        "task": "trajectory",
        "tasks": "trajectories",
        "lacks": "cannot remember",
        "seen": "way out",
        "asked": "way back, asked for",
    }
    metrics = frozenset({*summary.TITLES, "colour", "exact"})
    scoring_settings = frozenset(
        {"stride", "tau", "segmenter", "empty", "matching", "alignment", "parity", "lpips", "fvd", "networks_digest"}
    )

    @classmethod
    def read_settings(cls, given: Mapping[str, Any]) -> LoopNavSettings:
        """Settings made of plain values, with the digests of the files they name."""
        return LoopNavSettings.of(given)

    def tasks(self, source: Path) -> Iterator[Task]:
        """One task per recorded loop; invalid recordings become skipped tasks with the reason."""
        return tasks.tasks(source, self.options)

    def perform(self, task: Task, subject: WorldModel, task_context: TaskContext) -> Record:
        """Show the way out, ask for the way back, and store the rollout lossless."""
        return protocol.perform(task, subject, task_context, self.options)

    def score(self, record: Record, task_context: TaskContext) -> list[Score]:
        """Compare the rollout with the recorded way back, frame by frame."""
        return scoring.score(record, task_context, self.options)

    def compared_clips(self, record: Record) -> tuple[Clip, Clip]:
        """The frames of the recording and of the rollout that stand for the same moments."""
        return scoring.compared_clips(record, self.options)

    def summarize(
        self,
        scores: Mapping[str, Sequence[Score]],
        kinds: Mapping[str, str],
        failed: Mapping[str, Sequence[Failure]],
    ) -> list[Table]:
        """One table per metric, by type and range; SGCS first. Failed tasks are counted separately."""
        return summary.summarize(scores, kinds)

    def published(self) -> list[Table]:
        """Table 1 of the paper."""
        return summary.published()

    def task_view(self, task: Task) -> TaskView:
        """What a person wants to see of a task: the true way back, the walk, and the corners of the loop."""
        return tasks.picture(task)
