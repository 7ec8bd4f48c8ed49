"""Provenance and troubles: what it takes to do a run again, and what did not work."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from worldgauge.report.evidence import Entrant, Evidence

BULKY = frozenset({"task_keys"})
"""Parts of run.json with a line a task: in the file, not on the page."""


@dataclass(frozen=True)
class Trouble:
    """Tasks of one subject that ended the same way for the same reason."""

    label: str
    status: str
    reason: str
    tasks: tuple[str, ...]


@dataclass(frozen=True)
class Count:
    """expected = scored + skipped + failed + missing, tasks of one subject."""

    label: str
    expected: int
    scored: int
    skipped: int
    failed: int
    missing: int

    @property
    def complete(self) -> bool:
        """True when every task was scored."""
        return self.scored == self.expected


def count(entrant: Entrant) -> Count:
    """Tasks by how they ended."""
    scored, skipped, failed, missing = (entrant.count(status) for status in ("done", "skipped", "failed", "missing"))
    return Count(entrant.label, len(entrant.outcomes), scored, skipped, failed, missing)


def troubles(evidence: Evidence) -> list[Trouble]:
    """Every task that was not done, gathered by subject, status and reason; failures first."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for entrant in evidence.entrants:
        for outcome in entrant.outcomes:
            if outcome.status != "done":
                found.setdefault((entrant.label, outcome.status, outcome.reason), []).append(outcome.task)
    listed = [Trouble(label, status, reason, tuple(tasks)) for (label, status, reason), tasks in found.items()]
    return sorted(listed, key=lambda t: (t.status != "failed", t.status))


def provenance(evidence: Evidence) -> tuple[list[tuple[str, str]], list[tuple[str, list[tuple[str, str]]]]]:
    """Facts of run.json as (name, value): those that all runs share, then for each run what is its own."""
    flat = [(entrant.label, dict(_flatten(entrant.facts))) for entrant in evidence.entrants]
    first = flat[0][1]
    shared = [(k, v) for k, v in first.items() if all(facts.get(k) == v for _, facts in flat)]
    names = {k for k, _ in shared}
    own = [(label, [(k, v) for k, v in facts.items() if k not in names]) for label, facts in flat]
    return shared, own


def commands(evidence: Evidence, defaults: Mapping[str, Any]) -> list[str]:
    """Command lines that make these runs and this page again. defaults: settings of the suite that need no saying."""
    made: dict[tuple[str, ...], list[str]] = {}
    for entrant in evidence.entrants:
        facts = entrant.facts
        chosen = {k: v for k, v in facts["settings"].items() if v != defaults.get(k)}
        words = ["--data", str(facts["source"]), "--out", str(entrant.directory.parent), "--seed", str(facts["seed"])]
        words += [
            word for k, v in chosen.items() for word in ("--set", f"{k}={v if isinstance(v, str) else json.dumps(v)}")
        ]
        words += ["--limit", str(facts["limit"])] if facts.get("limit") is not None else []
        made.setdefault(tuple(words), []).append(str(facts["subject"]["model"]))
    lines = []
    for rest, models in made.items():
        asked = [word for model in models for word in ("--model", model)]
        lines.append(shlex.join(["worldgauge", "run", evidence.suite, *asked, *rest]))
    folders = dict.fromkeys(str(entrant.directory.parent) for entrant in evidence.entrants)
    return [*lines, shlex.join(["worldgauge", "report", *folders])]


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
