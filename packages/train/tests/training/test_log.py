"""The log: both files say the same, and what comes after a state is cut off."""

import csv
from pathlib import Path

import pytest

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge_train.training.log import COLUMNS, Log, check_sinks, read_log


def test_rows_stand_in_both_files_and_late_ones_are_cut(tmp_path: Path) -> None:
    log = Log(tmp_path)
    for step in (10, 20, 30):
        log.add({"step": step, "loss": step / 100, "mse_1s": None})
    log.add({"step": 30, "stopped": "collapsed, as it seems"})
    with open(tmp_path / "log.jsonl", "a") as file:
        file.write('{"step": 4')
    assert [row["step"] for row in read_log(tmp_path)] == [10, 20, 30, 30]
    log.cut(20)
    with open(tmp_path / "log.csv", newline="") as table:
        rows = list(csv.DictReader(table))
    assert [(row["step"], row["loss"], row["mse_1s"]) for row in rows] == [("10", "0.1", ""), ("20", "0.2", "")]
    assert tuple(rows[0]) == COLUMNS
    assert [row["step"] for row in read_log(tmp_path)] == [10, 20]
    assert read_log(tmp_path / "none") == []


def test_sinks_are_checked() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'trackio'"):
        check_sinks(["trackoi"])
    try:
        import trackio  # noqa: F401
    except ImportError:
        with pytest.raises(UsageError, match="pip install trackio"):
            check_sinks(["trackio"])
