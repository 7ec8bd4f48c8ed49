"""Small sets of every collection, models run on each, scores and tables: their digests, by commands alone.

As a script it prints them as JSON: `python tests/release/measure.py FOLDER [SET ...]`. It uses commands only, so the
same file measures any version of worldgauge; the digests of 0.1.0 were made by it before anything was moved.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

COLLECTIONS: dict[str, list[str]] = {
    "loopnav": ["--settlements", "2", "--ranges", "5", "--per-combination", "1", "--size", "128x72"],
    "mind": [
        "--mem",
        "1",
        "--action-space",
        "1",
        "--mirror",
        "1",
        "--train",
        "1",
        "--frames",
        "48",
        "--size",
        "128x72",
    ],
    "target": ["--scenes", "2", "--per-scene", "1", "--size", "160x90"],
    "closedloop": [
        *("--scenes", "1", "--recognition", "1", "--navigation", "1", "--questions", "2", "--manipulation", "2"),
        *("--size", "256x144"),
        *("--question-rooms", "1", "--guessed-questions"),  # the questions of 0.1.0, where both are to be left out
    ],
    "build": ["--structures", "3", "--stimuli", "1", "--commonsense", "4", "--size", "96"],
    "coverage": ["--scenes", "1", "--size", "128x72", "--points", "6", "--steps", "60"],
    "demonstrations": ["--tasks", "push_buttons", "--per-task", "2", "--size", "96x96"],
}


def _named(*models: str) -> list[str]:
    """Options that ask these models and no others: the references of 0.1.0, where the last word is to be left out."""
    return [*(word for model in models for word in ("--model", model)), "--no-references"]


RUNS: dict[str, list[str]] = {
    "loopnav": _named("truth", "freeze", "noise", "mean", "replay", "forgetful", "memory", "memory-plane", "drift"),
    "mind": [
        *_named("truth", "reencoded", "late", "memory", "memory-plane", "render", "drift", "forgetful"),
        *_named("freeze", "mean", "noise"),
        *("--set", "poses=exact"),
    ],
    "target": [
        *("--model", "truth", "--model", "render", "--model", "ahead", "--model", "freeze"),
        *("--set", "fps=5", "--set", "decoder=exact", "--set", "profile=released"),  # the default of 0.1.0
    ],
    "closedloop": [
        *("--model", "oracle", "--model", "freeze", "--set", "view_px=96", "--set", "panorama_px=256"),
        *("--set", "protocol=published"),  # the only one of 0.1.0, where this setting is to be left out
    ],
    "build": ["--references"],
}
REGISTRIES = ("suites", "models", "agents", "critics", "metrics", "worlds", "estimators", "decoders")
MODULE = "worldgauge.cli.main"
"""The command line. It was "worldgauge.cli" in 0.1.0."""
ANY_PROCESSOR = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
"""Kernels for any x86-64: where registers are wider, SSIM is summed in another order and differs in its last digits."""
NOT_DATA = ("logs/", ".worldgauge-index")
"""Beside the data: what workers print, and an index of file times."""
ADDED = (
    *("returned_mse", "returned_detail", "detail", "gsc_detail", "gsc_aligned_detail", "colour_drift", "colour_change"),
    *("move_cosine", "turn_cosine", "key_latency", "keys_answered"),
)
"""Metrics since 0.1.0: their scores and tables are left out."""
_CLUSTER = re.compile(rb'"cluster": "[^"]*", ')
"""What a score shares with others, in lines of scores since 0.1.0."""
IDENTITY = ("record.json",)
"""Files of a record that name where the data lie and what code an identity was made of."""


def measure(folder: Path, sets: Sequence[str] = tuple(COLLECTIONS)) -> dict[str, Any]:
    """Digests of the data, records, scores and tables of `sets`, made in `folder`."""
    return {name: _measure_set(folder / name, name) for name in sets}


def registered(kind: str) -> list[str]:
    """Names of everything of a kind that worldgauge registers; plug-ins may be installed."""
    rows = json.loads(_run("list", kind, "--json"))[kind]
    return sorted(one["name"] for one in rows if one["origin"].startswith("worldgauge."))


def _measure_set(folder: Path, name: str) -> dict[str, Any]:
    data = folder / "data"
    collected = json.loads(_run("collect", name, "--out", str(data), *COLLECTIONS[name], "--json"))
    found: dict[str, Any] = {
        "collected": {key: collected[key] for key in ("frames", "discarded", "failures", "ok")},
        "data": _digests(data, lambda path: not path.startswith(NOT_DATA)),
    }
    checked = _run("check", name, "--data", str(data), "--json").replace(str(data), "DATA")
    found["check"] = _digest(json.dumps(_without_words(json.loads(checked)), sort_keys=True).encode())
    if name in RUNS:
        runs = folder / "runs"
        told = json.loads(_run("run", name, "--data", str(data), *RUNS[name], "--out", str(runs), "--json"))
        found["counts"] = told["counts"]
        known = [table for table in told["tables"] if not _is_added(table["metric"])]
        found["tables"] = {
            f"{place:02d} {table['metric']}": _digest(json.dumps(_with_old_words(table), sort_keys=True).encode())
            for place, table in enumerate(known)
        }
        for model in sorted(path for path in runs.iterdir() if (path / "scores.jsonl").exists()):
            records = _digests(
                model / "records", lambda path: not path.endswith(IDENTITY) and "scores.json" not in path
            )
            found.setdefault("scores", {})[model.name] = _digest(b"".join(_known_scores(model / "scores.jsonl")))
            found.setdefault("records", {})[model.name] = _digest(json.dumps(records, sort_keys=True).encode())
        _run("report", str(runs), "--out", str(folder / "report.html"))
    return found


def _known_scores(path: Path) -> list[bytes]:
    lines = []
    for line in path.read_bytes().splitlines():
        score = json.loads(line)
        if "model" in score:
            score["subject"] = score.pop("model")
        if not _is_added(score["metric"]):
            lines.append(_CLUSTER.sub(b"", json.dumps(score, sort_keys=True).encode() + b"\n"))
    return lines


def _with_old_words(table: dict[str, Any]) -> dict[str, Any]:
    """A table with the kinds of its rows named as in 0.1.0."""
    former = {"model": "subject", "baseline": "reference"}
    rows = [{**row, "kind": former.get(row["kind"], row["kind"])} for row in table["rows"]]
    return {**table, "rows": rows}


def _is_added(metric: str) -> bool:
    return any(part in (*ADDED, "over_time") for part in metric.split("/"))


def _without_words(told: Any) -> Any:
    """What a check says, without its sentences, whose words may change, and without its table, which 0.1.0 had not."""
    if isinstance(told, dict):
        return {key: _without_words(value) for key, value in told.items() if key not in ("text", "table")}
    return [_without_words(one) for one in told] if isinstance(told, list) else told


def _digests(folder: Path, is_wanted: Any) -> dict[str, str]:
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: _digest(path.read_bytes()) for name, path in files.items() if is_wanted(name)}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:24]


def _run(*command: str) -> str:
    words = [sys.executable, "-m", MODULE, *command]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **ANY_PROCESSOR})
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr[-3000:]}")
    return done.stdout


if __name__ == "__main__":
    chosen = sys.argv[2:] or list(COLLECTIONS)
    print(
        json.dumps(
            {"sets": measure(Path(sys.argv[1]), chosen), "registered": {kind: registered(kind) for kind in REGISTRIES}},
            indent=1,
            sort_keys=True,
        )
    )
