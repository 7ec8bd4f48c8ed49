"""Scores as logs of Inspect, which `inspect view --log-dir inspect` shows: a file a run, with a sample a task.

inspect/<when>_worldgauge-<suite>_<name>.json, in the JSON form of a log, version 2. A metric of worldgauge is a score
there, with its mean and the ends of its 95 % interval; a score without a value is left out and counted as not scored.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from worldgauge.core.errors import UsageError
from worldgauge.core.io import dumps, write_file
from worldgauge.engine.sets import data_notes
from worldgauge.engine.store import file_slug
from worldgauge.engine.suite.contract import Score
from worldgauge.engine.suite.scores import score_cell
from worldgauge.metrics._registry import metric_bounds
from worldgauge.tools.export import ExportNames, PublishedRun, check_one_model
from worldgauge.version import __version__

LOG_VERSION = 2


def write_inspect(runs: Sequence[PublishedRun], out: Path, names: ExportNames) -> list[Path]:
    """Write a log for each run. The same run gives the same bytes."""
    check_one_model(runs, names)
    files: dict[Path, str] = {}
    for run in runs:
        name = f"{run.created:%Y-%m-%dT%H-%M-%S}_worldgauge-{run.suite.name}_{file_slug(run.label)}.json"
        if out / "inspect" / name in files:
            raise UsageError(f"two runs of {run.suite.name} are named '{run.label}'; export them one by one")
        files[out / "inspect" / name] = dumps(_log(run, names), indent=2) + "\n"
    for path, text in files.items():
        write_file(path, text)
    return list(files)


def _log(run: PublishedRun, names: ExportNames) -> dict[str, Any]:
    when = run.created.isoformat()
    ident = hashlib.sha256(run.folder.facts_path.read_bytes() + run.folder.scores_path.read_bytes()).hexdigest()
    asked = dict.fromkeys([*run.facts["task_keys"], *(score.task for score in run.scores)])
    by_task: dict[str, list[Score]] = {task: [] for task in asked}
    for score in run.scores:
        by_task[score.task].append(score)
    failed = {one.task: one.error for one in run.result.failed_tasks.get(run.label, ())}
    counts = run.result.counts
    whole = not (counts.left or counts.unscored)
    return {
        "version": LOG_VERSION,
        "status": "success" if whole else "started",
        "eval": {
            "eval_id": ident[:22],
            "run_id": ident[22:44],
            "created": when,
            "task": f"worldgauge/{run.suite.name}",
            "task_id": ident[44:],
            "task_version": run.facts.get("suite_version", 0),
            "task_args": run.facts["settings"],
            "dataset": {
                "name": f"worldgauge {run.suite.name}",
                "samples": len(by_task),
                "sample_ids": list(by_task),
                "shuffled": False,
            },
            "model": run.model_id(names),
            "config": {"epochs": 1},
            "packages": {"worldgauge": str(run.facts.get("versions", {}).get("worldgauge", __version__))},
            "metadata": {
                "data_fingerprint": run.facts["data_fingerprint"],
                "seed": run.facts["seed"],
                "tasks": str(counts),
                **({"by": names.by} if names.by else {}),
                **({"set": note.removeprefix("Data: ")} if (note := "".join(data_notes({"": run.facts}))) else {}),
            },
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {
            "total_samples": counts.expected,
            "completed_samples": counts.scored,
            "scores": [
                _result(metric, [score for score in run.scores if score.metric == metric])
                for metric in dict.fromkeys(score.metric for score in run.scores)
            ],
        },
        "stats": {"started_at": when, "completed_at": when},
        "samples": [_sample(run, task, own, failed.get(task)) for task, own in by_task.items()],
    }


def _result(metric: str, scores: Sequence[Score]) -> dict[str, Any]:
    cell = score_cell(scores, metric_bounds(metric))
    told = {"mean": cell.mean, "interval_low": cell.low, "interval_high": cell.high}
    metrics = {
        name: {"name": name, "value": value, "params": {}}
        for name, value in told.items()
        if value is not None and math.isfinite(value)
    }
    return {
        "name": metric,
        "scorer": metric,
        "scored_samples": cell.n,
        "unscored_samples": len(scores) - cell.n,
        "params": {},
        "metrics": metrics,
        "metadata": {"unit": scores[0].unit, "better": scores[0].better, "clusters": cell.clusters},
    }


def _sample(run: PublishedRun, task: str, scores: Sequence[Score], failure: str | None) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for score in scores:
        if score.value is not None and math.isfinite(score.value):
            told[score.metric] = {
                "value": score.value,
                "metadata": {"frames": score.n, "cluster": score.cluster or task},
            }
    missing = {score.metric: score.reason for score in scores if score.metric not in told}
    error = {"message": failure, "traceback": failure, "traceback_ansi": failure}
    return {
        "id": task,
        "epoch": 1,
        "input": f"worldgauge {run.suite.name}, task {task}",
        "target": "",
        "scores": told,
        "metadata": {"group": scores[0].group if scores else {}, **({"without_value": missing} if missing else {})},
        **({"error": error} if failure else {}),
    }
