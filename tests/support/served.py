"""What tests of served models share: a question, a server, and whether a process is still there."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from support.places import TESTS
from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import Context
from worldgauge.core.geometry import Camera
from worldgauge.core.model import RolloutRequest
from worldgauge.core.video import Clip

MODELS = TESTS / "serving" / "served_models"
PYTHON = sys.executable


def command(model: str, *options: str) -> str:
    """A command line that serves a model of client_models.py."""
    return " ".join([PYTHON, "-m", "worldgauge_serve", *options, f"'{MODELS / 'client_models.py'}:{model}'"])


def question(horizon: int = 6, size: tuple[int, int] = (16, 12), seed: int = 5, **fields: Any) -> RolloutRequest:
    """A small request with random contents."""
    rng = np.random.default_rng(seed)
    frames = rng.integers(0, 256, (4, size[1], size[0], 3)).astype(np.uint8)
    poses = np.tile(np.eye(4), (4, 1, 1))
    poses[:, :3, 3] = rng.uniform(0, 9, (4, 3))

    def actions(n: int) -> Actions:
        return Actions(LOOP_WALK, rng.integers(0, 2, (n, len(LOOP_WALK))).astype(np.float32))

    depths = rng.uniform(1, 30, (4, size[1], size[0])).astype(np.float32)
    context = Context(Clip.from_array(frames, 20.0), poses, actions(3), Camera.from_vertical_fov(*size, 70))
    context = replace(context, depth=depths.__getitem__)
    request = RolloutRequest(context, horizon, seed, actions=actions(horizon), task="ABA/made/up")
    return replace(request, **fields)


@contextmanager
def http_server(
    model: str, *options: str, token: str = "", port: int = 0, file: str = "client_models.py"
) -> Iterator["Server"]:
    """A server process of a model of `file`, on loopback."""
    target = f"{MODELS / file}:{model}"
    process = subprocess.Popen(
        [PYTHON, "-m", "worldgauge_serve", target, "--port", str(port), *options],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "WORLDGAUGE_TOKEN": token},
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith("serving "):
                break
        # What the model prints later must not fill the pipe.
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield Server(line.split()[-1], process)
    finally:
        process.kill()
        process.wait()


class Server:
    def __init__(self, url: str, process: "subprocess.Popen[str]") -> None:
        self.url = url
        self.port = int(url.rpartition(":")[2])
        self.process = process

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except OSError:
        return False
    return state not in b"ZX"


def wait_until(true: Any, seconds: float = 20.0) -> None:
    """Look until it is so; for what another process does."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.01)


def contents(out: Path) -> Mapping[str, bytes]:
    """Every file of the records, and the scores."""
    files = [path for path in out.rglob("*") if path.is_file() and "records" in path.parts]
    return {str(path.relative_to(out)): path.read_bytes() for path in [*files, *out.rglob("scores.jsonl")]}
