"""`ScriptedAnswerer` answers a question once it has seen the evidence; until then it goes where it looks promising."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.geometry import FloatArray, yaw_pitch_from_pose
from worldgauge.core.image import Image
from worldgauge.suites.worldinworld.policies.contract import (
    SIDES,
    ActionPlan,
    Candidates,
    Decision,
    History,
    HomeObservation,
    PolicyKit,
    Rng,
    Rollout,
    revisers,
)
from worldgauge.suites.worldinworld.questions.answering import SeenThings, room_evidence
from worldgauge.suites.worldinworld.questions.forms import category_of
from worldgauge.suites.worldinworld.questions.habits import share_of_category
from worldgauge.suites.worldinworld.questions.proposer import WANTED
from worldgauge.worlds.indoor.homes import LABELS
from worldgauge.worlds.walking.primitives import STEP_M

MARGIN = 0.3
"""Least advantage over the first plan for another to be taken; less is noise."""
NAMED_WORTH = 0.5
"""Worth of the thing itself coming into view, relative to the right room."""
SEARCHED = 6
"""Things seen in a room after which an unseen thing is likely elsewhere."""
SEARCHED_WORTH = 0.2

BEEN_M = 1.2
"""Within this distance of an earlier decision, an agent has already looked around."""

Presence = Callable[[Image], FloatArray]


@revisers.register("scripted-answerer", tasks=("questions",), chat=False, imagines=True)
class ScriptedAnswerer:
    """Answers from the exact facts of what covered SEEN_SHARE of a real view; imagined views only choose between plans.

    A plan is worth the new objects that the recogniser finds at its imagined end: those typical of the question's room,
    and the thing itself. Others replace the first plan only by MARGIN, and never one to the wanted thing.
    """

    def __init__(self, kit: PolicyKit, presence: Presence | None = None) -> None:
        self._presence = presence
        self._seen: SeenThings | None = None

    def revise(
        self, candidates: Candidates, observation: HomeObservation, goal: Goal, history: History, rng: Rng
    ) -> Decision:
        """Return the answer if it is known, else the most promising plan; see `Reviser.revise`."""
        if not history or self._seen is None:
            self._seen = SeenThings(goal.text or "")
        self._seen.look(observation)
        answered = self._seen.answer()
        if answered is not None:
            return answered
        first = candidates[0].plan
        imagined = [candidate.rollout for candidate in candidates]
        if all(rollout is None for rollout in imagined) or (first.aim or {}).get("text") == WANTED:
            return Decision(first, 0)
        now = self._held(observation.view(side) for side in SIDES)
        values = tuple(
            None
            if each.rollout is None
            else self._worth(self._seen, each.rollout, now, _been(each.plan, observation, history))
            for each in candidates
        )
        best = max(range(len(values)), key=lambda n: (-np.inf if values[n] is None else values[n], -n))
        base, top = values[0], values[best]
        chosen = best if base is None or (top is not None and top - base > MARGIN) else 0
        return Decision(candidates[chosen].plan, chosen, scores=values)

    def _worth(self, seen: SeenThings, rollout: Rollout, now: FloatArray, been: bool) -> float:
        """Worth of the views at a rollout's end over the real views `now` (27,); 0 where the agent has been."""
        if been:
            return 0.0
        sides = SIDES if rollout.view == "panorama" else SIDES[:1]
        # The real part of the clip goes through the same recogniser: errors cancel, and a still clip gains nothing.
        before = self._held(rollout.seen(rollout.exact - 1, side) for side in sides)
        then = self._held(rollout.seen(rollout.valid_len - 1, side) for side in sides)
        return self._promise(seen, then, np.maximum(before, now))

    def _promise(self, known: SeenThings, then: FloatArray, before: FloatArray) -> float:
        """Return the worth of what is likely in view `then` and was not `before`, (27,) each."""
        gains = np.maximum(then - before, 0.0)
        rooms = self._open_rooms(known)
        room = sum(belief * float((gains * room_evidence(kind)).max()) for kind, belief in rooms.items())
        return round(room + NAMED_WORTH * self._named(known, gains), 9)

    def _named(self, known: SeenThings, gains: FloatArray) -> float:
        """How surely a wanted thing came into view: its share of the category, less for wrong ones seen so far."""
        asked, seen = known.asked, Counter(thing.category for thing in known.things.values())
        gained = []
        for category in sorted({category_of(name) for name in asked.names} & set(LABELS)):
            share = sum(share_of_category(name) for name in sorted(asked.names) if category_of(name) == category)
            gained.append(share * float(gains[LABELS.index(category)]) / (1 + seen[category]))
        return max(gained, default=0.0)

    def _open_rooms(self, known: SeenThings) -> dict[str, float]:
        """Return the probability of rooms, less where enough has been seen."""
        seen = [thing.room for thing in known.things.values()]
        return {
            room: share * (SEARCHED_WORTH if seen.count(room) >= SEARCHED else 1.0)
            for room, share in known.asked.rooms.items()
        }

    def _held(self, views: Iterable[Image]) -> FloatArray:
        """Return (27,), the probability of each label in any of some views."""
        if self._presence is None:
            from worldgauge.suites.worldinworld.recognition.recogniser import recogniser

            self._presence = recogniser().presence
        highest: FloatArray = np.max([self._presence(view) for view in views], axis=0)
        return highest


def _been(plan: ActionPlan, observation: HomeObservation, history: History) -> bool:
    """Whether a plan ends where an agent stood before, as far as depth shows how far it leads."""
    depth = observation.panorama_depth
    height, width = depth.shape
    column = int((0.5 - plan.turn_left_rad / (2 * math.pi)) * width) % width
    ahead = float(depth[height // 2, column])
    reach = min(ahead, float((plan.aim or {}).get("metres", len(plan.steps) * STEP_M)))
    heading = float(yaw_pitch_from_pose(observation.pose)[0]) + plan.turn_left_rad
    end = observation.pose[:2, 3] + reach * np.array([math.cos(heading), math.sin(heading)])
    return any(math.hypot(*(past.pose[:2, 3] - end)) < BEEN_M for past in history)
