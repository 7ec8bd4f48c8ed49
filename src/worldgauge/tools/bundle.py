"""A run as one archive that anybody can check: how it is made, written and read within limits.

bundle/  manifest.json  bundle.json  run.json  journal.jsonl  scores.jsonl  records/<task>/...  films/<task>/<name>.mp4

All videos would be too large to send. Some stay whole, each has a small film, and the digests of those left out are
part of the root: the author can send them afterwards, but no others.

The archive holds plain files with plain names, stored or deflated, each named in `manifest.json` with its size and
SHA-256. Everything else is refused before anything is unpacked.

The root is a hash tree in the form of RFC 6962, section 2.1: leaves and inner nodes are hashed with different first
bytes, and a tree of n leaves is split at the largest power of two below n. A leaf is the path of a file with the
SHA-256 of its contents.
"""

from __future__ import annotations

import hashlib
import re
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from worldgauge.core.errors import DataError, RunError, UsageError
from worldgauge.core.io import (
    atomic_file,
    check_inside,
    check_name,
    digest_of_file,
    dumps,
    parse_json,
    read_json_object,
)
from worldgauge.core.video import Clip, Kind, Writer
from worldgauge.engine.collection import counted
from worldgauge.engine.result import Runs, find_runs, read_current_lines, task_ending
from worldgauge.engine.store import RunFolder, file_slug
from worldgauge.models.videos import videos_in
from worldgauge.serving.isolation import check_no_secret

_LEAF, _NODE = b"\0", b"\1"


def root_of(digests: Mapping[str, str]) -> str:
    """Root of the tree over files."""
    leaves = [_hash(_LEAF + path.encode() + b"\0" + bytes.fromhex(digest)) for path, digest in sorted(digests.items())]
    return (_root(leaves) if leaves else _hash(b"")).hex()


def _root(nodes: Sequence[bytes]) -> bytes:
    if len(nodes) == 1:
        return nodes[0]
    half = 1 << ((len(nodes) - 1).bit_length() - 1)
    return _hash(_NODE + _root(nodes[:half]) + _root(nodes[half:]))


def _hash(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


FORMAT, VERSION = "worldgauge-bundle", 1
MANIFEST = "manifest.json"
MAX_FILES = 500_000
MAX_DIRECTORY_BYTES = 256 * 2**20
"""Largest table of contents of an archive, which the zip reader holds in memory."""
MAX_MANIFEST_BYTES = 128 * 2**20
"""Largest manifest; one of 500,000 files has about 100 MB."""
MAX_TEXT_BYTES = 512 * 2**20
"""Largest file of an archive that is read as a whole."""
MAX_DEFLATED_BYTES = 4 * 2**30
"""Most that all deflated files of an archive may hold together."""

_PART = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,254}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_CHUNK = 2**20
_END = struct.Struct("<4s4H2LH")
_LOCATOR = struct.Struct("<4sLQL")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_BLANK_DATE = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Stored:
    """A file of a bundle, as its manifest names it."""

    size: int
    sha256: str


class ContentsError(DataError):
    """A file of a bundle is damaged, or not what the manifest names."""


def write_archive(path: Path, contents: Mapping[str, bytes | Path]) -> str:
    """Write a bundle whole or not at all. The same contents give the same bytes."""
    stored = {name: _measure(held) for name, held in contents.items()}
    root = root_of({name: one.sha256 for name, one in stored.items()})
    files = {name: {"bytes": one.size, "sha256": one.sha256} for name, one in stored.items()}
    manifest = dumps({"format": FORMAT, "version": VERSION, "root": root, "files": files}, indent=1) + "\n"
    with atomic_file(path) as file, zipfile.ZipFile(file, "w") as archive:
        _add(archive, MANIFEST, manifest.encode(), len(manifest))
        for name in sorted(contents):
            _add(archive, name, contents[name], stored[name].size)
    return root


class Archive(AbstractContextManager["Archive"]):
    """A bundle that is open for reading. Its form is checked on opening, its contents where they are read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with open(path, "rb") as file:
                _check_directory(path, file)
            self._zip = zipfile.ZipFile(path)
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
        except (zipfile.BadZipFile, struct.error, ValueError, OverflowError, NotImplementedError) as error:
            raise DataError(f"{path}: no whole zip archive ({error}); get the bundle again") from error
        try:
            self._entries = _checked_entries(path, self._zip.infolist())
            _check_sums(path, self._entries.values())
            self.root, self.files = self._read_manifest()
        except BaseException:
            self._zip.close()
            raise

    def read(self, name: str, limit: int = MAX_TEXT_BYTES) -> bytes:
        """Contents of a file, which are those that the manifest names."""
        if name not in self.files:
            raise DataError(f"{self.path}: holds no '{name}'")
        if self.files[name].size > limit:
            raise DataError(f"{self.path}: '{name}' has {self.files[name].size} bytes, the limit is {limit}")
        return b"".join(self._checked(name))

    def check(self, name: str) -> None:
        """Read a file, and keep nothing of it."""
        for _ in self._checked(name):
            pass

    def extract(self, name: str, target: Path) -> None:
        """Write a file to a path, whose folder is made where it is missing."""
        try:
            if not target.parent.is_dir():
                target.parent.mkdir(parents=True)
            # Not durable: it is looked at and thrown away.
            with open(target, "wb") as file:
                for chunk in self._checked(name):
                    file.write(chunk)
        except OSError as error:
            raise DataError(f"{target}: cannot be written ({error.strerror or error})") from error
        except ContentsError:
            target.unlink(missing_ok=True)
            raise

    def chunks(self, name: str) -> Iterator[bytes]:
        """Contents of a file in parts, never more than the manifest says."""
        left = self._entries[name].file_size
        try:
            with self._zip.open(self._entries[name]) as file:
                while left and (chunk := file.read(min(_CHUNK, left))):
                    left -= len(chunk)
                    yield chunk
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError) as error:
            raise ContentsError(f"{self.path}: '{name}' is damaged ({error}); get the bundle again") from error
        if left:
            raise ContentsError(f"{self.path}: '{name}' is cut; get the bundle again")

    def close(self) -> None:
        """Close the file."""
        self._zip.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _checked(self, name: str) -> Iterator[bytes]:
        """Parts of a file, which in the end are what the manifest names."""
        digest = hashlib.sha256()
        for chunk in self.chunks(name):
            digest.update(chunk)
            yield chunk
        if digest.hexdigest() != self.files[name].sha256:
            raise ContentsError(f"{self.path}: '{name}' is not what the manifest names; get the bundle again")

    def _read_manifest(self) -> tuple[str, dict[str, Stored]]:
        if MANIFEST not in self._entries:
            raise DataError(f"{self.path}: no bundle of worldgauge (no {MANIFEST})")
        if self._entries[MANIFEST].file_size > MAX_MANIFEST_BYTES:
            raise DataError(f"{self.path}: its {MANIFEST} is too large")
        held = parse_json(b"".join(self.chunks(MANIFEST)), f"{self.path}: {MANIFEST}")
        if not isinstance(held, dict) or held.get("format") != FORMAT:
            raise DataError(f"{self.path}: no bundle of worldgauge ({MANIFEST} is of another format)")
        if held.get("version") != VERSION:
            raise DataError(
                f"{self.path}: a bundle of version {held.get('version')!r:.20}, this worldgauge reads {VERSION}; "
                "read it with the version that made it"
            )
        files: dict[str, Stored] = {}
        for name, facts in _mapping(held.get("files")).items():
            size, digest = _mapping(facts).get("bytes"), _mapping(facts).get("sha256")
            if not isinstance(size, int) or not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
                raise DataError(f"{self.path}: {MANIFEST} does not state size and digest of '{name:.80}'")
            if name in self._entries and self._entries[name].file_size != size:
                raise DataError(f"{self.path}: '{name}' has another size than {MANIFEST} says; get the bundle again")
            files[name] = Stored(size, digest)
        odd = sorted((self._entries.keys() - {MANIFEST}) ^ files.keys())
        if odd:
            lacks = "the archive lacks" if odd[0] in files else "the manifest does not name"
            raise DataError(f"{self.path}: {lacks} '{odd[0]}' ({len(odd)} such); get the bundle again")
        root = root_of({name: one.sha256 for name, one in files.items()})
        if held.get("root") != root:
            raise DataError(f"{self.path}: its {MANIFEST} was changed: the root is not that of its digests")
        return root, files


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _measure(held: bytes | Path) -> Stored:
    if isinstance(held, bytes):
        return Stored(len(held), hashlib.sha256(held).hexdigest())
    try:
        with held.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return Stored(file.tell(), digest)
    except OSError as error:
        raise DataError(f"{held}: cannot be read ({error.strerror})") from error


def _add(archive: zipfile.ZipFile, name: str, held: bytes | Path, size: int) -> None:
    """Films are compressed already; text is deflated."""
    entry = zipfile.ZipInfo(name, _BLANK_DATE)
    entry.create_system, entry.external_attr, entry.file_size = 3, (stat.S_IFREG | 0o644) << 16, size
    text = name.endswith((".json", ".jsonl", ".txt"))
    entry.compress_type = zipfile.ZIP_DEFLATED if text else zipfile.ZIP_STORED
    with archive.open(entry, "w") as out:
        if isinstance(held, bytes):
            out.write(held)
            return
        with held.open("rb") as file:
            while chunk := file.read(_CHUNK):
                out.write(chunk)


def _check_directory(path: Path, file: IO[bytes]) -> None:
    """Check the size of an archive's table of contents before the zip reader takes it into memory."""
    size = file.seek(0, 2)
    if size < _END.size:
        raise DataError(f"{path}: no zip archive, or cut; get the bundle again")
    file.seek(size - _END.size)
    mark, _, _, _, count, length, _, comment = _END.unpack(file.read(_END.size))
    # Our archives end with the end record, without a comment.
    if mark != b"PK\x05\x06" or comment:
        raise DataError(f"{path}: no zip archive, or cut; get the bundle again")
    if count == 0xFFFF or length == 0xFFFFFFFF:
        file.seek(max(0, size - _END.size - _LOCATOR.size))
        mark, _, place, _ = _LOCATOR.unpack(file.read(_LOCATOR.size))
        if mark == b"PK\x06\x07":
            file.seek(min(place, size))
            count, length = _END_64.unpack(file.read(_END_64.size))[7:9]
    if count > MAX_FILES or length > MAX_DIRECTORY_BYTES:
        raise DataError(f"{path}: {count} files are too many for a bundle; the limit is {MAX_FILES}")


def _check_sums(path: Path, entries: Iterable[zipfile.ZipInfo]) -> None:
    """Files that share their bytes make a small archive unpack to any size; honest ones lie one after another."""
    packed = deflated = 0
    for entry in entries:
        packed += entry.compress_size
        deflated += entry.file_size if entry.compress_type == zipfile.ZIP_DEFLATED else 0
    if packed > path.stat().st_size:
        raise DataError(f"{path}: its files lie in one another; it was not unpacked")
    if deflated > MAX_DEFLATED_BYTES:
        raise DataError(f"{path}: would unpack to {deflated} bytes of text; the limit is {MAX_DEFLATED_BYTES}")


def _checked_entries(path: Path, entries: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """Entries by name, when each is a plain file that may be unpacked."""
    found: dict[str, zipfile.ZipInfo] = {}
    seen: set[str] = set()
    for entry in entries:
        name = entry.orig_filename
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in (0, stat.S_IFREG):
            raise DataError(f"{path}: '{name:.80}' is a link or a device, not a file; a bundle holds none")
        if len(name) > 1024 or not all(map(_PART.fullmatch, name.split("/"))):
            raise DataError(f"{path}: '{name:.80}' is no name of a file in a bundle; it was not unpacked")
        if entry.flag_bits & 0x1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DataError(f"{path}: '{name:.80}' is encrypted or packed in a way that bundles do not use")
        if entry.file_size != entry.compress_size and (
            entry.compress_type == zipfile.ZIP_STORED or entry.file_size > MAX_TEXT_BYTES
        ):
            raise DataError(f"{path}: '{name:.80}' has a size that no file of a bundle has")
        if name.lower() in seen:
            raise DataError(f"{path}: '{name:.80}' is in it twice")
        seen.add(name.lower())
        found[name] = entry
    return found


WHOLE = 8
"""Tasks whose videos are kept as they were made, unless another number is given."""
ABOUT, RECORDS, FILMS = "bundle.json", "records", "films"
QUESTIONS, VIDEOS = "questions.json", "videos"
"""In an archive of answers to sealed questions."""
FILM_SIZE = 256
"""Longest side of a film, in pixels."""
FILM_KIND: Kind = "archive"
"""How films are encoded: with less colour the scores of a film are too far from those of the whole video."""
VIDEO = ".mp4"
DATA = "data"
"""Stands in the text of a bundle for the folder of the data set, which is nobody's business."""

_TEXT = (".json", ".jsonl", ".txt")
_LINK = re.compile(r"https?://[^\s<>\"'`]{1,300}")

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class About:
    """What the author says of a model and no run knows. Empty where it is not said.

    Attributes:
        licence: Licence of the model, such as "Apache-2.0".
        parameters: Number of its parameters. 0 where it is not said.
        link: Where the model is described, http or https.
        by: Who made the bundle.

    Examples:
        >>> wg.About(licence="Apache-2.0", parameters=1_300_000_000).parameters
        1300000000
    """

    licence: str = ""
    parameters: int = 0
    link: str = ""
    by: str = ""

    def __post_init__(self) -> None:
        for name, text in (("--licence", self.licence), ("--by", self.by), ("--link", self.link)):
            check_no_secret(text, name)
        for name, text in (("--licence", self.licence), ("--by", self.by)):
            if len(text) > 100 or not text.isprintable():
                raise UsageError(f"{name} takes up to 100 printable characters")
        if self.link and not _LINK.fullmatch(self.link):
            raise UsageError("--link takes an address of http or https, of up to 300 characters")
        if not 0 <= self.parameters < 10**16:
            raise UsageError("--parameters takes the number of parameters, such as 1300000000")


@dataclass(frozen=True)
class Bundled:
    """A bundle, written or `kept`: another was there already, and `root` is that one's, empty if unreadable."""

    path: Path
    root: str
    tasks: int
    whole: tuple[str, ...]
    kept: bool = False


def write_bundles(
    runs: Runs,
    out: Path | str,
    *,
    whole: int = WHOLE,
    about: About | None = None,
    progress: Progress = lambda doing, done, total: None,
) -> list[Bundled]:
    """Write one archive for each run, `<suite>-<label>.zip`. The same run gives the same bytes.

    What lies at the place of an archive with other content is never replaced: its root may be published.

    Args:
        runs: Run folders, or folders of run folders.
        out: Folder of the archives.
        whole: Number of tasks whose videos are kept as they were made.
        about: What is said of the model, for one run.
        progress: Called with what is done, and how many videos of how many are.

    Returns:
        The bundles. Of several runs, those whose place is taken are `kept`.

    Raises:
        UsageError: When `about` is given for several runs, two would have one name, or the place of a single one is
            taken.
        RunError: For a folder without a run, and a run that is not finished.
        DataError: When something cannot be read or written.

    Examples:
        >>> [made.path.name for made in wg.write_bundles("runs/freeze", "bundles")]
        ['mind-freeze.zip']
    """
    folders = find_runs(runs)
    if about is not None and len(folders) != 1:
        raise UsageError(f"{len(folders)} runs: licence, parameters, link and author describe one model at a time")
    names = [
        f"{check_name(str(folder.facts()['suite']), 'run.json')}-{folder.directory.resolve().name}.zip"
        for folder in folders
    ]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"two runs would be {twice[0]}; bundle them one by one, each with its own --out")
    return [
        _write(folder, Path(out) / name, whole, about or About(), progress, alone=len(folders) == 1)
        for folder, name in zip(folders, names, strict=True)
    ]


def write_answer(run: Path, out: Path, tasks: Sequence[str]) -> Bundled:
    """Write whole videos of tasks of `verify --ask` to `<suite>-<label>-answer.zip`, for `verify --answer`."""
    (folder, *others) = find_runs([run])
    facts = folder.facts()
    odd = sorted(set(tasks) - facts["task_keys"].keys())
    if others or odd:
        raise UsageError(
            f"{run}: has no task '{odd[0]}'" if odd else f"{run}: holds several runs; name the folder of one"
        )
    videos = {name: path for task in tasks for name, path in _files_of(folder, task).items() if name.endswith(VIDEO)}
    path = out / f"{check_name(str(facts['suite']), 'run.json')}-{folder.directory.resolve().name}-answer.zip"
    return Bundled(path, write_archive(path, videos), len(tasks), tuple(tasks))


def write_sealed_answer(videos: Path, questions: Path, out: Path) -> Bundled:
    """Write videos for sealed questions to `sealed-<suite>-<folder>.zip`. Publish its root before the seal."""
    about = read_json_object(questions / QUESTIONS)
    asked, found = about.get("questions", []), videos_in(videos)
    names = [name for name in asked if name in found]
    if other := sorted(found.keys() - set(asked)):
        raise UsageError(f"{videos}: '{other[0]}' is a video of no question; take it out")
    if "sealed" not in about or not names:
        raise UsageError(f"{questions}: not sealed" if "sealed" not in about else f"{videos}: no video of {questions}")
    contents: dict[str, bytes | Path] = {QUESTIONS: (questions / QUESTIONS).read_bytes()}
    contents |= {f"{VIDEOS}/{name}{path.suffix}": path for name in names for path in found[name]}
    path = out / f"sealed-{check_name(str(about['suite']), QUESTIONS)}-{videos.resolve().name}.zip"
    if path.exists():
        raise UsageError(f"{path}: there already; give another --out, or remove it first")
    return Bundled(path, write_archive(path, contents), len(asked), tuple(names))


def tasks_kept_whole(answers: Mapping[str, str], tasks: Mapping[str, Sequence[str]], count: int) -> list[str]:
    """The tasks whose videos stay whole. The digests of all answers choose them, which an author can influence."""
    root = root_of(answers)
    videos = [task for task, paths in tasks.items() if paths]
    return sorted(sorted(videos, key=lambda task: hashlib.sha256(f"{root}/{task}".encode()).hexdigest())[:count])


def _write(folder: RunFolder, path: Path, whole: int, about: About, progress: Progress, *, alone: bool) -> Bundled:
    facts = folder.facts()
    lines = read_current_lines(folder, arms=True)
    ends = [task_ending(line) for line in lines.values()]
    open_ends = ends.count("left") + ends.count("unscored")
    if open_ends:
        raise RunError(
            f"{folder.directory}: {counted(open_ends, 'task')} not done or not scored; finish the run with worldgauge "
            "run or score, then bundle it"
        )
    # `DATA` stands for the folder of the data set in JSON text. No score depends on where it is.
    quoted: Any = dumps(str(facts["source"]))[1:-1].encode()
    pattern = re.compile(re.escape(quoted) + rb'(?=[/"])')
    contents: dict[str, bytes | Path] = {
        one.name: pattern.sub(DATA.encode(), _read(one))
        for one in (folder.facts_path, folder.journal_path, folder.scores_path)
    }
    videos: dict[str, list[str]] = {}
    for task, line in lines.items():
        if line is not None and line["status"] != "skipped":
            files = _files_of(folder, task)
            contents |= {
                name: pattern.sub(DATA.encode(), _read(one)) if one.suffix in _TEXT else one
                for name, one in files.items()
            }
            videos[task] = [name for name in files if name.endswith(VIDEO)]
    answers = {
        name: hashlib.sha256(held).hexdigest() if isinstance(held, bytes) else digest_of_file(held)
        for name, held in contents.items()
    }
    kept = tasks_kept_whole(answers, videos, whole)
    with tempfile.TemporaryDirectory(prefix="worldgauge-bundle-") as scratch:
        made = _films(contents, videos, Path(scratch), progress)
        left_out = [name for task, names in videos.items() if task not in kept for name in names]
        for name in left_out:
            del contents[name]
        told = {
            "label": str(facts["model"]["name"]),
            "suite": str(facts["suite"]),
            "about": asdict(about),
            "whole": kept,
            "whole_asked": whole,  # read by former versions
            "left_out": {name: answers[name] for name in sorted(left_out)},
            "films": FILM_KIND,
        }
        contents |= {ABOUT: (dumps(told, indent=1) + "\n").encode(), **made}
        there = ""
        with suppress(DataError), Archive(path) as archive:  # a file of that name need not be a bundle
            there = archive.root
        if path.exists() and there != root_of({name: _measure(held).sha256 for name, held in contents.items()}):
            if alone:
                raise UsageError(f"{path}: there already, with other content; give another --out, or remove it first")
            return Bundled(path, there, len(lines), (), kept=True)
        root = write_archive(path, contents)
    return Bundled(path, root, len(lines), tuple(kept))


def _films(
    contents: Mapping[str, bytes | Path], videos: Mapping[str, Sequence[str]], scratch: Path, progress: Progress
) -> dict[str, Path]:
    """Small films of all videos, by path in the bundle."""
    names = [name for theirs in videos.values() for name in theirs]
    made = {}
    for done, name in enumerate(names):
        progress(name.split("/")[1], done, len(names))
        source = contents[name]
        assert isinstance(source, Path)
        target = scratch / f"{done}.mp4"
        small = film_of(Clip.open(source))
        with Writer(target, fps=small.fps, kind=FILM_KIND) as out:
            for frame in small:
                out.write(frame[None])
        made[film_name(name)] = target
    return made


def film_of(clip: Clip) -> Clip:
    """The frames of a film of a video."""
    part = min(1.0, FILM_SIZE / max(clip.width, clip.height))
    return clip.resized(max(2, round(clip.width * part)), max(2, round(clip.height * part)))


def film_name(video: str) -> str:
    """Path in a bundle of the film of a video of a record."""
    return f"{FILMS}/{video.removeprefix(f'{RECORDS}/')}"


def _files_of(folder: RunFolder, task: str) -> dict[str, Path]:
    """Files of a record by path in the bundle."""
    place = folder.record(task)
    if not place.is_dir():
        return {}
    found = {}
    for path in sorted(place.rglob("*")):
        name = path.relative_to(place).as_posix()
        if path.is_file() and not any(part.startswith(".") for part in name.split("/")):
            found[f"records/{file_slug(task)}/{name}"] = check_inside(path, place)
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
