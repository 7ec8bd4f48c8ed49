"""Whether a folder holds a named set, file by file, and what to do where it does not."""

from __future__ import annotations

import platform
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from worldgauge.core.errors import DataError, RunError
from worldgauge.core.io import digest_of_file
from worldgauge.engine.collection.kernel import count
from worldgauge.engine.collection.manifest import MANIFEST
from worldgauge.engine.run_manifest import PACKAGES
from worldgauge.engine.sets import NamedSet, SetPart

LOGS = "logs"
"""Folder of the output of workers in a data set: no part of its content."""

_FURTHER = ("scipy", "mujoco-core")
"""Packages that data sets are made with, beside those that scores depend on. MuJoCo moves the arm of manipulation."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class SetCheck:
    """What was found in a folder.

    Attributes:
        set: The set that it should hold.
        root: The folder.
        whole: Suites whose files are all there as they were frozen.
        absent: Suites of which nothing is there.
        open: Suites whose files are there but that are not frozen yet, so that nothing can be compared.
        unfinished: Suites whose collection was stopped, with the number of things that are made and that are asked for.
            Their manifest, which grows until the end, is not compared.
        differing: Files with other content, below the folder.
        missing: Files that are not there, of suites of which some are.
        extra: Files that the set does not have.
        compared: Number of files whose content was compared with their digests.
    """

    set: NamedSet
    root: Path
    whole: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    unfinished: tuple[tuple[str, int, int], ...] = ()
    differing: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    compared: int = 0

    @property
    def ok(self) -> bool:
        """Whether what is there is as it was frozen. A set of which only some suites are there is in order, too."""
        return not (self.differing or self.missing or self.extra) and bool(self.whole or self.open)

    @property
    def advice(self) -> str:
        """What to do where files differ, are missing or are too many; empty where all is in order."""
        again = f"worldgauge data make {self.set.short} --out {self.root}"
        if self.differing:
            other = [f"{name} {was} (here {now})" for name, was, now in differing_versions(self.set)]
            if other:
                first = f"the set was frozen with {', '.join(other)}: use these versions (zlib is that of Python)"
            else:
                known = ", ".join(self.set.made_with)
                first = f"what it was frozen with is what is here ({known}), so it is the file or the processor"
            remove = "the files that differ and those that are too many" if self.extra else "the files that differ"
            return (
                f"{first}; remove {remove} and make the set again ({again}), or fetch the frozen files (worldgauge "
                "data pull ADDRESS). A run on other files is told to be of no named set."
            )
        if self.missing:
            return f"{'remove what is too many, and ' if self.extra else ''}make what is missing: {again}"
        return "remove the files that are too many, or check the folder that holds only the set" if self.extra else ""

    def to_dict(self) -> dict[str, object]:
        """Plain JSON values."""
        return {
            "set": self.set.name,
            "version": self.set.version,
            "folder": str(self.root),
            "ok": self.ok,
            **{
                name: list(getattr(self, name)) for name in ("whole", "absent", "open", "differing", "missing", "extra")
            },
            "unfinished": [{"suite": suite, "made": made, "of": of} for suite, made, of in self.unfinished],
            "compared": self.compared,
            "advice": self.advice,
        }


def check_set(
    named: NamedSet, root: Path, progress: Progress = lambda suite, done, total: None, only: Sequence[str] = ()
) -> SetCheck:
    """Compare a folder with a named set.

    Args:
        named: The set.
        root: The folder; each suite has its own in it.
        progress: Called with the suite, the number of files read and the total.
        only: Suites to look at. By default all.

    Returns:
        What was found.

    Raises:
        DataError: When a file cannot be read, or the folder holds no part of a set.
    """
    whole: list[str] = []
    absent: list[str] = []
    unfrozen: list[str] = []
    unfinished: list[tuple[str, int, int]] = []
    differing: list[str] = []
    missing: list[str] = []
    extra: list[str] = []
    compared = 0
    for part in named.parts:
        if only and part.suite not in only:
            continue
        folder = root / part.suite
        held = {str(path.relative_to(folder).as_posix()): path for path in content_of(folder)}
        if not held:
            absent.append(part.suite)
        elif not part.is_frozen:
            unfrozen.append(part.suite)
        else:
            lacking = sorted(part.files.keys() - held.keys())
            more = sorted(held.keys() - part.files.keys())
            if lacking and (stopped := _stopped(part, folder)):
                unfinished.append(stopped)
                held.pop(MANIFEST, None)
            other = _differing(part, held, progress)
            compared += len(part.files.keys() & held.keys())
            if not (other or lacking or more):
                whole.append(part.suite)
            differing += [f"{part.suite}/{name}" for name in other]
            missing += [f"{part.suite}/{name}" for name in lacking]
            extra += [f"{part.suite}/{name}" for name in more]
    if not (whole or unfrozen or differing or missing or extra):
        names = ", ".join(part.suite for part in named.parts)
        raise DataError(f"{root}: holds no part of {named.name}; a set has a folder for each suite ({names})")
    return SetCheck(
        named,
        root,
        tuple(whole),
        tuple(absent),
        tuple(unfrozen),
        tuple(unfinished),
        tuple(differing),
        tuple(missing),
        tuple(extra),
        compared,
    )


def content_of(folder: Path) -> Iterator[Path]:
    """The files of a data set, sorted: not hidden ones, and not the output of workers."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and not any(part.startswith(".") for part in parts) and parts[0] != LOGS:
            yield path


def versions_here() -> dict[str, str]:
    """Versions of what the bytes of a data set depend on, and the kind of processor.

    Python is told without its patch. zlib packs what ends in .gz; another one, such as zlib-ng, packs the same content
    to other bytes.
    """
    found = {
        "machine": platform.machine(),
        "python": ".".join(platform.python_version_tuple()[:2]),
        "zlib": zlib.ZLIB_RUNTIME_VERSION,
    }
    for package in (*PACKAGES, *_FURTHER):
        if package != "worldgauge":
            try:
                found[package] = version(package)
            except PackageNotFoundError:
                found[package] = "not installed"
    return found


def differing_versions(named: NamedSet) -> list[tuple[str, str, str]]:
    """Name, version when the set was frozen, and version here, of each that differs."""
    here = versions_here()
    return [(name, was, here.get(name, "none")) for name, was in named.made_with.items() if here.get(name) != was]


def _stopped(part: SetPart, folder: Path) -> tuple[str, int, int] | None:
    """The suite with how many things are made and asked for; None where all are, or where others were asked for."""
    try:
        expected, done = count(part.suite, folder, **part.options)
    except RunError:
        return None
    return (part.suite, done, expected) if done < expected else None


def _differing(part: SetPart, held: dict[str, Path], progress: Progress) -> list[str]:
    found = []
    known = [name for name in sorted(part.files) if name in held]
    for done, name in enumerate(known):
        progress(part.suite, done, len(known))
        if digest_of_file(held[name]) != part.files[name]:
            found.append(name)
    return found
