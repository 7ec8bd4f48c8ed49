"""A table that a test furnishes itself."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.stl import write_meshes
from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.contract import Colour, Memory, TableScene, Thing, table_tasks
from worldgauge.worlds.tabletop.pose_plans import HandPose
from worldgauge.worlds.tabletop.simulation import Simulation

Furnish = Callable[[Any], None]


class Furnished:
    """A task without a goal: what `furnish` puts on the table, and what of it is told of."""

    instruction = "do nothing"
    wordings: tuple[str, ...] = ()

    def __init__(self, furnish: Furnish, things: tuple[Thing, ...]) -> None:
        self.things, self._furnish = things, furnish
        self.painted: dict[str, Colour] = {}

    def add(self, spec: Any) -> None:
        self._furnish(spec)

    def noted(self, scene: TableScene, memory: Memory) -> Memory:
        return memory

    def progress(self, scene: TableScene) -> float:
        return 0.0

    def colours(self, memory: Memory) -> Mapping[str, Colour]:
        return self.painted

    def finish(self, scene: TableScene) -> None:
        pass

    def plan(self, scene: TableScene) -> list[HandPose]:
        return []


@pytest.fixture
def furnished() -> Iterator[Callable[..., Simulation]]:
    """furnished(furnish, *things): a simulation of a table with what `furnish(spec)` puts on it."""
    made: list[tuple[Furnish, tuple[Thing, ...]]] = []

    def task(variation: int, rng: np.random.Generator) -> Furnished:
        return Furnished(*made[-1])

    def build(furnish: Furnish, *things: Thing) -> Simulation:
        made.append((furnish, things))
        return Simulation(Tabletop("furnished"))

    table_tasks.register("furnished", variations=1)(task)
    yield build
    del table_tasks._entries["furnished"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of meshes for the arm."""
    return write_meshes(tmp_path)
