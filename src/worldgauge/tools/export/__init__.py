"""Scores in the forms that others read: Every Eval Ever, the Hub, Inspect, CSV, Parquet; one task for Rerun."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from worldgauge.core.errors import UsageError, did_you_mean
from worldgauge.engine.export import export as own_files
from worldgauge.tools.export.eee import write_eee
from worldgauge.tools.export.hub import write_hub
from worldgauge.tools.export.inspect_log import write_inspect
from worldgauge.tools.export.published_run import ExportNames, open_runs
from worldgauge.tools.export.rows import write_csv, write_parquet
from worldgauge.tools.export.rrd import write_rrd

OWN, RRD = "own", "rrd"
FORMS: dict[str, Callable[..., list[Path]]] = {
    "eee": write_eee,
    "hf": write_hub,
    "csv": write_csv,
    "parquet": write_parquet,
    "inspect": write_inspect,
}
"""Writers by name. Each takes runs, a folder and `ExportNames`, and returns the files."""


def export(
    runs: Sequence[Path], out: Path, to: str = OWN, names: ExportNames | None = None, task: str = ""
) -> list[Path]:
    """Write the scores of runs, or one task of them, in a form that other tools read.

    Args:
        runs: Run folders, or folders of run folders.
        out: Folder of the files.
        to: "own" (the result files of the benchmark's own scorer), "eee", "hf", "csv", "parquet",
            "inspect" or "rrd".
        names: Under which names the model, the data set and the author are known there.
        task: Id of the task that "rrd" writes.

    Returns:
        The files.

    Raises:
        UsageError: For an unknown form, and where a form needs a name that is not given.
        RunError: For a folder without a run.
        MissingExtraError: For Parquet and Rerun without their extras.
    """
    if task and to != RRD:
        raise UsageError("--task goes with --to rrd")
    if to == RRD:
        return write_rrd(runs, out, task)
    if to == OWN:
        if names is not None and names != ExportNames():
            raise UsageError("--model-id, --dataset and --by go with --to eee, hf or inspect")
        return own_files(runs, out)
    if to not in FORMS:
        known = [OWN, *FORMS, RRD]
        raise UsageError(f"no form '{to}'. {did_you_mean(to, known)}Known: {', '.join(known)}")
    return FORMS[to](open_runs(runs), out, names or ExportNames())


__all__ = ["FORMS", "OWN", "ExportNames", "export"]
