"""A hand at the page on which a person acts: asks for what is shown, and sends what is done."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

PATIENCE_S = 120.0


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Hand:
    """Args: port: of the page on this machine."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(self, path: str, *, body: bytes | None = None, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
        """Status and content of an answer; with a body it is sent as JSON."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            if body is None:
                link.request("GET", path, headers=headers or {})
            else:
                link.request("POST", path, body, {"Content-Type": "application/json", **(headers or {})})
            answer = link.getresponse()
            return answer.status, answer.read()
        finally:
            link.close()

    def now(self) -> dict[str, Any]:
        """What the page shows; nothing before it is there and after it is gone."""
        try:
            status, data = self.ask("/api/now")
        except OSError:
            return {"state": "away"}
        assert status == 200, data
        found: dict[str, Any] = json.loads(data)
        return found

    def turn(self, after: str = "") -> dict[str, Any]:
        """The next decision after that of the given name; or that the run is over."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            now = self.now()
            if now["state"] in ("done", "stopped") or (now["state"] == "asking" and now["turn"] != after):
                return now
            time.sleep(0.02)
        raise AssertionError("nothing is asked")

    def act(self, turn: str, **said: Any) -> tuple[int, str]:
        """Do something; status and text of the answer."""
        status, data = self.ask("/api/act", body=json.dumps({"turn": turn, **said}).encode())
        return status, data.decode()

    def picture(self, turn: str, name: str) -> tuple[int, bytes]:
        """A picture of a decision."""
        return self.ask(f"/picture?{urlencode({'turn': turn, 'name': name})}")

    def play(self, act: Callable[[dict[str, Any]], dict[str, Any]]) -> list[dict[str, Any]]:
        """Act until the run is over; all decisions that were shown."""
        shown: list[dict[str, Any]] = []
        while (now := self.turn(shown[-1]["turn"] if shown else ""))["state"] == "asking":
            shown.append(now)
            status, text = self.act(now["turn"], **act(now))
            assert status == 200, text
        return shown
