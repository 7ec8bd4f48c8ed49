"""Episodes of the closed loop as the package sees them; each task's own class lies in its folder.

Stances are in the world frame, metres and radians; files keep them in the simulator's frame (`coordinates`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from worldgauge.core.episode import WorldFacts
from worldgauge.worlds.walking.stance import Stance


class Episode(Protocol):
    """What every episode has: a frozen dataclass with plain fields, and paths of pictures that belong to it."""

    @property
    def id(self) -> str:
        """Unique among those of its task."""
        ...

    @property
    def scene(self) -> str:
        """Name of the scene."""
        ...


class HomeEpisode(Episode, Protocol):
    """An episode that begins where somebody stands in a home."""

    @property
    def start(self) -> Stance:
        """Where the agent starts."""
        ...

    @property
    def height_m(self) -> float:
        """Height of the eye above the floor."""
        ...


@dataclass(frozen=True)
class Fault:
    """An episode that cannot be used.

    Attributes:
        kind: Name of its task.
        id: Its own id where it has a usable one, else one made from its row.
        text: The reason, one line.
    """

    kind: str
    id: str
    text: str


@dataclass(frozen=True)
class ClosedLoop:
    """What a folder holds, in the order of its files.

    Attributes:
        episodes: Usable episodes by name of the task.
        scenes: Every scene of the episodes; None where it cannot be built here (`scene_missing` gives the reason).
        faults: Episodes that are in the files and not usable.
        notes: About the folder, one line each, such as a file that was not used.
    """

    episodes: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    scenes: Mapping[str, WorldFacts | None] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.episodes.values()))
