"""The log of a training: a row now and then as CSV and as JSON lines, and in TensorBoard or trackio where asked for."""

from __future__ import annotations

import csv
import importlib
import io
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from worldgauge.core.errors import DataError, UnknownNameError, UsageError
from worldgauge.core.io import dumps, loads, write_file
from worldgauge_train.training.validation import COLUMNS as VALIDATED

LINES, TABLE = "log.jsonl", "log.csv"
BINS = 4
"""Ranges of levels of noise that losses are told for."""
COLUMNS = (
    *("step", "seconds", "samples", "frames", "loss"),
    *(f"loss_{number}" for number in range(BINS)),
    *("gradient_norm", "learning_rate", "data_wait_s", "skipped"),
    *VALIDATED,
)

Sink = Callable[[int, Mapping[str, float]], None]


class Log:
    """The log of a training.

    Args:
        folder: Folder of the training.
        sinks: "tensorboard", "trackio" or both.

    Raises:
        UnknownNameError: A sink is not known.
        UsageError: The package of a sink is not installed.
    """

    def __init__(self, folder: Path, sinks: Sequence[str] = ()) -> None:
        self._folder = folder
        self._sinks = [_sink(name, folder) for name in sinks]

    def add(self, row: Mapping[str, Any]) -> None:
        """Write a row; names that are no columns stand in the JSON lines alone.

        Args:
            row: Values by name, with "step".

        Raises:
            DataError: The disk refuses.
        """
        told = {name: value for name, value in row.items() if value is not None}
        try:
            table = self._folder / TABLE
            with open(table, "a", encoding="utf-8", newline="") as file:
                if not table.stat().st_size:
                    file.write(",".join(COLUMNS) + "\n")
                if set(told) & set(COLUMNS[1:]):
                    csv.writer(file, lineterminator="\n").writerow([told.get(name, "") for name in COLUMNS])
            with open(self._folder / LINES, "a", encoding="utf-8") as file:
                file.write(dumps(told) + "\n")
        except OSError as error:
            raise DataError(f"{self._folder}: the log cannot be written ({error.strerror})") from None
        numbers = {name: float(value) for name, value in told.items() if isinstance(value, (int, float))}
        for sink in self._sinks:
            sink(int(row["step"]), numbers)

    def cut(self, step: int) -> None:
        """Leave out what it says of steps after one, which are taken again.

        Args:
            step: The step.
        """
        lines = self._folder / LINES
        if lines.exists():
            kept = [line for line in lines.read_text(encoding="utf-8").splitlines() if _step_of_line(line) <= step]
            write_file(lines, "".join(f"{line}\n" for line in kept))
        table = self._folder / TABLE
        if table.exists():
            head, *rows = table.read_text(encoding="utf-8").splitlines() or [",".join(COLUMNS)]
            kept = [row for row in rows if row.count(",") == len(COLUMNS) - 1 and _step_of_row(row) <= step]
            write_file(table, "".join(f"{row}\n" for row in [head, *kept]))


def read_log(folder: Path) -> list[dict[str, Any]]:
    """Rows of a log, from its JSON lines; a half one at the end is left out.

    Args:
        folder: Folder of the training.
    """
    path = folder / LINES
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [dict(loads(line)) for line in lines if math.isfinite(_step_of_line(line))]


def check_sinks(names: Sequence[str]) -> None:
    """Check that sinks are known and installed.

    Args:
        names: Their names.

    Raises:
        UnknownNameError: One is not known.
        UsageError: The package of one is not installed.
    """
    for name in names:
        if name not in _PACKAGES:
            raise UnknownNameError("log", name, _PACKAGES)
        try:
            importlib.import_module(_PACKAGES[name])
        except ImportError:
            raise UsageError(f"--log {name} needs a package: pip install {name}") from None


_PACKAGES = {"tensorboard": "torch.utils.tensorboard", "trackio": "trackio"}


def _sink(name: str, folder: Path) -> Sink:
    check_sinks([name])
    if name == "tensorboard":
        writer = importlib.import_module("torch.utils.tensorboard").SummaryWriter(str(folder / "tensorboard"))

        def scalars(step: int, numbers: Mapping[str, float]) -> None:
            for key, value in numbers.items():
                if key != "step":
                    writer.add_scalar(key, value, step)
            writer.flush()

        return scalars
    run = importlib.import_module("trackio").init(project="worldgauge", name=folder.resolve().name, resume="allow")
    return lambda step, numbers: run.log(dict(numbers), step=step)


def _step_of_line(line: str) -> float:
    try:
        return float(loads(line)["step"])
    except (DataError, ValueError, KeyError, TypeError):
        return math.inf  # half a row


def _step_of_row(row: str) -> float:
    try:
        return float(next(csv.reader(io.StringIO(row)))[0])
    except (ValueError, IndexError, StopIteration):
        return math.inf
