"""worldgauge evaluates world models: video generators that react to actions.

    data = worldgauge.collect("loopnav", "data", settlements=1, size=(256, 144))
    result = worldgauge.run("loopnav", data=data, model=[MyModel(), "freeze"], out="runs/mine")
    result.table(); result.frame; result.failures; result.film(task); result.report("report.html")

    probe = worldgauge.Probe("loopnav", tasks=8, seconds=60)  # once; then in a training loop:
    probe(MyModel(), step).to_tensorboard(writer)

To extend it, import from `worldgauge.suite`, `.model`, `.metrics`, `.world` and `.data`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from worldgauge.core.lazy import lazy
from worldgauge.version import __version__

if TYPE_CHECKING:
    from worldgauge.core.errors import (
        AbandonedError,
        DataError,
        LostError,
        MissingExtraError,
        ModelError,
        NotApplicableError,
        RunError,
        ShapeError,
        UnknownNameError,
        UsageError,
        WorldError,
        WorldgaugeError,
    )
    from worldgauge.core.registry import Registry
    from worldgauge.engine.collect import Collected, collect
    from worldgauge.engine.probe import Probe, ProbeResult
    from worldgauge.report import write_report
    from worldgauge.report.film import Film
    from worldgauge.result import Result, run, score
    from worldgauge.tools.bundle import About, write_bundles
    from worldgauge.tools.check_model import ModelReport, check_model
    from worldgauge.tools.evaluate import Evaluation, evaluate
    from worldgauge.tools.export import ExportNames, export
    from worldgauge.tools.leaderboard import write_board
    from worldgauge.tools.verify import Verification, verify

__all__ = [
    "AbandonedError",
    "About",
    "Collected",
    "DataError",
    "Evaluation",
    "ExportNames",
    "Film",
    "LostError",
    "MissingExtraError",
    "ModelError",
    "ModelReport",
    "NotApplicableError",
    "Probe",
    "ProbeResult",
    "Registry",
    "Result",
    "RunError",
    "ShapeError",
    "UnknownNameError",
    "UsageError",
    "Verification",
    "WorldError",
    "WorldgaugeError",
    "__version__",
    "check_model",
    "collect",
    "evaluate",
    "export",
    "run",
    "score",
    "verify",
    "write_board",
    "write_bundles",
    "write_report",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "core.errors": (
            "AbandonedError DataError LostError MissingExtraError NotApplicableError RunError ShapeError ModelError "
            "UnknownNameError UsageError WorldError WorldgaugeError"
        ),
        "core.registry": "Registry",
        "engine.collect": "Collected collect",
        "engine.probe": "Probe ProbeResult",
        "report": "write_report",
        "report.film": "Film",
        "result": "Result run score",
        "tools.leaderboard": "write_board",
        "tools.bundle": "About write_bundles",
        "tools.check_model": "ModelReport check_model",
        "tools.evaluate": "Evaluation evaluate",
        "tools.export": "ExportNames export",
        "tools.verify": "Verification verify",
    },
)
