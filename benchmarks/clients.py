"""A model server under many clients at once, half of them slow or lying: who is honest must get every answer, whole.

`python -m benchmarks.clients --clients 200 --questions 10` prints one JSON object; all share the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import Context
from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.geometry import Camera
from worldgauge.core.image import Frames
from worldgauge.core.model import RolloutRequest
from worldgauge.core.video import Clip
from worldgauge.serving import open_model
from worldgauge_serve import CONTENT_TYPE, ModelSpec, Request, encode

CLIENTS, QUESTIONS = 200, 5
SIZE, FRAMES, CHUNK = (160, 90), 32, 8
PAUSE_S = 0.5
"""Seconds between two bytes of a client that is slow."""


class Seeded:
    """Frames that say which question they answer."""

    spec = ModelSpec("seeded")

    def rollout(self, request: Request) -> Iterator[Frames]:
        """Frames of the request's seed, a few at a time."""
        frames = answer(request.seed)
        for start in range(0, request.horizon, CHUNK):
            yield frames[start % FRAMES :][:CHUNK]


def answer(seed: int) -> Frames:
    """All frames (FRAMES, H, W, 3) of the answer to the question of a seed."""
    return np.random.default_rng(seed).integers(0, 256, (FRAMES, SIZE[1], SIZE[0], 3), np.uint8)


def run() -> dict[str, Any]:
    return measure(CLIENTS, QUESTIONS)


def measure(clients: int, questions: int) -> dict[str, Any]:
    """Let half of the clients ask and the other half misbehave until those have their answers.

    Args:
        clients: Number of clients.
        questions: How many each honest one asks, one after another.

    Returns:
        What `python -m benchmarks clients --json` prints.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 20 * clients)), hard))
    command = [sys.executable, "-m", "worldgauge_serve", f"{__file__}:Seeded", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().split()[-1]
            before = _state(server.pid)
            told = _storm(url, clients, questions)
            after = _settled(server.pid, before)
            (last,) = _ask(url, [-1])
        finally:
            server.kill()
    asked = clients // 2 * questions
    right = told["answers"].get("right", 0)
    return {
        "name": "clients",
        "unit": f"right answers to {clients // 2} honest clients beside {clients - clients // 2} others",
        "ours": right,
        "reference": asked,
        "reference_name": "questions asked",
        "ratio": round(right / asked, 3),
        "goal": 1.0,
        "met": right == asked and last[0] == "right" and after["threads"] <= before["threads"],
        **told,
        "server": {"before": before, "after": after},
    }


def _storm(url: str, clients: int, questions: int) -> dict[str, Any]:
    """All clients at once. Returns how answers ended, their seconds, and how often each kind misbehaved."""
    stop, done, misdeeds = threading.Event(), [], Counter[str]()
    honest = [
        threading.Thread(target=lambda n=n: done.extend(_ask(url, range(n * questions, (n + 1) * questions))))
        for n in range(clients // 2)
    ]
    kinds = list(_KINDS)
    others = [
        threading.Thread(target=_misbehave, args=(url, kinds[n % len(kinds)], n, stop, misdeeds))
        for n in range(clients - clients // 2)
    ]
    began = time.monotonic()
    for thread in [*others, *honest]:
        thread.start()
    for thread in honest:
        thread.join()
    seconds = time.monotonic() - began
    stop.set()
    for thread in others:
        thread.join()
    waits = sorted(wait for _, wait in done)
    return {
        "answers": dict(Counter(how for how, _ in done)),
        "seconds": round(seconds, 1),
        "wait_s": {"median": round(statistics.median(waits), 2), "longest": round(waits[-1], 2)},
        "misdeeds": dict(misdeeds),
    }


def _ask(url: str, seeds: Any) -> list[tuple[str, float]]:
    """How each question of an honest client ended, and after how many seconds."""
    found = []
    with closing(open_model(url)) as model:
        for seed in seeds:
            began = time.monotonic()
            try:
                frames = np.concatenate(list(model.rollout(_question(seed % 2**32))))
                how = "right" if np.array_equal(frames, answer(seed % 2**32)) else "wrong"
            except WorldgaugeError as error:
                how = str(error)
            found.append((how, time.monotonic() - began))
    return found


def _question(seed: int, frames: int = FRAMES) -> RolloutRequest:
    def actions(n: int) -> Actions:
        return Actions(LOOP_WALK, np.zeros((n, len(LOOP_WALK)), np.float32))

    clip = Clip.from_array(np.zeros((2, SIZE[1], SIZE[0], 3), np.uint8), 20.0)
    seen = Context(clip, np.tile(np.eye(4), (2, 1, 1)), actions(1), Camera.from_vertical_fov(*SIZE, 70))
    return RolloutRequest(seen, frames, seed, actions=actions(frames))


def _message(seed: int, frames: int = FRAMES) -> bytes:
    """A whole question, as an honest client would send it, over HTTP."""
    from worldgauge.serving.messages import rollout_message

    header, arrays = rollout_message([_question(seed, frames)], Seeded.spec, name=f"x{seed}", deadline_s=600.0)
    return _post(b"".join(bytes(part) for part in encode({**header, "wait_s": 600.0}, arrays)))


def _post(body: bytes, length: int | None = None) -> bytes:
    return (
        f"POST /v1/rollout HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {CONTENT_TYPE}\r\n"
        f"Content-Length: {len(body) if length is None else length}\r\n\r\n"
    ).encode() + body


def _misbehave(url: str, kind: str, number: int, stop: threading.Event, misdeeds: Counter[str]) -> None:
    """Do one thing that a client should not, again and again."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    rng = random.Random(number)
    while not stop.is_set():
        with suppress(OSError), socket.create_connection((host, int(port)), timeout=5) as line:
            misdeeds[kind] += 1
            _KINDS[kind](line, rng, stop)
        stop.wait(PAUSE_S)


def _says_nothing(line: socket.socket, rng: random.Random, stop: threading.Event) -> None:
    stop.wait(20)


def _dribbles(line: socket.socket, rng: random.Random, stop: threading.Event) -> None:
    for byte in _message(rng.getrandbits(30)):
        if stop.wait(PAUSE_S):
            return
        line.sendall(bytes([byte]))


def _reads_slowly(line: socket.socket, rng: random.Random, stop: threading.Event) -> None:
    """An answer of 28 MB, which no buffer of a connection holds."""
    line.sendall(_message(rng.getrandbits(30), 20 * FRAMES))
    line.settimeout(PAUSE_S)
    while not stop.wait(PAUSE_S):
        with suppress(TimeoutError):
            if not line.recv(512):
                return


def _leaves(line: socket.socket, rng: random.Random, stop: threading.Event) -> None:
    line.sendall(_message(rng.getrandbits(30)))
    stop.wait(rng.random())


def _is_cut(line: socket.socket, rng: random.Random, stop: threading.Event) -> None:
    whole = _message(rng.getrandbits(30))
    line.sendall(whole[: rng.randrange(len(whole))])


def _announces_much(line: socket.socket, rng: random.Random, stop: threading.Event) -> None:
    """Gigabytes to come, of which nothing comes."""
    shape = [1 << 10, 1 << 10, 1 << 10, 3]
    header = json.dumps(
        {"type": "rollout", "arrays": [{"name": "0/context/frames", "dtype": "uint8", "shape": shape}]}
    ).encode()
    line.sendall(_post(struct.pack("<I", len(header)) + header, length=(3 << 30) + len(header) + 4))
    stop.wait(10)


def _lies_about_lengths(line: socket.socket, rng: random.Random, stop: threading.Event) -> None:
    line.sendall(_post(struct.pack("<I", rng.getrandbits(32)) + rng.randbytes(100), length=rng.getrandbits(40)))
    line.recv(1000)


def _sends_noise(line: socket.socket, rng: random.Random, stop: threading.Event) -> None:
    line.sendall(rng.randbytes(5000))
    line.recv(1000)


def _changes_bytes(line: socket.socket, rng: random.Random, stop: threading.Event) -> None:
    whole = bytearray(_message(rng.getrandbits(30)))
    for _ in range(5):
        whole[rng.randrange(len(whole))] = rng.randrange(256)
    line.sendall(whole)
    line.recv(1000)


def _cancels_others(line: socket.socket, rng: random.Random, stop: threading.Event) -> None:
    for name in ("", None, "x1", ["x"], rng.randbytes(8).hex()):
        body = b"".join(bytes(part) for part in encode({"type": "cancel", "id": name}))
        line.sendall(_post(body).replace(b"/v1/rollout", b"/v1/cancel"))
        line.recv(1000)


_KINDS: dict[str, Callable[[socket.socket, random.Random, threading.Event], None]] = {
    "says nothing": _says_nothing,
    "dribbles": _dribbles,
    "reads slowly": _reads_slowly,
    "leaves": _leaves,
    "is cut": _is_cut,
    "announces much": _announces_much,
    "lies about lengths": _lies_about_lengths,
    "sends noise": _sends_noise,
    "changes bytes": _changes_bytes,
    "cancels others": _cancels_others,
}


def _state(process: int) -> dict[str, int]:
    """Threads, open files, and megabytes resident and at most of a process."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    return {
        "threads": int(fields["Threads"]),
        "files": len(os.listdir(f"/proc/{process}/fd")),
        "mb": int(fields["VmRSS"].split()[0]) // 1000,
        "peak_mb": int(fields["VmHWM"].split()[0]) // 1000,
    }


def _settled(process: int, before: dict[str, int], seconds: float = 20.0) -> dict[str, int]:
    """The state when all threads of the storm have ended, or after so many seconds."""
    end = time.monotonic() + seconds
    while (now := _state(process))["threads"] > before["threads"] and time.monotonic() < end:
        time.sleep(0.1)
    return now


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clients", description=__doc__.split("\n")[0])
    parser.add_argument("--clients", type=int, default=CLIENTS, help="default: %(default)s")
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="of each honest client (%(default)s)")
    options = parser.parse_args()
    print(json.dumps(measure(options.clients, options.questions)))


if __name__ == "__main__":
    main()
