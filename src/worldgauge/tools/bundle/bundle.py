"""Make a bundle of a run: records, scores, settings, versions, hardware, small films, some videos as they were made.

bundle/  manifest.json  bundle.json  run.json  journal.jsonl  scores.jsonl  records/<task>/...  films/<task>/<name>.mp4

All videos would be too large to send. Which are kept whole is decided by the digests of all answers, so nobody can
choose them; from these few a sample of the scores can be made again. The others are there to look at, made small.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from worldgauge.core.errors import DataError, RunError, UsageError
from worldgauge.core.io import check_inside, check_name, digest_of_file, dumps
from worldgauge.core.video import Clip, Writer
from worldgauge.engine.collection.findings import counted
from worldgauge.engine.result import find_runs, read_current_lines, task_ending
from worldgauge.engine.store import RunFolder, file_slug
from worldgauge.serving.isolation import check_no_secret
from worldgauge.tools.bundle.archive import Archive, root_of_contents, write_archive
from worldgauge.tools.bundle.hash_tree import root_of

WHOLE = 8
"""Tasks whose videos are kept as they were made, unless another number is given."""
ABOUT = "bundle.json"
FILM_SIZE = 256
"""Longest side of a film, in pixels."""
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
    """A bundle that was written, or kept.

    Attributes:
        path: The archive.
        root: Root of its hash tree: publish it, and anybody can tell that a copy is yours.
        tasks: Number of tasks.
        whole: Tasks whose videos are in it as they were made.
        kept: Whether another bundle was there already, and was left as it is: `root` is that one's, empty where it is
            no bundle that can be read.
    """

    path: Path
    root: str
    tasks: int
    whole: tuple[str, ...]
    kept: bool = False


def write_bundles(
    runs: Sequence[Path],
    out: Path,
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
    """
    folders = find_runs(runs)
    if about is not None and len(folders) != 1:
        raise UsageError(f"{len(folders)} runs: licence, parameters, link and author are told for one model at a time")
    names = [
        f"{check_name(str(folder.facts()['suite']), 'run.json')}-{folder.directory.resolve().name}.zip"
        for folder in folders
    ]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"two runs would be {twice[0]}; bundle them one by one, each with its own --out")
    return [
        _write(folder, out / name, whole, about or About(), progress, alone=len(folders) == 1)
        for folder, name in zip(folders, names, strict=True)
    ]


def tasks_kept_whole(answers: Mapping[str, str], tasks: Mapping[str, Sequence[str]], count: int) -> list[str]:
    """The tasks whose videos are kept as they were made: chosen by the digests of all answers, so by nobody.

    Args:
        answers: SHA-256 of every file of the run as it was made, by path in the bundle, videos included.
        tasks: Paths of the videos of each task.
        count: How many tasks.

    Returns:
        The tasks, sorted.
    """
    root = root_of(answers)
    videos = [task for task, paths in tasks.items() if paths]
    return sorted(sorted(videos, key=lambda task: hashlib.sha256(f"{root}/{task}".encode()).hexdigest())[:count])


def _write(folder: RunFolder, path: Path, whole: int, about: About, progress: Progress, *, alone: bool) -> Bundled:
    facts = folder.facts()
    lines = read_current_lines(folder)
    ends = [task_ending(line) for line in lines.values()]
    open_ends = ends.count("left") + ends.count("unscored")
    if open_ends:
        raise RunError(
            f"{folder.directory}: {counted(open_ends, 'task')} not done or not scored; finish the run with worldgauge "
            "run or score, then bundle it"
        )
    hide = _without_place(str(facts["source"]))
    contents: dict[str, bytes | Path] = {
        one.name: hide(_read(one)) for one in (folder.facts_path, folder.journal_path, folder.scores_path)
    }
    videos: dict[str, list[str]] = {}
    for task, line in lines.items():
        if line is not None and line["status"] != "skipped":
            files = _files_of(folder, task)
            contents |= {name: hide(_read(one)) if one.suffix in _TEXT else one for name, one in files.items()}
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
            "label": str(facts["subject"]["name"]),
            "suite": str(facts["suite"]),
            "about": asdict(about),
            "whole": kept,
            "whole_asked": whole,
            "left_out": {name: answers[name] for name in sorted(left_out)},
        }
        contents |= {ABOUT: (dumps(told, indent=1) + "\n").encode(), **made}
        if path.exists() and (there := _root_of_file(path)) != root_of_contents(contents):
            if alone:
                raise UsageError(f"{path}: there already, with other content; give another --out, or remove it first")
            return Bundled(path, there, len(lines), (), kept=True)
        root = write_archive(path, contents)
    return Bundled(path, root, len(lines), tuple(kept))


def _root_of_file(path: Path) -> str:
    """Root of a bundle; empty for a file that is none."""
    try:
        with Archive(path) as archive:
            return archive.root
    except DataError:
        return ""


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
        film = "films/" + name.removeprefix("records/")
        target = scratch / f"{done}.mp4"
        clip = Clip.open(source)
        width, height = clip.width, clip.height
        part = min(1.0, FILM_SIZE / max(width, height))
        small = clip.resized(max(2, round(width * part)), max(2, round(height * part)))
        with Writer(target, fps=clip.fps, kind="viewable") as out:
            for frame in small:
                out.write(frame[None])
        made[film] = target
    return made


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


def _without_place(source: str) -> Callable[[bytes], bytes]:
    """Writes `DATA` for the folder of the data set in JSON text. No score depends on where it lies."""
    quoted: Any = dumps(source)[1:-1].encode()
    pattern = re.compile(re.escape(quoted) + rb'(?=[/"])')
    return lambda text: pattern.sub(DATA.encode(), text)
