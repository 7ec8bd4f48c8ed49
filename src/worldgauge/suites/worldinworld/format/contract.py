"""The file format of one task's episodes: which folder, which files, how a row is read, what a check says of it."""

from __future__ import annotations

import gzip
import io
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError
from worldgauge.core.io import check_name, write_file
from worldgauge.engine.collection import Finding, Spread
from worldgauge.suites.worldinworld.format.rows import EpisodeRow, habitat_stance
from worldgauge.worlds import open_world
from worldgauge.worlds.walking.floor import FloorPlan, Walkable
from worldgauge.worlds.walking.ground import ground_of
from worldgauge.worlds.walking.primitives import Stance


class TaskEpisode(Protocol):
    """What every episode has: a frozen dataclass with plain fields, and paths of pictures that belong to it."""

    @property
    def id(self) -> str:
        """Unique among those of its task."""

    @property
    def scene(self) -> str:
        """Name of the scene."""


class HomeEpisode(TaskEpisode, Protocol):
    """An episode that begins where somebody stands in a home."""

    @property
    def start(self) -> Stance:
        """Where the agent starts."""

    @property
    def height_m(self) -> float:
        """Height of the eye above the floor."""


@dataclass(frozen=True)
class EpisodeFault:
    """An episode that cannot be used: its task, its id or one made from its row, and the reason in one line."""

    kind: str
    id: str
    text: str


@dataclass(frozen=True)
class EpisodeSet:
    """The content of a folder, in the order of its files.

    `scenes` are None if they cannot be built here (`scene_missing` gives the reason); `notes` are about the folder.
    """

    episodes: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    scenes: Mapping[str, WorldFacts | None] = field(default_factory=dict)
    faults: tuple[EpisodeFault, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.episodes.values()))


EpisodeT = TypeVar("EpisodeT", bound=TaskEpisode)
Worlds = Mapping[str, WorldFacts | None]


@dataclass
class FoundFiles:
    """What the files of a folder hold: by content, path and value of its file, and further files of the same."""

    parts: dict[str, tuple[Path, Any]] = field(default_factory=dict)
    more: dict[str, list[tuple[Path, Any]]] = field(default_factory=dict)
    faults: list[EpisodeFault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class EpisodeCheck:
    """What a check says of usable episodes: means by `EpisodeFormat.measures`, tallies by `EpisodeFormat.tallied`."""

    findings: tuple[Finding, ...] = ()
    pictures: int = 0
    means: Mapping[str, Spread | None] = field(default_factory=dict)
    tallies: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


class EpisodeFormat(ABC, Generic[EpisodeT]):
    """The files of one task's episodes, in their own folder; their content identifies them.

    Attributes:
        key: Field of the JSON object that lists the episodes, unique among tasks; empty without such an object.
        contents: Words for what each file holds, by content; that of the episodes is called as the task.
        folders: Names of the folder: ours, and the published one if there is one.
        published: Episodes of the published benchmark; None if it has none.
        measures: Column titles of a check's table, by name of the mean; `measures_note` explains them below it.
        tallied: Words for the line of each tally below the table.
        discordance: Share of episodes that two models ten points apart end differently (measured; for scores, the mean
            square of differences).
    """

    kind: ClassVar[str]
    key: ClassVar[str]
    contents: ClassVar[Mapping[str, str]]
    folders: ClassVar[tuple[str, ...]]
    published: ClassVar[int | None] = None
    measures: ClassVar[Mapping[str, str]] = {}
    measures_note: ClassVar[str] = ""
    tallied: ClassVar[Mapping[str, str]] = {}
    discordance: ClassVar[float | None] = None

    # reading

    def content_of(self, value: Any) -> str | None:
        """Which of `contents` the value of a JSON file is that has no task's `key`; None for none of them."""
        return None

    def rows(self, value: Any) -> Sequence[Any]:
        """The rows in the value of the episodes' file."""
        rows: Sequence[Any] = value[self.key]
        return rows

    def merged(self, files: Sequence[tuple[Path, Any]]) -> Any:
        """The value of one file in place of those of several in one folder; None where there must be one."""
        return None

    @abstractmethod
    def read(self, row: EpisodeRow) -> EpisodeT:
        """Read one row; KeyError for a missing field, ValueError or DataError for a wrong one."""

    def completed(self, found: FoundFiles, episodes: Iterator[EpisodeT]) -> Iterator[EpisodeT]:
        """The episodes with what lies beside their file; one that cannot be used becomes a fault of `found`."""
        return episodes

    def lacks(self, world: WorldFacts) -> str | None:
        """Why its episodes cannot be asked in a world that is at hand, in one line; None where they can."""
        return None

    # checking

    def check(self, episodes: Sequence[EpisodeT], worlds: Worlds, *, decode: bool) -> EpisodeCheck:
        """What is worth knowing of all usable episodes; `decode`: of every picture, not only of its header."""
        return EpisodeCheck()

    def check_in_world(self, episode: EpisodeT, world: WorldFacts) -> Iterator[str]:
        """Build the world of an episode, and say what does not fit it, one line each."""
        return iter(())


def counted(names: Iterable[str]) -> dict[str, int]:
    """How often each name is there, sorted by name."""
    return dict(sorted(Counter(names).items()))


VERSION = "worldgauge-1"


def distinct(episodes: Iterable[EpisodeT]) -> list[EpisodeT]:
    """The episodes as a list; DataError for two of one id, and for an id that is not allowed as a name."""
    listed = list(episodes)
    seen: set[str] = set()
    for episode in listed:
        if check_name(episode.id, "episodes") in seen:
            raise DataError(f"the id '{episode.id}' is there twice; give every episode its own")
        seen.add(episode.id)
    return listed


def put_json(path: Path, content: Any, *, packed: bool = False) -> Path:
    """Write a JSON file, gzipped if `packed`; return its path."""
    text = (json.dumps(content, indent=1, allow_nan=False) + "\n").encode()
    write_file(path, _gzipped(text) if packed else text)
    return path


def place_fields(which: str, stance: Stance) -> dict[str, list[float]]:
    """The fields `<which>_position` and `<which>_rotation` of a stance, in the simulator's frame."""
    position, rotation = habitat_stance(stance)
    return {f"{which}_position": position, f"{which}_rotation": rotation}


def _gzipped(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as packed:
        packed.write(data)
    return buffer.getvalue()


HomeEpisodeT = TypeVar("HomeEpisodeT", bound=HomeEpisode)


class HomeFormat(EpisodeFormat[HomeEpisodeT]):
    """The files of a task of a walker."""

    def places(self, episode: HomeEpisodeT) -> Mapping[str, Stance]:
        """Where somebody must be able to stand, by name."""
        return {"start": episode.start}

    def check_in_world(self, episode: HomeEpisodeT, world: WorldFacts) -> Iterator[str]:
        """Places where nobody can stand."""
        built = open_world(world)
        if not isinstance(getattr(built, "floor", None), FloorPlan):
            return
        ground = ground_of(cast(Walkable, built))
        for name, stance in self.places(episode).items():
            if not ground.stands(stance.at):
                yield f"the {name} at ({stance.x:.2f}, {stance.y:.2f}) is no place to stand"


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

    @property
    def counts(self) -> Mapping[str, int]:
        """What is asked for: numbers of episodes, by name of the task or by what is told apart in it."""

    def find(self, out: Path, settings: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
        """Find the episodes, and write their pictures into `part_folder`.

        Returns plain JSON: "asked" (counts), "episodes" by task, "discards" by reason, "failure", and "world" or
        "worlds".
        """


class EpisodeSampler(ABC):
    """Collects the episodes of one task. Of its `Options` the one named like the task is the number of episodes."""

    kind: ClassVar[str]
    Options: ClassVar[type]
    pictures: ClassVar[int] = 0

    def check_installed(self) -> None:  # noqa: B027 - most need nothing
        """Check that what it needs is installed."""

    def shares(self, settings: Mapping[str, Any]) -> Iterator[Share]:
        """Its parts in a collection of these settings. A task in homes has none of its own: a home is one part."""
        return iter(())

    def release(self, root: Path, count: int) -> tuple[str, Sequence[Share]]:
        """Digest of its episodes in a released folder, and parts of a collection of at most `count` of them."""
        return "", ()

    def is_kept(self, out: Path, share: Share, facts: EpisodeFacts) -> bool:
        """Whether the pictures of an episode that was found are in place."""
        return True

    @abstractmethod
    def publish(self, out: Path, found: Sequence[tuple[Share, EpisodeFacts]]) -> None:
        """Write the published files of all episodes."""


def part_folder(out: Path, share: Share) -> Path:
    """Where the pictures of a part lie until they are published."""
    return out / "parts" / share.scene
