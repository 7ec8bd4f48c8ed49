"""A host of files on this machine that behaves as badly as a test wants, and sets of weights that lie there."""

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from worldgauge.weights import WeightFile, WeightSet


@dataclass
class Answer:
    """What is answered at one path. cuts: answers that end after so many bytes each; then whole ones."""

    data: bytes = b""
    ranges: bool = True
    if_range: bool = True
    etag: str = '"one"'
    cuts: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    announce: int | None = None
    chunked: bool = False
    pause_s: float = 0.0


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever asked may have gone away."""


class LocalHost:
    """Answers by path, and the requests that came: (path, headers)."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self._server = _Quiet(("127.0.0.1", 0), self._handler())
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def ranges(self) -> list[str]:
        """What part each request asked for."""
        return [headers.get("Range", "") for _, headers in self.asked]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        host = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                host.asked.append((self.path, dict(self.headers)))
                answer = host.answers.get(self.path, Answer(statuses=[404] * 99))
                if answer.statuses:
                    self._send(answer.statuses.pop(0), b"", answer)
                    return
                start, given = 0, self.headers.get("Range")
                fresh = not answer.if_range or self.headers.get("If-Range") in (None, answer.etag)
                if given and answer.ranges and fresh:
                    start = int(given.removeprefix("bytes=").removesuffix("-"))
                    if start >= len(answer.data):
                        self._send(416, b"", answer, **{"Content-Range": f"bytes */{len(answer.data)}"})
                        return
                    place = f"bytes {start}-{len(answer.data) - 1}/{len(answer.data)}"
                    self._send(206, answer.data[start:], answer, **{"Content-Range": place})
                    return
                self._send(200, answer.data, answer)

            def _send(self, status: int, body: bytes, answer: Answer, **more: str) -> None:
                self.send_response(status)
                for name, value in {**answer.headers, **more}.items():
                    self.send_header(name, value)
                if answer.etag:
                    self.send_header("ETag", answer.etag)
                if answer.chunked:
                    self.send_header("Transfer-Encoding", "chunked")
                else:
                    self.send_header("Content-Length", str(len(body) if answer.announce is None else answer.announce))
                self.end_headers()
                cut = answer.cuts.pop(0) if body and answer.cuts else len(body)
                for block in (body[k : min(k + 4096, cut)] for k in range(0, cut, 4096)):
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(block), block) if answer.chunked else block)
                    time.sleep(answer.pause_s)
                if answer.chunked and cut == len(body):
                    self.wfile.write(b"0\r\n\r\n")
                if cut < len(body):
                    self.close_connection = True

            def log_message(self, *arguments: Any) -> None:
                pass

        return Handler


@contextmanager
def local_host() -> Iterator[LocalHost]:
    host = LocalHost()
    try:
        yield host
    finally:
        host.close()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def toy_set(*files: WeightFile, name: str = "toy", gated: bool = False) -> WeightSet:
    """A set of files that somebody else owns."""
    return WeightSet(name, "Toy", "https://owner.example/toy", "Toy License", ("play",), files, gated=gated)


def toy_file(host: LocalHost, name: str, data: bytes, **known: Any) -> WeightFile:
    """A file that lies at /NAME of `host`, its size and digest published unless said otherwise."""
    host.answers[f"/{name}"] = Answer(data)
    return WeightFile(name, host.url(f"/{name}"), **{"bytes": len(data), "sha256": sha256(data), **known})
