"""The viewer's server: pages of its own, what they ask for as JSON, frames and films. It changes only flags and votes.

It answers on this machine. On any other address everything asks for a token, which is in the printed link.
"""

from __future__ import annotations

import hmac
import json
import secrets
import sys
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from worldgauge.core.errors import DataError, UnknownNameError, UsageError, WorldgaugeError
from worldgauge.core.io import dumps, read_json_object, write_file
from worldgauge.report.films.film import STRIP_PX
from worldgauge.report.page import asset
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
COOKIE = "worldgauge"
MOST_BODY = 64 << 10
PATIENCE_S = 60.0
"""Seconds that a connection may be silent; each holds a thread."""
PAGES = {"/": "view.html", "/vote": "vote.html"}
ASSETS = {
    "/view.js": ("view.js", "text/javascript"),
    "/vote.js": ("vote.js", "text/javascript"),
    "/view.css": ("view.css", "text/css"),
}
LOCAL = ("127.0.0.1", "localhost", "::1")
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Viewer:
    """A running server.

    Args:
        root: Folder of the runs.
        host: Address to listen on.
        port: Port; 0 for any that is free.

    Raises:
        UsageError: For a folder that is not there, or an address that cannot be used.
    """

    def __init__(self, root: Path, host: str = "127.0.0.1", port: int = 0) -> None:
        if not root.is_dir():
            raise UsageError(f"{root}: no such folder; give the folder of your runs")
        self.library = Library(root.resolve())
        self.footages = Footages()
        self.votes = Votes(root.resolve())
        self.token = "" if host in LOCAL else secrets.token_urlsafe(24)
        self._flags = root.resolve() / FLAGS
        self._lock = threading.Lock()
        self._running = False
        self._pairs: dict[str, str] = {}
        self._sealed: dict[str, str] = {}
        handler = type("Handler", (_Handler,), {"viewer": self})
        try:
            self._server = _Server((host, port), handler)
        except (OSError, OverflowError) as error:
            raise UsageError(
                f"{host}:{port}: cannot be listened on ({error}); give another --host or --port"
            ) from error
        self.host, self.port = host, self._server.server_address[1]

    @property
    def link(self) -> str:
        """Address of the list of runs, with the token where there is one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/" + (f"?token={self.token}" if self.token else "")

    def serve(self) -> None:
        """Answer until the server is closed."""
        self._running = True
        self._server.serve_forever(poll_interval=0.2)

    def start(self) -> None:
        """Answer in a thread of its own."""
        self._running = True
        threading.Thread(target=self.serve, daemon=True).start()

    def close(self) -> None:
        """Stop answering."""
        if self._running:
            self._server.shutdown()
        self._server.server_close()

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
                "subjects": [{"label": label, "kind": run.kind} for label, run in group.runs.items()],
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
            "asked": facts["asked"],
            "sides": sides,
        }

    def side(self, group: Group, sealed: str, side: int, frame: int) -> bytes:
        """A frame, or the picture, of one side of a pair that was shown blind."""
        task, first, second = self._unseal(group, sealed)
        label = (first, second)[side]
        footage = self.footages.open(group, task)
        return self.plate(group, task, label) if footage.card is not None else footage.picture(label, frame)

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


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that has left in the middle of an answer."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    viewer: Viewer
    protocol_version = "HTTP/1.1"
    server_version = "worldgauge"
    sys_version = ""

    def setup(self) -> None:
        """Who says nothing, or does not read, is let go."""
        self.request.settimeout(PATIENCE_S)
        super().setup()

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: a page asks twice a second."""

    def _answer(self, act: Callable[[str, Mapping[str, str]], None]) -> None:
        try:
            parts = urlsplit(self.path)
            query = dict(parse_qsl(parts.query, max_num_fields=20))
            if not self._is_welcome(query):
                self._send(HTTPStatus.FORBIDDEN, b"this viewer needs the link that it printed, with its token\n")
                return
            act(parts.path, query)
        except UnknownNameError as error:
            self._send(HTTPStatus.NOT_FOUND, f"{error}\n".encode())
        except WorldgaugeError as error:
            self._send(HTTPStatus.BAD_REQUEST, f"{error}\n".encode())
        except (ValueError, KeyError, OverflowError, RecursionError) as error:
            self._send(HTTPStatus.BAD_REQUEST, f"a request that no page makes ({error})\n".encode())
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True

    def _is_welcome(self, query: Mapping[str, str]) -> bool:
        """Whether it comes with the token, or to this machine by its own name, as no page elsewhere can ask."""
        viewer = self.viewer
        if not viewer.token:
            host = urlsplit(f"//{self.headers.get('Host', '')}").hostname
            return host in LOCAL
        try:
            cookie = SimpleCookie(self.headers.get("Cookie", "")).get(COOKIE)
        except CookieError:
            cookie = None
        given = query.get("token") or ("" if cookie is None else cookie.value)
        return hmac.compare_digest(given.encode(), viewer.token.encode())

    def _get(self, path: str, query: Mapping[str, str]) -> None:
        viewer = self.viewer
        if path in PAGES:
            self._send(HTTPStatus.OK, _asset(PAGES[path]), "text/html; charset=utf-8")
        elif path == "/page.css":
            self._send(HTTPStatus.OK, asset("page.css").encode(), "text/css; charset=utf-8")
        elif path in ASSETS:
            name, kind = ASSETS[path]
            self._send(HTTPStatus.OK, _asset(name), f"{kind}; charset=utf-8")
        elif path == "/favicon.ico":
            self._send(HTTPStatus.OK, b"", "image/x-icon", keep=True)
        elif path == "/api/runs":
            self._json(viewer.runs())
        elif path == "/api/flags.json":
            self._json(viewer.flags())
        elif path == "/api/votes.csv":
            self._send(HTTPStatus.OK, votes_csv(viewer.votes.read()).encode(), "text/csv; charset=utf-8")
        else:
            self._get_of_group(path, query)

    def _get_of_group(self, path: str, query: Mapping[str, str]) -> None:
        viewer = self.viewer
        known = (
            "/api/tasks",
            "/api/task",
            "/api/film",
            "/film.mp4",
            "/frame",
            "/plate",
            "/api/pair",
            "/side",
            "/api/tally",
        )
        if path not in known:
            self._send(HTTPStatus.NOT_FOUND, b"no such page\n")
            return
        group = viewer.library.group(query["g"])
        if path == "/api/tasks":
            self._json(viewer.tasks(group, query.get("m", "")))
        elif path == "/api/task":
            self._json(viewer.task(group, query["t"]))
        elif path == "/api/film":
            self._json(viewer.film(group, query["t"], exact=query.get("x") == "1")[0])
        elif path == "/film.mp4":
            self._send(HTTPStatus.OK, viewer.film(group, query["t"], exact=query.get("x") == "1")[1], "video/mp4")
        elif path == "/frame":
            footage = viewer.footages.open(group, query["t"])
            data = footage.picture(query["c"], int(query["i"]), difference=query.get("d") == "1")
            self._send(HTTPStatus.OK, data, "image/png", keep=True)
        elif path == "/plate":
            self._send(HTTPStatus.OK, viewer.plate(group, query["t"], query["c"]), "image/png", keep=True)
        elif path == "/api/pair":
            self._json(viewer.pair(group, query["voter"]))
        elif path == "/side":
            data = viewer.side(group, query["p"], int(query["s"]) % 2, int(query.get("i", 0)))
            self._send(HTTPStatus.OK, data, "image/png", keep=True)
        else:
            self._json(viewer.tally(group))

    def _post(self, path: str, query: Mapping[str, str]) -> None:
        viewer = self.viewer
        length = int(self.headers.get("Content-Length", "-1"))
        if not 0 <= length <= MOST_BODY:
            self.close_connection = True
            raise DataError(f"a request of {length} bytes; {MOST_BODY} are the most")
        body = self.rfile.read(length)
        origin = self.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != self.headers.get("Host"):
            self._send(HTTPStatus.FORBIDDEN, b"only the viewer's own pages may change something\n")
            return
        if self.headers.get_content_type() != "application/json":
            raise DataError("a change is sent as JSON")
        said = json.loads(body)
        if not isinstance(said, dict):
            raise DataError("a change is a JSON object")
        if path not in ("/api/flag", "/api/vote"):
            self._send(HTTPStatus.NOT_FOUND, b"no such page\n")
            return
        group = viewer.library.group(str(said["g"]))
        if path == "/api/flag":
            viewer.flag(group, str(said["t"]), bool(said["on"]))
        else:
            viewer.vote(group, str(said["p"]), str(said["voter"]).strip(), str(said["choice"]))
        self._json({"ok": True})

    def _json(self, value: Any) -> None:
        self._send(HTTPStatus.OK, json.dumps(value, separators=(",", ":")).encode(), "application/json")

    def _send(
        self, status: HTTPStatus, data: bytes, kind: str = "text/plain; charset=utf-8", *, keep: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, "private, max-age=600" if keep and name == "Cache-Control" else value)
        if self.viewer.token and status == HTTPStatus.OK:
            self.send_header("Set-Cookie", f"{COOKIE}={self.viewer.token}; HttpOnly; SameSite=Strict; Path=/")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _asset(name: str) -> bytes:
    return (files(__package__) / name).read_bytes()
