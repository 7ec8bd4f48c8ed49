"""A model that was given its path does not find one; camera poses are no keys: such models are ranked apart."""

from __future__ import annotations

import pytest

from report.test_compare import GOOD, LOW, POOR, evidence, freeze, run
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Cell, Table, TableRow
from worldgauge.report import tables
from worldgauge.report.compare import Comparison, compare
from worldgauge.report.curves import SeriesStyle
from worldgauge.report.evidence import Evidence
from worldgauge.report.judgement import _verdict_of_groups
from worldgauge.suites.mind.suite import Mind
from worldgauge.suites.mind.summary import POSED
from worldgauge.suites.targetbench.suite import TargetBench
from worldgauge.suites.targetbench.summary import LED


def compared_by(made: Evidence, groups: dict[str, str]) -> Comparison:
    rows = tuple(
        TableRow(one.label, (Cell(0.5, 0.1, 3),), one.kind, group=groups.get(one.label, "")) for one in made.runs
    )
    return compare(made, "sgcs", table=Table("sgcs", "SGCS", "1", "higher", ("x",), rows))


def headline(suite: Suite, made: Evidence, groups: dict[str, str]) -> str:
    return _verdict_of_groups(made, suite, "score", compared_by(made, groups), None).headline


def test_a_model_that_was_given_the_path_follows_it() -> None:
    suite = TargetBench(decoder="klt-vo")
    made = evidence(run("led", GOOD), run("reader", [v + 0.2 for v in LOW]), freeze())
    said = headline(suite, made, {"led": LED})
    assert "Given a path: led follows the path that it was given, better than" in said
    assert "reader finds a usable path to the named target, better than" in said
    assert "led finds" not in said
    # Alone on its page, it finds nothing either.
    said = headline(suite, evidence(run("led", GOOD), freeze()), {"led": LED})
    assert said.startswith("Given a path: led follows")
    assert "finds" not in said


def test_camera_driven_models_are_ranked_among_themselves() -> None:
    made = evidence(run("posed", GOOD), run("worse", LOW), run("keys", POOR), freeze())
    groups = {"posed": POSED, "worse": POSED}
    compared = compared_by(made, groups)
    ranks = {one.label: one.rank for one in compared.standings}
    assert ranks["posed"] == "1"
    assert ranks["keys"].startswith("1")
    pairs = {frozenset((pair.a, pair.b)): pair.p for pair in compared.pairs}
    assert pairs[frozenset(("posed", "keys"))] is None
    assert pairs[frozenset(("posed", "worse"))] is not None
    assert pairs[frozenset(("posed", "freeze"))] is not None


@pytest.mark.parametrize("alone", [True, False])
def test_the_headline_names_camera_driven_models(alone: bool) -> None:
    runs = [run("posed", GOOD), *([] if alone else [run("keys", GOOD)]), freeze()]
    said = headline(Mind(), evidence(*runs), {"posed": POSED})
    assert "Given poses: " in said
    assert said.index("posed") > said.index("Given poses: ")


def test_the_best_of_each_group_is_marked() -> None:
    looks = {name: SeriesStyle(f"s{k}", f"k{k}", name) for k, name in enumerate("abcd")}
    rows = [
        TableRow(name, (Cell(mean, 0.1, 3),), group=group)
        for name, mean, group in (("a", 0.9, POSED), ("b", 0.5, POSED), ("c", 0.3, ""), ("d", 0.2, ""))
    ]
    view = tables.view_table("t", Table("m", "M", "1", "higher", ("x",), tuple(rows)), looks, {})
    assert [row.label for _, group in view.groups for row in group if row.cells[0].best] == ["a", "c"]
