"""Scores as rows: a line for each score and, as CSV, one for each cell of every table."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from worldgauge.core.errors import MissingExtraError
from worldgauge.core.io import atomic_file, write_file
from worldgauge.terminal.output import SCORE_COLUMNS, plain_cell, score_rows
from worldgauge.tools.export.published_run import ExportNames, PublishedRun

if TYPE_CHECKING:
    import pandas as pd


def write_csv(runs: Sequence[PublishedRun], out: Path, names: ExportNames) -> list[Path]:
    """Write scores.csv and tables.csv.

    Args:
        runs: The runs.
        out: Folder of the files.
        names: Not needed.

    Returns:
        The files.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(SCORE_COLUMNS)
    for run in runs:
        writer.writerows(map(plain_cell, row) for row in score_rows(run.suite.name, run.tables, run.result.sets))
    write_file(out / "tables.csv", text.getvalue())
    write_file(out / "scores.csv", _frame(runs).map(plain_cell).to_csv(index=False))
    return [out / "scores.csv", out / "tables.csv"]


def write_parquet(runs: Sequence[PublishedRun], out: Path, names: ExportNames) -> list[Path]:
    """Write scores.parquet.

    Args:
        runs: The runs.
        out: Folder of the file.
        names: Not needed.

    Returns:
        The file.

    Raises:
        MissingExtraError: Without pyarrow.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError("Parquet", "analysis") from None
    with atomic_file(out / "scores.parquet") as file:
        _frame(runs).to_parquet(file, index=False)
    return [out / "scores.parquet"]


def _frame(runs: Sequence[PublishedRun]) -> pd.DataFrame:
    """All scores with the suite in front. What tasks are grouped by is text: suites give it values of any kind."""
    import pandas as pd

    frames = []
    for run in runs:
        frame = run.result.frame
        frame.insert(0, "suite", run.suite.name)
        frames.append(frame)
    whole = pd.concat(frames, ignore_index=True)
    numbers = ("value", "n")
    for name in whole.columns:
        if name not in numbers:
            whole[name] = whole[name].map(lambda one: one if one is None or one != one else str(one))
    whole["value"] = pd.to_numeric(whole["value"])
    return whole
