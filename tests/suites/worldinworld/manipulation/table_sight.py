"""A table as an agent with an arm senses it, for tests of policies."""

from functools import cache

from worldgauge.suites.worldinworld.manipulation.env import TableEnv, TableSight
from worldgauge.worlds.tabletop import Tabletop


@cache
def table(task: str = "push_buttons", variation: int = 2, seed: int = 1) -> Tabletop:
    """The same table for all tests of a process: it takes a moment to build."""
    return Tabletop(task, variation, seed)


@cache
def table_sight(size_px: int = 448) -> TableSight:
    """What is sensed of it before anything has moved."""
    return TableEnv(table(), size_px).observe()
