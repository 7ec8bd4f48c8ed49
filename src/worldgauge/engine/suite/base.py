"""A benchmark: its tasks, how one is performed and scored, how scores become tables. What is optional has a default."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from worldgauge.core.episode import Episode
from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.model import RolloutRequest
from worldgauge.core.registry import Registry
from worldgauge.core.video import Clip
from worldgauge.engine.options import options_of
from worldgauge.engine.suite.contract import (
    AnswerCard,
    Failure,
    Record,
    Score,
    Table,
    TableRow,
    Task,
    TaskContext,
    TaskDetails,
    TaskView,
)
from worldgauge.engine.suite.own_metrics import DIGEST, SETTING, digest_of_metrics, own_scores, own_tables
from worldgauge.engine.suite.rollout import fit_context, fit_truth, open_rollout, run_rollout
from worldgauge.engine.suite.tables import make_cell, sort_rows
from worldgauge.metrics import metrics

SubjectKind = Literal["model", "agent"]
"""Who is tested: a world model, or an agent that answers (`core.agent.Agent`)."""


@dataclass(frozen=True)
class NoSettings:
    """Settings of a suite that has none."""


class Suite:
    """Subclass it, register it, and write `tasks`, `episode` and `compare`; the rest is there to be overridden.

        @suites.register("spin")
        class Spin(Suite):
            name, titles = "spin", {"psnr": "PSNR"}

    A suite that asks in another way overrides `perform` and `score` in place of `episode` and `compare`.

    Attributes:
        name: What run folders and workers know it by; the registered name.
        version: Of the suite; part of every task's identity.
        Settings: A dataclass of `engine.options.option` fields: what `--set` takes.
        titles: Metric -> title of its table, headline first, for the `summarize` that comes with the class.
        subject_kind: Whom it asks.
        references: Registered subjects whose scores are known, best first.
        default_references: Those that the command line asks unless told not to.
        reference_settings: With which settings some references are asked, such as {"drift": "step_m=0.003"}.
        floor_references: Those that cannot do what `claim` says; a subject keeps the claim when it beats all of them.
        claim: What a good subject does, as a verb in the third person ("redraws the place it has seen").
        vocabulary: What a report calls things, where the suite has words of its own (`report.wording.Vocabulary`).
        balanced_by: A key of the tasks' groups whose values count alike in the headline, whatever their numbers.
        scoring_settings: Settings that only `score` reads: a change of one makes new scores of old records.
        choosing_settings: Settings that only choose among tasks: no task depends on them.
        metrics: Metrics and estimators whose versions its scores depend on; None for all of them.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    Settings: ClassVar[type] = NoSettings
    titles: ClassVar[Mapping[str, str]] = {}
    subject_kind: ClassVar[SubjectKind] = "model"
    references: ClassVar[tuple[str, ...]] = ()
    default_references: ClassVar[tuple[str, ...]] = ()
    reference_settings: ClassVar[Mapping[str, str]] = {}
    floor_references: ClassVar[tuple[str, ...]] = ()
    claim: ClassVar[str] = ""
    balanced_by: ClassVar[str] = ""
    choosing_settings: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, **settings: Any) -> None:
        self.own_metrics: tuple[str, ...] = tuple(settings.pop(SETTING, ()))
        """Metrics of the user's own, as they were named: scored and shown beside the suite's."""
        known = settings.pop(DIGEST, None)
        self._own_digest = digest_of_metrics(self.own_metrics, known) if self.own_metrics else None
        self.options: Any = self.read_settings(settings)

    # settings and words

    @classmethod
    def read_settings(cls, given: Mapping[str, Any]) -> Any:
        """The settings made of plain values. Raises UnknownNameError or UsageError naming the setting."""
        return options_of(cls.Settings, cls.name, given)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Every setting in force, plain JSON values; part of a task's identity."""
        own = {SETTING: list(self.own_metrics), DIGEST: self._own_digest} if self.own_metrics else {}
        return {**asdict(self.options), **own}

    @property
    def scoring_settings(self) -> frozenset[str]:
        """None."""
        return frozenset()

    @property
    def metrics(self) -> frozenset[str] | None:
        """Those that have a table; all of them where there is none."""
        return frozenset(self.titles) or None

    @property
    def vocabulary(self) -> Mapping[str, str]:
        """The report's own words."""
        return {}

    # asking and scoring

    def tasks(self, source: Path) -> Iterator[Task]:
        """The questions that the data in `source` hold, in a fixed order; cheap: nothing is decoded or rendered."""
        raise NotImplementedError

    def episode(self, task: Task) -> tuple[Episode, int]:
        """The recording of a task, and the index of its first hidden frame."""
        raise NotImplementedError

    def missing_data(self, source: Path) -> Sequence[str]:
        """What the data should hold and do not have at all, a line each, for the user to read."""
        return ()

    def prepare(self, tasks: Sequence[Task], tell: Callable[[str, int, int], None]) -> None:
        """Called once before any of `tasks` is performed, in the process that leads: make what all workers need.

        Args:
            tasks: Those that will be performed.
            tell: Called with what is done, how far, and of how much.
        """

    def perform(self, task: Task, subject: Any, task_context: TaskContext) -> Record:
        """Ask the subject, the only place where it runs, and keep what it gives.

        By default a world model is shown what comes before the first hidden frame and asked for the rest.

        Raises:
            SubjectError: When it breaks its promise.
        """
        episode, start = self.episode(task)
        spec = subject.spec
        request = RolloutRequest(
            fit_context(episode.context(0, start), spec, None, episode.world),
            horizon=len(episode) - start,
            seed=task_context.seed,
            actions=episode.actions[start - 1 :] if spec.control == "actions" else None,
            poses=episode.poses[start:] if spec.control == "camera" else None,
            world=episode.world if "world" in spec.inputs else None,
            truth=fit_truth(episode.clip[start:], spec) if "truth" in spec.inputs else None,
            task=task.id,
        )
        answer = run_rollout(subject, request, episode.clip.fps, task_context)
        return Record(task, spec.name, task_context.directory, dict(answer.facts), answer.rollout)

    def score(self, record: Record, task_context: TaskContext) -> list[Score]:
        """Scores of a record: the same record, the same scores. By default those of `compare`."""
        episode, start = self.episode(record.task)
        rollout = open_rollout(record)
        return self.compare(record, episode, episode.clip[start:].resized(rollout.width, rollout.height), rollout)

    def compare(self, record: Record, episode: Episode, truth: Clip, rollout: Clip) -> list[Score]:
        """Scores of a rollout beside the hidden frames at the same size."""
        raise NotImplementedError

    def compared_clips(self, record: Record) -> tuple[Clip, Clip]:
        """The hidden frames and those of the rollout, as many and of one size: what a user's own metrics see.

        Raises:
            NotApplicableError: Where a record holds no frames that could be compared.
        """
        episode, start = self.episode(record.task)
        rollout = open_rollout(record)
        return episode.clip[start:].resized(rollout.width, rollout.height), rollout

    def all_scores(self, record: Record, task_context: TaskContext) -> list[Score]:
        """Scores of a record, with those of the user's own metrics."""
        return [*self.score(record, task_context), *own_scores(self.own_metrics, record, self.compared_clips)]

    # tables and pictures

    def summarize(
        self,
        scores: Mapping[str, Sequence[Score]],
        kinds: Mapping[str, str],
        failed: Mapping[str, Sequence[Failure]],
    ) -> list[Table]:
        """Tables over subjects, headline first. By default one for each of `titles`, a row a subject.

        Args:
            scores: Of each subject.
            kinds: "subject" or "reference", of each.
            failed: Tasks of each that have no scores.
        """
        tables = []
        for metric, title in self.titles.items():
            facts = metrics.entry(metric).facts
            rows = [
                TableRow(
                    label,
                    (make_cell([one.value for one in own if one.metric == metric], facts["bounds"]),),
                    "reference" if kinds[label] == "reference" else "subject",
                )
                for label, own in scores.items()
            ]
            better = facts["better"]
            tables.append(Table(metric, title, facts["unit"], better, ("all",), tuple(sort_rows(rows, better))))
        return tables

    def all_tables(
        self,
        scores: Mapping[str, Sequence[Score]],
        kinds: Mapping[str, str],
        failed: Mapping[str, Sequence[Failure]],
    ) -> list[Table]:
        """The tables of `summarize`, then one for each of the user's own metrics."""
        return [*self.summarize(scores, kinds, failed), *own_tables(self.own_metrics, scores, kinds)]

    def published(self) -> list[Table]:
        """The paper's numbers, labelled as such."""
        return []

    def task_view(self, task: Task) -> TaskView:
        """What a report shows of a task: truth, walk and place. Raises DataError when the data are gone."""
        episode, start = self.episode(task)
        return TaskView(episode.clip[start:], episode.poses, start, episode.world)

    def task_details(self, task: Task, scores: Mapping[str, Sequence[Score]]) -> TaskDetails | None:
        """What there is to show of a task beside its films; None for nothing. scores: of each subject on the task."""
        return None

    def film(self, record: Record) -> Clip:
        """What a report shows of a record in place of its rollout, for records that hold more than frames beside the
        truth, such as an episode of an agent: shown without the truth, for as long as it lasts. See `shows_films`.

        Raises DataError when the record's files are gone.
        """
        raise DataError(f"{record.task.id}: suite '{self.name}' shows rollouts")

    def answer_card(
        self, task: Task, records: Mapping[str, Record], scores: Mapping[str, Sequence[Score]]
    ) -> AnswerCard:
        """What a report shows of a task that is answered in words; asked only where `shows_answers`.

        records, scores: of each subject that has them. Raises DataError when the data are gone.
        """
        raise DataError(f"{task.id}: suite '{self.name}' shows no answers")

    @property
    def shows_answers(self) -> bool:
        """Whether reports show `answer_card` in place of films."""
        return type(self).answer_card is not Suite.answer_card

    @property
    def shows_films(self) -> bool:
        """Whether reports show `film` in place of rollouts."""
        return type(self).film is not Suite.film

    # results from elsewhere, and for elsewhere

    def submissions(self, folder: Path) -> Mapping[str, Mapping[str, Any]]:
        """Settings of the model `videos` for each model of a folder of finished videos, by the model's name.

        By default every sub-folder is one.
        """
        if not folder.is_dir():
            raise UsageError(f"{folder}: no such folder; expected <model>/<task>.mp4 in it")
        inside = sorted(one for one in folder.iterdir() if one.is_dir() and not one.name.startswith("."))
        return {one.name: {"root": str(one)} for one in inside}

    def export(self, scores: Sequence[Score], failed: Sequence[Failure], path: Path) -> None:
        """Write the scores of one subject as the benchmark's own result file. Raises UsageError where it has none."""
        raise UsageError(f"suite '{self.name}' has no result format of its own; its scores are in scores.jsonl")


suites: Registry[type[Suite]] = Registry("suite", group="worldgauge.suites", in_suites="suite")
"""The benchmarks, one folder or file each in `worldgauge.suites`."""
