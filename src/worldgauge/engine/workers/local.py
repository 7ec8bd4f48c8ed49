"""A worker on this machine: a process that speaks JSON lines (`engine.workers.worker`) and its reader threads."""

from __future__ import annotations

import json
import os
import platform
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from worldgauge.engine.workers.processes import end_session
from worldgauge.engine.workers.worker import GRACE_S
from worldgauge.serving.printed import Tail, how_it_ended
from worldgauge.serving.process import FOLDER_VARIABLE, OUTER_VARIABLE, private_folder

MAX_LOG_BYTES = 10_000_000
"""Largest size of a log in bytes."""

THREAD_LIMITS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "OPENCV_FOR_THREADS_NUM",
)
"""Variables that say how many threads a process may use."""
_END_S = 10.0


def log_of(logs: Path | None, place: int) -> Path | None:
    """The log file of the worker in a place. None without a folder of logs."""
    return None if logs is None else logs / f"worker-{place}.log"


class LocalWorker:
    """A process that computes with one thread, in a session of its own; see `engine.workers.pool.Worker`.

    Args:
        events: Queue for the lines of the worker: the worker, the line or None at its end, and the time in seconds.
        environment: Variables that are added to the environment of this process.
        log: File for the output of the worker. It is made with the first output.
        path: Module search path, by default that of this process.
        beside: Whether `path` is appended to the worker's own search path, as needed on another machine.
        directory: Working directory, by default that of this process.
    """

    refusal: str | None = None

    def __init__(
        self,
        events: queue.SimpleQueue[tuple[Any, bytes | None, float]],
        *,
        environment: Mapping[str, str] | None = None,
        log: Path | None = None,
        path: list[str] | None = None,
        beside: bool = False,
        directory: str | None = None,
    ) -> None:
        self._events = events
        self._ended = self._closed_its_pipe = False
        self._folder = private_folder()
        self._process = subprocess.Popen(
            # -P: the worker gets this process's search path, which need not hold the working directory.
            [sys.executable, "-P", "-m", "worldgauge.engine.workers.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **_one_thread(), FOLDER_VARIABLE: self._folder, **(environment or {})},
            cwd=directory,
            start_new_session=True,
        )
        self._printed = _Printed(log, self._process.pid)
        self._ears = [
            threading.Thread(target=self._read_answers, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=self._read_prints, args=(self._process.stderr,), daemon=True),
        ]
        for ear in self._ears:
            ear.start()
        threading.Thread(target=self._wait, daemon=True).start()
        start = {"path": sys.path if path is None else path, "alone": not beside}
        self.send(json.dumps(start).encode("ascii"))

    def send(self, line: bytes) -> None:
        """Send one line to the worker."""
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):  # it died: the end of its other pipe says so
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()

    def is_dead(self) -> bool:
        """Whether nothing more will come from the worker."""
        return self._ended

    def dismiss(self) -> None:
        """Ask the worker to end as soon as it is idle."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def wait_or_kill(self) -> None:
        """Wait until a dismissed worker has ended; kill it if that takes too long."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(2 * GRACE_S)
        self.kill()

    def kill(self) -> None:
        """End the process and all processes that it started."""
        # To distinguish a worker that ended by itself from one that is killed here.
        self._closed_its_pipe = self._process.poll() is None
        end_session(self._process.pid)
        with suppress(subprocess.TimeoutExpired):  # stuck in the kernel, such as on a dead file system
            self._process.wait(_END_S)
        for ear in self._ears:
            ear.join(GRACE_S)
        self.dismiss()
        shutil.rmtree(self._folder, ignore_errors=True)

    def last_words(self) -> tuple[str, str]:
        """How the worker ended with the last line of its output, and where the rest is. Call it after `kill`."""
        code = self._process.returncode
        how = "closed its pipe" if self._closed_its_pipe or code is None else how_it_ended(code)
        return f"the worker process {how}{self._printed.tail.last_words()}", self._printed.place()

    def _read_answers(self, pipe: IO[bytes]) -> None:
        with pipe:
            for line in pipe:
                self._events.put((self, line, time.monotonic()))
        with suppress(subprocess.TimeoutExpired):  # so that it can be said how it ended
            self._process.wait(GRACE_S)
        self._end()

    def _read_prints(self, pipe: IO[bytes]) -> None:
        with pipe:
            while chunk := os.read(pipe.fileno(), 65536):
                self._printed.add(chunk)

    def _wait(self) -> None:
        self._process.wait()
        # Children of a dead worker may hold its pipe open, so do not wait for its end without a limit.
        self._ears[0].join(GRACE_S)
        self._end()

    def _end(self) -> None:
        self._ended = True
        self._events.put((self, None, time.monotonic()))


class _Printed:
    """Output of a process: its end in memory, all of it in a file up to a size limit."""

    def __init__(self, log: Path | None, pid: int) -> None:
        self._log = log
        self._pid = pid
        self.tail = Tail()
        self._written = 0

    def add(self, chunk: bytes) -> None:
        """Keep the next bytes of the output."""
        self.tail.add(chunk)
        if self._log is not None:
            with suppress(OSError):  # a full disk: the task in hand will say so
                self._write(self._log, chunk)

    def place(self) -> str:
        """Where the complete output is, for the end of a message."""
        return f"; more in {self._log}" if self._log is not None and self._written else ""

    def _write(self, log: Path, chunk: bytes) -> None:
        if not self._written:
            log.parent.mkdir(parents=True, exist_ok=True)
            if log.exists() and log.stat().st_size > MAX_LOG_BYTES:
                log.replace(log.with_suffix(".old.log"))
            now = datetime.now().astimezone().isoformat(timespec="seconds")
            chunk = f"\n--- {now} {platform.node()} process {self._pid} ---\n".encode() + chunk
        if self._written > MAX_LOG_BYTES:
            return
        self._written += len(chunk)
        if self._written > MAX_LOG_BYTES:
            chunk += f"\n--- more than {MAX_LOG_BYTES:,} bytes: the rest is not kept ---\n".encode()
        with open(log, "ab") as file:
            file.write(chunk)


def _one_thread() -> dict[str, str]:
    """Environment for one thread per worker, so that results are the same on any machine.

    The previous values are passed on to the models that the worker starts.
    """
    before = {name: os.environ.get(name) for name in THREAD_LIMITS}
    return {**dict.fromkeys(THREAD_LIMITS, "1"), OUTER_VARIABLE: json.dumps(before)}
