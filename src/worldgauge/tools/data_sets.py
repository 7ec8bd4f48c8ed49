"""Named sets on disk: make them anywhere to the same digests, check them, and freeze new ones.

python -m worldgauge.tools.data_sets DEFINITION FOLDER

freezes a set: it writes the digests of FOLDER into the `set.json` of the folder DEFINITION. This is for those who keep
the package: a set that was published is never frozen again under the same version.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from worldgauge.core.errors import DataError, RunError, UsageError
from worldgauge.core.io import digest_of_file, dumps, read_json_object, write_file
from worldgauge.engine.collect import CollectProgress, collect, count
from worldgauge.engine.collection import MANIFEST
from worldgauge.engine.open_suite import list_tasks, open_suite
from worldgauge.engine.run_manifest import PACKAGES
from worldgauge.engine.sets import DEFINITION, NamedSet, SetPart, digits_of, read_set
from worldgauge.engine.suite.base import suites
from worldgauge.version import __version__

CARD, LICENCE = "README.md", "LICENSE"
SPDX = "Apache-2.0"


def write_card(named: NamedSet, root: Path) -> Path:
    """Write README.md, in the form that the Hugging Face Hub reads, and LICENSE."""
    write_file(root / LICENCE, _LICENCE)
    write_file(root / CARD, card_of(named))
    return root / CARD


def card_of(named: NamedSet) -> str:
    """The card as Markdown. It depends on the set alone, so that every copy has the same."""
    rows = []
    for part in named.parts:
        options = ", ".join(f"`{name}={json.dumps(value)}`" for name, value in part.options.items())
        tasks = str(len(part.tasks)) if part.tasks else "not frozen"
        files = str(len(part.files)) if part.files else "not frozen"
        rows.append(f"| {part.suite} | {suites.entry(part.suite).summary} | {tasks} | {files} | {options} |")
    versions = ", ".join(f"{name} {number}" for name, number in named.made_with.items()) or "not frozen"
    return _CARD.format(
        name=named.name,
        version=named.version,
        title=named.title,
        short=named.short,
        rows="\n".join(rows),
        versions=versions,
        package=__version__,
    )


_CARD = """---
license: apache-2.0
pretty_name: {name}
tags:
- world-models
- video
- benchmark
---

# {name}, version {version}

{title}. Data of worldgauge, which measures what world models are worth: frames, actions and exact camera poses of
walks, paths to targets, episodes of agents and tasks about structures, all drawn by programs.

| part | question | tasks | files | options of its collection |
|---|---|---|---|---|
{rows}

- **Made, not filmed.** Every picture is drawn by worldgauge's own worlds. No person, place, brand or recording of
  anybody is in it, and nothing was scraped.
- **Fixed.** The seeds above give the same bytes again: `worldgauge data make {short} --out DIR`. Whether a copy is this
  set: `worldgauge data check {short} --data DIR`. Frozen with: {versions}.
- **Meant for** evaluation. Train on other seeds or on `split=train`; tables of worldgauge tell which models were
  trained on these scenes.
- **Limits.** Blocks, homes and tables that programs draw are simpler than the world: numbers rank models on memory and
  control, and say little about the look of real scenes.
- **Licence.** {spdx}, the licence of the program that draws it; see `LICENSE`.

Written by worldgauge {package}.
""".replace("{spdx}", SPDX)

_LICENCE = """SPDX-License-Identifier: Apache-2.0

The files in this folder are licensed under the Apache License, Version 2.0 (the "License"); you may not use them
except in compliance with the License. You may obtain a copy of the License at

    https://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, they are distributed on an "AS IS" BASIS, WITHOUT
WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language governing
permissions and limitations under the License.
"""


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
    """Compare a folder with a named set."""
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


STEADY = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL",
    "OPENBLAS_CORETYPE": "Haswell",
}
"""Variables under which workers make a set on x86-64. For processors with AVX-512 numpy and OpenBLAS have other code,
which rounds the last digits of a pose another way. Names of older and newer numpys stand together: one that a version
does not know, it passes over. What is set already stays."""


@dataclass(frozen=True)
class MadeSet:
    """A set on disk.

    Attributes:
        check: Whether its files are as they were frozen.
        card: The data card that was written beside them.
    """

    check: SetCheck
    card: Path


def make_set(
    named: NamedSet,
    root: Path,
    *,
    only: Sequence[str] = (),
    workers: int = 1,
    progress: Callable[[str, CollectProgress], None] = lambda suite, step: None,
    checking: Progress = lambda suite, done, total: None,
) -> MadeSet:
    """Make a set, or continue one that was stopped. What is done is kept."""
    for part in _parts(named, only):
        with _steady():
            made = collect(
                part.suite,
                root / part.suite,
                workers=workers,
                on="local",  # this process has loaded numpy, which chose its code then
                progress=lambda step, suite=part.suite: progress(suite, step),  # type: ignore[misc]
                **part.options,
            )
        if made.failures:
            raise RunError(f"{named.name}: {part.suite}: {made.failures[0]}")
    return MadeSet(check_set(named, root, checking, only), write_card(named, root))


def planned(named: NamedSet, root: Path, only: Sequence[str] = ()) -> list[dict[str, Any]]:
    """What `make_set` would make: for each suite the number of things and how many of them are there."""
    rows = []
    for part in _parts(named, only):
        expected, done = count(part.suite, root / part.suite, **part.options)
        rows.append(
            {"suite": part.suite, "items": expected, "done": done, "minutes": part.minutes, "frozen": part.is_frozen}
        )
    return rows


@contextmanager
def _steady() -> Iterator[None]:
    """Context whose child processes round alike on all processors."""
    added = {name: value for name, value in STEADY.items() if name not in os.environ}
    if platform.machine() not in ("x86_64", "AMD64"):
        added = {}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


def _parts(named: NamedSet, only: Sequence[str]) -> list[Any]:
    return [named.part(suite) for suite in dict.fromkeys(only)] if only else list(named.parts)


def freeze(definition: Path, root: Path) -> NamedSet:
    """Write the digests of all suites that are in a folder into a definition, a file a suite."""
    content = read_json_object(definition / DEFINITION)
    found = 0
    for suite, part in content["suites"].items():
        folder = root / suite
        if any(content_of(folder)):
            # Before its files are listed: a making that still runs would add to them.
            expected, done = count(suite, folder, **part["options"])
            if done < expected:
                raise UsageError(f"{folder}: {done} of {expected} things are made; make the others first")
            files = {path.relative_to(folder).as_posix(): digest_of_file(path) for path in content_of(folder)}
            tasks = list_tasks(open_suite(suite, {}), folder, None)
            digests = {"files": files, "tasks": {task.id: digits_of(task.fingerprint) for task in tasks}}
            write_file(definition / f"{suite}.json", dumps(digests, indent=1) + "\n")
            found += 1
    if not found:
        raise UsageError(f"{root}: holds no part of {content['name']}")
    content["made_with"] = versions_here()
    write_file(definition / DEFINITION, dumps(content, indent=1) + "\n")
    return read_set(definition)


__all__ = ["MadeSet", "SetCheck", "check_set", "make_set", "planned"]


if __name__ == "__main__":
    reader = argparse.ArgumentParser()
    reader.add_argument("definition", type=Path)
    reader.add_argument("folder", type=Path)
    given = reader.parse_args()
    freeze(given.definition, given.folder)
