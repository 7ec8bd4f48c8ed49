"""The table of a paper: models and baselines as rows, the headline of each suite as columns, and what to cite.

    rows = paper_rows([RunResult(...), ...], labels={"wm": "Ours"})
    print(to_markdown(rows), to_latex(rows), to_csv(rows), bibtex(["loopnav"]))

A cell is bold if the model is significantly better than the best baseline, by the test of every page
(`report.judgement`).
"""

from __future__ import annotations

import csv
import io
import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from textwrap import wrap
from types import MappingProxyType

from worldgauge.core.english import listed
from worldgauge.core.errors import UsageError
from worldgauge.core.intervals import student_quantile
from worldgauge.core.io import dumps
from worldgauge.engine.result import RunResult, TaskCounts
from worldgauge.engine.sets import SET_COLUMNS, data_notes, set_cells
from worldgauge.engine.suite.base import Suite, suites
from worldgauge.engine.suite.contract import Better, Cell
from worldgauge.report.compare import Comparison, PairDifference
from worldgauge.report.evidence import ComparedRun, Evidence, load_evidence
from worldgauge.report.judgement import Judgement, judge
from worldgauge.report.steps import step_points
from worldgauge.report.wording import Vocabulary, digits_for, number, p_value
from worldgauge.terminal.output import ENDS, plain_cell
from worldgauge.version import __version__


@dataclass(frozen=True)
class PaperColumn:
    """One column of the table; `sets` are its cells of `SET_COLUMNS`.

    Attributes:
        part: Column of the headline table, such as "ABA 5". Empty for the headline itself.
        data: Which tasks its values are of, in words.
        place: Number of the column, from 1, if a suite has several for other data or settings, else 0.
    """

    suite: str
    metric: str
    name: str
    better: Better
    unit: str = "1"
    part: str = ""
    data: str = ""
    sets: tuple[str | None, ...] = (None, None, None)
    place: int = 0

    @property
    def source(self) -> str:
        """The suite, with the number of the column."""
        return _numbered(self.suite, self.place)

    @property
    def numbered(self) -> str:
        """The part or the metric, with the number of the column."""
        return _numbered(self.part or self.name, self.place)

    @property
    def heading(self) -> str:
        """Metric, part and direction."""
        arrow = {"higher": " ↑", "lower": " ↓", "neither": ""}[self.better]
        return f"{self.name}{f', {self.part}' if self.part else ''}{arrow}"


@dataclass(frozen=True)
class PaperCell:
    """Mean of the scored tasks with its 95 % interval; `flag` says why the row wins nothing. `against` is this model
    minus the best baseline on shared tasks; `significant` if the corrected test finds it better."""

    column: PaperColumn
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    clusters: int | None = None
    counts: TaskCounts | None = None
    against: PairDifference | None = None
    flag: str = ""
    significant: bool = False


@dataclass(frozen=True)
class PaperRow:
    """One model or baseline, with a cell per column. All rows of a table have the same columns."""

    label: str
    kind: str
    cells: tuple[PaperCell, ...]


def paper_rows(
    results: Iterable[RunResult], labels: Mapping[str, str] = MappingProxyType({}), *, parts: bool = False
) -> list[PaperRow]:
    """Rows of the table, models first; `parts` adds the columns of the headline tables. Runs with other data or
    settings are other columns, since their values cannot be compared."""
    cells: dict[str, dict[PaperColumn, PaperCell]] = {}
    kinds: dict[str, str] = {}
    columns: list[PaperColumn] = []
    for evidence, suite, place in _comparable(results):
        found = judge(evidence, suite)
        for column in _columns_of(found, evidence, suite, place, parts=parts):
            columns.append(column)
            for run in evidence.runs:
                kinds.setdefault(run.label, run.kind)
                cells.setdefault(run.label, {})[column] = _cell_of(column, run, found, evidence, suite)
    rows = [
        PaperRow(label, kinds[label], tuple(own.get(column, PaperCell(column)) for column in columns))
        for label, own in sorted(cells.items(), key=lambda item: kinds[item[0]] == "baseline")
    ]
    return relabel(rows, labels)


def relabel(rows: Sequence[PaperRow], labels: Mapping[str, str]) -> list[PaperRow]:
    """The same rows with new names, by their names."""
    names = [labels.get(row.label, row.label) for row in rows]
    if unknown := sorted(labels.keys() - {row.label for row in rows}):
        raise UsageError(f"no row '{unknown[0]}' to label; the rows are: {', '.join(row.label for row in rows)}")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"two rows would have the label '{twice[0]}'; give each its own")
    return [
        replace(row, label=name, cells=tuple(_relabelled(cell, labels) for cell in row.cells))
        for row, name in zip(rows, names, strict=True)
    ]


def _relabelled(cell: PaperCell, labels: Mapping[str, str]) -> PaperCell:
    pair = cell.against
    if pair is None:
        return cell
    return replace(cell, against=replace(pair, a=labels.get(pair.a, pair.a), b=labels.get(pair.b, pair.b)))


def _comparable(results: Iterable[RunResult]) -> list[tuple[Evidence, Suite, int]]:
    """Runs in groups of one suite, version, data and settings, with `place`. Of copies, one counts."""
    groups: dict[str, list[Path]] = {}
    seen: set[str] = set()
    for folder in (folder for result in results for folder in result.folders):
        facts = folder.facts()
        held = [facts["suite"], facts.get("suite_version"), facts["data_fingerprint"], facts["settings"]]
        copy = dumps([*held, facts["model"]["name"], facts["seed"], facts["task_keys"]])
        if copy not in seen:
            seen.add(copy)
            groups.setdefault(dumps(held), []).append(folder.directory)
    loaded = [load_evidence(folders) for folders in groups.values()]
    names = [suite.name for _, suite in loaded]
    places = [names[: at + 1].count(name) if names.count(name) > 1 else 0 for at, name in enumerate(names)]
    return [(*one, place) for one, place in zip(loaded, places, strict=True)]


def _numbered(name: str, place: int) -> str:
    """A name with the number of its column."""
    return f"{name} #{place}" if place else name


def _columns_of(
    found: Judgement, evidence: Evidence, suite: Suite, place: int = 0, *, parts: bool = False
) -> list[PaperColumn]:
    """The columns of a suite's headline table if they are wanted, then the headline."""
    if not found.tables:
        return []
    table, facts = found.tables[0], evidence.runs[0].facts
    name = found.name or Vocabulary.of(suite).headline or table.title
    data = "".join(data_notes({"": facts})).removeprefix("Data: ").removesuffix(".")
    told = data or f"fingerprint {facts['data_fingerprint'][:8]}"
    if place:
        usual = type(suite)().settings
        told += "".join(f", {key}={value}" for key, value in suite.settings.items() if value != usual.get(key))
    betters = table.betters or (table.better,) * len(table.columns)
    better: Better = "higher" if found.higher else "lower"
    columns = [("", better), *(zip(table.columns, betters, strict=True) if parts else ())]
    return [
        PaperColumn(evidence.suite, table.metric, name, own, table.unit, part, told, set_cells(facts), place)
        for part, own in columns
    ]


def _cell_of(column: PaperColumn, run: ComparedRun, found: Judgement, evidence: Evidence, suite: Suite) -> PaperCell:
    row = next((row for row in found.tables[0].rows if row.label == run.label), None)
    flag = row.flag if row else ""
    if column.part:
        cell = row.cells[found.tables[0].columns.index(column.part)] if row else Cell(None, None, 0)
        return PaperCell(column, cell.mean, cell.low, cell.high, cell.n, cell.clusters, run.counts, flag=flag)
    standing = found.compared.by_label.get(run.label) if found.compared else None
    if found.compared is None or standing is None:
        return PaperCell(column, counts=run.counts, flag=flag)
    finite = [task for task, value in run.values(column.metric).items() if math.isfinite(value)]
    pair = _against_best(run, found.compared, evidence, suite)
    leads = pair is not None and (pair.mean > 0) == found.compared.higher and found.compared.shows_lead(pair)
    return PaperCell(
        column,
        standing.mean,
        standing.low,
        standing.high,
        standing.n,
        len({evidence.clusters[task] for task in finite}),
        run.counts,
        pair,
        standing.flag or flag,
        leads,
    )


def _against_best(run: ComparedRun, compared: Comparison, evidence: Evidence, suite: Suite) -> PairDifference | None:
    """A model minus the best baseline of the same view. Ceilings, which see what is hidden, are none."""
    bar = [
        compared.by_label[one.label]
        for one in evidence.runs
        if one.kind == "baseline"
        and (one.source in suite.floor_baselines or not (one.privileged or compared.flags.get(one.label)))
        and one.label in compared.by_label
        and compared.views.get(one.label) == compared.views.get(run.label)
    ]
    if run.kind == "baseline" or not bar:
        return None
    best = max(bar, key=lambda one: one.mean if compared.higher else -one.mean)
    return compared.signed.get((run.label, best.label))


def pairs_csv(results: Iterable[RunResult], labels: Mapping[str, str] = MappingProxyType({})) -> str:
    """Paired differences (a minus b, shared tasks) by each suite's headline as CSV; p (Holm) is empty if not tested."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(PAIR_COLUMNS)
    for evidence, suite, place in _comparable(results):
        found = judge(evidence, suite)
        if found.compared is None:
            continue
        (column,) = _columns_of(found, evidence, suite, place)
        for pair in found.compared.pairs:
            names = labels.get(pair.a, pair.a), labels.get(pair.b, pair.b)
            reach = pair.mean, pair.low, pair.high, pair.p_holm
            told = (column.suite, column.metric, column.numbered, column.unit, column.better, *names)
            line = (*told, *reach, pair.clear, pair.n, pair.clusters, *column.sets)
            writer.writerow(map(plain_cell, line))
    return text.getvalue()


def paired_spread(folders: Sequence[Path]) -> float | None:
    """Standard deviation over clusters of a paired headline difference: median over the pairs that differ."""
    evidence, suite = load_evidence(folders)
    compared = judge(evidence, suite).compared
    spreads = [
        (pair.high - pair.low) / 2 / student_quantile(0.975, pair.clusters - 1) * math.sqrt(pair.clusters)
        for pair in (compared.pairs if compared else ())
        if pair.low is not None and pair.high is not None and pair.high > pair.low and pair.clusters > 1
    ]
    return float(f"{statistics.median(spreads):.3g}") if spreads else None


_MISSING = re.compile(r"\d+ of \d+ tasks missing: [^;]*")

PAIR_COLUMNS = (
    *("suite", "metric", "name", "unit", "better", "a", "b", "difference", "low", "high", "p", "significant"),
    *("n", "clusters", *SET_COLUMNS),
)


def steps_csv(results: Iterable[RunResult], labels: Mapping[str, str] = MappingProxyType({})) -> str:
    """Write the values of checkpoints as CSV: a line per metric, training and step; empty without two checkpoints."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for evidence, suite, place in _comparable(results):
        source = _numbered(suite.name, place)
        for point in step_points(evidence, judge(evidence, suite)):
            sample, cell, counts = evidence.sample(point.metric), point.cell, point.run.counts
            facts = (sample.unit, sample.better) if sample else ("1", "neither")
            told = (source, point.metric, point.series, point.step, labels.get(point.run.label, point.run.label))
            value = (cell.n, cell.clusters, cell.mean, cell.low, cell.high)
            ends = (getattr(counts, end, None) for end in ENDS)
            writer.writerow(map(plain_cell, (*told, *value, *facts, *ends)))
    lines = text.getvalue()
    return f"{','.join(STEP_COLUMNS)}\n{lines}" if lines else ""


STEP_COLUMNS = (
    *("suite", "metric", "training", "step", "model", "n", "clusters", "mean", "low", "high", "unit", "better"),
    *ENDS,
)


def paper_notes(rows: Sequence[PaperRow]) -> list[str]:
    """What a reader must know of the table, one sentence or list each."""
    columns = {cell.column.source: cell.column for row in rows for cell in row.cells}
    tested = [cell for row in rows for cell in row.cells if cell.against is not None]
    notes = ["Mean, 95 % interval, number of tasks n and of their clusters"]
    if tested:
        notes[0] += "; p of the paired test against the best baseline, corrected for all tests of the suite (Holm)"
        best = dict.fromkeys(f"{cell.column.source} {cell.against.b}" for cell in tested if cell.against is not None)
        notes.append("Best baseline: " + "; ".join(best))
        notes.append("Bold: significantly better than the best baseline")
    notes.append("Data: " + "; ".join(f"{source} {column.data}" for source, column in columns.items()))
    if any(cell.counts is None for row in rows for cell in row.cells):
        notes.append("–: not run")
    flagged: dict[str, dict[str, None]] = {}
    for source, label, flag in [(cell.column.source, row.label, cell.flag) for row in rows for cell in row.cells]:
        if flag:
            flagged.setdefault(f"{source}: {_MISSING.sub('lacks tasks', flag)}", {})[label] = None
    if flagged:
        notes.append(f"†: wins nothing. {'; '.join(f'{why} ({listed(list(who))})' for why, who in flagged.items())}")
    return [f"{note}." for note in notes]


def _texts(rows: Sequence[PaperRow]) -> list[list[tuple[str, ...]]]:
    """The cells of each row as text: the value, its interval, and what both are of. A dash without a run."""
    digits = [digits_for(row.cells[k].mean for row in rows) for k in range(len(rows[0].cells) if rows else 0)]
    return [[_text(cell, digit) for cell, digit in zip(row.cells, digits, strict=True)] for row in rows]


def _text(cell: PaperCell, digits: int) -> tuple[str, ...]:
    if cell.mean is None:
        failed = cell.counts.failed if cell.counts else 0
        return "–", *([f"{failed} failed"] if failed else ["no value"] if cell.counts else [])
    low, high = (number(end, digits=digits) for end in (cell.low, cell.high))
    reach = [f"[{low}, {high}]"] if cell.low is not None and cell.high is not None else []
    size = f"n = {cell.n}" + (f" in {cell.clusters}" if cell.clusters not in (None, cell.n) else "")
    if cell.against is not None:
        p = p_value(cell.against.p_holm)
        size += f", p {p if p.startswith('<') else f'= {p}'}"
    return f"{number(cell.mean, digits=digits)}{'†' if cell.flag else ''}", *reach, size


def to_markdown(rows: Sequence[PaperRow]) -> str:
    """Write the table in Markdown, with its notes below."""
    columns = [cell.column for cell in rows[0].cells] if rows else []
    heads = [_markdown(f"{column.source}: {column.heading}") for column in columns]
    lines = [["model", *heads], ["---"] + ["---:"] * len(heads)]
    for row, texts in zip(rows, _texts(rows), strict=True):
        line = [_markdown(row.label) + (" (baseline)" if row.kind == "baseline" else "")]
        for cell, (value, *more) in zip(row.cells, texts, strict=True):
            strong = "**" if cell.significant else ""
            first, *rest = [f"{strong}{value}{strong}", *more]
            line.append(first + (" " if more and more[0].startswith("[") else ", " if more else "") + ", ".join(rest))
        lines.append(line)
    notes = "".join(f"\n{_markdown(note)}\n" for note in paper_notes(rows))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + notes


def _markdown(text: str) -> str:
    """Text in which no letter means a format."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(text.split()))


_TEX = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"–": "--", "—": "---", "−": "$-$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "†": r"\textdagger{}"},
    **{"<": "$<$", ">": "$>$", "≤": r"$\leq$", "≥": r"$\geq$", "∞": r"$\infty$", "°": r"$^{\circ}$", "×": r"$\times$"},
    **{"|": r"$|$", '"': r"\textquotedbl{}", "“": "``", "”": "''", "’": "'", "‘": "`", "·": r"$\cdot$"},
}


def _latex(text: str) -> str:
    """Text in which no letter means a command. What pdfLaTeX cannot print becomes a question mark."""
    return "".join(_TEX.get(one, one if one.isascii() or (one.isalpha() and ord(one) < 0x180) else "?") for one in text)


def to_latex(rows: Sequence[PaperRow]) -> str:
    """Write the table in LaTeX, for the package booktabs."""
    columns = [cell.column for cell in rows[0].cells] if rows else []
    heads = [_stack([_latex(column.source), *map(_latex, wrap(column.heading, 18))]) for column in columns]
    models: list[str] = []
    baselines: list[str] = []
    for row, texts in zip(rows, _texts(rows), strict=True):
        # An empty group: after the end of a row, "[" would begin an option.
        line = ["{}" + _latex(" ".join(row.label.split()))]
        for cell, (value, *more) in zip(row.cells, texts, strict=True):
            shown = rf"\textbf{{{_latex(value)}}}" if cell.significant else _latex(value)
            line.append(_stack([shown, *(rf"{{\scriptsize {_latex(one)}}}" for one in more)]))
        (baselines if row.kind == "baseline" else models).append(f"    {' & '.join(line)} \\\\")
    return "\n".join(
        [
            "% Needs \\usepackage{booktabs}. Made by worldgauge " + __version__ + ".",
            r"\begin{table*}",
            r"  \centering",
            r"  \small\setlength{\tabcolsep}{4pt}",
            rf"  \caption{{{_latex(' '.join(paper_notes(rows)))}}}",
            r"  \label{tab:worldgauge}",
            rf"  \begin{{tabular}}{{l{'r' * len(columns)}}}",
            r"    \toprule",
            f"    {' & '.join(['Model', *heads])} \\\\",
            r"    \midrule",
            *models,
            *([r"    \midrule"] if models and baselines else []),
            *baselines,
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table*}",
            "",
        ]
    )


def _stack(lines: Sequence[str]) -> str:
    text = r"\\".join(lines)
    return rf"\shortstack[r]{{{text}}}"


CSV_COLUMNS = (
    *("suite", "metric", "column", "model", "kind", "n", "clusters", "mean", "low", "high", "unit", "better"),
    *ENDS,
    *("best_baseline", "difference", "difference_low", "difference_high", "p", "significant"),
    *SET_COLUMNS,
    "flag",
)


def to_csv(rows: Sequence[PaperRow]) -> str:
    """Write one line per cell as CSV, with all digits. p is corrected (Holm); what is not known is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for row in rows:
        for cell in row.cells:
            column, counts, pair = cell.column, cell.counts, cell.against
            ends = (getattr(counts, end, None) for end in ENDS)
            test = (pair.b, pair.mean, pair.low, pair.high, pair.p_holm) if pair else (None,) * 5
            told = (column.suite, column.metric, column.numbered, row.label, row.kind)
            value = (cell.n, cell.clusters, cell.mean, cell.low, cell.high, column.unit, column.better)
            line = (*told, *value, *ends, *test, cell.significant, *column.sets, cell.flag)
            writer.writerow(map(plain_cell, line))
    return text.getvalue()


def bibtex(names: Iterable[str]) -> str:
    """BibTeX entries of worldgauge, and of each suite that has a file `paper.bib`."""
    own = (
        "@misc{worldgauge,\n"
        "  title = {worldgauge: measuring what world models are worth},\n"
        "  author = {{The worldgauge authors}},\n"
        "  year = {2026},\n"
        f"  note = {{Version {__version__}}},\n"
        "}\n"
    )
    return "\n".join([own, *filter(None, map(_paper_of, dict.fromkeys(names)))])


def _paper_of(name: str) -> str:
    """BibTeX of the paper of a suite: `paper.bib` in its folder; empty without one."""
    package = suites.get(name).__module__.rpartition(".")[0]
    path = files(package) / "paper.bib" if package else None
    return path.read_text("utf-8") if path is not None and path.is_file() else ""
