"""The result of a run as Python gets it: tables that show themselves, data frame, films and page."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import ParamSpec

from markupsafe import Markup
from rich.console import Console

from worldgauge.engine import run as engine
from worldgauge.engine.result import RunResult
from worldgauge.engine.suite.contract import Table
from worldgauge.report import write_report
from worldgauge.report.film import Film
from worldgauge.report.page import environment
from worldgauge.report.tables import view_table
from worldgauge.report.task_films import film_task
from worldgauge.terminal.output import headline


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

    def _repr_html_(self) -> str:
        return _html([self])


class Tables(tuple[ShownTable, ...]):
    """The tables of a run, headline first: a sequence of `Table`."""

    @classmethod
    def of(cls, tables: Iterable[Table]) -> Tables:
        """The same tables, showing themselves."""
        return cls(ShownTable.of(table) for table in tables)

    def __str__(self) -> str:
        return "\n\n".join(map(str, self._with_values()))

    def _repr_html_(self) -> str:
        return _html(self._with_values())

    def _with_values(self) -> list[ShownTable]:
        return [table for table in self if any(cell.mean is not None for row in table.rows for cell in row.cells)]


def _html(tables: Iterable[Table]) -> str:
    """The first table, and the others behind a line to click on; numbers as in the report."""
    views = [view_table("", table, {}, {}) for table in tables]
    return environment().get_template("notebook_tables.html.j2").render(views=views)


class Result(RunResult):
    """One or more runs of a suite, which show themselves in a script and in a notebook."""

    @classmethod
    def of(cls, result: RunResult) -> Result:
        """The same runs, showing themselves."""
        return cls(result.folders, result.suite)

    def table(self) -> Tables:
        """The tables of the suite over these subjects, headline first. A notebook shows them as HTML."""
        return Tables.of(super().table())

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
        """Show one task as a film: the truth and all subjects side by side. A notebook plays it.

        Args:
            task: Id of the task, as in the column "task" of `frame`.

        Returns:
            The film; `data` are the bytes of an MP4 file.

        Raises:
            UnknownNameError: No subject has scores of this task.
            UsageError: For a suite whose tasks are answered in words, or where no record can be shown.
        """
        return film_task(list(self.directories.values()), task)

    def __str__(self) -> str:
        head = [str(table) for table in self.table()[:1]] if self.counts.scored else []
        return "\n".join([*head, *(f"{name}: {counts}" for name, counts in self.subject_counts.items())])

    def _repr_html_(self) -> str:
        head = [Markup(table._repr_html_()) for table in self.table()[:1]] if self.counts.scored else []
        ends = [Markup("<p>{}: {}</p>").format(name, counts) for name, counts in self.subject_counts.items()]
        failures = [Markup("<p>failed: {} {}: {}</p>").format(f.subject, f.task, f.error) for f in self.failures[:5]]
        return Markup("\n").join([*head, *ends, *failures])


P = ParamSpec("P")


def _shown(function: Callable[P, RunResult]) -> Callable[P, Result]:
    """The same function, but for the class of what it returns."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Result:
        return Result.of(function(*args, **kwargs))

    call.__signature__ = inspect.signature(function).replace(return_annotation="Result")  # type: ignore[attr-defined]
    return call


run = _shown(engine.run)
score = _shown(engine.score)
