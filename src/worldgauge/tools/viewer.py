"""A server for runs while they grow: lists, films in step, worst cases, flags, and blind votes.

Votes lie in `people-votes.jsonl` in the folder that is viewed, a line each, so that they can be read by anything.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import secrets
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np

from worldgauge.core.errors import DataError, UnknownNameError, UsageError
from worldgauge.core.intervals import Interval, rate_interval
from worldgauge.core.io import digest_of, dumps, read_json_object, write_file
from worldgauge.engine.suite.base import suites
from worldgauge.report.curves import look
from worldgauge.report.film import STRIP_PX
from worldgauge.report.page import asset
from worldgauge.report.page_server import PageResponse, PageServer, as_json
from worldgauge.terminal.output import plain_cell
from worldgauge.tools.viewer_runs import ENDS, Footages, Library, RunGroup, finite, png, task_facts

FILE = "people-votes.jsonl"
MAX_BYTES = 256 << 20
Choice = Literal["first", "second", "tie"]
CHOICES = ("first", "second", "tie")
FIELDS = ("voter", "suite", "place", "task", "first", "second", "choice")
_VOTER = re.compile(r"[\w .@-]{1,60}")


@dataclass(frozen=True)
class Vote:
    """One vote; `place` is the folder of the runs, below the viewer's."""

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
        """The model that was preferred; empty for a tie."""
        return {"first": self.first, "second": self.second}.get(self.choice, "")


@dataclass(frozen=True)
class Agreement:
    """How often two sides agree; `interval` (95 %) is by tasks, `left_out` counts what one side leaves open."""

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
    """The votes in a folder."""

    def __init__(self, root: Path) -> None:
        self.path = root / FILE
        self._lock = threading.Lock()

    def read(self) -> list[Vote]:
        """All votes; the last one of a voter on a pair counts."""
        if not self.path.exists():
            return []
        return list({(one.voter, one.item): one for one in read_votes(self.path)}.values())

    def add(self, vote: Vote) -> None:
        """Write a vote."""
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
    """Read a file of votes."""
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
            raise DataError(f"{path}: line {number} is no vote on two models; remove it")
        yield vote


def next_pair(group: RunGroup, voter: str, votes: Sequence[Vote]) -> tuple[str, str, str] | None:
    """The pair that a voter is shown next: one with few votes, in an order and with sides of the voter's own."""
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


def pairs_of(group: RunGroup) -> Iterator[tuple[str, str, str]]:
    """All pairs of models under test and baselines that answered the same task, sorted by name."""
    for task in group.tasks:
        able = sorted(label for label, run in group.runs.items() if run.ends.get(task) in ("scored", "unscored"))
        for a, b in itertools.combinations(able, 2):
            yield task, a, b


def agreements(group: RunGroup, votes: Sequence[Vote]) -> list[Agreement]:
    """Agreement of voters with each other, ties included, and of each metric with the votes. For metrics, ties of
    either and votes on tasks or models that the group lacks are left out and counted."""
    own = votes_on(group, votes)
    judging = [metric for metric in group.metrics if metric.better != "neither"]
    return [_of_voters(group, own), *(_of_metric(group, m.name, m.better == "higher", own) for m in judging)]


def votes_on(group: RunGroup, votes: Sequence[Vote]) -> list[Vote]:
    """The votes that were held on the folder of these runs, those on a task or model that is gone included."""
    return [one for one in votes if (one.suite, one.place) == (group.suite.name, group.place)]


def _is_known(group: RunGroup, vote: Vote) -> bool:
    """Whether the group has the task and both models of a vote."""
    return any(vote.task in run.ends for run in group.runs.values()) and {vote.first, vote.second} <= group.runs.keys()


def preferences(group: RunGroup, votes: Sequence[Vote]) -> list[dict[str, Any]]:
    """Wins, ties, losses and share (ties are half) per model; votes on what the group does not have are left out."""
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
                **_ends(interval),
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


def _of_voters(group: RunGroup, votes: Sequence[Vote]) -> Agreement:
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


def _of_metric(group: RunGroup, metric: str, higher: bool, votes: Sequence[Vote]) -> Agreement:
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


def _value(group: RunGroup, label: str, task: str, metric: str) -> float | None:
    run = group.runs.get(label)
    value: float | None = None if run is None else run.values.get(task, {}).get(metric)
    return None if value is None or np.isnan(value) else value


def plain_agreements(found: Sequence[Agreement]) -> list[Mapping[str, Any]]:
    """Agreements as plain JSON values."""
    return [
        {**{name: getattr(one, name) for name in ("name", "agreed", "n", "left_out", "share")}, **_ends(one.interval)}
        for one in found
    ]


def _ends(interval: Interval | None) -> dict[str, float | None]:
    return {"low": interval and interval.low, "high": interval and interval.high}


FLAGS = "flags.json"
ASSETS = {
    **{"/": ("view.html", "text/html"), "/vote": ("vote.html", "text/html"), "/view.css": ("view.css", "text/css")},
    **{f"/{name}": (name, "text/javascript") for name in ("view.js", "vote.js")},
}
OF_GROUPS = (
    *("/api/tasks", "/api/task", "/api/film", "/film.mp4", "/frame"),
    *("/plate", "/api/pair", "/side", "/shown", "/api/tally"),
)
"""Paths that are about one group of runs."""


class Viewer(PageServer):
    """A running server."""

    what = "viewer"
    how = "give another --host or --port"

    def __init__(self, root: Path, host: str = "127.0.0.1", port: int = 0) -> None:
        if not root.is_dir():
            raise UsageError(f"{root}: no such folder; give the folder of your runs")
        self.library = Library(root.resolve())
        self.footages = Footages()
        self.votes = Votes(root.resolve())
        self._flags = root.resolve() / FLAGS
        self._lock = threading.Lock()
        self._pairs: dict[str, str] = {}
        self._sealed: dict[str, str] = {}
        super().__init__(host, port)

    def get(self, path: str, query: Mapping[str, str]) -> PageResponse | None:
        """See `PageServer.get`."""
        if path == "/page.css":
            return PageResponse(asset("page.css").encode(), "text/css; charset=utf-8")
        if path in ASSETS:
            name, kind = ASSETS[path]
            return PageResponse((files(__package__) / name).read_bytes(), f"{kind}; charset=utf-8")
        if path == "/api/runs":
            return as_json(self.runs())
        if path == "/api/flags.json":
            return as_json(self.flags())
        if path == "/api/votes.csv":
            return PageResponse(votes_csv(self.votes.read()).encode(), "text/csv; charset=utf-8")
        return self._get_of_group(path, query) if path in OF_GROUPS else None

    def change(self, path: str, said: Mapping[str, Any]) -> bool:
        """See `PageServer.change`."""
        if path not in ("/api/flag", "/api/vote"):
            return False
        group = self.library.group(str(said["g"]))
        if path == "/api/flag":
            self.flag(group, str(said["t"]), bool(said["on"]))
        else:
            self.vote(group, str(said["p"]), str(said["voter"]).strip(), str(said["choice"]))
        return True

    # what pages ask for

    def runs(self) -> dict[str, Any]:
        """All groups with the progress of their runs."""
        groups = self.library.refresh()
        return {
            "root": str(self.library.root),
            "problems": [f"{where}: {why}" for where, why in self.library.problems.items()],
            "groups": [
                {
                    "id": group.ident,
                    "suite": group.suite.name,
                    "place": group.place,
                    "stamp": group.stamp,
                    "votable": len(group.runs) > 1,
                    "runs": [
                        {"label": label, "kind": run.kind, "expected": len(run.ends), **run.counts}
                        for label, run in group.runs.items()
                    ],
                }
                for group in groups
            ],
        }

    def tasks(self, group: RunGroup, metric: str) -> dict[str, Any]:
        """All tasks of a group with the values of one metric, by column so that 10,000 of them are small."""
        with self.library.lock:
            tasks, metrics = group.tasks, group.metrics
            chosen = next((one for one in metrics if one.name == metric), metrics[0] if metrics else None)
            cells = [group.group_of(task) for task in tasks]
            names = list(dict.fromkeys(name for cell in cells for name in cell))
            flagged = set(self.flags().get(_place_of(group), []))
            return {
                "id": group.ident,
                "suite": group.suite.name,
                "place": group.place,
                "stamp": group.stamp,
                "tasks": tasks,
                "columns": names,
                "cells": [["" if name not in cell else str(cell[name]) for cell in cells] for name in names],
                "metrics": [one._asdict() for one in metrics],
                "metric": None if chosen is None else chosen.name,
                "models": [
                    {"label": label, "kind": run.kind, "look": look(place)}
                    for place, (label, run) in enumerate(group.runs.items())
                ],
                "ends": [
                    "".join(str(ENDS.index(run.ends.get(t, "left"))) for t in tasks) for run in group.runs.values()
                ],
                "values": [
                    [_short(run.values.get(t, {}).get(chosen.name)) if chosen else None for t in tasks]
                    for run in group.runs.values()
                ],
                "flags": [task for task in tasks if task in flagged],
            }

    def task(self, group: RunGroup, task: str) -> dict[str, Any]:
        """Everything about a task but its frames."""
        footage = self.footages.open(group, task)
        with self.library.lock:
            return task_facts(group, task, footage)

    def film(self, group: RunGroup, task: str, *, exact: bool = False) -> tuple[dict[str, Any], bytes]:
        """The film of a task, with exact depth and labels if wanted, and how its tiles lie."""
        film = self.footages.open(group, task).make_film(exact=exact)
        facts = {name: getattr(film, name) for name in ("names", "columns", "tile", "fps", "step", "frames")}
        return {**facts, "strip": STRIP_PX}, film.data

    def flags(self) -> dict[str, list[str]]:
        """Flagged tasks by place and suite."""
        if not self._flags.exists():
            return {}
        found = read_json_object(self._flags)
        return {str(place): [str(task) for task in tasks] for place, tasks in found.items() if isinstance(tasks, list)}

    def flag(self, group: RunGroup, task: str, on: bool) -> None:
        """Flag a task, or take its flag away."""
        if task not in group.tasks:
            raise UnknownNameError("task", task, group.tasks[:50])
        with self._lock:
            flags = self.flags()
            kept = [one for one in flags.get(_place_of(group), []) if one != task]
            flags[_place_of(group)] = [*kept, task] if on else kept
            write_file(self._flags, dumps(flags, indent=1) + "\n")

    def pair(self, group: RunGroup, voter: str) -> dict[str, Any]:
        """What a voter is shown next, without the names of the models."""
        votes = self.votes.read()
        own = votes_on(group, votes)
        found = next_pair(group, voter, votes)
        told = {"mine": sum(one.voter == voter for one in own), "all": len(own), "suite": group.suite.name}
        if found is None:
            return {**told, "done": True}
        task, first, second = found
        footage = self.footages.open(group, task)
        facts = task_facts(group, task, footage)
        answers = {one["name"]: one for one in facts["answers"]}
        sides = []
        for label in (first, second):
            answer = answers.get(label, {"picture": False, "text": ""})
            text = "" if answer["picture"] else answer["text"][:4000]
            frames = len(footage.clips.get(label, ()))
            sides.append({"frames": frames, "picture": answer["picture"], "text": text})
        # A name of a pair that does not tell who is who.
        pair = json.dumps([group.ident, task, first, second])
        with self._lock:
            sealed = self._sealed.get(pair)
            if sealed is None:
                sealed = secrets.token_urlsafe(12)
                self._pairs[sealed], self._sealed[pair] = pair, sealed
        return {
            **told,
            "done": False,
            "pair": sealed,
            "task": task,
            "fps": footage.fps,
            "frames": footage.frames,
            "about": suites.entry(group.suite.name).summary,
            "asked": facts["asked"],
            "shown": footage.shown is not None,
            "sides": sides,
        }

    def side(self, group: RunGroup, sealed: str, side: int, frame: int) -> bytes:
        """A frame, or the picture, of one side of a pair that was shown blind."""
        task, *labels = self._unseal(group, sealed)
        label = labels[side]
        footage = self.footages.open(group, task)
        return self.plate(group, task, label) if footage.card is not None else footage.picture(label, frame)

    def shown(self, group: RunGroup, sealed: str) -> bytes:
        """The last frame that both sides of a pair were shown."""
        task, _, _ = self._unseal(group, sealed)
        return self.footages.open(group, task).last_shown()

    def plate(self, group: RunGroup, task: str, label: str) -> bytes:
        """The image of an answer."""
        card = self.footages.open(group, task).card
        view = None if card is None else card.plates.get(label)
        if view is None or view.picture is None:
            raise UnknownNameError("image of an answer", label, [] if card is None else card.plates)
        return png(view.picture)

    def vote(self, group: RunGroup, sealed: str, voter: str, choice: str) -> None:
        """Take a vote."""
        task, first, second = self._unseal(group, sealed)
        self.votes.add(Vote(voter, group.suite.name, group.place, task, first, second, choice))  # type: ignore[arg-type]

    def tally(self, group: RunGroup) -> dict[str, Any]:
        """Who was preferred, and how far voters and metrics agree."""
        votes = votes_on(group, self.votes.read())
        with self.library.lock:
            return {
                "votes": len(votes),
                "voters": len({one.voter for one in votes}),
                "models": preferences(group, votes),
                "agreement": plain_agreements(agreements(group, votes)),
            }

    def _get_of_group(self, path: str, query: Mapping[str, str]) -> PageResponse:
        group = self.library.group(query["g"])
        if path == "/api/tasks":
            return as_json(self.tasks(group, query.get("m", "")))
        if path == "/api/task":
            return as_json(self.task(group, query["t"]))
        if path == "/api/film":
            return as_json(self.film(group, query["t"], exact=query.get("x") == "1")[0])
        if path == "/film.mp4":
            return PageResponse(self.film(group, query["t"], exact=query.get("x") == "1")[1], "video/mp4")
        if path == "/frame":
            footage = self.footages.open(group, query["t"])
            data = footage.picture(query["c"], int(query["i"]), difference=query.get("d") == "1")
            return PageResponse(data, "image/png", keep=True)
        if path == "/plate":
            return PageResponse(self.plate(group, query["t"], query["c"]), "image/png", keep=True)
        if path == "/api/pair":
            return as_json(self.pair(group, query["voter"]))
        if path == "/side":
            data = self.side(group, query["p"], int(query["s"]) % 2, int(query.get("i", 0)))
            return PageResponse(data, "image/png", keep=True)
        if path == "/shown":
            return PageResponse(self.shown(group, query["p"]), "image/png", keep=True)
        return as_json(self.tally(group))

    def _unseal(self, group: RunGroup, sealed: str) -> tuple[str, str, str]:
        known = self._pairs.get(sealed)
        if known is None:
            raise UsageError("a pair that was not shown here; open the voting page again")
        ident, task, first, second = json.loads(known)
        if ident != group.ident:
            raise UsageError("a pair of other runs; open the voting page again")
        return task, first, second


def _place_of(group: RunGroup) -> str:
    return f"{group.place} {group.suite.name}"


def _short(value: float | None) -> float | None:
    return None if finite(value) is None else float(f"{value:.5g}")


__all__ = ["Viewer"]
