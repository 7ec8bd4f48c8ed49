"""The table of a paper: hand-worked values, LaTeX that a strict reader takes, and what to cite."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from report.folders import ToySuite, write_folder
from worldgauge.core.errors import UsageError
from worldgauge.core.registry import Entry
from worldgauge.engine.open_suite import open_suite
from worldgauge.engine.result import RunResult, find_runs
from worldgauge.engine.store import write_record, write_scores
from worldgauge.engine.suite.contract import Record, Score, Task
from worldgauge.suites import suites
from worldgauge.tools.paper_table import bibtex, pairs_csv, paper_rows, to_csv, to_latex, to_markdown

ROOT = Path(__file__).parents[2]
NASTY = "50 %_a&b\\#{x}~^$ [1] <é|*>"


class Walks(ToySuite):
    """Two tasks in each of eight clusters, scored from 0 to 1."""

    name = "toywalks"
    titles: ClassVar[Mapping[str, str]] = {"sgcs": "SGCS"}
    baselines = ("truth", "floor", "weak")
    floor_baselines = ("floor",)
    metric = "sgcs"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {}

    def tasks(self, source: Path) -> Iterator[Task]:
        for k in range(16):
            yield Task(self.name, f"{k // 2}/{k % 2}", {}, f"f{k}", {"type": "walk"}, cluster=f"c{k // 2}")


class Views(Walks):
    """Scores of which lower ones are better."""

    name = "toyviews"
    titles: ClassVar[Mapping[str, str]] = {"lpips": "LPIPS"}
    metric = "lpips"


STEPS = (0.1, 0.2, 0.3, 0.2, 0.1, 0.2, 0.3, 0.2)
"""Difference per cluster: mean 0.2, standard deviation sqrt(0.04 / 7), standard error 0.02673, t = 7.483."""
P = 0.000140
"""Two-sided p of t = 7.483 with 7 degrees of freedom."""


def write(folder: Path, suite: Walks, model: str, values: Sequence[float], **more: Any) -> Path:
    """One run, with a value for each cluster."""

    def answer(place: Path, task: Task) -> None:
        write_record(Record(task, model, place), place)
        better = "lower" if suite.metric == "lpips" else "higher"
        value = values[int(task.id[0])]
        write_scores(
            [Score(task.id, suite.metric, value, "1", better, group=task.group, cluster=task.cluster)], model, place
        )

    inputs = ["truth"] if model == "truth" else []
    return write_folder(folder / model.replace("/", "_"), suite, model, answer, inputs=inputs, **more)


@pytest.fixture(autouse=True)
def _suites() -> Iterator[None]:
    suites.names()
    toys = {one.name: Entry(one.name, "tests", one) for one in (Walks, Views)}
    suites._entries.update(toys)
    yield
    for name in toys:
        suites._entries.pop(name)


@pytest.fixture
def results(tmp_path: Path) -> list[RunResult]:
    walks = tmp_path / "walks"
    write(walks, Walks(), "truth", [1.0] * 8)
    write(walks, Walks(), "floor", [0.4] * 8)
    write(walks, Walks(), "weak", [0.35] * 8)
    write(walks, Walks(), NASTY, [0.4 + step for step in STEPS])
    views = tmp_path / "views"
    write(views, Views(), "floor", [0.4 + 0.01 * k for k in range(8)])
    write(views, Views(), NASTY, [0.4 + 0.01 * k + (-1) ** k * 0.02 for k in range(8)])
    return [result_of(walks), result_of(views)]


def result_of(folder: Path) -> RunResult:
    folders = find_runs([folder])
    return RunResult(folders, open_suite(folders[0].facts()["suite"], {}))


def test_cells_are_those_of_hand(results: list[RunResult]) -> None:
    rows = paper_rows(results, {NASTY: "Ours"})
    assert [(row.label, row.kind) for row in rows] == [
        *[("Ours", "model"), ("truth", "baseline"), ("floor", "baseline"), ("weak", "baseline")]
    ]
    walk, view = rows[0].cells
    assert (walk.column.suite, walk.column.heading) == ("toywalks", "SGCS ↑")
    assert (walk.n, walk.clusters, walk.counts.expected, walk.counts.scored) == (16, 8, 16, 16)
    assert walk.mean == pytest.approx(0.6)
    # The floor is the best baseline: the truth saw what is hidden. Of three tests it has the largest p: no factor.
    assert walk.against.b == "floor"
    assert walk.against.mean == pytest.approx(0.2)
    assert walk.against.p == pytest.approx(P, rel=0.01)
    assert walk.significant
    # Up and down by the same: no difference, although the first row has the lower mean in half of the tasks.
    assert view.column.heading == "LPIPS ↓"
    assert view.against.mean == pytest.approx(0.0)
    assert view.against.p == pytest.approx(1.0)
    assert not view.significant
    assert rows[1].cells[0].against is None
    assert rows[1].cells[1].counts is None


def test_markdown_is_bold_where_it_is_significant(results: list[RunResult]) -> None:
    lines = to_markdown(paper_rows(results, {NASTY: "Ours"})).splitlines()
    assert lines[0] == "| model | toywalks: SGCS ↑ | toyviews: LPIPS ↓ |"
    assert re.fullmatch(
        r"\| Ours \| \*\*0.600\*\* \[0.5\d\d, 0.6\d\d\], n = 16 in 8, p < 0.001 "
        r"\| 0.435 \[0.4\d\d, 0.4\d\d\], n = 16 in 8, p = 1.000 \|",
        lines[2],
    )
    assert lines[3].startswith("| truth (baseline) | 1.000, n = 16 in 8 | – |")
    assert "Best baseline: toywalks floor; toyviews floor." in lines


def test_names_are_no_format(results: list[RunResult]) -> None:
    text = to_markdown(paper_rows(results))
    assert r"| 50 %\_a&b\\\#{x}~^$ \[1\] \<é\|\*\> |" in text
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 4 for line in text.splitlines() if line.startswith("|"))


def test_latex_can_be_read(results: list[RunResult]) -> None:
    text = to_latex(paper_rows(results))
    check_latex(text)
    assert r"50 \%\_a\&b\textbackslash{}\#\{x\}\textasciitilde{}\textasciicircum{}\$ [1] $<$é$|$*$>$ & " in text
    assert r"\shortstack[r]{\textbf{0.600}\\{\scriptsize [0.5" in text
    assert text.count(r"\textbf") == 1


@pytest.mark.parametrize("broken", ["a & b_c", "50 % of", "{", r"\foo{x}", "$x", "日", r"a \\ [1] & b"])
def test_the_check_of_latex_finds_faults(results: list[RunResult], broken: str) -> None:
    text = to_latex(paper_rows(results))
    with pytest.raises(AssertionError):
        check_latex(text.replace("{}floor", broken))


def test_csv_has_a_line_per_cell(results: list[RunResult], tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    write(broken, Walks(), "=cmd", [0.5] * 8, ends={"7/1": "failed", "7/0": "skipped"}, error="out of memory")
    lines = list(csv.DictReader(io.StringIO(to_csv(paper_rows([*results, result_of(broken)])))))
    assert len(lines) == 5 * 2
    found = {(line["model"], line["suite"]): line for line in lines}
    mine = found["'=cmd", "toywalks"]
    assert [mine[name] for name in ("expected", "scored", "skipped", "failed", "n")] == ["16", "14", "1", "1", "14"]
    assert "missing" in mine["flag"]
    assert mine["significant"] == "False"
    whole = found[NASTY, "toywalks"]
    assert float(whole["difference"]) == pytest.approx(0.2)
    # Of four tests, those against the truth and weak have smaller p; that against "=cmd" has a larger one.
    assert float(whole["p"]) == pytest.approx(2 * P, rel=0.01)
    assert (whole["best_baseline"], whole["significant"], whole["flag"]) == ("floor", "True", "")


def test_labels_must_fit(results: list[RunResult]) -> None:
    with pytest.raises(UsageError, match=r"no row 'mine' to label; the rows are: .*floor"):
        paper_rows(results, {"mine": "Ours"})
    with pytest.raises(UsageError, match="two rows would have the label 'floor'"):
        paper_rows(results, {NASTY: "floor"})


def test_other_data_are_another_column(results: list[RunResult], tmp_path: Path) -> None:
    other = tmp_path / "other"
    run = write(other, Walks(), "floor", [0.3] * 8)
    facts = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**facts, "data_fingerprint": "another set"}))
    rows = paper_rows([results[0], result_of(other)])
    text = to_markdown(rows)
    assert text.startswith("| model | toywalks \\#1: SGCS ↑ | toywalks \\#2: SGCS ↑ |")
    floor = next(row for row in rows if row.label == "floor")
    assert [cell.mean for cell in floor.cells] == pytest.approx([0.4, 0.3])
    assert rows[0].cells[1].counts is None
    assert "Data: toywalks \\#1 fingerprint d; toywalks \\#2 fingerprint another ." in text
    check_latex(to_latex(rows))
    assert {line["name"] for line in csv.DictReader(io.StringIO(pairs_csv([results[0], result_of(other)])))} == {
        "SGCS #1"
    }


def test_a_baseline_that_was_run_twice_counts_once(results: list[RunResult], tmp_path: Path) -> None:
    again = tmp_path / "again"
    write(again, Walks(), "floor", [0.4] * 8)
    assert paper_rows([*results, result_of(again)]) == paper_rows(results)


def test_columns_of_the_headline_table(results: list[RunResult]) -> None:
    parts = [cell.column.part for cell in paper_rows(results, parts=True)[0].cells]
    assert parts == ["", *results[0].table()[0].columns, "", *results[1].table()[0].columns]


def test_every_suite_is_cited_in_both_files() -> None:
    names = ["loopnav", "mind", "targetbench", "worldinworld", "mineanybuild"]
    text = bibtex([*names, "loopnav"])
    entries = re.findall(r"^@misc\{\w+,\n((?:  \w+ = \{.*\},\n)+)\}$", text, re.MULTILINE)
    assert len(entries) == 6
    assert text.count("{") == text.count("}")
    numbers = re.findall(r"eprint = \{(\d{4}\.\d{5})\}", text)
    assert numbers == ["2505.22976", "2602.08025", "2511.17792", "2510.18135", "2505.20148"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["references"]
    assert [one["identifiers"][0]["value"] for one in cited] == [f"arXiv:{number}" for number in numbers]
    for entry, one in zip(entries[1:], cited, strict=True):
        authors = re.search(r"author = \{(.*)\}", entry)[1].replace('{\\"a}', "ä").split(" and ")
        assert authors == [f"{who['family-names']}, {who['given-names']}" for who in one["authors"]]
        assert re.sub(r"[{}]", "", re.search(r"title = \{(.*)\}", entry)[1]) == one["title"]


COMMANDS = {
    *("begin", "end", "centering", "small", "setlength", "tabcolsep", "caption", "label", "toprule", "midrule"),
    *("bottomrule", "shortstack", "scriptsize", "textbf", "textbackslash", "textasciitilde", "textasciicircum"),
    *("uparrow", "downarrow", "textdagger", "leq", "geq", "infty", "times", "textquotedbl", "cdot", "circ"),
}


def check_latex(text: str) -> None:
    """Read a table as LaTeX with booktabs does: known commands, balanced groups, equal columns, letters it prints."""
    assert all(one.isascii() or ord(one) < 0x180 for one in text)
    body = text.partition("\n")[2]
    assert not re.search(r"(?<!\\)%", body)  # a comment would end the line
    assert set(re.findall(r"\\([A-Za-z]+)", body.replace(r"\\", " "))) <= COMMANDS
    opened = []
    for command, name in re.findall(r"\\(begin|end)\{([a-z*]+)\}", body):
        if command == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert not opened
    bare = re.sub(r"\\[\\&%$#_{}]", lambda found: "/" if found[0] != r"\\" else "\n", body)
    depth = 0
    for letter in bare:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        assert depth >= 0
    assert depth == 0
    assert bare.count("$") % 2 == 0
    assert not re.search(r"[#_~]|(?<!\$)\^", bare)
    assert not re.search(r"\n\s*\[", bare)  # the option of a line's end
    columns = re.search(r"\\begin\{tabular\}\{(\w+)\}", body)[1]
    rows = re.search(r"\\toprule\n(.*)\\bottomrule", body, re.DOTALL)[1].strip().replace("    \\midrule\n", "")
    for row in rows.splitlines():
        assert row.endswith(" \\\\")
        assert len(re.findall(r"(?<!\\)&", row)) + 1 == len(columns)
