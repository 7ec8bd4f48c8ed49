"""A run on disk: strict JSON, files written whole, and the folder of one run.

runs/x/<subject>/  run.json  journal.jsonl  records/<task>/{record.json, rollout.mp4, scores.json}  scores.jsonl
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from types import NoneType
from typing import Any

from worldgauge.core.errors import DataError, RunError, SubjectError, UsageError
from worldgauge.core.io import dumps, loads, write_file
from worldgauge.engine.suite.contract import Record, Score, Task

SCHEMA = 1
"""Version of everything written here; part of every task's identity."""

MAX_NAME = 200
MAKE_ROOM = "make room, then start the same command again"
_TEMPORARY = ".part-"
_FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
_SCORES_END = "]}"
_RECORD: Mapping[str, Any] = {
    **dict.fromkeys(("key", "task", "fingerprint", "subject"), str),
    "facts": dict,
    "rollout": (str, NoneType),
}


class RunFolder:
    """The folder of one run: where things lie, and how they get there whole or not at all."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.facts_path = directory / "run.json"
        self.journal_path = directory / "journal.jsonl"
        self.scores_path = directory / "scores.jsonl"
        self.records = directory / "records"

    def create(self) -> None:
        """Make the folder where it is missing. Raises RunError when it cannot be made."""
        try:
            self.records.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_error(error, self.directory) from error

    def clean(self) -> None:
        """Remove what a kill left half done; only for the holder of the journal's lock."""
        for place in (self.directory, self.records, *self.records.glob("*/")):
            _remove_unfinished(place)

    def facts(self) -> dict[str, Any]:
        """What run.json says. Raises RunError when this is no run folder."""
        try:
            facts = loads(self.facts_path.read_text())
        except FileNotFoundError:
            raise RunError(f"{self.directory}: not a run folder (no run.json)") from None
        except (ValueError, OSError) as error:
            raise RunError(f"{self.facts_path}: cannot be read ({error}); run again to write it anew") from error
        if not isinstance(facts, dict) or facts.get("schema") != SCHEMA:
            raise RunError(f"{self.facts_path}: not of schema {SCHEMA}; it was made by another version of worldgauge")
        return facts

    def record(self, task: str) -> Path:
        """Folder of the record of `task`."""
        return self.records / file_slug(task)

    def prepare(self) -> Path:
        """A new, empty folder in which a record may be made."""
        return Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=self.records))

    def commit(self, prepared: Path, task: str) -> Path:
        """Rename a prepared folder into place as the record of `task`; an older record gives way."""
        final = self.record(task)
        _remove_unfinished(prepared)
        os.chmod(prepared, 0o755)
        sync_folder(prepared)
        if final.exists():
            aside = self.prepare()
            os.rename(final, aside / "old")
            os.rename(prepared, final)
            shutil.rmtree(aside)
        else:
            os.rename(prepared, final)
        sync_folder(self.records)
        return final

    def assemble(self, tasks: Iterable[str]) -> None:
        """Derive scores.jsonl from the records of `tasks`: sorted, so the same for any order of work."""

        def lines() -> Iterator[bytes]:
            for task in sorted(tasks):
                text = (self.record(task) / "scores.json").read_bytes()
                for line in text.splitlines()[1:-1]:
                    yield line.rstrip(b",") + b"\n"

        atomic_write(self.scores_path, lines())

    def scores(self) -> Iterator[tuple[str, Score]]:
        """(subject, score) of every line of scores.jsonl."""
        if not self.scores_path.exists():
            return
        with open(self.scores_path) as file:
            for line in file:
                entry = loads(line)
                yield entry.pop("subject"), score_from_json(entry)


def write_record(record: Record, folder: Path, error: Mapping[str, Any] | None = None, *, key: str = "") -> None:
    """record.json of `record` in `folder`; error: {"type", "message", "trace"} of a failed one.

    key: identity of the task; a record without one is done again by the next run.
    """
    task = record.task
    atomic_write(
        folder / "record.json",
        dumps(
            {
                "schema": SCHEMA,
                "key": key,
                "suite": task.suite,
                "task": task.id,
                "sample": task.sample,
                "fingerprint": task.fingerprint,
                "group": task.group,
                "subject": record.subject,
                "rollout": record.rollout,
                "facts": record.facts,
                "error": error,
            }
        )
        + "\n",
    )


def read_record(folder: Path, task: Task, key: str) -> Record:
    """The record of `task` in `folder`. Raises RunError when it is not there, damaged or made of something else."""
    entry = record_entry(folder)
    if entry["task"] != task.id or entry["fingerprint"] != task.fingerprint or entry["key"] != key:
        raise RunError(f"{folder}: made of other data, settings or model than task '{task.id}' has now; run again")
    return Record(task, entry["subject"], folder, entry["facts"], entry["rollout"])


def record_entry(folder: Path) -> dict[str, Any]:
    """record.json in `folder`, its fields checked. Raises RunError when it is not there or damaged."""
    try:
        entry: dict[str, Any] = loads((folder / "record.json").read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{folder}: no readable record ({error}); run again to make it anew") from error
    for name, kind in _RECORD.items():
        if not isinstance(entry, dict) or name not in entry or not isinstance(entry[name], kind):
            raise RunError(f"{folder}: record.json has no usable '{name}'; run again to make it anew")
    if entry["rollout"] is not None and not _FILE_NAME.fullmatch(entry["rollout"]):
        raise RunError(f"{folder}: the rollout '{entry['rollout']}' is not the name of a file in that folder")
    return entry


def record_key(folder: Path) -> str | None:
    """Key of the record in `folder`; None when there is no whole one."""
    try:
        key: str = record_entry(folder)["key"]
    except RunError:
        return None
    return key


def write_scores(scores: Iterable[Score], subject: str, folder: Path, *, key: str = "") -> None:
    """scores.json: one score a line, by metric name, as scores.jsonl has them, after a line with their `key`."""
    lines = [dumps({**asdict(score), "subject": subject}) for score in sorted(scores, key=lambda s: s.metric)]
    head = f'{{"key": {dumps(key)}, "scores": ['
    text = "\n".join([head, *(f"{line}," for line in lines[:-1]), *lines[-1:], _SCORES_END, ""])
    atomic_write(folder / "scores.json", text)


def scores_key(folder: Path) -> str | None:
    """Key of the scores in `folder`, which says what they depend on; None when there are none."""
    try:
        with open(folder / "scores.json") as file:
            key = loads(file.readline() + _SCORES_END)["key"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return key if isinstance(key, str) else None


def score_from_json(entry: Mapping[str, Any]) -> Score:
    """A score from its JSON object."""
    score = Score(**entry)
    return replace(score, series=tuple((int(frame), value) for frame, value in score.series))


def atomic_write(path: Path, data: bytes | str | Iterable[bytes]) -> None:
    """`core.io.write_file` in a run folder, where the rename is on disk too before it returns.

    Raises RunError when the disk is full or the folder is read-only; the old file then stays.
    """
    try:
        write_file(path, data)
        sync_folder(path.parent)
    except (DataError, OSError) as error:
        refusal = error if isinstance(error, OSError) else error.__cause__
        assert isinstance(refusal, OSError)
        raise write_error(refusal, path) from refusal


def file_slug(name: str) -> str:
    """`name` as the name of a file: [A-Za-z0-9._-], "/" as "__", long ones cut and told apart by a digest.

    Raises UsageError for names that cannot be meant, such as "..", "a//b" or "a b".
    """
    words = name.split("/")
    if any(not re.fullmatch(r"[A-Za-z0-9._-]+", word) or set(word) == {"."} or word[0] == "." for word in words):
        raise UsageError(f"'{name}' is no usable name: words of letters, digits and ._- joined by / are")
    flat = "__".join(words)
    if len(flat) <= MAX_NAME:
        return flat
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{flat[: MAX_NAME - 17]}-{digest}"


def check_file_slugs(names: Iterable[str]) -> None:
    """Raises UsageError when two names are equal or would lie in the same folder (also where case is ignored)."""
    seen: dict[str, str] = {}
    for name in names:
        folder = file_slug(name).lower()
        if folder in seen:
            other = seen[folder]
            raise UsageError(f"'{name}' comes twice" if other == name else f"'{other}' and '{name}' share one folder")
        seen[folder] = name


def explain_full_disk(error: BaseException) -> str | None:
    """What to tell when disk, quota or file size is behind `error`, with what to do; None when it is something else.

    What a model does on its disk is its failure, so nothing behind a SubjectError counts.
    """
    link: BaseException | None = error
    while link is not None and not isinstance(link, SubjectError):
        if isinstance(link, OSError) and link.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            text = " ".join(str(error).split())
            return text if text.endswith(MAKE_ROOM) else f"{text}; {MAKE_ROOM}"
        link = link.__cause__
    return None


def write_error(error: OSError, path: Path) -> RunError:
    """The one line that a failed write deserves: the disk is full, or the place cannot be written."""
    if explain_full_disk(error) is not None:
        return RunError(f"{path}: the disk is full ({error.strerror}); {MAKE_ROOM}")
    return RunError(f"{path}: cannot be written ({error.strerror}); choose another --out or mend the folder")


def sync_folder(path: Path) -> None:
    """Make renames inside `path` last."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove_unfinished(folder: Path) -> None:
    """Ours begin with ".part-", those of `video.Writer` with a dot and end with ".part"."""
    for left in folder.glob(".*"):
        if left.name.startswith(_TEMPORARY) or left.suffix == ".part":
            # A killed run's worker may write for another moment; what it leaves goes the next time.
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)
