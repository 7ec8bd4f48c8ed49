"""MineAnyBuild: can an agent plan a build in space, from words and pictures to blocks?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from worldgauge.chat.answers import answer_text
from worldgauge.core.agent import Agent
from worldgauge.core.errors import DataError, NotApplicableError
from worldgauge.core.image import Image
from worldgauge.core.video import Clip
from worldgauge.engine.suite.base import AnsweredSuite, suites
from worldgauge.engine.suite.contract import (
    AnswerCard,
    AnswerView,
    DemoSet,
    Failure,
    Record,
    Score,
    Table,
    Task,
    TaskContext,
    TaskView,
)
from worldgauge.suites.mineanybuild import protocol, scoring, summary
from worldgauge.suites.mineanybuild.feedback import reading_of
from worldgauge.suites.mineanybuild.format import BUILD_KINDS, missing
from worldgauge.suites.mineanybuild.metrics.blueprint_reading import REASONS, WARNINGS
from worldgauge.suites.mineanybuild.protocol import answer_of, row_of, shown_with, truth_of
from worldgauge.suites.mineanybuild.scoring import HEADLINE
from worldgauge.suites.mineanybuild.settings import ACCESS, RELEASED, SUITE, BuildSettings
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.blocks.mesh import Mesh, mesh_of
from worldgauge.worlds.blocks.views import flag_lines, picture

PICTURE_PX = 320
MOST_TEXT = 6_000
"""Characters of an answer that the gallery shows; all of it stands in the record."""
EXPECTED = "expected"


def _plate(text: str, built: Blueprint | None, scores: Sequence[Score]) -> AnswerView:
    headline = next((score for score in scores if score.metric == HEADLINE), None)
    verdict = "" if headline is None or headline.value is None else f"{headline.value:.0f} % of full marks"
    said = text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]} … ({len(text)} characters in all)"
    image, solid = (None, None) if built is None else _drawn(built)
    return AnswerView(image, said, verdict, tuple(_reasons(headline, built, scores)), solid)


def _drawn(build: Blueprint) -> tuple[Image, Mesh]:
    """Its picture, and its mesh, which the page turns."""
    mesh = mesh_of(build)
    return picture(build, size_px=PICTURE_PX, mesh=mesh), mesh


def _reasons(headline: Score | None, built: Blueprint | None, scores: Sequence[Score]) -> list[str]:
    """Why the answer got what it got, a line each."""
    lines = []
    facts = {} if headline is None else headline.facts
    if "read" in facts:
        lines.append(f"Read as {facts['read'] or 'nothing'}; right is {facts['answer']}.")
    if reason := facts.get("reason"):
        lines.append(f"Cannot be built: {REASONS[reason]}." if reason in REASONS else str(reason))
    lines += [f"{WARNINGS[name].capitalize()}." for name in facts.get("warnings", ()) if name in WARNINGS]
    if headline is not None and headline.value is None:
        lines.append(str(headline.reason))
    for score in scores:
        if score.metric.endswith("/build_grade") and score.value is not None:
            name = score.metric.split("/")[1]
            comment = score.facts.get("comment", "")
            lines.append(f"{name} {score.value:g} of 10{': ' + comment if comment else ''}")
    if built is not None:
        lines += flag_lines(built)
    return lines


@suites.register(SUITE)
class MineAnyBuild(AnsweredSuite):
    """Plan, understand and imagine buildings, rotate figures mentally, judge rooms."""

    name = SUITE
    version = 1
    Settings = BuildSettings
    answerer_kind = "agent"
    baselines = ("truth", "degraded", "reader", "castle", "copy-example", "solid-box", "random", "empty")
    floor_baselines = ("reader", "castle", "copy-example", "solid-box", "random", "empty")
    paper_settings: ClassVar[Mapping[str, tuple[Any, str]]] = {
        "critic": ("chat", "rules grade without a language model, at no cost and with equal grades each time.")
    }
    claims: ClassVar[Mapping[str, str]] = {
        "planning": "plans builds",
        "understanding": "places blocks that are listed",
        "reasoning": "rotates figures mentally",
        "commonsense": "judges rooms",
    }
    balanced_by = "task"
    choosing_settings = frozenset({"task"}) | ACCESS
    scoring_settings = frozenset(
        {"critic", "chat", "prompts_digest", "critic_digest", "critic_tokens", "gradings", *RELEASED, "parity"} | ACCESS
    )
    metrics = frozenset(scoring.METRICS)
    vocabulary: ClassVar[Mapping[str, str]] = {
        "headline": "full marks (%)",
        "model": "agent",
        "lacks": "cannot plan",
        "films": "The task, the expected answer and the answer of each agent.",
    }

    @classmethod
    def read_settings(cls, given: Mapping[str, Any]) -> BuildSettings:
        """Settings made of plain values, with the digests of the files they name."""
        return BuildSettings.of(given)

    @property
    def departures(self) -> list[str]:
        """See `Suite.departures`; other forms of answers, and rounds, are not the paper's either."""
        own = [f"{name}={getattr(self.options, name)}" for name in ("answer", "rounds", "feedback")]
        said = f"Not the paper's protocol: {', '.join(own)}. Do not compare these rows with the paper's."
        return [*super().departures, *([] if self.options.as_published else [said])]

    def missing_data(self, source: Path) -> list[str]:
        """Files of tasks that the folder does not have, and a language model that is named but not used."""
        notes = [f"{name} is not in {source}" for name in missing(Path(source))]
        if self.options.chat is not None and self.options.critic == scoring.FREE:
            notes.append(f"chat={self.options.chat} changes nothing: the critic is '{scoring.FREE}'; set critic=chat")
        return notes

    @classmethod
    def demo_set(cls, *, full: bool = False) -> DemoSet:
        """See `Suite.demo_set`."""
        place, question = (5, "Can an agent plan in space, build from a description and judge rooms?")
        # Six of each kind is the least that a test takes; figures have 36 questions each.
        options = {"structures": 9, "stimuli": 6, "commonsense": 24, "size_px": 128}
        if full:
            options = {"structures": 24, "stimuli": 12, "commonsense": 50}
        models = ("truth", "degraded", *cls.floor_baselines)
        return DemoSet(place, question, options, models, "degraded", core_seconds=120 if full else 32, megabytes=100)

    def tasks(self, source: Path) -> Iterator[Task]:
        """One task per row of the data set; rows that cannot be used fail with the reason."""
        return protocol.tasks(source, self.options)

    def cluster_of(self, task: str, group: Mapping[str, Any]) -> str:
        """The structure, by its number in the id of a task."""
        return protocol.cluster_of(task)

    def perform(self, task: Task, model: Agent, task_context: TaskContext) -> Record:
        """Ask the question and store the answer."""
        return protocol.perform(task, model, task_context, self.options)

    def score(self, record: Record, task_context: TaskContext) -> list[Score]:
        """Read the answer, grade what can be built, compare it with the truth."""
        return scoring.score(record, task_context, self.options)

    def compared_clips(self, record: Record) -> tuple[Clip, Clip]:
        """None: answers are not frames."""
        raise NotApplicableError("answers have no frames to compare")

    def summarize(
        self, scores: Mapping[str, Sequence[Score]], kinds: Mapping[str, str], failed: Mapping[str, Sequence[Failure]]
    ) -> list[Table]:
        """Full marks by kind of task and overall, the paper's columns, and what lies behind them."""
        return summary.summarize(scores, kinds, failed, self.options.failed_plans, self.options.critic)

    def published(self) -> list[Table]:
        """Tables 1 and 8, 6 and 7 of the paper."""
        return summary.published()

    def task_view(self, task: Task) -> TaskView:
        """None: answers are shown by `answer_card`."""
        raise DataError(f"{task.id}: answers have no films")

    def answer_card(
        self, task: Task, records: Mapping[str, Record], scores: Mapping[str, Sequence[Score]]
    ) -> AnswerCard:
        """The question, what was expected, and every answer."""
        row, truth = row_of(task), truth_of(task)
        plates = {}
        if truth is not None and row.kind != "creativity":
            image, solid = _drawn(truth)
            plates[EXPECTED] = AnswerView(image, "", f"{truth.blocks} blocks", (), solid)
        elif row.answer:
            plates[EXPECTED] = AnswerView(text=row.answer)
        for label, record in records.items():
            text = answer_of(record)
            built = reading_of(row, text, self.options).blueprint if row.kind in BUILD_KINDS else None
            plates[label] = _plate(answer_text(text), built, scores.get(label, ()))
        return AnswerCard(row.instruction, shown_with(task), plates)

    def vote_table(self, votes: Path, runs: Sequence[Path]) -> Table:
        """Creativity with the votes that `worldgauge mineanybuild vote` has held."""
        from worldgauge.suites.mineanybuild.voting import voted

        return voted(votes, runs)
