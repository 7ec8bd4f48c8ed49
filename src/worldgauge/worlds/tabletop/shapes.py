"""Shapes that things on the table are made of, and their colours."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.tabletop.contract import Colour
from worldgauge.worlds.tabletop.engine import mujoco
from worldgauge.worlds.tabletop.franka_arm import ARM_BIT, THING_BIT

COLOURS: Mapping[str, Colour] = {
    name: (red, green, blue)
    for name, (red, green, blue) in json.loads(Path(__file__).with_name("colours.json").read_text("utf-8")).items()
}
"""Twenty colours that can be distinguished on the table."""
EVERY_COLOUR = dict(COLOURS, gray=COLOURS["grey"], silver=(0.75, 0.75, 0.77), rose=(0.95, 0.25, 0.5))
"""Those and the other ones of released trials."""
DISTINCT = 0.4
"""Between the colours of two things of a kind on one table, at least."""


def box(body: Any, half_m: Sequence[float], colour: Colour, **more: Any) -> Any:
    """Add a solid box to a body (mujoco); further fields are those of `_geom`."""
    return _geom(body, "BOX", half_m, colour, contype=THING_BIT, conaffinity=THING_BIT | ARM_BIT, **more)


def cylinder(body: Any, radius_m: float, half_m: float, colour: Colour, **more: Any) -> Any:
    """Add a solid upright cylinder of half a height to a body (mujoco); further fields are those of `_geom`."""
    size = (radius_m, half_m, 0)
    return _geom(body, "CYLINDER", size, colour, contype=THING_BIT, conaffinity=THING_BIT | ARM_BIT, **more)


def mark(body: Any, half_m: Sequence[float], colour: Colour, **more: Any) -> Any:
    """Add a coloured box without collisions, such as a target area on the table."""
    return _geom(body, "BOX", half_m, colour, contype=0, conaffinity=0, mass=0, **more)


def differing(rng: np.random.Generator, *, first: Sequence[str] = (), among: Iterable[str] = COLOURS) -> list[str]:
    """List colours of which no two look alike."""
    names = list(first)
    for name in map(str, rng.permutation(list(among))):
        if all(math.dist(COLOURS[name], COLOURS[one]) >= DISTINCT for one in names):
            names.append(name)
    return names


def places(
    rng: np.random.Generator, count: int, *, apart_m: float, low: Any = (0.05, -0.28), high: Any = (0.42, 0.28)
) -> FloatArray:
    """Sample places (count, 2) on the table by rejection, metres; no two are nearer than `apart_m`."""
    for _ in range(200):
        found: list[FloatArray] = []
        for _ in range(50 * count):
            place = rng.uniform(low, high)
            if all(np.linalg.norm(place - other) >= apart_m for other in found):
                found.append(place)
            if len(found) == count:
                return np.array(found)
    raise WorldError(f"{count} places {apart_m} m apart do not fit on the table")


def _geom(
    body: Any,
    kind: str,
    size: Sequence[float],
    colour: Colour,
    *,
    at: Sequence[float] = (0, 0, 0),
    name: str = "",
    **more: Any,
) -> Any:
    """Add a shape at a place in the body's frame, metres."""
    named = {"name": name} if name else {}
    kind = getattr(mujoco().mjtGeom, f"mjGEOM_{kind}")
    return body.add_geom(type=kind, size=size, pos=at, rgba=(*colour, 1), **named, **more)
