"""LoopNav: does the model redraw the same place on the way back?"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from worldgauge.core.episode import Episode, WorldFacts
from worldgauge.core.model import WorldModel
from worldgauge.core.video import Clip
from worldgauge.engine.suite.base import Suite, suites
from worldgauge.engine.suite.contract import DemoSet, Failure, Record, Score, Table, Task, TaskContext, TaskView
from worldgauge.engine.suite.trial_questions import TrialQuestions
from worldgauge.suites.loopnav import protocol, scoring, summary, tasks
from worldgauge.suites.loopnav.protocol import LoopQuestions
from worldgauge.suites.loopnav.settings import LoopNavSettings


@suites.register("loopnav")
class LoopNav(Suite):
    """Regenerate the way back of a loop: spatial memory on A → B → A and A → B → C → A."""

    name = "loopnav"
    version = 1
    Settings = LoopNavSettings
    floor_baselines = ("planar", "hedge", "freeze", "noise", "mean", "replay", "forgetful")
    baselines = ("truth", "tiny", *floor_baselines, "memory", "memory-plane", "drift")
    default_baselines = ("tiny",)
    """A small learned model, so that no table holds made-up rows alone."""
    claims_memory = True
    paper_settings: ClassVar[Mapping[str, tuple[Any, str]]] = {
        "context": (32, "a model gets the whole exploration, since 32 frames seldom hold the place that returns."),
        "segmenter": ("sam3", "the colours of generated worlds are known, so that no network is needed."),
    }
    memory_metrics: ClassVar[Mapping[str, str]] = {
        "sgcs_chance_corrected": "SGCS above chance",
        "returned_detail": "detail of returned surfaces",
    }
    scores_pictures = True
    claim = "redraws the place it has seen"
    vocabulary: ClassVar[Mapping[str, str]] = {
        "task": "trajectory",
        "tasks": "trajectories",
        "lacks": "cannot remember",
        "seen": "way out",
        "asked": "way back, requested",
    }
    metrics = frozenset({*summary.TITLES, "balanced", "colour", "exact"})
    scoring_settings = frozenset(
        {"stride", "tau", "segmenter", "empty", "matching", "alignment", "parity", "lpips", "fvd", "networks_digest"}
    )

    @classmethod
    def trial_questions(cls) -> TrialQuestions:
        """Questions about a loop."""
        return LoopQuestions()

    @classmethod
    def probe_options(cls, tasks: int) -> Mapping[str, Any]:
        """Short loops, each in a village of its own, so that none tells of another."""
        return {"settlements": tasks, "ranges": (5,), "types": ("ABA",), "per_combination": 1, "size": (256, 144)}

    @classmethod
    def demo_set(cls, *, full: bool = False) -> DemoSet:
        """See `Suite.demo_set`."""
        place, question = 1, "Does the model redraw the same place on the way back?"
        models = ("truth", "memory", *cls.floor_baselines)
        if full:
            options = {"settlements": 12, "ranges": (5, 15), "per_combination": 1, "size": (256, 144)}
            return DemoSet(place, question, options, (*models, "tiny"), "memory", core_seconds=900, megabytes=300)
        options = {"settlements": 10, "ranges": (5,), "types": ("ABA",), "per_combination": 1, "size": (128, 72)}
        return DemoSet(place, question, options, models, "memory", core_seconds=87)

    def tasks(self, source: Path) -> Iterator[Task]:
        """One task per recorded loop; invalid recordings become skipped tasks with the reason."""
        return tasks.tasks(source, self.options)

    def cluster_of(self, task: str, group: Mapping[str, Any]) -> str:
        """The village: its loops show the same houses."""
        return str(group.get("location", task))

    def episode(self, task: Task) -> tuple[Episode, int]:
        """The recording of a task, and the index of its first hidden frame."""
        return tasks.episode_of(task)

    def perform(self, task: Task, model: WorldModel, task_context: TaskContext) -> Record:
        """Show the way out, request the way back, and store the rollout lossless."""
        return protocol.perform(task, model, task_context, self.options)

    def score(self, record: Record, task_context: TaskContext) -> list[Score]:
        """Compare the rollout with the recorded way back, frame by frame."""
        return scoring.score(record, task_context, self.options)

    def decoy_kind(self, task: Task) -> Hashable | None:
        """The type and range of the loop, and the kind of village."""
        return tasks.decoy_kind(task)

    def memory_scores(self, record: Record, task_context: TaskContext) -> list[Score]:
        """SGCS, and surfaces that came back into view."""
        return scoring.memory_scores(record, task_context, self.options)

    def compared_clips(self, record: Record) -> tuple[Clip, Clip]:
        """The frames of the recording and of the rollout that stand for the same moments."""
        return scoring.compared_clips(record, self.options)

    def summarize(
        self, scores: Mapping[str, Sequence[Score]], kinds: Mapping[str, str], failed: Mapping[str, Sequence[Failure]]
    ) -> list[Table]:
        """Make one table per metric, by type and range; SGCS first. Failed tasks are counted separately."""
        return summary.summarize(scores, kinds)

    def published(self) -> list[Table]:
        """Table 1 of the paper."""
        return summary.published()

    def world_of(self, task: Task) -> WorldFacts | None:
        """The world of its location."""
        return tasks.world_of(task)

    def task_view(self, task: Task) -> TaskView:
        """What a person wants to see of a task: the true way back, the walk, and the corners of the loop."""
        return tasks.picture(task)
