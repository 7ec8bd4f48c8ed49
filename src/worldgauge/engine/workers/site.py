"""Where workers run: on this machine, or on the nodes of a Ray cluster. Pools are made only here."""

from __future__ import annotations

import os
import queue
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from worldgauge.core.errors import UsageError
from worldgauge.core.model import Needs
from worldgauge.core.user_modules import refuse_while_importing
from worldgauge.engine.workers.pool import Pool
from worldgauge.engine.workers.worker import LocalWorker, log_of
from worldgauge.serving.isolation import HIDDEN_VARIABLE, check_no_secret

VISIBLE = "CUDA_VISIBLE_DEVICES"
_ELSEWHERE = "run it on a cluster with --on ray://HOST:PORT"


def rooms(needs: Needs, workers: int, who: str) -> list[dict[str, str]]:
    """Environments of the workers that fit on this machine at the same time."""
    fit = workers
    if needs.memory_gb:
        memory_gb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
        if needs.memory_gb > memory_gb:
            raise UsageError(f"{who} needs {needs.memory_gb:g} GB, this machine has {memory_gb:.0f} GB; {_ELSEWHERE}")
        fit = min(fit, int(memory_gb / needs.memory_gb))
    if needs.cpus > 1:  # more than there are is slow but works, so there is always room for one
        fit = min(fit, max(1, int((os.cpu_count() or 1) / needs.cpus)))
    if not needs.gpus:
        return [{}] * fit
    shares = gpu_shares(visible_gpus(), needs.gpus)
    if not shares:
        shown = ", ".join(visible_gpus()) or "none"
        raise UsageError(
            f"{who} needs {needs.gpus:g} GPU{'s' if needs.gpus > 1 else ''}, this machine shows {shown}; "
            f"{_ELSEWHERE}, or say --gpus-per-worker 0"
        )
    return [{VISIBLE: share} for share in shares[:fit]]


def gpu_shares(gpus: list[str], each: float) -> list[str]:
    """GPUs that each worker may use; shares of one GPU are assigned in turn, so that few workers use different GPUs."""
    if each <= 1:
        return gpus * int(1 / each + 1e-9)
    whole = int(each)
    return [",".join(gpus[first : first + whole]) for first in range(0, len(gpus) - whole + 1, whole)]


def in_turn(workers: int, gpus: list[str]) -> list[dict[str, str]]:
    """Environments of workers that share GPUs evenly, without one of their own."""
    return [{VISIBLE: gpus[number % len(gpus)]} if gpus else {} for number in range(workers)]


def cores_here() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def visible_gpus() -> list[str]:
    """The GPUs that this process may use, by the names that CUDA_VISIBLE_DEVICES takes."""
    given = os.environ.get(VISIBLE)
    if given is not None:
        names = [name.strip() for name in given.split(",")]
        # CUDA itself stops at the first invalid name.
        return names[: next((n for n, name in enumerate(names) if name in ("", "-1", "NoDevFiles")), len(names))]
    try:
        listing = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30, check=True).stdout
        count = sum(line.startswith("GPU ") for line in listing.splitlines())
    except (OSError, subprocess.SubprocessError):
        count = len(list(Path("/proc/driver/nvidia/gpus").glob("*")))
    return [str(number) for number in range(count)]


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
    """Open the place where workers run, for the duration of the context."""
    refuse_while_importing()
    check_no_secret(on or "", "--on")
    if on is None or on == "local":
        yield LocalSite(logs, device, [*shared, *data])
    elif on == "ray" or (on.startswith("ray://") and len(on) > len("ray://")):
        from worldgauge.engine.workers.ray_workers import open_cluster

        with open_cluster(on, logs=logs, shared=shared, data=data) as cluster:
            yield cluster
    else:
        raise UsageError(f"workers cannot run on '{on}'; choose {CHOICES}")


class LocalSite:
    """This machine; see `Site`."""

    def __init__(self, logs: Path | None = None, device: str | None = None, hidden: Sequence[Path] = ()) -> None:
        self._logs = logs
        self._device = device
        self._hidden = {HIDDEN_VARIABLE: os.pathsep.join(str(path.resolve()) for path in hidden)} if hidden else {}

    def pool(self, workers: int, needs: Needs = _DEFAULT, who: str = "a worker") -> Pool:
        """See `Site.pool`."""
        environments = rooms(needs, workers, who)
        if needs.gpus and (self._device or "").startswith("cuda:"):
            raise UsageError(
                f"{who} gets GPUs of its own, maybe not '{self._device}'; give cuda, or --gpus-per-worker 0"
            )
        if self._device == "cuda" and not needs.gpus:
            environments = in_turn(len(environments), visible_gpus())

        # With more threads than cores, networks on a CPU are many times slower.
        share = str(max(1, cores_here() // len(environments))) if len(environments) > 1 else None

        def hire(place: int, events: queue.SimpleQueue[Any]) -> LocalWorker:
            environment, log = environments[place] | self._hidden, log_of(self._logs, place)
            return LocalWorker(events, environment=environment, log=log, model_threads=share)

        return Pool(len(environments), hire, cores=cores_here())
