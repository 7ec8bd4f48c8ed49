"""A pool of workers that takes jobs and gives results as they come. A job that hangs or crashes affects no other job.

with Pool(4) as pool:
    for result in pool.run(Job(str(n), "worldgauge.suites.x:make", {"seed": n}) for n in range(100)):
        ...

The scheduler is the same for processes of this machine (`engine.workers.local`) and of a Ray cluster
(`engine.workers.ray_workers`). `engine.workers.site` decides where workers come from.
"""

from __future__ import annotations

import json
import queue
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Protocol

from worldgauge.core.errors import ModelError, RunError, UsageError
from worldgauge.engine.workers.worker import LocalWorker

Watch = Callable[[str, int, int], None]

RETRIES = 2
"""How often a job is repeated when its worker or model is lost."""

START_S = 600.0
"""Seconds within which at least one worker must start. A cluster may first have to start a machine."""

LOST = "LostError"
_MAX_FAILED_STARTS = 5


@dataclass(frozen=True)
class Job:
    """A call function(**args, progress=report) in a worker. It must cope with what a lost attempt has left on disk.

    Attributes:
        deadline_s: Seconds without progress after which the job is killed.
        retries: How often the job is repeated when its worker dies or it ends with LostError.
        start_s: The deadline until its first progress, for a job that has to load something. Default: `deadline_s`.
    """

    id: str
    call: str
    args: Mapping[str, Any]
    deadline_s: float | None = None
    retries: int = RETRIES
    start_s: float | None = None


@dataclass(frozen=True)
class JobResult:
    """Result of a job: its value, or an error in one line.

    Attributes:
        kind: Type of the exception. "LostError" when the worker died, None when it was killed.
        known: Whether the exception is a WorldgaugeError, whose message is complete.
    """

    id: str
    value: Any = None
    error: str | None = None
    kind: str | None = None
    trace: str | None = None
    known: bool = False
    seconds: float = 0.0
    lost: tuple[str, ...] = ()

    def raise_for(self, model: str) -> None:
        """Raise the error of a job about a model, if there is one."""
        if self.error is None:
            return
        named = self.error if model in self.error else f"model '{model}': {self.error}"
        if self.known or self.trace is None:
            raise ModelError(named)
        raise RuntimeError(f"{named}\n{self.trace}")


def check_deadline(deadline_s: float | None) -> None:
    """Check a deadline."""
    if deadline_s is not None and not 0 < deadline_s < float("inf"):
        raise UsageError(f"the deadline must be above 0 s, got {deadline_s:g}")


class Worker(Protocol):
    """A process, on any machine, that takes and answers JSON lines (`engine.workers.worker`).

    It queues itself, the line (None at the end) and the time. The first line reports that it has started.
    `refusal` says, after the end, why no worker of its kind can work.
    """

    refusal: str | None

    def send(self, line: bytes) -> None:
        """Send one line. A dead worker ignores it."""

    def is_dead(self) -> bool:
        """Whether nothing more will come from the worker."""

    def dismiss(self) -> None:
        """Ask the worker to end, without waiting. Only allowed while it has no job."""

    def wait_or_kill(self) -> None:
        """Wait until a dismissed worker has ended; kill it if that takes too long."""

    def kill(self) -> None:
        """End the worker and all processes that it started, and wait until they are gone."""

    def last_words(self) -> tuple[str, str]:
        """How a dead worker ended, and a suffix for the message with the place of its output. Call it after `kill`."""


Event = tuple[Any, bytes | None, float]
"""A worker, its line or None for its end, and the time when it came."""

Hire = Callable[[int, "queue.SimpleQueue[Event]"], Worker]
"""Starts a worker for the place with this number. The worker may be ready much later."""


@dataclass
class _Attempt:
    """A job that waits or runs; `lost` says how each earlier attempt was lost, and where its output is."""

    job: Job
    lost: list[tuple[str, str]] = field(default_factory=list)
    taken: float = 0.0
    alive: float = 0.0
    begun: bool = False

    def result(self, **facts: Any) -> JobResult:
        before = tuple(how + where for how, where in self.lost)
        return JobResult(self.job.id, **facts, seconds=time.monotonic() - self.taken, lost=before)

    def hand_over(self) -> None:
        self.taken = self.alive = time.monotonic()
        self.begun = False

    def heard(self, came: float) -> None:
        self.alive = max(self.alive, came)
        self.begun = True

    def overdue_in(self, now: float) -> float:
        return float("inf") if self._limit_s is None else self.alive + self._limit_s - now

    def timed_out(self) -> JobResult:
        lacking = "progress" if self._limit_s == self.job.deadline_s else "beginning"
        return self.result(error=f"timed out after {self._limit_s:g} s without {lacking}")

    @property
    def _limit_s(self) -> float | None:
        """Seconds without progress that are allowed now."""
        return self.job.deadline_s if self.begun or self.job.start_s is None else self.job.start_s


class Pool:
    """Processes that each do one job at a time with one thread; they share `cores`, and start when first needed.

    Leaving the context loses jobs in progress, so the effect of a job must be complete or absent.
    """

    def __init__(self, workers: int, hire: Hire | None = None, *, cores: int = 1) -> None:
        if workers < 1:
            raise UsageError(f"workers must be at least 1, got {workers}")
        self._workers, self._cores = workers, cores
        self._hire = hire or (lambda place, events: LocalWorker(events))
        self._places = list(reversed(range(workers)))
        self._place_of: dict[Worker, int] = {}
        self._starting: dict[Worker, float] = {}
        self._idle: list[Worker] = []
        self._busy: dict[Worker, _Attempt] = {}
        self._waiting: deque[_Attempt] = deque()
        self._failed_starts = 0
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()

    def cores_each(self, jobs: int) -> int:
        """Cores for each worker, 1 or more."""
        return max(1, self._cores // max(1, min(self._workers, jobs)))

    def run(self, jobs: Iterable[Job], watch: Watch | None = None) -> Generator[JobResult]:
        """Run jobs, each taken when a worker is free; yield results as they end. `watch` gets id, done and total."""
        source = iter(jobs)
        try:
            while True:
                self._assign(source)
                if not self._busy and not self._waiting:
                    return
                yield from self._next_results(watch)
        finally:
            self._waiting.clear()
            for worker in list(self._busy):
                self._release(worker)

    def close(self) -> None:
        """End all workers."""
        free = [*self._idle, *self._starting]
        for worker in free:
            worker.dismiss()
        for worker in free:
            worker.wait_or_kill()
            self._forget(worker)
        for worker in list(self._busy):
            self._release(worker)

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _assign(self, source: Iterator[Job]) -> None:
        """Give jobs to idle workers, and start workers for the remaining jobs."""
        for worker in [worker for worker in self._idle if worker.is_dead()]:
            self._release(worker)
        while len(self._waiting) < len(self._idle) + len(self._starting) + len(self._places):
            job = next(source, None)
            if job is None:
                break
            self._waiting.append(_Attempt(job))
        while self._places and len(self._waiting) > len(self._idle) + len(self._starting):
            worker = self._hire(self._places[-1], self._events)
            self._place_of[worker] = self._places.pop()
            self._starting[worker] = time.monotonic()
        while self._idle and self._waiting:
            attempt = self._waiting.popleft()
            worker = self._idle.pop()
            self._busy[worker] = attempt
            attempt.hand_over()
            message = {"call": attempt.job.call, "args": dict(attempt.job.args)}
            worker.send(json.dumps(message, allow_nan=False).encode("ascii"))

    def _next_results(self, watch: Watch | None) -> list[JobResult]:
        """Wait for one message, end or missed deadline, and return the results of the jobs that ended with it."""
        try:
            # Seconds until the next check is due, even without a message.
            now = time.monotonic()
            moments = [attempt.overdue_in(now) for attempt in self._busy.values()]
            if not self._busy and not self._idle:
                moments += [began + START_S - now for began in self._starting.values()]
            first = min(moments, default=float("inf"))
            worker, line, came = self._events.get(timeout=None if first == float("inf") else max(0.0, first))
        except queue.Empty:
            return self._overdue(time.monotonic())
        result = self._heard(worker, line, came, watch)
        # Judged by the time when the message came, however long its handling took here.
        return ([] if result is None else [result]) + self._overdue(came)

    def _heard(self, worker: Worker, line: bytes | None, came: float, watch: Watch | None) -> JobResult | None:
        """Handle one message, or None for the end of a worker. Returns a result if a job ended with it."""
        if worker not in self._place_of:
            return None
        if line is None:
            return self._ended(worker)
        try:
            message = json.loads(line)
        except ValueError:
            return self._lost(worker, "the worker process sent a broken message")
        if worker in self._starting:
            del self._starting[worker]
            self._idle.append(worker)
            self._failed_starts = 0
            return None
        attempt = self._busy[worker]
        if "progress" in message:
            attempt.heard(came)
            done, total = message["progress"]
            if watch is not None and total:
                watch(attempt.job.id, done, total)
            return None
        del self._busy[worker]
        self._idle.append(worker)
        result = attempt.result(**message)
        return self._again(attempt, result) if result.kind == LOST else result

    def _ended(self, worker: Worker) -> JobResult | None:
        """Handle a worker that ended by itself: its job is lost, or it never started, or it was idle."""
        if worker in self._busy:
            return self._lost(worker)
        starting = worker in self._starting
        self._release(worker)
        if worker.refusal is not None:
            raise RunError(worker.refusal)
        if starting:
            self._failed_starts += 1
            if self._failed_starts >= _MAX_FAILED_STARTS:
                self._places.pop()  # the others go on without it
            if not self._place_of and not self._places:
                raise RunError(f"no worker starts, tried {_MAX_FAILED_STARTS} times: {''.join(worker.last_words())}")
        return None

    def _overdue(self, now: float) -> list[JobResult]:
        """Results of jobs that missed their deadline. They are not repeated: a job that hung would hang again."""
        results = []
        for worker, attempt in list(self._busy.items()):
            if attempt.overdue_in(now) <= 0:
                self._release(worker)
                results.append(attempt.timed_out())
        nobody = self._starting and not self._busy and not self._idle
        if nobody and now - min(self._starting.values()) >= START_S:
            raise RunError(f"no worker came up within {START_S:g} s; is there room for one where they should run?")
        return results

    def _lost(self, worker: Worker, error: str | None = None) -> JobResult | None:
        attempt = self._busy.pop(worker)
        self._release(worker)
        how, where = (error, "") if error else worker.last_words()
        return self._again(attempt, attempt.result(error=how, kind=LOST), where)

    def _again(self, attempt: _Attempt, result: JobResult, where: str = "") -> JobResult | None:
        """Repeat a lost job, or give up with an error that lists all attempts."""
        attempt.lost.append((str(result.error), where))
        times = len(attempt.lost)
        if times <= attempt.job.retries:
            self._waiting.appendleft(attempt)
            return None
        how = " | ".join(dict.fromkeys(how for how, _ in attempt.lost))
        return replace(result, error=(f"lost {times} times: {how}" if times > 1 else how) + where)

    def _release(self, worker: Worker) -> None:
        """End a worker, dead or alive, and free its place."""
        worker.kill()
        self._forget(worker)

    def _forget(self, worker: Worker) -> None:
        self._places.append(self._place_of.pop(worker))
        self._starting.pop(worker, None)
        self._busy.pop(worker, None)
        if worker in self._idle:
            self._idle.remove(worker)
