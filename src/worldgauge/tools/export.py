"""Scores in the forms that others read: tables for papers, CSV, Parquet, Every Eval Ever, the Hub, Inspect, Rerun."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldgauge.core.errors import MissingExtraError, RunError, UsageError
from worldgauge.core.io import atomic_file, write_file
from worldgauge.core.registry import Registry
from worldgauge.engine.open_suite import open_suite
from worldgauge.engine.result import RunResult, Runs, find_runs, list_paths
from worldgauge.engine.result import export as own_files
from worldgauge.engine.sets import data_notes
from worldgauge.engine.store import RunFolder
from worldgauge.engine.suite.base import Suite, suites
from worldgauge.engine.suite.contract import Score, Table
from worldgauge.terminal.options import labels_of
from worldgauge.terminal.output import SCORE_COLUMNS, plain_cell, score_rows
from worldgauge.tools.paper_table import (
    PaperRow,
    bibtex,
    pairs_csv,
    paper_rows,
    relabel,
    steps_csv,
    to_csv,
    to_latex,
    to_markdown,
)

if TYPE_CHECKING:
    import pandas as pd

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}"
_ID = re.compile(f"{_NAME}/{_NAME}")
_SHOWN = 3
COUNTS = "tasks"
"""Unit of tables that count tasks: their cells are no means."""


@dataclass(frozen=True)
class ExportNames:
    """The names that a run goes by elsewhere.

    Attributes:
        model_id: The model as the Hub names it, "organisation/name". Empty where it is in no such place.
        dataset: The data set as the Hub names it.
        by: Who made the run.
        labels: Labels in tables, as --label takes them.
        parts: Whether a table has all columns of each suite's headline table.

    Examples:
        >>> wg.ExportNames(labels=("freeze=Frozen frame",)).labels
        ('freeze=Frozen frame',)
    """

    model_id: str = ""
    dataset: str = ""
    by: str = ""
    labels: tuple[str, ...] = ()
    parts: bool = False

    def __post_init__(self) -> None:
        for option, text in (("--model-id", self.model_id), ("--dataset", self.dataset)):
            if text and not _ID.fullmatch(text):
                raise UsageError(f"{option} takes ORGANISATION/NAME as on the Hub, not '{text}'")
        if len(self.by) > 100 or not self.by.isprintable():
            raise UsageError("--by takes up to 100 printable characters")


class PublishedRun:
    """One run, read once."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.facts: Mapping[str, Any] = folder.facts()
        self.suite: Suite = open_suite(self.facts["suite"], self.facts["settings"])
        self.result = RunResult([folder], self.suite)

    @property
    def label(self) -> str:
        """Label of the model."""
        return str(self.facts["model"]["name"])

    @cached_property
    def scores(self) -> list[Score]:
        """All scores."""
        return self.result.scores[self.label]

    @cached_property
    def tables(self) -> list[Table]:
        """Tables of means, headline first, with this model as their only row."""
        return [table for table in self.result.table() if table.unit != COUNTS]

    @property
    def created(self) -> datetime:
        """When the run began."""
        try:
            return datetime.fromisoformat(str(self.facts["created"]))
        except (KeyError, ValueError):
            raise RunError(f"{self.folder.facts_path}: does not state when the run began; run again") from None

    def model_id(self, names: ExportNames) -> str:
        """The model as "organisation/name"; baselines are of worldgauge, a model without a given id of "unknown"."""
        if self.facts["model"]["kind"] == "baseline":
            return f"worldgauge/{self.folder.directory.resolve().name}"
        return names.model_id or f"unknown/{self.folder.directory.resolve().name}"


def open_runs(runs: Runs) -> list[PublishedRun]:
    """Read runs."""
    folders = find_runs(runs)
    if not folders:
        raise UsageError("an export needs at least one run folder")
    return [PublishedRun(folder) for folder in folders]


def demand_no_loss(path: Path, lost: Iterable[str]) -> None:
    """Check that a file which is to be replaced holds no results but those that are written now."""
    if names := sorted(set(lost)):
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        raise UsageError(
            f"{path}: also holds {', '.join(names[:_SHOWN])}{more}, which would be lost; name all runs in one command, "
            "or another --out"
        )


def check_one_model(runs: Sequence[PublishedRun], names: ExportNames) -> None:
    """Check that a given model id is that of one model, and not only of baselines, which have ids of their own."""
    models = sorted({run.label for run in runs if run.facts["model"]["kind"] != "baseline"})
    if names.model_id and len(models) > 1:
        raise UsageError(f"--model-id names one model, but these runs are of {', '.join(models)}; export one by one")
    if names.model_id and runs and not models:
        labels = ", ".join(sorted({run.label for run in runs}))
        raise UsageError(f"--model-id names a model, but these runs are of baselines ({labels}); leave it out")


_RUN = ["suite", "model", "set"]


def _paper(runs: Sequence[PublishedRun], names: ExportNames) -> tuple[list[PaperRow], dict[str, str]]:
    """The rows of a paper's table with their labels, and those labels."""
    rows = paper_rows([run.result for run in runs], parts=names.parts)
    of_kind = {kind: [row.label for row in rows if row.kind == kind] for kind in ("model", "baseline")}
    labels = labels_of(names.labels, of_kind["model"], of_kind["baseline"])
    return relabel(rows, labels), labels


def write_markdown(runs: Sequence[PublishedRun], out: Path, names: ExportNames) -> list[Path]:
    """Write table.md."""
    write_file(out / "table.md", to_markdown(_paper(runs, names)[0]))
    return [out / "table.md"]


def write_latex(runs: Sequence[PublishedRun], out: Path, names: ExportNames) -> list[Path]:
    """Write table.tex, and cite.bib with the papers of its suites."""
    write_file(out / "table.tex", to_latex(_paper(runs, names)[0]))
    write_file(out / "cite.bib", bibtex(run.suite.name for run in runs))
    return [out / "table.tex", out / "cite.bib"]


def write_csv(runs: Sequence[PublishedRun], out: Path, names: ExportNames) -> list[Path]:
    """Write all scores.csv and tables.csv, the headlines' table.csv and pairs.csv, and steps.csv of checkpoints."""
    rows, labels = _paper(runs, names)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(SCORE_COLUMNS)
    at = SCORE_COLUMNS.index("model")
    for run in runs:
        for row in score_rows(run.suite.name, run.tables, run.result.sets, run.result.model_counts):
            writer.writerow(map(plain_cell, (*row[:at], labels.get(row[at], row[at]), *row[at + 1 :])))
    frame = _frame(runs)
    frame["model"] = frame["model"].map(lambda name: labels.get(name, name))
    frame = frame.map(plain_cell)
    _demand_no_loss(out / "scores.csv", frame)
    written = {
        "scores.csv": frame.to_csv(index=False),
        "tables.csv": text.getvalue(),
        "table.csv": to_csv(rows),
        "pairs.csv": pairs_csv([run.result for run in runs], labels),
        "steps.csv": steps_csv([run.result for run in runs], labels),
    }
    written = {name: content for name, content in written.items() if content}
    for name, content in written.items():
        write_file(out / name, content)
    return [out / name for name in written]


def write_parquet(runs: Sequence[PublishedRun], out: Path, names: ExportNames) -> list[Path]:
    """Write scores.parquet."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError("Parquet", "analysis") from None
    frame = _frame(runs)
    _demand_no_loss(out / "scores.parquet", frame)
    with atomic_file(out / "scores.parquet") as file:
        frame.to_parquet(file, index=False)
    return [out / "scores.parquet"]


def _demand_no_loss(path: Path, frame: pd.DataFrame) -> None:
    """Refuse to replace rows of other runs. A run is known by its suite, its model and the set of its data."""
    import pandas as pd

    if not path.exists():
        return
    try:
        held = pd.read_parquet(path, columns=_RUN) if path.suffix == ".parquet" else pd.read_csv(path, usecols=_RUN)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: there already, and no such file of worldgauge; give another --out") from error
    written = set(_runs_of(frame))
    demand_no_loss(path, (" ".join(filter(None, one)) for one in _runs_of(held) if one not in written))


def _runs_of(frame: pd.DataFrame) -> list[tuple[str, ...]]:
    import pandas as pd

    distinct = frame[_RUN].drop_duplicates().itertuples(index=False)
    return [tuple("" if pd.isna(word) else str(word) for word in one) for one in distinct]


def _frame(runs: Sequence[PublishedRun]) -> pd.DataFrame:
    """All scores with the suite in front. What tasks are grouped by is text: suites give it values of any kind."""
    import pandas as pd

    frames = [run.result.frame for run in runs]
    for run, frame in zip(runs, frames, strict=True):
        frame.insert(0, "suite", run.suite.name)
    whole = pd.concat(frames, ignore_index=True)
    for name in whole.columns.difference(["value", "n"], sort=False):
        whole[name] = whole[name].map(lambda one: one if one is None or one != one else str(one))
    whole["value"] = pd.to_numeric(whole["value"])
    return whole


FRAMEWORK = "worldgauge"
NOTE = (
    "eval.yaml: the Hub shows results of registered evaluation frameworks, and 'worldgauge' is not among them yet: it "
    "takes a pull request to huggingface/huggingface.js that adds it (packages/tasks/src/eval.ts)."
)
"""What is to be done before the Hub shows what was written."""


def write_hub(runs: Sequence[PublishedRun], out: Path, names: ExportNames) -> list[Path]:
    """Write the headline of each run with its interval, and the file that declares the benchmark."""
    if not names.dataset:
        raise UsageError("--to hf needs the name of the data set on the Hub: --dataset ORGANISATION/NAME")
    check_one_model(runs, names)
    written: dict[Path, str] = {}
    tasks: dict[str, dict[str, Any]] = {}
    for run in runs:
        found = list(_entries(run, names))
        tasks |= {entry["dataset"]["task_id"]: {"config": run.suite.name, "split": "test"} for entry in found}
        model = run.model_id(names).replace("/", "__")
        path = out / model / ".eval_results" / f"worldgauge-{run.suite.name}.yaml"
        if path in written:
            raise UsageError(f"two runs of {run.suite.name} are named '{run.label}'; export them one by one")
        written[path] = "".join(_yaml_item(entry) for entry in found) or "[]\n"
    about = "; ".join(f"{name}: {suites.entry(name).summary}" for name in sorted({run.suite.name for run in runs}))
    written[out / "eval.yaml"] = "".join(
        [
            f"name: {_scalar('worldgauge')}\n",
            f"description: {_scalar(f'What a world model is worth. {about}')}\n",
            f"evaluation_framework: {_scalar(FRAMEWORK)}\n\n",
            "tasks:\n",
            *(_yaml_item({"id": task, **facts}, "  ") for task, facts in sorted(tasks.items())),
        ]
    )
    for path, text in written.items():
        if path.exists():
            demand_no_loss(path, _named_in(path.read_text(errors="replace")) - _named_in(text))
    for path, text in written.items():
        write_file(path, text)
    return list(written)


def _entries(run: PublishedRun, names: ExportNames) -> Iterator[dict[str, Any]]:
    """An entry for each cell of the headline table."""
    if not run.tables:
        return
    headline = run.tables[0]
    cells, flag = next(((row.cells, row.flag) for row in headline.rows if row.label == run.label), ((), ""))
    for column, cell in zip(headline.columns, cells, strict=False):
        if cell.mean is None or not math.isfinite(cell.mean):
            continue
        metric = column if headline.betters else headline.metric
        word = re.sub(r"[^a-z0-9]+", "_", column.lower()).strip("_") or "all"
        task = "_".join([run.suite.name, *([] if len(headline.columns) == 1 else [word])])
        interval = "" if cell.low is None else f", 95% interval {cell.low:.6g} to {cell.high:.6g}"
        version = run.facts.get("versions", {}).get("worldgauge", "")
        notes = f"{metric}: mean of {cell.n} of {cell.expected} tasks in {cell.clusters} clusters{interval}; "
        notes += f"data {run.facts['data_fingerprint'][:12]}, worldgauge {version}"
        notes += "".join(f", {one.removeprefix('Data: ').rstrip('.')}" for one in data_notes({run.label: run.facts}))
        notes += f", flagged: {flag}" if flag else ""
        notes += f", run by {names.by}" if names.by else ""
        facts = {"value": cell.mean, "date": run.created.date().isoformat(), "notes": notes}
        yield {"dataset": {"id": names.dataset, "task_id": task}, **facts}


def _named_in(text: str) -> set[str]:
    """Tasks that an eval.yaml declares, or data sets and tasks that a file of results is of."""
    return set(re.findall(r'^(?:  - id|    (?:id|task_id)): "(.*)"$', text, re.MULTILINE))


def _yaml_item(entry: dict[str, Any], indent: str = "") -> str:
    """One item of a list. Strings are written as in JSON, which YAML reads as they are."""
    lines: list[str] = []
    for name, value in entry.items():
        lead = f"{indent}  " if lines else f"{indent}- "
        if isinstance(value, dict):
            lines += [f"{lead}{name}:"] + [f"{indent}    {key}: {_scalar(one)}" for key, one in value.items()]
        else:
            lines.append(f"{lead}{name}: {_scalar(value)}")
    return "\n".join(lines) + "\n"


def _scalar(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


OWN, RRD = "own", "rrd"
_TABLES = ("markdown", "latex", "csv")
forms: Registry[Callable[..., list[Path]]] = Registry("form", group="worldgauge.export_forms")
"""Writers. Each takes runs, a folder and `ExportNames`, and returns the files; that of "rrd" takes a task instead."""
forms.register("hf")(write_hub)
forms.register("csv")(write_csv)
forms.register("markdown")(write_markdown)
forms.register("latex")(write_latex)
forms.register("parquet")(write_parquet)


def export(runs: Runs, out: Path | str, to: str = OWN, names: ExportNames | None = None, task: str = "") -> list[Path]:
    """Write the scores of runs, or one task of them, in a form that other tools read.

    Args:
        runs: Run folders, or folders of run folders.
        out: Folder of the files.
        to: "own" (the result files of the benchmark's own scorer), "markdown", "latex", "csv", "parquet", "eee", "hf",
            "inspect" or "rrd".
        names: Under which names the model, the data set and the author are known there.
        task: Id of the task that "rrd" writes.

    Returns:
        The files.

    Raises:
        UsageError: For an unknown form, and where a form needs a name that is not given.
        RunError: For a folder without a run.
        MissingExtraError: For Parquet and Rerun without their extras.

    Examples:
        >>> [path.name for path in wg.export("runs", "tables", to="csv")]
        [...]
    """
    if task and to != RRD:
        raise UsageError("--task goes with --to rrd")
    if names is not None and (names.labels or names.parts) and to not in _TABLES:
        raise UsageError(f"--label and --all-columns go with --to {', '.join(_TABLES)}")
    out = Path(out)
    if to == RRD:
        return forms.get(RRD)(list_paths(runs), out, task)
    if to == OWN:
        if names is not None and names != ExportNames():
            raise UsageError("--model-id, --dataset and --by go with --to eee, hf or inspect")
        return own_files(runs, out)
    return forms.get(to)(open_runs(runs), out, names or ExportNames())


__all__ = ["OWN", "ExportNames", "export", "forms"]
