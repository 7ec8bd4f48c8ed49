"""The scripted expert at work: asked again after every pose, since things do not always go as planned."""

from __future__ import annotations

from dataclasses import dataclass

from worldgauge.worlds.tabletop.pose_plans import HandPose, Poses
from worldgauge.worlds.tabletop.simulation import Move, Simulation, UnstableError
from worldgauge.worlds.tabletop.world import Tabletop

MOST_POSES = 15
"""As many as an agent has (World-in-World, table of section 2)."""


@dataclass(frozen=True)
class Done:
    """What the expert did.

    Attributes:
        poses: The poses it asked for.
        moves: The move to each pose.
        reason: Why the task is not solved; None if it is.
    """

    poses: Poses
    moves: tuple[Move, ...]
    reason: str | None

    @property
    def solved(self) -> bool:
        """Whether the task is."""
        return self.reason is None


def carried_out(table: Tabletop, most: int = MOST_POSES) -> Done:
    """Let the expert solve a table from its start.

    Args:
        table: The table.
        most: Largest number of poses.

    Returns:
        Poses, moves, and why it ended early, if it did.
    """
    simulation = Simulation(table)
    poses: list[HandPose] = []
    moves: list[Move] = []
    reason = None
    try:
        while not simulation.solved and reason is None:
            plan = table.task.plan(simulation)
            if not plan or len(poses) == most:
                reason = "it has no plan" if not plan else f"not solved after {most} poses"
                break
            poses.append(plan[0])
            moves.append(simulation.move(plan[0]))
            if moves[-1].failed:
                reason = moves[-1].reason
    except UnstableError as error:
        reason = str(error)
    return Done(tuple(poses), tuple(moves), reason)
