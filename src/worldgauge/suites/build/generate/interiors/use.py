"""Questions about rooms that are answered by yes or no: whether furniture can be used as it stands, and belongs."""

from __future__ import annotations

import numpy as np

from worldgauge.suites.build.generate.interiors.forms import YES_NO, Asked, Form, belongs_in, misplaced
from worldgauge.suites.build.generate.interiors.interiors import Room
from worldgauge.suites.build.generate.interiors.pieces import MISPLACED, turned
from worldgauge.suites.build.generate.interiors.plan import KINDS, Plan, drawn
from worldgauge.suites.build.generate.interiors.words import gap, place_words, roomiest


def _stage_light(rng: np.random.Generator, value: str) -> Plan | None:
    plan = Plan.empty(drawn(rng, ("study", "library", "bedroom")), rng, sides=(8, 11))
    if not plan.somewhere("desk", rng) or not plan.somewhere("lamp", rng):
        return None
    plan.furnish(rng.permutation(KINDS[plan.kind])[:4], rng)
    return plan


def _ask_light(room: Room, rng: np.random.Generator) -> Asked | None:
    desk, lamp = room.piece("desk"), room.piece("lamp")
    between = gap(desk.cells, lamp.cells)
    question = drawn(
        rng,
        (
            "After dark, is there enough light at the desk to read by?",
            "Is the desk well lit for somebody who writes at it at night?",
        ),
    )
    where = place_words(room, lamp)
    if between <= 1:
        answer = f"Yes. The lamp stands {where}, close to the desk, so its light falls on the table top."
        return Asked(question, "yes", answer, {"tendency": "yes", "thing": "lamp", "place": "close to"})
    if between < 4:
        return None
    answer = (
        f"No. The only lamp stands {where}, far from the desk {place_words(room, desk)}; "
        "move the lamp next to the desk or add another one there."
    )
    return Asked(question, "no", answer, {"tendency": "no", "thing": "lamp", "place": where, "action": "move"})


def _stage_chair(rng: np.random.Generator, value: str) -> Plan | None:
    plan = Plan.empty(drawn(rng, ("study", "bedroom", "library")), rng)
    if not plan.somewhere("desk", rng):
        return None
    desk = plan.pieces[0]
    front = turned(desk.front, 2) if value == "yes" else turned(desk.front, int(rng.integers(-1, 2)))
    if not plan.put("chair", desk.before[1], front, force=True):
        return None
    plan.furnish(rng.permutation(KINDS[plan.kind]), rng)
    return plan


def _ask_chair(room: Room, rng: np.random.Generator) -> Asked | None:
    desk, chair = room.piece("desk"), room.piece("chair")
    if chair.cells[0] not in desk.before:
        return None
    towards = turned(desk.front, 2)
    question = drawn(
        rng,
        (
            "Does somebody who sits on the chair face the desk?",
            "Is the chair turned the right way for somebody who works at the desk?",
        ),
    )
    if chair.front == towards:
        answer = f"Yes. The chair stands before the desk and its seat is open to the {towards}, towards the desk."
        return Asked(question, "yes", answer, {"tendency": "yes", "direction": towards})
    answer = f"No. Whoever sits there looks {chair.front}, not at the desk; turn the chair round to face {towards}."
    return Asked(question, "no", answer, {"tendency": "no", "direction": chair.front, "action": "turn"})


def _stage_television(rng: np.random.Generator, value: str) -> Plan | None:
    plan = Plan.empty("living room", rng, sides=(8, 11))
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


def _ask_television(room: Room, rng: np.random.Generator) -> Asked | None:
    tv, sofa = room.piece("television"), room.piece("sofa")
    question = drawn(
        rng,
        (
            "Can somebody who sits on the sofa watch the television?",
            "Is the sofa well placed for watching television?",
        ),
    )
    towards = turned(tv.front, 2)
    distance = next((n for n in range(1, 12) if tv.at(1, n) in sofa.cells), 0)
    if not distance or sofa.front not in (towards, tv.front):
        return None
    between = {room.taken.get(tv.at(along, n)) for along in range(3) for n in range(1, distance)} - {None}
    high = sorted({piece.name for piece in between if piece and piece.height > 1})
    if sofa.front != towards:
        answer = (
            f"No. The sofa turns its back to the television: it faces {sofa.front}, while the television is {towards} "
            "of it. Turn the sofa round."
        )
        return Asked(question, "no", answer, {"tendency": "no", "direction": sofa.front, "action": "turn"})
    if high:
        answer = (
            f"No. The {high[0]} stands between the sofa and the television and blocks the view; "
            f"move it away, for example to the {roomiest(room, towards)} wall."
        )
        return Asked(question, "no", answer, {"tendency": "no", "thing": high[0], "action": "move"})
    answer = f"Yes. The sofa faces {towards}, straight to the television, and nothing tall stands between them."
    return Asked(question, "yes", answer, {"tendency": "yes", "direction": towards})


def _stage_belong(rng: np.random.Generator, value: str) -> Plan | None:
    kind = drawn(rng, sorted({kind for kinds in MISPLACED.values() for kind in kinds}))
    plan = Plan.empty(kind, rng)
    wrong = [name for name, kinds in MISPLACED.items() if kind in kinds]
    if value == "no" and not plan.somewhere(drawn(rng, wrong), rng):
        return None
    plan.furnish(rng.permutation(KINDS[kind]), rng)
    return plan if len(plan.pieces) > 2 else None


def _ask_belong(room: Room, rng: np.random.Generator) -> Asked | None:
    wrong = misplaced(room)
    question = drawn(
        rng,
        (
            f"This is a {room.kind}. Does all of its furniture belong in such a room?",
            f"Is every piece of furniture here in its place in a {room.kind}?",
        ),
    )
    if not wrong:
        names = sorted({piece.name for piece in room.pieces})
        answer = f"Yes. {', '.join(names).capitalize()}: all of it is what one expects in a {room.kind}."
        return Asked(question, "yes", answer, {"tendency": "yes"})
    if len(wrong) > 1 or room.kind not in MISPLACED.get(wrong[0].name, ()):
        return None
    name = wrong[0].name
    answer = (
        f"No. The {name} {place_words(room, wrong[0])} does not belong in a {room.kind}; "
        f"it should be moved to the {belongs_in(name)}."
    )
    return Asked(question, "no", answer, {"tendency": "no", "thing": name, "action": "move"})


USES = (
    Form("light", "furniture placement", YES_NO, _stage_light, _ask_light),
    Form("chair", "furniture placement", YES_NO, _stage_chair, _ask_chair),
    Form("television", "furniture placement", YES_NO, _stage_television, _ask_television),
    Form("belong", "object placement", YES_NO, _stage_belong, _ask_belong),
)
