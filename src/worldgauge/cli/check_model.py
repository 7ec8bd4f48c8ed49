"""Output of `worldgauge check-model`: progress on stderr; a table and a paragraph per finding, or one JSON object."""

from __future__ import annotations

import sys

from rich.markup import escape
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from worldgauge.core.io import dumps
from worldgauge.terminal.progress import Bars
from worldgauge.terminal.tables import out
from worldgauge.tools.check_model import CheckVerdict, ModelReport

STYLES = {"ok": "green", "violated": "bold red", "warning": "yellow", "not asked": "dim"}


class Checking(Bars):
    """Shows which check is running."""

    def __call__(self, check: str, done: int, total: int) -> None:
        """Show that a check begins, after `done` of `total`."""
        self.bar("checks", done, total)
        self.line(f"[{done + 1}/{total}] {check}")


def checked_model(report: ModelReport, json: bool) -> bool:
    """Print all verdicts, then the question, the answer and advice for each check that is not well.

    Args:
        report: The results.
        json: Whether to print one JSON object instead.

    Returns:
        Whether nothing is violated.
    """
    if json:
        sys.stdout.write(dumps(report.to_dict()) + "\n")
        return report.ok
    grid = Grid(box=None, pad_edge=False)
    for name in ("check", "verdict", "question", "measured"):
        grid.add_column(name, overflow="fold")
    for verdict in report.verdicts:
        measured = "; ".join(f"{name} {value}" for name, value in verdict.measured.items())
        status = Text(verdict.status, STYLES[verdict.status])
        grid.add_row(verdict.name, status, escape(verdict.question), escape(measured or verdict.reason or ""))
    out.print(grid)
    for verdict in report.verdicts:
        if verdict.findings:
            _explain(verdict)
    out.print()
    out.print(_summary(report), markup=False, soft_wrap=True)
    return report.ok


def _explain(verdict: CheckVerdict) -> None:
    out.print()
    out.print(Text(f"{verdict.name}: {verdict.status}", STYLES[verdict.status]))
    for question in verdict.asked:
        out.print(Padding(Text(f"asked: {question}", "dim"), (0, 0, 0, 2)))
    for finding in verdict.findings:
        out.print(Padding(Text(finding.explanation), (0, 0, 0, 2)))
        out.print(Padding(Text(f"To do: {finding.advice}"), (0, 0, 0, 4)))


def _summary(report: ModelReport) -> str:
    counts = {status: sum(verdict.status == status for verdict in report.verdicts) for status in STYLES}
    words = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    end = "it is not ready to be measured"
    if report.ok:
        asked = any(verdict.asked for verdict in report.verdicts)
        end = "it keeps every promise that was asked for" if asked else "but it could be asked nothing"
    return f"{report.model}, made in {report.made_s:.1f} s: {words}; {end}"
