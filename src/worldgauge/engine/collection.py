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

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, RunError, UsageError
from worldgauge.core.io import dumps, loads, read_json_object, write_file
from worldgauge.core.registry import Registry
from worldgauge.engine.options import plain

MANIFEST = "worldgauge.json"
SPLITS = ("train", "val", "test")
"""What worlds are for. No world is in two of them."""
_VERSION = 1


def read_manifest(out: Path, format: str) -> dict[str, Any] | None:
    """Read the manifest of a folder."""
    path = out / MANIFEST
    if not path.exists():
        return None
    try:
        content = loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); remove or repair the manifest") from error
    if not isinstance(content, dict) or content.get("format") != format:
        raise RunError(f"{out} holds other data than of format '{format}': collect into another folder")
    if not isinstance(content.get("settings"), dict) or not isinstance(content.get("worlds"), dict):
        raise DataError(f"{path}: field 'settings' or 'worlds' is missing; remove or repair the manifest")
    return content


def without_test_split(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a collection whose manifests named no split before there was one: "test" is still left out."""
    return {name: value for name, value in settings.items() if (name, value) != ("split", "test")}


def told_split(out: Path) -> str | None:
    """The split that a folder was collected for, as its manifest says; None where it says nothing."""
    path = out / MANIFEST
    if not path.exists():
        return None
    content = read_json_object(path)
    settings = content.get("settings")
    split = settings.get("split") if isinstance(settings, dict) else None
    if split is not None and split not in SPLITS:
        raise DataError(f"{path}: split is {split!r}; give {', '.join(SPLITS)}")
    return split


def manifest_format(out: Path) -> str | None:
    """Name of the format in the manifest of a folder. None where it has no readable one."""
    try:
        content = loads((out / MANIFEST).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return None
    format = content.get("format") if isinstance(content, dict) else None
    return format if isinstance(format, str) else None


def write_manifest(
    out: Path, format: str, facts: Mapping[str, WorldFacts], settings: Mapping[str, Any], camera: Mapping[str, Any]
) -> None:
    """Write the manifest. Scenes that it already names are kept."""
    rows = {name: {"world": one.name, "params": dict(one.params), "digest": one.digest} for name, one in facts.items()}
    before = read_manifest(out, format)
    kept = {} if before is None else before["worlds"]
    content = {
        "format": format,
        "version": _VERSION,
        "settings": dict(settings),
        "camera": dict(camera),
        "worlds": dict(sorted({**kept, **rows}.items())),
    }
    out.mkdir(parents=True, exist_ok=True)
    write_file(out / MANIFEST, dumps(content, indent=1) + "\n")


Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Finding:
    """One result of a data check.

    Attributes:
        severity: "error", "warning" or "info". An error means that the data cannot be used as they are.
        text: One line, with an example.

    Examples:
        >>> Finding("warning", "2 walks, short (first: walk-3): 12 frames").severity
        'warning'
    """

    severity: Severity
    text: str


@dataclass(frozen=True)
class Spread:
    """Mean and population standard deviation over trajectories, scenarios or clips.

    Attributes:
        n: Number of values.
        mean: Their mean.
        std: Their population standard deviation.

    Examples:
        >>> Spread(n=2, mean=3.0, std=1.0).mean
        3.0
    """

    n: int
    mean: float
    std: float


def grouped(
    severity: Severity, what: str, said: Iterable[tuple[str, str | None]], noun: str = "scenario"
) -> Iterator[Finding]:
    """One finding for all texts that differ only in names and numbers.

    Args:
        severity: Severity of the findings.
        what: What happened to the items, in a few words.
        said: Pairs of an item's id and its text.
        noun: What the items are called, in the singular.

    Yields:
        One finding per group, with the number of items and the first of them.

    Examples:
        >>> said = [("walk-1", "walk-1: frame 3 is damaged"), ("walk-2", "walk-2: frame 9 is damaged")]
        >>> [finding.text for finding in grouped("warning", "skipped", said, "walk")]
        ['2 walks, skipped (first: walk-1): walk-1: frame 3 is damaged']
    """
    groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for id, text in said:
        kind = re.sub(r"\d+(\.\d+)?", "#", (text or "").replace(id, "<s>"))
        groups[kind].append((id, text or ""))
    for group in groups.values():
        id, text = group[0]
        yield Finding(severity, f"{counted(len(group), noun)}, {what} (first: {id}): {text}")


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 try", "2 tries".

    Args:
        number: How many there are.
        noun: What they are called, in the singular.

    Returns:
        The number and the noun, in the plural unless the number is 1.

    Examples:
        >>> counted(1, "walk"), counted(2, "try"), counted(2, "day")
        ('1 walk', '2 tries', '2 days')
    """
    plural = re.sub(r"(?<![aeou])y$", "ie", noun) + "s"
    return f"{number} {noun if number == 1 else plural}"


def spread(values: Iterable[float | None]) -> Spread | None:
    """Mean and standard deviation of the values that are not None.

    Args:
        values: Numbers, or None where a value is missing.

    Returns:
        The spread, or None where there is no value.

    Examples:
        >>> spread([2, None, 4])
        Spread(n=2, mean=3.0, std=1.0)
    """
    array = np.array([value for value in values if value is not None], np.float64)
    return Spread(len(array), float(array.mean()), float(array.std())) if len(array) else None


@dataclass(frozen=True)
class DataTable:
    """A table of text.

    Attributes:
        title: Text above the table.
        columns: Names of the columns. The first column names the row.
        rows: One text per column in each row.
        notes: Lines below the table.

    Examples:
        >>> table = DataTable("Walks", ("world", "walks"), (("plains", "12"), ("desert", "9")))
        >>> table.rows[1]
        ('desert', '9')
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class DataReport:
    """Result of a data check.

    Attributes:
        noun: What the items are called, in the plural ("walks").
        n_valid: Number of usable items.
        n_items: Number of all items.
        n_frames: Frames of the usable items.
        findings: What is wrong or worth knowing. An error means that the data cannot be used as they are.
        table: Counts and means, for people.
        facts: All results as plain JSON values.
        frames_noun: What the frames are called, in the plural.

    Examples:
        >>> report = DataReport("walks", 1, 2, 40, [Finding("error", "walk-2: its video is missing")])
        >>> report.n_valid, report.ok
        (1, False)
    """

    noun: str
    n_valid: int
    n_items: int
    n_frames: int
    findings: Sequence[Finding]
    table: DataTable | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    frames_noun: str = "frames"

    @property
    def ok(self) -> bool:
        """Whether no finding is an error."""
        return not any(finding.severity == "error" for finding in self.findings)


def data_report(
    noun: str, items: str, findings: Iterable[Finding], table: DataTable, facts: Mapping[str, Any]
) -> DataReport:
    """A report with sorted findings, errors first; `facts` must have `n_valid`, `n_frames` and the key `items`."""
    ranked = sorted(findings, key=lambda finding: ("error", "warning", "info").index(finding.severity))
    numbers = facts["n_valid"], facts[items], facts["n_frames"]
    return DataReport(noun, *numbers, tuple(ranked), table, {**facts, "findings": [asdict(one) for one in ranked]})


def mean_text(spread: Spread | None) -> str:
    """The mean as text for a table, or a dash where there is no value."""
    return "-" if spread is None else number_text(spread.mean)


def number_text(value: float) -> str:
    """A number as text for a table: three decimals below 100, one from there on.

    Examples:
        >>> number_text(0.12345), number_text(1234.56)
        ('0.123', '1234.6')
    """
    return f"{value:.3f}" if abs(value) < 99.9995 else f"{value:.1f}"


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

    Examples:
        >>> Item("walk-0", {"seed": 7}, place="plains-1").args["seed"]
        7
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

    Examples:
        >>> Made(frames=40).frames, Made(failure="no way to the goal").frames
        (40, 0)
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
        first_model: Arguments of a first run, for the hint at the end. Empty where no suite runs on the data.
        deadline_s: Seconds without a frame after which an item is given up.
        max_workers: Largest number of workers. None for any number.
        batched: Whether `make` draws on `device`, by `engine.collection.drawing`.
        device: Where `make` draws: None for the processor, else a device of `World.views`, such as "cuda".
        settings_first: Whether the manifest is written before the first item. Needed where the parts of a stopped
            collection could otherwise be taken for those of another one.

    Examples:
        >>> from pathlib import Path
        >>> class Greys(Collection):
        ...     name, items_noun = "greys", "pictures"
        ...
        ...     def items(self):
        ...         return (Item(f"grey-{level}", {"level": level}) for level in (0, 100, 200))
        ...
        ...     def is_done(self, item):
        ...         return (self.out / f"{item.id}.png").exists()
        ...
        ...     def make(self, item, progress):
        ...         write_file(self.out / f"{item.id}.png", png(np.full((2, 2, 3), item.args["level"], np.uint8)))
        ...         return Made(frames=1)
        >>> greys = Greys(Path("greys"), None)
        >>> greys.make(next(greys.items()), progress=lambda done, total: None).frames
        1
        >>> greys.done(), greys.expected()
        (1, 3)
    """

    name: ClassVar[str]
    manifest_format: ClassVar[str | None] = None
    items_noun: ClassVar[str] = "items"
    frames_noun: ClassVar[str] = "frames"
    Options: ClassVar[type] = NoOptions
    fixed: ClassVar[tuple[str, ...]] = ("seed",)
    growing: ClassVar[tuple[str, ...]] = ()
    first_model: ClassVar[str] = "--model freeze"
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
        raise UsageError(f"collection '{cls.name}' has no check; give its class a method check(root, *, decode)")


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

    Examples:
        >>> from pathlib import Path
        >>> task = {"id": "TSK_CR_1", "instruction": "Build a hut.", "block_materials": ["stone"]}
        >>> write_file(Path("tasks/task/Task_Creativity.json"), dumps([task]))
        >>> report = check_data("mineanybuild", Path("tasks"))
        >>> report.n_valid, report.n_items, report.ok
        (1, 1, True)
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
