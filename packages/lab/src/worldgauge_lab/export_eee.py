"""Scores in the schema of Every Eval Ever 0.3: one file a run with intervals, and beside it a line a task and metric.

data/worldgauge-<suite>/<organisation>/<model>/<uuid>.json and <uuid>_samples.jsonl, as its collection of results is
laid out. The package `every-eval-ever` validates both.
"""

from __future__ import annotations

import hashlib
import math
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from worldgauge.core.errors import RunError
from worldgauge.core.intervals import LEVEL
from worldgauge.core.io import dumps, write_file
from worldgauge.engine.result import group_columns
from worldgauge.engine.sets import data_notes
from worldgauge.engine.store import record_entry
from worldgauge.engine.suite.contract import Cell, Score
from worldgauge.engine.suite.scores import score_cell
from worldgauge.metrics._registry import metric_bounds
from worldgauge.tools.export import ExportNames, PublishedRun, check_one_model
from worldgauge.version import __version__

SCHEMA_VERSION = "0.3.0"
METHODS = {
    "hall": "Student's t with the standard error of clusters of tasks, joined with Hall's (1992) skew-corrected t",
    "wilson": "Wilson's interval of a rate, for the number of independent trials that clusters of tasks are worth",
    "jackknife": "jackknife over clusters of tasks, with Student's t",
}
"""How the interval of a cell was made, by its `method`."""


def write_eee(runs: Sequence[PublishedRun], out: Path, names: ExportNames) -> list[Path]:
    """Write two files for each run. The same run gives the same bytes."""
    check_one_model(runs, names)
    return [path for run in runs for path in _write(run, out, names)]


def _write(run: PublishedRun, out: Path, names: ExportNames) -> tuple[Path, Path]:
    model = run.model_id(names)
    digest = hashlib.sha256(run.folder.facts_path.read_bytes() + run.folder.scores_path.read_bytes()).digest()
    ident = uuid.UUID(bytes=digest[:16], version=4)
    where = f"data/worldgauge-{run.suite.name}/{model}"
    stamp = str(int(run.created.timestamp()))
    key = f"worldgauge-{run.suite.name}/{model}/{stamp}"
    results = list(_results(run))
    told = {one["evaluation_result_id"]: one["evaluation_name"] for one in results}
    lines = [dumps(sample) + "\n" for sample in _samples(run, key, model, told)]
    text = "".join(lines).encode()
    samples = f"{where}/{ident}_samples.jsonl"
    whole = {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": key,
        "evaluation_timestamp": run.created.isoformat(),
        "retrieved_timestamp": stamp,
        "source_metadata": {
            "source_name": "worldgauge",
            "source_type": "evaluation_run",
            "source_organization_name": names.by or "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": "worldgauge",
            "version": str(run.facts.get("versions", {}).get("worldgauge", __version__)),
            "additional_details": {
                "suite": run.suite.name,
                "suite_version": str(run.facts.get("suite_version", "")),
                "settings": dumps(run.facts["settings"]),
                "metric_versions": dumps(run.facts.get("metrics", {})),
                "seed": str(run.facts["seed"]),
                "platform": dumps(run.facts.get("platform", {})),
            },
        },
        "model_info": _model(run, model),
        "evaluation_results": results,
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": samples,
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(text).hexdigest(),
            "total_rows": len(lines),
        },
    }
    first, second = out / where / f"{ident}.json", out / samples
    write_file(second, text)
    write_file(first, dumps(whole, indent=2) + "\n")
    return first, second


def _model(run: PublishedRun, model: str) -> dict[str, Any]:
    about = run.facts["model"]
    return {
        "name": run.label,
        "id": model,
        "developer": model.partition("/")[0],
        "additional_details": {
            "deployment_type": "self_deployed",
            "model_availability": "unknown",
            "kind": str(about["kind"]),
            "control": str(about.get("control", "")),
            "inputs": ", ".join(about["inputs"]) or "frames and controls",
            "settings": dumps(about.get("settings", {})),
        },
    }


def _results(run: PublishedRun) -> Iterator[dict[str, Any]]:
    """One of each metric over all tasks, then one of each cell of a table that is no such mean."""
    means = set()
    for metric in dict.fromkeys(score.metric for score in run.scores):
        scores = [score for score in run.scores if score.metric == metric]
        bounds = metric_bounds(metric)
        cell = score_cell(scores, bounds)
        if cell.mean is None:
            continue  # without any value there is no result; the lines of the tasks say why
        means.add((metric, cell.mean, cell.n))
        name, first = f"worldgauge {run.suite.name}: {metric}", scores[0]
        yield _result(run, metric, name, metric, cell, first.unit, first.better, bounds, "mean over all tasks")
    taken: set[str] = set()
    for table in run.tables:
        betters = table.betters or (table.better,) * len(table.columns)
        cells = next((row.cells for row in table.rows if row.label == run.label), ())
        for column, better, cell in zip(table.columns, betters, cells, strict=False):
            key = f"{table.title} / {column}"
            if cell.mean is None or not math.isfinite(cell.mean) or key in taken:
                continue
            if not table.betters and (table.metric, cell.mean, cell.n) in means:
                continue
            taken.add(key)
            metric = column if table.betters else table.metric
            bounds = (-math.inf, math.inf) if table.betters else metric_bounds(metric)
            name = f"worldgauge {run.suite.name}: {table.title}, {column}"
            yield _result(run, key, name, metric, cell, table.unit, better, bounds, "cell of a table of the suite")


def _result(
    run: PublishedRun,
    key: str,
    name: str,
    metric: str,
    cell: Cell,
    unit: str,
    better: str,
    bounds: tuple[float, float],
    what: str,
) -> dict[str, Any]:
    uncertainty: dict[str, Any] = {"num_samples": cell.n}
    if cell.low is not None and cell.high is not None:
        uncertainty["confidence_interval"] = {
            "lower": cell.low,
            "upper": cell.high,
            "confidence_level": LEVEL,
            "method": METHODS.get(cell.method, "not stated by the suite"),
        }
    if cell.std is not None:
        uncertainty["standard_deviation"] = cell.std
    return {
        "evaluation_result_id": key,
        "evaluation_name": name,
        "source_data": {
            "dataset_name": f"worldgauge {run.suite.name}",
            "source_type": "other",
            "additional_details": {
                "data_fingerprint": str(run.facts["data_fingerprint"]),
                "tasks": str(len(run.facts["task_keys"])),
                "limit": str(run.facts.get("limit")),
                **({"set": note.removeprefix("Data: ")} if (note := "".join(data_notes({"": run.facts}))) else {}),
            },
        },
        "metric_config": {
            "evaluation_description": f"{what}; {better} is better"
            if better != "neither"
            else f"{what}; no direction is better",
            "metric_id": f"worldgauge.{run.suite.name}.{metric}",
            "metric_name": metric,
            "metric_unit": unit,
            "lower_is_better": better == "lower",
            "score_type": "continuous",
            "min_score": _bound(bounds[0]),
            "max_score": _bound(bounds[1]),
            "additional_details": {"direction": better},
        },
        "score_details": {
            "score": cell.mean,
            "details": {"clusters": str(cell.clusters), "tasks_expected": str(cell.expected)},
            "uncertainty": uncertainty,
        },
    }


def _bound(value: float) -> float | str:
    return value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def _samples(run: PublishedRun, key: str, model: str, told: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """A line for each finite score. A score without a value has no line there; the schema knows no missing one."""
    records: dict[str, dict[str, Any]] = {}
    for score in run.scores:
        if score.value is None or not math.isfinite(score.value) or score.metric not in told:
            continue
        record = records.setdefault(score.task, _record(run, score.task))
        asked = f"worldgauge {run.suite.name}, task {score.task}, data {record.get('fingerprint', 'unknown')}"
        video = record.get("rollout")
        metadata = {
            "cluster": score.cluster or score.task,
            "frames": str(score.n),
            "is_correct": "whether it is the best value that the metric can have",
        }
        columns = group_columns(score.group, metadata)
        yield {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": key,
            "model_id": model,
            "evaluation_name": told[score.metric],
            "evaluation_result_id": score.metric,
            "sample_id": score.task,
            "sample_hash": hashlib.sha256(asked.encode()).hexdigest(),
            "interaction_type": "single_turn",
            "input": {"raw": asked, "reference": []},
            "output": {"raw": [f"video {video}" if video else "rollout in the record"]},
            "answer_attribution": [],
            "evaluation": {"score": score.value, "is_correct": _is_best(score)},
            "metadata": metadata | {columns[key]: str(value) for key, value in score.group.items()},
        }


def _is_best(score: Score) -> bool:
    low, high = metric_bounds(score.metric)
    return score.better != "neither" and score.value == (high if score.better == "higher" else low)


def _record(run: PublishedRun, task: str) -> dict[str, Any]:
    try:
        return record_entry(run.folder.record(task))
    except RunError:
        return {}
