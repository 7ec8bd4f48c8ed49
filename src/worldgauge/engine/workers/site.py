"""Where workers are: on this machine, or on the nodes of a Ray cluster. The one place where pools are made."""

from __future__ import annotations

import queue
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from worldgauge.core.errors import UsageError
from worldgauge.core.model import Needs
from worldgauge.engine.user_modules import refuse_while_importing
from worldgauge.engine.workers.local import LocalWorker
from worldgauge.engine.workers.machine import rooms
from worldgauge.engine.workers.pool import Pool

CHOICES = "local, ray, or ray://HOST:PORT"
_DEFAULT = Needs()


class Site(Protocol):
    """Where workers can be had."""

    def pool(self, workers: int, needs: Needs = _DEFAULT, who: str = "a worker") -> Pool:
        """At most `workers` workers, each with what `needs` says; fewer where there is no room for more.

        who: names the model in errors. Raises UsageError when there is no room at all.
        """


@contextmanager
def open_site(
    on: str | None = None, *, logs: Path | None = None, shared: Sequence[Path] = (), data: Sequence[Path] = ()
) -> Generator[Site]:
    """The site that `on` names: None or "local"; "ray", which is started here or named by RAY_ADDRESS; "ray://host:port".

    logs: folder of what workers print, one file a worker. shared: folders that workers write into and `data` those
    that they read; nodes of a cluster have to show that they see them before anything is done.
    Raises UsageError for another name and for a module that asks while it is imported, MissingExtraError without Ray,
    RunError when no cluster answers.
    """
    refuse_while_importing()
    if on is None or on == "local":
        yield LocalSite(logs)
    elif on == "ray" or (on.startswith("ray://") and len(on) > len("ray://")):
        from worldgauge.engine.workers.ray_workers import open_cluster

        with open_cluster(on, logs=logs, shared=shared, data=data) as cluster:
            yield cluster
    else:
        raise UsageError(f"workers cannot run on '{on}'; choose {CHOICES}")


def log_of(logs: Path | None, place: int) -> Path | None:
    """The file that takes what the worker in a place prints."""
    return None if logs is None else logs / f"worker-{place}.log"


class LocalSite:
    """This machine; see `Site`."""

    def __init__(self, logs: Path | None = None) -> None:
        self._logs = logs

    def pool(self, workers: int, needs: Needs = _DEFAULT, who: str = "a worker") -> Pool:
        """See `Site.pool`."""
        environments = rooms(needs, workers, who)

        def hire(place: int, events: queue.SimpleQueue[Any]) -> LocalWorker:
            return LocalWorker(events, environment=environments[place], log=log_of(self._logs, place))

        return Pool(len(environments), hire)
