"""A flagged row is shown and wins nothing: not a column, not a rank, not the verdict."""

import pytest

from report.test_compare import GOOD, LOW, POOR, evidence, freeze, run
from report.toybench import ToyLoop
from worldgauge.engine.suite.contract import Cell, Table, TableRow
from worldgauge.report import tables
from worldgauge.report.compare import ReportVerdict, compare, verdict
from worldgauge.report.curves import SeriesStyle
from worldgauge.report.evidence import ComparedRun, columns_by
from worldgauge.report.wording import Vocabulary

LOOKS = {name: SeriesStyle(f"s{k}", f"k{k}", name) for k, name in enumerate("abc")}


def say(*runs: ComparedRun, flags: dict[str, str], claim: str = "redraws the place") -> ReportVerdict:
    made = evidence(*runs)
    compared = compare(made, "sgcs", flags=flags)
    floor = ("freeze",) if claim else ()
    words = Vocabulary.of(ToyLoop)
    return verdict(made, "SGCS", compared, None, floor=floor, claim=claim, words=words)


def test_a_flagged_subject_is_not_best_and_has_no_rank() -> None:
    rows = [TableRow(name, (Cell(mean, 0.1, 3),)) for name, mean in (("a", 0.9), ("b", 0.5), ("c", 0.3))]
    flagged = [TableRow("a", rows[0].cells, "model", "does not move"), *rows[1:]]
    for made, best in ((rows, "a"), (flagged, "b")):
        view = tables.view_table("t", Table("m", "M", "1", "higher", ("x",), tuple(made)), LOOKS, {})
        assert [row.label for _, group in view.groups for row in group if row.cells[0].best] == [best]
        assert view.flagged == (best == "b")
    made = evidence(run("cheat", GOOD), run("good", POOR), run("low", [v - 0.1 for v in LOW]))
    placed = compare(made, "sgcs", flags={"cheat": "does not move"}).standings
    assert [(s.label, s.rank, s.flag) for s in placed] == [
        ("good", "1", ""),
        ("low", "2", ""),
        ("cheat", "–", "does not move"),
    ]
    made = evidence(run("cheat", GOOD), run("good", POOR))
    compared = compare(made, "sgcs", flags={"cheat": "does not move"})
    (pair,) = compared.pairs
    assert pair.clear
    assert not compared.shows_lead(pair)
    assert compare(made, "sgcs").shows_lead(pair)
    assert compare(made, "sgcs", higher=False, flags={"cheat": "x"}).shows_lead(pair), (
        "where less is better, good leads"
    )
    assert not compared.can_order, "there is nobody left to order"
    assert {s.rank for s in compared.standings} == {"–"}, "the only row without a flag is not the first of anything"


def test_the_verdict_goes_without_the_flagged() -> None:
    said = say(run("cheat", GOOD), run("good", [v + 0.2 for v in LOW]), freeze(), flags={"cheat": "pose-conditioned"})
    assert said.headline.startswith("good redraws the place")
    assert said.support[-1] == "Not in the running: cheat (pose-conditioned)."
    leads = say(run("cheat", GOOD), run("a", POOR), run("b", LOW), flags={"cheat": "pose-conditioned"}, claim="")
    assert leads.headline.startswith("a is first of 2 models")
    assert leads.support[-1] == "Not in the running: cheat (pose-conditioned)."
    better = [v + 0.2 for v in LOW]
    noise = run("noise", [v - 0.3 for v in LOW], baseline=True)
    made = evidence(run("a", LOW[::-1]), run("freeze", better, baseline=True), noise)
    compared = compare(made, "sgcs", flags={"freeze": "does not move"})
    said = verdict(
        made, "SGCS", compared, None, floor=("freeze", "noise"), claim="redraws it",
        words=Vocabulary.of(ToyLoop),
    )  # fmt: skip
    assert said.headline.startswith("Nothing shows that a redraws it")
    assert "the strongest baseline that cannot remember, freeze, has 0.614" in said.support[0]
    said = say(run("a", GOOD), run("memory", POOR, baseline=True), freeze(), flags={"a": "does not move"})
    assert said.headline == "Not in the running: a."
    assert said.support[0] == "a: does not move."
    assert said.support[1].startswith("The best of the other baselines, memory, has SGCS")
    assert "a redraws" not in said.headline


@pytest.mark.parametrize("claim", ["", "redraws the place"])
def test_where_all_are_flagged_nobody_wins(claim: str) -> None:
    said = say(run("a", GOOD), run("b", LOW), flags={"a": "does not move", "b": "does not move"}, claim=claim)
    assert said.headline == "No row is in the running: a (does not move) and b (does not move)."


def test_columns_are_found_among_the_groups_of_the_tasks() -> None:
    groups = [
        {"test": "memory", "perspective": "first", "family": "urban"},
        {"test": "memory", "perspective": "third", "family": "ancient", "space": "s"},
    ]
    assert columns_by(groups, ("first", "third", "both")) == ["perspective"]
    assert columns_by(groups, ("urban first", "ancient third")) is None, "a group's own order makes its name"
    assert columns_by(groups, ("first urban", "third ancient")) == ["perspective", "family"]
    assert columns_by(groups, ("x",)) is None
    assert columns_by([], ("x",)) is None
