"""What lies between us and a served model: the Channel protocol, its faults, sockets with a deadline."""

from __future__ import annotations

import math
import socket
import ssl
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Protocol

from worldgauge_serve import Arrays, ArraySpec, Header

LOAD_DEADLINE_S = 1800.0
"""Seconds a model may take to load."""
ENDS = ("done", "estimated", "error")
"""Types of message after which nothing more comes to a question."""

Message = tuple[Header, Arrays]
Check = Callable[[Header, list[ArraySpec]], None]


class GoneError(Exception):
    """The process or the connection behind a channel has ended; asked again, another may answer."""


class SilentError(Exception):
    """No whole message came in time."""


@dataclass(frozen=True)
class Question:
    """A rollout or estimate message.

    check: raises SubjectError for an answer that does not fit, before any of it is read.
    deadline_s: longest silence in seconds between two messages. on_wait: called every few seconds while it stands in
    line; standing there is no silence as long as the line moves.
    """

    id: str
    header: Header
    arrays: Arrays
    deadline_s: float
    check: Check
    on_wait: Callable[[], None] | None = None

    def waits(self) -> None:
        """Tell whoever asked that it stands in line."""
        if self.on_wait is not None:
            self.on_wait()


class Channel(Protocol):
    """One way to a served model; for one thread."""

    def connect(self) -> Header:
        """The server's hello, after starting or reaching it where that is due.

        Raises GoneError when it ends while it loads; SubjectError or UsageError when it is no good.
        """

    def ask(self, question: Question) -> Generator[Message]:
        """The messages that answer, up to one of `ENDS`; an iterator that is closed before that cancels.

        Raises GoneError, SilentError, and SubjectError for what breaks the protocol or `question.check`; the channel
        can be used again after each.
        """

    def close(self) -> None:
        """Leave; end the server where we have started it."""


class _Timed:
    """A socket with an end in time, however slowly single bytes come.

    until: in `time.monotonic` seconds. on_quiet: called whenever nothing has come for `look_s` seconds; it may `allow`.
    """

    until = math.inf
    look_s = math.inf
    on_quiet: Callable[[], None] | None = None

    def allow(self, seconds: float) -> None:
        """Move the end to `seconds` from now."""
        self.until = time.monotonic() + seconds

    def recv_into(self, *arguments: Any) -> int:
        while True:
            self._arm(math.inf if self.on_quiet is None else self.look_s)
            try:
                count: int = super().recv_into(*arguments)  # type: ignore[misc]
                return count
            except TimeoutError:
                if self.on_quiet is None:
                    raise
                self.on_quiet()

    def send(self, *arguments: Any) -> int:
        self._arm()
        count: int = super().send(*arguments)  # type: ignore[misc]
        return count

    def sendall(self, *arguments: Any) -> None:
        self._arm()
        super().sendall(*arguments)  # type: ignore[misc]

    def _arm(self, longest_s: float = math.inf) -> None:
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        left = min(left, longest_s)
        self.settimeout(None if left == math.inf else left)  # type: ignore[attr-defined]


class TimedSocket(_Timed, socket.socket):
    """A plain socket with a deadline."""

    @classmethod
    def of(cls, plain: socket.socket) -> TimedSocket:
        """Takes the place of `plain`."""
        return cls(fileno=plain.detach())


class TimedTlsSocket(_Timed, ssl.SSLSocket):
    """An encrypted socket with a deadline."""
