"""MIND: does a world model remember what it has seen and follow its actions, in first and in third person?"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar

from worldgauge.core.episode import Episode, WorldFacts
from worldgauge.core.model import WorldModel
from worldgauge.core.video import Clip
from worldgauge.engine.suite.base import SubmittedSuite, suites
from worldgauge.engine.suite.contract import (
    DemoSet,
    Failure,
    Record,
    Score,
    Table,
    Task,
    TaskContext,
    TaskDetails,
    TaskView,
)
from worldgauge.engine.suite.trial_questions import TrialQuestions
from worldgauge.suites.mind import protocol, scoring, summary, tasks, twins
from worldgauge.suites.mind.format.read import absent, load
from worldgauge.suites.mind.format.results import results_of, write_results
from worldgauge.suites.mind.format.write import mirror_folders
from worldgauge.suites.mind.format.write import submissions as submitted_models
from worldgauge.suites.mind.protocol import KeyQuestions
from worldgauge.suites.mind.settings import TWINS, MindSettings


@suites.register("mind")
class Mind(SubmittedSuite):
    """Continue an episode, also in other action spaces, and return along ten paths: memory and action following."""

    name = "mind"
    Settings = MindSettings
    version = 1
    floor_baselines: ClassVar[tuple[str, ...]] = ("planar", "hedge", "forgetful", "freeze", "mean", "noise")
    baselines = ("truth", "reencoded", "late", "memory", "memory-plane", "render", "drift", "tiny", *floor_baselines)
    default_baselines = ("reencoded", "late", "tiny", "hedge", "freeze", "mean")
    """A file of the truth, the truth a frame late, a small learned model, the last picture turned, the same still, and
    an average: what every row is compared with."""
    claims_memory = True
    paper_settings: ClassVar[Mapping[str, tuple[Any, str]]] = {
        "poses": ("ADDRESS, where ViPE is served", "klt-vo finds camera paths without weights."),
        "truth_poses": ("decoded", "the engine knows the true path in metres, so that no decoder adds its error."),
    }
    memory_metrics: ClassVar[Mapping[str, str]] = {"lcm/returned_detail": "detail of returned surfaces"}
    scores_pictures = True
    claim = "keeps what it has seen"
    vocabulary: ClassVar[Mapping[str, str]] = {
        "task": "clip",
        "tasks": "clips",
        "headline": "error of long context memory",
        "lacks": "cannot remember",
        "seen": "context",
        "asked": "to be generated",
    }
    choosing_settings = frozenset({"tests", "perspectives", "mirror_set", "mirror_folders"})
    asking_settings = frozenset({"horizon", "horizon_s", "context", "resample"})
    scoring_settings = frozenset(field.name for field in fields(MindSettings)) - choosing_settings - asking_settings

    def __new__(cls, **settings: Any) -> Mind:
        """The suite; where twins alone are asked, as it judges them."""
        return super().__new__(TwinFutures if settings.get("tests") == TWINS else cls)

    @property
    def metrics(self) -> frozenset[str]:
        """See `Suite.metrics`; those of twins only where they are asked, so that other scores stay what they are."""
        asked = TWINS in self.options.parts
        own = {one.rpartition("/")[2] for one in summary.TITLES if asked or not one.startswith(twins.PREFIX)}
        return frozenset(own | {"gsc_psnr", "gsc_ssim", "gsc_detail", "out_leg_motion"})

    @classmethod
    def trial_questions(cls) -> TrialQuestions:
        """Questions about a walk of the suite's own kind."""
        return KeyQuestions()

    @classmethod
    def probe_options(cls, tasks: int) -> Mapping[str, Any]:
        """Short clips of the memory test in first person: 1 s of context, 2 s to be imagined."""
        others = {"train": 0, "action_space": 0, "mirror": 0}
        return {**others, "mem": tasks, "perspectives": ("1st",), "frames": 72, "size": (256, 144)}

    @classmethod
    def demo_set(cls, *, full: bool = False) -> DemoSet:
        """See `Suite.demo_set`."""
        place, question = 2, "Does it remember what it has seen and follow its actions?"
        models: tuple[str, ...] = ("truth", "memory", *cls.floor_baselines)
        options = {"action_space": 0, "mirror": 0, "train": 0, "mem": 10, "perspectives": ("1st",), "frames": 180}
        if full:
            options = {"mem": 6, "action_space": 1, "mirror": 1, "train": 0, "frames": 180, "size": (256, 144)}
            models = (*models, "reencoded", "late", "tiny")
            return DemoSet(place, question, options, models, "memory", core_seconds=250, megabytes=300)
        # Two worlds of each family, so that each is the other's decoy.
        families = ("landscape", "stylized", "ancient", "scifi", "industrial")
        options |= {"families": families, "per_scene": 1, "size": (160, 90)}
        settings = {"tests": "mem", "poses": "exact", "horizon": 84}
        return DemoSet(place, question, options, models, "memory", settings, core_seconds=110)

    def tasks(self, source: Path) -> Iterator[Task]:
        """One task per clip or mirrored path; faulty ones become tasks that fail with the reason."""
        return tasks.tasks(source, self.options)

    def cluster_of(self, task: str, group: Mapping[str, Any]) -> str:
        """The picture of mirrored paths, the walk that several action spaces share; see `tasks.cluster_of`."""
        return tasks.cluster_of(task)

    def counts_in_headline(self, task: Task) -> bool:
        """Clips of the memory test."""
        return task.group.get("test", "mem") == "mem" or "mem" not in self.options.tests.split(",")

    def perform(self, task: Task, model: WorldModel, task_context: TaskContext) -> Record:
        """Show the context, give the keys, store the video lossless; finished videos are copied."""
        ask = twins.perform_twins if tasks.is_twin(task) else protocol.perform
        return ask(task, model, task_context, self.options)

    def score(self, record: Record, task_context: TaskContext) -> list[Score]:
        """Compare frame by frame, place by place on the way back, and step by step of the camera."""
        if tasks.is_twin(record.task):
            return twins.score_twins(record)
        return scoring.score(record, task_context, self.options)

    def episode(self, task: Task) -> tuple[Episode, int]:
        """The recording of a clip, and the index of its first frame after the context."""
        clip = tasks.clip_of(task)
        return load(clip), clip.mark_time

    def decoy_kind(self, task: Task) -> Hashable | None:
        """The perspective and the family of worlds, in the test of memory alone."""
        return tasks.decoy_kind(task)

    def memory_scores(self, record: Record, task_context: TaskContext) -> list[Score]:
        """Surfaces that came back into view."""
        return scoring.memory_scores(record, self.options)

    def compared_clips(self, record: Record) -> tuple[Clip, Clip]:
        """The frames of the recording and of the rollout that stand for the same moments."""
        is_twin = tasks.is_twin(record.task)
        return twins.compared_twins(record) if is_twin else scoring.compared_clips(record, self.options)

    def rates(self, task: Task) -> frozenset[float]:
        """The rate of the clip's video; that of the format for a path from a single image."""
        return frozenset({tasks.rate_of(tasks.clip_of(task))})

    def rollout_s(self, task: Task) -> float | None:
        """As long as the walk goes on after the context, or the path out and back takes."""
        if tasks.is_twin(task):
            return 2 * (twins.REST + twins.HELD) / tasks.rate_of(tasks.clip_of(task))
        clip = tasks.clip_of(task)
        return None if clip.is_submitted else protocol.frames_of(clip, self.options) / tasks.rate_of(clip)

    def summarize(
        self, scores: Mapping[str, Sequence[Score]], kinds: Mapping[str, str], failed: Mapping[str, Sequence[Failure]]
    ) -> list[Table]:
        """Make the tables: long context memory, then the paper's columns by perspective, then each measure."""
        return summary.summarize(scores, kinds, failed, self.options)

    def without_memory(self) -> Mind:
        """The same tables, judged by action accuracy."""
        return ActionFollowing(**self.settings)

    def published(self) -> list[Table]:
        """Tables 2 and 3 of the paper, and later results on its memory test."""
        return summary.published()

    def world_of(self, task: Task) -> WorldFacts | None:
        """The world of its clip."""
        return tasks.clip_of(task).world

    def task_view(self, task: Task) -> TaskView:
        """The real frames, the walk, and where the frames asked for begin."""
        return twins.twin_view(task) if tasks.is_twin(task) else tasks.task_view(task)

    def task_details(self, task: Task, scores: Mapping[str, Sequence[Score]]) -> TaskDetails | None:
        """Of twins which side holds which key."""
        if not tasks.is_twin(task):
            return None
        return TaskDetails(caption=twins.caption_of(task))

    def submissions(self, folder: Path) -> dict[str, dict[str, Any]]:
        """Settings of the model `videos` for each model of a folder in the published layout of submissions, by name."""
        return {name: {"root": str(root)} for name, root in submitted_models(folder).items()}

    def submission_settings(self, folder: Path, data: Path) -> dict[str, Any]:
        """Submitted folders of out-and-back paths that replace the data's start images (`mirror_set`)."""
        named: dict[str, None] = {}
        for root in submitted_models(folder).values():
            for view, names in mirror_folders(root).items():
                if self.options.mirror_set == "submission" or absent(data, ("mirror_test",), (view,)):
                    named |= dict.fromkeys(f"{view}_data/{name}" for name in names)
        return {"mirror_folders": ",".join(named)} if named else {}

    def missing_data(self, source: Path) -> tuple[str, ...]:
        """Folders that the settings ask for and the data do not have, one line each."""
        return absent(source, tuple(tasks.PARTS[test] for test in self.options.parts), self.options.views)

    def export(self, scores: Sequence[Score], failed: Sequence[Failure], path: Path) -> None:
        """Write the scores of one model as the released scorer's result file; parity=released gives its numbers."""
        write_results(path, results_of(scores, failed, self.options.frames_asked))


class ActionFollowing(Mind):
    """MIND as it judges models that cannot remember: action accuracy comes first."""

    claims_memory = False
    claim = "follows its actions"
    floor_baselines = ("freeze", "mean", "noise")
    vocabulary: ClassVar[Mapping[str, str]] = {
        **Mind.vocabulary,
        "headline": "translation error per frame of the camera",
        "lacks": "ignore the actions",
    }

    def summarize(
        self, scores: Mapping[str, Sequence[Score]], kinds: Mapping[str, str], failed: Mapping[str, Sequence[Failure]]
    ) -> list[Table]:
        """The same tables, with that of action accuracy first."""
        tables = super().summarize(scores, kinds, failed)
        first = "lcm/rpe_trans" if "mem" in self.options.tests.split(",") else "asg/rpe_trans"
        return sorted(tables, key=lambda table: table.metric != first)


class TwinFutures(ActionFollowing):
    """MIND where only twins are asked: accuracy comes first."""

    paper_settings: ClassVar[Mapping[str, tuple[Any, str]]] = {}
    vocabulary: ClassVar[Mapping[str, str]] = {
        **ActionFollowing.vocabulary,
        "task": "pair",
        "tasks": "pairs",
        "headline": "accuracy of twins",
        "films": "Both futures of the ground truth and of every model, side by side.",
    }
