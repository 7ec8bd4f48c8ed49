"""HTTP requests with redirects followed by hand: only to https, and a token is never sent to another host."""

from __future__ import annotations

import http.client
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import SplitResult, urljoin, urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

from worldgauge.core.errors import WorldgaugeError
from worldgauge_serve import is_local_host

OFFLINE_VARIABLE = "WORLDGAUGE_OFFLINE"
TIMEOUT_S = 60.0
MAX_REDIRECTS = 5


class PullError(WorldgaugeError):
    """Weights that cannot be downloaded; the message says why, and what to do."""


@dataclass(frozen=True)
class Linked:
    """What a host states about a large file before it redirects to it (Hugging Face).

    Attributes:
        sha256: Digest; empty when not stated.
        bytes: Size; None when not stated.
    """

    sha256: str = ""
    bytes: int | None = None


@contextmanager
def answer_of(
    url: str, headers: Mapping[str, str], token: str = ""
) -> Iterator[tuple[http.client.HTTPResponse, Linked]]:
    """Open the response at the end of all redirects.

    Args:
        url: The address.
        headers: Headers of the request.
        token: Sent only to the host of `url`.

    Yields:
        The response, and what the host stated about the file.

    Raises:
        PullError: Downloads are switched off, or the address is not allowed.
        OSError: There is no response.
        HTTPException: The response is damaged.
    """
    if os.environ.get(OFFLINE_VARIABLE, "") not in ("", "0"):
        raise PullError(
            f"{OFFLINE_VARIABLE} is set, so nothing is fetched; files already here: worldgauge weights adopt FOLDER"
        )
    first, linked = _address(url).netloc.lower(), Linked()
    for _ in range(MAX_REDIRECTS + 1):
        parts = _address(url)
        request = Request(url, headers={**headers, "Accept-Encoding": "identity", "User-Agent": "worldgauge"})
        if token and parts.netloc.lower() == first:
            request.add_unredirected_header("Authorization", f"Bearer {token}")
        with _opener(parts).open(request, timeout=TIMEOUT_S) as answer:
            linked = linked if linked.sha256 else _linked(answer)
            if answer.status not in (301, 302, 303, 307, 308) or not answer.headers.get("Location"):
                yield answer, linked
                return
            url = urljoin(url, answer.headers["Location"])
    raise PullError(f"{shown(url)}: more than {MAX_REDIRECTS} redirects")


def shown(url: str) -> str:
    """An address as it may be printed, without its query, which is a key in signed addresses."""
    return url.split("?")[0][:200]


def number(text: str | None) -> int | None:
    """Parse a whole number of a header; None for anything else."""
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,18}", text) else None


def _opener(parts: SplitResult) -> OpenerDirector:
    # Handlers are named one by one: none opens files, none follows a redirect, none raises for a status.
    opener = OpenerDirector()
    for handler in (HTTPHandler(), HTTPSHandler(), *([] if is_local_host(parts.hostname or "") else [ProxyHandler()])):
        opener.add_handler(handler)
    return opener


def _address(url: str) -> SplitResult:
    """The parts of an address.

    Raises:
        PullError: The address is not allowed.
    """
    try:
        parts = urlsplit(url)
        sound = bool(parts.hostname) and parts.port != 0 and "@" not in parts.netloc and url.isascii()
    except ValueError:
        sound = False
    if not sound or not url.isprintable() or " " in url:
        raise PullError(f"{shown(url)!r} is no address")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_local_host(parts.hostname or "")):
        raise PullError(f"{shown(url)} is not https, so nothing is fetched from there")
    return parts


def _linked(answer: http.client.HTTPResponse) -> Linked:
    digest = answer.headers.get("X-Linked-Etag", "").removeprefix("W/").strip('"').lower()
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        return Linked()
    return Linked(digest, number(answer.headers.get("X-Linked-Size")))
