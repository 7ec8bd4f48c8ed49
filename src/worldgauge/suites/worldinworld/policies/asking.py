"""What policies that ask a language model share: what it is shown, forms of replies, and how they are read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import groupby
from math import degrees
from typing import Any, Literal

from worldgauge.chat.prompt_runner import Asker, Misread, kept, thinned
from worldgauge.chat.prompts import Field, Part, Prompts, sheet, titled
from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.geometry import Camera
from worldgauge.core.image import Image
from worldgauge.core.panorama import perspective
from worldgauge.suites.worldinworld.policies.contract import (
    SIDES,
    ActionPlan,
    Candidate,
    History,
    HomeObservation,
    PolicyKit,
    Rollout,
    SeenThing,
    Side,
)
from worldgauge.worlds.tabletop.pose_plans import HandPose, Poses, bins_from_points, bins_from_poses, poses_from_bins
from worldgauge.worlds.walking.primitives import Primitive, Steps


def asker_of(kit: PolicyKit) -> Asker:
    """The object with which a policy asks its language model."""
    if kit.chat is None:
        raise UsageError("this policy asks a language model; name one with chat=MODEL@URL")
    prompts = (
        kit.prompts if isinstance(kit.prompts, Prompts) else Prompts("worldgauge.suites.worldinworld", kit.prompts)
    )
    given = {name: kit.options[name] for name in ("temperature", "top_p", "max_tokens") if name in kit.options}
    return Asker(kit.chat, prompts, **given)


def kind_of(kit: PolicyKit) -> Literal["select", "rewrite"]:
    """Whether a reviser selects a candidate, the paper's common form, or may write a plan, as released."""
    kind = kit.options.get("kind", "select")
    if kind not in ("select", "rewrite"):
        raise UsageError(f"the kind of a reviser that asks a language model is select or rewrite, got {kind!r}")
    return "select" if kind == "select" else "rewrite"


Form = Mapping[str, Any]
_TEXT = {"type": "string"}
_MAYBE_TEXT = {"type": ["string", "null"]}
_NUMBER = {"type": "integer"}


def _object(**fields: Any) -> Form:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def plan_form(letters: Sequence[str]) -> Form:
    """A reason and a list of these letters."""
    return _object(reason=_TEXT, plan={"type": "array", "items": {"type": "string", "enum": list(letters)}})


CHOICE: Form = _object(reason=_TEXT, choice=_NUMBER)
ARRIVED: Form = _object(reason=_TEXT, arrived={"type": "boolean"})
HIGH_LEVEL: Form = _object(
    reason=_TEXT,
    plan=_TEXT,
    view={"type": "string", "enum": list(SIDES)},
    landmark={"type": ["integer", "null"]},
    answer=_MAYBE_TEXT,
)
HAND_PLAN: Form = _object(
    seen=_TEXT, reason=_TEXT, plan=_TEXT, poses={"type": "array", "items": {"type": "array", "items": _NUMBER}}
)
CHOICE_AND_ANSWER: Form = _object(reason=_TEXT, choice=_NUMBER, answer=_MAYBE_TEXT)


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZΓΔΘΛΞΠΣΦΨΩ"
"""Names of options: the capitals, and the Greek ones that look like none of them."""
STEP_LETTERS: Mapping[str, Primitive] = {
    "F": Primitive.FORWARD,
    "L": Primitive.TURN_LEFT,
    "R": Primitive.TURN_RIGHT,
    "S": Primitive.STOP,
}
NEUTRAL_VIEW = "the view ahead"
"""What view names become in a plan that is followed facing the chosen view."""


def token_choice(
    alternatives: Sequence[tuple[str, float]], categories: Sequence[str], letters: str = LETTERS
) -> dict[str, float]:
    """Probability of each category whose letter is exactly one of the likeliest first tokens, not scaled to sum to 1.

    Source: released code; vectors: wiw_loop, token_choice. `alternatives` are (token, log-probability), likeliest
    first.
    """
    if len(categories) > len(letters):
        raise UsageError(f"{len(categories)} options, but there are {len(letters)} letters to name them")
    named = dict(zip(letters, categories, strict=False))
    found: dict[str, float] = {}
    for token, logprob in alternatives:
        if token in named:
            found.setdefault(named[token], math.exp(min(0.0, logprob)))
    return {category: found[category] for category in categories if category in found}


def lettered(options: Sequence[str]) -> str:
    """The options, one per line, each after its letter."""
    if len(options) > len(LETTERS):
        raise UsageError(f"{len(options)} options, but there are {len(LETTERS)} letters to name them")
    return "\n".join(f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False))


def read_steps(given: str | Sequence[Any], length: int, *, stop: bool = False) -> Steps:
    """A plan from a list, or the text of one: letters F, L, R, names such as turn_left, or numbers 1, 2, 3."""
    tokens = re.split(r"[\s,;]+", given.strip().strip("[]()`.").strip()) if isinstance(given, str) else list(given)
    steps = tuple(_step(token) for token in tokens if token != "")
    if not 1 <= len(steps) <= length:
        raise Misread(f"a plan of {len(steps)} steps, where 1 to {length} were asked for")
    stops = [place for place, step in enumerate(steps) if step is Primitive.STOP]
    if stops and (not stop or stops != [len(steps) - 1]):
        raise Misread("S only ends a plan" if stop else "there is no stop here")
    return steps


def read_poses(given: Any, length: int) -> Poses:
    """Poses of a robot's hand from a list of lists of 7 whole numbers, the bins of `pose_plans.poses_from_bins`."""
    rows = given if isinstance(given, list) else []
    if not 1 <= len(rows) <= length:
        raise Misread(f"a plan of {len(rows)} poses, where 1 to {length} were asked for")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, list) or len(row) != 7:
            raise Misread(f"pose {number} is not a list of 7 numbers")
        if any(isinstance(one, bool) or not isinstance(one, (int, float)) or not abs(one) < 1000 for one in row):
            raise Misread(f"pose {number} holds what is no bin")
    try:
        return tuple(HandPose(*map(float, pose)) for pose in poses_from_bins(rows))
    except UsageError as error:
        raise Misread(str(error)) from None


def ask_index(
    asker: Asker, name: str, fields: Callable[[int], Mapping[str, Field]], count: int, *, seed: int, asks: int
) -> int:
    """Ask which of `count` candidates to take; its index, from 0."""
    return asker.ask(
        name,
        lambda squeeze: {**fields(squeeze), "count": str(count)},
        lambda reply: read_index(reply.value["choice"], count),
        seed=seed,
        asks=asks,
        schema=CHOICE,
    ).value


def read_index(value: Any, count: int) -> int:
    """Index, from 0, of a candidate that was named by its number from 1."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= count:
        raise Misread(f"candidate {value!r}, where 1 to {count} were shown")
    return value - 1


@dataclass(frozen=True)
class HighLevelDecision:
    """A model's decision about a question; `landmark` is None to follow the words, `answer` None to go on searching."""

    reason: str
    plan: str
    view: Side
    landmark: int | None
    answer: str | None


def read_high_level(value: Any, visible: Mapping[Side, AbstractSet[int]]) -> HighLevelDecision:
    """The five fields of a high-level reply."""
    if not isinstance(value, dict) or (missing := [name for name in FIVE if name not in value]):
        raise Misread(f"lacks {', '.join(missing if isinstance(value, dict) else FIVE)}")
    side, landmark = value["view"], value["landmark"]
    if side not in SIDES or side not in visible:
        raise Misread(f"view {side!r}, where {', '.join(visible)} were shown")
    if landmark is not None and (isinstance(landmark, bool) or landmark not in visible[side]):
        marked = ", ".join(map(str, sorted(visible[side]))) or "none"
        raise Misread(f"landmark {landmark!r} is not marked in the {side} view; there: {marked}")
    answer, plan = read_answer(value["answer"]), str(value["plan"] or "").strip()
    if answer is None and landmark is None and not plan:
        raise Misread("neither an answer nor a landmark nor a plan")
    return HighLevelDecision(str(value["reason"] or ""), plan, side, landmark, answer)


FIVE = ("reason", "plan", "view", "landmark", "answer")
_NO_ANSWER = ("", "none", "null", "n/a", "no answer")


def read_answer(value: Any) -> str | None:
    """An answer cut after its last full stop; None where there is none."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise Misread("the answer is no text")
    said = to_last_stop(value)
    return None if said.strip(" .").lower() in _NO_ANSWER else said


def to_last_stop(text: str) -> str:
    """`text` without what follows its last full stop; all of it where it has none. A decimal point is no full stop."""
    text = " ".join(text.split())
    ends = [match.end() for match in re.finditer(r"\.(?=\s|$)", text)]
    return text[: ends[-1]] if ends else text


_VIEW_NAMES = re.compile(
    r"\b(?:(?:the|my|your)\s+)?(?:front|left|right|back|rear)(?:[\s-]hand)?[\s-](?:view|image|picture|photo)\b", re.I
)


def neutral_views(plan: str) -> str:
    """`plan` with names of views rewritten, since its reader faces the chosen view; turns such as "go left" stay."""
    return _VIEW_NAMES.sub(NEUTRAL_VIEW, plan)


MARK_TAG = "MARK:"


def read_mark(text: str) -> int:
    """The whole number 1 to 5 after the last `MARK:` of a judge's reply."""
    found = re.findall(rf"{MARK_TAG}\s*\**\s*(-?\d+(?:\.\d+)?)", text)
    if not found:
        raise Misread(f"no {MARK_TAG} in the reply")
    if found[-1] not in ("1", "2", "3", "4", "5"):
        raise Misread(f"mark {found[-1]}, where 1 to 5 was asked for")
    return int(found[-1])


_NAMES: Mapping[str, Primitive] = {
    **STEP_LETTERS,
    **{step.name: step for step in Primitive},
    **{str(int(step)): step for step in Primitive},
    "LEFT": Primitive.TURN_LEFT,
    "RIGHT": Primitive.TURN_RIGHT,
}


def _step(token: Any) -> Primitive:
    name = str(token).strip().strip("\"'`").upper().replace(" ", "_").replace("-", "_")
    if isinstance(token, bool) or name not in _NAMES:
        raise Misread(f"{str(token)[:40]!r} is no step")
    return _NAMES[name]


OUTSIDE = "(outside the bins)"


def pose_in_words(pose: HandPose) -> str:
    """Return the seven bins of a pose, such as "[60, 50, 40, 0, 60, 60, 1]"."""
    try:
        return str(bins_from_poses([pose])[0].tolist())
    except (UsageError, ShapeError):
        return OUTSIDE


def poses_in_words(poses: Sequence[HandPose]) -> str:
    """Return the bins of each pose, in order; empty without any."""
    return ", ".join(map(pose_in_words, poses))


def things_in_words(things: Sequence[SeenThing]) -> str:
    """Return a line per thing: number, name, and the bins x, y, z of its centre."""
    return "\n".join(f"{number}. {thing.name}: {_place_in_words(thing)}" for number, thing in enumerate(things, 1))


def moves_in_words(history: History, squeeze: int) -> str:
    """Describe earlier decisions and the poses carried out, one line each."""
    recent = kept(history, squeeze)
    if not recent:
        return "nothing yet" if not history else "left out here"
    lines = []
    for number, past in enumerate(recent, len(history) - len(recent) + 1):
        plan = past.decision.plan
        words = "" if plan is None or plan.aim is None else str(plan.aim.get("text") or "")
        done = [
            pose_in_words(pose) + (" (did not get there)" if missed else "")
            for pose, missed in zip(past.executed, past.collided, strict=True)
        ]
        lines.append(f"{number}. " + " - ".join(filter(None, (words, ", ".join(done) or "nothing"))))
    return "\n".join(lines)


def _place_in_words(thing: SeenThing) -> str:
    try:
        return str(bins_from_points([thing.place_m])[0].tolist())
    except UsageError:
        return OUTSIDE


WORDS: Mapping[Primitive, str] = {
    Primitive.FORWARD: "forward",
    Primitive.TURN_LEFT: "turn left",
    Primitive.TURN_RIGHT: "turn right",
    Primitive.STOP: "stop",
}
PANORAMA_ASPECT = 1.5
"""Wider goal pictures are panoramas: views are at most 4:3."""
MOST_EARLIER = 40
"""Steps of the past that are told."""


def steps_in_words(steps: Steps) -> str:
    """Such as "turn left, 3 x forward"."""
    runs = [(WORDS[step], len(list(same))) for step, same in groupby(steps)]
    return ", ".join(word if count == 1 else f"{count} x {word}" for word, count in runs) or "nothing"


def plan_in_words(plan: ActionPlan) -> str:
    """A plan in words: its own words where it has some, then its turn and steps, or its poses in bins."""
    size = round(abs(degrees(plan.turn_left_rad)))
    turn = f"turn {size} degrees to the {'left' if plan.turn_left_rad > 0 else 'right'}" if size else ""
    steps = steps_in_words(plan.steps) if plan.steps else ""
    moves = ", then ".join(filter(None, (turn, steps, poses_in_words(plan.poses))))
    said = str((plan.aim or {}).get("text") or "")
    return " - ".join(filter(None, (said, moves))) or "stay"


def past_in_words(history: History, squeeze: int) -> str:
    """The latest steps that were executed, and where they collided."""
    done = [pair for past in history for pair in zip(past.executed, past.collided, strict=True)][-MOST_EARLIER:]
    told = kept(done, squeeze)
    words = [WORDS[step] + (" (met an obstacle)" if met else "") for step, met in told]
    if not words:
        return "nothing yet" if not done else "left out here"
    return ("..., " if len(told) < sum(len(past.executed) for past in history) else "") + ", ".join(words)


def around(observation: HomeObservation) -> list[Part]:
    """The four views, each under its name, in one picture: front and left above right and back."""
    return [sheet([titled(observation.view(side), f"{side} view") for side in SIDES], columns=2)]


def goal_view(image: Image, camera: Camera) -> Image:
    """What `camera` saw at the goal: the front of a panorama by the clean rule (it is real), or the picture itself."""
    if image.shape[1] >= PANORAMA_ASPECT * image.shape[0]:
        return perspective(image, camera)
    return image


def plan_frames(rollout: Rollout) -> list[int]:
    """Indices of the frames that follow the plan's steps, without padding and without what is seen now."""
    return list(range(1, rollout.valid_len))


def frame_title(plan: ActionPlan, rollout: Rollout, frame: int) -> str:
    """Title of a frame, such as "after step 2: turn left"; of a text-driven model's frame, its number."""
    step = int(rollout.frame_to_action[frame])
    if not rollout.aligned:
        return f"picture {frame}"
    if not 1 <= step <= len(plan.steps):
        return f"picture {frame}, further on"
    return f"after step {step}: {WORDS[plan.steps[step - 1]]}"


def film_strip(plan: ActionPlan, rollout: Rollout, squeeze: int) -> list[Part]:
    """The plan's frames, each under its title, in one picture; nothing where it has none."""
    frames = thinned(plan_frames(rollout), squeeze)
    cells = [titled(rollout.seen(frame), frame_title(plan, rollout, frame)) for frame in frames]
    return [sheet(cells)] if cells else []


def all_around_at_end(rollout: Rollout) -> list[Part]:
    """What is imagined after the plan's last step, to all sides where it is a panorama; nothing without a step."""
    last = rollout.valid_len - 1
    if last < 1:
        return []
    sides = SIDES if rollout.view == "panorama" else SIDES[:1]
    return [sheet([titled(rollout.seen(last, side), f"imagined {side} view") for side in sides], columns=2)]


def in_turn(candidates: Sequence[Candidate], shown: Iterable[Sequence[Part]]) -> list[Part]:
    """Each candidate under its number, from 1, in words and then as `shown`; a skipped one does not shift the pairs."""
    parts: list[Part] = []
    for number, (candidate, pictures) in enumerate(zip(candidates, shown, strict=True), 1):
        parts += [f"\n\nCandidate {number}: {plan_in_words(candidate.plan)}.\n"]
        parts += pictures or ["Nothing was imagined for it.\n"]
    return parts
