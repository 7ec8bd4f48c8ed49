"""A worker process: JSON lines of jobs on stdin, of answers on stdout; and `LocalWorker`, which starts one here."""

from __future__ import annotations

import atexit
import importlib
import json
import os
import platform
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import IO, Any, TextIO

from worldgauge.core.errors import UsageError, WorldgaugeError, without_controls
from worldgauge.serving.process import FOLDER_VARIABLE, OUTER_VARIABLE, Tail, how_it_ended, private_folder

_ROUNDS = 200
_ROUND_S = 0.005
_PROC = Path("/proc")


def end_session(session: int) -> None:
    """Kill a session except this process, and wait. Killing its group is not enough: a child may lead another group."""
    if not (_PROC / "self" / "stat").exists():
        if session != os.getpid():
            _kill(session, group=True)
        return
    for _ in range(_ROUNDS):  # again: one may have started another since it was looked for
        members = session_members(session)
        if not members:
            return
        for pid in members:
            _kill(pid)
        time.sleep(_ROUND_S)


def session_members(session: int) -> list[int]:
    """Ids of the living processes of a session, without this one. Needs /proc."""
    found = []
    for entry in os.scandir(_PROC):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):  # it ended meanwhile
            # "pid (command) state parent group session ...", and the command may hold spaces and brackets.
            state, _, _, its = Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split()[:4]
            if int(its) == session and state not in b"ZX":
                found.append(int(entry.name))
    return found


def _kill(pid: int, *, group: bool = False) -> None:
    with suppress(ProcessLookupError, PermissionError):
        (os.killpg if group else os.kill)(pid, signal.SIGKILL)


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
    """A process that computes with one thread, in its own session; see `pool.Worker`. First output creates `log`.

    On another machine `beside` appends `path` to the worker's own search path. `model_threads` applies to a model in
    its own process, if the user sets none.
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
        model_threads: str | None = None,
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
            env={**os.environ, **_one_thread(model_threads), FOLDER_VARIABLE: self._folder, **(environment or {})},
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


def _one_thread(model_threads: str | None) -> dict[str, str]:
    """One thread for the worker, so that results are the same on any machine. `model_threads` is for its models."""
    before = {name: os.environ.get(name, model_threads) for name in THREAD_LIMITS}
    return {**dict.fromkeys(THREAD_LIMITS, "1"), OUTER_VARIABLE: json.dumps(before)}


if __name__ == "__main__":
    serve()
