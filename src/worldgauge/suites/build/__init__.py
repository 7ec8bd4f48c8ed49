"""MineAnyBuild: can an agent plan a build in space, from words and pictures to blocks?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from worldgauge.agent import Agent
from worldgauge.datasets import build as data
from worldgauge.errors import DataError
from worldgauge.suites import suites
from worldgauge.suites.build import protocol, published, scoring, showing, summary, tasks
from worldgauge.suites.build.settings import REACHING, RELEASED, SUITE, Settings
from worldgauge.suites.contract import Bench, Card, Failure, Picture, Record, Score, Table, Task


@suites.register(SUITE)
class Build:
    """Plan executable builds, understand and imagine them, turn figures in the mind, judge rooms: answers, checked."""

    name = SUITE
    version = 1
    asks = "agent"
    references: tuple[str, ...] = ("truth", "reader", "copy-example", "solid-box", "random", "empty")
    memoryless = ("copy-example", "solid-box", "random", "empty")
    claim = "plans in space"
    balanced = "task"
    choosing_settings = frozenset({"task"}) | REACHING
    scoring_settings = frozenset(
        {"critic", "chat", "prompts_digest", "critic_digest", "critic_tokens", "gradings", *RELEASED, "parity"}
        | REACHING
    )
    metrics = frozenset(scoring.METRICS)
    words: Mapping[str, str] = {
        "headline": "full marks (%)",
        "subject": "agent",
        "lacks": "cannot plan",
        "films": "What was asked, what was expected, and what every agent answered.",
    }

    def __init__(self, **options: Any) -> None:
        self.options = Settings.of(options)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Every option in force."""
        return self.options.as_dict()

    def missing(self, source: Path) -> list[str]:
        """Files of tasks that the folder does not have, and a language model that is named and not asked."""
        idle = self.options.chat is not None and self.options.critic == scoring.FREE
        note = (
            [f"{self.options.chat} is named, but the critic is '{scoring.FREE}': say --set critic=chat"] if idle else []
        )
        return [*data.missing(Path(source)), *note]

    def tasks(self, source: Path) -> Iterator[Task]:
        """One task a row of the data set; rows that cannot be used fail with the reason."""
        return tasks.tasks(source, self.options)

    def perform(self, task: Task, subject: Agent, bench: Bench) -> Record:
        """Put the question, keep the answer."""
        return protocol.perform(task, subject, bench, self.options)

    def score(self, record: Record, bench: Bench) -> list[Score]:
        """Read the answer, grade what can be built, compare it with what was wanted."""
        return scoring.score(record, bench, self.options)

    def summarize(
        self,
        scores: Mapping[str, Sequence[Score]],
        kinds: Mapping[str, str],
        failed: Mapping[str, Sequence[Failure]],
    ) -> list[Table]:
        """Full marks by kind of task and overall, the paper's columns, and what lies behind them."""
        return summary.summarize(scores, kinds, failed, self.options.failed_plans)

    def published(self) -> list[Table]:
        """Tables 1 and 8, 6 and 7 of the paper."""
        return published.published()

    def picture(self, task: Task) -> Picture:
        """None: answers are shown by `card`. Raises DataError."""
        raise DataError(f"{task.id}: answers have no films")

    def card(self, task: Task, records: Mapping[str, Record], scores: Mapping[str, Sequence[Score]]) -> Card:
        """The question, what was expected, and every answer."""
        return showing.card(task, records, scores, self.options)
