"""Architectures and tasks of the build suite as the package sees them, and how their ids are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from worldgauge.core.errors import UsageError
from worldgauge.core.io import digest_of
from worldgauge.suites.build.kinds import Kind
from worldgauge.worlds.blocks.blueprint import Blueprint

CODES: Mapping[Kind, str] = {
    "planning": "SP",
    "understanding": "SU",
    "creativity": "CR",
    "reasoning": "SR",
    "commonsense": "SC",
}
"""Codes of the kinds of tasks in the published ids."""
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
"""Source digit of our own records; the published ones are smaller."""


@dataclass(frozen=True)
class Architecture:
    """A build with what is known of it.

    Attributes:
        id: Unique.
        name: Its name.
        description: Its description.
        source: `data_resource`, where it comes from.
        blueprint: Its blocks.
        difficulty: Its factor, rounded as `difficulty_factor` rounds.
        type: Type of structure.
        image: A picture of it, path within the folder data.
        biome: As in the file, to be written back.
        image_urls: As in the file, to be written back.
        metadata: As in the file, to be written back.
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
    """One task.

    Attributes:
        id: Unique.
        kind: Kind of task.
        variant: Planning: "detailed" or "simple". Reasoning: "same", "different" or "judge". Else "".
        instruction: What the agent is asked.
        architecture: Id of what is to be built.
        materials: Shown to the agent; block k is entry k - 1.
        difficulty: Difficulty factor.
        images: Pictures that are shown, paths within the folder data.
        captions: One per picture, or none.
        options_image: Composed picture of a reasoning question.
        options: The single pictures it is made of.
        answer: "A" to "D", "True" or "False", or the written one of commonsense.
        env: Scene of a commonsense question.
        metadata: As in the file.
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
    """A row that cannot be used.

    Attributes:
        kind: Kind of task, or "architecture".
        id: Id of the row.
        text: The reason; names file, row and field.
    """

    kind: Kind | Literal["architecture"]
    id: str
    text: str


@dataclass(frozen=True)
class BuildSet:
    """What a folder holds.

    Attributes:
        root: The folder.
        architectures: By id.
        tasks: By kind.
        faults: Rows that cannot be used.
        warnings: What else is worth knowing.
    """

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

    The published second hash is of an unknown text; ours is of name, line feed and description. So ids of downloaded
    records cannot be computed again: take them as they are.

    Args:
        source_digit: 0 to 9.
        number: Up to 9999.
        type: Type of structure.
        name: Its name.
        description: Its description.

    Raises:
        UsageError: For numbers out of range.
    """
    if not (0 <= source_digit <= 9 and 0 <= number <= 9999):
        raise UsageError(f"an architecture has a source from 0 to 9 and a number to 9999, got {source_digit}, {number}")
    parts = (digest_of(text)[:16] for text in (type or "", f"{name}\n{description}"))
    return f"AR_{source_digit}{number:04d}_{'_'.join(parts)}"


def task_id(kind: Kind, architecture: str, variant: int | None = None) -> str:
    """Return the id of a task on an architecture, such as TSK_SP_90001_0.

    Args:
        kind: Kind of task.
        architecture: Its id.
        variant: Number of the task; None for the only one of its kind.

    Raises:
        UsageError: If the architecture has no id of the right form.
    """
    parts = architecture.split("_")
    if len(parts) < 2 or parts[0] != "AR" or not (parts[1].isascii() and parts[1].isdecimal()):
        raise UsageError(f"'{architecture}' is no id of an architecture; give one such as AR_90001_..., see identifier")
    return f"TSK_{CODES[kind]}_{parts[1]}" + ("" if variant is None else f"_{variant}")
