"""The viewer's server: its pages, what they ask for as JSON, frames and films. It changes only flags and votes."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.io import dumps, read_json_object, write_file
from worldgauge.engine.suite.base import suites
from worldgauge.report.charts.curves import look
from worldgauge.report.films.film import STRIP_PX
from worldgauge.report.page import asset
from worldgauge.report.page_server import PageServer, Sent, as_json
from worldgauge.tools.viewer.footage import Footages, png, task_facts
from worldgauge.tools.viewer.library import ENDS, Group, Library, finite
from worldgauge.tools.viewer.votes import (
    Vote,
    Votes,
    agreements,
    next_pair,
    plain_agreements,
    preferences,
    votes_csv,
    votes_on,
)

FLAGS = "flags.json"
PAGES = {"/": "view.html", "/vote": "vote.html"}
ASSETS = {
    "/view.js": ("view.js", "text/javascript"),
    "/vote.js": ("vote.js", "text/javascript"),
    "/view.css": ("view.css", "text/css"),
}
OF_GROUPS = (
    *("/api/tasks", "/api/task", "/api/film", "/film.mp4", "/frame"),
    *("/plate", "/api/pair", "/side", "/shown", "/api/tally"),
)
"""Paths that are about one group of runs."""


class Viewer(PageServer):
    """A running server.

    Args:
        root: Folder of the runs.
        host: Address to listen on.
        port: Port; 0 for any that is free.

    Raises:
        UsageError: For a folder that is not there, or an address that cannot be used.
    """

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

    def get(self, path: str, query: Mapping[str, str]) -> Sent | None:
        """See `PageServer.get`."""
        if path in PAGES:
            return Sent(_asset(PAGES[path]), "text/html; charset=utf-8")
        if path == "/page.css":
            return Sent(asset("page.css").encode(), "text/css; charset=utf-8")
        if path in ASSETS:
            name, kind = ASSETS[path]
            return Sent(_asset(name), f"{kind}; charset=utf-8")
        if path == "/api/runs":
            return as_json(self.runs())
        if path == "/api/flags.json":
            return as_json(self.flags())
        if path == "/api/votes.csv":
            return Sent(votes_csv(self.votes.read()).encode(), "text/csv; charset=utf-8")
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

    def tasks(self, group: Group, metric: str) -> dict[str, Any]:
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
                "metrics": [{"name": m.name, "unit": m.unit, "better": m.better} for m in metrics],
                "metric": None if chosen is None else chosen.name,
                "subjects": [
                    {"label": label, "kind": run.kind, "look": look(place)}
                    for place, (label, run) in enumerate(group.runs.items())
                ],
                "ends": [
                    "".join(str(ENDS.index(run.ends.get(t, "left"))) for t in tasks) for run in group.runs.values()
                ],
                "values": [
                    [_short(finite(run.values.get(t, {}).get(chosen.name))) if chosen else None for t in tasks]
                    for run in group.runs.values()
                ],
                "flags": [task for task in tasks if task in flagged],
            }

    def task(self, group: Group, task: str) -> dict[str, Any]:
        """Everything about a task but its frames."""
        footage = self.footages.open(group, task)
        with self.library.lock:
            return task_facts(group, task, footage)

    def film(self, group: Group, task: str, *, exact: bool = False) -> tuple[dict[str, Any], bytes]:
        """The film of a task, with exact depth and labels if wanted, and how its tiles lie."""
        film = self.footages.open(group, task).make_film(exact=exact)
        facts = {
            "names": list(film.names),
            "columns": film.columns,
            "tile": list(film.tile),
            "strip": STRIP_PX,
            "fps": film.fps,
            "step": film.step,
            "frames": film.frames,
        }
        return facts, film.data

    def flags(self) -> dict[str, list[str]]:
        """Flagged tasks by place and suite."""
        if not self._flags.exists():
            return {}
        found = read_json_object(self._flags)
        return {str(place): [str(task) for task in tasks] for place, tasks in found.items() if isinstance(tasks, list)}

    def flag(self, group: Group, task: str, on: bool) -> None:
        """Flag a task, or take its flag away.

        Raises:
            DataError: When the file of flags cannot be written.
        """
        if task not in group.tasks:
            raise UnknownNameError("task", task, group.tasks[:50])
        with self._lock:
            flags = self.flags()
            kept = [one for one in flags.get(_place_of(group), []) if one != task]
            flags[_place_of(group)] = [*kept, task] if on else kept
            write_file(self._flags, dumps(flags, indent=1) + "\n")

    def pair(self, group: Group, voter: str) -> dict[str, Any]:
        """What a voter is shown next, without the names of the subjects."""
        votes = self.votes.read()
        own = [one for one in votes if (one.suite, one.place) == (group.suite.name, group.place)]
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
            answer = answers.get(label)
            clip = footage.clips.get(label)
            sides.append(
                {
                    "frames": 0 if clip is None else len(clip),
                    "picture": bool(answer and answer["picture"]),
                    "text": "" if answer is None or answer["picture"] else answer["text"][:4000],
                }
            )
        return {
            **told,
            "done": False,
            "pair": self._seal(group, task, first, second),
            "task": task,
            "fps": footage.fps,
            "frames": footage.frames,
            "about": suites.entry(group.suite.name).summary,
            "asked": facts["asked"],
            "shown": footage.shown is not None,
            "sides": sides,
        }

    def side(self, group: Group, sealed: str, side: int, frame: int) -> bytes:
        """A frame, or the picture, of one side of a pair that was shown blind."""
        task, first, second = self._unseal(group, sealed)
        label = (first, second)[side]
        footage = self.footages.open(group, task)
        return self.plate(group, task, label) if footage.card is not None else footage.picture(label, frame)

    def shown(self, group: Group, sealed: str) -> bytes:
        """The last frame that both sides of a pair were shown."""
        task, _, _ = self._unseal(group, sealed)
        return self.footages.open(group, task).last_shown()

    def plate(self, group: Group, task: str, label: str) -> bytes:
        """The picture of an answer."""
        card = self.footages.open(group, task).card
        view = None if card is None else card.plates.get(label)
        if view is None or view.picture is None:
            raise UnknownNameError("picture of an answer", label, [] if card is None else card.plates)
        return png(view.picture)

    def vote(self, group: Group, sealed: str, voter: str, choice: str) -> None:
        """Take a vote.

        Raises:
            UsageError: For a pair that was not shown, or another choice.
        """
        task, first, second = self._unseal(group, sealed)
        self.votes.add(Vote(voter, group.suite.name, group.place, task, first, second, choice))  # type: ignore[arg-type]

    def tally(self, group: Group) -> dict[str, Any]:
        """Who was preferred, and how far voters and metrics agree."""
        votes = votes_on(group, self.votes.read())
        with self.library.lock:
            return {
                "votes": len(votes),
                "voters": len({one.voter for one in votes}),
                "subjects": preferences(group, votes),
                "agreement": plain_agreements(agreements(group, votes)),
            }

    def _get_of_group(self, path: str, query: Mapping[str, str]) -> Sent:
        group = self.library.group(query["g"])
        if path == "/api/tasks":
            return as_json(self.tasks(group, query.get("m", "")))
        if path == "/api/task":
            return as_json(self.task(group, query["t"]))
        if path == "/api/film":
            return as_json(self.film(group, query["t"], exact=query.get("x") == "1")[0])
        if path == "/film.mp4":
            return Sent(self.film(group, query["t"], exact=query.get("x") == "1")[1], "video/mp4")
        if path == "/frame":
            footage = self.footages.open(group, query["t"])
            data = footage.picture(query["c"], int(query["i"]), difference=query.get("d") == "1")
            return Sent(data, "image/png", keep=True)
        if path == "/plate":
            return Sent(self.plate(group, query["t"], query["c"]), "image/png", keep=True)
        if path == "/api/pair":
            return as_json(self.pair(group, query["voter"]))
        if path == "/side":
            data = self.side(group, query["p"], int(query["s"]) % 2, int(query.get("i", 0)))
            return Sent(data, "image/png", keep=True)
        if path == "/shown":
            return Sent(self.shown(group, query["p"]), "image/png", keep=True)
        return as_json(self.tally(group))

    def _seal(self, group: Group, task: str, first: str, second: str) -> str:
        """A name of a pair that does not tell who is who."""
        pair = json.dumps([group.ident, task, first, second])
        with self._lock:
            sealed = self._sealed.get(pair)
            if sealed is None:
                sealed = secrets.token_urlsafe(12)
                self._pairs[sealed], self._sealed[pair] = pair, sealed
        return sealed

    def _unseal(self, group: Group, sealed: str) -> tuple[str, str, str]:
        known = self._pairs.get(sealed)
        if known is None:
            raise UsageError("a pair that was not shown here; open the voting page again")
        ident, task, first, second = json.loads(known)
        if ident != group.ident:
            raise UsageError("a pair of other runs; open the voting page again")
        return task, first, second


def _place_of(group: Group) -> str:
    return f"{group.place} {group.suite.name}"


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")


def _asset(name: str) -> bytes:
    return (files(__package__) / name).read_bytes()
