"""Servers of the same model behind several addresses: each request goes to one that is free."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any

from worldgauge.core.errors import SubjectError, UsageError
from worldgauge.serving.channel import Message, Question
from worldgauge.serving.http_channel import DownError, HttpServer
from worldgauge_serve import TOKEN_VARIABLE, Header

PATIENCE_S = 300.0
"""Seconds that servers may be down after they have answered, to be restarted and to load."""
WAIT_S = 86_400.0
"""Seconds that a request waits in the queue of a single server; it is withdrawn when the queue does not move."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 1.0


class Replicas:
    """One or more HTTP servers of the same model; see `channel.Channel`.

    Each process starts its round with another server. A server that is down is left out until it answers again.

    Args:
        urls: Addresses of the servers.
        who: Name of the model, for messages.
        patience_s: Seconds that all servers may be down after they have answered, to be restarted and to load.

    Raises:
        UsageError: An address is not allowed.
    """

    def __init__(self, urls: Sequence[str], who: str, patience_s: float = PATIENCE_S) -> None:
        """Check the addresses.

        Args:
            urls: Addresses, http://host:port each.
            who: Name of the model, for messages.
            patience_s: How long to wait for a free server, seconds.

        Raises:
            UsageError: An address is malformed, holds a password, or is given twice.
        """
        if any("@" in url for url in urls):  # first, so that no message shows what may be a password
            raise UsageError(f"{who}: an address is http://host:port alone; the token goes into {TOKEN_VARIABLE}")
        token = os.environ.get(TOKEN_VARIABLE, "")
        self._servers = [HttpServer(url.strip(), token, who, self._admit) for url in urls]
        if len({server.url for server in self._servers}) < len(urls):
            raise UsageError(f"{who}: an address is given twice")
        first = os.getpid() % len(urls)
        self._round = self._servers[first:] + self._servers[:first]
        self._who = who
        self._longest_patience_s = self._patience_s = patience_s
        self._hello: Header = {}
        self._said_by = ""

    @property
    def urls(self) -> list[str]:
        """Addresses in the order in which this process uses them."""
        return [server.url for server in self._round]

    def connect(self) -> Header:
        """See `Channel.connect`. Later, `ask` connects to the servers that are up and checks their hello."""
        if not self._hello:
            down = self._greet_all()
            if len(down) == len(self._servers):
                raise SubjectError(f"{self._who}: {'; '.join(down)}")
            for reason in down:
                print(f"{self._who}: a server {reason}; left out until it answers", file=sys.stderr, flush=True)
        return self._hello

    def ask(self, question: Question) -> Generator[Message]:
        """See `Channel.ask`. Waiting for a free server is not silence as long as one of them makes progress."""
        moved = answered = time.monotonic()
        before = None
        pause_s = _FIRST_PAUSE_S
        while True:
            down = []
            for server in self._round:
                try:
                    with closing(self._try(server, question)) as messages:
                        first = next(messages, None)
                        if first is None:
                            continue
                        self._patience_s = self._longest_patience_s
                        yield first
                        yield from messages
                        return
                except DownError as error:
                    down.append(str(error))
            now, progress = time.monotonic(), [server.progress for server in self._servers]
            if progress != before:
                before, moved = progress, now
            if len(down) < len(self._servers):
                answered = now
                question.waits()
            if now - answered > self._patience_s:
                self._patience_s = 0.0  # servers that did not come back in time are not waited for again
                raise SubjectError(f"{self._who}: {'; '.join(down)}")
            if now - moved > question.deadline_s and answered == now:
                raise SubjectError(f"{self._who}: busy with others for {question.deadline_s:g} s; add servers of it")
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def close(self) -> None:
        """See `Channel.close`; the servers keep running."""
        for server in self._servers:
            server.drop()

    def _try(self, server: HttpServer, question: Question) -> Generator[Message]:
        """The answer of `server`; empty when it is busy."""
        alone = len(self._servers) == 1
        # A single server gets the request at once; of several servers only one that is free gets it.
        if not alone and server.is_busy():
            return
        with closing(server.ask(question, WAIT_S if alone else 0.0)) as messages:
            first = next(messages)
            if first[0].get("kind") != "busy":
                yield first
                yield from messages
                return
        server.is_busy()  # for its progress

    def _greet_all(self) -> list[str]:
        """Reasons of the servers that are down."""
        down = []
        for server in self._servers:
            try:
                server.greet()
            except DownError as error:
                down.append(str(error))
        return down

    def _admit(self, url: str, hello: Header) -> None:
        if not self._hello:
            self._hello, self._said_by = hello, url
        is_same_code = bool(hello.get("code")) and hello["code"] == self._hello.get("code")
        for field in ("version", "spec", "source", "given"):
            now, before = hello.get(field), self._hello.get(field)
            if now != before and not (field == "source" and is_same_code):
                text = f"{self._who}: {url} serves another model than {self._said_by} did: its {field} differs"
                raise SubjectError(f"{text} ({_short(now)}, {_short(before)}); start all from the same file")


def _short(given: Any) -> str:
    text = repr(given)
    return text if len(text) <= 120 else text[:117] + "..."
