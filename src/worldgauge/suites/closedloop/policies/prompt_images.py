"""What a language model is shown of an observation, of earlier steps, and of what was imagined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import degrees

from worldgauge.chat.pictures import sheet, titled
from worldgauge.chat.prompt_runner import kept, thinned
from worldgauge.chat.prompts import Part
from worldgauge.core.geometry import Camera
from worldgauge.core.image import Image
from worldgauge.core.panorama import perspective
from worldgauge.suites.closedloop.manipulation.words import poses_in_words
from worldgauge.suites.closedloop.policies.contract import (
    SIDES,
    ActionPlan,
    Candidate,
    History,
    HomeObservation,
    Rollout,
)
from worldgauge.worlds.walking.primitives import Primitive, Steps

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
    """What `camera` saw at the goal: the front of a panorama, or the picture itself.

    It always uses the clean rule: the picture is real, and so are the views it is compared with, which no rule cuts.
    """
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
