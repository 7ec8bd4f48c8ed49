"""How a decision about a question is carried out: a path to a landmark, or a few steps at a time for a plan in words.

    journey = Traveller(ground, where, look, things).journey(decision.plan, rng)
    turn by journey.turn_left_rad at once, which counts as journey.turn_steps primitives
    for primitive in journey: carry it out       # the next one is computed after that

Source: World-in-World, 5.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from worldgauge.chat.prompt_runner import kept, seed_of
from worldgauge.chat.prompts import Field, sheet, titled
from worldgauge.chat.reply import AnswerError, Reply
from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image
from worldgauge.suites.worldinworld.policies.asking import (
    asker_of,
    neutral_views,
    plan_form,
    read_steps,
    steps_in_words,
)
from worldgauge.suites.worldinworld.policies.contract import ActionPlan, HomeObservation, PolicyKit
from worldgauge.suites.worldinworld.questions.landmarks import VISITED_M
from worldgauge.worlds.walking.ground import Ground
from worldgauge.worlds.walking.primitives import STEP_M, TURN_DEG, Primitive, Stance, Steps

APPROACH_M = 2.0
"""A path may end within this distance of a landmark's outline (its radius)."""
CANDIDATES = 100
LEAST_M = 0.3
"""Least length of a path to a landmark."""
ARRIVED_M = 0.25
MOST_STEPS = 50
"""Most primitives of one plan to a landmark."""
AT_ONCE, TIMES = 4, 4
"""Most primitives of one low-level query, and most queries of one plan in words."""
WORDS_STEPS = 13
"""Most steps of the scripted low level: as many as are imagined."""


@dataclass(frozen=True)
class AnsweredSteps:
    """One low-level answer that was carried out."""

    steps: Steps
    stuck: bool


LowLevel = Callable[[ActionPlan, Callable[[], HomeObservation], Sequence[AnsweredSteps]], Steps]
"""Chooses the next primitives of a plan in words: up to AT_ONCE; none, or STOP, when the plan is done."""


def ahead(plan: ActionPlan, look: Callable[[], HomeObservation], past: Sequence[AnsweredSteps]) -> Steps:
    """Straight on until an obstacle, for the aim's "metres" or as imagined: up to AT_ONCE steps, none when done."""
    if any(leg.stuck for leg in past):
        return ()
    metres = (plan.aim or {}).get("metres")
    steps = WORDS_STEPS if metres is None else min(math.ceil(metres / STEP_M - 1e-6), WORDS_STEPS)
    return (Primitive.FORWARD,) * min(AT_ONCE, steps - sum(len(leg.steps) for leg in past))


@dataclass(frozen=True)
class Journey:
    """What is carried out of a decision: a turn of any angle at once, then primitives, each computed when needed."""

    turn_left_rad: float
    turn_steps: int
    complete: bool
    steps: Iterator[Primitive]

    def __iter__(self) -> Iterator[Primitive]:
        return self.steps


@dataclass(frozen=True)
class Traveller:
    """Carries out plans about questions."""

    ground: Ground
    where: Callable[[], Stance]
    look: Callable[[], HomeObservation]
    things: Mapping[int, Any]
    low_level: LowLevel = ahead

    def journey(self, plan: ActionPlan, rng: np.random.Generator) -> Journey:
        """Compute the journey of a plan: its steps where they are the way, else to its landmark, else by its words."""
        aim = plan.aim or {}
        if aim.get("room") is not None or aim.get("as_planned"):
            return Journey(0.0, 0, not plan.steps, iter(plan.steps))
        if aim.get("landmark") is not None:
            centre, radius = self._place(aim)
            steps = self._to(centre, radius, rng)
            return Journey(0.0, 0, not steps, iter(steps))
        return Journey(plan.turn_left_rad, turn_steps(plan.turn_left_rad), False, self._as_told(plan))

    def _place(self, aim: Mapping[str, Any]) -> tuple[FloatArray, float]:
        if "centre" in aim:
            return np.asarray(aim["centre"], np.float64), float(aim["radius_m"])
        number = aim["landmark"]
        if number not in self.things:
            raise UsageError(f"landmark {number} has no known place: a plan's aim must hold its centre and radius_m")
        low, high = (np.asarray(corner, np.float64) for corner in (self.things[number].low, self.things[number].high))
        return (low + high) / 2, float((high - low)[:2].max() / 2)

    def _to(self, centre: FloatArray, radius: float, rng: np.random.Generator) -> Steps:
        """Return primitives to the nearest of some places around a landmark; none if reached or out of reach."""
        here = self.where()
        if math.hypot(centre[0] - here.x, centre[1] - here.y) < VISITED_M + radius:
            return ()
        places = self.ground.places_near(here, centre, radius + APPROACH_M, CANDIDATES, rng)
        far = np.flatnonzero(places.metres > LEAST_M)
        if not len(far):
            return ()
        goal = places.at[far[int(np.argmin(places.metres[far]))]]
        return (self.ground.steps_to(here, goal, ARRIVED_M) or ())[:MOST_STEPS]

    def _as_told(self, plan: ActionPlan) -> Iterator[Primitive]:
        past: list[AnsweredSteps] = []
        for _ in range(TIMES):
            done: list[Primitive] = []
            stuck = False
            for step in self.low_level(plan, self.look, tuple(past))[:AT_ONCE]:
                if step is Primitive.STOP:
                    return
                before = self.where()
                yield step
                done.append(step)
                after = self.where()
                if step is Primitive.FORWARD and math.hypot(after.x - before.x, after.y - before.y) < STEP_M - 1e-6:
                    stuck = True
                    break
            if not done:
                return
            past.append(AnsweredSteps(tuple(done), stuck))


def turn_steps(left_rad: float) -> int:
    """Return the primitives that a turn counts as: its size in turns of 22.5 degrees, rounded, halves up."""
    return math.floor(abs(math.degrees(left_rad)) / TURN_DEG + 0.5)


OPEN_M = 2.4
"""Depth beyond which a pixel is open."""
MIN_SHARE = 0.02
"""Least share of the view that an open region covers."""

HeadingRule = Literal["pinhole", "linear"]


def open_heading(
    depth: NDArray[np.floating[Any]],
    hfov_deg: float,
    *,
    min_depth_m: float = OPEN_M,
    min_area_ratio: float = MIN_SHARE,
    rule: HeadingRule = "pinhole",
) -> float | None:
    """Heading of the largest open region of a view's depth (H, W), radians to the right; None if all is closed.

    Of equal 4-connected regions the first in reading order; its median column counts. Infinite depth is open, NaN is
    not. Rule "linear" is the published approximation, up to 6.8 degrees off at 105 degrees.
    """
    import cv2

    if depth.ndim != 2 or 0 in depth.shape:
        raise ShapeError(f"the depth of a view is (H, W) and not empty, got shape {depth.shape}")
    if rule not in ("pinhole", "linear"):
        raise UsageError(f"no rule '{rule}' for open headings; choose 'pinhole' or 'linear'")
    if not 0.0 < hfov_deg < 180.0:
        raise UsageError(f"the field of view must be between 0 and 180 degrees, got {hfov_deg}")
    deep = (depth > min_depth_m).astype(np.uint8)
    _, regions = cv2.connectedComponents(deep, connectivity=4)
    sizes = np.bincount(np.asarray(regions, np.int64).ravel())
    sizes[0] = 0
    largest = int(sizes.argmax())
    if sizes[largest] == 0 or sizes[largest] < min_area_ratio * depth.size:
        return None
    width = depth.shape[1]
    column = float(np.median(np.nonzero(np.asarray(regions) == largest)[1]))
    if rule == "linear":
        return float((column - width / 2) / width * math.radians(hfov_deg))
    focal = width / 2 / math.tan(math.radians(hfov_deg) / 2)
    return math.atan((column + 0.5 - width / 2) / focal)


ASKS = 30


class ChatLowLevel:
    """A `travel.LowLevel` for one episode. `rng`: Of the episode; seeds of the queries are drawn from it in turn."""

    def __init__(self, kit: PolicyKit, question: str, rng: np.random.Generator) -> None:
        self._asker = asker_of(kit)
        self._asks = int(kit.options.get("asks", ASKS))
        self._question = question
        self._rng = rng
        self._seen: list[Image] = []

    @property
    def asked(self) -> list[dict[str, Any]]:
        """Notes of every query so far."""
        return list(self._asker.notes)

    def __call__(self, plan: ActionPlan, look: Callable[[], HomeObservation], past: Sequence[AnsweredSteps]) -> Steps:
        """Up to 4 primitives, or STOP alone or as the last, also where no reply could be read."""
        del self._seen[len(past) :]
        view = look().front
        words = neutral_views(str((plan.aim or {}).get("text") or "")) or "go on"

        def fields(squeeze: int) -> dict[str, Field]:
            return {
                "plan": words,
                "question": self._question,
                "earlier": self._earlier(past, squeeze),
                "view": view,
                "length": str(AT_ONCE),
            }

        def read(reply: Reply) -> Steps:
            return read_steps(reply.value["plan"], AT_ONCE, stop=True)

        try:
            steps = self._asker.ask(
                "questions-step", fields, read, seed=seed_of(self._rng), asks=self._asks, schema=plan_form("FLRS")
            ).value
        except AnswerError as error:
            self._asker.notes[-1]["fallback"] = str(error)
            return (Primitive.STOP,)
        self._seen.append(view)
        return steps

    def _earlier(self, past: Sequence[AnsweredSteps], squeeze: int) -> Field:
        told = kept(list(zip(self._seen, past, strict=False)), squeeze)
        if not told:
            return "nothing" if not past else "left out here"
        cells = [
            titled(view, f"then: {steps_in_words(leg.steps)}{', met an obstacle' if leg.stuck else ''}")
            for view, leg in told
        ]
        return [sheet(cells)]
