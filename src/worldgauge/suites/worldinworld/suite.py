"""World-in-World: does a world model help an agent succeed? Recognition, navigation, questions, manipulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import UsageError
from worldgauge.core.model import WorldModel
from worldgauge.core.video import Clip
from worldgauge.engine.suite.base import ActedSuite, suites
from worldgauge.engine.suite.contract import (
    DemoSet,
    EpisodeFilms,
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
from worldgauge.suites.worldinworld import protocol, published, scoring, summary, task_index
from worldgauge.suites.worldinworld import report as replay
from worldgauge.suites.worldinworld.report import task_details
from worldgauge.suites.worldinworld.task import (
    REACHING,
    SUITE,
    LoopSettings,
    closed_loop_tasks,
    settings_type,
    task_names,
)
from worldgauge.suites.worldinworld.trial_questions import StepQuestions
from worldgauge.worlds.tabletop.engine import can_draw

if TYPE_CHECKING:
    from worldgauge.suites.worldinworld.policies.person import PersonPage


@suites.register(SUITE)
class ClosedLoop(ActedSuite):
    """Let an agent act with a world model in the loop: its success is what the model's predictions are worth."""

    name = SUITE
    Settings = settings_type()
    version = 1
    baselines = ("oracle", "warp", "degraded", "forgetful", "roll", "zoom", "freeze", "noise", "none")
    default_baselines = ("none",)
    """Asked beside every model: without the base policy there is nothing to compare with."""
    floor_baselines = ("none", "freeze", "noise", "zoom")
    claims: ClassVar[Mapping[str, str]] = {
        "recognition": "helps an agent name things",
        "navigation": "helps an agent find places",
        "questions": "helps an agent answer questions",
        "manipulation": "helps an agent use an arm",
    }
    paper_settings: ClassVar[Mapping[str, tuple[Any, str]]] = {
        "protocol": ("published", "with few or short plans, a random walk does nearly as well as foresight.")
    }
    metrics = scoring.metric_names()
    vocabulary: ClassVar[Mapping[str, str]] = {
        "task": "episode",
        "tasks": "episodes",
        "headline": "task success (%)",
        "lacks": "cannot foresee anything",
        "asked": "shortest way",
        "read": "How each episode ended",
        "films": "What each agent saw, what its world model imagined for the plan it took, and how it decided. Score: "
        "the reviser's, of what was imagined; truly: what the simulator says that the plan would have come to.",
    }

    _page: PersonPage | None = None

    @classmethod
    def trial_questions(cls) -> TrialQuestions:
        """Questions about a walk of the suite's own kind."""
        return StepQuestions()

    @classmethod
    def read_settings(cls, given: Mapping[str, Any]) -> LoopSettings:
        """Settings made of plain values, with the digests of the files they name."""
        settings = LoopSettings.of(given)
        if settings.is_acted and settings.person in cls.baselines:
            raise UsageError(f"{SUITE} setting 'who': '{settings.person}' is a baseline; give another name")
        return settings

    @property
    def settings(self) -> Mapping[str, Any]:
        """All in force but the address of a person's page, which is of this machine: no record tells it."""
        return {name: value for name, value in super().settings.items() if name != "page"}

    @property
    def choosing_settings(self) -> frozenset[str]:
        """Settings that no task depends on; where no person acts, who would is one of them."""
        return frozenset({"task"}) | REACHING | (frozenset() if self.options.is_acted else frozenset({"who"}))

    def acted_by(self, label: str) -> str | None:
        """The person's name, with that of the world model where there is one."""
        if not self.options.is_acted:
            return None
        name: str = self.options.person
        return name if label == summary.BASE else f"{name}-{label}"

    @property
    def scoring_settings(self) -> frozenset[str]:
        """Settings that only `score` reads, such as the judge, and models or networks that no policy uses."""
        asked = frozenset() if self.options.talks else frozenset({"chat", "prompts_digest"})
        seen = frozenset() if self.options.sees_by_network else frozenset({"lpips"})
        acting = self.options.sees_by_network or any(map(self.options.networks, self.options.asked))
        weights = frozenset() if acting else frozenset({"networks_digest"})
        own = frozenset[str]().union(*(closed_loop_tasks.get(name).scoring_settings for name in task_names()))
        return frozenset({"aesthetic", "imaging"}) | own | asked | seen | weights

    @classmethod
    def demo_set(cls, *, full: bool = False) -> DemoSet:
        """See `Suite.demo_set`."""
        place, question = 4, "Does an agent that looks ahead with the model succeed more often?"
        options: dict[str, Any] = {"scenes": 8, "recognition": 0, "navigation": 16, "questions": 0, "manipulation": 0}
        if full:
            options = {"scenes": 8, "recognition": 16, "navigation": 16, "questions": 16}
            options |= {"manipulation": 16 if can_draw() else 0, "size": (512, 288)}
            settings, models = {"view_px": 160, "panorama_px": 512}, ("oracle", "warp", *cls.floor_baselines)
            return DemoSet(place, question, options, models, "warp", settings, core_seconds=900)
        settings = {"view_px": 64, "panorama_px": 256}
        models = ("oracle", "degraded?level=0.08", *cls.floor_baselines)
        return DemoSet(place, question, options | {"size": (256, 144)}, models, models[1], settings, core_seconds=95)

    def tasks(self, source: Path) -> Iterator[Task]:
        """One task per episode; those whose scenes are not available are skipped with the reason."""
        return task_index.tasks(source, self.options)

    def missing_data(self, source: Path) -> list[str]:
        """Settings that were given for tasks that are not in the run."""
        return task_index.unused_settings(source, self.options)

    def prepare(self, tasks: Sequence[Task], tell: Callable[[str, int, int], None]) -> None:
        """Check that all that policies need is here."""
        for kind in sorted({task.sample["kind"] for task in tasks if task.skip is None}):
            closed_loop_tasks.get(kind).check_installed(self.options)
        if self.options.is_acted and (asked := sum(task.skip is None for task in tasks)):
            # Here, since it brings what pages of reports need.
            from worldgauge.suites.worldinworld.policies.person import ANY_PORT, open_page

            self._page = open_page(self.options.person, self.options.page or ANY_PORT, asked)

    def close(self) -> None:
        """Close the page on which a person acts."""
        if self._page is not None:
            self._page.close_desk()
            self._page = None

    def perform(self, task: Task, model: WorldModel, task_context: TaskContext) -> Record:
        """Act out the episode and store its trace, what was seen and what was imagined."""
        return protocol.perform(task, model, task_context, self.options)

    def score(self, record: Record, task_context: TaskContext) -> list[Score]:
        """Success and path lengths, what was imagined against what the simulator shows, and the decisions' regret."""
        return scoring.score(record, task_context, self.options)

    def compared_clips(self, record: Record) -> tuple[Clip, Clip]:
        """What the simulator shows and what was imagined for the same steps."""
        return scoring.compared_clips(record, self.options)

    def summarize(
        self, scores: Mapping[str, Sequence[Score]], kinds: Mapping[str, str], failed: Mapping[str, Sequence[Failure]]
    ) -> list[Table]:
        """Success by task, each task's own table, the gain over no world model, and what it cost."""
        return summary.summarize(scores, kinds, failed)

    def published(self) -> list[Table]:
        """Tables 1 to 7 of the paper."""
        return published.published()

    def world_of(self, task: Task) -> WorldFacts | None:
        """The home or table of its episode."""
        return task_index.world_of_task(task)

    def task_view(self, task: Task) -> TaskView:
        """The home, the shortest path where there is a goal, and what lies on it."""
        return task_index.open_task(task, self.options).view()

    def task_details(self, task: Task, scores: Mapping[str, Sequence[Score]]) -> TaskDetails:
        """Where each model's agent went, and how its episode ended."""
        return task_details(task, scores, self.options)

    def episode_films(self, record: Record) -> EpisodeFilms:
        """What the agent saw, and what was imagined of the plans that were taken."""
        return replay.episode_films(record)

    def film(self, record: Record) -> Clip:
        """What was imagined for the plans that were taken, next to what then happened."""
        return replay.replay(record, self.options)
