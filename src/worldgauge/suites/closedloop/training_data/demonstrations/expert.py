"""The table's expert at work: which poses it asks for, and the states that are kept on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.tabletop.expert import carried_out
from worldgauge.worlds.tabletop.pose_plans import HandPose
from worldgauge.worlds.tabletop.simulation import RECORD_S, Simulation, State
from worldgauge.worlds.tabletop.world import Tabletop

FRAMES = 150
"""Of a demonstration in the paper, about."""


@dataclass(frozen=True)
class Solution:
    """What the expert did.

    Attributes:
        start: The state before.
        moves: Each pose asked for, and the states on the way to it; the last one is where it ended.
        stride: One in `stride` of the states that the simulation keeps is here, counted back from the end of each
            move, so that every end is among them.
        seconds: Simulated time.
    """

    start: State
    moves: tuple[tuple[HandPose, tuple[State, ...]], ...]
    stride: int
    seconds: float

    def __len__(self) -> int:
        return 1 + sum(len(states) for _, states in self.moves)

    @property
    def fps(self) -> float:
        """States a second of simulated time; at the start of a move the first may follow sooner."""
        return 1 / (RECORD_S * self.stride)

    @property
    def reached(self) -> tuple[int, ...]:
        """The frame in which each pose was done, the start being frame 0."""
        return tuple(np.cumsum([len(states) for _, states in self.moves]).tolist())


class ReplayedState(NamedTuple):
    """A state put back into a simulation.

    Attributes:
        asked: The pose under way.
        sub_goal: Its number.
        hand: Where the hand is.
        progress: Of the task, 0 to 1.
        things: (n, 3) metres in the world, the middle of each thing of the task.
    """

    asked: HandPose
    sub_goal: int
    hand: HandPose
    progress: float
    things: FloatArray


def demonstrate(table: Tabletop, *, frames: int = FRAMES) -> Solution | str:
    """What the task's expert does from the start, or why that is no demonstration.

    Args:
        table: The table, as at its start.
        frames: About as many states are kept, 50 a second at most.
    """
    done = carried_out(table)
    if not done.solved:
        return "a pose cannot be carried out" if done.moves and done.moves[-1].failed else str(done.reason)
    if not done.moves:
        return "it is solved from the start"
    # A move that ends as a state is due keeps it twice.
    moves = [tuple(dict.fromkeys(move.states)) for move in done.moves]
    stride = _stride([len(states) for states in moves], frames)
    start = Simulation(table).state()
    # The engine's state begins with its clock.
    seconds = round(moves[-1][-1].physics[0] - start.physics[0], 6)
    kept = (states[::-1][::stride][::-1] for states in moves)
    return Solution(start, tuple(zip(done.poses, kept, strict=True)), stride, seconds)


def replay(simulation: Simulation, solved: Solution) -> Iterator[ReplayedState]:
    """Every state of a demonstration, put back into `simulation` to be looked at before the next one is asked for."""
    first = solved.moves[0][0]
    todo = [(0, first, solved.start)]
    todo += [(n, pose, state) for n, (pose, states) in enumerate(solved.moves) for state in states]
    for sub_goal, pose, state in todo:
        simulation.restore(state)
        places = np.array([simulation.middle(thing) for thing in simulation.task.things]).reshape(-1, 3)
        yield ReplayedState(pose, sub_goal, simulation.hand, float(simulation.progress), places)


def _stride(counts: Sequence[int], frames: int) -> int:
    """One in how many of the states of each move to keep, so that there are about `frames` with the start."""

    def kept(stride: int) -> int:
        return 1 + sum(-(-count // stride) for count in counts)

    return min(range(1, max(counts) + 1), key=lambda stride: abs(kept(stride) - frames))
