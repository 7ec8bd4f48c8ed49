"""The report: runs compared on one page that opens from disk."""

from worldgauge.report.page import write_report

__all__ = ["write_report"]
