"""The list of designs: every one of them is drawn for one type of building and one tier of difficulty."""

from __future__ import annotations

from collections.abc import Callable

from worldgauge.suites.build.generate.structures._brush import Draw, Sketch
from worldgauge.worlds.blocks.blueprint import Tier

Design = Callable[[Draw], Sketch]

TYPES = (
    "houses",
    "animals",
    "items",
    "town_centers",
    "fictional_characters",
    "cars",
    "military_buildings",
    "buses",
    "emergency_vehicles",
    "miscellaneous",
    "famous_films",
    "working_vehicles",
    "bridges",
    "garden",
    "parks",
    "ruins",
    "ships",
    "sightseeing_buildings",
    "planes",
    "minecraft_villages",
    "lamps",
    "others",
)
"""Types of buildings, in the order of Table 5."""
TIERS: tuple[Tier, ...] = ("easy", "medium", "hard")

_DESIGNS: dict[tuple[str, Tier], list[Design]] = {}


def designs_of(type_: str, tier: Tier) -> tuple[Design, ...]:
    """Designs of a type and tier, in the order they were written."""
    return tuple(_DESIGNS[type_, tier])


def design(type_: str, tier: Tier) -> Callable[[Design], Design]:
    """Enters a design into the list."""

    def enter(drawn: Design) -> Design:
        _DESIGNS.setdefault((type_, tier), []).append(drawn)
        return drawn

    return enter
