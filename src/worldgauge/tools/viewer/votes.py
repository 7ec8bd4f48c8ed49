"""Blind votes of people: which pair comes next, what was said, and how far voters and metrics agree.

Votes lie in `people-votes.jsonl` in the folder that is viewed, a line each, so that they can be read by anything.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.io import digest_of
from worldgauge.core.statistics import Interval, rate_interval
from worldgauge.terminal.output import plain_cell
from worldgauge.tools.viewer.library import Group

FILE = "people-votes.jsonl"
MAX_BYTES = 256 << 20
Choice = Literal["first", "second", "tie"]
CHOICES = ("first", "second", "tie")
FIELDS = ("voter", "suite", "place", "task", "first", "second", "choice")
_VOTER = re.compile(r"[\w .@-]{1,60}")


@dataclass(frozen=True)
class Vote:
    """One vote.

    Attributes:
        voter: Who voted.
        suite: Name of the suite.
        place: Folder of the runs, below that of the viewer.
        task: The task.
        first: Subject that was shown on the left.
        second: Subject that was shown on the right.
        choice: "first", "second" or "tie".
    """

    voter: str
    suite: str
    place: str
    task: str
    first: str
    second: str
    choice: Choice

    @property
    def item(self) -> tuple[str, str, str, str, str]:
        """What was voted on, whatever was left and right."""
        a, b = sorted((self.first, self.second))
        return self.suite, self.place, self.task, a, b

    @property
    def winner(self) -> str:
        """The subject that was preferred; empty for a tie."""
        return {"first": self.first, "second": self.second}.get(self.choice, "")


@dataclass(frozen=True)
class Agreement:
    """How often two sides say the same.

    Attributes:
        name: What is compared: "voters", or a metric.
        agreed: Number of comparisons that agree.
        n: Number of comparisons.
        interval: 95 % interval of the share, by tasks; None without a comparison.
        left_out: Comparisons in which one side does not decide.
    """

    name: str
    agreed: int
    n: int
    interval: Interval | None
    left_out: int = 0

    @property
    def share(self) -> float | None:
        """Share of comparisons that agree; None where there is none."""
        return self.agreed / self.n if self.n else None


class Votes:
    """The votes in a folder.

    Args:
        root: The folder.
    """

    def __init__(self, root: Path) -> None:
        self.path = root / FILE
        self._lock = threading.Lock()

    def read(self) -> list[Vote]:
        """All votes; the last one of a voter on a pair counts.

        Raises:
            DataError: When the file cannot be read, or a line is damaged.
        """
        if not self.path.exists():
            return []
        return list({(one.voter, one.item): one for one in read_votes(self.path)}.values())

    def add(self, vote: Vote) -> None:
        """Write a vote.

        Raises:
            UsageError: For a name of a voter or a choice that is not allowed.
            DataError: When it cannot be written.
        """
        if not _VOTER.fullmatch(vote.voter):
            raise UsageError("a voter's name has 1 to 60 letters, digits, blanks or .@_-")
        if vote.choice not in CHOICES:
            raise UsageError(f"choice is {vote.choice!r}; give {', '.join(CHOICES)}")
        try:
            with self._lock, open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(vote)) + "\n")
        except OSError as error:
            raise DataError(f"{self.path}: cannot be written ({error.strerror})") from error


def read_votes(path: Path) -> Iterator[Vote]:
    """Read a file of votes.

    Raises:
        DataError: When it cannot be read, or a line is damaged.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise DataError(f"{path}: longer than {MAX_BYTES} bytes")
        lines = [line for line in path.read_text(encoding="utf-8-sig").split("\n") if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from error
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
            vote = Vote(**{name: str(entry[name]) for name in FIELDS})  # type: ignore[arg-type]
        except (ValueError, LookupError, TypeError) as error:
            raise DataError(f"{path}: line {number} is no vote ({error}); remove it") from error
        if vote.choice not in CHOICES or vote.first == vote.second:
            raise DataError(f"{path}: line {number} is no vote on two subjects; remove it")
        yield vote


def next_pair(group: Group, voter: str, votes: Sequence[Vote]) -> tuple[str, str, str] | None:
    """The pair that a voter is shown next: one with few votes, in an order and with sides of the voter's own.

    Args:
        group: The runs that are compared.
        voter: Who votes.
        votes: All votes so far.

    Returns:
        The task, and the subjects on the left and on the right. None when the voter has seen all.
    """
    counts: dict[tuple[str, ...], int] = defaultdict(int)
    done = set()
    for one in votes:
        counts[one.item] += 1
        if one.voter == voter:
            done.add(one.item)
    best: tuple[int, str] | None = None
    found: tuple[str, str, str] | None = None
    for task, a, b in pairs_of(group):
        item = group.suite.name, group.place, task, a, b
        if item in done:
            continue
        draw = digest_of("\0".join((voter, *item)))
        rank = counts[item], draw
        if best is None or rank < best:
            best = rank
            found = (task, a, b) if int(draw[-1], 16) % 2 else (task, b, a)
    return found


def pairs_of(group: Group) -> Iterator[tuple[str, str, str]]:
    """All pairs of models under test and references that answered the same task, sorted by name."""
    for task in group.tasks:
        able = sorted(label for label, run in group.runs.items() if run.ends.get(task) in ("scored", "unscored"))
        for a, b in itertools.combinations(able, 2):
            yield task, a, b


def agreements(group: Group, votes: Sequence[Vote]) -> list[Agreement]:
    """How far voters agree with each other, and each metric with them.

    Two voters agree on a pair when their choices are the same, ties included. A metric agrees with a vote when the
    preferred subject has the better value; ties of either are left out and counted. So are votes on a task or a subject
    that the group does not have.

    Args:
        group: The runs.
        votes: All votes.

    Returns:
        The voters first, then the metrics that have a direction.
    """
    own = votes_on(group, votes)
    found = [_of_voters(group, own)]
    for metric in group.metrics:
        if metric.better != "neither":
            found.append(_of_metric(group, metric.name, metric.better == "higher", own))
    return found


def votes_on(group: Group, votes: Sequence[Vote]) -> list[Vote]:
    """The votes that were held on the folder of these runs, those on a task or subject that is gone included."""
    return [one for one in votes if (one.suite, one.place) == (group.suite.name, group.place)]


def _is_known(group: Group, vote: Vote) -> bool:
    """Whether the group has the task and both subjects of a vote."""
    return any(vote.task in run.ends for run in group.runs.values()) and {vote.first, vote.second} <= group.runs.keys()


def preferences(group: Group, votes: Sequence[Vote]) -> list[dict[str, Any]]:
    """How often each subject was preferred: a row each with wins, ties, losses and points, in which ties are half.

    Votes on a task or a subject that the group does not have are left out.
    """
    own = [one for one in votes_on(group, votes) if _is_known(group, one)]
    rows = []
    for label in group.runs:
        met = [one for one in own if label in (one.first, one.second)]
        wins = sum(one.winner == label for one in met)
        ties = sum(not one.winner for one in met)
        share = (wins + ties / 2) / len(met) if met else None
        decided = [one for one in met if one.winner]
        interval = rate_interval([one.winner == label for one in decided], [one.task for one in decided])
        rows.append(
            {
                "label": label,
                "wins": wins,
                "ties": ties,
                "losses": len(met) - wins - ties,
                "share": share,
                "low": None if interval is None else interval.low,
                "high": None if interval is None else interval.high,
            }
        )
    return rows


def votes_csv(votes: Sequence[Vote]) -> str:
    """All votes as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    writer.writerows([plain_cell(str(getattr(one, name))) for name in FIELDS] for one in votes)
    return text.getvalue()


def _of_voters(group: Group, votes: Sequence[Vote]) -> Agreement:
    by_item: dict[tuple[str, ...], list[Vote]] = defaultdict(list)
    for one in votes:
        by_item[one.item].append(one)
    same, tasks, open_ = [], [], 0
    for item, theirs in by_item.items():
        pairs = list(itertools.combinations(theirs, 2))
        if not _is_known(group, theirs[0]):
            open_ += len(pairs)
            continue
        for a, b in pairs:
            same.append(a.winner == b.winner)
            tasks.append(item[2])
    return Agreement("voters", sum(same), len(same), rate_interval(same, tasks), open_)


def _of_metric(group: Group, metric: str, higher: bool, votes: Sequence[Vote]) -> Agreement:
    same, tasks, open_ = [], [], 0
    for one in votes:
        values = [_value(group, label, one.task, metric) for label in (one.first, one.second)]
        if not one.winner or None in values or values[0] == values[1]:
            open_ += 1
            continue
        ahead = one.first if (values[0] > values[1]) == higher else one.second  # type: ignore[operator]
        same.append(ahead == one.winner)
        tasks.append(one.task)
    return Agreement(metric, sum(same), len(same), rate_interval(same, tasks), open_)


def _value(group: Group, label: str, task: str, metric: str) -> float | None:
    run = group.runs.get(label)
    value: float | None = None if run is None else run.values.get(task, {}).get(metric)
    return None if value is None or np.isnan(value) else value


def plain_agreements(found: Sequence[Agreement]) -> list[Mapping[str, Any]]:
    """Agreements as plain JSON values."""
    return [
        {
            "name": one.name,
            "agreed": one.agreed,
            "n": one.n,
            "left_out": one.left_out,
            "share": one.share,
            "low": None if one.interval is None else one.interval.low,
            "high": None if one.interval is None else one.interval.high,
        }
        for one in found
    ]
