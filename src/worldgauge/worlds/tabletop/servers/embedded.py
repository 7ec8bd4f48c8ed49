"""The embedded table as a server of tables, for another process or machine, and to test the protocol:

python -m worldgauge_serve worldgauge.worlds.tabletop.servers.embedded:EmbeddedTables
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worldgauge.core.errors import WorldError
from worldgauge.version import __version__
from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.contract import table_tasks
from worldgauge.worlds.tabletop.pose_plans import WORKSPACE_HIGH_M, WORKSPACE_LOW_M
from worldgauge.worlds.tabletop.simulation import (
    FRONT_FOV_DEG,
    PUBLISHED_FOV_DEG,
    WRIST_FOV_DEG,
    TableState,
    UnstableError,
)
from worldgauge_serve import Acted, Table, WorldSpec

VIEWS = {"front": FRONT_FOV_DEG, "published": PUBLISHED_FOV_DEG, "wrist": WRIST_FOV_DEG}


class EmbeddedTables:
    """Tables of the embedded bench."""

    def __init__(self) -> None:
        entries = [table_tasks.entry(name) for name in table_tasks.names()]
        tasks = [{"name": one.name, "variations": one.facts["variations"], "words": one.summary} for one in entries]
        self.spec = WorldSpec(
            "tabletop",
            tasks=tasks,
            views=[{"name": name, "camera": {"vfov_deg": fov}} for name, fov in VIEWS.items()],
            workspace=(WORKSPACE_LOW_M, WORKSPACE_HIGH_M),
            expert=True,
            settings={"version": __version__},
        )

    def open(self, task: str, variation: int, seed: int, layout: Any) -> EmbeddedTable:
        """Build a table."""
        return EmbeddedTable(Tabletop(task, variation, seed, layout=layout))


class EmbeddedTable(Table):
    """A table as others see it."""

    def __init__(self, world: Tabletop) -> None:
        self._simulation, task = world.simulation(), world.task
        self.instruction, self.wordings = task.instruction, task.wordings
        self.caption = Tabletop.describe(**world.facts.params)
        self.digest = world.facts.digest or ""
        names = ("name", "category", "colour", "half_m")
        self.things = [{name: getattr(thing, name) for name in names} for thing in task.things]

    @property
    def hand(self) -> Any:
        """Pose of the hand (8,)."""
        return np.array(self._simulation.hand)

    @property
    def places(self) -> Any:
        """Middles of the things (n, 3)."""
        return [self._simulation.middle(thing) for thing in self._simulation.task.things]

    @property
    def progress(self) -> float:
        """Progress of the task."""
        return self._simulation.progress

    def pose(self, view: str) -> Any:
        """Camera-to-world of a view."""
        return self._simulation.pose(view)

    def picture(self, view: str, size_px: int, depth: bool, instances: bool) -> dict[str, Any]:
        """What a view shows."""
        pose, camera = self._simulation.pose(view), self._simulation.camera(size_px, view)
        if view == "wrist":
            return {"rgb": self._simulation.wrist(size_px)}
        if not depth and not instances:
            return {"rgb": self._simulation.rgb(pose, camera)}
        seen = self._simulation.view(pose, camera)
        more = {"depth": (depth, seen.depth), "instances": (instances, seen.instance)}
        return {"rgb": seen.rgb, **{name: array for name, (wanted, array) in more.items() if wanted}}

    def act(self, pose: Any) -> Acted:
        """Carry out a pose."""
        try:
            move = self._simulation.move(pose)
        except UnstableError as error:
            return Acted(str(error), True, (), 0.0, unstable=True)
        return Acted(move.reason, move.failed, [_bytes_of(state) for state in move.states], move.seconds)

    def save(self) -> bytes:
        """The whole present state."""
        return _bytes_of(self._simulation.state())

    def restore(self, state: bytes) -> None:
        """Put a state back."""
        try:
            numbers = np.frombuffer(state, "<f8").tolist()
            count = int(numbers[0])
            self._simulation.restore(TableState.of((numbers[1 : 1 + count], numbers[1 + count : -1], numbers[-1])))
        except (WorldError, IndexError, OverflowError) as error:
            raise ValueError(str(error)) from None

    def plan(self) -> Any:
        """See `Table.plan`."""
        return np.array(self._simulation.task.plan(self._simulation)).reshape(-1, 8)

    def finish(self) -> None:
        """See `Table.finish`."""
        self._simulation.task.finish(self._simulation)


def _bytes_of(state: TableState) -> bytes:
    """How many numbers of physics there are, those, the memory, and the gripper."""
    return np.array([len(state.physics), *state.physics, *state.memory, state.gripper], "<f8").tobytes()
