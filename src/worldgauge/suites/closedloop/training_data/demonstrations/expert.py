"""The table's expert at work: the poses it asks for, and the states on the way."""

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
"""Approximate number of frames of a demonstration in the paper."""


@dataclass(frozen=True)
class Solution:
    """The expert's solution.

    Attributes:
        start: The state before.
        moves: Each pose asked for, and the states on the way to it; the last one is where it ended.
        stride: One in `stride` of the simulation's states is kept, counted back from the end of each move, so that
            every end is among them.
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
        """States per second of simulated time; at the start of a move the first may follow sooner."""
        return 1 / (RECORD_S * self.stride)

    @property
    def reached(self) -> tuple[int, ...]:
        """The frame in which each pose was done, the start being frame 0."""
        return tuple(np.cumsum([len(states) for _, states in self.moves]).tolist())


class ReplayedState(NamedTuple):
    """A state restored in a simulation.

    Attributes:
        asked: The pose pursued.
        sub_goal: Its number.
        hand: Pose of the hand.
        progress: Of the task, in [0, 1].
        things: (n, 3) centre of each thing of the task, world frame, metres.
    """

    asked: HandPose
    sub_goal: int
    hand: HandPose
    progress: float
    things: FloatArray


def demonstrate(table: Tabletop, *, frames: int = FRAMES) -> Solution | str:
    """Run the task's expert from the start.

    Args:
        table: The table, at its start.
        frames: About as many states are kept, at most 50 per second.

    Returns:
        The solution, or why there is none.
    """
    done = carried_out(table)
    if not done.solved:
        return "a pose cannot be carried out" if done.moves and done.moves[-1].failed else str(done.reason)
    if not done.moves:
        return "it is solved from the start"
    # A move that ends when a state is due stores it twice.
    moves = [tuple(dict.fromkeys(move.states)) for move in done.moves]
    stride = _stride([len(states) for states in moves], frames)
    start = Simulation(table).state()
    # The engine's state begins with its clock.
    seconds = round(moves[-1][-1].physics[0] - start.physics[0], 6)
    kept = (states[::-1][::stride][::-1] for states in moves)
    return Solution(start, tuple(zip(done.poses, kept, strict=True)), stride, seconds)


def replay(simulation: Simulation, solved: Solution) -> Iterator[ReplayedState]:
    """Restore every state of a demonstration in turn, so that it can be rendered before the next one is asked for.

    Args:
        simulation: Of the same table.
        solved: The expert's solution.
    """
    first = solved.moves[0][0]
    todo = [(0, first, solved.start)]
    todo += [(n, pose, state) for n, (pose, states) in enumerate(solved.moves) for state in states]
    for sub_goal, pose, state in todo:
        simulation.restore(state)
        places = np.array([simulation.middle(thing) for thing in simulation.task.things]).reshape(-1, 3)
        yield ReplayedState(pose, sub_goal, simulation.hand, float(simulation.progress), places)


def _stride(counts: Sequence[int], frames: int) -> int:
    """Return one in how many of the states of each move to keep, so that there are about `frames` with the start."""

    def kept(stride: int) -> int:
        return 1 + sum(-(-count // stride) for count in counts)

    return min(range(1, max(counts) + 1), key=lambda stride: abs(kept(stride) - frames))
