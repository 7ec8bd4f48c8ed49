"""The card of one suite: which column and rows it shows, and when an order is clear."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.registered import own_names
from worldgauge.engine.suite.base import suites
from worldgauge.engine.suite.contract import Cell, Table, TableRow
from worldgauge.tools.demo import CARD, STAGES, CardRow, clearly_ranked, demo_set, headline_rows


def row(label: str, low: float | None, high: float | None) -> CardRow:
    return CardRow(label, low, low, high, 3)


def test_an_order_is_clear_when_no_intervals_of_neighbours_meet() -> None:
    truth, good, poor = row("truth", 1.0, 1.0), row("good", 0.5, 0.9), row("poor", 0.1, 0.4)
    assert clearly_ranked([truth, good, poor], "higher")
    assert not clearly_ranked([poor, good, truth], "higher")
    assert clearly_ranked([poor, good, truth], "lower")
    assert not clearly_ranked([truth, row("good", 0.3, 0.9), poor], "higher")
    assert not clearly_ranked([truth, row("good", 0.4, 0.9), poor], "higher"), "intervals that touch meet"
    assert not clearly_ranked([truth, row("good", None, None)], "higher")


@pytest.mark.parametrize(
    ("betters", "wanted", "expected"), [((), "", "all"), (("higher", "lower"), "", "SE"), ((), "SE", "SE")]
)
def test_the_headline_is_the_column_that_sums_up(betters: tuple[str, ...], wanted: str, expected: str) -> None:
    cells = (Cell(1.0, 0.0, 4, 0.5, 1.5), Cell(2.0, 0.0, 8, 1.5, 2.5))
    table = Table("m", "M", "1", "higher", ("SE", "all"), (TableRow("a", cells, "reference"),), betters=betters)
    column, rows = headline_rows(table, ["absent", "a"], wanted)
    assert column == expected
    assert [(one.label, one.n) for one in rows] == [("a", 4 if expected == "SE" else 8)]


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("suite", own_names(suites))
def test_every_suite_has_a_demo_of_three_subjects(suite: str, full: bool) -> None:
    shown = demo_set(suite, full)
    assert len(shown.subjects) >= 3
    assert not set(shown.subjects) & set(shown.beside)
    assert shown.question.endswith("?")
    suites.get(suite)(**shown.settings)  # its settings are known and allowed


def test_a_part_makes_data_runs_report_and_card_and_ranks_its_references(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "worldgauge.tools.demo", "build", str(tmp_path / "build")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    stages = [json.loads(line)["stage"] for line in done.stdout.splitlines()]
    assert stages == sorted(stages, key=STAGES.index)
    assert set(stages) == set(STAGES)
    card = json.loads((tmp_path / "build" / CARD).read_text())
    assert card["ranked"]
    assert [one["label"] for one in card["rows"]] == ["truth", "reader", "empty"]
    assert card["counts"]["failed"] == card["counts"]["left"] == 0
    assert (tmp_path / "build" / "report.html").stat().st_size > 10_000
    assert all(one["encoded"].startswith("data:image/webp;base64,") for one in card["previews"])


def test_a_part_that_cannot_be_made_says_why_in_one_line(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "worldgauge.tools.demo", "nosuch", str(tmp_path / "part")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "nosuch" in json.loads(done.stdout)["error"]
