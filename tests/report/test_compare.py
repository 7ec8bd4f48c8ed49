from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from report.toybench import ToyLoop
from worldgauge.core.paired_tests import holm, rank_ranges
from worldgauge.engine.result import TaskCounts
from worldgauge.engine.suite.contract import Cell, Score, Table, TableRow
from worldgauge.report import provenance as trust
from worldgauge.report.compare import ReportVerdict, appearance, compare, verdict
from worldgauge.report.evidence import ComparedRun, Evidence, TaskEnding, cell_of, unique_labels
from worldgauge.report.page import find_extremes, select_tasks
from worldgauge.report.provenance import commands, tallies, troubles
from worldgauge.report.wording import Vocabulary

MEMORYLESS = ("freeze", "forgetful")
HIDDEN = {"truth": ("truth",), "forgetful": ("world",)}


def run(name: str, values: list[float], *, baseline: bool = False, sharp: float = 1.0) -> ComparedRun:
    scores = []
    for k, value in enumerate(values):
        group = {"type": "ABA", "range": (5, 15)[k % 2], "location": f"v{k}"}
        scores.append(Score(f"t{k}", "sgcs", value, group=group))
        scores.append(Score(f"t{k}", "sharpness", 40.0 * sharp * (k + 1), better="neither", group=group))
    facts = {"settings": {"stride": 5}, "source": "my data", "seed": 3, "model": {"address": f"m:{name}"}}
    outcomes = (*(TaskEnding(s.task, "scored") for s in scores[::2]), TaskEnding("x", "failed", "broke"))
    kind = "baseline" if baseline else "model"
    sees = HIDDEN.get(name, ())
    return ComparedRun(name, name, name, kind, sees, None, facts, Path("runs") / name, tuple(scores), outcomes, {})


def evidence(*runs: ComparedRun) -> Evidence:
    return Evidence("toyloop", {}, runs)


def say(*runs: ComparedRun, claim: str = "redraws the place", floor: tuple[str, ...] = MEMORYLESS) -> ReportVerdict:
    made = evidence(*runs)
    return verdict(
        made, "SGCS", compare(made, "sgcs"), appearance(made), floor=floor, claim=claim, words=Vocabulary.of(ToyLoop)
    )


WAVE = [0.00, 0.02, 0.01, 0.03, 0.02, 0.01, 0.00, 0.02]
GOOD, POOR, LOW = ([base + w for w in WAVE] for base in (0.8, 0.402, 0.4))


def freeze() -> ComparedRun:
    return run("freeze", LOW, baseline=True)


def in_clusters(found: ComparedRun, each: int) -> ComparedRun:
    """The same run, with so many tasks of one place."""
    scores = (replace(s, cluster=f"place {int(s.task[1:]) // each}") for s in found.scores)
    return replace(found, scores=tuple(scores))


def test_tasks_of_one_place_claim_nothing() -> None:
    runs = [in_clusters(run(name, values), 2) for name, values in (("good", GOOD), ("low", LOW))]
    compared = compare(evidence(*runs), "sgcs")
    (pair,) = compared.pairs
    assert (pair.n, pair.clusters, pair.p) == (8, 4, None)
    assert not pair.clear
    assert not compared.can_order
    assert [s.rank for s in compared.standings] == ["1–2", "1–2"]
    few = say(*(in_clusters(one, 2) for one in (run("mine", GOOD), freeze())))
    assert few.headline.startswith("Nothing shows that mine redraws the place")
    assert say(run("mine", GOOD), freeze()).headline.startswith("mine redraws the place")


def test_standings_are_sorted_with_the_interval_of_the_table() -> None:
    made = evidence(run("good", GOOD), run("low", LOW))
    mean = float(np.mean(GOOD))
    row = TableRow("good", (Cell(0.5, None, 4, 0.1, 0.9), Cell(mean, None, 8, 0.7, 0.95)))
    other = TableRow("low", (Cell(0.5, None, 4, 0.1, 0.9), Cell(0.3, None, 8, 0.2, 0.4)))
    table = Table("sgcs", "SGCS", "1", "higher", ("ABA", "all"), (row, other))
    good, low = compare(made, "sgcs", table=table).standings
    assert (good.low, good.high) == (0.7, 0.95)
    assert (low.low, low.high) == tuple(getattr(compare(made, "sgcs").by_label["low"], end) for end in ("low", "high"))
    made = evidence(run("low", LOW), run("good", GOOD))
    placed = compare(made, "sgcs").standings
    assert [s.label for s in placed] == ["good", "low"]
    assert placed[0].mean == pytest.approx(0.81375)
    assert placed[0].low is not None
    assert placed[0].low < placed[0].mean < (placed[0].high or 0)
    (pair,) = compare(made, "sgcs").pairs
    assert pair.mean == pytest.approx(0.4)
    assert pair.clear
    assert (pair.n, pair.flipped().mean) == (8, pytest.approx(-0.4))
    turned = compare(made, "sgcs", higher=False).standings
    assert [(s.label, s.rank) for s in turned] == [("low", "1"), ("good", "2")]


@pytest.mark.parametrize("seed", range(4))
def test_places_and_corrected_p_values_come_from_the_same_tests(seed: int) -> None:
    rng = np.random.default_rng(seed)
    base = rng.normal(0.5, 0.2, 20)
    names = [f"m{k}" for k in range(7)]
    made = evidence(*(run(n, list(base + 0.02 * k + rng.normal(0, 0.03, 20))) for k, n in enumerate(names)))
    compared = compare(made, "sgcs")
    corrected = holm([pair.p for pair in compared.pairs])
    assert [pair.p_holm for pair in compared.pairs] == corrected
    told = [(d.a, d.b) if d.mean > 0 else (d.b, d.a) for d in compared.pairs if d.p_holm and d.p_holm <= 0.05]
    expected = rank_ranges(names, told)
    assert told
    assert {s.label: s.places for s in compared.standings} == {name: tuple(expected[name]) for name in names}


def test_pairs_of_baselines_are_not_tested_and_appearance_is_relative() -> None:
    baselines = [run(name, values, baseline=True) for name, values in (("b", LOW), ("c", POOR), ("d", LOW[::-1]))]
    compared = compare(evidence(run("a", GOOD), *baselines), "sgcs")
    assert (len(compared.pairs), compared.tested) == (6, 3)
    for pair in compared.pairs:
        assert (pair.p is not None) == ("a" in (pair.a, pair.b))
        assert pair.mean == pytest.approx(compared.by_label[pair.a].mean - compared.by_label[pair.b].mean)
    truth = run("truth", [1.0] * 4, baseline=True)
    shown = appearance(evidence(truth, run("a", LOW[:4], sharp=0.5)))
    assert shown.relative
    assert shown.mean("a") == pytest.approx(0.5)
    alone = appearance(evidence(run("a", LOW[:4])))
    assert not alone.relative


def test_intervals_end_at_the_bounds_and_few_trajectories_order_nobody() -> None:
    few = [run(f"m{k}", [0.1 * k, 0.1 * k + 0.01]) for k in range(4)]
    assert not compare(evidence(*few), "sgcs").can_order
    assert compare(evidence(run("good", GOOD), run("low", LOW)), "sgcs").can_order
    made = evidence(run("a", [0.1, 0.9, 0.3, 0.8]), run("b", [0.9, 0.2, 0.7, 0.15]))
    free, bound = compare(made, "sgcs"), compare(made, "sgcs", bounds=(0.0, 1.0))
    assert free.by_label["a"].low is not None
    assert free.by_label["a"].low < 0
    assert (bound.by_label["a"].low, bound.by_label["a"].high) == (0.0, 1.0)
    assert (bound.pairs[0].low, bound.pairs[0].high) == (-1.0, 1.0)
    assert [p.p for p in free.pairs] == [p.p for p in bound.pairs]


def test_verdict_counts_the_models_that_remember() -> None:
    said = say(run("good", GOOD), run("low", POOR[::-1]), freeze())
    assert said.headline == "Of 2 models only good redraws the place better than baselines that cannot remember."
    assert "0.814" in said.support[0]
    assert "freeze" in said.support[0]
    said = say(run("a", LOW[::-1]), run("b", LOW), freeze())
    assert said.headline.startswith("Neither of 2 models redraws")
    assert say(run("good", GOOD), freeze()).headline.startswith("good redraws the place")
    assert say(run("a", GOOD), run("b", GOOD), freeze()).headline.startswith(
        "Each of 2 models redraws the place better"
    )
    assert say(run("a", LOW), freeze()).headline.startswith("Nothing shows that a redraws the place: it is not")
    two_of_three = say(run("a", GOOD), run("b", GOOD), run("c", LOW[::-1]), freeze()).headline
    assert two_of_three.startswith("Of 3 models each of a and b redraws the place better than")
    assert "no baseline that cannot remember was run" in say(run("a", LOW)).headline
    assert say().headline == "No scores: the runs are unfinished or failed."


def test_references_are_judged_if_no_model_was_run_and_sharp_is_not_right() -> None:
    truth = run("truth", [1.0] * 8, baseline=True)
    said = say(truth, run("memory", GOOD, baseline=True), freeze())
    assert said.headline == "Only memory redraws the place; freeze does not."
    assert "truth, shown what is hidden, is not judged" in said.support[1]
    truth = run("truth", [1.0] * 8, baseline=True)
    blind = run("forgetful", LOW, baseline=True, sharp=1.05)
    said = say(run("good", GOOD), truth, freeze(), blind)
    sharp = "forgetful, which cannot remember, is 1.05 times as sharp as the ground truth: SGCS 0.414."
    assert said.support[-1] == sharp


def test_a_suite_without_a_claim_gets_no_words_of_another() -> None:
    runs = run("good", GOOD), run("low", LOW), freeze(), run("forgetful", LOW, baseline=True)
    said = say(*runs, claim="", floor=())
    # freeze is a baseline like any other here: it is not judged beside models under test.
    assert said.headline == "good is first of 2 models with SGCS 0.814 [0.805, 0.823]."
    assert said.support == ("The next is low. Paired difference +0.400. The difference is significant.",)
    alone = say(run("a", GOOD), claim="", floor=())
    assert (alone.headline, alone.support) == ("a has SGCS 0.814 [0.805, 0.823].", ())
    same = say(run("a", GOOD), run("b", GOOD[::-1]), claim="", floor=())
    assert "is not significant" in same.support[0]


def test_films_are_the_extremes_and_a_spread_in_the_order_of_cells() -> None:
    made = evidence(run("a", [0.1 * (k % 10) for k in range(40)]), freeze())
    cases = find_extremes(made, "sgcs")
    assert cases[0].worst == ("t0", 0.0)
    assert cases[0].best == ("t9", pytest.approx(0.9))
    chosen = select_tasks(made, cases, 8)
    assert len(chosen) == 8
    assert {"t0", "t9"} <= set(chosen)
    assert {cell_of(made.groups[task]) for task in chosen} == {"ABA 5", "ABA 15"}
    assert (select_tasks(made, cases, 100), select_tasks(made, cases, 0)) == (list(made.groups), [])
    (case,) = find_extremes(evidence(run("a", [0.1, 0.5])), "sgcs", higher=False)
    assert (case.worst, case.best) == (("t1", 0.5), ("t0", 0.1))
    assert list(dict.fromkeys(map(cell_of, evidence(run("a", LOW)).groups.values()))) == ["ABA 5", "ABA 15"]


def test_counts_troubles_and_commands_of_runs() -> None:
    one = run("a", LOW)
    assert tallies(evidence(one)) == [("a", TaskCounts(9, 8, 0, 1))]
    (trouble,) = troubles(evidence(one))
    assert (trouble.label, trouble.reason, trouble.tasks) == ("a", "broke", ("x",))
    made, again = commands(evidence(one, run("b", LOW)), {"stride": 1})
    assert made == "worldgauge run toyloop --model m:a --model m:b --data 'my data' --out runs --seed 3 --set stride=5"
    assert again == "worldgauge report runs"
    assert unique_labels(["a", "b"], [("@1",), ("@2",)]) == ["a", "b"]
    assert unique_labels(["a", "a"], [("@8", "seed 0"), ("@all", "seed 0")]) == ["a @8", "a @all"]
    assert unique_labels(["a", "a"], [("x",), ("x",)]) == ["a #1", "a #2"]


def test_models_share_a_line_of_counts_only_where_these_are_equal() -> None:
    def whole(name: str, tasks: int) -> ComparedRun:
        outcomes = tuple(TaskEnding(f"t{k}", "scored") for k in range(tasks))
        return replace(run(name, LOW), outcomes=outcomes)

    alike = [whole(name, 8) for name in "abc"]
    assert tallies(evidence(*alike, whole("d", 20))) == [
        ("3 models, each", TaskCounts(8, 8, 0, 0)),
        ("d", TaskCounts(20, 20, 0, 0)),
    ]
    assert tallies(evidence(*alike), "agent") == [("3 agents, each", TaskCounts(8, 8, 0, 0))]
    assert tallies(evidence(*alike, whole("d", 20), whole("e", 20))) == [
        ("a, b and c, each", TaskCounts(8, 8, 0, 0)),
        ("d and e, each", TaskCounts(20, 20, 0, 0)),
    ]


def test_a_python_object_is_not_put_on_a_command_line() -> None:
    def made(**about: object) -> ComparedRun:
        one = run("mine", LOW)
        return replace(one, facts={**one.facts, "model": about})

    named, again = commands(evidence(made(address="__main__:MyModel", live=True)), {"stride": 5})
    assert named == "# mine was a Python object (mine): run it again from Python"
    assert again == "worldgauge report runs"
    old = commands(evidence(made(address="__main__:MyModel")), {})
    assert not any("--model" in line for line in old)
    assert "--model pkg:My" in commands(evidence(made(address="pkg:My", live=False)), {})[0]


def test_the_segmenter_is_said_once_a_trajectory() -> None:
    def scored(name: str) -> ComparedRun:
        facts = [
            {"iou": {"tree": 0.5, "house": 0.9, "cow": None}, "sgcs_against_exact": 0.8},
            {"iou": {"tree": 0.7, "house": None, "cow": None}, "sgcs_against_exact": 0.82},
        ]
        found = [Score(f"t{k}", "segmenter_accuracy", 0.94 + 0.02 * k, facts=each) for k, each in enumerate(facts)]
        return replace(run(name, LOW), scores=(*run(name, LOW).scores, *found))

    made = evidence(scored("a"), scored("b"))
    assert trust.describe_accuracy(made) == (
        "The segmenter labels 95 % of the recording's pixels as the exact masks do "
        "(SGCS of its masks against exact ones: 0.81)."
    )
    assert trust.describe_categories(made).endswith("by category: house 0.90, tree 0.60.")
    assert trust.describe_accuracy(evidence(run("a", LOW))) == trust.describe_categories(evidence(run("a", LOW))) == ""
