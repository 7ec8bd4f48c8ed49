"""Scores as the Hugging Face Hub shows them: `.eval_results/*.yaml` of a model, `eval.yaml` of the data set.

hf/<model>/.eval_results/worldgauge-<suite>.yaml goes into the model's repository, hf/eval.yaml into that of the set.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from worldgauge.core.errors import UsageError
from worldgauge.core.io import write_file
from worldgauge.engine.sets import data_notes
from worldgauge.engine.suite.base import suites
from worldgauge.tools.export.published_run import ExportNames, PublishedRun, check_one_model, demand_no_loss

FRAMEWORK = "worldgauge"
NOTE = (
    "eval.yaml: the Hub shows results of registered evaluation frameworks, and 'worldgauge' is not among them yet: it "
    "takes a pull request to huggingface/huggingface.js that adds it (packages/tasks/src/eval.ts)."
)
"""What is to be done before the Hub shows what was written."""


def write_hub(runs: Sequence[PublishedRun], out: Path, names: ExportNames) -> list[Path]:
    """Write the headline of each run with its interval, and the file that declares the benchmark.

    Args:
        runs: The runs.
        out: Folder of the files.
        names: The names of the data set, the model and the author.

    Returns:
        The files.

    Raises:
        UsageError: Without a data set, where two runs would be one file, and where a file that is there holds results
            of other runs or data sets.
    """
    if not names.dataset:
        raise UsageError("--to hf needs the name of the data set on the Hub: --dataset ORGANISATION/NAME")
    check_one_model(runs, names)
    written: dict[Path, str] = {}
    tasks: dict[str, dict[str, Any]] = {}
    for run in runs:
        found = list(_entries(run, names))
        tasks |= {entry["dataset"]["task_id"]: {"config": run.suite.name, "split": "test"} for entry in found}
        model = run.model_id(names).replace("/", "__")
        path = out / model / ".eval_results" / f"worldgauge-{run.suite.name}.yaml"
        if path in written:
            raise UsageError(f"two runs of {run.suite.name} are named '{run.label}'; export them one by one")
        written[path] = "".join(_yaml_item(entry) for entry in found) or "[]\n"
    about = "; ".join(f"{name}: {suites.entry(name).summary}" for name in sorted({run.suite.name for run in runs}))
    written[out / "eval.yaml"] = "".join(
        [
            f"name: {_scalar('worldgauge')}\n",
            f"description: {_scalar(f'What a world model is worth. {about}')}\n",
            f"evaluation_framework: {_scalar(FRAMEWORK)}\n\n",
            "tasks:\n",
            *(_yaml_item({"id": task, **facts}, "  ") for task, facts in sorted(tasks.items())),
        ]
    )
    for path, text in written.items():
        if path.exists():
            demand_no_loss(path, _named_in(path.read_text(errors="replace")) - _named_in(text))
    for path, text in written.items():
        write_file(path, text)
    return list(written)


def _entries(run: PublishedRun, names: ExportNames) -> Iterator[dict[str, Any]]:
    """An entry for each cell of the headline table."""
    headline = run.tables[0] if run.tables else None
    cells = next((row.cells for row in headline.rows if row.label == run.label), ()) if headline else ()
    for column, cell in zip(headline.columns if headline else (), cells, strict=False):
        if headline is None or cell.mean is None or not math.isfinite(cell.mean):
            continue
        metric = column if headline.betters else headline.metric
        task = "_".join([run.suite.name, *([] if len(headline.columns) == 1 else [_word(column)])])
        interval = "" if cell.low is None else f", 95% interval {cell.low:.6g} to {cell.high:.6g}"
        version = run.facts.get("versions", {}).get("worldgauge", "")
        notes = f"{metric}: mean of {cell.n} of {cell.expected} tasks in {cell.clusters} clusters{interval}; "
        notes += f"data {run.facts['data_fingerprint'][:12]}, worldgauge {version}"
        notes += "".join(f", {one.removeprefix('Data: ').rstrip('.')}" for one in data_notes({run.label: run.facts}))
        entry: dict[str, Any] = {
            "dataset": {"id": names.dataset, "task_id": task},
            "value": cell.mean,
            "date": run.created.date().isoformat(),
        }
        if names.by:
            notes += f", run by {names.by}"
        yield {**entry, "notes": notes}


def _named_in(text: str) -> set[str]:
    """Tasks that an eval.yaml declares, or data sets and tasks that a file of results is of."""
    return set(re.findall(r'^(?:  - id|    (?:id|task_id)): "(.*)"$', text, re.MULTILINE))


def _word(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "all"


def _yaml_item(entry: dict[str, Any], indent: str = "") -> str:
    """One item of a list. Strings are written as in JSON, which YAML reads as they are."""
    lines: list[str] = []
    for name, value in entry.items():
        lead = f"{indent}  " if lines else f"{indent}- "
        if isinstance(value, dict):
            lines += [f"{lead}{name}:"] + [f"{indent}    {key}: {_scalar(one)}" for key, one in value.items()]
        else:
            lines.append(f"{lead}{name}: {_scalar(value)}")
    return "\n".join(lines) + "\n"


def _scalar(value: Any) -> str:
    return json.dumps(value, allow_nan=False)
