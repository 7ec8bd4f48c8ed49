"""The learning curve of a log."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from worldgauge.cli.main import app
from worldgauge.core.errors import DataError
from worldgauge.core.io import dumps
from worldgauge_train.training.log import DRAWINGS, write_learning_curve
from worldgauge_train.training.validation import COLUMNS

CONFIG = {"format": "worldgauge-trained/1", "architecture": "conv", "recipe": {"stage": "regress", "size": [8, 8]}}


def checkpoint(folder: Path, rows: list[dict[str, float]]) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(dumps(CONFIG))
    (folder / "log.jsonl").write_text("".join(dumps(row) + "\n" for row in rows))
    return folder


def test_what_the_log_has_is_drawn(tmp_path: Path) -> None:
    rows = [
        {"step": 10, "seconds": 5.0, "loss": 0.04, "mse_1s": 0.02, "freeze_mse_1s": 0.03, "mean_mse_1s": 0.04},
        {"step": 20, "seconds": 10.0, "loss": 0.03, "mse_1s": 0.01, "freeze_mse_1s": 0.03, "mean_mse_1s": 0.04},
    ]
    made = checkpoint(tmp_path / "<tiny>", rows)
    out = tmp_path / "curve.html"
    done = CliRunner().invoke(app, ["train", "inspect", str(made), "--page", str(out)])
    assert done.exit_code == 0, done.output
    text = out.read_text()
    assert "How &lt;tiny&gt; learned" in text
    assert text.count("<figure") == 2, "nothing is drawn of columns that the log lacks"
    assert "model: 0.010; freeze: 0.030; mean: 0.040" in text
    assert "after 20 steps: mse_1s 0.0100" in text
    assert sorted(one.name for one in tmp_path.glob("*.svg")) == ["curve-1.svg", "curve-2.svg"]


def test_every_number_of_a_validation_has_its_drawing(tmp_path: Path) -> None:
    numbers = dict.fromkeys((*COLUMNS, "loss"), 0.5)
    rows = [{"step": step, "seconds": 1.0 * step, "frames": 2e6 * step, **numbers} for step in (1, 2)]
    out = write_learning_curve(checkpoint(tmp_path / "whole", rows), tmp_path / "whole.html")
    assert out.read_text().count("<figure") == len(DRAWINGS)
    assert "training: 4" in out.read_text()  # millions of frames
    drawn = {column for one in DRAWINGS for column in one.columns.values()}
    assert set(COLUMNS) - drawn == {"turn_pairs"}  # a count, which stands in the table


def test_an_empty_log_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no values yet"):
        write_learning_curve(checkpoint(tmp_path / "a", []), tmp_path / "a.html")
