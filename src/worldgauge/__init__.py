"""worldgauge: measure what a world model is worth.

data = worldgauge.collect("loopnav", "data", settlements=1, size=(256, 144))
result = worldgauge.run("loopnav", data=data, model=[MyModel(), "freeze"], out="runs/mine")
result.table(); result.frame; result.failures; result.film(task); result.report("report.html")

probe = worldgauge.Probe("loopnav", tasks=8, seconds=60)  # once; then in a training loop:
probe(MyModel(), step).to_tensorboard(writer)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from worldgauge.api.result import Result
    from worldgauge.api.running import run, score
    from worldgauge.engine.collection.kernel import collect
    from worldgauge.engine.probe.probe import Probe
    from worldgauge.report import write_report

__version__ = "0.1.0"

__all__ = ["Probe", "Result", "__version__", "collect", "run", "score", "write_report"]

_LAZY = {
    "Probe": "worldgauge.engine.probe.probe",
    "Result": "worldgauge.api.result",
    "collect": "worldgauge.engine.collection.kernel",
    "run": "worldgauge.api.running",
    "score": "worldgauge.api.running",
    "write_report": "worldgauge.report",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import a part when it is first asked for: importing the package itself stays light."""
    if name not in _LAZY:
        raise AttributeError(f"module 'worldgauge' has no attribute '{name}'")
    return getattr(importlib.import_module(_LAZY[name]), name)
