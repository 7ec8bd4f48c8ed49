"""`rooms`: ways into rooms where the walker has not been, by a floor plan without names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.geometry import FloatArray
from worldgauge.suites.closedloop.policies.contract import (
    ActionPlan,
    History,
    HomeObservation,
    PlannedRoom,
    PolicyKit,
    proposers,
)

ARRIVED_M = 0.25
"""A way ends so near to the middle of its room."""
INTO_A_ROOM = "into a room"


@proposers.register("rooms", tasks=("questions",), chat=False)
class RoomProposer:
    """Ways to the middles of the nearest of the rooms that were visited least, in an order drawn by chance.

    It is given a floor plan: where rooms lie and where one can walk, but not what rooms are called or what is in them.
    The order is by chance, since the nearest room is nearly always the corridor, which holds little: so the first way
    alone leads into some room nearby. A room is visited when a decision is made in it, the first one too. A way has at
    most L steps; a longer one stops there, and is offered again.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._length = kit.length
        self._visits: Counter[int] = Counter()

    def propose(
        self, observation: HomeObservation, goal: Goal, history: History, n: int, rng: np.random.Generator
    ) -> Sequence[ActionPlan]:
        """Up to n ways, none in a scene without a floor plan; see `Proposer.propose`."""
        rooms = observation.rooms
        if not rooms:
            return []
        if not history:
            self._visits = Counter()
        here = room_at(rooms, observation.pose[:2, 3])
        self._visits[here] += 1
        others = [number for number in range(len(rooms)) if number != here]
        found: list[ActionPlan] = []
        for visits in sorted({self._visits[number] for number in others}):
            alike = [number for number in others if self._visits[number] == visits]
            ways = {number: observation.way_to(rooms[number].middle, ARRIVED_M) for number in alike}
            reached = {number: way for number, way in ways.items() if way}
            if reached:
                nearest = sorted(reached, key=lambda number: (len(reached[number]), number))[:n]
                for number in (nearest[int(k)] for k in rng.permutation(len(nearest))):
                    aim = {"view": "front", "landmark": None, "room": number, "text": INTO_A_ROOM}
                    found.append(ActionPlan(reached[number][: self._length], "rooms", aim=aim))
                break
        return found


def room_at(rooms: Sequence[PlannedRoom], xy: FloatArray) -> int:
    """Return the index of the room at a place (2,), metres; of the nearest one in a doorway."""
    return int(np.argmin([room.away_m(xy) for room in rooms]))
