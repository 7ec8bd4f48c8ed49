"""Scores of builds: the reference's means, the paper's tables, by hand, invariances, edges."""

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.vectors import cases
from worldgauge.core.errors import UsageError
from worldgauge.engine.suite.contract import mean_of_known
from worldgauge.suites.mineanybuild.critics import DIMENSIONS
from worldgauge.suites.mineanybuild.metrics import scores as s


def grades_of(case: dict[str, Any], item: dict[str, Any]) -> dict[str, float] | None:
    if item["grades"] is None:
        return None
    names = [s.dimension_of(name) for name in case["dimensions"]]
    assert None not in names
    return dict(zip(names, item["grades"], strict=True))  # type: ignore[arg-type]


@pytest.mark.parametrize("case", cases("build_scores", "cases"))
def test_means_of_the_reference(case: dict[str, Any]) -> None:
    kind, items, expected = case["task"], case["items"], case["expect"]
    grades = [grades_of(case, item) for item in items]
    done = [item["executable"] for item in items]
    own = [s.evaluation(kind, *pair) for pair in zip(done, grades, strict=True)]
    on_top = [item.get("voting_score", item.get("matching_score")) for item in items]
    more = [s.comprehensive(*row) for row in zip(done, own, on_top, strict=True)]
    released = [s.graded_only(kind, *pair, weights="released") for pair in zip(done, grades, strict=True)]
    assert own == pytest.approx(expected["item_evaluation"], abs=1e-6)
    assert more == pytest.approx(expected["item_comprehensive"], abs=1e-6)
    assert mean_of_known(own) == pytest.approx(expected["mean_evaluation_failures_zero"], abs=1e-6)
    assert mean_of_known(more) == pytest.approx(expected["mean_comprehensive_failures_zero"], abs=1e-6)
    if expected["released_mean_over_graded_only"] is not None:
        assert mean_of_known(released) == pytest.approx(expected["released_mean_over_graded_only"], abs=1e-6)
    assert 100 * sum(done) / len(done) == pytest.approx(expected["output_success_rate"], abs=1e-6)


@pytest.mark.parametrize("case", cases("build_overall", "cases"))
def test_overall_of_the_papers_tables(case: dict[str, Any]) -> None:
    points = [case[name] for name in ("espg", "su", "creativity", "sc")]
    found = s.overall([*map(s.full_marks, points), case["sr_acc"]])
    assert found == pytest.approx(case["recomputed"], abs=1e-6)
    assert (round(found, 2) == case["printed"]) == case["reproduces"]


def test_weights_of_dimensions() -> None:
    # Weights are over the critics dimensions.
    for weights in s.WEIGHTS.values():
        assert {kind: set(own) for kind, own in weights.items()} == {k: set(v) for k, v in DIMENSIONS.items()}
        assert all(math.isclose(sum(own.values()), 1) for own in weights.values())
    # Planning by hand in both weightings.
    grades = {"completeness": 10, "complexity": 4, "aesthetic": 7}
    assert s.evaluation("planning", True, grades) == pytest.approx(4 + 1.2 + 2.1)
    assert s.evaluation("planning", True, grades, weights="released") == pytest.approx(3 + 1.2 + 2.8)
    own = {"completeness": 0.5, "aesthetic": 0.5}
    assert s.evaluation("planning", True, grades, weights=own) == 8.5
    assert s.comprehensive(True, 7.3, 2.0) == pytest.approx(0.95 * 7.3 + 0.1)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("Completeness(Instruction Following)", "completeness"),
        ("Instruction Following(Completeness)", "completeness"),
        ("completeness", "completeness"),
        ("Overall Aesthetic, Atmosphere and Fidelity", "aesthetic"),
        ("Architecture Structure", "structure"),
        ("Beauty", None),
        ("x" * 10**6, None),
        ("", None),
    ],
)
def test_names_of_dimensions(name: str, ours: str | None) -> None:
    assert s.dimension_of(name) == ours


GRADES = st.fixed_dictionaries({name: st.floats(1, 10) for name in DIMENSIONS["creativity"]})


@given(GRADES, st.sampled_from(list(DIMENSIONS)), st.floats(3, 8))
def test_scores_lie_between_the_grades(grades: dict[str, float], kind: str, on_top: float) -> None:
    used = [grades[name] for name in DIMENSIONS[kind]]
    own = s.evaluation(kind, True, grades)
    assert own is not None
    assert min(used) - 1e-9 <= own <= max(used) + 1e-9
    more = s.comprehensive(True, own, on_top)
    assert more is not None
    assert min(own, on_top) - 1e-9 <= more <= max(own, on_top) + 1e-9
    same = s.evaluation(kind, True, dict.fromkeys(grades, used[0]))
    assert same == pytest.approx(used[0])


def test_missing_scores_marks_and_the_overall_score() -> None:
    # Missing is not zero but a failure is.
    assert s.evaluation("planning", False, None) == s.evaluation("planning", False, {}) == 0
    assert s.evaluation("planning", True, None) is None
    assert s.graded_only("planning", False, None) is None
    assert s.comprehensive(False, None, None) == 0
    assert s.comprehensive(True, 5.0, None) is None
    assert s.comprehensive(True, None, 5.0) is None
    # Marks of commonsense.
    assert [s.commonsense_success(mark) for mark in (None, 0, 6.99, 7, 10)] == [None, 0, 0, 100, 100]
    assert [s.commonsense(mark) for mark in (None, 0, 10)] == [None, 0, 10]
    for mark in (-0.1, 10.5, math.nan):
        with pytest.raises(UsageError, match="marks are 0 to 10"):
            s.commonsense_success(mark)
    # Overall is symmetric in the kinds.
    found = {round(s.overall(marks), 9) for marks in itertools.permutations((10, 20, 30, 40, 50.0))}
    assert found == {30.0}
    assert s.overall([100.0]) == 100
    assert s.overall([0, 0, 0, 0, 0]) == 0


def test_marks_and_grades_keep_their_range() -> None:
    assert s.full_marks(7.5) == 75.0
    assert s.full_marks(None) is None
    assert s.build_grade(1) == 1.0
    for wrong in (-0.1, 10.1, math.nan):
        with pytest.raises(UsageError, match="points cannot be"):
            s.full_marks(wrong)
        with pytest.raises(UsageError, match="1 to 10"):
            s.build_grade(wrong)


def test_what_cannot_be_meant_is_refused() -> None:
    good = {"completeness": 5.0, "complexity": 5.0, "aesthetic": 5.0}
    with pytest.raises(UsageError, match="no grade for aesthetic"):
        s.evaluation("planning", True, {"completeness": 5, "complexity": 5})
    for grade in (0, 11, math.nan):
        with pytest.raises(UsageError, match="grades are 1 to 10"):
            s.evaluation("planning", True, {**good, "complexity": grade})
    with pytest.raises(UsageError, match="not in 'reasoning'"):
        s.evaluation("reasoning", True, good)
    with pytest.raises(UsageError, match="known: paper, released"):
        s.evaluation("planning", True, good, weights="mine")  # type: ignore[arg-type]
    for weights in ({"completeness": 0.9}, {"completeness": 1.5, "complexity": -0.5}, {}):
        with pytest.raises(UsageError, match="add up to 1"):
            s.evaluation("planning", True, good, weights=weights)
    for marks in ([], [50, 101], [-1, 50], [50, math.nan]):
        with pytest.raises(UsageError, match="means of 0 to 100"):
            s.overall(marks)
