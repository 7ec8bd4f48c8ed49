"""A table as an agent with an arm senses it (`agents.contract.TableObservation`), for tests of policies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

from worldgauge.agents.contract import Depth, Image, SeenThing
from worldgauge.geometry import Camera, FloatArray
from worldgauge.pose_plans import HandPose
from worldgauge.worlds import View
from worldgauge.worlds.tabletop.picture import front_camera, front_pose
from worldgauge.worlds.tabletop.simulation import Simulation
from worldgauge.worlds.tabletop.world import Tabletop


@cache
def table(task: str = "push_buttons", variation: int = 2, seed: int = 1) -> Tabletop:
    """The same table for all tests of a process: it takes a moment to build."""
    return Tabletop(task, variation, seed)


class TableSight:
    """What is sensed of a table now; its pictures are rendered once, when they are first asked for."""

    def __init__(self, world: Tabletop | None = None, size_px: int = 448) -> None:
        self.simulation = Simulation(world or table())
        self.pose: FloatArray = front_pose()
        self.camera: Camera = front_camera(size_px)

    @property
    def hand(self) -> HandPose:
        return self.simulation.hand

    @property
    def things(self) -> tuple[SeenThing, ...]:
        return tuple(
            SeenThing(thing.name, thing.category, thing.colour, self._middle(thing), thing.half_m)
            for thing in self.simulation.task.things
        )

    @property
    def front(self) -> Image:
        return self._view.rgb

    @property
    def depth(self) -> Depth:
        return self._view.depth

    @property
    def instances(self) -> Any:
        return self._view.instance

    def expert(self) -> Sequence[HandPose]:
        return self.simulation.task.plan(self.simulation)

    @cached_property
    def _view(self) -> View:
        return self.simulation.view(self.pose, self.camera)

    def _middle(self, thing: Any) -> tuple[float, float, float]:
        place = self.simulation.place(thing.body)
        x, y, z = place + self.simulation.rotation(thing.body) @ (0.0, 0.0, thing.middle_m)
        return float(x), float(y), float(z)
