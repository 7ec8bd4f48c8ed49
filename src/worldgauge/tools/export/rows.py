"""Scores as rows: a line for each score and, as CSV, one for each cell of every table."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from worldgauge.core.errors import MissingExtraError, UsageError
from worldgauge.core.io import atomic_file, write_file
from worldgauge.terminal.output import SCORE_COLUMNS, plain_cell, score_rows
from worldgauge.tools.export.published_run import ExportNames, PublishedRun, demand_no_loss

if TYPE_CHECKING:
    import pandas as pd


_RUN = ["suite", "subject", "set"]


def write_csv(runs: Sequence[PublishedRun], out: Path, names: ExportNames) -> list[Path]:
    """Write scores.csv and tables.csv.

    Args:
        runs: The runs.
        out: Folder of the files.
        names: Not needed.

    Returns:
        The files.

    Raises:
        UsageError: The file that is there holds rows of other runs.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(SCORE_COLUMNS)
    for run in runs:
        writer.writerows(map(plain_cell, row) for row in score_rows(run.suite.name, run.tables, run.result.sets))
    frame = _frame(runs).map(plain_cell)
    _demand_no_loss(out / "scores.csv", frame)
    write_file(out / "tables.csv", text.getvalue())
    write_file(out / "scores.csv", frame.to_csv(index=False))
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
        UsageError: The file that is there holds rows of other runs.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError("Parquet", "analysis") from None
    frame = _frame(runs)
    _demand_no_loss(out / "scores.parquet", frame)
    with atomic_file(out / "scores.parquet") as file:
        frame.to_parquet(file, index=False)
    return [out / "scores.parquet"]


def _demand_no_loss(path: Path, frame: pd.DataFrame) -> None:
    """Refuse to replace rows of other runs. A run is known by its suite, its subject and the set of its data."""
    import pandas as pd

    if not path.exists():
        return
    try:
        held = pd.read_parquet(path, columns=_RUN) if path.suffix == ".parquet" else pd.read_csv(path, usecols=_RUN)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: there already, and no such file of worldgauge; give another --out") from error
    written = set(_runs_of(frame))
    demand_no_loss(path, (" ".join(filter(None, one)) for one in _runs_of(held) if one not in written))


def _runs_of(frame: pd.DataFrame) -> list[tuple[str, ...]]:
    import pandas as pd

    distinct = frame[_RUN].drop_duplicates().itertuples(index=False)
    return [tuple("" if pd.isna(word) else str(word) for word in one) for one in distinct]


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
