"""Questions about rooms that are answered by yes or no: ways, gaps, what is left of what, and use of furniture."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldgauge.suites.mineanybuild.generate.room_plans import (
    YES_NO,
    AskedQuestion,
    Form,
    RoomPlan,
    answered,
    belongs_in,
    drawn,
    from_door,
    gap,
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
    Cell,
    FurnishedRoom,
    Furniture,
    turned,
)

_MOVED = ("sofa", "bookshelf", "piano", "television")
"""Pieces that are asked about whether they fit a gap."""


def _stage_way(rng: np.random.Generator, value: str) -> RoomPlan | None:
    """A row of bookshelves across the room, with a gap or without."""
    plan = RoomPlan.empty(drawn(rng, ("bedroom", "living room", "study")), rng, sides=(8, 11))
    goals = [name for name in KINDS[plan.kind] if name not in ("bookshelf", "lamp", "plant")]
    if not plan.somewhere(drawn(rng, goals), rng, walls=(plan.door.inward,)):
        return None
    room, back, inward = plan.room(), plan.door.wall, COMPASS[plan.door.inward]
    ahead = int(rng.integers(3, room.long(turned(back, 1)) - 3))
    row = [(x + ahead * inward[0], z + ahead * inward[1]) for x, z in room.along(back)]
    plan.kept.update(row)
    plan.furnish([name for name in rng.permutation(KINDS[plan.kind])[:5] if name != "bookshelf"], rng)
    left_out = int(rng.integers(len(row))) if value == "yes" else len(row)
    for stretch in filter(None, (row[:left_out], row[left_out + 1 :])):
        first = stretch[-1] if turned(back, 3) in ("north", "west") else stretch[0]
        if not plan.put("bookshelf", first, back, width=len(stretch), force=True):
            return None
    return plan


def _ask_way(room: FurnishedRoom, rng: np.random.Generator) -> AskedQuestion | None:
    goal = room.pieces[0]
    shelves = [cell for piece in room.pieces if piece.name == "bookshelf" for cell in piece.cells]
    across = COMPASS[turned(room.door.inward, 1)]
    ends = ("west", "east") if across[0] else ("north", "south")
    row = _row_of(room, shelves[0], ends)
    gaps = [n for n, cell in enumerate(row) if cell not in room.taken]
    words: dict[str, Any] = {"goal": goal.name, "ends": ends, "ahead": room.door.inward}
    question = wording(rng, "way", **words)
    if not room.is_reached(goal):
        return None if gaps else answered(question, "way", "no", **words)
    if len(gaps) != 1:
        return None
    part = gaps[0] / (len(row) - 1)
    where = "in the middle" if 0.35 < part < 0.65 else f"towards the {ends[part > 0.5]} wall"
    return answered(question, "way", "yes", where=where, **words)


def _row_of(room: FurnishedRoom, cell: Cell, ends: tuple[str, str]) -> list[Cell]:
    if ends[0] == "west":
        return [(x, cell[1]) for x in range(1, room.width + 1)]
    return [(cell[0], z) for z in range(1, room.depth + 1)]


def _stage_centre(rng: np.random.Generator, value: str) -> RoomPlan | None:
    plan = RoomPlan.empty(drawn(rng, ("dining room", "kitchen")), rng, sides=(8, 11))
    front = drawn(rng, ("south", "east"))
    room = plan.room()
    corners = [
        (x, z)
        for x in range(1, plan.width + 1)
        for z in range(1, plan.depth + 1)
        if _offset(room, Furniture("table", (x, z), front))[1] == value
    ]
    if not corners or not plan.put("table", drawn(rng, corners), front, force=True):
        return None
    plan.furnish(KINDS[plan.kind], rng)
    return plan


def _offset(room: FurnishedRoom, table: Furniture) -> tuple[str, str]:
    """Towards which side a table stands off the middle, and whether it is in the middle; "" where in doubt."""
    x, z = table.centre
    off = {"east": x - room.width / 2 - 1, "south": z - room.depth / 2 - 1}
    off.update(west=-off["east"], north=-off["south"])
    side = max(SIDES, key=lambda one: off[one])
    if off[side] <= 0.5:
        return side, "yes"
    rest = max(value for one, value in off.items() if one not in (side, turned(side, 2)))
    return side, "no" if off[side] >= 1.5 and rest <= 0.5 else ""


def _ask_centre(room: FurnishedRoom, rng: np.random.Generator) -> AskedQuestion | None:
    side, value = _offset(room, room.piece("table"))
    question = wording(rng, "centre")
    return answered(question, "centre", value, side=side, other=turned(side, 2)) if value else None


def _stage_gap(rng: np.random.Generator, value: str) -> RoomPlan | None:
    plan = RoomPlan.empty("living room", rng, sides=(8, 11))
    moved, *others = (str(name) for name in rng.permutation(_MOVED))
    wall = drawn(rng, [side for side in SIDES if side not in (plan.door.wall, plan.window.wall)])
    beside = ["plant", "lamp", *others[:1]]
    a, b = (str(name) for name in rng.permutation(beside)[:2])
    wide = DESIGNS[moved].size()[0]
    between = int(rng.integers(wide, wide + 2) if value == "yes" else rng.integers(1, wide))
    first, second = DESIGNS[a].size()[0], DESIGNS[b].size()[0]
    spare = plan.room().long(wall) - first - between - second
    if spare < 0:
        return None
    start = int(rng.integers(spare + 1))
    if not plan.by_wall(a, wall, start) or not plan.by_wall(b, wall, start + first + between):
        return None
    plan.kept.update(plan.room().along(wall))
    if not plan.somewhere(moved, rng):
        return None
    plan.furnish(KINDS[plan.kind], rng)
    return plan


def _ask_gap(room: FurnishedRoom, rng: np.random.Generator) -> AskedQuestion | None:
    a, b, moved = room.pieces[:3]
    wall = turned(a.front, 2)
    cells = room.along(wall)
    places = sorted(n for n, cell in enumerate(cells) if room.taken.get(cell) in (a, b))
    free = sum(1 for n in range(places[0], places[-1]) if cells[n] not in room.taken)
    wide = len(moved.before)
    words: dict[str, Any] = {"moved": moved.name, "a": a.name, "b": b.name, "wall": wall, "wide": wide, "free": free}
    return answered(wording(rng, "gap", **words), "gap", "yes" if free >= wide else "no", **words)


def _stage_left(rng: np.random.Generator, value: str) -> RoomPlan | None:
    kind = drawn(rng, ("bedroom", "kitchen", "living room", "study"))
    plan = RoomPlan.empty(kind, rng, sides=(8, 11))
    names = [str(name) for name in rng.permutation([name for name in KINDS[kind] if name != "table"])[:3]]
    wides = [DESIGNS[name].size()[0] for name in names]
    spare = plan.room().long(plan.door.inward) - sum(wides)
    if spare < 2:
        return None
    spaces = [1, 1] if spare < 4 else [int(n) for n in rng.integers(1, spare // 2 + 1, 2)]
    offset = int(rng.integers(spare - sum(spaces) + 1))
    for name, wide, space in zip(names, wides, [*spaces, 0], strict=True):
        if not plan.by_wall(name, plan.door.inward, offset):
            return None
        offset += wide + space
    plan.kept.update(plan.room().along(plan.door.inward))
    plan.furnish([name for name in KINDS[kind] if name != "table"], rng)
    return plan


def _ask_left(room: FurnishedRoom, rng: np.random.Generator) -> AskedQuestion | None:
    """Three pieces in a row: one is said to stand left of another, and asked about is the third."""
    order = sorted(room.pieces[:3], key=lambda piece: from_door(room, piece.centre)[1])
    a, b, c = drawn(rng, ((0, 1, 2), (0, 2, 1), (1, 2, 0)) if rng.random() < 0.5 else ((1, 2, 0),))
    names = [piece.name for piece in order]
    words: dict[str, Any] = {"first": names[a], "second": names[b], "third": names[c], "order": names}
    return answered(wording(rng, "left", **words), "left", "yes" if a < c else "no", **words)


WAYS = (
    Form("way", "path planning", YES_NO, _stage_way, _ask_way),
    Form("centre", "proximity", YES_NO, _stage_centre, _ask_centre),
    Form("gap", "inclusion", YES_NO, _stage_gap, _ask_gap),
    Form("left", "transitivity", YES_NO, _stage_left, _ask_left),
)


def _stage_light(rng: np.random.Generator, value: str) -> RoomPlan | None:
    plan = RoomPlan.empty(drawn(rng, ("study", "library", "bedroom")), rng, sides=(8, 11))
    if not plan.somewhere("desk", rng) or not plan.somewhere("lamp", rng):
        return None
    plan.furnish(rng.permutation(KINDS[plan.kind])[:4], rng)
    return plan


def _ask_light(room: FurnishedRoom, rng: np.random.Generator) -> AskedQuestion | None:
    desk, lamp = room.piece("desk"), room.piece("lamp")
    between = gap(desk.cells, lamp.cells)
    question = wording(rng, "light")
    if 1 < between < 4:
        return None
    places = {"where": place_words(room, lamp), "desk": place_words(room, desk)}
    return answered(question, "light", "yes" if between <= 1 else "no", **places)


def _stage_chair(rng: np.random.Generator, value: str) -> RoomPlan | None:
    plan = RoomPlan.empty(drawn(rng, ("study", "bedroom", "library")), rng)
    if not plan.somewhere("desk", rng):
        return None
    desk = plan.pieces[0]
    front = turned(desk.front, 2) if value == "yes" else turned(desk.front, int(rng.integers(-1, 2)))
    if not plan.put("chair", desk.before[1], front, force=True):
        return None
    plan.furnish(rng.permutation(KINDS[plan.kind]), rng)
    return plan


def _ask_chair(room: FurnishedRoom, rng: np.random.Generator) -> AskedQuestion | None:
    desk, chair = room.piece("desk"), room.piece("chair")
    if chair.cells[0] not in desk.before:
        return None
    towards = turned(desk.front, 2)
    value = "yes" if chair.front == towards else "no"
    return answered(wording(rng, "chair"), "chair", value, towards=towards, front=chair.front)


def _stage_television(rng: np.random.Generator, value: str) -> RoomPlan | None:
    plan = RoomPlan.empty("living room", rng, sides=(8, 11))
    if not plan.somewhere("television", rng):
        return None
    tv = plan.pieces[0]
    away, hidden = (False, False) if value == "yes" else drawn(rng, ((True, False), (False, True)))
    distance = int(rng.integers(4, 7))
    front = tv.front if away else turned(tv.front, 2)
    if not plan.put("sofa", tv.at(0 if away else 2, distance), front, force=True):
        return None
    if hidden and not plan.put("bookshelf", tv.at(0, distance - 2), tv.front, force=True):
        return None
    plan.furnish(("plant", "fireplace", "lamp"), rng)
    return plan


def _ask_television(room: FurnishedRoom, rng: np.random.Generator) -> AskedQuestion | None:
    tv, sofa = room.piece("television"), room.piece("sofa")
    question = wording(rng, "television")
    towards = turned(tv.front, 2)
    distance = next((n for n in range(1, 12) if tv.at(1, n) in sofa.cells), 0)
    if not distance or sofa.front not in (towards, tv.front):
        return None
    between = {room.taken.get(tv.at(along, n)) for along in range(3) for n in range(1, distance)} - {None}
    high = sorted({piece.name for piece in between if piece and piece.height > 1})
    answer = "away" if sofa.front != towards else "hidden" if high else "yes"
    words: dict[str, Any] = {
        "front": sofa.front,
        "towards": towards,
        "thing": high[:1],
        "wall": roomiest(room, towards),
    }
    return answered(question, "television", answer, "yes" if answer == "yes" else "no", **words)


def _stage_belong(rng: np.random.Generator, value: str) -> RoomPlan | None:
    kind = drawn(rng, sorted({kind for kinds in MISPLACED.values() for kind in kinds}))
    plan = RoomPlan.empty(kind, rng)
    wrong = [name for name, kinds in MISPLACED.items() if kind in kinds]
    if value == "no" and not plan.somewhere(drawn(rng, wrong), rng):
        return None
    plan.furnish(rng.permutation(KINDS[kind]), rng)
    return plan if len(plan.pieces) > 2 else None


def _ask_belong(room: FurnishedRoom, rng: np.random.Generator) -> AskedQuestion | None:
    wrong = misplaced(room)
    question = wording(rng, "belong", kind=room.kind)
    if not wrong:
        names = ", ".join(sorted({piece.name for piece in room.pieces})).capitalize()
        return answered(question, "belong", "yes", names=names, kind=room.kind)
    if len(wrong) > 1 or room.kind not in MISPLACED.get(wrong[0].name, ()):
        return None
    name = wrong[0].name
    words = {"name": name, "where": place_words(room, wrong[0]), "kind": room.kind, "home": belongs_in(name)}
    return answered(question, "belong", "no", **words)


USES = (
    Form("light", "furniture placement", YES_NO, _stage_light, _ask_light),
    Form("chair", "furniture placement", YES_NO, _stage_chair, _ask_chair),
    Form("television", "furniture placement", YES_NO, _stage_television, _ask_television),
    Form("belong", "object placement", YES_NO, _stage_belong, _ask_belong),
)
