"""What a leaderboard is made of: bundles and runs that were looked over, by the set of tasks that they answer."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worldgauge.core.errors import DataError, UsageError, WorldgaugeError
from worldgauge.core.io import dumps, read_json_object
from worldgauge.engine.result import find_runs
from worldgauge.engine.store import RunFolder
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Score
from worldgauge.engine.suite.own_metrics import DIGEST, SETTING
from worldgauge.tools.bundle.archive import Archive
from worldgauge.tools.bundle.bundle import About, write_bundles
from worldgauge.tools.bundle.opened import open_plain_suite
from worldgauge.tools.bundle.verify import Verification, look_over

VERIFIED = ".verified.json"
"""Ends the name of a file among bundles: what `worldgauge verify --json` has printed of one of them."""

_Verdicts = dict[str, list[tuple[str, dict[str, Any]]]]
"""Name of a file and what it tells, by the root of the bundle that it is about."""


@dataclass(frozen=True)
class Entry:
    """One result on a board.

    Attributes:
        ident: Names its files on the site: letters and digits.
        source: The bundle or run folder that it came from.
        bundle: The archive.
        is_run: Whether it came as a run folder, so that its files are the author's own.
        folder: Its run folder, unpacked.
        facts: Content of run.json.
        about: What the author says of the model.
        scores: All its scores.
        found: What was found when the board was made.
        again: What somebody else's look at it found, who had the data set. None where there is none.
    """

    ident: str
    source: Path
    bundle: Path
    is_run: bool
    folder: RunFolder
    facts: Mapping[str, Any]
    about: About
    scores: Sequence[Score]
    found: Verification
    again: Mapping[str, Any] | None = None

    @property
    def set_key(self) -> str:
        """Names the set of tasks and the settings: numbers of two sets are never compared."""
        facts = self.facts
        held = [facts["suite"], facts.get("suite_version"), facts["data_fingerprint"], facts["settings"]]
        return hashlib.sha256(dumps(held).encode()).hexdigest()


@dataclass
class Entries:
    """All that a folder holds.

    Attributes:
        shown: The results, in the order of their files.
        left_out: Name of a file or folder, and why it is not shown.
    """

    shown: list[Entry] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)

    @property
    def sets(self) -> dict[str, list[Entry]]:
        """The results by set of tasks."""
        found: dict[str, list[Entry]] = {}
        for entry in sorted(self.shown, key=lambda one: (str(one.facts["suite"]), one.set_key)):
            found.setdefault(entry.set_key, []).append(entry)
        return found


def read_entries(folder: Path, scratch: Path) -> Entries:
    """Look over and unpack every bundle and run of a folder. One that is not in order is left out, with the reason.

    Args:
        folder: The folder: bundles (`*.zip`), run folders, or folders of run folders.
        scratch: An empty folder to unpack into.

    Returns:
        The results.

    Raises:
        DataError: When the folder cannot be listed.
        UsageError: When it holds neither bundles nor runs.
    """
    try:
        paths = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise DataError(f"{folder}: cannot be listed ({error.strerror})") from error
    found = Entries()
    verdicts = _verdicts(paths, found)
    seen: dict[str, str] = {}
    for number, (path, bundle) in enumerate(_bundles(folder, paths, scratch, found)):
        try:
            entry = _read(path, bundle, scratch / str(number), verdicts)
        except WorldgaugeError as error:
            found.left_out.append((path.name, str(error).replace(f"{bundle}: ", "")))
            continue
        if entry.found.root in seen:
            found.left_out.append((path.name, f"the same bundle as {seen[entry.found.root]}, byte by byte"))
            continue
        seen[entry.found.root] = path.name
        found.shown.append(entry)
    for root in verdicts.keys() - {entry.found.root for entry in found.shown if not entry.is_run}:
        for name, _ in verdicts[root]:
            found.left_out.append((name, "is about no bundle that is shown here; its root says which it was made of"))
    found.left_out.sort()
    if not found.shown and not found.left_out:
        raise UsageError(f"{folder}: holds neither bundles (worldgauge bundle) nor runs")
    return found


def _bundles(folder: Path, paths: Sequence[Path], scratch: Path, found: Entries) -> Iterator[tuple[Path, Path]]:
    """Each bundle, with the path it is known by; runs are bundled first."""
    for path in paths:
        if path.suffix == ".zip":
            yield path, path
    runs = [path for path in [folder, *paths] if path.is_dir() and _holds_runs(path)]
    found.left_out += [(path.name, "an earlier run of the model") for path in runs if RunFolder(path).is_earlier]
    runs = [path for path in runs if not RunFolder(path).is_earlier]
    for run in find_runs(runs) if runs else ():
        packed = scratch / "packed" / hashlib.sha256(str(run.directory).encode()).hexdigest()[:16]
        try:
            made = write_bundles([run.directory], packed, whole=0)
        except WorldgaugeError as error:
            found.left_out.append((run.directory.name, str(error)))
        else:
            yield run.directory, made[0].path


def _holds_runs(path: Path) -> bool:
    return (path / "run.json").exists() or any(path.glob("*/run.json"))


def _read(path: Path, bundle: Path, folder: Path, verdicts: _Verdicts) -> Entry:
    with Archive(bundle) as archive:
        found, opened = look_over(archive, folder)
    if not found.ok or opened is None:
        first = next(check for check in found.checks if check.status == "violated")
        raise DataError(f"its {first.name} do not agree: {first.told}")
    open_plain_suite(opened.facts)
    _check_about(opened.facts)
    facts = dict(opened.facts)
    # Their code is not here, and would not be run if it were.
    facts["settings"] = {n: v for n, v in opened.facts["settings"].items() if n not in (SETTING, DIGEST)}
    opened.folder.facts_path.write_text(dumps(facts))
    opened.put_records()
    again = None if path.is_dir() else _worst(verdicts.get(found.root, ()))
    own = opened.folder, facts, opened.about, opened.scores
    return Entry(found.root[:16], path, bundle, path.is_dir(), *own, found, again)


def _verdicts(paths: Sequence[Path], found: Entries) -> _Verdicts:
    """What was found of bundles, by their roots: a copy of a bundle under another name is the same bundle."""
    held: _Verdicts = {}
    for path in paths:
        if path.name.endswith(VERIFIED) and path.is_file():
            try:
                told = read_json_object(path)
                held.setdefault(str(told.get("root")), []).append((path.name, _counts_of(told, path.name)))
            except WorldgaugeError as error:
                found.left_out.append((path.name, str(error)))
    return held


def _counts_of(told: Mapping[str, Any], name: str) -> dict[str, Any]:
    numbers, tasks = told.get("numbers"), told.get("rescored")
    if not isinstance(numbers, list) or not isinstance(tasks, list):
        raise DataError(f"{name} is not what worldgauge verify --json prints")
    verdicts = [str(one.get("verdict")) for one in numbers if isinstance(one, dict)]
    return {
        "by": re.sub(r"\s+", " ", str(told.get("by", "")))[:100],
        "tasks": len(tasks),
        "stands": verdicts.count("stands"),
        "differs": verdicts.count("differs"),
        "metrics": len(verdicts) - verdicts.count("no value"),
    }


def _worst(told: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any] | None:
    """Of several looks at one bundle, one that found a difference; else the one with most tasks."""
    return max((one for _, one in told), key=lambda one: (one["differs"], one["tasks"]), default=None)


def _check_about(facts: Mapping[str, Any]) -> None:
    """What reports take for granted of run.json, and what a bundle of anybody's may lack."""
    subject = facts["subject"]
    if len(str(subject["name"])) > 200 or not all(isinstance(one, str) for one in subject["inputs"]):
        raise DataError("its run.json names the model in a way that no run does")


def open_set(entries: Sequence[Entry]) -> Suite:
    """The suite of results of one set.

    Args:
        entries: The results.

    Returns:
        The suite.
    """
    return open_plain_suite(entries[0].facts)
