"""Model servers over HTTP, also several at once: frames are read from the connection directly into arrays."""

from __future__ import annotations

import http.client
import os
import select
import ssl
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from typing import Any
from urllib.parse import urlsplit

from worldgauge.core.errors import ModelError, UsageError
from worldgauge.serving.channel import (
    ENDS,
    ChannelRequest,
    GoneError,
    Message,
    SilentError,
    TimedSocket,
    TimedTlsSocket,
)
from worldgauge.serving.messages import plain
from worldgauge_serve import (
    CONTENT_TYPE,
    MAX_HEADER_BYTES,
    TOKEN_VARIABLE,
    Header,
    WireError,
    encode,
    read_message,
    strict_json,
)

CONNECT_S = 10.0
"""Seconds to connect to a server and to get answers that need no model."""
CANCEL_S = 2.0
LOOK_S = 3.0
"""Seconds between two checks of the queue in which a request waits."""
IDLE_S = 20.0
"""Seconds after which an idle connection is no longer used, because servers and proxies drop idle ones."""


class DownError(GoneError):
    """A server that cannot be reached; no request was sent."""


class HttpServer:
    """One server. `admit` gets (url, hello) of each new connection, and raises ModelError for another model."""

    def __init__(self, url: str, token: str, who: str, admit: Callable[[str, Header], None]) -> None:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise UsageError(f"{who}: an address that cannot be read: {error}") from None
        if parts.scheme not in ("http", "https") or not host:
            raise UsageError(f"{who}: '{url}' is no address; give http://host:port")
        if parts.query or parts.fragment:
            raise UsageError(
                f"{who}: an address is http://host:port alone; give settings to where the server is started"
            )
        if not all("!" <= letter <= "~" for letter in token):
            raise UsageError(f"{TOKEN_VARIABLE} holds blanks or letters that no token has; copy it again")
        self.url = url.rstrip("/")
        self._who = who
        self._admit = admit
        self._token = token
        self._address = (host, port)
        self._prefix = parts.path.rstrip("/")
        self._secure = parts.scheme == "https"
        self._connection: http.client.HTTPConnection | None = None
        self._line: Any = None
        self._used = 0.0
        self.progress: tuple[Any, Any] | None = None
        """State that changes when the model makes progress; None before the first check."""
        self.waiting = False
        """Whether a request waited in its queue at the last check."""

    def greet(self) -> None:
        """Connect if necessary."""
        if self._connection is not None and time.monotonic() - self._used < IDLE_S:
            # What can be read on an idle connection is its end.
            with suppress(OSError, ValueError):
                if not select.select([self._line], [], [], 0)[0]:
                    return
        self._open()
        try:
            self._admit(self.url, self._get("/v1/info"))
        except BaseException:
            self.drop()
            raise

    def is_busy(self) -> bool:
        """Whether the server is working on a request."""
        self.greet()
        pong = self._get("/v1/health")
        self.progress, self.waiting = (pong.get("done"), pong.get("sent")), bool(pong.get("waiting"))
        return bool(pong.get("busy"))

    def ask(self, question: ChannelRequest, wait_s: float) -> Generator[Message]:
        """As `Channel.ask`; until the first message, `deadline_s` starts again while the queue moves."""
        self.greet()
        connection = self._connection
        assert connection is not None
        ended = False
        scout = HttpServer(self.url, self._token, self._who, self._admit)
        line = self._line

        def look() -> None:
            before = scout.progress
            with suppress(DownError):  # the connection that waits in the queue will report it
                scout.is_busy()
            if scout.waiting:
                question.waits()
            if before is not None and scout.progress != before:
                line.allow(question.deadline_s)

        try:
            line.allow(question.deadline_s)
            line.on_quiet, line.look_s = look, min(LOOK_S, question.deadline_s / 4)
            buffers = encode({**question.header, "wait_s": wait_s}, question.arrays)
            address = "/v1/" + question.header["type"]
            headers = {"Content-Type": CONTENT_TYPE, "Content-Length": str(sum(map(len, buffers)))}
            with suppress(BrokenPipeError, ConnectionResetError):  # a refusal is read below
                connection.request("POST", self._prefix + address, buffers, {**headers, **self._authorization()})
            response = connection.getresponse()
            self._approve(response, CONTENT_TYPE)
            while not ended:
                header, arrays = read_message(response.readinto, check=question.check)
                ended = header["type"] in ENDS
                if ended and response.read(1):
                    raise WireError("more than an answer")
                self._used = time.monotonic()
                line.on_quiet = None
                scout.drop()
                yield header, arrays
                line.allow(question.deadline_s)
        except (GeneratorExit, ModelError):
            if not ended:
                self.drop()
                self._cancel(question.id)
            raise
        except TimeoutError:
            self.drop()
            self._cancel(question.id)
            raise SilentError from None
        except WireError as error:
            self.drop()
            if error.kind == "cut":
                raise GoneError(f"closed the connection ({self.url})") from None
            self._cancel(question.id)
            raise ModelError(f"{self._who}: {self.url} breaks the protocol: {error}") from None
        except (EOFError, OSError, http.client.HTTPException) as error:
            self.drop()
            raise GoneError(f"closed the connection ({self.url}: {_reason(error)})") from None
        except BaseException:
            self.drop()
            raise
        finally:
            scout.drop()

    def drop(self) -> None:
        """Close the connection; the server keeps running."""
        if self._connection is not None:
            self._connection.close()
            # A response that was not read to its end holds the socket too.
            with suppress(OSError):
                self._line.close()
        self._connection = self._line = None

    def _open(self) -> None:
        self.drop()
        self._connection, self._line = self._connect(CONNECT_S)

    def _connect(self, timeout_s: float) -> tuple[http.client.HTTPConnection, TimedSocket | TimedTlsSocket]:
        host, port = self._address
        connection: http.client.HTTPConnection
        if self._secure:
            context = ssl.create_default_context()
            context.sslsocket_class = TimedTlsSocket
            connection = http.client.HTTPSConnection(host, port, timeout=timeout_s, context=context)
        else:
            connection = _PlainConnection(host, port, timeout=timeout_s)
        try:
            connection.connect()
        except OSError as error:
            raise DownError(f"cannot be reached ({self.url}: {_reason(error)})") from None
        line: Any = connection.sock
        line.allow(timeout_s)
        return connection, line

    def _get(self, path: str) -> Header:
        """The JSON object at `path`."""
        connection = self._connection
        assert connection is not None
        try:
            self._line.allow(CONNECT_S)
            connection.request("GET", self._prefix + path, headers=self._authorization())
            response = connection.getresponse()
            self._approve(response, "application/json")
            text = response.read(MAX_HEADER_BYTES + 1)
            found = None if len(text) > MAX_HEADER_BYTES else strict_json(text.decode("utf-8"))
        except OSError as error:
            self.drop()
            raise DownError(f"does not answer ({self.url}: {_reason(error)})") from None
        except (http.client.HTTPException, ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            self.drop()
            raise ModelError(f"{self._who}: what answers at {self.url} is no worldgauge server")
        if connection.sock is None:  # it ends the connection after every answer
            self._open()
        self._used = time.monotonic()
        return found

    def _approve(self, response: http.client.HTTPResponse, kind: str) -> None:
        """Raise an error unless the response is successful and of type `kind`."""
        status, given = response.status, (response.getheader("Content-Type") or "").partition(";")[0].strip()
        if status == 200 and given == kind:
            return
        if status == 401 and self._token:
            raise ModelError(f"{self._who}: {self.url} does not take the token in {TOKEN_VARIABLE}")
        if status == 401:
            raise ModelError(f"{self._who}: {self.url} wants a token; give the token in {TOKEN_VARIABLE}")
        if 300 <= status < 400:
            raise ModelError(f"{self._who}: {self.url} redirects elsewhere; give the address it leads to")
        if status in (502, 503, 504):
            raise DownError(f"is not there ({self.url} answers {status})")
        said = ""
        if given == "application/json":
            with suppress(ValueError, RecursionError, AttributeError):
                said = plain(strict_json(response.read(MAX_HEADER_BYTES).decode("utf-8")).get("message", ""))
        if said:
            raise ModelError(f"{self._who}: {self.url} refuses: {said}")
        raise ModelError(f"{self._who}: what answers at {self.url} is no worldgauge server (status {status})")

    def _cancel(self, name: str) -> None:
        """Notify the server that the request is cancelled; it would notice by itself at its next chunk."""
        with suppress(GoneError, OSError, http.client.HTTPException):
            connection, _ = self._connect(CANCEL_S)
            try:
                body = b"".join(encode({"type": "cancel", "id": name}))
                headers = {"Content-Type": CONTENT_TYPE, **self._authorization()}
                connection.request("POST", self._prefix + "/v1/cancel", body, headers)
                connection.getresponse().read(MAX_HEADER_BYTES)
            finally:
                connection.close()

    def _authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}"} if self._token else {}


class _PlainConnection(http.client.HTTPConnection):
    def connect(self) -> None:
        super().connect()
        self.sock = TimedSocket.of(self.sock)


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return plain(getattr(error, "strerror", None) or error)[:200] or type(error).__name__


PATIENCE_S = 300.0
"""Seconds that servers may be down after they have answered, to be restarted and to load."""
WAIT_S = 86_400.0
"""Seconds that a request waits in the queue of a single server; it is withdrawn when the queue does not move."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 1.0


class Replicas:
    """HTTP servers of one model, see `channel.Channel`; all may be down for `patience_s` after they have answered. A
    server that is down is left out until it answers again."""

    def __init__(self, urls: Sequence[str], who: str, patience_s: float = PATIENCE_S) -> None:
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
            down = []
            for server in self._servers:
                try:
                    server.greet()
                except DownError as error:
                    down.append(str(error))
            if len(down) == len(self._servers):
                raise ModelError(f"{self._who}: {'; '.join(down)}")
            for reason in down:
                print(f"{self._who}: a server {reason}; left out until it answers", file=sys.stderr, flush=True)
        return self._hello

    def ask(self, question: ChannelRequest) -> Generator[Message]:
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
                raise ModelError(f"{self._who}: {'; '.join(down)}")
            if now - moved > question.deadline_s and answered == now:
                raise ModelError(f"{self._who}: busy with others for {question.deadline_s:g} s; add servers of it")
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def close(self) -> None:
        """See `Channel.close`; the servers keep running."""
        for server in self._servers:
            server.drop()

    def _try(self, server: HttpServer, question: ChannelRequest) -> Generator[Message]:
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

    def _admit(self, url: str, hello: Header) -> None:
        if not self._hello:
            self._hello, self._said_by = hello, url
        is_same_code = bool(hello.get("code")) and hello["code"] == self._hello.get("code")
        for field in ("version", "spec", "source", "given"):
            now, before = hello.get(field), self._hello.get(field)
            if now != before and not (field == "source" and is_same_code):
                text = f"{self._who}: {url} serves another model than {self._said_by} did: its {field} differs"
                raise ModelError(f"{text} ({_short(now)}, {_short(before)}); start all from the same file")


def _short(given: Any) -> str:
    text = repr(given)
    return text if len(text) <= 120 else text[:117] + "..."
