"""Where workers run: on this machine, or on the nodes of a Ray cluster. Pools are made only here."""

from __future__ import annotations

import queue
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from worldgauge.core.errors import UsageError
from worldgauge.core.model import Needs
from worldgauge.core.user_modules import refuse_while_importing
from worldgauge.engine.workers.local import LocalWorker, log_of
from worldgauge.engine.workers.machine import cores_here, in_turn, rooms, visible_gpus
from worldgauge.engine.workers.pool import Pool
from worldgauge.serving.isolation import check_no_secret

CHOICES = "local, ray, or ray://HOST:PORT"
_DEFAULT = Needs()


class Site(Protocol):
    """A place where workers can run."""

    def pool(self, workers: int, needs: Needs = _DEFAULT, who: str = "a worker") -> Pool:
        """A pool of workers, fewer than asked for where there is no room for more."""


@contextmanager
def open_site(
    on: str | None = None,
    *,
    logs: Path | None = None,
    shared: Sequence[Path] = (),
    data: Sequence[Path] = (),
    device: str | None = None,
) -> Generator[Site]:
    """Open the place where workers run, for the duration of the context.

    Args:
        on: None or "local" for this machine; "ray" for a Ray cluster that is started here or named by RAY_ADDRESS;
            "ray://host:port" for another one.
        logs: Folder for the output of workers, one file per worker.
        shared: Folders that workers write into. Nodes of a cluster prove that they see them before work starts.
        data: Folders that workers read, checked in the same way.
        device: Where workers of this machine score or render. For "cuda" those without a GPU of their own take turns.
    """
    refuse_while_importing()
    check_no_secret(on or "", "--on")
    if on is None or on == "local":
        yield LocalSite(logs, device)
    elif on == "ray" or (on.startswith("ray://") and len(on) > len("ray://")):
        from worldgauge.engine.workers.ray_workers import open_cluster

        with open_cluster(on, logs=logs, shared=shared, data=data) as cluster:
            yield cluster
    else:
        raise UsageError(f"workers cannot run on '{on}'; choose {CHOICES}")


class LocalSite:
    """This machine; see `Site`."""

    def __init__(self, logs: Path | None = None, device: str | None = None) -> None:
        self._logs = logs
        self._device = device

    def pool(self, workers: int, needs: Needs = _DEFAULT, who: str = "a worker") -> Pool:
        """See `Site.pool`."""
        environments = rooms(needs, workers, who)
        if needs.gpus and (self._device or "").startswith("cuda:"):
            raise UsageError(
                f"{who} gets GPUs of its own, maybe not '{self._device}'; give cuda, or --gpus-per-worker 0"
            )
        if self._device == "cuda" and not needs.gpus:
            environments = in_turn(len(environments), visible_gpus())

        def hire(place: int, events: queue.SimpleQueue[Any]) -> LocalWorker:
            return LocalWorker(events, environment=environments[place], log=log_of(self._logs, place))

        return Pool(len(environments), hire, cores=cores_here())
