"""Takes weights that are already on this machine into the store."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.io import atomic_file
from worldgauge.weights.catalogue import WeightFile, WeightSet, catalogue
from worldgauge.weights.store import Seen, fault_of, only_writer, records_of, seen_at, standing, write_records

MOST_FILES = 200_000


@dataclass(frozen=True)
class Adopted:
    """A file that was taken into the store.

    Attributes:
        set: Name of its set.
        name: Name of the file in the set.
        source: Where it was found.
        linked: Whether it was linked; else it was copied.
    """

    set: str
    name: str
    source: Path
    linked: bool


@dataclass
class Adoption:
    """Result of a search for weights.

    Attributes:
        taken: Files that were taken.
        here: Files (set, name) that were in the store before.
        wrong: Files with the right name and the wrong content, described in words.
    """

    taken: list[Adopted] = field(default_factory=list)
    here: list[tuple[str, str]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def adopt(folder: Path) -> Adoption:
    """Take every file under a folder that is in the catalogue, recognised by its digest, whatever its name.

    A file without a published digest is recognised by its name when it lies next to others of its set, or in a folder
    with the name of the set. Files become hard links when possible: this makes no second copy of gigabytes, and unlike
    a symbolic link they stay when the folder is removed. Files on another disk are copied. Nothing in `folder` changes.

    Args:
        folder: The folder.

    Returns:
        What was found.

    Raises:
        UsageError: There is no such folder.
        DataError: The store cannot be written to.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    seen: dict[Path, Seen] = {}
    for path in _files(folder):
        if _candidates(path):
            seen[path] = seen_at(path)
    found: dict[tuple[str, str], Path] = {}
    homes: set[tuple[str, Path]] = set()
    for path, one in seen.items():
        for of, file in _candidates(path):
            if file.published and not fault_of(file, one):
                found.setdefault((of.name, file.name), path)
                homes.add((of.name, path.parent))
    for path, one in seen.items():
        for of, file in _candidates(path):
            near = (of.name, path.parent) in homes or _meant(path, of, file)
            if not file.published and path.name == file.name and near and not fault_of(file, one):
                found.setdefault((of.name, file.name), path)
    adoption = Adoption(wrong=list(_wrong(seen, found)))
    for of in catalogue.values():
        files = {file.name: found[of.name, file.name] for file in of.files if (of.name, file.name) in found}
        if files:
            _take(of, files, seen, adoption)
    return adoption


def _files(folder: Path) -> Iterator[Path]:
    """Files that can be read, in the order of their names; links to files count, links to folders are not followed."""
    count = 0
    for here, folders, names in os.walk(folder):
        folders.sort()
        for path in (Path(here, name) for name in sorted(names)):
            if (count := count + 1) > MOST_FILES:
                raise UsageError(f"{folder}: more than {MOST_FILES} files; name the folder of the weights")
            if path.is_file() and os.access(path, os.R_OK):
                yield path


def _candidates(path: Path) -> list[tuple[WeightSet, WeightFile]]:
    """What `path` could be, by name or size."""
    size = path.stat().st_size
    return [
        (of, file) for of in catalogue.values() for file in of.files if path.name == file.name or size == file.bytes
    ]


def _meant(path: Path, of: WeightSet, file: WeightFile) -> bool:
    """Whether `path` can only be `file` of this set, by its name and folder."""
    alone = sum(file.name == other.name for each in catalogue.values() for other in each.files) == 1
    return path.name == file.name and (alone or path.parent.name == of.name)


def _wrong(seen: Mapping[Path, Seen], taken: Mapping[tuple[str, str], Path]) -> Iterator[str]:
    for path, one in seen.items():
        candidates = _candidates(path)
        if path not in taken.values() and all(fault_of(file, one) for _, file in candidates):
            for of, file in candidates:
                if _meant(path, of, file) and (of.name, file.name) not in taken:
                    yield f"{path}: {fault_of(file, one)}"


def _take(of: WeightSet, files: Mapping[str, Path], seen: Mapping[Path, Seen], adoption: Adoption) -> None:
    with only_writer(of.name) as store:
        lacking = {file.name: file for file in standing(of.name).lacking}
        for name, source in files.items():
            if name not in lacking:
                adoption.here.append((of.name, name))
                continue
            records = records_of(store)
            if fault := fault_of(lacking[name], seen[source], records.get(name)):
                adoption.wrong.append(f"{source}: {fault}")
                continue
            linked = _link(source, store / name)
            if not linked:
                with atomic_file(store / name) as out, source.open("rb") as data:
                    shutil.copyfileobj(data, out, 1 << 20)
            arrived = seen[source] if linked and seen[source].still(store / name) else seen_at(store / name)
            if arrived.sha256 != seen[source].sha256:
                (store / name).unlink()
                raise DataError(f"{source}: has changed while it was taken")
            write_records(store, records | {name: arrived})
            adoption.taken.append(Adopted(of.name, name, source, linked))


def _link(source: Path, target: Path) -> bool:
    """Give the file a second name; False where it has to be copied."""
    fresh = target.with_name(f".{target.name}.link")
    try:
        fresh.unlink(missing_ok=True)
        os.link(source.resolve(), fresh)
        os.replace(fresh, target)
    except OSError:  # another disk, or a file system or rights that have no such links
        return False
    finally:
        fresh.unlink(missing_ok=True)
    return True
