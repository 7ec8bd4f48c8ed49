"""Tables that show themselves: plain text where they are printed, HTML in a notebook."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import fields

from rich.console import Console

from worldgauge.engine.suite.contract import Table
from worldgauge.report.page import environment
from worldgauge.report.tables import view_table
from worldgauge.terminal.tables import headline


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
    return environment(__package__).get_template("notebook_tables.html.j2").render(views=views)
