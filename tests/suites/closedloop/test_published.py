"""The tables of the paper: every success rate is that of a whole number of episodes, and nothing is lost on the way."""

import json
from importlib.resources import files
from typing import Any

import pytest

from worldgauge.core.errors import DataError
from worldgauge.core.statistics import wilson
from worldgauge.engine.suite.contract import Table
from worldgauge.suites.closedloop.published import published, successes

EPISODES = {"AR": 551, "ImageNav": 144}
TABLES = json.loads((files("worldgauge.suites.closedloop") / "published.json").read_text("utf-8"))


def rates() -> list[Any]:
    """(table, rate, count, episodes, digits) of every printed success rate."""
    found = []

    def walk(value: Any, where: str, n: int, digits: int) -> None:
        if isinstance(value, list):
            for one in value:
                walk(one, where, n, digits)
        elif isinstance(value, dict):
            n = EPISODES.get(value.get("task", ""), n)
            if value.get("sr") is not None:
                found.append(pytest.param(value["sr"], value["k"], n, digits, id=f"{where}-{value['sr']}-{len(found)}"))
            for key, one in value.items():
                walk(one, where, EPISODES.get(key, n), digits)

    for number in (1, 4, 6, 7):
        walk(TABLES[f"table{number}"], f"table{number}", 0, 2)
    walk(TABLES["table5"], "table5", 144, 2)
    for row in TABLES["table3"]["rows"]:
        walk(row, "table3", 200 if row["base_policy"] == "VLM" else 150, 1)
    return found


@pytest.mark.parametrize(("rate", "count", "n", "digits"), rates())
def test_every_rate_is_of_a_whole_number_of_episodes(rate: float, count: int, n: int, digits: int) -> None:
    assert successes(rate, n, digits) == count
    assert abs(100 * count / n - rate) < (0.0101 if digits == 2 else 0.0501)


def test_none_was_left_out() -> None:
    assert len(rates()) == 21 + 22 + 11 + 16 + 5 + 10 + 4


def test_rates_of_no_whole_number_are_refused() -> None:
    assert successes(43.05, 144) == successes(43.06, 144) == 62, "cut off or rounded"
    for rate, n in ((43.10, 144), (39.10, 551), (-1.0, 144), (100.5, 551)):
        with pytest.raises(DataError, match="no whole number"):
            successes(rate, n)
    with pytest.raises(DataError, match="no whole number"):
        successes(44.7, 150, 2)


def table(words: str) -> Table:
    (found,) = [one for one in published() if one.title.startswith(words)]
    return found


def test_tables_one_to_seven() -> None:
    tables = published()
    assert [one.title.split(",")[0] for one in tables] == [
        f"Table {number}" for number in (1, 1, 2, 3, 4, 4, 5, 6, 6, 7, 7, 7)
    ]
    assert [len(one.rows) for one in tables] == [22, 22, 17, 11, 8, 8, 5, 5, 5, 2, 2, 2]
    for one in tables:
        assert len(one.betters) == len(one.columns) == len(one.rows[0].cells)
        assert {row.kind for row in one.rows} == {"published"}
        assert len({row.label for row in one.rows}) == len(one.rows), "no two rows of one name"
        assert any("2510.18135" in note for note in one.notes)
        assert any(row.cells[column].mean is not None for row in one.rows for column in range(len(one.columns)))
        for row in one.rows:
            for cell in row.cells:
                assert (cell.mean is None) == (cell.n == 0)


def test_cells_by_hand() -> None:
    rows = {row.label: row.cells for row in table("Table 1, navigation").rows}
    rate, steps, spl = rows["Wan2.2-A14B, post-trained, VLM"]
    assert (rate.mean, steps.mean, spl.mean, rate.n) == (46.53, 44.6, 34.61, 144)
    interval = wilson(67, 144)
    assert interval is not None
    assert (rate.low, rate.high) == (100 * interval.low, 100 * interval.high)
    assert steps.low is spl.low is None, "the paper has no spread"
    assert rows["Runway Gen4, VLM"][0].mean is None
    assert (rows["Runway Gen4, VLM"][0].n, rows["Runway Gen4, VLM"][0].expected) == (0, 144)
    assert rows["Heuristic without world model"][0].mean == 2.08
    questions = table("Table 2")
    assert questions.columns == ("answer score", "metres", "SPL, %")
    assert max(row.cells[0].mean or 0 for row in questions.rows) == 48.6
    assert {row.cells[0].n for row in table("Table 3").rows} == {200, 150}
    assert table("Table 4, navigation").columns == ("success rate, %", "steps"), "without a column that is not printed"
    assert table("Table 6, navigation").columns == ("success rate, %", "SPL, %")
