"""Named sets on disk: make them anywhere to the same digests, check them, and freeze new ones.

python -m worldgauge.tools.data_sets DEFINITION --data FOLDER
python -m worldgauge.tools.data_sets DEFINITION --runs RUNS

freeze a set: the first writes the digests of FOLDER into the folder DEFINITION, the second the scores of the baselines
in RUNS/SUITE/LABEL. For those who keep the package: a published set is never frozen again under the same version.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

from worldgauge.core.errors import DataError, RunError, UnknownNameError, UsageError
from worldgauge.core.io import digest_of_file, dumps, read_json_object, write_file
from worldgauge.core.registry import current_suite
from worldgauge.engine.collect import CollectProgress, collect, count, open_collection
from worldgauge.engine.collection import MANIFEST, collection_of
from worldgauge.engine.open_suite import clusters_of, list_tasks, open_suite
from worldgauge.engine.result import find_runs
from worldgauge.engine.run_manifest import PACKAGES
from worldgauge.engine.sets import DEFINITION, NamedSet, SetPart, digits_of, open_set, read_set
from worldgauge.engine.shipped_scores import pack_scores
from worldgauge.engine.store import read_journal
from worldgauge.engine.suite.base import suites
from worldgauge.engine.workers.site import cores_here
from worldgauge.perception.cache import data_cache, locked
from worldgauge.terminal.progress import ProgressBar
from worldgauge.version import __version__

CARD, LICENCE = "README.md", "LICENSE"


def write_card(named: NamedSet, root: Path) -> Path:
    """Write README.md, in the form that the Hugging Face Hub reads, and LICENSE."""
    write_file(root / LICENCE, _text("data_licence.txt"))
    write_file(root / CARD, card_of(named))
    return root / CARD


def _text(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def card_of(named: NamedSet) -> str:
    """The card as Markdown. It depends on the set alone, so that every copy has the same."""
    rows = []
    for part in named.parts:
        options = ", ".join(f"`{name}={json.dumps(value)}`" for name, value in part.options.items())
        tasks, files = (str(len(known) or "not frozen") for known in (part.tasks, part.files))
        rows.append(f"| {part.suite} | {suites.entry(part.suite).summary} | {tasks} | {files} | {options} |")
    versions = ", ".join(f"{name} {number}" for name, number in named.made_with.items()) or "not frozen"
    return _text("data_card.md").format(
        name=named.name,
        version=named.version,
        title=named.title,
        short=named.short,
        rows="\n".join(rows),
        versions=versions,
        package=__version__,
    )


def find_data(data: str | os.PathLike[str], suite: str) -> Path:
    """Folder of a suite's data in a folder, else in a benchmark set, made in the user's cache if it is missing."""
    folder = Path(data)
    if folder.exists():
        inside = SetPart(suite, {}).folder(folder)
        return inside if collection_of(folder) is None and collection_of(inside) == suite else folder
    try:
        named = open_set(str(data))
    except UnknownNameError as error:
        more = "" if len(folder.parts) > 1 else f", and {error}"
        raise UsageError(f"{data}: no such folder{more}") from None
    part, root = named.part(suite), set_folder(named)
    if not _is_made(part, root):
        size = f", {part.megabytes:.0f} MB" if part.megabytes else ""
        print(f"note: making {part.suite} of {named.name} in {root}{size}", file=sys.stderr, flush=True)
        with ProgressBar() as bar:
            made = make_set(
                named,
                root,
                only=[part.suite],
                workers=cores_here(),
                progress=lambda suite, step: bar.show(suite, step.done, step.total),
            )
        if not made.check.ok:
            print(f"note: files differ from those of {named.name}: {made.check.advice}", file=sys.stderr)
    return part.folder(root)


def suites_of(data: str | os.PathLike[str]) -> list[str]:
    """Names of the suites whose data a folder or a benchmark set holds."""
    names, folder = [name for name in suites.names() if suites.get(name).demo_set() is not None], Path(data)
    if folder.is_dir():
        there = [name for name in names if SetPart(name, {}).folder(folder).is_dir()]
    else:
        with suppress(UnknownNameError):  # `find_data` says so
            names = [part.suite for part in open_set(str(data)).parts if part.suite in names]
        there = names
    if not there:
        raise UsageError(f"{folder}: holds no folder of a suite ({', '.join(names)}); name the suite of these data")
    return there


def suites_without_part(data: str | os.PathLike[str]) -> list[str]:
    """Names of the suites of which a benchmark set has no part; none for a folder."""
    with suppress(UnknownNameError):  # `find_data` says so
        parts = [] if Path(data).exists() else open_set(str(data)).parts
        held = {part.suite for part in parts}
        return [name for name in suites.names() if held and suites.get(name).demo_set() and name not in held]
    return []


def missing_part(data: str | os.PathLike[str], suite: str) -> SetPart | None:
    """The part of a benchmark set that `find_data` would make; None for a folder, and for a part that is there."""
    with suppress(UnknownNameError):  # `find_data` says so
        named = open_set(str(data))
        part = named.part(suite)
        return None if Path(data).exists() or _is_made(part, set_folder(named)) else part
    return None


def set_folder(named: NamedSet) -> Path:
    """Folder of a benchmark set in the user's cache."""
    return data_cache() / "sets" / f"{named.name}-{named.version}"


def _is_made(part: SetPart, root: Path) -> bool:
    """Whether a part is complete."""
    folder = part.folder(root)
    if part.is_frozen:
        return all((folder / name).exists() for name in part.files)
    made, total = count(part.suite, folder, **part.options)
    return made == total


LOGS = "logs"
"""Folder of the output of workers in a data set: no part of its content."""

_FURTHER = ("scipy", "mujoco-core", "vizdoom")
"""Packages that data sets are made with, beside those that scores depend on: MuJoCo moves an arm, ViZDoom a walker."""

Progress = Callable[[str, int, int], None]


@dataclass
class SetCheck:
    """What was found in a folder.

    Attributes:
        open: Suites whose files are there but not frozen yet, so nothing can be compared.
        unfinished: Suite, things made and things requested of each stopped collection. Its manifest, which still grows,
            is not compared.
    """

    set: NamedSet
    root: Path
    whole: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    unfinished: list[tuple[str, int, int]] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
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
                "data pull ADDRESS). The report then does not name the set."
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
            **{name: getattr(self, name) for name in ("whole", "absent", "open", "differing", "missing", "extra")},
            "unfinished": [{"suite": suite, "made": made, "of": of} for suite, made, of in self.unfinished],
            "compared": self.compared,
            "advice": self.advice,
        }


def check_set(
    named: NamedSet, root: Path, progress: Progress = lambda suite, done, total: None, only: Sequence[str] = ()
) -> SetCheck:
    """Compare a folder with a named set."""
    found = SetCheck(named, root)
    whole, differing, missing, extra = found.whole, found.differing, found.missing, found.extra
    for part in named.parts:
        if only and part.suite not in map(current_suite, only):
            continue
        folder = part.folder(root)
        held = {str(path.relative_to(folder).as_posix()): path for path in content_of(folder)}
        if not held:
            found.absent.append(part.suite)
        elif not part.is_frozen:
            found.open.append(part.suite)
        else:
            lacking = sorted(part.files.keys() - held.keys())
            more = sorted(held.keys() - part.files.keys())
            if lacking and (stopped := _stopped(part, folder)):
                found.unfinished.append(stopped)
                held.pop(MANIFEST, None)
            known = [name for name in sorted(part.files) if name in held]
            other = []
            for done, name in enumerate(known):
                progress(part.suite, done, len(known))
                if digest_of_file(held[name]) != part.files[name]:
                    other.append(name)
            found.compared += len(known)
            if not (other or lacking or more):
                whole.append(part.suite)
            differing += [f"{part.suite}/{name}" for name in other]
            missing += [f"{part.suite}/{name}" for name in lacking]
            extra += [f"{part.suite}/{name}" for name in more]
    if not (whole or found.open or differing or missing or extra):
        names = ", ".join(part.suite for part in named.parts)
        raise DataError(f"{root}: holds no part of {named.name}; a set has a folder for each suite ({names})")
    return found


def content_of(folder: Path) -> Iterator[Path]:
    """The files of a data set, sorted: not hidden ones, and not the output of workers."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and not any(part.startswith(".") for part in parts) and parts[0] != LOGS:
            yield path


def versions_here() -> dict[str, str]:
    """Versions of what the bytes of a data set depend on, Python's without its patch, and the kind of CPU."""
    found = {
        "machine": platform.machine(),
        "python": ".".join(platform.python_version_tuple()[:2]),
        # Another one, such as zlib-ng, packs the same content of a .gz to other bytes.
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


STEADY = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL",
    "OPENBLAS_CORETYPE": "Haswell",
}
"""Variables under which workers make a set on x86-64. For processors with AVX-512 numpy and OpenBLAS have other code,
which rounds the last digits of a pose another way. Names of older and newer numpys stand together: one that a version
does not know, it passes over. What is set already stays."""


@dataclass(frozen=True)
class MadeSet:
    """A set on disk."""

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
    for part in _parts(named, only):  # a missing extra fails here, not after hours
        with closing(open_collection(part.suite, part.folder(root), part.options)) as collection:
            collection.begin(local=True)
    for part in _parts(named, only):
        with locked(part.folder(root)), _steady():
            made = collect(
                part.suite,
                part.folder(root),
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
        items, done = count(part.suite, part.folder(root), **part.options)
        facts = {"minutes": part.minutes, "frozen": part.is_frozen}
        rows.append({"suite": part.suite, "items": items, "done": done, **facts})
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
    # `run` needs this module, and not that one.
    from worldgauge.tools.plan import PILOT_TASKS, Meter, any_model, asked_frames, by_kind, lengths_s, run_pilot

    content = read_json_object(definition / DEFINITION)
    if not (found := [suite for suite in content["suites"] if any(content_of(root / suite))]):
        raise UsageError(f"{root}: holds no part of {content['name']}")
    for suite in found:
        folder, part = root / suite, content["suites"][suite]
        # Before its files are listed: a making that still runs would add to them.
        expected, done = count(suite, folder, **part["options"])
        if done < expected:
            raise UsageError(f"{folder}: {done} of {expected} things are made; make the others first")
        files = {path.relative_to(folder).as_posix(): digest_of_file(path) for path in content_of(folder)}
        opened = open_suite(suite, {})
        tasks = list_tasks(opened, folder)
        part["tasks_count"], part["clusters"] = len(tasks), len(set(clusters_of(opened, tasks)))
        if opened.answerer_kind == "model":
            meter = Meter(any_model().spec)
            pilot = run_pilot(suite, meter, folder, {}, PILOT_TASKS, scoring=opened.scoring_s is None)
            seconds = lengths_s(opened, tasks)
            part["task_s"] = round((opened.scoring_s or 0.0) + pilot.task_s, 2)
            part["frames"] = round(sum(asked_frames(meter.spec.told, opened, tasks, seconds, pilot).values()))
            part["requests"] = round(sum(by_kind(tasks, pilot.questions).values()))
            part["fps"] = max(opened.rates(tasks[0])) if seconds else 0.0
        part["megabytes"] = round(sum((folder / name).stat().st_size for name in files) / 1e6, 1)
        digests = {"files": files, "tasks": {task.id: digits_of(task.fingerprint) for task in tasks}}
        write_file(definition / f"{suite}.json", dumps(digests, indent=1) + "\n")
    content["made_with"] = versions_here()
    write_file(definition / DEFINITION, dumps(content, indent=1) + "\n")
    return read_set(definition)


def ship_baselines(definition: Path, runs: Path) -> NamedSet:
    """Write the scores of the baselines in run folders into a definition, a file a suite."""
    from worldgauge.tools.paper_table import paired_spread  # `run` needs this module, and not that one

    content = read_json_object(definition / DEFINITION)
    for suite, part in content["suites"].items():
        if (runs / suite).is_dir():
            ran = [run for run in find_runs([runs / suite]) if run.facts()["model"]["kind"] == "baseline"]
            part["baselines"] = sorted(run.facts()["model"]["name"] for run in ran)
            done = len({task for run in ran for task in read_journal(run.journal_path)})
            part |= {"baseline_tasks": done} if done < part["tasks_count"] else {}
            part["baselines_sha256"] = pack_scores(ran, definition / f"{suite}.scores.xz")
            part["spread"] = paired_spread([run.directory for run in ran])
    write_file(definition / DEFINITION, dumps(content, indent=1) + "\n")
    return read_set(definition)


__all__ = ["MadeSet", "SetCheck", "check_set", "make_set", "planned"]


if __name__ == "__main__":
    reader = argparse.ArgumentParser()
    reader.add_argument("definition", type=Path)
    reader.add_argument("--data", type=Path)
    reader.add_argument("--runs", type=Path)
    given = reader.parse_args()
    if given.data:
        freeze(given.definition, given.data)
    if given.runs:
        ship_baselines(given.definition, given.runs)
