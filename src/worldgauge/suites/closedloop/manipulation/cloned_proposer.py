"""Plans learned from demonstrations, without weights and without the expert."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import get_args

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.core.io import digest_of_folder
from worldgauge.suites.closedloop.manipulation.cloning import ClonedPolicy, Moves, roles
from worldgauge.suites.closedloop.policies.contract import ActionPlan, History, PolicyKit, TableObservation, proposers
from worldgauge.suites.closedloop.training_data.demonstrations.demonstration import load_demonstrations


@proposers.register("cloned", tasks=("manipulation",), chat=False)
class ClonedProposer:
    """Behaviour cloning by nearest neighbours: repeats what was done where things stood as they do now.

    It knows the positions of things and the instruction, nothing of earlier actions, and no orientation.

    Options: demonstrations, the folder that it learns from; moves, "together" (default: a remembered plan is shifted as
    one, with the thing that it first goes to) or "apart" (each pose with the thing next to it, which is much stronger).

    Raises:
        UsageError: Without a folder, or for other moves.
        DataError: If the folder cannot be read.
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
        self, observation: TableObservation, goal: Goal, history: History, n: int, rng: np.random.Generator
    ) -> Sequence[ActionPlan]:
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
