"""Architectures and tasks of the build suite as everything else sees them, and how their ids are made."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from worldgauge.core.errors import UsageError
from worldgauge.suites.build.kinds import Kind
from worldgauge.worlds.blocks.blueprint import Blueprint

CODES: Mapping[Kind, str] = {
    "planning": "SP",
    "understanding": "SU",
    "creativity": "CR",
    "reasoning": "SR",
    "commonsense": "SC",
}
"""How the published ids call the kinds of tasks."""
PUBLISHED: Mapping[Kind, int] = {
    "planning": 946,
    "understanding": 473,
    "creativity": 1419,
    "reasoning": 1728,
    "commonsense": 50,
}
"""Tasks of the published benchmark (Table 4)."""
TYPES = (
    *("houses", "animals", "items", "town_centers", "fictional_characters", "cars", "military_buildings", "buses"),
    *("emergency_vehicles", "miscellaneous", "famous_films", "working_vehicles", "bridges", "garden", "parks"),
    *("ruins", "ships", "sightseeing_buildings", "planes", "minecraft_villages", "lamps", "others"),
)
"""Of buildings (Table 5)."""
OWN_SOURCE = 9
"""The digit of our own records; the published ones have smaller ones."""


@dataclass(frozen=True)
class Architecture:
    """A build with what is known of it. Unique by `id`.

    source: `data_resource`, where it comes from. difficulty: its factor, rounded as `difficulty_factor` rounds. image:
    a picture of it, from the folder data on. biome, image_urls, metadata: as the file has them, to be written again.
    """

    id: str
    name: str
    description: str
    source: str
    blueprint: Blueprint
    difficulty: float | None = None
    type: str | None = None
    image: str | None = None
    biome: str | None = None
    image_urls: tuple[str, ...] | None = None
    metadata: str | None = None


@dataclass(frozen=True)
class BuildTask:
    """One task. Unique by `id`.

    variant: "detailed" or "simple" of planning, "same", "different" or "judge" of reasoning, else "". architecture: id
    of what is to be built. materials: shown to the agent, block k being entry k - 1. images: what is shown, from the
    folder data on, with as many captions or none; options_image: the composed picture of a reasoning question, options:
    the single ones it is made of. answer: "A" to "D", "True" or "False", or the written one of commonsense. env: scene
    of a commonsense question.
    """

    id: str
    kind: Kind
    variant: str
    instruction: str
    architecture: str | None = None
    materials: tuple[str, ...] = ()
    difficulty: float | None = None
    images: tuple[str, ...] = ()
    captions: tuple[str, ...] = ()
    options_image: str | None = None
    options: tuple[str, ...] = ()
    answer: str | None = None
    env: str | None = None
    metadata: str | None = None


@dataclass(frozen=True)
class Fault:
    """A row that cannot be used. text: names file, row and field."""

    kind: Kind | Literal["architecture"]
    id: str
    text: str


@dataclass(frozen=True)
class BuildSet:
    """What a folder holds. faults: rows that cannot be used; warnings: what is worth knowing beside them."""

    root: Path
    architectures: Mapping[str, Architecture]
    tasks: Mapping[Kind, tuple[BuildTask, ...]]
    faults: tuple[Fault, ...] = ()
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Number of tasks that can be used."""
        return sum(map(len, self.tasks.values()))


def identifier(source_digit: int, number: int, type: str | None, name: str, description: str) -> str:
    """Id of an architecture: AR_, source digit and number, then a hash of the type, and one of name and description.

    The published second hash is of an unknown text; ours is of name, line feed and description, so ids of downloaded
    records cannot be made again: take them as they are. Raises UsageError for numbers that have no place.
    """
    if not (0 <= source_digit <= 9 and 0 <= number <= 9999):
        raise UsageError(f"an architecture has a source from 0 to 9 and a number to 9999, got {source_digit}, {number}")
    parts = (hashlib.sha256(text.encode()).hexdigest()[:16] for text in (type or "", f"{name}\n{description}"))
    return f"AR_{source_digit}{number:04d}_{'_'.join(parts)}"


def task_id(kind: Kind, architecture: str, variant: int | None = None) -> str:
    """Id of a task on an architecture, such as TSK_SP_90001_0. Raises UsageError when that has no id of its form."""
    parts = architecture.split("_")
    if len(parts) < 2 or parts[0] != "AR" or not (parts[1].isascii() and parts[1].isdecimal()):
        raise UsageError(f"'{architecture}' is no id of an architecture; give one such as AR_90001_..., see identifier")
    return f"TSK_{CODES[kind]}_{parts[1]}" + ("" if variant is None else f"_{variant}")
