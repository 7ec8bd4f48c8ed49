"""A claim of memory needs every floor, and the decoy test."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import pytest

from report.test_compare import GOOD, LOW, POOR, evidence, run
from report.toybench import ToyLoop
from worldgauge.engine.suite.contract import Score
from worldgauge.report.compare import ReportVerdict, compare, verdict
from worldgauge.report.evidence import ComparedRun
from worldgauge.report.memory_claim import memory_evidence
from worldgauge.report.wording import Vocabulary


class Remembers(ToyLoop):
    """Loops of which a model must remember something."""

    floor_baselines = ("hedge", "freeze")
    memory_metrics: ClassVar[Mapping[str, str]] = {"sgcs": "SGCS"}


def of(name: str, values: list[float] = GOOD, *, same: list[float] = GOOD, other: list[float] = LOW) -> ComparedRun:
    """A run of a model under test, with both arms."""
    made = run(name, values)
    arms = [
        Score(f"t{place}.decoy-{arm}", f"{arm}/sgcs", value)
        for arm, own in (("same", same), ("other", other))
        for place, value in enumerate(own)
    ]
    keys = {score.task: "key" for score in arms}
    return replace(made, arms=tuple(arms), facts={**made.facts, "decoy_keys": keys})


def baseline(name: str, values: list[float] = LOW) -> ComparedRun:
    return run(name, values, baseline=True)


def say(*runs: ComparedRun) -> ReportVerdict:
    made, suite = evidence(*runs), Remembers()
    judged = [one.label for one in runs if one.source not in suite.floor_baselines]
    memory = memory_evidence(made, suite, judged)
    floor, words = suite.floor_baselines, Vocabulary.of(ToyLoop)
    return verdict(made, "SGCS", compare(made, "sgcs"), None, floor=floor, claim="keeps it", memory=memory, words=words)


DUMB = "not decided, since after frames of another place it is worse than freeze and may play dumb"
FULL, HEDGE, FREEZE = of("a"), baseline("hedge"), baseline("freeze", POOR)


def test_a_claim_and_the_line_of_its_test() -> None:
    said = say(of("a", other=LOW[::-1]), HEDGE, FREEZE)
    assert said.headline == (
        "a keeps it, better than baselines that cannot remember and than after frames of another place."
    )
    assert (
        "Decoy test of a, SGCS: 0.814 after frames of the same place, 0.414 after frames of another; difference 0.400 "
        "[0.387, 0.413], n = 8 in 8 clusters; 16 rollouts."
    ) in said.support
    both = say(FULL, of("b", other=GOOD), HEDGE, FREEZE)
    assert both.headline.startswith("Of 2 models only a keeps it better than baselines")
    assert any(
        line.startswith("Not shown of b: its answers after frames of the place are not") for line in both.support
    )


@pytest.mark.parametrize(
    ("runs", "reason"),
    [
        ((FULL, HEDGE), "freeze was not run with it"),
        ((FULL, HEDGE, baseline("freeze", GOOD[::-1])), f"it is not measurably better than freeze in SGCS and {DUMB}"),
        ((run("a", GOOD), HEDGE, FREEZE), "it was run without the decoy test"),
        ((of("a", other=[0.0, 0.01] * 4), HEDGE, baseline("freeze", POOR)), DUMB),
    ],
)
def test_else_it_says_what_is_not_shown(runs: tuple[ComparedRun, ...], reason: str) -> None:
    said = say(*runs)
    assert said.headline == f"Nothing shows that {runs[0].label} keeps it: {reason}."


def test_a_small_loss_is_no_play() -> None:
    """A memory that renders another place loses little to the best floor."""
    slightly = [value - 0.02 for value in LOW]
    assert say(of("a", other=slightly), HEDGE, baseline("freeze")).headline.startswith("a keeps it")


def test_data_without_a_decoy_make_no_claim() -> None:
    alone = replace(FULL, arms=(), facts={**FULL.facts, "decoy_keys": {}})
    assert say(alone, HEDGE, FREEZE).headline == (
        "Nothing shows that a keeps it: it has no decoy test, without two places of the same kind or more context than "
        "the last second."
    )


def test_baselines_are_judged_where_no_model_is() -> None:
    memory = replace(FULL, kind="baseline")
    assert say(memory, HEDGE, FREEZE).headline == "Only a keeps it; hedge and freeze do not."
    assert say(memory, HEDGE).headline == (
        "Baselines only; that a keeps it is not shown, since freeze was not run with it."
    )


def test_the_tests_are_corrected_together() -> None:
    """Five differences of one sign and no spread have p = 1/16."""
    few = slice(0, 5)
    low = [0.4] * 5
    said = say(of("a", GOOD[few], same=[0.8] * 5, other=low), baseline("hedge", low), baseline("freeze", low))
    assert said.headline.startswith("Nothing shows that a keeps it: ")
