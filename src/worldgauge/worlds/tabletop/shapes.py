"""Shapes that things on the table are made of, and their colours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.tabletop.contract import Colour
from worldgauge.worlds.tabletop.engine import mujoco
from worldgauge.worlds.tabletop.franka_arm import ARM_BIT, THING_BIT

COLOURS: Mapping[str, Colour] = {
    "red": (0.86, 0.12, 0.12),
    "green": (0.12, 0.62, 0.2),
    "blue": (0.12, 0.3, 0.85),
    "yellow": (0.95, 0.82, 0.1),
    "orange": (0.95, 0.5, 0.08),
    "purple": (0.5, 0.2, 0.68),
    "cyan": (0.1, 0.72, 0.76),
    "magenta": (0.85, 0.15, 0.6),
    "lime": (0.55, 0.85, 0.1),
    "navy": (0.06, 0.1, 0.4),
    "maroon": (0.45, 0.06, 0.12),
    "teal": (0.05, 0.42, 0.42),
    "olive": (0.45, 0.45, 0.08),
    "pink": (0.96, 0.6, 0.7),
    "brown": (0.42, 0.25, 0.12),
    "white": (0.95, 0.95, 0.95),
    "grey": (0.5, 0.5, 0.52),
    "black": (0.08, 0.08, 0.09),
    "azure": (0.4, 0.7, 0.98),
    "violet": (0.72, 0.5, 0.95),
}
"""Twenty colours that can be distinguished on the table."""
DISTINCT = 0.4
"""Between the colours of two things of a kind on one table, at least."""


def box(
    body: Any, half_m: Sequence[float], colour: Colour, *, at: Sequence[float] = (0, 0, 0), name: str = "", **more: Any
) -> Any:
    """Add a solid box to a body.

    Args:
        body: Body of the model (mujoco).
        half_m: Half its sides, metres.
        colour: RGB, 0 to 1.
        at: Centre in the body's frame, metres.
        name: Name of the geom.
        **more: Further fields of the geom.
    """
    return body.add_geom(
        type=mujoco().mjtGeom.mjGEOM_BOX, size=half_m, pos=at, **_solid(colour), **_named(name), **more
    )


def cylinder(
    body: Any,
    radius_m: float,
    half_m: float,
    colour: Colour,
    *,
    at: Sequence[float] = (0, 0, 0),
    name: str = "",
    **more: Any,
) -> Any:
    """Add a solid upright cylinder to a body.

    Args:
        body: Body of the model (mujoco).
        radius_m: Radius, metres.
        half_m: Half its height, metres.
        colour: RGB, 0 to 1.
        at: Centre in the body's frame, metres.
        name: Name of the geom.
        **more: Further fields of the geom.
    """
    return body.add_geom(
        type=mujoco().mjtGeom.mjGEOM_CYLINDER,
        size=(radius_m, half_m, 0),
        pos=at,
        **_solid(colour),
        **_named(name),
        **more,
    )


def mark(body: Any, half_m: Sequence[float], colour: Colour, *, at: Sequence[float] = (0, 0, 0), name: str = "") -> Any:
    """Add a coloured box without collisions, such as a target area on the table.

    Args:
        body: Body of the model (mujoco).
        half_m: Half its sides, metres.
        colour: RGB, 0 to 1.
        at: Centre in the body's frame, metres.
        name: Name of the geom.
    """
    return body.add_geom(
        type=mujoco().mjtGeom.mjGEOM_BOX,
        size=half_m,
        pos=at,
        rgba=(*colour, 1),
        contype=0,
        conaffinity=0,
        mass=0,
        **_named(name),
    )


def differing(rng: np.random.Generator, *, first: Sequence[str] = (), among: Iterable[str] = COLOURS) -> list[str]:
    """List colours of which no two look alike."""
    names = list(first)
    for name in map(str, rng.permutation(list(among))):
        if all(math.dist(COLOURS[name], COLOURS[one]) >= DISTINCT for one in names):
            names.append(name)
    return names


def places(
    rng: np.random.Generator,
    count: int,
    *,
    apart_m: float,
    low: tuple[float, float] = (0.05, -0.28),
    high: tuple[float, float] = (0.42, 0.28),
) -> FloatArray:
    """Draw places on the table by rejection.

    Args:
        rng: Generator.
        count: Number of places.
        apart_m: Smallest distance of any two, metres.
        low: Smallest x and y, metres.
        high: Largest x and y, metres.

    Returns:
        (count, 2) float64, metres.
    """
    for _ in range(200):
        found: list[FloatArray] = []
        for _ in range(50 * count):
            place = rng.uniform(low, high)
            if all(np.linalg.norm(place - other) >= apart_m for other in found):
                found.append(place)
            if len(found) == count:
                return np.array(found)
    raise WorldError(f"{count} places {apart_m} m apart do not fit on the table")


def _solid(colour: Colour) -> dict[str, Any]:
    return {"rgba": (*colour, 1), "contype": THING_BIT, "conaffinity": THING_BIT | ARM_BIT}


def _named(name: str) -> dict[str, str]:
    return {"name": name} if name else {}
