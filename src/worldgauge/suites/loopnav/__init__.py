"""LoopNav: does the model redraw the same place on the way back?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from worldgauge.subject import WorldModel
from worldgauge.suites import suites
from worldgauge.suites.contract import Bench, Failure, Picture, Record, Score, Table, Task
from worldgauge.suites.loopnav import protocol, scoring, summary, tasks
from worldgauge.suites.loopnav.settings import Settings


@suites.register("loopnav")
class LoopNav:
    """Explore a loop, then redraw the way back: spatial memory on walks A -> B -> A and A -> B -> C -> A."""

    name = "loopnav"
    version = 1
    references: tuple[str, ...] = (
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
    memoryless = ("freeze", "noise", "mean", "replay", "forgetful")
    claim = "redraws the place it has seen"
    words: Mapping[str, str] = {
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

    def __init__(self, **options: Any) -> None:
        self.options = Settings.of(options)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Every option in force."""
        return self.options.as_dict()

    def tasks(self, source: Path) -> Iterator[Task]:
        """One task a recorded loop; invalid recordings come as skipped tasks with the reason."""
        return tasks.tasks(source, self.options)

    def perform(self, task: Task, subject: WorldModel, bench: Bench) -> Record:
        """Show the way out, ask for the way back, store the rollout lossless."""
        return protocol.perform(task, subject, bench, self.options)

    def score(self, record: Record, bench: Bench) -> list[Score]:
        """Compare the rollout with the recorded way back, frame by frame."""
        return scoring.score(record, bench, self.options)

    def summarize(
        self,
        scores: Mapping[str, Sequence[Score]],
        kinds: Mapping[str, str],
        failed: Mapping[str, Sequence[Failure]],
    ) -> list[Table]:
        """One table a metric, by type and range; SGCS first. Failed tasks are counted beside it, not in it."""
        return summary.summarize(scores, kinds)

    def published(self) -> list[Table]:
        """Table 1 of the paper."""
        return summary.published()

    def picture(self, task: Task) -> Picture:
        """What a person wants to see of a task: the true way back, the walk, the marks."""
        return tasks.picture(task)
