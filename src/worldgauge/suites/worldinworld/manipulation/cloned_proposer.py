"""Plans learned from demonstrations, without weights and without the expert."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.io import digest_of_folder
from worldgauge.suites.worldinworld.format.demonstration import Demonstration, DemoThing, load_demonstrations
from worldgauge.suites.worldinworld.policies.contract import (
    ActionPlan,
    History,
    PolicyKit,
    Rng,
    SeenThing,
    TableObservation,
    proposers,
)
from worldgauge.worlds.tabletop.pose_plans import HandPose, Poses, inside_workspace

Moves = Literal["together", "apart"]
CUTOFF_M = 0.1
"""Distances are cut off here; a missing thing counts as much, a gripper in the other state twice as much."""
BESIDE_M = 0.15
"""A pose belongs to the nearest thing within this horizontal distance, and is shifted with it."""
SAME_M = 0.01
"""Two plans are the same if all their poses are within this distance and the gripper is in the same state."""
_TOLD = [0, 1, 2, 7]


@dataclass(frozen=True)
class _Moment:
    """A moment of a demonstration: hand pose (8,), things' `places` (3,) by role, and poses (n, 8) still to come."""

    hand: FloatArray
    places: dict[str, FloatArray]
    left: FloatArray


class ClonedPolicy:
    """Every moment of some demonstrations, with the poses that followed.

    With "apart", poses follow their things, which is the expert if only positions matter; "together" fails on new
    layouts.
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
        """Up to n different plans of up to `length` poses from the most similar moments; `places` by role, metres."""
        found: list[FloatArray] = []
        for index in np.argsort(self.dissimilarity(hand, places), kind="stable"):
            plan = _moved(self._moments[index], places, length, self._moves)
            if all(len(plan) != len(one) or np.abs(plan - one)[:, _TOLD].max() > SAME_M for one in found):
                found.append(plan)
            if len(found) == n:
                break
        return [tuple(HandPose(*(float(value) for value in pose)) for pose in plan) for plan in found]

    def dissimilarity(self, hand: HandPose, places: Mapping[str, FloatArray]) -> FloatArray:
        """Difference of every moment, (moments,) metres: of the hand in the world and to each thing, by role.

        Each is cut off at CUTOFF_M, so that a few that fit outweigh many that do not.
        """
        total = 2 * CUTOFF_M * np.abs(self._hands[:, 7] - hand.gripper)
        here = np.array(hand[:3])
        total += np.minimum(np.linalg.norm(self._hands[:, :3] - here, axis=1), CUTOFF_M)
        for role in sorted({*self._places, *places}):
            then = self._places.get(role, np.full((len(self._hands), 3), np.nan))
            if role in places:
                off = np.linalg.norm((self._hands[:, :3] - then) - (here - places[role]), axis=1)
                total += np.where(np.isnan(off), CUTOFF_M, np.minimum(off, CUTOFF_M))
            else:
                total += np.where(np.isnan(then[:, 0]), 0.0, CUTOFF_M)
        return np.asarray(total, np.float64)


def roles(instruction: str, things: Sequence[SeenThing | DemoThing]) -> tuple[str, ...]:
    """Each thing's role, "button named 1" by name or colour, else "button other 1"; equal roles correspond."""
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


def _mentioned(words: str, thing: SeenThing | DemoThing) -> int | None:
    """Return the position in an instruction at which a thing is named; None if it is not."""
    for name in (thing.name, thing.colour):
        found = re.search(rf"\b{re.escape(name.lower())}\b", words)
        if found:
            return found.start()
    return None


def _moments(demonstration: Demonstration) -> Iterator[_Moment]:
    """Yield the start, and when each pose but the last one was reached."""
    names = roles(demonstration.instruction, demonstration.things)
    for done, frame in enumerate((0, *demonstration.reached[:-1])):
        places = dict(zip(names, demonstration.places[frame], strict=True))
        yield _Moment(demonstration.hand[frame], places, demonstration.sub_goals[done:])


def _moved(moment: _Moment, places: Mapping[str, FloatArray], length: int, moves: Moves) -> FloatArray:
    """Return the next poses of a moment (n, 8), shifted with the things next to them; inside the workspace."""
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
    """Return (3,), how far the thing next to a pose (8,) has moved since; None if there was none."""
    shared = [role for role in moment.places if role in places]
    far = [float(np.linalg.norm(pose[:2] - moment.places[role][:2])) for role in shared]
    if not far or min(far) > BESIDE_M:
        return None
    role = shared[far.index(min(far))]
    return places[role] - moment.places[role]


@proposers.register("cloned", tasks=("manipulation",), chat=False)
class ClonedProposer:
    """Behaviour cloning by nearest neighbours: repeats what was done where things stood as they do now.

    It uses positions and the instruction, no earlier actions and no orientation. Options: demonstrations, its folder;
    moves, "together" (default: a plan is shifted as one, with its first thing) or "apart" (each pose with the thing
    next to it).
    """

    def __init__(self, kit: PolicyKit) -> None:
        folder = kit.options.get("demonstrations")
        if not folder:
            raise UsageError("proposer 'cloned' learns from demonstrations; give the option demonstrations=FOLDER")
        moves = kit.options.get("moves", "together")
        if moves not in get_args(Moves):
            raise UsageError(f"the option moves of proposer 'cloned' must be 'together' or 'apart', got {moves!r}")
        place = Path(str(folder)).expanduser()
        self._clone = _learned(place, moves, digest_of_folder(place))
        self._length = kit.length

    def propose(
        self, observation: TableObservation, goal: Goal, history: History, n: int, rng: Rng
    ) -> list[ActionPlan]:
        """Return up to n different plans, most similar first, deterministically; see `Proposer.propose`."""
        things = observation.things
        places = {
            role: np.array(thing.place_m) for role, thing in zip(roles(goal.text or "", things), things, strict=True)
        }
        found = self._clone.plans(observation.hand, places, self._length, n)
        return [ActionPlan((), "cloned", poses=poses) for poses in found]


@lru_cache(maxsize=2)
def _learned(folder: Path, moves: Moves, digest: str) -> ClonedPolicy:
    """Return the policy of a folder, read once per process and content."""
    return ClonedPolicy(load_demonstrations(folder), moves)
