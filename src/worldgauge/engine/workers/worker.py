"""A worker process: takes jobs as JSON lines on stdin, answers as JSON lines. Started by `engine.workers.local`."""

from __future__ import annotations

import atexit
import importlib
import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TextIO

from worldgauge.core.errors import UsageError, WorldgaugeError, without_controls
from worldgauge.engine.workers.processes import end_session

PREFIX = "worldgauge."
GRACE_S = 0.5
REPORT_EVERY_S = 0.1

Progress = Callable[[int, int], None]


def serve() -> None:
    """Answer jobs until stdin ends. A job in progress is then given up, so no worker outlives its parent."""
    # The pipe is taken away from file descriptor 1, so that a model's prints cannot break the protocol.
    channel = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    commands = os.fdopen(os.dup(0), encoding="ascii")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    start = json.loads(commands.readline())
    own = [] if start["alone"] else sys.path
    sys.path[:] = [*own, *(folder for folder in start["path"] if folder not in own)]
    # Registered first, so it runs last, after a model had its chance to end what it started.
    atexit.register(_end_others)
    channel.write(json.dumps({"up": True}) + "\n")
    channel.flush()
    jobs: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(commands, jobs), daemon=True).start()
    while (line := jobs.get()) is not None:
        _answer(channel, json.loads(line))


def resolve(call: str) -> Callable[..., Any]:
    """Find the function "module:function"."""
    module, _, name = call.partition(":")
    if not module.startswith(PREFIX) or not name.isidentifier():
        raise UsageError(f"a job may only call 'worldgauge.<module>:<function>', not '{call}'")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def one_line(error: BaseException) -> str:
    """An error in one line. Our own errors give only their message, others also their type."""
    text = " ".join(without_controls(str(error)).split())
    if isinstance(error, WorldgaugeError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def trace_now() -> str:
    """The traceback of the error that is being handled, without what would control a terminal in a model's words."""
    return without_controls(traceback.format_exc())


def _answer(channel: TextIO, job: Mapping[str, Any]) -> None:
    def send(message: Mapping[str, Any]) -> None:
        channel.write(json.dumps(message, allow_nan=False) + "\n")
        channel.flush()

    last = 0.0

    def progress(done: int, total: int) -> None:
        nonlocal last
        if done >= total or time.monotonic() - last >= REPORT_EVERY_S:
            last = time.monotonic()
            send({"progress": [int(done), int(total)]})

    try:
        function = resolve(job["call"])
        send({"value": function(**job["args"], progress=progress)})
    except BrokenPipeError:
        raise
    except (Exception, SystemExit) as error:
        known = isinstance(error, WorldgaugeError)
        send({"error": one_line(error), "kind": type(error).__name__, "trace": trace_now(), "known": known})


def _listen(commands: Iterable[str], jobs: queue.SimpleQueue[str | None]) -> None:
    for line in commands:
        jobs.put(line)
    jobs.put(None)
    time.sleep(GRACE_S)
    # Still running: a job hangs or is long, and nobody is left to take its answer.
    _end_others()
    if os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _end_others() -> None:
    """End all processes that this process has started and that still run; only where it leads a session of its own."""
    if os.getsid(0) == os.getpid():
        end_session(os.getpid())


if __name__ == "__main__":
    serve()
