"""Plans learned from demonstrations, without weights and without the expert."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import get_args

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.suites.closedloop.manipulation.cloning import ClonedPolicy, Moves, roles
from worldgauge.suites.closedloop.policies.contract import ActionPlan, History, PolicyKit, TableObservation, proposers
from worldgauge.suites.closedloop.training_data.demonstrations.demonstration import load_demonstrations


@proposers.register("cloned", tasks=("manipulation",), chat=False)
class ClonedProposer:
    """Behaviour cloning by nearest neighbours: does what was done where things stood as they do now.

    Options: demonstrations, the folder that it learns from; moves, "together" (the default: a remembered plan is moved
    as one, with the thing that it first goes to) or "apart" (each pose with the thing next to it, which is much
    stronger). It knows the places of things and the instruction, nothing of what was done before, and no turn of
    anything.

    Raises:
        UsageError: Without a folder and for other moves.
        DataError: For a folder that cannot be read.
    """

    def __init__(self, kit: PolicyKit) -> None:
        folder = kit.options.get("demonstrations")
        if not folder:
            raise UsageError("proposer 'cloned' learns from demonstrations; give the option demonstrations=FOLDER")
        moves = kit.options.get("moves", "together")
        if moves not in get_args(Moves):
            raise UsageError(f"moves of the proposer 'cloned' are 'together' or 'apart', got {moves!r}")
        self._clone = _learned(str(Path(str(folder)).expanduser()), moves)
        self._length = kit.length

    def propose(
        self, observation: TableObservation, goal: Goal, history: History, n: int, rng: np.random.Generator
    ) -> Sequence[ActionPlan]:
        """Up to n different plans of up to L poses, the likeliest first; the same question has the same answer."""
        things = observation.things
        places = {
            role: np.array(thing.place_m) for role, thing in zip(roles(goal.text or "", things), things, strict=True)
        }
        found = self._clone.plans(observation.hand, places, self._length, n)
        return [ActionPlan((), "cloned", poses=poses) for poses in found]


@lru_cache(maxsize=2)
def _learned(folder: str, moves: Moves) -> ClonedPolicy:
    """Of a folder, read once by a process."""
    return ClonedPolicy(load_demonstrations(Path(folder)), moves)
