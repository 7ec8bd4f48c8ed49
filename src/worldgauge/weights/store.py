"""Where weights lie on this machine, and whether they are correct.

A record next to the files states what was known about them when they were last read, so that gigabytes are hashed only
once. It also holds the digests of first copies without a published digest. Those are kept when a file changes, because
the file is compared with them.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from worldgauge.core.errors import DataError, UnknownNameError, UsageError, WorldgaugeError
from worldgauge.core.io import atomic_file, read_json_object
from worldgauge.core.io import digest_of as digest_of_text
from worldgauge.weights.catalogue import WeightFile, WeightSet, catalogue

FOLDER_VARIABLE = "WORLDGAUGE_WEIGHTS"
State = Literal["here", "partial", "absent", "wrong"]
_NEVER = -1


class AbsentWeightsError(WorldgaugeError):
    """Weights that are not on this machine; the message names the command that downloads them."""


@dataclass(frozen=True)
class Opened:
    """A set that is on this machine."""

    set: WeightSet
    folder: Path
    digest: str


@dataclass(frozen=True)
class WeightSetStatus:
    """State of a set on this machine."""

    set: WeightSet
    folder: Path
    state: State
    sha256: Mapping[str, str]
    faults: Mapping[str, str]

    @property
    def lacking(self) -> tuple[WeightFile, ...]:
        """Files that are missing or wrong."""
        return tuple(file for file in self.set.files if file.name not in self.sha256 or file.name in self.faults)


def opened(name: str) -> Opened:
    """Open a set whose files are all there and correct. Files that have not changed are not read again."""
    return _opened(standing(name))


def verify(name: str) -> Opened:
    """As `opened`, but every file is read, whatever the record states."""
    return _opened(standing(name, afresh=True))


def standing(name: str, *, afresh: bool = False) -> WeightSetStatus:
    """State of a set on this machine."""
    known = known_set(name)
    folder = store_folder() / name
    before = records_of(folder)
    seen = {}
    for file in known.files:
        path = folder / file.name
        if path.is_file():
            old = before.get(file.name)
            seen[file.name] = old if old is not None and not afresh and old.still(path) else seen_at(path)
    found = [file for file in known.files if file.name in seen]
    faults = {file.name: fault_of(file, seen[file.name], before.get(file.name)) for file in found}
    faults = {name: fault for name, fault in faults.items() if fault}
    right = {name: one for name, one in seen.items() if name not in faults}
    # The record of a file that is wrong now keeps its first digest, but its size and time are no longer used.
    records = before | {name: replace(before[name], mtime_ns=_NEVER) for name in faults if name in before} | right
    if records != before:
        write_records(folder, records)
    begun = bool(seen) or any(part_of(folder / file.name).is_file() for file in known.files)
    state: State = "wrong" if faults else "here" if len(found) == len(known.files) else "partial" if begun else "absent"
    return WeightSetStatus(known, folder, state, {name: one.sha256 for name, one in seen.items()}, faults)


def known_set(name: str) -> WeightSet:
    """The set with this name."""
    if name not in catalogue:
        raise UnknownNameError("set of weights", name, catalogue)
    return catalogue[name]


def fault_of(file: WeightFile, seen: Seen, first: Seen | None = None) -> str:
    """What is wrong with a copy of a file."""
    if file.bytes is not None and seen.bytes != file.bytes:
        return f"expected {file.bytes} bytes, got {seen.bytes}"
    if not seen.sha256.startswith(file.sha256):
        digits = "" if file.published else "..."
        return f"expected sha256 {file.sha256}{digits}, got {seen.sha256}"
    if not file.published and first is not None and seen.sha256 != first.sha256:
        known = f"expected sha256 {first.sha256}, as its first copy was recorded"
        return f"{known}, got {seen.sha256}; another is taken once its folder is removed"
    return ""


def part_of(path: Path) -> Path:
    """Path of the incomplete download of a file."""
    return path.with_name(f"{path.name}.part")


def store_folder() -> Path:
    """The folder of all sets; the environment variable WORLDGAUGE_WEIGHTS names another one."""
    from platformdirs import user_data_dir

    return Path(os.environ.get(FOLDER_VARIABLE) or Path(user_data_dir("worldgauge")) / "weights")


@contextmanager
def only_writer(name: str) -> Iterator[Path]:
    """Lock the folder of a set for this process; others wait. The folder is made if necessary."""
    folder = store_folder() / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("a")
    except OSError as error:
        raise DataError(
            f"{folder}: cannot be written ({error.strerror or error}); {FOLDER_VARIABLE} names another folder"
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a lock of the process: released when it ends, also after a kill
        yield folder


def digest_of(folder: Path, names: Iterable[str]) -> str:
    """Digest of several files, in the order of their names."""
    return _digest({name: seen_at(folder / name).sha256 for name in names})


def _opened(found: WeightSetStatus) -> Opened:
    name = found.set.name
    for file, fault in found.faults.items():
        raise DataError(f"{found.folder / file}: {fault}; to have it replaced: worldgauge weights pull {name}")
    if found.state != "here":
        how = "are not all here" if found.state == "partial" else "are not here"
        raise AbsentWeightsError(f"weights '{name}' {how}: worldgauge weights pull {name}")
    return Opened(found.set, found.folder, _digest(found.sha256))


def _digest(digests: Mapping[str, str]) -> str:
    return digest_of_text("".join(f"{name} {digests[name]}\n" for name in sorted(digests)))


RECORD = ".record.json"


@dataclass(frozen=True)
class Seen:
    """State of a file when it was hashed."""

    bytes: int
    mtime_ns: int
    sha256: str

    def still(self, path: Path) -> bool:
        """Whether size and time of a file are unchanged, so that it need not be read again."""
        now = path.stat()
        return (self.bytes, self.mtime_ns) == (now.st_size, now.st_mtime_ns)


def seen_at(path: Path) -> Seen:
    """Read and hash a file. One that changes meanwhile gets its earlier time, so that it is read again next time."""
    with path.open("rb") as file:
        before = os.fstat(file.fileno())
        return Seen(before.st_size, before.st_mtime_ns, hashlib.file_digest(file, "sha256").hexdigest())


def records_of(folder: Path) -> dict[str, Seen]:
    """Read the record of a folder; empty when there is none, or none that can be read."""
    try:
        written = read_json_object(folder / RECORD)["files"]
        return {
            name: Seen(int(one["bytes"]), int(one["mtime_ns"]), str(one["sha256"])) for name, one in written.items()
        }
    except (DataError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def write_records(folder: Path, records: Mapping[str, Seen]) -> None:
    """Write the record of a folder in one step, safe for several processes. A read-only folder gets none."""
    text = json.dumps({"files": {name: asdict(seen) for name, seen in sorted(records.items())}}, indent=1)
    with suppress(OSError):
        handle, part = tempfile.mkstemp(prefix=f"{RECORD}.", dir=folder)  # a unique name: workers open at the same time
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                os.fchmod(file.fileno(), 0o644)  # a store may be shared
                file.write(text + "\n")
            os.replace(part, folder / RECORD)
        except OSError:
            os.unlink(part)
            raise


MOST_FILES = 200_000


@dataclass(frozen=True)
class AdoptedFile:
    """A file that was taken into the store."""

    set: str
    name: str
    source: Path
    linked: bool


@dataclass
class Adoption:
    """Result of a search for weights."""

    taken: list[AdoptedFile] = field(default_factory=list)
    here: list[tuple[str, str]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def adopt(folder: Path) -> Adoption:
    """Take every file under a folder that is in the catalogue, recognised by its digest, whatever its name.
    A file without a published digest is recognised by its name next to others of its set, or in a folder named as the
    set. Hard links, or copies from another disk, stay when the folder is removed. Nothing in `folder` changes."""
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
            adoption.taken.append(AdoptedFile(of.name, name, source, linked))


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
