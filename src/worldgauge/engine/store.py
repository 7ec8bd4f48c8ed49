"""A run on disk: strict JSON, files that are written whole, and the folder of one run.

runs/x/<model>/  run.json  journal.jsonl  records/<task>/{record.json, rollout.mp4, scores.json}  scores.jsonl
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from types import NoneType, TracebackType
from typing import Any, overload

from worldgauge.core.errors import DataError, ModelError, RunError, UsageError
from worldgauge.core.io import digest_of, dumps, loads, write_file
from worldgauge.core.registry import current_suite
from worldgauge.engine.suite.contract import Record, Score, Task

FORMER_KEY = "subject"
"""Former name of the key "model"."""
FORMER_KINDS = {"subject": "model", "reference": "baseline"}
"""Kinds of rows by their former names."""
SCHEMA = 1
"""Version of the files written here; part of every task's identity."""

MAX_NAME = 200
_SHORT = 2000
"""Characters of a line of scores, before its series, up to which it is kept when it was read."""
MAKE_ROOM = "make room, then start the same command again"
_TEMPORARY = ".part-"
_FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
SCORES_END = "]}"
"""Last line of a file of scores."""
_RUN: Mapping[str, Any] = {
    **dict.fromkeys(("suite", "source", "data_fingerprint"), str),
    **dict.fromkeys(("settings", "model", "task_keys"), dict),
    **dict.fromkeys(("seed", "suite_version"), int),
}
_MODEL: Mapping[str, Any] = {**dict.fromkeys(("name", "kind", "address"), str), "inputs": list, "identity": dict}
_IDENTITY: Mapping[str, Any] = {"source": str}
_SCORE: Mapping[str, Any] = {
    **dict.fromkeys(("task", "metric", "unit", "better", "cluster"), (str,)),
    **dict.fromkeys(("group", "facts"), (dict,)),
    "value": (int, float, NoneType),
    "n": (int,),
    "reason": (str, NoneType),
    "series": (list,),
}
"""Fields of run.json, of the model in it and its identity, and of a score, with their types."""
_NUMBER = r"-?\d++(?:\.\d++)?+(?:[eE][+-]?\d++)?+"
_VALUE = rf'(?:{_NUMBER}|null|\{{"special": "(?:nan|\+inf|-inf)", "value": null\}})'
_PAIR = rf"\[\d++, {_VALUE}\]"
_PAIRS = re.compile(rf"\[(?:{_PAIR}(?:, {_PAIR})*+)?+\]")
_SERIES, _AFTER = '"series": ', re.compile(rf', "(?:{FORMER_KEY}|task)": ')
_TEXT = r'"([^"\\\x00-\x1f]*+)"'
_TAIL = re.compile(rf'(?:, "{FORMER_KEY}": {_TEXT})?+, "task": {_TEXT}, "unit": {_TEXT}, "value": ({_VALUE})\}}\s*+')
"""What follows the series in a line of scores.jsonl: the fields are sorted, so this can stand nowhere deeper."""
_RECORD: Mapping[str, Any] = {
    **dict.fromkeys(("key", "suite", "task", "fingerprint", "model"), str),
    **dict.fromkeys(("sample", "group", "facts"), dict),
    "rollout": (str, NoneType),
}


class DamagedLineError(RunError):
    """A line of scores that cannot be read."""

    def __init__(self, text: str, told: str) -> None:
        super().__init__(text)
        self.told = told


class RunFolder:
    """The folder of one run: its layout, and writing that is complete or absent."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.facts_path = directory / "run.json"
        self.journal_path = directory / "journal.jsonl"
        self.scores_path = directory / "scores.jsonl"
        self.records = directory / "records"

    def create(self) -> None:
        """Make the folder if it is missing. RunError if it holds files and none of them is of a run."""
        with _refused_in_one_line(self.directory):
            held = {path.name for path in self.directory.glob("[!.]*")}
            if held - {"records"} and not held & {self.facts_path.name, self.journal_path.name}:
                raise RunError(f"{self.directory}: holds files that are of no run; give another --out")
            self.records.mkdir(parents=True, exist_ok=True)

    def clean(self) -> None:
        """Remove what an interrupted run has left unfinished. Only allowed for the holder of the journal's lock."""
        for place in (self.directory, self.records, *self.records.glob("*/")):
            _remove_unfinished(place)

    def facts(self) -> dict[str, Any]:
        """Content of run.json."""
        try:
            facts = loads(self.facts_path.read_text())
        except FileNotFoundError:
            raise RunError(f"{self.directory}: not a run folder (no run.json)") from None
        except (ValueError, OSError) as error:
            raise RunError(f"{self.facts_path}: cannot be read ({error}); run again to write it") from error
        facts = _with_new_names(facts)
        if not isinstance(facts, dict) or facts.get("schema") != SCHEMA:
            raise RunError(f"{self.facts_path}: not of schema {SCHEMA}; it was made by another version of worldgauge")
        for part, fields in (("", _RUN), ("model", _MODEL), ("model.identity", _IDENTITY)):
            held = facts if not part else facts["model"] if part == "model" else facts["model"]["identity"]
            for name, kind in fields.items():
                if not isinstance(held.get(name), kind):
                    where = f"{part}.{name}" if part else name
                    raise RunError(f"{self.facts_path}: no usable '{where}'; run again to write it")
        return facts

    @property
    def is_earlier(self) -> bool:
        """Whether it is NAME.1, NAME.2 ... next to the run NAME: an earlier run that counts only when it is named."""
        name, dot, number = self.directory.name.rpartition(".")
        if not (dot and number.isdecimal() and (self.directory.parent / name / self.facts_path.name).exists()):
            return False
        try:
            return bool(self.facts()["model"]["name"] == name)
        except RunError:
            return False

    def record(self, task: str) -> Path:
        """Folder of the record of `task`."""
        return self.records / file_slug(task)

    def prepare(self) -> Path:
        """A new, empty folder in which a record can be made."""
        with _refused_in_one_line(self.records):
            return Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=self.records))

    def commit(self, prepared: Path, task: str) -> Path:
        """Rename a prepared folder into the record of a task, which replaces an older record."""
        final = self.record(task)
        with _refused_in_one_line(final):
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
        """Write scores.jsonl from the records of `tasks`. It is sorted, so it does not depend on the order of work."""

        def lines() -> Iterator[bytes]:
            for task in sorted(tasks):
                text = (self.record(task) / "scores.json").read_bytes()
                for line in text.splitlines()[1:-1]:
                    yield line.rstrip(b",") + b"\n"

        atomic_write(self.scores_path, lines())

    def scores(self) -> Iterator[tuple[str, Score]]:
        """Model and score of every line of scores.jsonl."""
        if not self.scores_path.exists():
            return
        with open(self.scores_path, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield read_score(line, number)
                except DamagedLineError as error:
                    raise DamagedLineError(
                        f"{self.scores_path}: {error.told}; "
                        f"write it again from the records: worldgauge score {self.directory}",
                        error.told,
                    ) from None


def with_model_key(entry: Any) -> Any:
    """The object, with the key "model" also if it was written under the former name."""
    if isinstance(entry, dict) and FORMER_KEY in entry:
        entry["model"] = entry.pop(FORMER_KEY)
    return entry


def _with_new_names(content: Any) -> Any:
    """The content of run.json or record.json with the suite and the keys named as today."""
    content = with_model_key(content)
    if not isinstance(content, dict):
        return content
    if isinstance(content.get("suite"), str):
        content["suite"] = current_suite(content["suite"])
    about = content.get("model")
    if isinstance(about, dict) and "address" not in about:
        about["address"] = about.pop("model", None)
        about["kind"] = FORMER_KINDS.get(str(about.get("kind")))
    return content


def write_record(record: Record, folder: Path, error: Mapping[str, Any] | None = None, *, key: str = "") -> None:
    """Write record.json, of a failed task with its `error`. The next run repeats a record without a key."""
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
                "model": record.model,
                "rollout": record.rollout,
                "facts": record.facts,
                "error": error,
            }
        )
        + "\n",
    )


def read_record(folder: Path, task: Task, key: str) -> Record:
    """Read the record of a task."""
    entry = record_entry(folder)
    if entry["task"] != task.id or entry["fingerprint"] != task.fingerprint or entry["key"] != key:
        raise RunError(f"{folder}: made of other data, settings or model than task '{task.id}' has now; run again")
    return Record(task, entry["model"], folder, entry["facts"], entry["rollout"])


def record_entry(folder: Path) -> dict[str, Any]:
    """Content of record.json, with its fields checked."""
    try:
        data = (folder / "record.json").read_bytes()
    except OSError as error:
        raise RunError(f"{folder}: no readable record ({error}); run again to make it") from error
    return read_record_entry(data, str(folder))


def read_record_entry(data: bytes, folder: str) -> dict[str, Any]:
    """Content of record.json, with its fields checked."""
    try:
        entry: dict[str, Any] = loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise RunError(f"{folder}: no readable record ({error}); run again to make it") from error
    entry = _with_new_names(entry)
    for name, kind in _RECORD.items():
        if not isinstance(entry, dict) or name not in entry or not isinstance(entry[name], kind):
            raise RunError(f"{folder}: record.json has no usable '{name}'; run again to make it")
    if entry["rollout"] is not None and not _FILE_NAME.fullmatch(entry["rollout"]):
        raise RunError(f"{folder}: the rollout '{entry['rollout']}' is not the name of a file in that folder")
    return entry


def record_key(folder: Path) -> str | None:
    """Identity of the record in `folder`. None where there is no complete record."""
    try:
        key: str = record_entry(folder)["key"]
    except RunError:
        return None
    return key


def write_scores(scores: Iterable[Score], model: str, folder: Path, *, key: str = "") -> None:
    """Write scores.json: a line with the key, then one score per line, sorted by metric name."""
    lines = [dumps({**asdict(score), "model": model}) for score in sorted(scores, key=lambda s: s.metric)]
    head = f'{{"key": {dumps(key)}, "scores": ['
    text = "\n".join([head, *(f"{line}," for line in lines[:-1]), *lines[-1:], SCORES_END, ""])
    atomic_write(folder / "scores.json", text)


def scores_key(folder: Path) -> str | None:
    """Identity of the scores in `folder`. None where there are none."""
    try:
        with open(folder / "scores.json", "rb") as file:
            return read_scores_key(file.readline())
    except OSError:
        return None


def read_scores_key(head: bytes) -> str | None:
    """Identity of scores, from the first line of their file. None where it holds none."""
    try:
        key = loads(head.decode() + SCORES_END)["key"]
    except (ValueError, TypeError, KeyError):
        return None
    return key if isinstance(key, str) else None


def score_from_json(entry: Mapping[str, Any], stored: StoredSeries | None = None) -> Score:
    """Make a score from its JSON object."""
    for name, held in entry.items():
        if name not in _SCORE:
            raise ValueError(f"unknown field '{name}'")
        if type(held) not in _SCORE[name]:
            raise ValueError(f"'{name}' is {held!r:.40}")
    if "task" not in entry or "metric" not in entry:
        raise ValueError("no task or no metric")
    value = entry["value"]
    series: Sequence[tuple[int, float | None]] = stored if stored is not None else entry.get("series", ())
    if stored is None:
        series = tuple((int(frame), None if one is None else float(one)) for frame, one in series)
    return Score(**{**entry, "value": None if value is None else float(value), "series": series})


class StoredSeries(Sequence[tuple[int, float | None]]):
    """The series of a score as JSON text that matches `_PAIRS`; parsed at each access, since few tables need it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __len__(self) -> int:
        return self._text.count("[") - 1

    def __iter__(self) -> Iterator[tuple[int, float | None]]:
        return iter(self._read())

    @overload
    def __getitem__(self, place: int) -> tuple[int, float | None]: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[tuple[int, float | None], ...]: ...
    def __getitem__(self, place: int | slice) -> Any:
        return self._read()[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (StoredSeries, tuple)) and self._read() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._read())

    def __repr__(self) -> str:
        return repr(self._read())

    def _read(self) -> tuple[tuple[int, float | None], ...]:
        if not self:
            return ()
        if "n" in self._text:  # null, nan or inf
            return tuple((frame, None if value is None else float(value)) for frame, value in loads(self._text))
        numbers = self._text[2:-2].replace("], [", ", ").split(", ")
        return tuple(zip(map(int, numbers[::2]), map(float, numbers[1::2]), strict=True))


def read_score(line: bytes, number: int) -> tuple[str, Score]:
    """Model and score of a line of scores.jsonl."""
    try:
        entry, series = _score_line(line.decode())
        return str(entry.pop("model")), score_from_json(entry, series)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, UsageError) as error:
        why = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        told = f"line {number} is damaged ({why})"
        raise DamagedLineError(told, told) from None


def _score_line(line: str) -> tuple[dict[str, Any], StoredSeries | None]:
    """The object of a line of scores.jsonl, and its series, unread, where the line is as `write_scores` writes it."""
    start = line.find(_SERIES)
    after = _AFTER.search(line, max(0, start))
    stop = len(line) if after is None else after.start()
    tail = _TAIL.fullmatch(line, stop) if line.startswith(", ", max(0, start - 2)) else None
    if tail is not None:
        text = line[start + len(_SERIES) : stop]
        if _PAIRS.fullmatch(text):
            former, task, unit, value = tail.groups()
            head = line[: start - 2] + "}"
            held = {
                name: dict(one) if isinstance(one, dict) else one  # each score has its own
                for name, one in (_read_head(head) if len(head) <= _SHORT else loads(head)).items()
            }
            known = float(value) if "." in value else loads(value)
            model = {} if former is None else {"model": former}
            return {**held, **model, "task": task, "unit": unit, "value": known}, StoredSeries(text)
    return with_model_key(loads(line)), None


@lru_cache(maxsize=4096)
def _read_head(text: str) -> dict[str, Any]:
    """What a line of scores tells before its series: mostly the same for all models, so a board reads it once."""
    found: dict[str, Any] = loads(text)
    return found


def atomic_write(path: Path, data: bytes | str | Iterable[bytes]) -> None:
    """Write a file whole, and return only when it and its rename are on disk."""
    try:
        write_file(path, data)
        sync_folder(path.parent)
    except (DataError, OSError) as error:
        refusal = error if isinstance(error, OSError) else error.__cause__
        assert isinstance(refusal, OSError)
        raise write_error(refusal, path) from refusal


def file_slug(name: str) -> str:
    """Turn a name into a file name of [A-Za-z0-9._-]. "/" becomes "__"; long names are cut and end with a digest."""
    words = name.split("/")
    if any(not re.fullmatch(r"[A-Za-z0-9._-]+", word) or set(word) == {"."} or word[0] == "." for word in words):
        raise UsageError(f"'{name}' is no usable name: words of letters, digits and ._- joined by / are")
    flat = "__".join(words)
    if len(flat) <= MAX_NAME:
        return flat
    digest = digest_of(name)[:16]
    return f"{flat[: MAX_NAME - 17]}-{digest}"


def check_file_slugs(names: Iterable[str]) -> None:
    """Check that names have different folders, also on file systems that ignore case."""
    seen: dict[str, str] = {}
    for name in names:
        folder = file_slug(name).lower()
        if folder in seen:
            other = seen[folder]
            raise UsageError(f"'{name}' comes twice" if other == name else f"'{other}' and '{name}' share one folder")
        seen[folder] = name


def explain_full_disk(error: BaseException) -> str | None:
    """Message for an error of a full disk, quota or file size limit, but not of a model, whose failure it is."""
    link: BaseException | None = error
    while link is not None and not isinstance(link, ModelError):
        if isinstance(link, OSError) and link.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            text = " ".join(str(error).split())
            return text if text.endswith(MAKE_ROOM) else f"{text}; {MAKE_ROOM}"
        link = link.__cause__
    return None


def write_error(error: OSError, path: Path) -> RunError:
    """The error for a failed write, in one line: the disk is full, or the place cannot be written."""
    if explain_full_disk(error) is not None:
        return RunError(f"{path}: the disk is full ({error.strerror}); {MAKE_ROOM}")
    return RunError(f"{path}: cannot be written ({error.strerror}); choose another --out or repair the folder")


@contextmanager
def _refused_in_one_line(path: Path) -> Iterator[None]:
    """Context in which what the system refuses at `path` becomes a RunError."""
    try:
        yield
    except OSError as error:
        raise write_error(error, path) from error


def sync_folder(path: Path) -> None:
    """Make sure that renames inside `path` are on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove_unfinished(folder: Path) -> None:
    """Remove unfinished files: our own (".part-*"), and those of `video.Writer` (".*.part")."""
    for left in folder.glob(".*"):
        if left.name.startswith(_TEMPORARY) or left.suffix == ".part":
            # A worker of a killed run may still write for a moment, and a disk may have turned read-only: the next run
            # removes what is left.
            with suppress(OSError):
                shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)


_FIELDS: Mapping[str, Any] = {
    "task": str,
    "key": str,
    "scores": (str, NoneType),
    "status": str,
    "stage": str,
    "error": (str, NoneType),
    "seconds": (int, float),
}
_STATUSES = ("done", "skipped", "failed")


class Journal:
    """Append-only lines, each on disk before `append` returns. One writer at a time; half a last line is dropped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._owner = path.with_suffix(".owner")
        new = not path.exists()
        try:
            self._file = open(path, "ab+", buffering=0)  # noqa: SIM115 - held open as long as the lock
        except OSError as error:
            raise write_error(error, path) from error
        try:
            self._lock()
            data = self._content()
            # A run that was killed may have left half a line.
            whole = data.rfind(b"\n") + 1
            if whole < len(data):
                os.ftruncate(self._file.fileno(), whole)
                os.fsync(self._file.fileno())
            _parse(path, self._content())
            now = datetime.now(UTC).isoformat(timespec="seconds")
            with suppress(OSError):  # only information: the lock itself decides
                self._owner.write_text(f"process {os.getpid()} on {platform.node()} since {now}\n")
            if new:
                sync_folder(path.parent)
        except BaseException:
            self._file.close()
            raise

    def append(self, line: Mapping[str, Any]) -> None:
        """Write one line through to the disk. If that is full, RunError, and no part of the line is left."""
        data = dumps(line).encode() + b"\n"
        end = self._file.seek(0, os.SEEK_END)
        try:
            while data:
                data = data[self._file.write(data) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):  # a disk that has turned read-only; the next run drops a torn line
                os.ftruncate(self._file.fileno(), end)
            raise write_error(error, self.path) from error

    @property
    def lines(self) -> list[dict[str, Any]]:
        """All lines, read anew: a run of 100,000 tasks need not hold what it has written."""
        return _parse(self.path, self._content())

    def latest(self) -> dict[str, dict[str, Any]]:
        """The last line of every task, by task id."""
        return {line["task"]: line for line in self.lines}

    def move(self, directory: Path) -> None:
        """Rename the folder of the journal while nobody else can work in it, and release the lock."""
        try:
            self.path.parent.rename(directory)
            sync_folder(directory.parent)
        except OSError as error:
            raise write_error(error, directory) from error
        self.path, self._owner = directory / self.path.name, directory / self._owner.name
        self.close()

    def close(self) -> None:
        """Release the lock."""
        with suppress(OSError):
            self._owner.unlink(missing_ok=True)
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(
                f"{self.path.parent}: another process{self._of_owner()} is working on this run; "
                "wait for it or choose another --out"
            ) from None

    def _of_owner(self) -> str:
        try:
            return f" ({self._owner.read_text()[:200].strip()})"
        except (OSError, ValueError):
            return ""

    def _content(self) -> bytes:
        self._file.seek(0)
        return self._file.read()


def read_journal(path: Path) -> dict[str, dict[str, Any]]:
    """Read the last line of every task, without a lock and without changes. An incomplete last line is ignored."""
    if not path.exists():
        return {}
    return {line["task"]: line for line in _parse(path, path.read_bytes())}


def _parse(path: Path, data: bytes) -> list[dict[str, Any]]:
    """The whole lines in `data`, each with all its fields."""
    lines = []
    for number, text in enumerate(data.split(b"\n")[:-1], 1):
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            line = None
        if not isinstance(line, dict) or not all(
            name in line and isinstance(line[name], kind) for name, kind in _FIELDS.items()
        ):
            line = None
        if line is None or line["status"] not in _STATUSES:
            raise RunError(f"{path}: line {number} is damaged; remove that line, and its task will be done again")
        lines.append(line)
    return lines
