"""A bundle that is read: a run folder that tables and reports can read, and the records' text. No code of it is run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from worldgauge.core.errors import DataError, RunError, UsageError
from worldgauge.core.io import parse_json
from worldgauge.engine.open_suite import open_suite
from worldgauge.engine.result import read_current_lines
from worldgauge.engine.store import DamagedLineError, RunFolder, file_slug, read_record_entry
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Score
from worldgauge.engine.suite.own_metrics import DIGEST, SETTING
from worldgauge.tools.bundle.archive import MAX_DEFLATED_BYTES, Archive, ContentsError
from worldgauge.tools.bundle.bundle import ABOUT, VIDEO, About

RECORDS, RECORD, SCORES = "records", "record.json", "scores.json"
_PLAIN = re.compile(r"[A-Za-z0-9_.,?=&+ -]{0,200}")
"""Text of a setting that names no program, file, address or module."""


@dataclass(frozen=True)
class OpenBundle:
    """What a bundle holds, without its videos.

    Attributes:
        folder: The run folder. It has no records, unless they are put there.
        records: The files record.json and scores.json of each record, by path in the bundle.
        facts: Content of run.json.
        lines: Journal line of each task, None where it has none.
        about: What the author says of the model.
        whole: Tasks whose videos are in the bundle as they were made.
        whole_asked: How many there should be.
        left_out: Digests of the videos that are in it only as films, by path.
    """

    folder: RunFolder
    records: Mapping[str, bytes]
    facts: Mapping[str, Any]
    lines: Mapping[str, Mapping[str, Any] | None]
    about: About
    whole: tuple[str, ...]
    whole_asked: int
    left_out: Mapping[str, str]

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """All scores of the run, read once; none where a line is damaged."""
        return self._read[0]

    @property
    def damage(self) -> str:
        """Which line of the scores is damaged, and why; empty where none is."""
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[tuple[Score, ...], str]:
        try:
            return tuple(score for _, score in self.folder.scores()), ""
        except DamagedLineError as error:
            return (), f"{self.folder.scores_path.name}: {error.told}"
        except OSError as error:
            return (), f"{self.folder.scores_path.name}: cannot be read ({error.strerror})"

    def entry(self, task: str) -> dict[str, Any]:
        """Content of the record.json of a task, with its fields checked.

        Raises:
            RunError: When it is missing or damaged.
        """
        folder = f"{RECORDS}/{file_slug(task)}"
        if f"{folder}/{RECORD}" not in self.records:
            raise RunError(f"{folder}: no {RECORD}; run again to make it")
        return read_record_entry(self.records[f"{folder}/{RECORD}"], folder)

    def put_records(self) -> None:
        """Put the records into the run folder that tables look into: of tasks that failed, or were asked at a rate."""
        rate = self.facts["subject"]["identity"].get("fps")
        for task, line in self.lines.items():
            data = self.records.get(f"{RECORDS}/{file_slug(task)}/{RECORD}")
            if line is not None and data is not None and (line["status"] == "failed" or rate is not None):
                self.folder.record(task).mkdir(parents=True, exist_ok=True)
                (self.folder.record(task) / RECORD).write_bytes(data)

    def videos(self, files: Mapping[str, Any]) -> dict[str, list[str]]:
        """Paths of the videos of each task, those in `files` and those that were left out."""
        found: dict[str, list[str]] = {file_slug(task): [] for task, line in self.lines.items() if line is not None}
        for name in [*files, *self.left_out]:
            part = name.split("/")
            if part[0] == RECORDS and name.endswith(VIDEO) and len(part) > 2 and part[1] in found:
                found[part[1]].append(name)
        return {task: found[file_slug(task)] for task, line in self.lines.items() if line is not None}


def unpack(archive: Archive, folder: Path) -> tuple[dict[str, bytes], list[str]]:
    """Read each file of a bundle once.

    Two files for each of many tasks are held, since making and removing them would take longer than all else.

    Args:
        archive: The bundle.
        folder: An empty folder, which gets the text that is not of a record.

    Returns:
        The files record.json and scores.json of each record, by path in the bundle; and the files that are damaged, or
        not what the manifest names.

    Raises:
        DataError: When it holds too much text, or a file cannot be written.
    """
    text = [name for name in archive.files if not name.endswith(VIDEO)]
    if sum(archive.files[name].size for name in text) > MAX_DEFLATED_BYTES:
        raise DataError(f"{archive.path}: holds more text than {MAX_DEFLATED_BYTES} bytes")
    records, changed = {}, []
    for name in archive.files:
        try:
            if name.startswith(f"{RECORDS}/") and name.endswith((f"/{RECORD}", f"/{SCORES}")):
                records[name] = archive.read(name)
            elif name.startswith(f"{RECORDS}/") or name.endswith(VIDEO):
                archive.check(name)
            else:
                archive.extract(name, folder / name)
        except ContentsError:
            changed.append(name)
    return records, changed


def open_bundle(archive: Archive, folder: Path, records: Mapping[str, bytes]) -> OpenBundle:
    """Read what a bundle says about its run.

    Args:
        archive: The bundle.
        folder: The folder that it is unpacked in.
        records: Files of its records, from `unpack`.

    Returns:
        The run.

    Raises:
        DataError: When a file is missing, or says something that no bundle says.
    """
    told = parse_json(archive.read(ABOUT), f"{archive.path}: {ABOUT}")
    run = RunFolder(folder)
    try:
        facts = run.facts()
        if not all(isinstance(key, str) for key in facts["task_keys"].values()):
            raise ValueError("'task_keys' of run.json are no digests")
        for task in facts["task_keys"]:
            file_slug(task)
        about = About(**told["about"])
        whole, left_out, asked = told["whole"], told["left_out"], told["whole_asked"]
        if not (
            isinstance(asked, int)
            and all(isinstance(one, str) for one in (*whole, *left_out.values(), about.licence, about.link, about.by))
            and all(len(bytes.fromhex(digest)) == 32 for digest in left_out.values())
        ):
            raise ValueError(f"{ABOUT} holds values of other types")
        return OpenBundle(run, records, facts, read_current_lines(run), about, tuple(whole), asked, left_out)
    except (RunError, UsageError, OSError, LookupError, TypeError, ValueError, AttributeError) as error:
        said = str(error).replace(f"{folder}/", "").replace(str(folder), "its run") or type(error).__name__
        raise DataError(f"{archive.path}: {said.splitlines()[0][:200]}; get the bundle again") from error


def open_plain_suite(facts: Mapping[str, Any]) -> Suite:
    """The suite of a run that somebody else has made: no program, file or address that its settings name is used.

    Metrics of the author's own are left out, since their code would have to run.

    Args:
        facts: Content of run.json.

    Returns:
        The suite.

    Raises:
        UsageError: For a setting that could name such a thing, and for settings that this version does not know.
    """
    settings = {name: value for name, value in facts["settings"].items() if name not in (SETTING, DIGEST)}
    for name, value in settings.items():
        if not _is_plain(value):
            raise UsageError(
                f"its setting '{name}' may name a program, a file or an address, which nobody else should use: "
                f"{value!r:.60}"
            )
    return open_suite(str(facts["suite"]), settings)


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return _PLAIN.fullmatch(value) is not None
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (bool, int, float))
