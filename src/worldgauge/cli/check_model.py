"""Output of `worldgauge check-model`: progress on stderr; a table and a paragraph per finding, or one JSON object."""

from __future__ import annotations

from worldgauge.terminal.output import Form, print_csv, print_json
from worldgauge.terminal.progress import ProgressBar
from worldgauge.terminal.tables import out, print_listing, print_text
from worldgauge.tools.check_model import CheckVerdict, ModelReport

STYLES = {"ok": "", "violated": "bold red", "warning": "yellow", "not asked": "dim"}


class Checking(ProgressBar):
    """Shows which check is running."""

    def __call__(self, check: str, done: int, total: int) -> None:
        """Show that a check begins, after `done` of `total`."""
        self.show("checks", done, total, doing=check)


def checked_model(report: ModelReport, form: Form) -> bool:
    """Print all verdicts, then the question, the answer and advice for each check that is not well.

    Args:
        report: The results.
        form: What is on stdout: text, one JSON object, or the verdicts as CSV with the rest on stderr.

    Returns:
        Whether nothing is violated.
    """
    if form == "json":
        print_json(**report.to_dict())
        return report.ok
    columns = ("check", "verdict", "question", "measured")
    rows = [(one.name, one.status, one.question, _measured(one)) for one in report.verdicts]
    if form == "csv":
        print_csv(columns, rows)
    else:
        print_listing(columns, rows, styles=[STYLES[one.status] for one in report.verdicts])
    for verdict in report.verdicts:
        if verdict.findings:
            _explain(verdict)
    out.print()
    out.print(_summary(report), markup=False, soft_wrap=True)
    return report.ok


def _measured(verdict: CheckVerdict) -> str:
    return "; ".join(f"{name} {value}" for name, value in verdict.measured.items()) or verdict.reason or ""


def _explain(verdict: CheckVerdict) -> None:
    out.print()
    print_text(f"{verdict.name}: {verdict.status}", STYLES[verdict.status])
    for question in verdict.asked:
        print_text(f"asked: {question}", "dim", indent="  ")
    for finding in verdict.findings:
        print_text(finding.explanation, indent="  ")
        print_text(f"To do: {finding.advice}", indent="    ")


def _summary(report: ModelReport) -> str:
    counts = {status: sum(verdict.status == status for verdict in report.verdicts) for status in STYLES}
    words = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    end = "it is not ready to be measured"
    if report.ok:
        asked = any(verdict.asked for verdict in report.verdicts)
        end = "it keeps every promise that was asked for" if asked else "but it could be asked nothing"
    return f"{report.model}, made in {report.made_s:.1f} s: {words}; {end}"
