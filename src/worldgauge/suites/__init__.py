"""Suites: one folder, or one file, a benchmark."""

from worldgauge.engine.suite.base import suites

__all__ = ["suites"]
