"""Success, path length and answers of an episode: the vectors, by hand, invariances, the edges of section 6.3."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.vectors import cases
from worldgauge.core.errors import UsageError
from worldgauge.metrics import metrics
from worldgauge.suites.closedloop import metrics as s
from worldgauge.suites.closedloop.metrics import answer_spl, spl

LENGTH = st.floats(0, 1000)


def of_kind(kind: str) -> list[Any]:
    return [case for case in cases("wiw_metrics", "cases") if case.values[0]["kind"] == kind]


def number(value: Any) -> Any:
    """A length of a vector, where "inf" is a word."""
    return float(value) if isinstance(value, str) else value


def mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known)


def same(found: float, expected: Any) -> None:
    assert found == pytest.approx(float(expected), abs=1e-6, nan_ok=True)


def released_answers(episodes: Sequence[tuple[int, float, float | None]]) -> tuple[float, float, float]:
    """Answer score, metres and SPL as the release computes them, scores in percent.

    A judge's failure is mark 0 and takes 25 points away; episodes without a length are left out of the latter two.

    Args:
        episodes: (mark, shortest, travelled) of every episode.
    """
    lengths = [(mark, shortest, travelled) for mark, shortest, travelled in episodes if travelled is not None]
    weighted = [(mark - 1) / 4 * 100 * (shortest / max(shortest, travelled)) for mark, shortest, travelled in lengths]
    return (
        float(np.mean([(mark - 1) / 4 * 100 for mark, _, _ in episodes])),
        float(np.mean([travelled for _, _, travelled in lengths])),
        float(np.mean(weighted)),
    )


def released_spl(episodes: Iterable[tuple[bool, float, float]]) -> tuple[float, float]:
    """Success rate and SPL as fractions, as the release computes them.

    One episode of 0 steps, or without a path, makes the whole of SPL NaN.

    Args:
        episodes: (done, shortest, travelled) of every episode.
    """
    done, shortest, travelled = (np.array(column, np.float64) for column in zip(*episodes, strict=True))
    with np.errstate(invalid="ignore"):
        return float(done.mean()), float((done * shortest / np.maximum(shortest, travelled)).mean())


@pytest.mark.parametrize("case", of_kind("spl"))
def test_path_lengths_of_the_reference(case: dict[str, Any]) -> None:
    episodes = [(e["success"], number(e["shortest"]), number(e["travelled"])) for e in case["episodes"]]
    terms, expected, released = [spl(*one) for one in episodes], case["expected"], case["released"]
    assert [term.value for term in terms] == pytest.approx([100 * v for v in expected["per_episode"]], abs=1e-6)
    same(mean([term.value for term in terms]), expected["spl_percent"])
    same(mean([s.success(done) for done, _, _ in episodes]), expected["sr_percent"])
    same(mean([s.trajectory_steps(travelled) for _, _, travelled in episodes]), expected["mean_travelled"])
    for (_, shortest, _), term in zip(episodes, terms, strict=True):
        assert ("unreachable" in term.flags) == math.isinf(shortest)
    rate, weighted = released_spl(episodes)
    same(rate, released["sr"])
    same(weighted, released["spl"])


@pytest.mark.parametrize("case", of_kind("aeqa"))
def test_answers_of_the_reference(case: dict[str, Any]) -> None:
    episodes, expected = case["episodes"], case["expected"]
    answers = [s.answer_score(e["answered"], e["score"], e["blind_score"]) for e in episodes]
    alone = [s.answer_score(e["answered"], e["score"]) for e in episodes]
    lengths = [(number(e["shortest"]), number(e["travelled"])) for e in episodes]
    weighted = [answer_spl(e["answered"], e["score"], *length) for e, length in zip(episodes, lengths, strict=True)]
    assert [term.value for term in answers] == pytest.approx(expected["per_episode_answer"])
    assert [term.value for term in weighted] == pytest.approx(expected["per_episode_spl"], abs=1e-6)
    same(mean([term.value for term in answers]), expected["answer_score"])
    same(mean([term.value for term in alone]), expected["answer_score_no_blind"])
    same(mean([term.value for term in weighted]), expected["spl_percent"])
    same(mean([travelled for _, travelled in lengths]), expected["mean_travelled"])
    assert [term.flags[0] if term.flags else None for term in answers] == expected["flags"]

    def released(blind: bool) -> tuple[float, float, float]:
        marks = [e["score"] if e["answered"] else e["blind_score"] if blind else 1 for e in episodes]
        return released_answers([(mark, *length) for mark, length in zip(marks, lengths, strict=True)])

    # The scores themselves reach the released means, with judge_failure=released.
    if case["id"] == "aeqa_judge_failure":
        failed = {"failed": s.FAILED_RELEASED}
        alone = [s.answer_score(e["answered"], e["score"], **failed) for e in episodes]
        answers = [s.answer_score(e["answered"], e["score"], e["blind_score"], **failed) for e in episodes]
        weighted = [
            answer_spl(e["answered"], e["score"], *length, **failed)
            for e, length in zip(episodes, lengths, strict=True)
        ]
        same(mean([term.value for term in alone]), case["released"]["without_blind"]["answer_score"])
        same(mean([term.value for term in answers]), case["released"]["with_blind"]["answer_score"])
        same(mean([term.value for term in weighted]), case["released"]["without_blind"]["spl"])

    for blind, name in ((False, "without_blind"), (True, "with_blind")):
        outcome = case["released"][name]
        if outcome == "ZeroDivisionError":
            with pytest.raises(ZeroDivisionError):
                released(blind)
            continue
        for found, key in zip(released(blind), ("answer_score", "mean_travelled", "spl"), strict=True):
            same(found, outcome[key])


@pytest.mark.parametrize("case", of_kind("ar"))
def test_recognition_of_the_reference(case: dict[str, Any]) -> None:
    episodes, expected = case["episodes"], case["expected"]
    right = [s.success(e["pred"] is not None and e["pred"] == e["gt"]) for e in episodes]
    steps = [s.trajectory_steps(e["actions"]) for e in episodes]
    same(mean(right), expected["sr_percent"])
    same(mean(steps), expected["mean_traj"])
    assert (len(right), len([n for n in steps if n is not None])) == (expected["n"], expected["n_with_traj"])
    same(mean(right) / 100, case["released"]["sr"])
    same(mean(steps), case["released"]["mean_traj"])


@pytest.mark.parametrize("case", of_kind("manip"))
def test_manipulation_of_the_reference(case: dict[str, Any]) -> None:
    same(mean([s.success(e["success"]) for e in case["episodes"]]), case["expected"]["sr_percent"])
    same(mean([s.trajectory_steps(e["decisions"]) for e in case["episodes"]]), case["expected"]["mean_traj"])


def test_by_hand() -> None:
    assert spl(True, 5, 20) == s.Term(25.0)
    assert spl(True, 20, 5) == s.Term(100.0)
    assert spl(False, 5, 20) == s.Term(0.0)
    assert answer_spl(True, 4, 5, 10) == s.Term(37.5)
    assert [s.task_progress(share) for share in (0, 0.25, 1)] == [0.0, 0.25, 1.0]
    assert [s.answer_score(True, mark).value for mark in (1, 2, 3, 4, 5)] == [0, 25, 50, 75, 100]


@given(st.lists(st.tuples(st.booleans(), st.floats(0.1, 1000), LENGTH), min_size=1, max_size=9))
def test_where_nothing_is_odd_the_release_agrees(episodes: list[tuple[bool, float, float]]) -> None:
    """numpy over whole columns against one episode at a time."""
    rate, weighted = released_spl(episodes)
    assert mean([spl(*one).value for one in episodes]) == pytest.approx(100 * weighted)
    assert mean([s.success(done) for done, _, _ in episodes]) == pytest.approx(100 * rate)
    answered = [(1 + done * 4, shortest, travelled) for done, shortest, travelled in episodes]
    assert released_answers(answered)[2] == pytest.approx(100 * weighted)


@given(st.booleans(), LENGTH, LENGTH, st.floats(0.01, 100))
def test_the_unit_of_length_does_not_matter_and_a_longer_way_is_never_better(
    done: bool, shortest: float, travelled: float, scale: float
) -> None:
    value = spl(done, shortest, travelled).value
    assert value is not None
    assert 0 <= value <= s.success(done)
    assert spl(done, shortest * scale, travelled * scale).value == pytest.approx(value, rel=1e-6, abs=1e-6)
    assert spl(done, shortest, travelled * (1 + scale)).value <= value + 1e-9
    assert answer_spl(True, 5, shortest, travelled).value == spl(True, shortest, travelled).value


def test_the_edges() -> None:
    assert spl(True, 0, 0) == s.Term(100.0), "who stands there already has taken the shortest way"
    assert spl(True, 0, 4) == s.Term(0.0)
    assert spl(True, math.inf, 4) == s.Term(0.0, ("unreachable",))
    assert spl(True, 4, math.inf) == s.Term(0.0)
    assert spl(True, 4, None) == s.Term(0.0, ("no_length",))
    assert spl(True, None, 4) == s.Term(None, ("no_reference",)), "missing is not zero"
    assert s.answer_score(False, None) == s.Term(0.0, ("no_answer",))
    assert s.answer_score(False, None, 0) == s.Term(0.0, ("no_answer", "judge_error"))
    assert s.answer_score(False, 5, 2) == s.Term(25.0, ("no_answer",)), "a mark of nothing is none"
    assert s.answer_score(True, 9) == s.Term(0.0, ("judge_error",))
    assert s.answer_score(True, None, 5) == s.Term(0.0, ("judge_error",)), "no fallback for a judge that failed"
    assert answer_spl(False, None, 0, 0) == s.Term(0.0, ("no_answer",))
    assert answer_spl(True, None, 4, None) == s.Term(0.0, ("judge_error", "no_length"))
    assert s.trajectory_steps(None) is None
    assert s.trajectory_steps(0) == 0.0


def test_lengths_that_cannot_be() -> None:
    for lengths in ((-1, 3), (3, -1), (math.nan, 3), (3, math.nan)):
        with pytest.raises(UsageError, match="lengths are not negative"):
            spl(True, *lengths)
    with pytest.raises(UsageError, match="-1 steps"):
        s.trajectory_steps(-1)


def test_the_release_at_the_edges() -> None:
    assert math.isnan(released_spl([(True, 0, 0), (True, 1, 1)])[1])
    with pytest.raises(ZeroDivisionError):
        released_answers([(5, 0.0, 0.0)])
    assert released_answers([(5, 4.0, math.inf)])[1:] == (math.inf, 0.0)
    assert released_answers([(5, 4.0, 8.0), (1, 4.0, None)]) == (50.0, 8.0, 50.0)


def test_the_length_of_a_walk() -> None:
    def around(a: Sequence[float], b: Sequence[float]) -> float:
        return abs(a[0] - b[0]) + abs(a[1] - b[1]) if b[0] < 9 else math.inf

    assert s.length_m([(0, 0), (3, 4), (3, 4), (3, 0)], around) == s.Term(11.0)
    assert s.length_m([(0, 0), (9, 12)], around) == s.Term(15.0, ("hop_without_path",))
    assert s.length_m([(2, 2)], around) == s.length_m(np.empty((0, 2)), around) == s.Term(0.0)


@pytest.mark.parametrize("name", ["success", "spl", "answer_score", "answer_spl"])
def test_shares_are_percent(name: str) -> None:
    assert metrics.entry(name).facts["bounds"] == (0.0, 100.0)
    assert metrics.entry(name).facts["unit"] == "%"


@pytest.mark.parametrize("share", [-0.01, 1.01, math.nan])
def test_progress_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(UsageError, match="0 to 1"):
        s.task_progress(share)
