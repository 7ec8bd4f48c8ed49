"""A server of pages on this machine: what `worldgauge view` and a person who acts in a loop look at.

It answers on this machine. On any other address everything asks for a token, which is in the printed link.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from worldgauge.core.errors import DataError, UnknownNameError, UsageError, WorldgaugeError

MOST_BODY = 64 << 10
PATIENCE_S = 60.0
"""Seconds that a connection may be silent; each holds a thread."""
LOCAL = ("127.0.0.1", "localhost", "::1")
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class PageResponse(NamedTuple):
    """What is sent for a request."""

    data: bytes
    kind: str
    keep: bool = False


class PageServer(ABC):
    """A server of pages: it listens once it is made, and answers after `start` or in `serve`. Port 0 takes any free
    one. Messages call it `what`, and say `how` to go on if the address cannot be used."""

    what = "page"
    how = "give another address"

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self.token = "" if host in LOCAL else secrets.token_urlsafe(24)
        self._running = False
        handler = type("Handler", (_Handler,), {"pages": self})
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._server = type("Server", (_Server,), {"address_family": family})((host, port), handler)
        except (OSError, OverflowError) as error:
            raise UsageError(f"{host}:{port}: cannot be listened on ({error}); {self.how}") from error
        self.host, self.port = host, self._server.server_address[1]

    @property
    def link(self) -> str:
        """Address of the first page, with the token where there is one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/" + (f"?token={self.token}" if self.token else "")

    @property
    def cookie(self) -> str:
        """Name of the cookie that holds the token: browsers send those of one host to all of its ports."""
        return f"worldgauge-{self.port}"

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

    @abstractmethod
    def get(self, path: str, query: Mapping[str, str]) -> PageResponse | None:
        """What is sent for a path; None where there is nothing."""

    @abstractmethod
    def change(self, path: str, said: Mapping[str, Any]) -> bool:
        """Do what one of its own pages asks for, sent as a JSON object."""


def as_json(value: Any) -> PageResponse:
    """A plain value as JSON."""
    return PageResponse(json.dumps(value, separators=(",", ":")).encode(), "application/json")


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that has left in the middle of an answer."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    pages: PageServer
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
                self.close_connection = True  # a body that is not read would be taken for the next request
                self._send(HTTPStatus.FORBIDDEN, f"this {self.pages.what} needs the link that was printed\n".encode())
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
        if not self.pages.token:
            host = urlsplit(f"//{self.headers.get('Host', '')}").hostname
            return host in LOCAL
        try:
            cookie = SimpleCookie(self.headers.get("Cookie", "")).get(self.pages.cookie)
        except CookieError:
            cookie = None
        given = query.get("token") or ("" if cookie is None else cookie.value)
        return hmac.compare_digest(given.encode(), self.pages.token.encode())

    def _get(self, path: str, query: Mapping[str, str]) -> None:
        sent = PageResponse(b"", "image/x-icon", True) if path == "/favicon.ico" else self.pages.get(path, query)
        if sent is None:
            self._send(HTTPStatus.NOT_FOUND, b"no such page\n")
        else:
            self._send(HTTPStatus.OK, *sent)

    def _post(self, path: str, query: Mapping[str, str]) -> None:
        told = self.headers.get("Content-Length", "")
        if not (told.isascii() and told.isdecimal()) or int(told) > MOST_BODY:
            self.close_connection = True
            raise DataError(f"a request of {told[:20] or 'unknown'} bytes; {MOST_BODY} are the most")
        body = self.rfile.read(int(told))
        origin = self.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != self.headers.get("Host"):
            self._send(HTTPStatus.FORBIDDEN, f"only pages of this {self.pages.what} may change something\n".encode())
            return
        if self.headers.get_content_type() != "application/json":
            raise DataError("a change is sent as JSON")
        said = json.loads(body)
        if not isinstance(said, dict):
            raise DataError("a change is a JSON object")
        if self.pages.change(path, said):
            self._send(HTTPStatus.OK, *as_json({"ok": True}))
        else:
            self._send(HTTPStatus.NOT_FOUND, b"no such page\n")

    def _send(
        self, status: HTTPStatus, data: bytes, kind: str = "text/plain; charset=utf-8", keep: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, "private, max-age=600" if keep and name == "Cache-Control" else value)
        if self.pages.token and status == HTTPStatus.OK:
            self.send_header("Set-Cookie", f"{self.pages.cookie}={self.pages.token}; HttpOnly; SameSite=Strict; Path=/")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
