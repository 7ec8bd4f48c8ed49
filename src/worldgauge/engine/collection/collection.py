"""A kind of data set: what can be collected of it, how one item is made, and how a folder of it is checked.

    @collections.register("spin")
    class Spins(Collection):
        name, items_noun, Options, fixed = "spin", "spins", SpinOptions, ("seed", "size")

        def items(self): ...            # what these options ask for
        def is_done(self, item): ...    # whether it is in place
        def make(self, item, progress): ...  # one of them, whole or not at all, in a worker

`worldgauge collect spin` with its options, `--dry-run`, resuming, workers, the manifest, full disks and `worldgauge
check spin` come with that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import RunError, UsageError
from worldgauge.core.registry import Registry
from worldgauge.engine.collection.manifest import read_manifest, write_manifest
from worldgauge.engine.collection.report import DataReport
from worldgauge.engine.options import plain

Tell = Callable[[int, int], None]
"""Called with frames done, and of how many."""


@dataclass(frozen=True)
class NoOptions:
    """Options of a collection that takes none."""


@dataclass(frozen=True)
class Item:
    """One thing to collect.

    Attributes:
        id: Names it, unique in the collection; what progress and failures call it.
        args: What `make` needs to know, plain JSON values.
        place: Name of its world in the manifest; empty where `Made.worlds` names its worlds.
    """

    id: str
    args: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""


@dataclass(frozen=True)
class Made:
    """What came of one item.

    Attributes:
        frames: Frames, or pictures, that it has.
        world: The world it plays in.
        worlds: Its worlds by name, where it has several.
        discards: Why tries before it were thrown away, a reason each.
        failure: Why there is none, in one line; None where it was made.
        facts: More that `finish` needs to know, plain JSON values.
    """

    frames: int = 0
    world: WorldFacts | None = None
    worlds: Mapping[str, WorldFacts] = field(default_factory=dict)
    discards: Sequence[str] = ()
    failure: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


class Collection:
    """Subclass it, set `name`, `items_noun` and `Options`, and write `items`, `is_done` and `make`.

    Attributes:
        name: The format's name: what `collect` and `check` are told, and what the manifest says.
        items_noun: What several items are called ("loops").
        frames_noun: What an item has ("frames", "pictures").
        Options: A dataclass of `engine.options.option` fields.
        fixed: Options that files depend on: they cannot change when a collection is continued.
        growing: Options that can only grow when it is continued.
        first_subject: Arguments of a first run, for the hint at the end; empty where no suite runs on the data.
        deadline_s: Seconds without a frame after which an item is given up.
        max_workers: At most so many workers; None for any number.
        settings_first: Whether the manifest is written before the first item, since parts of a stopped collection
            would be taken for those of another otherwise.
    """

    name: ClassVar[str]
    items_noun: ClassVar[str] = "items"
    frames_noun: ClassVar[str] = "frames"
    Options: ClassVar[type] = NoOptions
    fixed: ClassVar[tuple[str, ...]] = ("seed",)
    growing: ClassVar[tuple[str, ...]] = ()
    first_subject: ClassVar[str] = "--model freeze"
    deadline_s: float = 600.0
    max_workers: int | None = None
    settings_first: ClassVar[bool] = False

    def __init__(self, out: Path, options: Any) -> None:
        self.out = out
        self.options = options

    # what it holds

    def items(self) -> Iterator[Item]:
        """Everything that the options ask for, in a fixed order; cheap."""
        raise NotImplementedError

    def is_done(self, item: Item) -> bool:
        """Whether `item` is in place, whole."""
        raise NotImplementedError

    def make(self, item: Item, progress: Tell) -> Made:
        """Make one item whole or not at all, in a worker; one that is done already is only read.

        Everything random in it comes from the item's own arguments and the options, so that any number of workers, and
        a stop in between, give the same bytes.
        """
        raise NotImplementedError

    # around it, where a collection needs it

    def check_options(self) -> None:
        """Raise UsageError for options that do not go together; each by itself was checked already."""

    def settings(self) -> dict[str, Any]:
        """The options as the manifest holds them, plain JSON values."""
        return plain(self.options)

    def camera(self) -> Mapping[str, Any]:
        """What the manifest says of the camera."""
        return {}

    def begin(self, *, local: bool) -> None:
        """Called once before the first item, in the process that leads. local: whether the workers are on this machine.

        Look here whether all that is needed is at hand, and write files that all items share.
        """

    def finish(self, made: Mapping[str, Made]) -> None:
        """Called once after the last item, with what came of each by its id: write what is made of all of them."""

    def close(self) -> None:
        """Called at the end, whatever happened."""

    def expected(self) -> int:
        """How many things of `items_noun` the options ask for."""
        return sum(1 for _ in self.items())

    def done(self) -> int:
        """How many of them are in place."""
        return sum(self.is_done(item) for item in self.items())

    def count_of(self, made: Made) -> int:
        """How many things of `items_noun` came of one item."""
        return 0 if made.failure else 1

    def estimate(self) -> Mapping[str, Any]:
        """More that a dry run tells, such as frames and bytes to expect, by name."""
        return {}

    def warnings(self) -> Sequence[str]:
        """What a user should know before, a line each."""
        return ()

    def summary(self) -> Mapping[str, Any]:
        """More that is told in the end, by name."""
        return {}

    # the manifest

    def manifest(self) -> dict[str, Any] | None:
        """Settings of the collection that is in `out` already; None where there is none.

        Raises:
            RunError: When the folder holds data of another format.
            DataError: When the manifest cannot be read.
        """
        before = read_manifest(self.out, self.format)
        return None if before is None else dict(before["settings"])

    def write_manifest(self, worlds: Mapping[str, WorldFacts], settings: Mapping[str, Any]) -> None:
        """Put the manifest in place, with `worlds` beside those that it names already."""
        write_manifest(self.out, self.format, worlds, settings, self.camera())

    def check_same(self) -> None:
        """Raises RunError where `out` was collected with other options that its files depend on."""
        before = self.manifest()
        if before is None:
            return
        now = self.settings()
        demand_same(self.out, before, now, self.fixed)
        for name in self.growing:
            had = before.get(name, 0)
            if had > now[name]:
                raise RunError(f"{self.out} has {had} {name}, not {now[name]}: collect into another folder")

    @property
    def format(self) -> str:
        """What the manifest calls the format."""
        return self.name

    @classmethod
    def check(cls, root: Path, *, decode: bool = False) -> DataReport:
        """Look a folder over: counts, a table, and what is wrong with which file.

        Args:
            root: The folder.
            decode: Whether every video is decoded as well.

        Raises:
            UsageError: Where the format has no check.
            DataError: Where there is no such data set.
        """
        raise UsageError(f"data of '{cls.name}' have no check")


collections: Registry[type[Collection]] = Registry("data set", group="worldgauge.collections", in_suites="collection")
"""What can be collected, and checked."""


def demand_same(out: Path, before: Mapping[str, Any], now: Mapping[str, Any], names: Sequence[str]) -> None:
    """Raises RunError where `out` was collected with another value of one of `names`, on which its files depend."""
    for name in names:
        if before.get(name) != now[name]:
            raise RunError(
                f"{out} was collected with {name} {before.get(name)}, not {now[name]}: collect into another folder"
            )
