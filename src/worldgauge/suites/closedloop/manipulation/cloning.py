"""Behaviour cloning by nearest neighbours: what was done in demonstrations where things stood as they do now.

It is made from demonstrations; of a new moment it knows the places of things, where the hand is, and the instruction.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.suites.closedloop.training_data.demonstrations.demonstration import Demonstration
from worldgauge.worlds.tabletop.pose_plans import HandPose, Poses, inside_workspace

Moves = Literal["together", "apart"]
UNLIKE_M = 0.1
"""Beyond it two places are simply not alike; a thing that is missing is as unlike. A gripper that is not as it was
counts as two of them."""
BESIDE_M = 0.15
"""Along the table, up to which a pose has to do with the thing that it is nearest to, and moves with it."""
SAME_M = 0.01
"""Between all poses of two plans, up to which they are one; a hand that opens or closes is none the same."""
_TOLD = [0, 1, 2, 7]


class NamedThing(Protocol):
    """The words for a thing."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def category(self) -> str: ...  # noqa: D102
    @property
    def colour(self) -> str: ...  # noqa: D102


@dataclass(frozen=True)
class _Moment:
    """Of a demonstration, when a pose was reached or before the first. left: (n, 8) poses that were asked for then."""

    hand: FloatArray
    places: dict[str, FloatArray]
    left: FloatArray


class ClonedPolicy:
    """Remembers every moment of `demonstrations` from which an expert set out for the next pose.

    Apart, it knows what belongs to what, and is as good as the expert where places are all there is to know; together
    it goes wrong where things stand differently.

    Args:
        demonstrations: What it learns from.
        moves: Whether what was done then is moved "together", all poses with the thing that the first of them was next
            to, or "apart", each with the thing that it was next to itself.
    """

    def __init__(self, demonstrations: Sequence[Demonstration], moves: Moves = "together") -> None:
        self._moves: Moves = moves
        self._moments = [moment for one in demonstrations for moment in _moments(one)]
        self._hands = np.array([moment.hand for moment in self._moments]).reshape(-1, 8)
        known = sorted({role for moment in self._moments for role in moment.places})
        missing = np.full(3, np.nan)
        self._places = {
            role: np.array([moment.places.get(role, missing) for moment in self._moments]) for role in known
        }

    def plans(self, hand: HandPose, places: Mapping[str, FloatArray], length: int, n: int) -> list[Poses]:
        """Up to n different plans of up to `length` poses: what was done in the moments most similar to this one.

        The most likely plan comes first; of moments that are equally similar, the earlier demonstration's.

        Args:
            hand: Where the hand is.
            places: (3,) metres of every thing by its role (`roles`).
            length: Most poses of a plan.
            n: Most plans.
        """
        found: list[FloatArray] = []
        for index in np.argsort(self.unlikeness(hand, places), kind="stable"):
            plan = _moved(self._moments[index], places, length, self._moves)
            if all(len(plan) != len(one) or np.abs(plan - one)[:, _TOLD].max() > SAME_M for one in found):
                found.append(plan)
            if len(found) == n:
                break
        return [tuple(HandPose(*(float(value) for value in pose)) for pose in plan) for plan in found]

    def unlikeness(self, hand: HandPose, places: Mapping[str, FloatArray]) -> FloatArray:
        """(moments,) metres: how far the hand is from where it was then, in the world and as each thing sees it.

        Each distance counts up to `UNLIKE_M`, so that a few that fit outweigh many that do not.
        """
        total = 2 * UNLIKE_M * np.abs(self._hands[:, 7] - hand.gripper)
        here = np.array(hand[:3])
        total += np.minimum(np.linalg.norm(self._hands[:, :3] - here, axis=1), UNLIKE_M)
        for role in sorted({*self._places, *places}):
            then = self._places.get(role, np.full((len(self._hands), 3), np.nan))
            if role in places:
                off = np.linalg.norm((self._hands[:, :3] - then) - (here - places[role]), axis=1)
                total += np.where(np.isnan(off), UNLIKE_M, np.minimum(off, UNLIKE_M))
            else:
                total += np.where(np.isnan(then[:, 0]), 0.0, UNLIKE_M)
        return np.asarray(total, np.float64)


def roles(instruction: str, things: Sequence[NamedThing]) -> tuple[str, ...]:
    """What each thing is to an instruction: "button named 1" the first that it names, "button other 1" one it does not.

    A thing is named by its name or its colour. Things of different tables that have the same role stand for each other.
    """
    words = instruction.lower()
    at = [_mentioned(words, thing) for thing in things]
    order = sorted(place for place in at if place is not None)
    others: Counter[str] = Counter()
    found = []
    for thing, place in zip(things, at, strict=True):
        if place is not None:
            found.append(f"{thing.category} named {order.index(place) + 1}")
        else:
            others[thing.category] += 1
            found.append(f"{thing.category} other {others[thing.category]}")
    return tuple(found)


def _mentioned(words: str, thing: NamedThing) -> int | None:
    """Where in an instruction a thing is named; None where it is not."""
    for name in (thing.name, thing.colour):
        found = re.search(rf"\b{re.escape(name.lower())}\b", words)
        if found:
            return found.start()
    return None


def _moments(demonstration: Demonstration) -> Iterator[_Moment]:
    """The start, and when each pose but the last one was reached."""
    names = roles(demonstration.instruction, demonstration.things)
    for done, frame in enumerate((0, *demonstration.reached[:-1])):
        places = dict(zip(names, demonstration.places[frame], strict=True))
        yield _Moment(demonstration.hand[frame], places, demonstration.sub_goals[done:])


def _moved(moment: _Moment, places: Mapping[str, FloatArray], length: int, moves: Moves) -> FloatArray:
    """The next poses of a moment (n, 8), moved as the things have that they were beside; inside the workspace."""
    plan = moment.left[:length].copy()
    shifts = [_shift(pose, moment, places) for pose in plan]
    if moves == "together":
        shifts = [next((shift for shift in shifts if shift is not None), None)] * len(plan)
    for pose, shift in zip(plan, shifts, strict=True):
        if shift is not None:
            pose[:3] += shift
    plan[:, :3] = inside_workspace(plan[:, :3])
    return plan


def _shift(pose: FloatArray, moment: _Moment, places: Mapping[str, FloatArray]) -> FloatArray | None:
    """(3,) from where the thing beside a pose (8,) was to where it is; None where there was none."""
    shared = [role for role in moment.places if role in places]
    far = [float(np.linalg.norm(pose[:2] - moment.places[role][:2])) for role in shared]
    if not far or min(far) > BESIDE_M:
        return None
    role = shared[far.index(min(far))]
    return places[role] - moment.places[role]
