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
from typing import NamedTuple

import numpy as np

from worldgauge.core import polyline
from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.suites.closedloop.questions.generate.forms import (
    CATEGORIES,
    QuestionAnswer,
    QuestionForm,
    Slots,
    answerable,
)
from worldgauge.suites.closedloop.questions.generate.habits import blind_answer
from worldgauge.suites.closedloop.questions.generate.templates import FORMS, read_question
from worldgauge.worlds import World
from worldgauge.worlds.indoor.homes import HomeObject as Known
from worldgauge.worlds.walking.ground import Ground
from worldgauge.worlds.walking.stance import EYE_HEIGHT_M, Stance

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
    """One question about a home.

    Attributes:
        question: The question.
        answer: The right answer.
        extra: Other right answers.
        category: One of CATEGORIES.
        form: Name of its form, see `templates.FORMS`.
        start: Where the walker stands when it is asked.
        hfov_deg: Horizontal field of view of each of the four views.
        reference_m: Metres of the shortest path from `start` to where the evidence has been seen: without the detours
            of a search, so shorter than published explorations.
        blind: The likely answer without looking.
        evidence: Numbers of the objects that the answer rests on.
    """

    question: str
    answer: str
    extra: tuple[str, ...]
    category: str
    form: str
    start: Stance
    hfov_deg: float
    reference_m: float
    blind: str
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
    """Draw questions about a place, no two alike, from the categories of their forms in turn.

    Args:
        world: The home, or the scan.
        ground: Its ground.
        objects: What is known of its things.
        rng: Same place, same generator, same questions.
        n: Most questions.
        forms: Their forms.
        guessed: Whether questions are kept that a guess without looking answers.
        discards: Counts why drafts were thrown away, if given.

    Returns:
        Up to n questions; fewer if the place does not give more.
    """
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
    """Measure how much of a view shows an object.

    Args:
        world: The home, or the scan.
        stance: Where the walker stands; it is turned to the object.
        thing: The object.

    Returns:
        Share of the pixels of a view of HFOV_DEG, in [0, 1].
    """
    x, y = ((thing.low[n] + thing.high[n]) / 2 for n in range(2))
    facing = stance._replace(yaw=math.atan2(y - stance.y, x - stance.x))
    return float((world.view(facing.eye(EYE_HEIGHT_M), _LOOK).instance == thing.instance).mean())


def _reference_m(place: _Place, start: Stance, answer: QuestionAnswer) -> float | None:
    """Return metres along the shortest path to the evidence until enough of it was seen; None if it never is."""
    ways = [path for path in (_way(place.ground, start, place.things[n]) for n in answer.evidence) if path is not None]
    if not ways:
        return None
    way = min(ways, key=polyline.length) if answer.any_of else ways[0]
    metres = polyline.length(way)
    unseen = set(answer.evidence)
    places = polyline.at(way, np.linspace(0.0, metres, max(math.ceil(metres / _EVERY_M) + 1, 2)))
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
