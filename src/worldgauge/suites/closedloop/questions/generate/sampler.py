"""Collecting embodied questions in homes and scans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from worldgauge.engine.collection.kernel import plain_facts
from worldgauge.engine.options import option
from worldgauge.suites.closedloop.format.coordinates import as_stored
from worldgauge.suites.closedloop.home.env import things_of
from worldgauge.suites.closedloop.questions.format import QuestionEpisode, QuestionFormat, write_questions
from worldgauge.suites.closedloop.questions.generate.episodes import HomeQuestion, ask_questions
from worldgauge.suites.closedloop.questions.generate.templates import OF_BOXES
from worldgauge.suites.closedloop.sampling.contract import MOST_EPISODES, EpisodeFacts, Progress, Share
from worldgauge.suites.closedloop.sampling.home import HomeSearch, PlaceSampler, by_number
from worldgauge.suites.closedloop.task import closed_loop_tasks
from worldgauge.worlds import open_world
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.splits import SPLITS, scene_name, world_of
from worldgauge.worlds.walking.floor import Walkable
from worldgauge.worlds.walking.ground import Level
from worldgauge.worlds.walking.stance import Stance

TRIES = 40
"""Homes that are looked at for one with enough rooms; every second one has seven or more, one in five has nine."""


@dataclass(frozen=True)
class QuestionOptions:
    """Options of a collection."""

    questions: int = option(
        QuestionFormat.published, "Episodes of question answering: walk about and answer.", low=0, high=MOST_EPISODES
    )
    question_rooms: int = option(
        7, "Least number of rooms of a home that questions are asked about. Homes have five to nine.", low=1, high=9
    )
    guessed_questions: bool = option(False, "Also ask questions that the most frequent answer answers.")


class QuestionSampler(PlaceSampler):
    """Collects them: one part for each home with enough rooms, or in scans of what follows from names and boxes."""

    kind, Options, id_form, in_scans = "questions", QuestionOptions, "question-{:04d}", True

    def shares(self, settings: Mapping[str, Any]) -> Iterator[QuestionShare]:
        """Those of all homes that have any questions: question k is in part k mod the number of homes."""
        for part in range(settings["scenes"]):
            count = len(range(part, settings[self.kind], settings["scenes"]))
            if count:
                yield QuestionShare(part, settings["scenes"], settings["split"], settings["seed"], count)

    def search(self, search: HomeSearch) -> Iterator[dict[str, Any]]:
        """Questions about a scan."""
        share, world = search.share, cast(Walkable, search.world)
        rng, count = share.rng(self.kind), share.counts[self.kind]
        guessed = search.settings["guessed_questions"]
        asked = ask_questions(
            world,
            search.ground,
            things_of(world),
            rng,
            count,
            forms=OF_BOXES,
            guessed=guessed,
            discards=search.discards,
        )
        for one in asked:
            yield {"scene": share.scene, **_plain(one)}

    def publish(self, out: Path, found: Sequence[tuple[Share, EpisodeFacts]]) -> None:
        """See `write_questions`."""
        write_questions(
            out,
            [
                QuestionEpisode(
                    id=self.id_form.format(facts["number"]),
                    scene=facts["scene"],
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
                for _, facts in by_number(found)
            ],
        )


@dataclass(frozen=True)
class QuestionShare:
    """The questions that are to be asked about one home: the first of its own homes that has enough rooms.

    Attributes:
        part: Its number. Its homes are those of the split with this number, and every `parts` after it.
        parts: Number of parts.
        split: Split of the homes.
        seed: Seed of the collection.
        count: Number of questions.
    """

    part: int
    parts: int
    split: str
    seed: int
    count: int

    @property
    def scene(self) -> str:
        """The name of the part."""
        return f"questions-{self.part:04d}"

    @property
    def counts(self) -> Mapping[str, int]:
        """Questions."""
        return {QuestionSampler.kind: self.count}

    def find(self, out: Path, settings: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
        """All questions of the home; those not found are missing."""
        discards: Counter[str] = Counter()
        for number in range(self.part, self.part + TRIES * self.parts, self.parts):
            scene = scene_name(self.split, number)
            home = cast(Home, open_world(world_of(scene)))
            if len(home.plan.rooms) >= settings["question_rooms"]:
                break
            discards["the home has too few rooms"] += 1
        else:
            return self._part({}, [], discards)
        place = closed_loop_tasks.get(QuestionSampler.kind).order - 1
        rng = np.random.default_rng([self.seed, SPLITS.index(self.split), number, place])
        guessed = settings["guessed_questions"]
        asked = ask_questions(home, Level(home.floor), home.objects, rng, self.count, guessed=guessed)
        progress(len(asked), self.count)
        numbered = enumerate(asked)
        rows = [{"number": self.part + k * self.parts, "scene": scene, **_plain(one)} for k, one in numbered]
        return self._part({scene: plain_facts(home.facts)}, rows, discards)

    def _part(
        self, worlds: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], discards: Counter[str]
    ) -> dict[str, Any]:
        short = f"only {len(rows)} of {self.count} questions found" if len(rows) < self.count else None
        return {
            "asked": dict(self.counts),
            "worlds": worlds,
            "episodes": {QuestionSampler.kind: rows},
            "discards": dict(discards),
            "failure": short,
        }


def _plain(one: HomeQuestion) -> dict[str, Any]:
    return {
        "question": one.question,
        "answer": one.answer,
        "extra_answers": list(one.extra),
        "category": one.category,
        "form": one.form,
        "start": as_stored(one.start).plain,
        "hfov_deg": one.hfov_deg,
        "reference_m": one.reference_m,
        "blind_answer": one.blind,
        "evidence": list(one.evidence),
    }
