"""A finished run as exports need it: its facts, scores and tables, and the names it goes by elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from worldgauge.core.errors import RunError, UsageError
from worldgauge.engine.open_suite import open_suite
from worldgauge.engine.result import RunResult, find_runs
from worldgauge.engine.store import RunFolder
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Score, Table

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}"
_ID = re.compile(f"{_NAME}/{_NAME}")
_SHOWN = 3
COUNTS = "tasks"
"""Unit of tables that count tasks: their cells are no means."""


@dataclass(frozen=True)
class ExportNames:
    """The names that a run goes by elsewhere.

    Attributes:
        model_id: The model as the Hub names it, "organisation/name". Empty where it is in no such place.
        dataset: The data set as the Hub names it.
        by: Who made the run.
    """

    model_id: str = ""
    dataset: str = ""
    by: str = ""

    def __post_init__(self) -> None:
        for option, text in (("--model-id", self.model_id), ("--dataset", self.dataset)):
            if text and not _ID.fullmatch(text):
                raise UsageError(f"{option} takes ORGANISATION/NAME as on the Hub, not '{text}'")
        if len(self.by) > 100 or not self.by.isprintable():
            raise UsageError("--by takes up to 100 printable characters")


class PublishedRun:
    """One run, read once.

    Args:
        folder: Its folder.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.facts: Mapping[str, Any] = folder.facts()
        self.suite: Suite = open_suite(self.facts["suite"], self.facts["settings"])
        self._result = RunResult([folder], self.suite)

    @property
    def label(self) -> str:
        """Label of the subject."""
        return str(self.facts["subject"]["name"])

    @cached_property
    def scores(self) -> list[Score]:
        """All scores."""
        return self._result.scores[self.label]

    @cached_property
    def tables(self) -> list[Table]:
        """Tables of means, headline first, with this subject as their only row."""
        return [table for table in self._result.table() if table.unit != COUNTS]

    @property
    def result(self) -> RunResult:
        """The run as the engine reads it."""
        return self._result

    @property
    def created(self) -> datetime:
        """When the run began.

        Raises:
            RunError: When run.json does not tell.
        """
        try:
            return datetime.fromisoformat(str(self.facts["created"]))
        except (KeyError, ValueError):
            raise RunError(f"{self.folder.facts_path}: does not tell when the run began; run again") from None

    def model_id(self, names: ExportNames) -> str:
        """The model as "organisation/name"; references are of worldgauge, a model without a given id of "unknown"."""
        if self.facts["subject"]["kind"] == "reference":
            return f"worldgauge/{self.folder.directory.resolve().name}"
        return names.model_id or f"unknown/{self.folder.directory.resolve().name}"


def open_runs(runs: Sequence[Path]) -> list[PublishedRun]:
    """Read runs.

    Args:
        runs: Run folders, or folders of run folders.

    Returns:
        The runs.

    Raises:
        UsageError: Where no run is given.
        RunError: For a folder without a run.
    """
    folders = find_runs(runs)
    if not folders:
        raise UsageError("an export needs at least one run folder")
    return [PublishedRun(folder) for folder in folders]


def demand_no_loss(path: Path, lost: Iterable[str]) -> None:
    """Check that a file which is to be replaced holds no results but those that are written now.

    Args:
        path: The file that is there.
        lost: What it holds beside them, in words.

    Raises:
        UsageError: When something would be lost.
    """
    if names := sorted(set(lost)):
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        raise UsageError(
            f"{path}: also holds {', '.join(names[:_SHOWN])}{more}, which would be lost; name all runs in one command, "
            "or another --out"
        )


def check_one_model(runs: Sequence[PublishedRun], names: ExportNames) -> None:
    """Check that a given model id is that of one model, and not only of references, which have ids of their own.

    Args:
        runs: The runs.
        names: The names.

    Raises:
        UsageError: When several models would get it, or none.
    """
    models = sorted({run.label for run in runs if run.facts["subject"]["kind"] != "reference"})
    if names.model_id and len(models) > 1:
        raise UsageError(f"--model-id names one model, but these runs are of {', '.join(models)}; export one by one")
    if names.model_id and runs and not models:
        labels = ", ".join(sorted({run.label for run in runs}))
        raise UsageError(f"--model-id names a model, but these runs are of references ({labels}); leave it out")
