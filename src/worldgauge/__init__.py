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
    from worldgauge.api.result import Result
    from worldgauge.api.running import run, score
    from worldgauge.core.errors import (
        AbandonedError,
        DataError,
        LostError,
        MissingExtraError,
        NotApplicableError,
        RunError,
        ShapeError,
        SubjectError,
        UnknownNameError,
        UsageError,
        WorldError,
        WorldgaugeError,
    )
    from worldgauge.core.registry import Registry
    from worldgauge.engine.collection.kernel import Collected, collect
    from worldgauge.engine.probe.probe import Probe
    from worldgauge.engine.probe.result import ProbeResult
    from worldgauge.report import write_report
    from worldgauge.report.films.film import Film
    from worldgauge.tools.board.site import write_board
    from worldgauge.tools.bundle.bundle import About, write_bundles
    from worldgauge.tools.bundle.verify import Verification, verify
    from worldgauge.tools.check_model import ModelReport, check_model
    from worldgauge.tools.export import ExportNames, export

__all__ = [
    "AbandonedError",
    "About",
    "Collected",
    "DataError",
    "ExportNames",
    "Film",
    "LostError",
    "MissingExtraError",
    "ModelReport",
    "NotApplicableError",
    "Probe",
    "ProbeResult",
    "Registry",
    "Result",
    "RunError",
    "ShapeError",
    "SubjectError",
    "UnknownNameError",
    "UsageError",
    "Verification",
    "WorldError",
    "WorldgaugeError",
    "__version__",
    "check_model",
    "collect",
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
        "api.result": "Result",
        "api.running": "run score",
        "core.errors": (
            "AbandonedError DataError LostError MissingExtraError NotApplicableError RunError ShapeError "
            "SubjectError UnknownNameError UsageError WorldError WorldgaugeError"
        ),
        "core.registry": "Registry",
        "engine.collection.kernel": "Collected collect",
        "engine.probe.probe": "Probe",
        "engine.probe.result": "ProbeResult",
        "report": "write_report",
        "report.films.film": "Film",
        "tools.board.site": "write_board",
        "tools.bundle.bundle": "About write_bundles",
        "tools.bundle.verify": "Verification verify",
        "tools.check_model": "ModelReport check_model",
        "tools.export": "ExportNames export",
    },
)
