"""Scores in the forms that others read: Every Eval Ever, the Hub, Inspect, CSV, Parquet; one task for Rerun."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from worldgauge.core.errors import UsageError
from worldgauge.core.registry import Registry
from worldgauge.engine.export import export as own_files
from worldgauge.tools.export.hub import write_hub
from worldgauge.tools.export.published_run import ExportNames, open_runs
from worldgauge.tools.export.rows import write_csv, write_parquet

OWN, RRD = "own", "rrd"
forms: Registry[Callable[..., list[Path]]] = Registry("form", group="worldgauge.export_forms")
"""Writers. Each takes runs, a folder and `ExportNames`, and returns the files; that of "rrd" takes a task instead."""
forms.register("hf")(write_hub)
forms.register("csv")(write_csv)
forms.register("parquet")(write_parquet)


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
        return forms.get(RRD)(runs, out, task)
    if to == OWN:
        if names is not None and names != ExportNames():
            raise UsageError("--model-id, --dataset and --by go with --to eee, hf or inspect")
        return own_files(runs, out)
    return forms.get(to)(open_runs(runs), out, names or ExportNames())


__all__ = ["OWN", "ExportNames", "export", "forms"]
