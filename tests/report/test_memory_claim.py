"""A claim of memory is made beside `hedge` and beside the same model shown less, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from report.test_compare import GOOD, LOW, POOR, evidence, run
from report.toybench import ToyLoop
from worldgauge.report.compare import Verdict, compare, verdict
from worldgauge.report.evidence import ComparedRun
from worldgauge.report.wording import Vocabulary

FLOOR = ("hedge", "freeze")


def of(name: str, values: list[float], *, model: str, context: int | None = None, **settings: Any) -> ComparedRun:
    """A run of a model under test, with its identity."""
    identity = {"source": model, "name": model, "inputs": [], "settings": settings, "max_context": context}
    made = run(name, values)
    subject = {"model": model, "identity": identity}
    return replace(made, source=model, context=context, facts={**made.facts, "subject": subject})


def reference(name: str, values: list[float] = LOW) -> ComparedRun:
    return run(name, values, reference=True)


def say(*runs: ComparedRun, memory: bool = True) -> Verdict:
    made = evidence(*runs)
    return verdict(
        made,
        "SGCS",
        compare(made, "sgcs"),
        None,
        floor=FLOOR,
        claim="keeps it",
        memory=memory,
        words=Vocabulary.of(ToyLoop),
    )


FULL, SHORT = of("a", GOOD, model="a.py:A"), of("a-shown-1", POOR, model="a.py:A", context=1, shown=1)
HEDGE, FREEZE = reference("hedge"), reference("freeze")


def test_it_is_made_where_both_are_beaten() -> None:
    said = say(FULL, SHORT, HEDGE, FREEZE).headline
    assert said == "a keeps it, better than references that cannot remember and than itself shown less."
    other = of("b", LOW[::-1], model="b")
    assert say(FULL, SHORT, other, HEDGE).headline == (
        "Of 2 models only a keeps it better than references that cannot remember and than itself shown less."
    )


@pytest.mark.parametrize(
    ("runs", "reason"),
    [
        ((FULL, SHORT, FREEZE), "the reference 'hedge' was not run with it"),
        ((FULL, HEDGE, FREEZE), "it was not run with less to see (as 'a.py:A?context_frames=1')"),
        (
            (FULL, of("less", GOOD, model="a.py:A", context=1), HEDGE),
            "it is not measurably better than itself shown 1 frame",
        ),
        ((SHORT, HEDGE), "it was shown a single frame"),
        (
            (FULL, SHORT, reference("hedge", GOOD[::-1])),
            "it is not measurably better than references that cannot remember",
        ),
    ],
)
def test_else_it_says_what_is_not_shown(runs: tuple[ComparedRun, ...], reason: str) -> None:
    said = say(*runs)
    assert said.headline == f"Nothing shows that {runs[0].label} keeps it: {reason}."


def test_of_several_models_each_reason_is_told() -> None:
    said = say(FULL, of("b", GOOD[::-1], model="b.py:B?gain=2"), HEDGE, FREEZE)
    assert said.headline == "Nothing shows that either of 2 models keeps it."
    assert "Not shown of a: it was not run with less to see (as 'a.py:A?context_frames=1')." in said.support
    assert "Not shown of b: it was not run with less to see (as 'b.py:B?gain=2&context_frames=1')." in said.support


def test_a_model_shown_less_is_no_model_of_its_own() -> None:
    """Neither is it judged, nor does another model's shorter run count."""
    said = say(FULL, of("b-short", POOR, model="b.py:B", context=1), HEDGE)
    assert "of 2 models" in said.headline
    assert say(FULL, SHORT, HEDGE).headline.startswith("a keeps it")


def test_the_context_of_the_run_and_a_setting_of_the_model_count_alike() -> None:
    by_run = replace(of("a@1", POOR, model="a.py:A"), context=1)
    by_setting = of("a-context-1", POOR, model="a.py:A", context=1, context_frames=0)
    assert say(FULL, by_run, HEDGE).headline.startswith("a keeps it")
    assert say(FULL, by_setting, HEDGE).headline.startswith("Nothing shows")  # another setting: another model
    full = of("a", GOOD, model="a.py:A", **{"gain": 2})
    assert evidence(full, SHORT).shown_less(full) is None
    two, one = of("a2", POOR, model="a.py:A", context=2), by_run
    assert evidence(FULL, two, one).shown_less(FULL) is one
    assert evidence(FULL, two, one).shown_less(one) is None


def test_references_need_the_hedge_and_are_known_without_themselves() -> None:
    memory = reference("memory", GOOD)
    assert say(memory, HEDGE, FREEZE).headline == "Only memory keeps it; hedge and freeze do not."
    without = say(memory, FREEZE).headline
    assert (
        without
        == "References only; that memory keeps it is not shown, since the reference 'hedge' was not run with it."
    )


def test_several_references_without_the_hedge_are_not_called_no_better() -> None:
    said = say(reference("memory", GOOD), reference("tiny", GOOD), FREEZE).headline
    assert said == (
        "References only; that memory or tiny keeps it is not shown, since the reference 'hedge' was not run with them."
    )


def test_the_test_is_corrected_for_all_pairs() -> None:
    """Five differences of one sign have p = 1/16: clear by their interval, and not by the test."""
    few = slice(0, 5)
    good, low = [0.8, 0.81, 0.82, 0.83, 0.84], [0.4] * 5
    said = say(of("a", good[few], model="a.py:A"), of("s", low, model="a.py:A", context=1), reference("hedge", low))
    assert said.headline.startswith("Nothing shows that a keeps it: it is not measurably better than references")


def test_other_claims_are_as_they_were() -> None:
    assert say(FULL, FREEZE, memory=False).headline == "a keeps it, better than references that cannot remember."
