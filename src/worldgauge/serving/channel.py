"""The connection to a served model: the Channel protocol, its errors, and sockets with a deadline."""

from __future__ import annotations

import math
import socket
import ssl
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Protocol

from worldgauge_serve import ANSWERS, Arrays, ArraySpec, Header

LOAD_DEADLINE_S = 1800.0
"""Longest time in seconds for a model to load."""
ENDS = ("done", "estimated", "error", *ANSWERS.values())
"""Message types that end the answer to a request."""

Message = tuple[Header, Arrays]
Check = Callable[[Header, list[ArraySpec]], None]


class GoneError(Exception):
    """The process or the connection behind a channel has ended; another attempt may succeed."""


class SilentError(Exception):
    """No complete message came in time."""


@dataclass(frozen=True)
class ChannelRequest:
    """A rollout or estimate message. `check` gets each announced answer before it is read. `on_wait` is called every
    few seconds in a queue; waiting in a queue that moves is not silence."""

    id: str
    header: Header
    arrays: Arrays
    deadline_s: float
    check: Check
    on_wait: Callable[[], None] | None = None

    def waits(self) -> None:
        """Notify the caller that the request waits in a queue."""
        if self.on_wait is not None:
            self.on_wait()


class Channel(Protocol):
    """A connection to a served model; for one thread."""

    def connect(self) -> Header:
        """Start or reach the server if necessary."""

    def ask(self, question: ChannelRequest) -> Generator[Message]:
        """Send a request. The channel can be used again after each error."""

    def close(self) -> None:
        """Close the connection; a server that was started here is ended."""


class _Timed:
    """A socket with a deadline, however slowly bytes arrive; `on_quiet` is called after `look_s` silent seconds."""

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
