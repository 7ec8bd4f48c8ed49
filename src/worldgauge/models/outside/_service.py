"""Client of an untrusted JSON service over HTTP: allowed hosts, size limits and retries."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

from worldgauge.core.errors import SubjectError, UsageError
from worldgauge.serving.messages import without_login
from worldgauge_serve import is_local_host, proxy_note

T = TypeVar("T")

MAX_JSON_BYTES = 1 << 20
MAX_REDIRECTS = 3
OUTAGES = 5
"""Failures of one request, by connection or server, after which the service counts as down."""
TIMEOUT_S = 60.0
LONGEST_PAUSE_S = 15.0
SHORTEST_PAUSE_S = 0.1


class Deadline:
    """Time left for one piece of work.

    Args:
        seconds: Time in seconds.
        clock: Has `monotonic` and `sleep`, as the module `time` does.
    """

    def __init__(self, seconds: float, clock: Any) -> None:
        self._seconds = seconds
        self._clock = clock
        self._end = clock.monotonic() + seconds

    def left(self) -> float:
        """Seconds left; not positive after the deadline."""
        return float(self._end - self._clock.monotonic())

    def wait(self, seconds: float, why: str) -> None:
        """Pause.

        Args:
            seconds: Length of the pause.
            why: Reason for the wait, for the message.

        Raises:
            SubjectError: The pause would pass the deadline.
        """
        if seconds >= self.left():
            raise SubjectError(f"nothing within {self._seconds:g} s; {why}")
        self._clock.sleep(seconds)


class Service:
    """One service.

    Args:
        url: Address of the service.
        headers: Sent only to the host of `url`.
        secret: The part of the headers that must never be shown.
        download_from: Another host, or host:port, from which files may be downloaded.
        insecure: Allow http to a host that is not this machine.

    Raises:
        UsageError: The address is not allowed.
    """

    def __init__(self, url: str, headers: Mapping[str, str], secret: str, download_from: str, insecure: bool) -> None:
        self._url = url.rstrip("/")
        self._headers = headers
        self._secret = secret
        self._insecure = insecure
        if "@" in url:  # first, so that no message shows what may be a password
            raise UsageError(f"url {self.plain('...' + url.rpartition('@')[2])} holds a user name or a password")
        if fault := self._fault(url, None):
            raise UsageError(f"url {self.plain(_shown(url))} {fault}")
        parts = urlsplit(url)
        if parts.query or parts.fragment:
            raise UsageError(
                f"url {self.plain(_shown(url))} must end before '?' and '#': addresses are made by appending to it"
            )
        self._host = parts.netloc.lower()
        self._download_hosts = {self._host, download_from.lower() or self._host}

    def ask(
        self,
        method: str,
        path: str,
        until: Deadline,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[dict[str, Any], float | None]:
        """Send a request and read a JSON object.

        Args:
            method: HTTP method.
            path: Path below the address of the service.
            until: Deadline of the request.
            body: JSON object to send.
            headers: Further headers.

        Returns:
            The object, and the pause in seconds that the service asks for (Retry-After).

        Raises:
            SubjectError: A refusal, a redirect, an outage, an answer that is not an object, or a passed deadline.
        """
        url = f"{self._url}/{path}"
        what = f"{method} {_shown(url)}"
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        kinds = {"Accept": "application/json", **({"Content-Type": "application/json"} if data else {})}

        def read(answer: http.client.HTTPResponse) -> tuple[dict[str, Any], float | None]:
            text = b"".join(_blocks(answer, MAX_JSON_BYTES, until))
            try:
                found = json.loads(text)
            except (ValueError, RecursionError):
                found = None
            if not isinstance(found, dict):
                raise SubjectError(f"{what} answered {self.plain(_text(text[:80]))!r}, which is no JSON object")
            return found, _retry_after(answer)

        given = self._exchange(Request(url, data, {**kinds, **(headers or {})}, method=method), until, read)
        if isinstance(given, str):
            raise SubjectError(f"{what} leads on to {self.plain(_shown(given))}; give that address as url")
        return given

    def download(self, link: str, path: Path, limit: int, until: Deadline) -> None:
        """Download a file; redirects may lead only to the hosts that are allowed for links.

        Args:
            link: Address of the file.
            path: File to write.
            limit: Largest size in bytes.
            until: Deadline of the download.

        Raises:
            SubjectError: As in `ask`, or the link leads to a host that is not allowed.
        """

        def save(answer: http.client.HTTPResponse) -> None:
            with open(path, "wb") as file:
                for block in _blocks(answer, limit, until):
                    file.write(block)

        url = _join(f"{self._url}/", link)
        for _ in range(MAX_REDIRECTS + 1):
            if fault := self._fault(url, self._download_hosts):
                raise SubjectError(f"the file lies at {self.plain(_shown(url))}, which {fault}")
            given = self._exchange(Request(url), until, save)
            if given is None:
                return
            url = _join(url, given)
        raise SubjectError(f"the file lies behind more than {MAX_REDIRECTS} redirects")

    def plain(self, text: object) -> str:
        """Text of the service as one short line of printable characters, without the secret."""
        line = str(text).replace(self._secret, "(secret)") if self._secret else str(text)
        return " ".join("".join(c if c.isprintable() else " " for c in line).split())[:300]

    def _exchange(self, request: Request, until: Deadline, read: Callable[[http.client.HTTPResponse], T]) -> T | str:
        """Result of `read` on the response, or the address that it redirects to; repeats it after an outage."""
        what = f"{request.get_method()} {self.plain(_shown(request.full_url))}"
        if urlsplit(request.full_url).netloc.lower() == self._host:
            for name, value in self._headers.items():
                request.add_header(name, value)
        outages, pause, opener = 0, 1.0, _opener(request.full_url)
        while True:
            after = None
            try:
                with opener.open(request, timeout=max(SHORTEST_PAUSE_S, min(TIMEOUT_S, until.left()))) as answer:
                    if answer.status in (200, 201, 202):
                        return read(answer)
                    if answer.status in (301, 302, 303, 307, 308) and answer.headers.get("Location"):
                        return str(answer.headers["Location"])
                    trouble, after = self._refusal(answer, until), _retry_after(answer)
                    if answer.status < 500 and answer.status not in (408, 425, 429):
                        raise SubjectError(f"{what} answered {trouble}")
                    outages += answer.status != 429
            except (OSError, http.client.HTTPException) as error:
                outages += 1
                trouble = (self.plain(error) or type(error).__name__) + proxy_note(request.full_url)
            if outages == OUTAGES:
                raise SubjectError(f"{what} failed {OUTAGES} times, the last time with {trouble}")
            until.wait(pause if after is None else after, f"{what}: {trouble}")
            pause = min(2 * pause, LONGEST_PAUSE_S)

    def _refusal(self, answer: http.client.HTTPResponse, until: Deadline) -> str:
        """Status and the first words of the body, if there are any."""
        text = b""
        with suppress(OSError, http.client.HTTPException, SubjectError):
            text = next(_blocks(answer, MAX_JSON_BYTES, until), b"")
        status = f"{answer.status} {http.client.responses.get(answer.status, '')}".strip()
        return self.plain(f"{status}: {_text(text[:400])}" if text else status)

    def _fault(self, url: str, hosts: set[str] | None) -> str | None:
        """Why `url` is not allowed; None when it is. With `hosts` None, all hosts are allowed."""
        if not (url.isascii() and url.isprintable()) or " " in url:
            return "holds characters that no address has"
        try:
            parts = urlsplit(url)
            _ = parts.port
        except ValueError as error:
            return f"is no address ({error})"
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return "is no http or https address"
        if "@" in parts.netloc:
            return "holds a user name or a password"
        if parts.scheme == "http" and not self._insecure and not is_local_host(parts.hostname):
            return "is not encrypted; use https, or give insecure=true"
        if hosts is not None and parts.netloc.lower() not in hosts:
            return f"is another host; where that is meant give download_from={parts.netloc.lower()}"
        return None


def _join(base: str, link: str) -> str:
    try:
        return urljoin(base, link)
    except ValueError:
        return link  # no address either: `_fault` says so


def _opener(url: str) -> OpenerDirector:
    # Handlers are named one by one: none opens files, none follows a redirect, none raises for a status.
    opener = OpenerDirector()
    opener.addheaders = [("User-Agent", "worldgauge")]
    is_here = is_local_host(urlsplit(url).hostname or "")
    for handler in (HTTPHandler(), HTTPSHandler(), *([] if is_here else [ProxyHandler()])):
        opener.add_handler(handler)
    return opener


def _blocks(answer: http.client.HTTPResponse, limit: int, until: Deadline) -> Iterator[bytes]:
    """The body in blocks, as it arrives.

    Raises:
        SubjectError: It passes `limit` bytes or the deadline.
        ConnectionError: It is cut off.
    """
    stated, done = answer.length, 0
    if stated is not None and stated > limit:
        raise SubjectError(f"the service sends {stated} bytes, the limit is {limit}")
    while block := answer.read1(1 << 16):
        done += len(block)
        if done > limit:
            raise SubjectError(f"the service sends more than the limit of {limit} bytes")
        until.wait(0.0, f"{done} bytes had come")
        yield block
    if stated is not None and done < stated:
        raise ConnectionError(f"cut off after {done} of {stated} bytes")


def _retry_after(answer: http.client.HTTPResponse) -> float | None:
    """Seconds that the service asks to wait, given as a number or a date."""
    given = answer.headers.get("Retry-After", "").strip()
    if re.fullmatch(r"\d{1,9}", given):
        return max(SHORTEST_PAUSE_S, float(given))
    with suppress(ValueError, TypeError):
        return max(SHORTEST_PAUSE_S, (parsedate_to_datetime(given) - datetime.now(UTC)).total_seconds())
    return None


def _shown(url: str) -> str:
    """An address as it may be printed and stored, without its query and login, which may be keys."""
    return without_login(url.split("?")[0])[:200]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
