"""Questions about a home or a scan that cannot be answered from where they are asked, with exact answers.

    questions = ask_questions(home, Level(home.floor), home.objects, rng, 4)
    questions[0].question, questions[0].answer, questions[0].start, questions[0].reference_m

Made from its list of objects, in the seven categories of World-in-World, section 5.3. A question is kept if it
has one right answer in this place, other than the guess without looking, its evidence is out of sight at the start, and
the evidence can be walked to and seen.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from worldgauge.core import geometry
from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.engine.collect import plain_facts
from worldgauge.engine.options import option
from worldgauge.suites.worldinworld.format.contract import MOST_EPISODES, EpisodeFacts, Progress, Share
from worldgauge.suites.worldinworld.format.rows import as_stored
from worldgauge.suites.worldinworld.home_env import things_of
from worldgauge.suites.worldinworld.questions.format import QuestionEpisode, QuestionFormat, write_questions
from worldgauge.suites.worldinworld.questions.forms import CATEGORIES, QuestionAnswer, QuestionForm, Slots, answerable
from worldgauge.suites.worldinworld.questions.habits import blind_answer
from worldgauge.suites.worldinworld.questions.templates import FORMS, OF_BOXES, read_question
from worldgauge.suites.worldinworld.sampling import HomeSearch, PlaceSampler, by_number
from worldgauge.suites.worldinworld.task import closed_loop_tasks
from worldgauge.worlds import World, open_world
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import SPLITS, scene_name, world_of
from worldgauge.worlds.indoor.homes import HomeObject as Known
from worldgauge.worlds.walking.floor import Walkable
from worldgauge.worlds.walking.ground import Ground, Level
from worldgauge.worlds.walking.primitives import EYE_HEIGHT_M, Stance

HFOV_DEG = 105.0
"""Horizontal field of view of each of the four views."""
SEEN_SHARE = 0.001
"""Least share of the pixels of such a view at which an object counts as seen: 172 of 448x384."""
HIDDEN_SHARE = 0.0001
"""The evidence covers less than this share of the view at the start."""
LEAST_M = 2.0
"""Least path length to where the evidence is seen."""
_STARTS, _DRAFTS = 12, 6
"""Starts tried per question, and questions tried per category in one pass."""
_EVERY_M = 0.25
_LOOK = Camera.from_horizontal_fov(168, 144, HFOV_DEG)


@dataclass(frozen=True)
class HomeQuestion:
    """One question about a home; `reference_m` is the shortest path to the evidence, without a search's detours."""

    question: str
    answer: str
    extra_answers: tuple[str, ...]
    category: str
    form: str
    start: Stance
    hfov_deg: float
    reference_m: float
    blind_answer: str
    evidence: tuple[int, ...]


def ask_questions(
    world: World,
    ground: Ground,
    objects: Sequence[Known],
    rng: np.random.Generator,
    n: int,
    *,
    forms: Sequence[QuestionForm] = FORMS,
    guessed: bool = False,
    discards: Counter[str] | None = None,
) -> list[HomeQuestion]:
    """Draw questions about a place, no two alike, from the categories of their forms in turn."""
    place = _Place(world, ground, {one.instance: one for one in objects})
    categories = [category for category in CATEGORIES if any(form.category == category for form in forms)]
    found: list[HomeQuestion] = []
    reasons: Counter[str] = Counter() if discards is None else discards
    asked: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
    order = [categories[int(k)] for k in rng.permutation(len(categories))]
    passes = 0
    while len(found) < n and passes < 3 * len(CATEGORIES):
        category = order[passes % len(order)]
        passes += 1
        for form, slots, answer in _drafts(objects, [form for form in forms if form.category == category], rng):
            key = form.name, tuple(sorted(slots.items()))
            is_known = key in asked
            is_guessed = not guessed and blind_answer(form, slots) in (answer.text, *answer.extra)
            asked.add(key)
            if is_known:
                continue
            question = "a guess answers the question" if is_guessed else _posed(place, rng, form, slots, answer)
            if isinstance(question, HomeQuestion):
                found.append(question)
                break
            reasons[question] += 1
    if not asked:
        reasons["no question fits the names and boxes of its things"] += 1
    return found


class _Place(NamedTuple):
    world: World
    ground: Ground
    things: Mapping[int, Known]


def _drafts(
    objects: Sequence[Known], forms: Sequence[QuestionForm], rng: np.random.Generator
) -> Iterator[tuple[QuestionForm, Slots, QuestionAnswer]]:
    """Draw questions of some forms: first the form, then the answer, then the question that has it."""
    able: dict[str, dict[str, list[tuple[Slots, QuestionAnswer]]]] = {}
    for _ in range(_DRAFTS):
        form = forms[int(rng.integers(len(forms)))]
        if form.name not in able:
            able[form.name] = answerable(form, objects)
        answers = able[form.name]
        if not answers:
            continue
        text = sorted(answers)[int(rng.integers(len(answers)))]
        slots, answer = answers[text][int(rng.integers(len(answers[text])))]
        yield form, slots, answer


def _posed(
    place: _Place, rng: np.random.Generator, form: QuestionForm, slots: Slots, answer: QuestionAnswer
) -> HomeQuestion | str:
    """Return the question with a start, or why there is none."""
    question = form.worded(slots, int(rng.integers(len(form.phrasings))))
    question = question[0].upper() + question[1:]
    read = read_question(question)
    if read is None or read[0] is not form or dict(read[1]) != dict(slots):
        return "the words of the question are read in another way"
    for _ in range(_STARTS):
        x, y, z = (float(c) for c in place.ground.random_point(rng))
        start = Stance(x, y, float(rng.uniform(-math.pi, math.pi)), z)
        if any(seen_share(place.world, start, place.things[n]) >= HIDDEN_SHARE for n in answer.evidence):
            continue
        reference_m = _reference_m(place, start, answer)
        if reference_m is None or reference_m < LEAST_M:
            continue
        blind = blind_answer(form, slots)
        return HomeQuestion(
            *(question, answer.text, answer.extra, form.category, form.name, start, HFOV_DEG),
            *(round(reference_m, 3), blind, answer.evidence),
        )
    return "no start from which the things are hidden, and from which a way leads to where they are seen"


def seen_share(world: World, stance: Stance, thing: Known) -> float:
    """Measure how much of a view shows an object: share of the pixels of a view of HFOV_DEG, in [0, 1]."""
    x, y = ((thing.low[n] + thing.high[n]) / 2 for n in range(2))
    facing = stance._replace(yaw=math.atan2(y - stance.y, x - stance.x))
    return float((world.view(facing.eye(EYE_HEIGHT_M), _LOOK).instance == thing.instance).mean())


def _reference_m(place: _Place, start: Stance, answer: QuestionAnswer) -> float | None:
    """Return metres along the shortest path to the evidence until enough of it was seen; None if it never is."""
    ways = [path for path in (_way(place.ground, start, place.things[n]) for n in answer.evidence) if path is not None]
    if not ways:
        return None
    way = min(ways, key=geometry.length) if answer.any_of else ways[0]
    metres = geometry.length(way)
    unseen = set(answer.evidence)
    places = geometry.at(way, np.linspace(0.0, metres, max(math.ceil(metres / _EVERY_M) + 1, 2)))
    for n, (x, y, z) in enumerate(places.tolist()):
        here = Stance(x, y, 0.0, z)
        seen = {number for number in unseen if seen_share(place.world, here, place.things[number]) >= SEEN_SHARE}
        unseen -= seen
        if not unseen or (answer.any_of and seen):
            return metres * n / (len(places) - 1)
    return None


def _way(ground: Ground, start: Stance, thing: Known) -> FloatArray | None:
    middle = [(thing.low[n] + thing.high[n]) / 2 for n in range(2)]
    try:
        return ground.path(start.at, ground.nearest([*middle, thing.low[2]]))
    except WorldError:
        return None


TRIES = 40
"""Homes that are looked at for one with enough rooms; every second one has seven or more, one in five has nine."""


@dataclass(frozen=True)
class QuestionOptions:
    """Options of a collection."""

    questions: int = option(
        QuestionFormat.published, "Episodes of question answering: explore, then answer.", low=0, high=MOST_EPISODES
    )
    question_rooms: int = option(7, "Minimum number of rooms per home for questions. Homes have 5-9.", low=1, high=9)
    guessed_questions: bool = option(False, "Include questions that the most frequent answer would solve.")


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
        limits: dict[str, Any] = {"forms": OF_BOXES, "guessed": guessed, "discards": search.discards}
        for one in ask_questions(world, search.ground, things_of(world), rng, count, **limits):
            yield {"scene": share.scene, **_plain(one)}

    def publish(self, out: Path, found: Sequence[tuple[Share, EpisodeFacts]]) -> None:
        """See `write_questions`."""
        names = ("scene", "question", "answer", "category", "hfov_deg", "reference_m", "blind_answer")
        episodes = [
            QuestionEpisode(
                id=self.id_form.format(facts["number"]),
                start=Stance(*facts["start"]),
                extra_answers=tuple(facts["extra_answers"]),
                evidence=tuple(facts["evidence"]),
                **{name: facts[name] for name in names},
            )
            for _, facts in by_number(found)
        ]
        write_questions(out, episodes)


@dataclass(frozen=True)
class QuestionShare:
    """The questions that are to be asked about one home: the first of its own homes that has enough rooms."""

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
    return {**vars(one), "start": as_stored(one.start).plain}
