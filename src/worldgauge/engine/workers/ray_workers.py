"""Workers on the nodes of a Ray cluster: local workers of the node, with an actor that passes lines on.

Ray finds room and starts the actors. The process that does the work is the same as without a cluster, with the same
limits and the same shutdown, so its results are the same. Only text goes through Ray.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import queue
import secrets
import signal
import sys
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from worldgauge.core.errors import MissingExtraError, RunError, UsageError, WorldgaugeError
from worldgauge.core.model import Needs
from worldgauge.engine.workers.pool import Event, Pool
from worldgauge.engine.workers.worker import LocalWorker, log_of
from worldgauge.version import __version__

EXTRA = "cluster"
SEE_S = 10.0
"""Seconds within which a shared file system must show a new file on another node."""

_ANSWER_S = 10.0
_MARK = ".worldgauge-seen-"


@contextmanager
def open_cluster(
    on: str, *, logs: Path | None = None, shared: Sequence[Path] = (), data: Sequence[Path] = ()
) -> Generator[Cluster]:
    """Connect to a Ray cluster for the duration of the context. A connection that existed before stays open."""
    ray = _ray()
    ours = not ray.is_initialized()
    started = ours and on == "ray" and "RAY_ADDRESS" not in os.environ
    if ours:
        _connect(ray, on)
    try:
        with _marks(shared) as marks:
            yield Cluster(ray, logs, marks, data, waits=not started)
    finally:
        if ours:
            ray.shutdown()


class Cluster:
    """The nodes of a Ray cluster (`Site`). With `marks`, text by path, they prove that they see the shared folders."""

    def __init__(
        self, ray: Any, logs: Path | None, marks: Mapping[str, str], data: Sequence[Path], *, waits: bool = False
    ) -> None:
        self._ray = ray
        self._logs = logs
        self._waits = waits
        self._facts = {
            "version": __version__,
            "path": [os.path.abspath(folder) for folder in sys.path],
            "directory": os.getcwd(),
            "marks": dict(marks),
            "data": [str(folder.resolve()) for folder in data],
        }

    def pool(self, workers: int, needs: Needs = Needs(), who: str = "a worker") -> Pool:  # noqa: B008 - immutable
        """See `engine.workers.site.Site.pool`."""
        wanted = {"CPU": needs.cpus, "GPU": needs.gpus, "memory": needs.memory_gb * 1e9}
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        if not self._waits and not any(all(node.get(name, 0) >= n for name, n in wanted.items()) for node in nodes):
            words = [f"{needs.cpus:g} CPUs", f"{needs.gpus:g} GPUs", f"{needs.memory_gb:g} GB"]
            raise UsageError(f"{who} needs {', '.join(words)}; no node of the cluster has that")
        options = {"num_cpus": needs.cpus, "num_gpus": needs.gpus, "memory": wanted["memory"] or None}
        actor = self._ray.remote(Relay).options(max_concurrency=2, max_restarts=0, **options)

        def hire(place: int, events: queue.SimpleQueue[Event]) -> RayWorker:
            log = log_of(self._logs, place)
            facts = {**self._facts, "log": None if log is None else str(log.resolve())}
            return RayWorker(self._ray, actor.remote(json.dumps(facts)), events)

        return Pool(workers, hire)


class RayWorker:
    """The driver's end of a worker on a node; see `engine.workers.pool.Worker`."""

    def __init__(self, ray: Any, actor: Any, events: queue.SimpleQueue[Event]) -> None:
        self.refusal: str | None = None
        self._ray = ray
        self._actor = actor
        self._events = events
        self._up = self._ended = False
        self._words = "the worker process was never seen", ""
        self._ear = threading.Thread(target=self._listen, daemon=True)
        self._ear.start()

    def send(self, line: bytes) -> None:
        """Send one line to the worker."""
        with suppress(self._ray.exceptions.RayError):
            self._actor.send.remote(line)

    def is_dead(self) -> bool:
        """Whether nothing more will come from the worker."""
        return self._ended

    def dismiss(self) -> None:
        """Ask the worker to end as soon as it is idle."""
        with suppress(self._ray.exceptions.RayError):
            self._actor.dismiss.remote()

    def wait_or_kill(self) -> None:
        """Wait until a dismissed worker has ended; kill it if that takes too long."""
        self._finish(self._actor.wait_or_kill)

    def kill(self) -> None:
        """End the process and all processes that it started, then the actor."""
        self._finish(self._actor.kill)

    def last_words(self) -> tuple[str, str]:
        """See `engine.workers.pool.Worker.last_words`."""
        return self._words

    def _finish(self, way: Any) -> None:
        if self._up:  # else there is nobody to ask
            with suppress(self._ray.exceptions.RayError):
                self._ray.get(way.remote(), timeout=_ANSWER_S)
        with suppress(self._ray.exceptions.RayError):
            self._ray.kill(self._actor)
        self._ear.join(_ANSWER_S)

    def _listen(self) -> None:
        try:
            self.refusal = self._ray.get(self._actor.begin.remote())
            self._up = True
            while self.refusal is None:
                for line in self._ray.get(self._actor.listen.remote()):
                    if line is None:
                        self._words = self._ray.get(self._actor.last_words.remote())
                        return
                    self._events.put((self, line, time.monotonic()))
        except self._ray.exceptions.RayError as error:
            lines = _lines(error)
            if isinstance(error, self._ray.exceptions.RayTaskError) or "creation task" in lines[0]:
                # Something raised there, such as an import of what is not installed; it will raise again.
                self.refusal = f"a node of the cluster cannot run worldgauge {__version__}: {lines[-1][:300]}"
            else:
                self._words = f"the node or the Ray worker was lost: {lines[0][:300]}", ""
        finally:
            self._ended = True
            self._events.put((self, None, time.monotonic()))


class Relay:
    """The node's end of a worker. Other versions may call it, so it takes only text and does nothing before `begin`."""

    def __init__(self, facts: str) -> None:
        self._facts = json.loads(facts)
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._worker: LocalWorker | None = None

    def begin(self) -> str | None:
        """Start the worker."""
        facts, node = self._facts, f"node {platform.node()}"
        if facts["version"] != __version__:
            return f"{node} has worldgauge {__version__}, the driver {facts['version']}; install the same on all nodes"
        for mark, text in facts["marks"].items():
            if not _sees(Path(mark), text):
                return (
                    f"{node} does not see {Path(mark).parent} as the driver does; the run folder must lie on a file "
                    "system that all nodes share, under the same path: choose another --out"
                )
        for source in facts["data"]:
            if not Path(source).exists():
                return f"{node} does not see the data set {source}; it must be there on all nodes, under that path"
        directory = facts["directory"] if os.path.isdir(facts["directory"]) else None
        log = None if facts["log"] is None else Path(facts["log"])
        self._worker = LocalWorker(self._events, log=log, path=facts["path"], beside=True, directory=directory)
        return None

    def listen(self) -> list[bytes | None]:
        """Wait for lines from the worker and return them. None marks its end."""
        lines = [self._events.get()[1]]
        while not self._events.empty():
            lines.append(self._events.get()[1])
        return lines

    def send(self, line: bytes) -> None:
        """See `LocalWorker.send`."""
        self._local.send(line)

    def dismiss(self) -> None:
        """See `LocalWorker.dismiss`."""
        self._local.dismiss()

    def wait_or_kill(self) -> None:
        """See `LocalWorker.wait_or_kill`."""
        self._local.wait_or_kill()

    def kill(self) -> None:
        """See `LocalWorker.kill`."""
        self._local.kill()

    def last_words(self) -> tuple[str, str]:
        """How the worker ended. What it has started is ended as well."""
        self._local.kill()
        how, where = self._local.last_words()
        return f"{how} (node {platform.node()})", where

    @property
    def _local(self) -> LocalWorker:
        assert self._worker is not None
        return self._worker


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise MissingExtraError("a cluster of workers", EXTRA) from None
    return ray


def _connect(ray: Any, on: str) -> None:
    """Connect to the cluster that `on` names, or start one on this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    before = signal.getsignal(signal.SIGTERM)
    try:
        if on == "ray":
            # Without an address Ray would look for an old cluster on this machine, and wait for it even if it is dead.
            ray.init(None if "RAY_ADDRESS" in os.environ else "local", include_dashboard=False, **quiet)
        elif find_spec("grpc") is None:
            raise MissingExtraError(f"'{on}'", EXTRA)
        else:
            ray.init(on, **quiet)
    except WorldgaugeError:
        raise
    except Exception as error:
        token = (
            "" if "RAY_AUTH_MODE" in os.environ else "; one that asks for a token wants RAY_AUTH_MODE=token here too"
        )
        raise RunError(f"no Ray cluster answers at '{on}': {_lines(error)[0][:300]}{token}") from error
    finally:
        # Ray replaces the handler of SIGTERM. Ours ends the workers and explains how to continue.
        with suppress(ValueError, TypeError):
            signal.signal(signal.SIGTERM, before)


@contextmanager
def _marks(shared: Sequence[Path]) -> Generator[dict[str, str]]:
    """Files with random text, one per folder, for as long as the context lasts: their text by path."""
    text = secrets.token_hex(16)
    marks = [folder.resolve() / f"{_MARK}{text}" for folder in shared]
    try:
        for mark in marks:
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.write_text(text)
        yield {str(mark): text for mark in marks}
    finally:
        for mark in marks:
            mark.unlink(missing_ok=True)


def _sees(mark: Path, text: str) -> bool:
    until = time.monotonic() + SEE_S
    while True:
        with suppress(OSError):
            if mark.read_text() == text:
                return True
        if time.monotonic() >= until:
            return False
        time.sleep(0.2)


def _lines(error: BaseException) -> list[str]:
    return [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
