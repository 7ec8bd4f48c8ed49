"""How to repeat the runs of a report, which tasks did not work, and how accurate the segmenter is."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from worldgauge.core.english import listed
from worldgauge.engine.result import TaskCounts
from worldgauge.engine.sets import named_sets, set_cells
from worldgauge.engine.suite.contract import Score, mean_of_known
from worldgauge.report.evidence import Evidence
from worldgauge.report.wording import number

BULKY = frozenset({"task_keys"})
"""Parts of run.json with a line a task: in the file, not on the page."""


ENDS = {"failed": "failed", "skipped": "skipped", "unscored": "not scored", "left": "not run"}
"""Ends of tasks other than "scored", as the page calls them."""


@dataclass(frozen=True)
class Trouble:
    """Tasks of one model that ended in the same way for the same reason."""

    label: str
    end: str
    reason: str
    tasks: tuple[str, ...]


def tallies(evidence: Evidence, noun: str = "model") -> list[tuple[str, TaskCounts]]:
    """Names and how their tasks ended. Models with equal numbers of tasks, all scored, share a line."""
    whole: dict[TaskCounts, list[str]] = {}
    for run in evidence.runs:
        if run.counts.scored == run.counts.expected:
            whole.setdefault(run.counts, []).append(run.label)
    shared = {counts: labels for counts, labels in whole.items() if len(labels) > 1}
    lines = [
        (f"{len(labels)} {noun}s, each" if len(shared) == 1 else f"{listed(labels)}, each", counts)
        for counts, labels in shared.items()
    ]
    return lines + [(e.label, e.counts) for e in evidence.runs if e.counts not in shared]


def troubles(evidence: Evidence) -> list[Trouble]:
    """All tasks without scores, grouped by model, ending and reason, failures first."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for run in evidence.runs:
        for outcome in run.outcomes:
            if outcome.end != "scored":
                found.setdefault((run.label, outcome.end, outcome.reason), []).append(outcome.task)
    gathered = [Trouble(label, end, reason, tuple(tasks)) for (label, end, reason), tasks in found.items()]
    return sorted(gathered, key=lambda t: (t.end != "failed", t.end))


def provenance(evidence: Evidence) -> tuple[list[tuple[str, str]], list[tuple[str, list[tuple[str, str]]]]]:
    """Facts of run.json as names and values: those that all runs share, then those of each run."""
    flat = [(run.label, dict(_flatten(run.facts))) for run in evidence.runs]
    first = flat[0][1]
    shared = [(k, v) for k, v in first.items() if all(facts.get(k) == v for _, facts in flat)]
    names = {k for k, _ in shared}
    own = [(label, [(k, v) for k, v in facts.items() if k not in names]) for label, facts in flat]
    return shared, own


def commands(evidence: Evidence, defaults: Mapping[str, Any], asks: str = "model") -> list[str]:
    """Commands that repeat the runs and the page, named sets first; a Python object gets a comment, not a command."""
    made: dict[tuple[str, ...], list[str]] = {}
    objects = []
    for run in evidence.runs:
        facts = run.facts
        if _live(facts["model"]):
            objects.append(f"# {run.label} was a Python object ({run.source}): run it again from Python")
            continue
        chosen = {
            k: v for k, v in facts["settings"].items() if v != defaults.get(k) and not k.endswith("_digest")
        }  # digests are computed again
        data = facts["source"]
        if any((one.name, str(one.version)) == set_cells(facts)[:2] for one in named_sets().values()):
            data = set_cells(facts)[0]  # the command makes it
        words = ["--data", str(data), "--out", str(run.directory.parent), "--seed", str(facts["seed"])]
        words += [
            word for k, v in chosen.items() for word in ("--set", f"{k}={v if isinstance(v, str) else json.dumps(v)}")
        ]
        words += ["--limit", str(facts["limit"])] if facts.get("limit") is not None else []
        made.setdefault(tuple(words), []).append(str(facts["model"]["address"]))
    lines = []
    for rest, models in made.items():
        asked = [word for model in models for word in (f"--{asks}", model)]
        lines.append(shlex.join(["worldgauge", "run", evidence.suite, *asked, *rest]))
    folders = dict.fromkeys(str(run.directory.parent) for run in evidence.runs)
    return [*objects, *lines, shlex.join(["worldgauge", "report", *folders])]


def _live(model: Mapping[str, Any]) -> bool:
    """Whether the model was given as an object. In older runs a script's module name shows it."""
    live: bool = model.get("live", str(model["address"]).startswith("__main__:"))
    return live


def _flatten(value: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value and all(isinstance(v, int) for v in value.values()):
        yield prefix, ", ".join(f"{name} {v}" for name, v in value.items())
    elif isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flatten(inner, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, list) and value and all(not isinstance(v, (dict, list)) for v in value):
        yield prefix, ", ".join(str(v) for v in value)
    elif value not in (None, {}, []) and prefix.split(".")[0] not in BULKY:
        yield prefix, str(value)


METRIC = "segmenter_accuracy"
"""Share of the recording's pixels labelled as the exact masks do.

Its facts: "iou" by category, "sgcs_against_exact" of the masks on the same frames.
"""


def describe_accuracy(evidence: Evidence) -> str:
    """One sentence on the segmenter's accuracy, as means over trajectories. Empty where it was not measured."""
    scores = list(_scores(evidence))
    share = mean_of_known(score.value for score in scores)
    if share is None:
        return ""
    against = mean_of_known(score.facts.get("sgcs_against_exact") for score in scores)
    tail = f" (SGCS of its masks against exact ones: {number(against, digits=2)})" if against is not None else ""
    return f"The segmenter labels {100 * share:.0f} % of the recording's pixels as the exact masks do{tail}."


def describe_categories(evidence: Evidence) -> str:
    """Mean IoU of every category that occurs, best first; empty where it was not measured."""
    found: dict[str, list[float]] = {}
    for score in _scores(evidence):
        iou: dict[str, Any] = score.facts.get("iou") or {}
        for category, value in iou.items():
            if value is not None:
                found.setdefault(category, []).append(value)
    means = sorted(((mean_of_known(values) or 0.0, category) for category, values in found.items()), reverse=True)
    listed = ", ".join(f"{category} {number(mean, digits=2)}" for mean, category in means)
    return f"Overlap (IoU) of its masks with the exact ones by category: {listed}." if listed else ""


def _scores(evidence: Evidence) -> Iterator[Score]:
    """One score a trajectory: it is of the recording, so the same for every model."""
    seen = set()
    for run in evidence.runs:
        for task, score in run.by_metric.get(METRIC, {}).items():
            if score.value is not None and task not in seen:
                seen.add(task)
                yield score
