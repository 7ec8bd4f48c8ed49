from __future__ import annotations

from pathlib import Path

import pytest

from worldgauge.report.appearance import appearance
from worldgauge.report.choose import choose, extremes
from worldgauge.report.compare import can_order, differences, standings
from worldgauge.report.evidence import Entrant, Evidence, Outcome, cell_of, unique_labels
from worldgauge.report.provenance import commands, count, troubles
from worldgauge.report.verdict import Verdict, verdict
from worldgauge.suites.contract import Score

HIDDEN = {"truth": ("truth",), "forgetful": ("world",)}


def entrant(name: str, values: list[float], *, reference: bool = False, sharp: float = 1.0) -> Entrant:
    scores = []
    for k, value in enumerate(values):
        group = {"type": "ABA", "range": (5, 15)[k % 2], "location": f"v{k}"}
        scores.append(Score(f"t{k}", "sgcs", value, group=group))
        scores.append(Score(f"t{k}", "sharpness", 40.0 * sharp * (k + 1), better="neither", group=group))
    facts = {"settings": {"stride": 5}, "source": "my data", "seed": 3, "subject": {"model": f"m:{name}"}}
    outcomes = (*(Outcome(s.task, "done") for s in scores[::2]), Outcome("x", "failed", "broke"))
    kind = "reference" if reference else "subject"
    sees = HIDDEN.get(name, ())
    return Entrant(name, name, name, kind, sees, None, facts, Path("runs") / name, tuple(scores), outcomes, {})


def evidence(*entrants: Entrant) -> Evidence:
    return Evidence("toyloop", {}, entrants)


def say(*entrants: Entrant) -> Verdict:
    made = evidence(*entrants)
    placed = standings(made, "sgcs")
    pairs = differences(made, "sgcs", [s.label for s in placed])
    signed = {(d.a, d.b): d for p in pairs for d in (p, p.flipped())}
    return verdict(made, "sgcs", "SGCS", placed, signed, appearance(made), higher=True)


WAVE = [0.00, 0.02, 0.01, 0.03, 0.02, 0.01, 0.00, 0.02]
GOOD, POOR, LOW = ([base + w for w in WAVE] for base in (0.8, 0.402, 0.4))


def freeze() -> Entrant:
    return entrant("freeze", LOW, reference=True)


def test_standings_are_sorted_and_differences_signed() -> None:
    made = evidence(entrant("low", LOW), entrant("good", GOOD))
    placed = standings(made, "sgcs")
    assert [s.label for s in placed] == ["good", "low"]
    assert placed[0].mean == pytest.approx(0.81375)
    assert placed[0].low is not None
    assert placed[0].low < placed[0].mean < (placed[0].high or 0)
    (pair,) = differences(made, "sgcs", ["good", "low"])
    assert pair.mean == pytest.approx(0.4)
    assert pair.clear
    assert pair.n == 8
    assert pair.flipped().mean == pytest.approx(-0.4)
    assert [s.label for s in standings(made, "sgcs", higher=False)] == ["low", "good"]


def test_few_trajectories_cannot_order_many_subjects() -> None:
    few = [entrant(f"m{k}", [0.1 * k, 0.1 * k + 0.01]) for k in range(4)]
    assert not can_order(differences(evidence(*few), "sgcs", [e.label for e in few]))
    two = [entrant("good", GOOD), entrant("low", LOW)]
    assert can_order(differences(evidence(*two), "sgcs", ["good", "low"]))


def test_verdict_names_the_only_model_that_remembers() -> None:
    said = say(entrant("good", GOOD), entrant("low", POOR[::-1]), freeze())
    assert said.headline.startswith("Of 2 models only good redraws the place it has seen")
    assert "0.814" in said.support[0]
    assert "freeze" in said.support[0]


def test_verdict_admits_when_none_does() -> None:
    said = say(entrant("a", LOW[::-1]), entrant("b", LOW), freeze())
    assert said.headline.startswith("Neither of 2 models redraws")


def test_verdict_of_one_of_all_and_of_none() -> None:
    assert say(entrant("good", GOOD), freeze()).headline.startswith("good redraws the place")
    assert say(entrant("a", GOOD), entrant("b", GOOD), freeze()).headline.startswith("Both models redraw")
    assert say(entrant("a", LOW), freeze()).headline.startswith("a does not redraw")
    assert "no reference without memory" in say(entrant("a", LOW)).headline
    assert say().headline == "Nothing was scored."


def test_verdict_judges_references_where_no_model_was_run() -> None:
    truth = entrant("truth", [1.0] * 8, reference=True)
    said = say(truth, entrant("memory", GOOD, reference=True), freeze())
    assert said.headline == "Only memory redraws the place it has seen; freeze does not."
    assert "truth, shown what is hidden, is not judged" in said.support[1]


def test_verdict_says_that_sharp_is_not_right() -> None:
    truth = entrant("truth", [1.0] * 8, reference=True)
    blind = entrant("forgetful", LOW, reference=True, sharp=1.05)
    said = say(entrant("good", GOOD), truth, freeze(), blind)
    assert said.support[-1] == "forgetful draws another place, 1.05 times as sharp as the truth, and has SGCS 0.414."


def test_appearance_is_relative_to_the_truth_on_the_same_trajectory() -> None:
    truth = entrant("truth", [1.0] * 4, reference=True)
    shown = appearance(evidence(truth, entrant("a", LOW[:4], sharp=0.5)))
    assert shown is not None
    assert shown.relative
    assert shown.mean("a") == pytest.approx(0.5)
    alone = appearance(evidence(entrant("a", LOW[:4])))
    assert alone is not None
    assert not alone.relative


def test_films_are_the_extremes_and_a_spread_over_cells() -> None:
    made = evidence(entrant("a", [0.1 * (k % 10) for k in range(40)]), freeze())
    cases = extremes(made, "sgcs")
    assert cases[0].worst == ("t0", 0.0)
    assert cases[0].best == ("t9", pytest.approx(0.9))
    chosen = choose(made, cases, 8)
    assert len(chosen) == 8
    assert {"t0", "t9"} <= set(chosen)
    assert {cell_of(made.groups[task]) for task in chosen} == {"ABA 5", "ABA 15"}
    assert choose(made, cases, 100) == list(made.groups)
    assert choose(made, cases, 0) == []


def test_lower_is_better_turns_worst_and_best_round() -> None:
    (case,) = extremes(evidence(entrant("a", [0.1, 0.5])), "sgcs", higher=False)
    assert (case.worst, case.best) == (("t1", 0.5), ("t0", 0.1))


def test_cells_come_in_the_order_of_numbers() -> None:
    assert list(dict.fromkeys(map(cell_of, evidence(entrant("a", LOW)).groups.values()))) == ["ABA 5", "ABA 15"]


def test_equal_names_are_told_apart() -> None:
    assert unique_labels(["a", "b"], [("@1",), ("@2",)]) == ["a", "b"]
    assert unique_labels(["a", "a"], [("@8", "seed 0"), ("@all", "seed 0")]) == ["a @8", "a @all"]
    assert unique_labels(["a", "a"], [("x",), ("x",)]) == ["a #1", "a #2"]


def test_counts_troubles_and_commands() -> None:
    one = entrant("a", LOW)
    tally = count(one)
    assert (tally.expected, tally.scored, tally.failed, tally.complete) == (9, 8, 1, False)
    (trouble,) = troubles(evidence(one))
    assert (trouble.label, trouble.reason, trouble.tasks) == ("a", "broke", ("x",))
    made, again = commands(evidence(one, entrant("b", LOW)), {"stride": 1})
    assert made == "worldgauge run toyloop --model m:a --model m:b --data 'my data' --out runs --seed 3 --set stride=5"
    assert again == "worldgauge report runs"
