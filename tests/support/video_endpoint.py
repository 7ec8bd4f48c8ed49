"""A video generation service on loopback that speaks the dialect of `video-api`, and can be told to misbehave."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Reply:
    """One answer. stated: Content-Length where it lies. stalls: sends its head, then nothing until the end.

    trickles: sends its body byte by byte, one in 10 ms.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    stated: int | None = None
    chunked: bool = False
    stalls: bool = False
    trickles: bool = False
    drops: bool = False


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    headers: Message
    body: bytes


class VideoEndpoint:
    """with VideoEndpoint(video) as service: VideoApi(service.url, "m") ...

    video: bytes it delivers. states: what successive questions about a generation are answered. link: address of the
    video; by default on this server. before: answers to give first, by "POST", "GET" (a question) or "VIDEO".
    asked: all that came. made: ids of generations by idempotency key.
    """

    def __init__(self, video: bytes = b"", host: str = "127.0.0.1") -> None:
        self.video = video
        self.states: list[dict[str, Any]] = [{"status": "queued"}, {"status": "running"}]
        self.link = "/files/one.mp4"
        self.before: dict[str, list[Reply]] = defaultdict(list)
        self.asked: list[Asked] = []
        self.made: dict[str, str] = {}
        self.over = threading.Event()
        self._left: dict[str, list[dict[str, Any]]] = {}
        self._server = ThreadingHTTPServer((host, 0), _Handler)
        self._server.daemon_threads = True
        self._server.endpoint = self  # type: ignore[attr-defined]
        self.host = f"{host}:{self._server.server_address[1]}"
        self.url = f"http://{self.host}/v1"

    def __enter__(self) -> VideoEndpoint:
        # A short poll: `shutdown` waits for it.
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, asked: Asked) -> Reply:
        kind = {"POST": "POST"}.get(asked.method, "VIDEO" if asked.path.startswith("/files/") else "GET")
        self.asked.append(asked)
        if self.before[kind]:
            return self.before[kind].pop(0)
        if kind == "VIDEO":
            return Reply(body=self.video)
        if kind == "POST":
            key = asked.headers.get("Idempotency-Key", "")
            made = self.made.setdefault(key, f"gen-{len(self.made)}")
            self._left.setdefault(made, list(self.states))
            return json_reply({"id": made})
        left = self._left.get(urlsplit(asked.path).path.rpartition("/")[2])
        if left is None:
            return json_reply({"error": "no such generation"}, 404)
        return json_reply(left.pop(0) if left else {"status": "succeeded", "video": self.link})

    def of(self, method: str, folder: str = "/v1/") -> list[Asked]:
        """What came by `method` below `folder`."""
        return [asked for asked in self.asked if asked.method == method and asked.path.startswith(folder)]


def json_reply(value: object, status: int = 200, **headers: str) -> Reply:
    return Reply(status, json.dumps(value).encode(), {"Content-Type": "application/json", **headers})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        endpoint: VideoEndpoint = self.server.endpoint  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        reply = endpoint.answer(Asked(self.command, self.path, self.headers, body))
        self.close_connection = True
        if reply.drops:
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(len(reply.body) if reply.stated is None else reply.stated))
        self.end_headers()
        if reply.stalls:
            endpoint.over.wait(60)
            return
        with suppress(OSError):  # the client had enough
            for byte in reply.body if reply.trickles else b"":
                self.wfile.write(bytes([byte]))
                endpoint.over.wait(0.01)
            if reply.trickles:
                return
            self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(reply.body), reply.body) if reply.chunked else reply.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""
