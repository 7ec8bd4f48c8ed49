"""A bundle unpacked as far as text goes: a run folder that tables and reports can read. No code of it is run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldgauge.core.errors import DataError, RunError, UsageError
from worldgauge.core.io import parse_json
from worldgauge.engine.open_suite import open_suite
from worldgauge.engine.result import read_current_lines
from worldgauge.engine.store import RunFolder, file_slug
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.own_metrics import DIGEST, SETTING
from worldgauge.tools.bundle.archive import MAX_DEFLATED_BYTES, Archive
from worldgauge.tools.bundle.bundle import ABOUT, VIDEO, About

_PLAIN = re.compile(r"[A-Za-z0-9_.,?=&+ -]{0,200}")
"""Text of a setting that names no program, file, address or module."""


@dataclass(frozen=True)
class OpenBundle:
    """The text of a bundle in a folder of ours.

    Attributes:
        folder: The run folder.
        facts: Content of run.json.
        lines: Journal line of each task, None where it has none.
        about: What the author says of the model.
        whole: Tasks whose videos are in the bundle as they were made.
        whole_asked: How many there should be.
        left_out: Digests of the videos that are in it only as films, by path.
    """

    folder: RunFolder
    facts: Mapping[str, Any]
    lines: Mapping[str, Mapping[str, Any] | None]
    about: About
    whole: tuple[str, ...]
    whole_asked: int
    left_out: Mapping[str, str]

    def videos(self, files: Mapping[str, Any]) -> dict[str, list[str]]:
        """Paths of the videos of each task, those in `files` and those that were left out."""
        found: dict[str, list[str]] = {file_slug(task): [] for task, line in self.lines.items() if line is not None}
        for name in [*files, *self.left_out]:
            part = name.split("/")
            if part[0] == "records" and name.endswith(VIDEO) and len(part) > 2 and part[1] in found:
                found[part[1]].append(name)
        return {task: found[file_slug(task)] for task, line in self.lines.items() if line is not None}


def open_bundle(archive: Archive, folder: Path) -> OpenBundle:
    """Unpack the text of a bundle, and read what is said about it.

    Args:
        archive: The bundle.
        folder: An empty folder.

    Returns:
        The run.

    Raises:
        DataError: When a file is not what the manifest names, or says something that no bundle says.
    """
    text = [name for name in archive.files if not name.endswith(VIDEO)]
    if sum(archive.files[name].size for name in text) > MAX_DEFLATED_BYTES:
        raise DataError(f"{archive.path}: holds more text than {MAX_DEFLATED_BYTES} bytes")
    for name in text:
        archive.extract(name, folder)
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
        return OpenBundle(run, facts, read_current_lines(run), about, tuple(whole), asked, left_out)
    except (RunError, UsageError, LookupError, TypeError, ValueError, AttributeError) as error:
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
