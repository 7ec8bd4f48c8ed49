"""Suites: one folder, or one file, a benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from worldgauge.engine.suite.base import suites

__all__ = ["RENAMED", "suites"]

RENAMED = {"build": "mineanybuild", "closedloop": "worldinworld", "target": "targetbench"}
"""Suites by the name that they had before. The old name stays in fingerprints, so that finished runs continue."""


def __getattr__(name: str) -> Any:
    """The registry, imported when it is first asked for: the command line looks into this folder for commands only."""
    if name == "suites":
        from worldgauge.engine.suite.base import suites

        return suites
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
