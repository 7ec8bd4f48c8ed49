"""Suites: one folder, or one file, a benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from worldgauge.engine.suite.base import suites

__all__ = ["suites"]


def __getattr__(name: str) -> Any:
    """The registry, imported when it is first asked for: the command line looks into this folder for commands only."""
    if name == "suites":
        from worldgauge.engine.suite.base import suites

        return suites
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
