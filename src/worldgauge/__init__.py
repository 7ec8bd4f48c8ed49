"""worldgauge: measure what a world model is worth.

result = worldgauge.run("loopnav", model=MyModel(), data="data", out="runs/mine")
result.table(); result.frame; result.failures
worldgauge.write_report([result.directory], Path("report.html"))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from worldgauge.engine.run import run, score
    from worldgauge.report import write_report

__version__ = "0.1.0"

__all__ = ["__version__", "run", "score", "write_report"]

_LAZY = {"run": "worldgauge.engine.run", "score": "worldgauge.engine.run", "write_report": "worldgauge.report"}


def __getattr__(name: str) -> Any:
    """Import a part when it is first asked for: importing the package itself stays light."""
    if name not in _LAZY:
        raise AttributeError(f"module 'worldgauge' has no attribute '{name}'")
    return getattr(importlib.import_module(_LAZY[name]), name)
