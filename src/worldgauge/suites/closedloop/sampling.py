"""What a task says of collecting its episodes: how many, in which parts, how they are found and published."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

Progress = Callable[[int, int], None]
"""Called with episodes found, and of how many."""
EpisodeFacts = Mapping[str, Any]
"""What was found of one episode, plain JSON values; "number" is its number."""
MOST_EPISODES = 20_000
"""Of one task in a collection."""


class Share(Protocol):
    """The episodes that one part of a collection holds: one item, found at once."""

    @property
    def scene(self) -> str:
        """Name of the part."""
        ...

    @property
    def counts(self) -> Mapping[str, int]:
        """What is asked for: numbers of episodes, by name of the task or by what is told apart in it."""
        ...

    def find(self, out: Path, settings: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
        """Find them, and write their pictures into `part_folder`.

        Returns:
            Plain JSON values: "asked", the counts; "episodes" by name of the task; "discards" by reason; "failure";
            and "world", or "worlds" by name.
        """
        ...


class EpisodeSampler(ABC):
    """Collects the episodes of one task.

    Attributes:
        Options: Dataclass of its options; the one called as the task says how many episodes.
    """

    kind: ClassVar[str]
    Options: ClassVar[type]
    pictures: ClassVar[int] = 0

    def check_installed(self) -> None:  # noqa: B027 - most need nothing
        """Check that what it needs is installed."""

    def shares(self, settings: Mapping[str, Any]) -> Iterator[Share]:
        """Its parts in a collection of these settings. A task in homes has none of its own: a home is one part."""
        return iter(())

    def is_kept(self, out: Path, share: Share, facts: EpisodeFacts) -> bool:
        """Whether the pictures of an episode that was found are in place."""
        return True

    @abstractmethod
    def publish(self, out: Path, found: Sequence[tuple[Share, EpisodeFacts]]) -> None:
        """Write the published files of all episodes."""


def part_folder(out: Path, share: Share) -> Path:
    """Where the pictures of a part lie until they are published."""
    return out / "parts" / share.scene
