"""Base class of a kind of data set: which items it has, how one is made, and how a folder of it is checked.

    @collections.register("spin")
    class Spins(Collection):
        name, items_noun, Options, fixed = "spin", "spins", SpinOptions, ("seed", "size")

        def items(self): ...            # the items that the options ask for
        def is_done(self, item): ...    # whether an item is complete
        def make(self, item, progress): ...  # make one item, whole or not at all, in a worker

`worldgauge collect spin` with its options, `--dry-run`, resuming, workers, the manifest and the handling of full disks
follow from that, and so does `worldgauge check spin`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import RunError, UsageError
from worldgauge.core.registry import Registry
from worldgauge.engine.collection.manifest import manifest_format, read_manifest, write_manifest
from worldgauge.engine.collection.report import DataReport
from worldgauge.engine.options import plain

Tell = Callable[[int, int], None]
"""Called with the number of frames done and the total."""


@dataclass(frozen=True)
class NoOptions:
    """Options of a collection that takes none."""


@dataclass(frozen=True)
class Item:
    """One thing to collect.

    Attributes:
        id: Name of the item, unique in the collection. Progress and failure messages use it.
        args: Arguments that `make` needs, plain JSON values.
        place: Name of its world in the manifest. Empty where `Made.worlds` names the worlds.
    """

    id: str
    args: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""


@dataclass(frozen=True)
class Made:
    """What came of one item.

    Attributes:
        frames: Number of frames, or pictures, in the item.
        world: The world in which it was recorded.
        worlds: Its worlds by name, where it has several.
        discards: One reason for each earlier try that was thrown away.
        failure: Why the item could not be made, in one line. None where it was made.
        facts: Further plain JSON values that `finish` needs.
    """

    frames: int = 0
    world: WorldFacts | None = None
    worlds: Mapping[str, WorldFacts] = field(default_factory=dict)
    discards: Sequence[str] = ()
    failure: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


class Collection:
    """Base class of a kind of data set.

    Subclass it, set `name`, `items_noun` and `Options`, and write `items`, `is_done` and `make`.

    Attributes:
        name: Registered name, for `collect` and `check`.
        manifest_format: Name of the format in the manifest, where it is not `name`.
        items_noun: What items are called, in the plural ("loops").
        frames_noun: What an item consists of, in the plural ("frames", "pictures").
        Options: A dataclass of `engine.options.option` fields.
        fixed: Options that the files depend on. They cannot change when a collection is continued.
        growing: Options that can only grow when a collection is continued.
        first_subject: Arguments of a first run, for the hint at the end. Empty where no suite runs on the data.
        deadline_s: Seconds without a frame after which an item is given up.
        max_workers: Largest number of workers. None for any number.
        batched: Whether `make` draws on `device`, by `engine.collection.drawing`.
        device: Where `make` draws: None for the processor, else a device of `World.views`, such as "cuda".
        settings_first: Whether the manifest is written before the first item. Needed where the parts of a stopped
            collection could otherwise be taken for those of another one.
    """

    name: ClassVar[str]
    manifest_format: ClassVar[str | None] = None
    items_noun: ClassVar[str] = "items"
    frames_noun: ClassVar[str] = "frames"
    Options: ClassVar[type] = NoOptions
    fixed: ClassVar[tuple[str, ...]] = ("seed",)
    growing: ClassVar[tuple[str, ...]] = ()
    first_subject: ClassVar[str] = "--model freeze"
    deadline_s: float = 600.0
    max_workers: int | None = None
    settings_first: ClassVar[bool] = False
    batched: ClassVar[bool] = False
    device: str | None = None

    def __init__(self, out: Path, options: Any) -> None:
        self.out = out
        self.options = options

    # its items

    def items(self) -> Iterator[Item]:
        """All items that the options ask for, in a fixed order. Must be cheap."""
        raise NotImplementedError

    def is_done(self, item: Item) -> bool:
        """Whether `item` is complete in the folder."""
        raise NotImplementedError

    def make(self, item: Item, progress: Tell) -> Made:
        """Make one item, whole or not at all. Runs in a worker; an item that is done already is only read.

        Everything random in it must come from the arguments of the item and the options. Any number of workers, and a
        stop in between, then give the same bytes.

        Args:
            item: The item to make.
            progress: Called with the number of frames done and the total.

        Returns:
            What came of the item.
        """
        raise NotImplementedError

    # optional

    def check_options(self) -> None:
        """Check that the options go together. Each option has been checked on its own before.

        Raises:
            UsageError: For options that contradict each other.
        """

    def settings(self) -> dict[str, Any]:
        """The options as they are stored in the manifest, plain JSON values."""
        return plain(self.options)

    def camera(self) -> Mapping[str, Any]:
        """The camera as it is stored in the manifest."""
        return {}

    def begin(self, *, local: bool) -> None:
        """Prepare the collection. Called once before the first item, in the leading process.

        Check here that everything needed is available, and write the files that all items share.

        Args:
            local: Whether the workers run on this machine.
        """

    def finish(self, made: Mapping[str, Made]) -> None:
        """Write what depends on all items. Called once after the last item.

        Args:
            made: What came of each item, by its id.
        """

    def notes(self, made: Mapping[str, Made]) -> Sequence[str]:
        """What a user should know of what was made, one line each. Called after `finish`.

        Args:
            made: What came of each item, by its id.
        """
        return ()

    def close(self) -> None:
        """Release resources. Called at the end in every case, also after an error."""

    def expected(self) -> int:
        """Number of things, counted in `items_noun`, that the options ask for."""
        return sum(1 for _ in self.items())

    def done(self) -> int:
        """Number of items that are complete."""
        return sum(self.is_done(item) for item in self.items())

    def clusters(self) -> Iterable[str]:
        """Cluster of each task that the options ask for. By default an item is a task whose cluster is its place."""
        return (item.place or item.id for item in self.items())

    def count_of(self, made: Made) -> int:
        """Number of things, counted in `items_noun`, that came of one item."""
        return 0 if made.failure else 1

    def estimate(self) -> Mapping[str, Any]:
        """Further values for the output of a dry run by name, such as the expected frames and bytes."""
        return {}

    def warnings(self) -> Sequence[str]:
        """What a user should know before the collection starts, one line each."""
        return ()

    def summary(self) -> Mapping[str, Any]:
        """Further values for the output at the end, by name."""
        return {}

    # the manifest

    def manifest(self) -> dict[str, Any] | None:
        """Settings of the collection that `out` already holds.

        Returns:
            The settings, or None where the folder holds no collection.

        Raises:
            RunError: When the folder holds data of another format.
            DataError: When the manifest cannot be read.
        """
        before = read_manifest(self.out, self.format())
        return None if before is None else dict(before["settings"])

    def write_manifest(self, worlds: Mapping[str, WorldFacts], settings: Mapping[str, Any]) -> None:
        """Write the manifest, and keep the worlds that it already names.

        Args:
            worlds: Worlds to add, by name.
            settings: Settings of the collection, plain JSON values.
        """
        write_manifest(self.out, self.format(), worlds, settings, self.camera())

    def check_same(self) -> None:
        """Check that `out` was collected with the same options, as far as its files depend on them.

        Raises:
            RunError: When an option in `fixed` differs, or one in `growing` is smaller than before.
        """
        before = self.manifest()
        if before is None:
            return
        now = self.settings()
        demand_same(self.out, before, now, self.fixed)
        for name in self.growing:
            had = before.get(name, 0)
            if had > now[name]:
                raise RunError(f"{self.out} has {had} {name}, not {now[name]}: collect into another folder")

    @classmethod
    def format(cls) -> str:
        """Name of the format in the manifest."""
        return cls.manifest_format or cls.name

    @classmethod
    def check(cls, root: Path, *, decode: bool = False) -> DataReport:
        """Check a folder of this format.

        Args:
            root: The folder.
            decode: Whether every video is decoded as well.

        Returns:
            Counts, a table, and findings that name the files with problems.

        Raises:
            UsageError: Where the format has no check.
            DataError: Where the folder holds no such data set.
        """
        raise UsageError(f"collection '{cls.name}' has no check")


collections: Registry[type[Collection]] = Registry("collection", group="worldgauge.collections", in_suites="collection")
"""Registry of the data sets that can be collected and checked."""


def check_data(name: str, root: Path, *, decode: bool = False) -> DataReport:
    """Check a folder of data as a collection declares.

    Args:
        name: Name of the collection, or "./file.py:Class" or "package.module:Class".
        root: The folder.
        decode: Whether every video is decoded as well.

    Returns:
        What `Collection.check` returns.

    Raises:
        UnknownNameError: For an unknown collection.
        UsageError: For a folder that another collection made, or a format that has no check.
        DataError: Where the folder holds no such data set.
    """
    entry, maker = collections.named(name), collection_of(root)
    kind, name = entry.load(), entry.name
    if maker not in (None, name):
        raise UsageError(f"{root} was made by collection '{maker}': use: worldgauge check {maker} --data {root}")
    return kind.check(root, decode=decode)


def collection_of(root: Path) -> str | None:
    """Registered name of the collection that made a folder, by its manifest. None where that is not known."""
    format = manifest_format(root)
    if format is None or format in collections:
        return format
    return next((one.name for one in collections if one.load().format() == format), None)


def demand_same(out: Path, before: Mapping[str, Any], now: Mapping[str, Any], names: Sequence[str]) -> None:
    """Check that a folder was collected with the same values of some options."""
    for name in names:
        if before.get(name) != now.get(name):
            raise RunError(
                f"{out} was collected with {name} {before.get(name)}, not {now.get(name)}: collect into another folder"
            )
