"""A table of a task, done by its expert or by hand."""

from collections.abc import Callable

import numpy as np

from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.simulation import Move, Simulation


def table(task: str, variation: int, seed: int) -> Simulation:
    return Simulation(Tabletop(task, variation, seed))


def by_expert(
    simulation: Simulation, *, most: int = 15, off_m: tuple[float, float] = (0, 0), after: Callable[[], object] = int
) -> list[Move]:
    """Let the expert go on until it is done; `off_m` is added to its poses, `after` called after each."""
    moves: list[Move] = []
    while len(moves) < most and not simulation.solved:
        pose = simulation.task.plan(simulation)[0]
        moves.append(simulation.move(pose._replace(x=pose.x + off_m[0], y=pose.y + off_m[1])))
        after()
    return moves


def waited(simulation: Simulation) -> None:
    """Half a second in which nobody does anything."""
    for _ in range(50):
        simulation._tick()


def far(one: np.ndarray, other: np.ndarray) -> float:
    """Metres along the table."""
    return float(np.linalg.norm(one[:2] - other[:2]))
