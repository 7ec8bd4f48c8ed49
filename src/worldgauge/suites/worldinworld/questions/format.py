"""Embodied questions, their file and those beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from worldgauge.core.episode import WorldFacts, number_of, short, whole_of
from worldgauge.engine.collection import Finding, spread
from worldgauge.suites.worldinworld.format.contract import (
    EpisodeCheck,
    EpisodeFault,
    FoundFiles,
    HomeFormat,
    Worlds,
    counted,
    distinct,
    place_fields,
    put_json,
)
from worldgauge.suites.worldinworld.format.files import lacks_names
from worldgauge.suites.worldinworld.format.rows import (
    MAX_WHOLE,
    REFUSALS,
    EpisodeRow,
    eye_of,
    id_of,
    stance_of,
    text_of,
    wrong,
)
from worldgauge.worlds.walking.primitives import EYE_HEIGHT_M, Stance

HFOV_DEG = 105.0
"""Of each of the four views that a question is asked with."""
LONGEST_M = 1e5
QUESTION_CATEGORIES = (
    "object localization",
    "attribute recognition",
    "world knowledge",
    "object state recognition",
    "object recognition",
    "spatial understanding",
    "functional reasoning",
)


@dataclass(frozen=True)
class QuestionEpisode:
    """Answer a question; `reference_m` is what exploring should take, `blind_answer` is given without pictures."""

    id: str
    scene: str
    question: str
    answer: str
    extra_answers: tuple[str, ...]
    category: str
    start: Stance
    hfov_deg: float = HFOV_DEG
    reference_m: float | None = None
    blind_answer: str | None = None
    evidence: tuple[int, ...] = ()
    height_m: float = EYE_HEIGHT_M


class QuestionFormat(HomeFormat[QuestionEpisode]):
    """questions/questions.json with lengths, blind answers and evidence by id; published: AEQA/."""

    kind, key = "questions", ""
    contents: ClassVar[Mapping[str, str]] = {
        "questions": "questions",
        "lengths": "reference lengths",
        "blind": "blind answers",
        "evidence": "evidence",
    }
    folders = ("questions", "AEQA")
    published = 184
    measures: ClassVar[Mapping[str, str]] = {"reference_m": "refer-\nence, m"}
    measures_note = "reference: length of exploring for an answer"
    tallied: ClassVar[Mapping[str, str]] = {"categories": "kind of question"}
    discordance = 0.24

    def content_of(self, value: Any) -> str | None:
        """A list of questions, or an object by id of numbers, texts or lists."""
        if isinstance(value, list):
            return "questions" if all("question" in row for row in value if isinstance(row, dict)) else None
        if not isinstance(value, dict) or not value:
            return None
        kinds: tuple[tuple[type | tuple[type, ...], str], ...] = (
            ((int, float), "lengths"),
            (str, "blind"),
            (list, "evidence"),
        )
        return next((part for kind, part in kinds if all(isinstance(one, kind) for one in value.values())), None)

    def rows(self, value: Any) -> Sequence[Any]:
        """The list itself."""
        return list(value)

    def read(self, row: EpisodeRow) -> QuestionEpisode:
        """Read one question; `completed` adds the content of the files next to it."""
        extra = row.get("extra_answers") or []
        if not isinstance(extra, list) or len(extra) > 100:
            raise ValueError(f"field 'extra_answers' is {short(extra)}; give a list of at most 100 texts")
        return QuestionEpisode(
            id=id_of(row, "question_id"),
            scene=text_of(row, "scene_id"),
            question=text_of(row, "question", lines=True),
            answer=text_of(row, "answer", lines=True),
            extra_answers=tuple(text_of({"extra_answers": one}, "extra_answers", lines=True) for one in extra),
            category=text_of(row, "category"),
            start=stance_of(row, "start"),
            hfov_deg=number_of(row, "hfov", 10.0, 170.0) if row.get("hfov") is not None else HFOV_DEG,
            height_m=eye_of(row),
        )

    def completed(self, found: FoundFiles, episodes: Iterator[QuestionEpisode]) -> Iterator[QuestionEpisode]:
        """Each question with what the files beside it say: reference length, blind answer, evidence."""
        values = {part: value for part, (_, value) in found.parts.items()}
        lengths, blind, evidence = (values.get(part, {}) for part in ("lengths", "blind", "evidence"))
        for episode in episodes:
            id = episode.id
            try:
                yield replace(
                    episode,
                    reference_m=number_of(lengths, id, 0.0, LONGEST_M) if id in lengths else None,
                    blind_answer=text_of(blind, id, lines=True) if id in blind else None,
                    evidence=tuple(whole_of({id: one}, id, 0, MAX_WHOLE) for one in evidence.get(id, ())),
                )
            except REFUSALS as error:
                text = f"a file beside the questions: {wrong(error)}"
                found.faults.append(EpisodeFault(self.kind, id, text))

    def lacks(self, world: WorldFacts) -> str | None:
        """It is about things that have names."""
        return lacks_names(world)

    def check(self, episodes: Sequence[QuestionEpisode], worlds: Worlds, *, decode: bool) -> EpisodeCheck:
        """Categories, lengths, and what the files do not say."""
        return EpisodeCheck(
            findings=tuple(_lacking(episodes)),
            means={"reference_m": spread(one.reference_m for one in episodes)},
            tallies={"categories": counted(one.category for one in episodes)},
        )


def write_questions(root: Path, episodes: Iterable[QuestionEpisode]) -> Path:
    """Write <root>/questions/questions.json, and by id reference lengths, blind answers and evidence, if any."""
    unique = distinct(episodes)
    folder = Path(root) / "questions"
    beside: Sequence[tuple[str, Mapping[str, Any]]] = (
        ("reference_lengths.json", {one.id: one.reference_m for one in unique if one.reference_m is not None}),
        ("blind_answers.json", {one.id: one.blind_answer for one in unique if one.blind_answer is not None}),
        ("evidence.json", {one.id: list(one.evidence) for one in unique if one.evidence}),
    )
    for name, content in beside:
        if content:
            put_json(folder / name, content)
        else:
            (folder / name).unlink(missing_ok=True)
    return put_json(folder / "questions.json", [_row(episode) for episode in unique])


def _row(episode: QuestionEpisode) -> dict[str, Any]:
    return {
        "question": episode.question,
        "answer": episode.answer,
        "category": episode.category,
        "question_id": episode.id,
        "episode_history": episode.scene,
        **({"extra_answers": list(episode.extra_answers)} if episode.extra_answers else {}),
        "scene_id": episode.scene,
        "hfov": episode.hfov_deg,
        **place_fields("start", episode.start),
        "camera_height": episode.height_m,
    }


def _lacking(asked: Sequence[QuestionEpisode]) -> Iterator[Finding]:
    for what, lacking, then in (
        ("reference length", [one.id for one in asked if not one.reference_m], "they have no SPL"),
        ("blind answer", [one.id for one in asked if one.blind_answer is None], "a missing answer then scores 0"),
    ):
        if lacking:
            yield Finding(
                "info", f"{len(lacking)} of {len(asked)} questions have no {what} (first: {lacking[0]}): {then}"
            )
    others = sorted({one.category for one in asked} - set(QUESTION_CATEGORIES))
    if others:
        yield Finding("info", f"{len(others)} categories of questions are none of the published (first: {others[0]})")
