"""Export the scores of runs as the result files that the tools of a benchmark read.

export([Path("runs/mind")], Path("results"))
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from worldgauge.core.errors import UsageError
from worldgauge.engine.open_suite import open_suite
from worldgauge.engine.result import find_runs, list_failures, read_current_lines


def export(runs: Sequence[Path], out: Path) -> list[Path]:
    """Write one result file per run, named after the subject."""
    folders = find_runs(runs)
    if not folders:
        raise UsageError("an export needs at least one run folder")
    names = [folder.directory.name for folder in folders]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"two runs are named '{twice[0]}', and so would be their files; export them one by one")
    written = []
    for folder in folders:
        facts = folder.facts()
        suite = open_suite(facts["suite"], facts["settings"])
        scores = [score for _, score in folder.scores()]
        path = Path(out) / f"result_{folder.directory.name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        suite.export(scores, list_failures(folder, read_current_lines(folder)), path)
        written.append(path)
    return written
