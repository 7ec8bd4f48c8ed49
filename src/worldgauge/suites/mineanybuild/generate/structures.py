"""Generated structures to build: 22 types by three tiers of difficulty."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from worldgauge.core.errors import UsageError
from worldgauge.suites.mineanybuild.curation import canonical
from worldgauge.suites.mineanybuild.format import TYPES
from worldgauge.suites.mineanybuild.generate import (  # noqa: F401  (their import enters their designs)
    structure_buildings,
    structure_creatures,
    structure_grounds,
    structure_vehicles,
)
from worldgauge.suites.mineanybuild.generate.structure_brush import TIERS, Draw, designs_of
from worldgauge.worlds.blocks.blueprint import Blueprint, difficulty_factor, tier_of

__all__ = ["TIERS", "TYPES", "Fact", "GeneratedStructure", "structures"]

Fact = tuple[str, int, int]
"""What a part is, and its lowest and highest layer, counted from 0."""
_TRIES = 40


@dataclass(frozen=True, eq=False)
class GeneratedStructure:
    """A structure: its name as in "Build a NAME.", its type of TYPES, a sentence about it, its blocks and parts."""

    name: str
    type: str
    description: str
    blueprint: Blueprint
    facts: tuple[Fact, ...]


def structures(seed: int, count: int = 66) -> Iterator[GeneratedStructure]:
    """Yield structures: each type as easy, medium and hard one (section 3.4), then all again, varied.

    No two have one name or are equal after a turn about the vertical or a mirroring; a longer run begins with the same
    ones.

    Examples:
        >>> [built.type for built in structures(seed=0, count=4)]
        ['houses', 'houses', 'houses', 'animals']
    """
    if count < 0:
        raise UsageError(f"structures: count is 0 or more, got {count}")
    names: set[str] = set()
    shapes: set[bytes] = set()
    for number in range(count):
        tier = TIERS[number % len(TIERS)]
        type_ = TYPES[number // len(TIERS) % len(TYPES)]
        designs = designs_of(type_, tier)
        paint = designs[number // (len(TIERS) * len(TYPES)) % len(designs)]
        for attempt in range(_TRIES):
            canvas = paint(Draw(np.random.default_rng([seed, number, attempt])))
            blueprint = canvas.blueprint()
            factor = difficulty_factor(blueprint.blocks, blueprint.size)
            shape = canonical(blueprint)
            if factor is not None and tier_of(factor) == tier and shape not in shapes:
                break
        else:
            raise UsageError(f"structures: no new {tier} one of {type_} in {_TRIES} draws; request fewer than {number}")
        name, number_of_name = canvas.name, 1
        while name in names:
            number_of_name += 1
            name = f"{canvas.name} number {number_of_name}"
        names.add(name)
        shapes.add(shape)
        yield GeneratedStructure(name, type_, canvas.description, blueprint, canvas.parts())
