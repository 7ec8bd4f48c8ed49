"""A chat endpoint that is slow, wrong, rate-limited or cut off when told to be (a real HTTP server), and a clock."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from worldgauge.chat.model import Clock


class FakeClock(Clock):
    """Time passes only by sleeping; `slept` keeps each sleep."""

    def __init__(self) -> None:
        self.time = 100.0
        self.slept: list[float] = []
        self._lock = threading.Lock()

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.slept.append(seconds)
            self.time += seconds


@dataclass(frozen=True)
class Asked:
    """One request that came in; names of headers in lower case."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


Behaviour = Callable[[BaseHTTPRequestHandler, Asked], None]


def ok(
    text: str | None = "hello", *, usage: tuple[int, int] | None = (11, 7), finish: str = "stop", **more: Any
) -> Behaviour:
    """A completion. more: fields of its choice, such as `logprobs`; `message` adds to the message."""
    message = {"role": "assistant", "content": text, **more.pop("message", {})}
    completion: dict[str, Any] = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "fake-model-2025",
        "system_fingerprint": "fp_1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish, **more}],
    }
    if usage is not None:
        completion["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return raw(json.dumps(completion))


def likely(tokens: Mapping[str, float], *before: str) -> Any:
    """`logprobs` of a choice whose first token had these log-probabilities, after the tokens `before`."""
    listed = [{"token": token, "logprob": logprob, "bytes": None} for token, logprob in tokens.items()]
    places = [{"token": token, "logprob": -0.1, "top_logprobs": []} for token in before]
    return {"content": [*places, {**listed[0], "top_logprobs": listed}]}


def raw(body: str | bytes, status: int = 200, **headers: str) -> Behaviour:
    """Any reply; an underscore in a header's name stands for a hyphen."""
    data = body.encode() if isinstance(body, str) else body

    def behave(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
        handler.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return behave


def error(status: int, message: str = "no", *, code: str | None = None, **headers: str) -> Behaviour:
    """An error in the usual form."""
    return raw(json.dumps({"error": {"message": message, "type": "t", "code": code}}), status, **headers)


def after(event: threading.Event, behaviour: Behaviour | None = None) -> Behaviour:
    """Another behaviour, once `event` is set."""

    def behave(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
        event.wait(30)
        (behaviour or ok())(handler, asked)

    return behave


def cut(body: str = '{"choices": [{"mess', promised: int = 1000) -> Behaviour:
    """The connection ends within the body."""

    def behave(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(promised))
        handler.end_headers()
        handler.wfile.write(body.encode())
        handler.close_connection = True

    return behave


def reset(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
    """The connection is reset before any reply."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


class Endless:
    """A body without end, until the other side has enough of it; then `ended` is set. taken: bytes that were sent."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.taken = 0
        self.ended = threading.Event()

    def __call__(self, handler: BaseHTTPRequestHandler, asked: Asked) -> None:
        handler.send_response(self.status)
        handler.end_headers()
        handler.close_connection = True
        try:
            while self.taken < 2**28:
                handler.wfile.write(b" " * 2**16)
                self.taken += 2**16
        except OSError:
            return
        finally:
            self.ended.set()


def drip(stop: threading.Event, *, headers: bool = False) -> Behaviour:
    """One byte at a time, well within any time-out of a single read."""

    def behave(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + (b"X-Slow: " if headers else b"\r\n"))
        handler.close_connection = True
        try:
            while not stop.wait(0.02):
                handler.wfile.write(b" ")
        except OSError:
            return

    return behave


class FakeEndpoint:
    """The endpoint: behaves as `then` says, one reply after the other, and as `always` says afterwards."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.always: Behaviour = ok()
        self.at_once = self.most_at_once = 0
        self._script: list[Behaviour] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def then(self, *behaviours: Behaviour) -> None:
        """Add to the script."""
        self._script.extend(behaviours)

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()

    def _take(self, asked: Asked) -> Behaviour:
        with self._lock:
            self.asked.append(asked)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            return self._script.pop(0) if self._script else self.always

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Asked(self.path, headers, json.loads(body))
                try:
                    endpoint._take(asked)(self, asked)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True  # the other side gave up, as some tests want it to
                finally:
                    with endpoint._lock:
                        endpoint.at_once -= 1

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler
