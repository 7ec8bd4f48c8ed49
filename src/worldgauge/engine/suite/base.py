"""Base class of a benchmark: its tasks, how they are performed and scored, and how scores become tables."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from worldgauge.core.actions import describe
from worldgauge.core.episode import Episode, WorldFacts
from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.model import RolloutRequest
from worldgauge.core.registry import Registry
from worldgauge.core.video import Clip
from worldgauge.engine.options import options_of
from worldgauge.engine.suite.contract import (
    AnswerCard,
    DemoSet,
    EpisodeFilms,
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
from worldgauge.engine.suite.rollout import (
    BridgeSettings,
    caption_for,
    fit_context,
    fit_truth,
    open_rollout,
    run_rollout,
)
from worldgauge.engine.suite.scores import (
    DIGEST,
    SETTING,
    digest_of_metrics,
    own_scores,
    own_tables,
    score_cell,
    sort_rows,
)
from worldgauge.engine.suite.settings import SERVED, digests_of_served
from worldgauge.engine.suite.trial_questions import TrialQuestions
from worldgauge.metrics._registry import metrics

AnswererKind = Literal["model", "agent"]
"""Kind of model: a world model, or an agent that answers (`core.agent.Agent`)."""


@dataclass(frozen=True)
class NoSettings:
    """Settings of a suite that takes none."""


class Suite:
    """Base class of a benchmark.

    Subclass it, register it, and write `tasks`, `episode` and `compare`, or for other questions `perform` and `score`.

    Attributes:
        name: Registered name of the suite, used by run folders and workers.
        version: Version of the suite; part of every task's identity.
        Settings: A dataclass of `option` fields, which `--set` changes. Its class method `of`, if any, reads values.
        titles: Title of the table of each metric, headline first, for the default `summarize`.
        answerer_kind: Kind of model, "model" or "agent".
        baselines: Registered models whose scores are known, best first.
        default_baselines: Baselines that the command line runs unless they are switched off.
        baseline_settings: Settings of some baselines, such as {"drift": "step_m=0.003"}.
        floor_baselines: Baselines that cannot do what `claim` says. A model keeps the claim when it beats them all.
        claim: What a good model does, as a verb in the third person ("redraws the place it has seen").
        claims: What a good model does per kind of task, by the value of "task" in a task's group; in place of `claim`.
        group_claims: What a good model of a group (`TableRow.group`) does, in place of `claim`.
        claims_memory: Whether `claim` is about what was shown. Models then also run the decoy test, which decides.
        memory_metrics: Words for the metrics in which only memory helps, by metric. A claim of memory needs one.
        paper_settings: By setting, the value in the paper's protocol and one sentence why the default is another one.
        vocabulary: Words of a report that the suite replaces (`report.wording.Vocabulary`).
        scores_pictures: Whether scores depend on which part of the recorded picture a model shows.
        scoring_s: CPU seconds of scoring a typical video, if they depend on what it shows. Plans measure other suites.
        scoring_settings: Settings that only `score` reads. When one changes, old records get new scores.
        choosing_settings: Settings that only select tasks. No task depends on them.
        metrics: Metrics and estimators whose versions the scores depend on. None for all of them.

    Examples:
        >>> class Spin(Suite):  # to run it, decorate it with suites.register("spin")
        ...     name, titles = "spin", {"psnr": "PSNR"}
        >>> Spin().metrics
        frozenset({'psnr'})
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    Settings: ClassVar[type] = NoSettings
    titles: ClassVar[Mapping[str, str]] = {}
    answerer_kind: ClassVar[AnswererKind] = "model"
    baselines: ClassVar[tuple[str, ...]] = ()
    default_baselines: ClassVar[tuple[str, ...]] = ()
    baseline_settings: ClassVar[Mapping[str, str]] = {}
    floor_baselines: ClassVar[tuple[str, ...]] = ()
    claim: ClassVar[str] = ""
    claims: ClassVar[Mapping[str, str]] = {}
    group_claims: ClassVar[Mapping[str, str]] = {}
    paper_settings: ClassVar[Mapping[str, tuple[Any, str]]] = {}
    claims_memory: ClassVar[bool] = False
    memory_metrics: ClassVar[Mapping[str, str]] = {}
    scores_pictures: ClassVar[bool] = False
    scoring_s: ClassVar[float | None] = None
    own_metrics: tuple[str, ...] = ()
    _own_digest: str | None = None
    _served: Mapping[str, str] = MappingProxyType({})

    def __init__(self, **settings: Any) -> None:
        self.own_metrics = tuple(settings.pop(SETTING, ()))
        known = settings.pop(DIGEST, None)
        self._own_digest = digest_of_metrics(self.own_metrics, known) if self.own_metrics else None
        stated = settings.pop(SERVED, {})
        self.options: Any = self.read_settings(settings)
        self._served = digests_of_served(asdict(self.options), stated)

    # settings and words

    @classmethod
    def baseline_addresses(cls, *, every: bool = False, floors: bool = True) -> dict[str, str]:
        """Baselines that run beside models: name by address, with `baseline_settings`.

        Args:
            every: Whether to list all baselines. Default: `default_baselines` and floors.
            floors: Whether to list the floors.

        Returns:
            The baselines, without repetitions.
        """
        names = cls.baselines if every else (*cls.default_baselines, *(cls.floor_baselines if floors else ()))
        settings = cls.baseline_settings
        return {f"{name}?{settings[name]}" if name in settings else name: name for name in names}

    @classmethod
    def read_settings(cls, given: Mapping[str, Any]) -> Any:
        """Make the settings from plain values.

        Args:
            given: Values by name.

        Returns:
            An instance of `Settings`.

        Raises:
            UnknownNameError: For an unknown setting.
            UsageError: For a value that is not allowed; the message names the setting.
        """
        made = getattr(cls.Settings, "of", None)
        return options_of(cls.Settings, cls.name, given) if made is None else made(given)

    @property
    def settings(self) -> Mapping[str, Any]:
        """All settings in force, plain JSON values; part of a task's identity."""
        own = {SETTING: list(self.own_metrics), DIGEST: self._own_digest} if self.own_metrics else {}
        return {**asdict(self.options), **own, **({SERVED: dict(self._served)} if self._served else {})}

    @property
    def departures(self) -> list[str]:
        """One line per default in force that is not the paper's, with the reason and the paper's setting."""
        defaults = {field.name: field.default for field in fields(self.Settings)}
        return [
            f"Not the paper's protocol: {reason} For the paper's: --set {name}={value}."
            for name, (value, reason) in self.paper_settings.items()
            if self.settings[name] == defaults[name] != value
        ]

    @property
    def scoring_settings(self) -> frozenset[str]:
        """Names of settings that only `score` reads; by default none."""
        return frozenset()

    @property
    def choosing_settings(self) -> frozenset[str]:
        """Names of settings that only select tasks, so that none depends on them; by default none."""
        return frozenset()

    @property
    def metrics(self) -> frozenset[str] | None:
        """Metrics whose versions the scores depend on; by default those with a title. None for all metrics."""
        return frozenset(self.titles) or None

    @property
    def vocabulary(self) -> Mapping[str, str]:
        """Words of a report that the suite replaces; by default none."""
        return {}

    @classmethod
    def trial_questions(cls) -> TrialQuestions | None:
        """Questions in the suite's form that need no data set, for `check-model`; by default none."""
        return None

    # asking and scoring

    def tasks(self, source: Path) -> Iterator[Task]:
        """The tasks in a data set, in a fixed order. Must be cheap: nothing is decoded or rendered.

        Args:
            source: Folder of the data set.

        Yields:
            The tasks.
        """
        raise NotImplementedError

    def episode(self, task: Task) -> tuple[Episode, int]:
        """The recording of a task.

        Args:
            task: The task.

        Returns:
            The episode, and the index of its first hidden frame.
        """
        raise NotImplementedError

    @classmethod
    def probe_options(cls, tasks: int) -> Mapping[str, Any]:
        """Options of the suite's own collection for a small data set, which a probe asks during training.

        It should be quick to make and to score, with frames of a size that models in training take.

        Args:
            tasks: Number of tasks that it should hold.

        Returns:
            Values by name of the option.

        Raises:
            UsageError: Where the suite declares none.
        """
        raise UsageError(f"suite '{cls.name}' declares no small data set for probes; give a folder with data=")

    def missing_data(self, source: Path) -> Sequence[str]:
        """Parts that the data set should have and lacks completely.

        Args:
            source: Folder of the data set.

        Returns:
            One line per part, for the user.
        """
        return ()

    def cluster_of(self, task: str, group: Mapping[str, Any]) -> str:
        """What a task shares with others, such as its scene, whose scores are therefore not independent.

        Means are over tasks, but intervals and tests resample clusters. Used where `Task.cluster` is empty.

        Args:
            task: Id of the task.
            group: Group of the task.

        Returns:
            Name of the cluster. By default the task is alone in its own.
        """
        return task

    def counts_in_headline(self, task: Task) -> bool:
        """Whether the headline has a value for a task. The power of a data set is that of its headline."""
        return True

    def perform(self, task: Task, model: Any, task_context: TaskContext) -> Record:
        """Ask the model and keep its answer. The model runs nowhere else.

        By default a world model gets the frames before the first hidden one and continues from there.

        Args:
            task: The task.
            model: The model or agent.
            task_context: Folder, seed and progress of the task.

        Returns:
            The record of the task.

        Raises:
            ModelError: When the model breaks its contract.
        """
        episode, start = self.episode(task)
        spec, future = model.spec, episode.actions[start - 1 :]
        context = fit_context(episode.context(0, start), spec, None, episode.world)
        request = RolloutRequest(
            context,
            horizon=len(episode) - start,
            seed=task_context.seed,
            actions=future,
            poses=episode.poses[start:],
            text=describe(future),
            caption=caption_for(episode, context, start),
            world=episode.world if "world" in spec.inputs else None,
            truth=fit_truth(episode.clip[start:], spec) if "truth" in spec.inputs else None,
            task=task.id,
        )
        resample = self.options.resample if isinstance(self.options, BridgeSettings) else "nearest"
        answer = run_rollout(model, request, episode.clip.fps, task_context, resample=resample)
        crop = {} if spec.crop is None else {"crop": list(spec.crop)}
        facts = {"caption": request.caption, **crop, **answer.facts}
        return Record(task, spec.name, task_context.directory, facts, answer.rollout)

    def score(self, record: Record, task_context: TaskContext) -> list[Score]:
        """Score a record. The same record always gives the same scores. By default calls `compare`.

        Args:
            record: The record.
            task_context: Folder, seed and progress of the task.

        Returns:
            The scores.
        """
        return self.compare(record, self.episode(record.task)[0], *Suite.compared_clips(self, record))

    def decoy_kind(self, task: Task) -> Hashable | None:
        """What a recording shares with a task whose decoy it can be: the kind of path, and the look of the place.

        Args:
            task: The task.

        Returns:
            The kind. None for a task that is not about memory.
        """
        return tuple((key, value) for key, value in task.group.items() if key != "location")

    def memory_scores(self, record: Record, task_context: TaskContext) -> list[Score]:
        """Scores of a record in an arm of the decoy test, with those of `memory_metrics`. By default all of `score`.

        Args:
            record: The record.
            task_context: Folder, seed and progress of the task.

        Returns:
            The scores.
        """
        return self.score(record, task_context)

    def compare(self, record: Record, episode: Episode, truth: Clip, rollout: Clip) -> list[Score]:
        """Compare a rollout with the hidden frames.

        Args:
            record: The record.
            episode: The recording of the task.
            truth: The hidden frames, cropped and resized to the rollout.
            rollout: The frames of the model.

        Returns:
            The scores.
        """
        raise NotImplementedError

    def compared_clips(self, record: Record) -> tuple[Clip, Clip]:
        """The hidden frames and the rollout with equal length and size, for a user's own metrics.

        Args:
            record: The record.

        Returns:
            The hidden frames, then the rollout.

        Raises:
            NotApplicableError: Where the record holds no frames that can be compared.
        """
        episode, start = self.episode(record.task)
        rollout, crop = open_rollout(record), record.facts.get("crop")
        truth = episode.clip[start:].cropped(*crop) if crop else episode.clip[start:]
        return truth.resized(rollout.width, rollout.height), rollout

    def all_scores(self, record: Record, task_context: TaskContext) -> list[Score]:
        """Scores of a record, with those of the user's own metrics.

        Args:
            record: The record.
            task_context: Folder, seed and progress of the task.

        Returns:
            The scores of `score`, then those of the user's own metrics.
        """
        return [*self.score(record, task_context), *own_scores(self.own_metrics, record, self.compared_clips)]

    def rates(self, task: Task) -> frozenset[float]:
        """Frame rates that a model has to take to be asked a task without the rate bridge.

        By default that of the recording that `episode` gives. Cheap: nothing is decoded.

        Args:
            task: The task.

        Returns:
            Frames per second. Empty where a frame is a step without duration, or the suite does not say.

        Raises:
            DataError: When the recording cannot be read.
        """
        return frozenset() if type(self).episode is Suite.episode else frozenset({self.episode(task)[0].clip.fps})

    def rollout_s(self, task: Task) -> float | None:
        """Seconds that a model generates for a task. Cheap: nothing is decoded.

        Args:
            task: The task.

        Returns:
            The rest of the recording that `episode` gives, at most `horizon_s`. None if the suite has no recording.

        Raises:
            DataError: When the recording cannot be read.
        """
        if type(self).episode is Suite.episode:
            return None
        episode, start = self.episode(task)
        rest_s = (len(episode.clip) - start) / episode.clip.fps
        return min(rest_s, self.settings.get("horizon_s") or rest_s)

    # tables and pictures

    def summarize(
        self, scores: Mapping[str, Sequence[Score]], kinds: Mapping[str, str], failed: Mapping[str, Sequence[Failure]]
    ) -> list[Table]:
        """Tables over models, headline first. By default one per entry of `titles`, with one row per model.

        Args:
            scores: Scores by model.
            kinds: "model" or "baseline", by model.
            failed: Tasks without scores, by model.

        Returns:
            The tables.
        """
        tables = []
        for metric, title in self.titles.items():
            facts = metrics.entry(metric).facts
            rows = [
                TableRow(
                    label,
                    (score_cell([one for one in own if one.metric == metric], facts["bounds"]),),
                    "baseline" if kinds[label] == "baseline" else "model",
                )
                for label, own in scores.items()
            ]
            better = facts["better"]
            tables.append(Table(metric, title, facts["unit"], better, ("all",), tuple(sort_rows(rows, better))))
        return tables

    def all_tables(
        self, scores: Mapping[str, Sequence[Score]], kinds: Mapping[str, str], failed: Mapping[str, Sequence[Failure]]
    ) -> list[Table]:
        """The tables of `summarize`, with its arguments, then one for each of the user's own metrics."""
        return [*self.summarize(scores, kinds, failed), *own_tables(self.own_metrics, scores, kinds)]

    def without_memory(self) -> Suite | None:
        """This suite as it judges models that hold at most the last second; None if nothing is left to judge."""
        return None if self.claims_memory else self

    def check_ready(self) -> None:
        """Raises MissingExtraError if scoring needs a package that is not here. By default none is needed."""

    @classmethod
    def demo_set(cls, *, full: bool = False) -> DemoSet | None:
        """What the suite shows in `worldgauge demo`.

        Args:
            full: Whether to show more: more tasks, and all that is worth comparing.

        Returns:
            The data set and its models, or None where the suite is not shown.
        """
        return None

    def published(self) -> list[Table]:
        """Published results of the benchmark's paper, labelled as such."""
        return []

    def world_of(self, task: Task) -> WorldFacts | None:
        """The world of a task, to tell whether a model was trained on it. Asked of all tasks, so it must be cheap.

        Args:
            task: The task.

        Returns:
            The world. None where it is not known.

        Raises:
            WorldgaugeError: When the data are gone.
        """
        return self.task_view(task).world

    def task_view(self, task: Task) -> TaskView:
        """What a report shows of a task: truth, walk and world.

        Args:
            task: The task.

        Returns:
            The view.

        Raises:
            DataError: When the data are gone, or the suite asks in its own way and has no recordings to show.
        """
        if type(self).episode is Suite.episode:
            raise DataError(f"{task.id}: suite '{self.name}' shows no recording")
        episode, start = self.episode(task)
        shown = episode.clip[:start]
        return TaskView(episode.clip[start:], episode.poses, start, episode.world, camera=episode.camera, shown=shown)

    def task_details(self, task: Task, scores: Mapping[str, Sequence[Score]]) -> TaskDetails | None:
        """Further details of a task for a report, in addition to its films.

        Args:
            task: The task.
            scores: Scores of each model on the task.

        Returns:
            The details, or None where there are none.
        """
        return None

    # import of results

    def submissions(self, folder: Path) -> Mapping[str, Mapping[str, Any]]:
        """Settings of the model `videos` for each model of a folder; by default every sub-folder is one model.

        Args:
            folder: Folder of the videos.

        Returns:
            Settings by name of the model.

        Raises:
            UsageError: For a missing folder.
        """
        if not folder.is_dir():
            raise UsageError(f"{folder}: no such folder; expected <model>/<task>.mp4 in it")
        inside = sorted(one for one in folder.iterdir() if one.is_dir() and not one.name.startswith("."))
        return {one.name: {"root": str(one)} for one in inside}


class ActedSuite(Suite):
    """A suite whose tasks are acted out step by step, by an agent or a person: reports show a film of the episode.

    What it asks depends on the answers before, so no finished videos can be scored.

    Examples:
        >>> issubclass(suites.get("worldinworld"), ActedSuite)
        True
    """

    def prepare(self, tasks: Sequence[Task], tell: Callable[[str, int, int], None]) -> None:
        """Make what all workers need. Called once in the leading process before any of `tasks` is performed.

        Args:
            tasks: The tasks that will be performed.
            tell: Called with what is being done, the amount done and the total.
        """

    def close(self) -> None:
        """Give up what `prepare` has opened. Called once in the leading process when a run ends, however it does."""

    def acted_by(self, label: str) -> str | None:
        """Label of a model's row where a person acts with it, as the settings say; None where nobody does.

        A person sits before one machine and answers one task at a time, so `perform` is then called in the leading
        process. The row stands among the baselines: it says how a person does, not what a model is worth.

        Args:
            label: Label of the model.

        Returns:
            The label, or None. By default nobody acts.
        """
        return None

    def film(self, record: Record) -> Clip:
        """What a report shows of a record instead of its rollout.

        For records of more than frames to compare, such as an agent's episode. It is shown in full, without the truth.

        Args:
            record: The record.

        Returns:
            The film.

        Raises:
            DataError: When the files of the record are gone.
        """
        raise NotImplementedError

    def episode_films(self, record: Record) -> EpisodeFilms | None:
        """What was seen and imagined in a record whose `film` shows both and more.

        Args:
            record: The record.

        Returns:
            The films, or None where records hold none.

        Raises:
            DataError: When the files of the record are gone.
        """
        return None


class AnsweredSuite(Suite):
    """A suite whose tasks are answered in words: reports show cards, and people can vote on answers.

    Attributes:
        balanced_by: Key of the tasks' groups whose values have equal weight in the headline, whatever their numbers.

    Examples:
        >>> suites.get("mineanybuild").balanced_by
        'task'
    """

    balanced_by: ClassVar[str] = ""

    def answer_card(
        self, task: Task, records: Mapping[str, Record], scores: Mapping[str, Sequence[Score]]
    ) -> AnswerCard:
        """What a report shows of a task, in place of videos.

        Args:
            task: The task.
            records: Records by model, where there are any.
            scores: Scores by model, where there are any.

        Returns:
            The card.

        Raises:
            DataError: When the data are gone.
        """
        raise NotImplementedError

    def vote_table(self, votes: Path, runs: Sequence[Path]) -> Table:
        """The table of votes that were held on runs of this suite, for `report --votes`.

        Args:
            votes: File of the votes.
            runs: Folders of the runs.

        Returns:
            The table.

        Raises:
            UsageError: For votes that are of other runs.
        """
        raise NotImplementedError


class SubmittedSuite(Suite):
    """A suite with a result file of its own, and with scores of videos that need no question in the data.

    Examples:
        >>> issubclass(suites.get("mind"), SubmittedSuite)
        True
    """

    def submission_settings(self, folder: Path, data: Path) -> Mapping[str, Any]:
        """Settings that a folder of finished videos adds to those of the user.

        By default none. A suite that scores videos without a question in the data names them here.

        Args:
            folder: Folder of the videos.
            data: Folder of the data set.

        Returns:
            Settings by name.

        Raises:
            UsageError: For a missing folder.
            DataError: For a folder that cannot be read.
        """
        return {}

    def export(self, scores: Sequence[Score], failed: Sequence[Failure], path: Path) -> None:
        """Write the scores of one model as the benchmark's own result file.

        Args:
            scores: All scores of the model.
            failed: Its tasks without scores.
            path: File to write.
        """
        raise NotImplementedError


def acted_by(suite: Suite, label: str) -> str | None:
    """Label of a model's row where a person acts with it; None where nobody does."""
    return suite.acted_by(label) if isinstance(suite, ActedSuite) else None


suites: Registry[type[Suite]] = Registry("suite", group="worldgauge.suites", in_suites="suite")
"""Registry of the benchmarks, one folder or file each in `worldgauge.suites`."""
