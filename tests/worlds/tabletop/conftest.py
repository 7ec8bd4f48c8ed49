"""A table that a test furnishes itself."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.stl import write_meshes
from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.contract import TABLE_M, Colour, Memory, TableObject, TableScene, TableTask, table_tasks
from worldgauge.worlds.tabletop.shapes import COLOURS, box, cylinder
from worldgauge.worlds.tabletop.simulation import Simulation


class Furnished(TableTask):
    """A task without a goal: one body named "thing", at a place `above_m` the table. With a mass it can be moved."""

    instruction, wordings = "do nothing", ()

    def __init__(
        self, half_m: Any, x: float, y: float, above_m: float, mass: float = 0.0, shape: str = "box", things: Any = ()
    ) -> None:
        self._half_m, self._at, self._mass, self._shape = half_m, (x, y, TABLE_M + above_m), mass, shape
        self.things: tuple[TableObject, ...] = things
        self.painted: dict[str, Colour] = {}

    def add(self, spec: Any) -> None:
        body = spec.worldbody.add_body(name="thing", pos=self._at)
        weight = {"mass": self._mass} if self._mass else {}
        if self._mass:
            body.add_freejoint()
        if self._shape == "box":
            box(body, self._half_m, COLOURS["red"], name="red", **weight)
        else:
            cylinder(body, self._half_m[0], self._half_m[2], COLOURS["red"], name="red", **weight)

    def progress(self, scene: TableScene) -> float:
        return 0.0

    def colours(self, memory: Memory) -> dict[str, Colour]:
        return self.painted


@pytest.fixture
def furnished() -> Iterator[Callable[..., Simulation]]:
    """A simulation of a table with a `Furnished` of these arguments."""
    made: list[Furnished] = []

    def task(variation: int, rng: np.random.Generator) -> Furnished:
        return made[-1]

    def build(*args: Any, **more: Any) -> Simulation:
        made.append(Furnished(*args, **more))
        return Simulation(Tabletop("furnished"))

    table_tasks.register("furnished", variations=1)(task)
    yield build
    del table_tasks._entries["furnished"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of meshes for the arm."""
    return write_meshes(tmp_path)
