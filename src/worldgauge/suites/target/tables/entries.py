"""The rows of every table: what became of each scenario of each subject, and of the yardsticks that need no video."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from worldgauge.engine.suite.contract import Failure, Score
from worldgauge.suites.target.baselines import NAMES

Values = Mapping[str, float] | None


class Line(NamedTuple):
    """One scenario of one row. values: by field of `PathScores`, None without a path. failed: as `all` counts it."""

    task: str
    group: Mapping[str, Any]
    values: Values
    failed: bool
    why: str = ""


class Entry(NamedTuple):
    """One row of every table: what became of each scenario, under one profile."""

    label: str
    kind: Literal["subject", "reference"]
    lines: tuple[Line, ...]

    def only(self, keep: Callable[[Line], bool]) -> Entry:
        """The same row over some of its scenarios."""
        return self._replace(lines=tuple(line for line in self.lines if keep(line)))


def entries_of(
    heads: Mapping[str, Sequence[Score]],
    kinds: Mapping[str, str],
    failed: Mapping[str, Sequence[Failure]],
    profile: str | None = None,
) -> list[Entry]:
    """Rows under one profile, None for that of each score; then the yardsticks.

    heads: headline scores of each subject. kinds, failed: see `Suite.summarize`.
    """
    entries = []
    for subject, own in heads.items():
        lines = [_line(score, profile) for score in own]
        lines += [Line(f.task, f.group, None, True, f.error) for f in failed.get(subject, ())]
        entries.append(Entry(subject, kind_of(kinds[subject]), tuple(lines)))
    tasks = {score.task: score for own in heads.values() for score in own}
    for name in NAMES:
        lines = [
            Line(task, score.group, score.facts["baselines"][name].get(profile or score.facts["profile"]), False)
            for task, score in sorted(tasks.items())
        ]
        entries.append(Entry(name, "reference", tuple(lines)))
    return entries


def kind_of(kind: str) -> Literal["subject", "reference"]:
    """Of a row, for the kind of its subject."""
    return "reference" if kind == "reference" else "subject"


def _line(score: Score, profile: str | None) -> Line:
    values: Values = None
    if score.value is not None:
        values = score.facts["profiles"].get(profile or score.facts["profile"])
    whole = values is not None and score.facts["status"] != "partial"
    return Line(score.task, score.group, values, not whole, score.reason or "")
