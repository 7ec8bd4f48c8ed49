"""A pool of worker processes: jobs in, results out as they come; a job that hangs or dies costs only itself.

with Pool(4) as pool:
    for result in pool.run(Job(str(n), "worldgauge.collect.x:make", {"seed": n}) for n in range(100)):
        ...
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Any

from worldgauge.engine.worker import GRACE_S
from worldgauge.errors import UsageError

Watch = Callable[[str, int, int], None]

_THREAD_LIMITS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "OPENCV_FOR_THREADS_NUM",
)


@dataclass(frozen=True)
class Job:
    """One call of `call`, "worldgauge.module:function", as function(**args, progress=report).

    args: plain JSON values. deadline_s: seconds without a sign of progress after which it is
    killed; None waits for ever. The function returns plain JSON values and may call
    report(done, total) as often as it likes.
    """

    id: str
    call: str
    args: Mapping[str, Any]
    deadline_s: float | None = None


@dataclass(frozen=True)
class Result:
    """What became of a job: its value, or an error in one line.

    kind, trace: type and traceback of the exception; None when the job was killed or died.
    known: whether it was a WorldgaugeError, whose line says all.
    """

    id: str
    value: Any = None
    error: str | None = None
    kind: str | None = None
    trace: str | None = None
    known: bool = False
    seconds: float = 0.0


class Pool:
    """`workers` processes, started when first needed; each does one job at a time with one thread.

    Leaving the context ends them; a job in hand is lost, so a job's effect must be whole or absent.
    """

    def __init__(self, workers: int) -> None:
        if workers < 1:
            raise UsageError(f"workers must be at least 1, got {workers}")
        self._size = workers
        self._idle: list[_Worker] = []
        self._busy: list[_Worker] = []
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()

    def run(self, jobs: Iterable[Job], watch: Watch | None = None) -> Generator[Result]:
        """Results in the order in which jobs end. A job is taken from `jobs` only when a worker is free.

        watch: called with (job id, done, total) whenever a job reports progress.
        """
        waiting = iter(jobs)
        more = True
        try:
            while True:
                while more and len(self._busy) < self._size:
                    job = next(waiting, None)
                    if job is None:
                        more = False
                    else:
                        self._start(job)
                if not self._busy:
                    return
                yield from self._next_results(watch)
        finally:
            for worker in self._busy:
                worker.kill()
            self._busy.clear()

    def close(self) -> None:
        """End all workers."""
        for worker in self._idle:
            worker.dismiss()
        for worker in self._idle:
            worker.wait_or_kill()
        for worker in self._busy:
            worker.kill()
        self._idle.clear()
        self._busy.clear()

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self, job: Job) -> None:
        for dead in [worker for worker in self._idle if worker.is_dead()]:
            self._dismiss(dead)
        worker = self._idle.pop() if self._idle else _Worker(self._events)
        self._busy.append(worker)
        worker.take(job)

    def _next_results(self, watch: Watch | None) -> list[Result]:
        """Wait for one message, one death or one missed deadline; the results of jobs that ended by it."""
        try:
            worker, line, came = self._events.get(timeout=min(worker.patience() for worker in self._busy))
        except queue.Empty:
            return self._overdue(time.monotonic())
        result = self._heard(worker, line, came, watch)
        # Judged by when the message came: what came before it has been heard, however long that took here.
        return ([] if result is None else [result]) + self._overdue(came)

    def _heard(self, worker: _Worker, line: bytes | None, came: float, watch: Watch | None) -> Result | None:
        """Take in one message, None for the end of the pipe; the result if a job ended by it."""
        if worker in self._idle and line is None:
            self._dismiss(worker)
        if worker not in self._busy:
            return None
        if line is None:
            return self._lost(worker, worker.last_words())
        try:
            message = json.loads(line)
        except ValueError:
            return self._lost(worker, "worker sent a broken message")
        if "progress" in message:
            worker.alive = max(worker.alive, came)
            done, total = message["progress"]
            if watch is not None and total:
                watch(worker.job.id, done, total)
            return None
        self._busy.remove(worker)
        self._idle.append(worker)
        return Result(worker.job.id, **message, seconds=worker.seconds())

    def _overdue(self, now: float) -> list[Result]:
        """Jobs that missed their deadline or lost their worker by `now`; news of others must not hide them."""
        results = []
        for worker in list(self._busy):
            limit = worker.job.deadline_s
            if limit is not None and now - worker.alive >= limit:
                results.append(self._lost(worker, f"timed out after {limit:g} s without progress"))
            # Children of a dead worker may hold its pipe open, so the end of the pipe is not enough.
            elif worker.dead_for(now) > GRACE_S:
                results.append(self._lost(worker, worker.last_words()))
        return results

    def _dismiss(self, worker: _Worker) -> None:
        """Let an idle worker go that has died."""
        self._idle.remove(worker)
        worker.kill()

    def _lost(self, worker: _Worker, error: str) -> Result:
        self._busy.remove(worker)
        worker.kill()
        return Result(worker.job.id, error=error, seconds=worker.seconds())


class _Worker:
    """A process, the threads that read its pipes, and the job it has in hand."""

    job: Job

    def __init__(self, events: queue.SimpleQueue[Event]) -> None:
        self._process = subprocess.Popen(
            # -P: the worker gets this process's search path, which need not hold the working directory.
            [sys.executable, "-P", "-m", "worldgauge.engine.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
            start_new_session=True,
        )
        self._errors: deque[str] = deque(maxlen=20)
        self._died: float | None = None
        self._listeners = [
            threading.Thread(target=self._read_answers, args=(self._process.stdout, events), daemon=True),
            threading.Thread(target=self._read_errors, args=(self._process.stderr,), daemon=True),
        ]
        for listener in self._listeners:
            listener.start()
        self._send(sys.path)

    def take(self, job: Job) -> None:
        self.job = job
        self._began = self.alive = time.monotonic()
        self._send({"call": job.call, "args": dict(job.args)})

    def patience(self) -> float:
        """Seconds until this worker must be looked at again, message or not."""
        if self.job.deadline_s is None:
            return GRACE_S
        return min(GRACE_S, max(0.0, self.alive + self.job.deadline_s - time.monotonic()))

    def seconds(self) -> float:
        return time.monotonic() - self._began

    def is_dead(self) -> bool:
        return self._process.poll() is not None

    def dead_for(self, now: float) -> float:
        if not self.is_dead():
            return 0.0
        if self._died is None:
            self._died = time.monotonic()
        return now - self._died

    def last_words(self) -> str:
        """How the process ended, with the last line it wrote to stderr."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_S)
        self._listeners[1].join(GRACE_S)
        code = self._process.returncode
        if code is None:
            how = "closed its pipe"
        elif code < 0:
            name = signal.Signals(-code).name
            how = f"was killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")
        else:
            how = f"exited with code {code}"
        last = next((line for line in reversed(self._errors) if line.strip()), None)
        return f"the worker process {how}" + (f"; its last words: {last.strip()[:300]}" if last else "")

    def dismiss(self) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def wait_or_kill(self) -> None:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(2 * GRACE_S)
        self.kill()

    def kill(self) -> None:
        """End the process and all it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self.dismiss()

    def _send(self, message: Any) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it died: the end of its other pipe says so
            self._process.stdin.write(json.dumps(message, allow_nan=False).encode("ascii") + b"\n")
            self._process.stdin.flush()

    def _read_answers(self, pipe: IO[bytes], events: queue.SimpleQueue[Event]) -> None:
        for line in pipe:
            events.put((self, line, time.monotonic()))
        events.put((self, None, time.monotonic()))

    def _read_errors(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            self._errors.append(line.decode("utf-8", "replace"))


Event = tuple[_Worker, bytes | None, float]
"""What came from a worker, None for the end of its pipe, and when it came."""


def _environment() -> dict[str, str]:
    """One thread a worker: they fill the cores among themselves, and sums keep their order."""
    return {**os.environ, **dict.fromkeys(_THREAD_LIMITS, "1")}
