"""The result of a run as Python gets it: tables that show themselves, data frame, films and page."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, overload

from markupsafe import Markup
from rich.console import Console

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.engine import run as engine
from worldgauge.engine.open_suite import suite_name
from worldgauge.engine.result import RunResult, Runs, find_runs
from worldgauge.engine.suite.contract import Table
from worldgauge.report import write_report
from worldgauge.report.compare import PairDifference
from worldgauge.report.evidence import load_evidence
from worldgauge.report.film import Film
from worldgauge.report.judgement import compare_by
from worldgauge.report.page import environment
from worldgauge.report.tables import view_table
from worldgauge.report.task_films import film_task
from worldgauge.terminal.output import headline
from worldgauge.tools.data_sets import find_data


class ShownTable(Table):
    """A table with its text and its HTML."""

    @classmethod
    def of(cls, table: Table) -> ShownTable:
        """The same table, showing itself."""
        return cls(**{field.name: getattr(table, field.name) for field in fields(table)})

    def __str__(self) -> str:
        text = io.StringIO()
        headline(self, Console(file=text, highlight=False))
        return "\n".join([*(line.rstrip() for line in text.getvalue().splitlines()), *self.alarms, *self.notes])

    def __repr__(self) -> str:
        return f"<table of {self.metric}: {len(self.rows)} rows, {len(self.columns)} columns>"

    def _repr_html_(self) -> str:
        return _html([self])


class Tables(tuple[ShownTable, ...]):
    """The tables of a run, headline first: a sequence of `Table`."""

    @classmethod
    def of(cls, tables: Iterable[Table]) -> Tables:
        """The same tables, showing themselves."""
        return cls(ShownTable.of(table) for table in tables)

    def __str__(self) -> str:
        shown = self._with_values()
        metrics = [table.metric for table in shown]
        unique = (table.metric if metrics.count(table.metric) == 1 else table.title for table in shown[1:])
        names = ", ".join(unique)
        return "\n\n".join([*map(str, shown[:1]), *([f"More, each by .table(NAME): {names}"] if names else [])])

    def __repr__(self) -> str:
        return f"<{len(self)} tables, headline {self[0].metric}>" if self else "<no tables>"

    def _repr_html_(self) -> str:
        return _html(self._with_values())

    def _with_values(self) -> list[ShownTable]:
        return [table for table in self if any(cell.mean is not None for row in table.rows for cell in row.cells)]


T = TypeVar("T", bound=Table)


def _table_of(tables: Sequence[T], metric: str) -> T:
    """The first table of a metric, or that with a title."""
    found = next((table for table in tables if metric in (table.metric, table.title)), None)
    if found is None:
        raise UnknownNameError("table", metric, {table.metric for table in tables})
    return found


def _html(tables: Iterable[Table]) -> str:
    """The first table, and the others behind a line to click on; numbers as in the report."""
    views = [view_table("", table, {}, {}) for table in tables]
    return environment().get_template("notebook_tables.html.j2").render(views=views)


class Result(RunResult):
    """One or more runs of a suite, which show themselves in a script and in a notebook.

    Examples:
        >>> result = wg.run("mind", model=["freeze", "mean"], data="data", out="runs", settings={"tests": "mem"})
        >>> list(result.directories), len(result.frame.task.unique())
        (['freeze', 'mean'], 2)
    """

    @classmethod
    def of(cls, result: RunResult) -> Result:
        """The same runs, showing themselves."""
        return cls(result.folders, result.suite)

    @overload
    def table(self) -> Tables: ...

    @overload
    def table(self, metric: str) -> ShownTable: ...

    def table(self, metric: str | None = None) -> Tables | ShownTable:
        """The tables of the suite over these models, headline first. A notebook shows them as HTML.

        Args:
            metric: Metric or title of the one table that is wanted.

        Returns:
            All tables, or that of the metric. As text, all tables are the headline and the names of the others.

        Raises:
            UnknownNameError: No table is of this metric.
        """
        tables = Tables.of(super().table())
        return tables if metric is None else _table_of(tables, metric)

    def compare(self, a: str, b: str, metric: str | None = None) -> PairDifference:
        """Compare two rows on the tasks that both have: a minus b.

        Args:
            a: Label of a model or baseline.
            b: Label of another one.
            metric: Metric of a table. Default: the headline.

        Returns:
            The mean difference with its 95 % interval (`low`, `high`), `p`, and `p_holm`, which is corrected for all
            tested pairs. Pairs of two baselines, and pairs with too few clusters, are not tested: both are None.

        Raises:
            UnknownNameError: No row or table has this name.
            UsageError: When both share no task with a value.
        """
        for name in (a, b):
            if name not in self.directories:
                raise UnknownNameError("row", name, self.directories)
        evidence, suite = load_evidence(list(self.directories.values()))
        tables = RunResult.table(self)
        table = tables[0] if metric is None else _table_of(tables, metric)
        pair = compare_by(evidence, suite, table).signed.get((a, b))
        if pair is None:
            raise UsageError(f"{a} and {b} share no task with a value of {table.metric}")
        return pair

    def report(self, out: Path | str, *, films: int = 24) -> Path:
        """Write the page that compares these runs.

        Args:
            out: The page (.html), or a folder that gets `index.html`.
            films: Largest number of tasks shown as films.

        Returns:
            Path of the page.

        Raises:
            RunError: When the page cannot be written.
        """
        return write_report(list(self.directories.values()), Path(out), films=films)

    def film(self, task: str) -> Film:
        """Show one task as a film: the truth and all models side by side. A notebook plays it.

        Args:
            task: Id of the task, as in the column "task" of `frame`.

        Returns:
            The film; `data` are the bytes of an MP4 file.

        Raises:
            UnknownNameError: No model has scores of this task.
            UsageError: For a suite whose tasks are answered in words, or where no record can be shown.
        """
        return film_task(list(self.directories.values()), task)

    def __repr__(self) -> str:
        return f"<{self.suite.name}: {', '.join(self.directories)}; {self.counts}>"

    def __str__(self) -> str:
        head = [str(table) for table in self.table()[:1]] if self.counts.scored else []
        return "\n".join([*head, *(f"{name}: {counts}" for name, counts in self.model_counts.items())])

    def _repr_html_(self) -> str:
        head = [Markup(table._repr_html_()) for table in self.table()[:1]] if self.counts.scored else []
        ends = [Markup("<p>{}: {}</p>").format(name, counts) for name, counts in self.model_counts.items()]
        failures = [Markup("<p>failed: {} {}: {}</p>").format(f.model, f.task, f.error) for f in self.failures[:5]]
        return Markup("\n").join([*head, *ends, *failures])


P = ParamSpec("P")


def _shown(function: Callable[P, RunResult], suite_of: Callable[[Any], str]) -> Callable[P, Result]:
    """The same function, but its `data` may name a benchmark set, and its result shows itself."""
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Result:
        given = signature.bind(*args, **kwargs)
        if given.arguments.get("data") is not None:
            given.arguments["data"] = find_data(given.arguments["data"], suite_of(given.args[0]))
        return Result.of(function(*given.args, **given.kwargs))

    call.__signature__ = signature.replace(return_annotation="Result")  # type: ignore[attr-defined]
    return call


def _suite_of_runs(directories: Runs) -> str:
    """The suite of the first run."""
    return str(find_runs(directories)[0].facts()["suite"])


run = _shown(engine.run, suite_name)
score = _shown(engine.score, _suite_of_runs)
