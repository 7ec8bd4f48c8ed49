"""Collecting embodied questions in homes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldgauge.engine.options import option
from worldgauge.suites.closedloop.format.coordinates import as_stored
from worldgauge.suites.closedloop.questions.format import QuestionEpisode, QuestionFormat, write_questions
from worldgauge.suites.closedloop.questions.generate.episodes import ask_questions
from worldgauge.suites.closedloop.sampling.contract import MOST_EPISODES, EpisodeFacts, Share
from worldgauge.suites.closedloop.sampling.home import HomeSampler, HomeSearch, by_number
from worldgauge.worlds.walking.stance import Stance


@dataclass(frozen=True)
class QuestionOptions:
    """Options of a collection."""

    questions: int = option(
        QuestionFormat.published, "Episodes of question answering: walk about and answer.", low=0, high=MOST_EPISODES
    )


class QuestionSampler(HomeSampler):
    """Collects them."""

    kind, Options, id_form = "questions", QuestionOptions, "question-{:04d}"

    def search(self, search: HomeSearch) -> Iterator[dict[str, Any]]:
        """Questions of all categories that have one right answer in this home."""
        rng, many = search.share.rng(self.kind), search.share.counts[self.kind]
        for one in ask_questions(search.home, search.geodesic, rng, many):
            yield {
                "question": one.question,
                "answer": one.answer,
                "extra_answers": list(one.extra),
                "category": one.category,
                "form": one.form,
                "start": list(as_stored(one.start)),
                "hfov_deg": one.hfov_deg,
                "reference_m": one.reference_m,
                "blind_answer": one.blind,
                "evidence": list(one.evidence),
            }

    def publish(self, out: Path, found: Sequence[tuple[Share, EpisodeFacts]]) -> None:
        """See `write_questions`."""
        write_questions(
            out,
            [
                QuestionEpisode(
                    id=self.id_of(facts),
                    scene=share.scene,
                    question=facts["question"],
                    answer=facts["answer"],
                    extra_answers=tuple(facts["extra_answers"]),
                    category=facts["category"],
                    start=Stance(*facts["start"]),
                    hfov_deg=facts["hfov_deg"],
                    reference_m=facts["reference_m"],
                    blind_answer=facts["blind_answer"],
                    evidence=tuple(facts["evidence"]),
                )
                for share, facts in by_number(found)
            ],
        )
