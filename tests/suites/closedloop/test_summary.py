"""Tables of made-up scores: what is averaged over what, who wins nothing, and the gain over no world model."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from worldgauge.engine.suite.contract import Failure, Score, Table, TableRow
from worldgauge.suites.closedloop.scoring import HEADLINE
from worldgauge.suites.closedloop.summary import summarize


def scores(task: str, values: Sequence[float | None], metric: str = HEADLINE, end: str = "budget") -> list[Score]:
    return [
        Score(
            f"{task}/{k}",
            metric,
            value,
            "%",
            reason=None if value is not None else "gone",
            group={"task": task, "difficulty": ("easy", "hard")[k % 2]},
            facts={"end": end, "flags": ["no_answer"] if task == "questions" and value == 25.0 else []},
        )
        for k, value in enumerate(values)
    ]


def tables(subjects: dict[str, list[Score]], failed: dict[str, list[Failure]] | None = None) -> dict[str, Table]:
    kinds = {name: "reference" if name == "none" else "subject" for name in subjects}
    made = summarize(subjects, kinds, {name: (failed or {}).get(name, []) for name in subjects})
    return {table.metric: table for table in made}


def row(table: Table, label: str) -> TableRow:
    return next(one for one in table.rows if one.label == label)


def test_a_rate_has_wilsons_interval_and_an_answer_score_a_bootstrap() -> None:
    made = tables({"a": scores("navigation", [100.0] * 3 + [0.0] * 7) + scores("questions", [0.0, 25.0, 100.0, 75.0])})
    navigation, questions, everything = row(made[HEADLINE], "a").cells
    assert made[HEADLINE].columns == ("navigation", "questions", "all")
    assert (navigation.mean, navigation.n) == (30.0, 10)
    # Wilson, z = 1.96: (0.3 + 0.192 -+ 1.96 sqrt(0.021 + 0.0096)) / 1.384.
    assert navigation.low == pytest.approx(10.78, abs=0.02)
    assert navigation.high == pytest.approx(60.32, abs=0.02)
    assert (questions.mean, questions.n) == (50.0, 4)
    assert everything.mean == pytest.approx((300 + 200) / 14)


def test_a_row_with_failed_episodes_is_flagged_and_comes_last() -> None:
    failed = {"b": [Failure("navigation/7", {"task": "navigation"}, "died")]}
    made = tables({"a": scores("navigation", [0.0] * 4), "b": scores("navigation", [100.0] * 3)}, failed)
    flagged = row(made[HEADLINE], "b")
    assert flagged.flag == "1 of 4 episodes failed"
    assert flagged.cells[0].expected == 4
    assert made[HEADLINE].rows[-1].label == "b"
    ends = row(made["end"], "b")
    assert dict(zip(made["end"].columns, [cell.mean for cell in ends.cells], strict=True)) == {"budget": 3, "failed": 1}


def test_the_gain_is_of_the_same_episodes() -> None:
    rng = np.random.default_rng(0)
    base = [100.0 * (x < 0.2) for x in rng.random(60)]
    better = [100.0 if k % 3 == 0 else value for k, value in enumerate(base)]
    made = tables({"m": scores("navigation", better), "none": scores("navigation", base)})
    cell = row(made["gain"], "m").cells[0]
    assert cell.mean == pytest.approx(np.mean(better) - np.mean(base))
    assert cell.n == 60
    assert cell.low is not None
    assert cell.low > 0
    assert [one.label for one in made["gain"].rows] == ["m"]
    assert "m < 0.001" in made["gain"].notes[0]


def test_no_gain_without_the_base() -> None:
    assert "gain" not in tables({"m": scores("navigation", [0.0, 100.0])})


def test_recognition_by_difficulty_and_edge_cases_counted() -> None:
    made = tables(
        {"m": scores("recognition", [100.0, 0.0, 100.0, 0.0]) + scores("questions", [25.0, 25.0, 100.0])},
    )
    by = made["recognition/by_difficulty"]
    assert by.columns == ("easy", "hard")
    assert [cell.mean for cell in by.rows[0].cells] == [100.0, 0.0]
    assert made["questions/answer_score"].notes == ("m: 2 x no answer.",)


def test_missing_is_not_zero() -> None:
    steps = scores("recognition", [4.0, None], "recognition/trajectory_steps")
    made = tables({"m": [*scores("recognition", [100.0, 0.0]), *steps]})
    cell = row(made["recognition/success"], "m").cells[1]
    assert (cell.mean, cell.n, cell.expected) == (4.0, 1, 2)


def test_nothing_was_asked() -> None:
    assert summarize({"m": []}, {"m": "subject"}, {"m": []}) == []


def test_only_rates_have_the_interval_of_a_rate() -> None:
    calls = scores("navigation", [0.0] * 50, "model_calls")
    made = tables({"m": [*scores("navigation", [0.0] * 50), *calls]})
    cell = row(made["cost"], "m").cells[2]
    assert (cell.mean, cell.low, cell.high) == (0.0, None, None)
    rate = row(made[HEADLINE], "m").cells[0]
    assert rate.high is not None
    assert rate.high > 5


def test_a_subject_that_was_not_asked_of_every_task_is_flagged_and_has_no_mean_over_all() -> None:
    made = tables(
        {
            "a": scores("navigation", [0.0] * 4) + scores("manipulation", [100.0] * 4),
            "b": scores("navigation", [100.0] * 4),
        }
    )
    table = made[HEADLINE]
    assert row(table, "a").flag == ""
    assert row(table, "a").cells[-1].mean == 50.0
    assert row(table, "b").flag == "not asked of manipulation"
    assert row(table, "b").cells[-1].mean is None
    assert [one.label for one in table.rows] == ["a", "b"]


def test_manipulation_has_rates_parts_and_gains_by_table_task() -> None:
    def of(values: Sequence[float]) -> list[Score]:
        made = scores("manipulation", values)
        kinds = ("push buttons", "stack cups")
        return [replace(one, group={"task": "manipulation", "table_task": kinds[k % 2]}) for k, one in enumerate(made)]

    made = tables({"a": of([100.0, 0.0] * 4), "none": of([0.0, 0.0] * 4)})
    assert row(made[HEADLINE], "a").cells[0].low == pytest.approx(21.5, abs=0.1), "Wilson's of 4 in 8"
    parts = row(made["manipulation/by_table_task"], "a")
    assert dict(zip(made["manipulation/by_table_task"].columns, [cell.mean for cell in parts.cells], strict=True)) == {
        "push buttons": 100.0,
        "stack cups": 0.0,
    }
    gain = row(made["manipulation/gain"], "a")
    assert [cell.mean for cell in gain.cells] == [100.0, 0.0]
    assert [cell.n for cell in gain.cells] == [4, 4]
    assert row(made["gain"], "a").cells[0].mean == 50.0
