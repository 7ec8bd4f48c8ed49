"""Provenance and troubles: what it takes to do a run again, and what did not work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from worldgauge.report.evidence import Entrant, Evidence


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


def _flatten(value: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flatten(inner, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, list) and value and all(not isinstance(v, (dict, list)) for v in value):
        yield prefix, ", ".join(str(v) for v in value)
    elif value not in (None, {}, []):
        yield prefix, str(value)
