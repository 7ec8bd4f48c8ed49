"""What a report shows of a task: the question, the true build, and every answer with the reasons of its score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from worldgauge.chat.answers import answer_text
from worldgauge.core.image import Image
from worldgauge.engine.suite.contract import AnswerCard, AnswerView, Record, Score, Task
from worldgauge.suites.build.kinds import BUILD_KINDS
from worldgauge.suites.build.metrics.blueprint_reading import REASONS, WARNINGS
from worldgauge.suites.build.protocol import answer_of, shown_with
from worldgauge.suites.build.scoring import HEADLINE, reading_of
from worldgauge.suites.build.settings import BuildSettings
from worldgauge.suites.build.tasks import row_of, truth_of
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.blocks.mesh import Mesh, mesh_of
from worldgauge.worlds.blocks.views import flag_lines, picture

PICTURE_PX = 320
MOST_TEXT = 6_000
"""Characters of an answer that the gallery shows; all of it stands in the record."""
EXPECTED = "expected"


def answer_card(
    task: Task, records: Mapping[str, Record], scores: Mapping[str, Sequence[Score]], settings: BuildSettings
) -> AnswerCard:
    """Return the task and every subject's answer.

    Args:
        task: The task.
        records: By subject.
        scores: By subject.
        settings: Settings of the run.

    Raises:
        DataError: If the data are missing.
    """
    row, truth = row_of(task), truth_of(task)
    plates = {}
    if truth is not None and row.kind != "creativity":
        image, solid = _drawn(truth)
        plates[EXPECTED] = AnswerView(image, "", f"{truth.blocks} blocks", (), solid)
    elif row.answer:
        plates[EXPECTED] = AnswerView(text=row.answer)
    for label, record in records.items():
        text = answer_of(record)
        built = reading_of(row, text, settings).blueprint if row.kind in BUILD_KINDS else None
        plates[label] = _plate(answer_text(text), built, scores.get(label, ()))
    return AnswerCard(row.instruction, shown_with(task), plates)


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
    reason = facts.get("reason")
    if reason:
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
