"""Tables of made-up scores: kinds count alike, failures count, and nothing is averaged that was not asked."""

from collections.abc import Sequence

import pytest

from support.vectors import cases
from worldgauge.engine.suite.contract import Failure, Score, Table, TableRow
from worldgauge.suites.mineanybuild.scoring import HEADLINE
from worldgauge.suites.mineanybuild.summary import published, summarize

POINTS = {
    "planning": "planning/build_evaluation",
    "understanding": "understanding/build_evaluation",
    "creativity": "creativity/build_evaluation",
    "reasoning": "reasoning/reasoning_accuracy",
    "commonsense": "commonsense/build_commonsense",
}


def scores(kind: str, values: Sequence[float | None]) -> list[Score]:
    """Full marks in percent, and the paper's points, of tasks of a kind."""
    made = []
    for k, value in enumerate(values):
        facts = {"chance": 25.0 if kind == "reasoning" else 12.0, "ceiling": 100.0, "reason": None}
        facts |= {"read": "A", "answer": "A"} if kind == "reasoning" else {"random_matching": 1.0}
        own = {"group": {"task": kind, "tier": "easy", "variant": "same"}, "facts": facts}
        why = None if value is not None else "ungraded: no reply"
        points = None if value is None else value if kind == "reasoning" else value / 10
        made.append(Score(f"{kind}/{k}", HEADLINE, value, "%", reason=why, **own))
        made.append(Score(f"{kind}/{k}", POINTS[kind], points, reason=why, **own))
    return made


def tables(models: dict[str, list[Score]], failed: dict[str, list[Failure]] | None = None) -> dict[str, Table]:
    made = summarize(models, dict.fromkeys(models, "model"), {name: (failed or {}).get(name, []) for name in models})
    return {table.title: table for table in made}


def row(table: Table, label: str) -> TableRow:
    return next(one for one in table.rows if one.label == label)


MARKS = "Full marks by kind of task"
PAPER = "The paper's columns: evaluation scores, accuracy, overall"


def test_the_overall_says_how_its_interval_was_made() -> None:
    made = [*scores("reasoning", [100.0, 0.0] * 3), *scores("commonsense", [50.0, 20.0] * 3)]
    assert row(tables({"a": made})[PAPER], "a").cells[-1].method == "hall"


@pytest.mark.parametrize("case", cases("build_overall", "cases"))
def test_overall_of_the_paper(case: dict) -> None:
    """Every row of Tables 1 and 8, by our tables: kinds of very different numbers of tasks count alike."""
    values = {
        "planning": [10 * case["espg"]] * 3,
        "understanding": [10 * case["su"]] * 2,
        "creativity": [10 * case["creativity"]] * 4,
        "reasoning": [case["sr_acc"]] * 7,
        "commonsense": [10 * case["sc"]],
    }
    made = tables({"a": [one for kind, own in values.items() for one in scores(kind, own)]})
    for title in (MARKS, PAPER):
        cell = row(made[title], "a").cells[-1]
        assert cell.mean == pytest.approx(case["recomputed"], abs=0.005)
        assert cell.n == 17


def test_intervals_and_flags_of_rows() -> None:
    # Kinds count alike and rates have wilsons interval.
    made = tables({"a": scores("planning", [50.0] * 100) + scores("reasoning", [100.0, 0.0, 0.0, 100.0])})
    planning, reasoning, everything = row(made[MARKS], "a").cells
    assert (planning.mean, reasoning.mean, everything.mean) == (50.0, 50.0, 50.0)
    assert made[MARKS].columns == ("planning", "reasoning", "overall")
    assert reasoning.low == pytest.approx(15.0, abs=0.1)
    assert reasoning.high == pytest.approx(85.0, abs=0.1)
    assert everything.low < 50 < everything.high
    # An outage is counted beside the table.
    failed = {"b": [Failure("planning/7", {}, "EndpointError: down")]}
    made = tables({"a": scores("planning", [10.0] * 4), "b": scores("planning", [90.0] * 3)}, failed)
    cell = row(made[MARKS], "b").cells[0]
    assert (cell.mean, cell.n, cell.expected) == (90.0, 3, 4)
    # A model without a kind has no mean over all.
    made = tables({"a": scores("planning", [10.0]) + scores("commonsense", [10.0]), "b": scores("planning", [90.0])})
    assert row(made[MARKS], "b").cells[-1].mean is None


def test_missing_scores_and_notes_of_tables() -> None:
    # All of a kind ungraded: a mean of the others would be compared with means of all.
    graded = scores("planning", [10.0, 20.0]) + scores("creativity", [10.0])
    ungraded = scores("planning", [90.0, 80.0]) + scores("creativity", [None])
    made = tables({"a": graded, "b": ungraded})
    assert row(made[MARKS], "b").flag == "no score of creativity: ungraded: no reply"
    assert row(made[MARKS], "b").cells[-1].mean is None
    assert row(made[MARKS], "a").flag == ""
    # The evaluation says what becomes of failed plans.
    own = {"a": scores("planning", [50.0])}
    kinds: dict[str, str] = {"a": "model"}
    for failed_plans, said in (("zero", "counts as 0"), ("left_out", "is left out")):
        made = {table.title: table for table in summarize(own, kinds, {}, failed_plans)}  # type: ignore[arg-type]
        assert said in made["Planning: both means"].notes[0]
    # Ungraded is missing and not zero.
    made = tables({"a": scores("creativity", [80.0, None])})
    (cell,) = row(made[MARKS], "a").cells
    assert (cell.mean, cell.n, cell.expected) == (80.0, 1, 2)
    # Chance and ceiling stand under the first table.
    made = tables({"a": scores("planning", [50.0]) + scores("reasoning", [100.0])})
    notes = " ".join(made[MARKS].notes)
    assert "Guessing comes to: planning 12.00, reasoning 25.00, overall 18.50." in notes
    assert "The right answers get: planning 100.00, reasoning 100.00, overall 100.00." in notes
    assert "Such a sample matches, of 10: planning 1.00." in notes


def test_published_tables_hold_the_papers_numbers() -> None:
    one, six, seven = published()
    claude = next(each for each in one.rows if each.label == "Claude-3.5-Sonnet")
    assert [cell.mean for cell in claude.cells] == [3.21, 4.63, 19.8, 3.24, 6.9, 39.92]
    assert len(one.rows) == 15
    assert len(six.rows) == 15
    proprietary = [cell.mean for each in six.rows[:7] for cell in each.cells]
    assert sum(proprietary) / 21 == pytest.approx(93.40, abs=0.005)
    assert {each.label for each in seven.rows} == {"Gemini-2.5-Pro", "GPT-4.1", "GPT-4.1-mini", "InternVL2.5-26B"}
    assert "29.17" in seven.notes[0]
