"""A model in a process of its own: what isolation costs a slow one, and how fast frames come from a quick one.

`python -m benchmarks.serving` prints a table.
"""

from __future__ import annotations

import base64
import http.client
import json
import multiprocessing
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import Context
from worldgauge.core.geometry import Camera
from worldgauge.core.image import Frames
from worldgauge.core.model import RolloutRequest, WorldModel, checked_rollout
from worldgauge.core.video import Clip
from worldgauge.serving import open_model
from worldgauge_serve import ModelSpec, Request

SIZE = (640, 360)
FRAME_S, SLOW_FRAMES, CONTEXT = 0.05, 100, 16
CHUNK, CHUNKS = 32, 16
ROUNDS = 3
GOAL_MB_PER_S, GOAL_OVERHEAD = 500, 0.03
FRAME_MB = SIZE[0] * SIZE[1] * 3 / 1e6

SERVE = [sys.executable, "-m", "worldgauge_serve"]


class Slow:
    """Takes 50 ms a frame and gives them one by one."""

    spec = ModelSpec("slow")

    def rollout(self, request: Request) -> Iterator[Frames]:
        """Black frames."""
        frame = np.zeros((1, SIZE[1], SIZE[0], 3), np.uint8)
        for _ in range(request.horizon):
            time.sleep(FRAME_S)
            yield frame


class Quick:
    """Has its frames ready, 32 a chunk."""

    spec = ModelSpec("quick")

    def __init__(self) -> None:
        self._chunk = np.full((CHUNK, SIZE[1], SIZE[0], 3), 7, np.uint8)

    def rollout(self, request: Request) -> Iterator[Frames]:
        """Grey frames."""
        for _ in range(request.horizon // CHUNK):
            yield self._chunk


def run() -> dict[str, Any]:
    """MB/s of frames over a Unix socket. Reference: multiprocessing.Pipe. The rest is in further fields."""
    seconds, speeds = _overhead(), _throughput()
    overheads = {way: seconds[way] / seconds["in this process"] - 1 for way in ("cmd:", "http:")}
    ours = {way: speeds[way] for way in ("cmd:", "pipe:", "http:")}
    return {
        "name": "serving",
        "unit": "MB/s of frames, chunks of 22 MB",
        "ours": round(ours["cmd:"]),
        "reference": round(speeds["multiprocessing.Pipe"]),
        "reference_name": "multiprocessing.Pipe",
        "ratio": round(ours["cmd:"] / speeds["multiprocessing.Pipe"], 2),
        "goal": GOAL_MB_PER_S,
        "met": min(ours.values()) >= GOAL_MB_PER_S and max(overheads.values()) < GOAL_OVERHEAD,
        "mb_per_s": {way: round(speed) for way, speed in speeds.items()},
        "overhead": {way: round(share, 4) for way, share in overheads.items()},
        "overhead_goal": GOAL_OVERHEAD,
    }


def _overhead() -> dict[str, float]:
    """Median seconds of a rollout by a model of 50 ms a frame, for each way to it."""
    with ExitStack() as stack:
        models: dict[str, WorldModel] = {
            "in this process": Slow(),  # type: ignore[dict-item]
            "cmd:": stack.enter_context(closing(open_model(f"cmd:{' '.join(SERVE)} {__file__}:Slow"))),
            "http:": stack.enter_context(closing(open_model(_http_server("Slow", stack)))),
        }
        request = _request(SLOW_FRAMES)
        return _medians({way: lambda model=model: _roll_out(model, request) for way, model in models.items()})


def _throughput() -> dict[str, float]:
    """Median MB/s of frames between two processes, for each way."""
    with ExitStack() as stack:
        request = _request(CHUNK * CHUNKS, 1)
        ways: dict[str, Callable[[], None]] = {}
        for way, text in (
            ("cmd:", f"cmd:{' '.join(SERVE)} {__file__}:Quick"),
            ("pipe:", f"pipe:{' '.join(SERVE)} --pipes {__file__}:Quick"),
            ("http:", _http_server("Quick", stack)),
        ):
            model = stack.enter_context(closing(open_model(text)))
            ways[way] = lambda model=model: _roll_out(model, request)
        ways["multiprocessing.Pipe"] = _pipe_peer(stack)
        ways["JSON with base64 over HTTP"] = _json_peer(stack)
        return {way: CHUNKS * CHUNK * FRAME_MB / seconds for way, seconds in _medians(ways).items()}


def _medians(ways: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Median seconds of each, asked in turn so that what else the machine does hits all alike; one round warms up."""
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for number in range(1 + ROUNDS):
        for way, act in ways.items():
            began = time.perf_counter()
            act()
            if number:
                seconds[way].append(time.perf_counter() - began)
    return {way: statistics.median(each) for way, each in seconds.items()}


def _roll_out(model: WorldModel, request: RolloutRequest) -> None:
    frames = sum(len(chunk) for chunk in checked_rollout(model, request))
    assert frames == request.horizon


def _request(horizon: int, context: int = CONTEXT) -> RolloutRequest:
    def actions(n: int) -> Actions:
        return Actions(LOOP_WALK, np.zeros((n, len(LOOP_WALK)), np.float32))

    clip = Clip.from_array(np.zeros((context, SIZE[1], SIZE[0], 3), np.uint8), 20.0)
    poses = np.tile(np.eye(4), (context, 1, 1))
    seen = Context(clip, poses, actions(context - 1), Camera.from_vertical_fov(*SIZE, 70))
    return RolloutRequest(seen, horizon, 0, actions=actions(horizon))


def _http_server(model: str, stack: ExitStack) -> str:
    process = subprocess.Popen([*SERVE, f"{__file__}:{model}", "--port", "0"], stdout=subprocess.PIPE, text=True)
    stack.callback(process.wait)
    stack.callback(process.kill)
    assert process.stdout is not None
    return process.stdout.readline().split()[-1]


def _pipe_peer(stack: ExitStack) -> Callable[[], None]:
    """What Python itself offers: bytes through multiprocessing.Pipe."""
    ours, theirs = multiprocessing.Pipe()
    _start(_send_bytes, (theirs,), stack)

    def act() -> None:
        ours.send(CHUNKS)
        for _ in range(CHUNKS):
            chunk = np.frombuffer(ours.recv_bytes(), np.uint8).reshape(CHUNK, SIZE[1], SIZE[0], 3)
            assert chunk[-1, -1, -1, -1] == 7

    return act


def _send_bytes(line: Connection) -> None:
    chunk = np.full((CHUNK, SIZE[1], SIZE[0], 3), 7, np.uint8)
    while True:
        for _ in range(line.recv()):
            line.send_bytes(memoryview(chunk).cast("B"))


def _json_peer(stack: ExitStack) -> Callable[[], None]:
    """What model services mostly do."""
    server = HTTPServer(("127.0.0.1", 0), _JsonHandler)
    _start(server.serve_forever, (), stack)
    port = server.server_port
    server.socket.close()

    def act() -> None:
        line = http.client.HTTPConnection("127.0.0.1", port)
        for _ in range(CHUNKS):
            line.request("POST", "/")
            frames = json.loads(line.getresponse().read())["frames"]
            chunk = np.frombuffer(base64.b64decode(frames), np.uint8).reshape(CHUNK, SIZE[1], SIZE[0], 3)
            assert chunk[-1, -1, -1, -1] == 7
        line.close()

    return act


class _JsonHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    chunk = np.full((CHUNK, SIZE[1], SIZE[0], 3), 7, np.uint8)

    def do_POST(self) -> None:
        body = json.dumps({"frames": base64.b64encode(self.chunk).decode("ascii")}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


def _start(target: Callable[..., None], arguments: tuple[Any, ...], stack: ExitStack) -> None:
    process = multiprocessing.get_context("fork").Process(target=target, args=arguments, daemon=True)
    process.start()
    stack.callback(process.join)
    stack.callback(process.kill)


def main() -> None:
    """Print both tables."""
    result = run()
    print(f"{'way':28} MB/s   (goal {result['goal']}; chunks of {CHUNK} frames {SIZE[0]}x{SIZE[1]})")
    for way, speed in result["mb_per_s"].items():
        print(f"{way:28} {speed:5}")
    print(f"\n{'way':28} overhead   (goal < {GOAL_OVERHEAD:.0%}; a model of {1000 * FRAME_S:.0f} ms a frame)")
    for way, share in result["overhead"].items():
        print(f"{way:28} {share:8.2%}")


if __name__ == "__main__":
    main()
