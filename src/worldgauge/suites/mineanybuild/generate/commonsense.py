"""Questions of spatial commonsense about furnished rooms, with pictures to be drawn and answers in words.

    for question in commonsense(seed=7, count=50):
        question.question, question.answer, [scene.caption for scene in question.scenes]

The kind of task is MineAnyBuild's (section 2.2, D.2.5); rooms, questions and answers are ours. The answers follow from
the floor plan, and within each form every answer is right equally often, so none can be guessed from the question.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from worldgauge.core.errors import WorldError
from worldgauge.suites.mineanybuild.generate.room_plans import (
    STRAIGHT_ON,
    AskedQuestion,
    Form,
    RoomPlan,
    answered,
    belongs_in,
    drawn,
    free_run,
    from_door,
    misplaced,
    place_words,
    roomiest,
    wording,
)
from worldgauge.suites.mineanybuild.generate.rooms import (
    COMPASS,
    DESIGNS,
    KINDS,
    MISPLACED,
    SIDES,
    FurnishedRoom,
    Furniture,
    RoomView,
    turned,
    views,
)
from worldgauge.suites.mineanybuild.generate.yes_no_questions import USES, WAYS

_SHELF_BLOCKS = 4
_HINDERED = {
    "wardrobe": "its doors cannot be opened",
    "chest": "nobody can open it",
    "bookshelf": "nobody can reach the books",
    "stove": "nobody can cook at it",
    "refrigerator": "nobody can open it",
}
"""Pieces that are used from their front, and what comes of standing too close before them."""


def _others(kind: str, *names: str) -> list[str]:
    return [name for name in KINDS[kind] if name not in names]


def _kind_with(rng: np.random.Generator, *names: str) -> str:
    return drawn(rng, [kind for kind in KINDS if all(kind in DESIGNS[name].rooms for name in names)])


def _stage_door(rng: np.random.Generator, value: str) -> RoomPlan | None:
    """Furnished first, so that one thing only stands in the way."""
    plan = RoomPlan.empty(_kind_with(rng, value), rng)
    plan.furnish(rng.permutation(_others(plan.kind, value))[:4], rng)
    wide = DESIGNS[value].size()[0]
    front = drawn(rng, SIDES)
    corner = Furniture(value, plan.door.inside[0], turned(front, 2)).at(0, 0)
    shift = int(rng.integers(wide))
    right = COMPASS[turned(front, 3)]
    corner = corner[0] - shift * right[0], corner[1] - shift * right[1]
    return plan if plan.put(value, corner, front, force=True) else None


def _ask_door(room: FurnishedRoom, rng: np.random.Generator) -> AskedQuestion | None:
    piece = room.taken.get(room.door.inside[0])
    wall = roomiest(room, room.door.wall)
    if piece is None or len(free_run(room, wall)) < len(piece.before):
        return None
    words = {"name": piece.name, "door": room.door.wall, "wall": wall}
    return answered(wording(rng, "door"), "door", "piece", piece.name, **words)


def _stage_window(rng: np.random.Generator, value: str) -> RoomPlan | None:
    plan = RoomPlan.empty(_kind_with(rng, value), rng, sides=(8, 11))
    room = plan.room()
    first = room.along(plan.window.wall).index(plan.window.inside[0])
    wide = DESIGNS[value].size()[0]
    if not plan.by_wall(value, plan.window.wall, first - int(rng.integers(0, wide - 1)), force=True):
        return None
    plan.kept.update(plan.pieces[0].before)
    plan.furnish(rng.permutation(_others(plan.kind, value))[:4], rng)
    return plan


def _ask_window(room: FurnishedRoom, rng: np.random.Generator) -> AskedQuestion | None:
    before = {room.taken.get(cell) for cell in room.window.inside}
    piece = before.pop()
    wall = roomiest(room, room.window.wall)
    if before or piece is None or piece.height < 2 or len(free_run(room, wall)) < len(piece.before):
        return None
    words = {"name": piece.name, "window": room.window.wall, "wall": wall}
    return answered(wording(rng, "window"), "window", "piece", piece.name, **words)


def _stage_close(rng: np.random.Generator, value: str) -> RoomPlan | None:
    plan = RoomPlan.empty(_kind_with(rng, value), rng)
    if not plan.somewhere(value, rng):
        return None
    used = plan.pieces[0]
    other = drawn(
        rng, [name for name in ("bed", "table", "sofa", "chest", "plant") if plan.kind in DESIGNS[name].rooms]
    )
    front = drawn(rng, (used.front, turned(used.front, 1), turned(used.front, 2)))
    corners = [(x, z) for x in range(1, plan.width + 1) for z in range(1, plan.depth + 1)]
    entrance = set(plan.entrance)
    fitting = [
        corner
        for corner in corners
        if set(used.before) <= set((piece := Furniture(other, corner, front)).cells) and not entrance & set(piece.cells)
    ]
    if other == value or not fitting or not plan.put(other, drawn(rng, fitting), front, force=True):
        return None
    plan.furnish(rng.permutation(_others(plan.kind, value, other))[:3], rng)
    return plan


def _ask_close(room: FurnishedRoom, rng: np.random.Generator) -> AskedQuestion | None:
    pairs = [
        (piece, found)
        for piece in room.pieces
        # What stands before all of its front.
        if DESIGNS[piece.name].used and len(before := {room.taken.get(cell) for cell in piece.before}) == 1
        for found in before
        if found is not None
    ]
    if len(pairs) != 1 or pairs[0][0].name not in _HINDERED:
        return None
    used, other = pairs[0]
    dx, dz = COMPASS[used.front]
    if any(
        not room.within(cell) or room.taken.get(cell, other) is not other
        for cell in ((x + dx, z + dz) for x, z in other.cells)
    ):
        return None
    words = {"name": used.name, "other": other.name, "front": used.front, "hindered": _HINDERED[used.name]}
    return answered(wording(rng, "close"), "close", "piece", used.name, **words)


def _stage_misplaced(rng: np.random.Generator, value: str) -> RoomPlan | None:
    plan = RoomPlan.empty(drawn(rng, sorted(MISPLACED[value])), rng)
    if not plan.somewhere(value, rng):
        return None
    plan.furnish(rng.permutation(KINDS[plan.kind]), rng)
    return plan if len(plan.pieces) > 3 else None


def _ask_misplaced(room: FurnishedRoom, rng: np.random.Generator) -> AskedQuestion | None:
    wrong = misplaced(room)
    if len(wrong) != 1 or room.kind not in MISPLACED.get(wrong[0].name, ()):
        return None
    name = wrong[0].name
    words = {"name": name, "where": place_words(room, wrong[0]), "home": belongs_in(name), "kind": room.kind}
    return answered(wording(rng, "misplaced", kind=room.kind), "misplaced", "piece", name, **words)


_NEARER = ("first", "second")


def _stage_nearer(rng: np.random.Generator, value: str) -> RoomPlan | None:
    plan = RoomPlan.empty(drawn(rng, sorted(KINDS)), rng, sides=(8, 11))
    plan.furnish(rng.permutation(KINDS[plan.kind]), rng, most=5)
    return plan if len(plan.pieces) >= 3 else None


def _ask_nearer(room: FurnishedRoom, rng: np.random.Generator) -> AskedQuestion | None:
    pieces = [room.pieces[int(n)] for n in rng.permutation(len(room.pieces))[:2]]
    ways = [min(math.dist(cell, room.door.inside[0]) for cell in piece.cells) for piece in pieces]
    near, far = pieces if ways[0] < ways[1] else pieces[::-1]
    if max(ways) < 2 * min(ways) + 1.5 or min(ways) > 3:
        return None
    places = {"near_place": place_words(room, near), "far_place": place_words(room, far)}
    if places["near_place"] == places["far_place"]:
        return None
    question = wording(rng, "nearer", first=pieces[0].name, second=pieces[1].name)
    words = {"near": near.name, "far": far.name, "door": room.door.wall, **places}
    return answered(question, "nearer", "piece", _NEARER[near is not pieces[0]], **words)


def _stage_shelf(rng: np.random.Generator, value: str) -> RoomPlan | None:
    """All walls but one are filled up."""
    kind = drawn(rng, ("library", "bedroom", "living room", "study"))
    window = drawn(rng, [side for side in SIDES if side != value])
    door = drawn(rng, [side for side in SIDES if side not in (value, window)])
    plan = RoomPlan.empty(kind, rng, door=door, window=window, sides=(7, 9))
    for wall in (str(side) for side in rng.permutation([side for side in SIDES if side != value])):
        for _ in range(6):
            run = free_run(plan.room(), wall)
            if len(run) < _SHELF_BLOCKS:
                break
            name = drawn(rng, KINDS[kind])
            spare = len(run) - DESIGNS[name].size()[0]
            if spare >= 0:
                start = plan.room().along(wall).index(run[0])
                plan.by_wall(name, wall, start + int(rng.integers(spare + 1)))
    return plan


def _ask_shelf(room: FurnishedRoom, rng: np.random.Generator) -> AskedQuestion | None:
    runs = {wall: len(free_run(room, wall)) for wall in SIDES}
    free = [wall for wall in SIDES if runs[wall] >= _SHELF_BLOCKS]
    if len(free) != 1:
        return None
    question = wording(rng, "shelf", blocks=_SHELF_BLOCKS)
    return answered(question, "shelf", "wall", free[0], wall=free[0], free=runs[free[0]])


_WAYS = ("left", "right", STRAIGHT_ON)


def _ask_turn(room: FurnishedRoom, rng: np.random.Generator) -> AskedQuestion | None:
    piece = drawn(rng, room.pieces)
    ahead, right = from_door(room, piece.centre)
    angle = math.degrees(math.atan2(abs(right), ahead))
    if 12 < angle < 35 or angle > 85:
        return None
    side = STRAIGHT_ON if angle <= 12 else "right" if right > 0 else "left"
    words = {"name": piece.name, "side": side, "ahead": room.door.inward, "where": place_words(room, piece)}
    answer = "straight" if side == STRAIGHT_ON else "aside"
    return answered(wording(rng, "turn", **words), "turn", answer, side, **words)


_HANDS = ("left", "right")


def _stage_bed(rng: np.random.Generator, value: str) -> RoomPlan | None:
    plan = RoomPlan.empty("bedroom", rng)
    plan.furnish(["bed", *rng.permutation(_others("bedroom", "bed"))[:4]], rng)
    return plan if plan.pieces[:1] and plan.pieces[0].name == "bed" else None


def _ask_bed(room: FurnishedRoom, rng: np.random.Generator) -> AskedQuestion | None:
    front, wall = room.piece("bed").front, room.window.wall
    if wall not in (turned(front, 1), turned(front, 3)):
        return None
    side = "right" if wall == turned(front, 1) else "left"
    words = {"side": side, "back": turned(front, 2), "front": front, "wall": wall}
    return answered(wording(rng, "bed"), "bed", "hand", side, **words)


PLACES = (
    Form(
        "door", "path planning", ("chest", "plant", "bookshelf", "sofa", "table", "workbench"), _stage_door, _ask_door
    ),
    Form("window", "furniture placement", ("wardrobe", "bookshelf", "piano", "television"), _stage_window, _ask_window),
    Form("close", "proximity", tuple(_HINDERED), _stage_close, _ask_close),
    Form("misplaced", "object placement", tuple(MISPLACED), _stage_misplaced, _ask_misplaced),
    Form("nearer", "proximity", _NEARER, _stage_nearer, _ask_nearer),
    Form("shelf", "inclusion", SIDES, _stage_shelf, _ask_shelf),
    Form("turn", "direction", _WAYS, _stage_nearer, _ask_turn),
    Form("bed", "direction", _HANDS, _stage_bed, _ask_bed),
)


FORMS: tuple[Form, ...] = (*WAYS, *USES, *PLACES)
MOST_WORDS = 70
"""Most words of an answer (appendix E.1)."""
_DRAFTS = 400


@dataclass(frozen=True)
class RoomQuestion:
    """One question; `facts` are a full answer's content by kind of fact, `value` is the form's right answer."""

    id: str
    question: str
    answer: str
    facts: Mapping[str, str]
    form: str
    sense: str
    value: str
    env: str
    room: FurnishedRoom

    @property
    def views(self) -> tuple[RoomView, ...]:
        """Its images: from the door, and from above."""
        return views(self.room)


def commonsense(seed: int, count: int = 50) -> Iterator[RoomQuestion]:
    """Make questions, each about another room, forms in turn; the first n are the same for every larger count."""
    for number in range(count):
        form = FORMS[number % len(FORMS)]
        value = _value(form, seed, number)
        rng = np.random.default_rng([seed, number])
        room, asked = _found(form, value, rng)
        yield RoomQuestion(
            f"TSK_SC_{number + 1:04d}",
            asked.question,
            asked.answer,
            dict(asked.facts),
            form.name,
            form.sense,
            value,
            room.kind,
            room,
        )


def _value(form: Form, seed: int, number: int) -> str:
    """Answers in turn, each form from another one on, so that yes and no come equally often at every count."""
    place = FORMS.index(form)
    turn = number // len(FORMS)
    order = np.random.default_rng([seed, 1_000_003, place // 2, turn // len(form.values)]).permutation(len(form.values))
    return form.values[int(order[(turn + place) % len(form.values)])]


def _found(form: Form, value: str, rng: np.random.Generator) -> tuple[FurnishedRoom, AskedQuestion]:
    for _ in range(_DRAFTS):
        plan = form.stage(rng, value)
        if plan is None:
            continue
        plan.lay_rug(rng)
        room = plan.room()
        asked = form.ask(room, rng)
        if asked is not None and asked.value == value:
            return room, asked
    raise WorldError(
        f"no room for the question '{form.name}' with the answer '{value}' in {_DRAFTS} drafts; use another seed"
    )
