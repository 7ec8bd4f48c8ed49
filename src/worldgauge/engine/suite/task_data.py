"""The data behind tasks: one cache for all suites, in which nothing is found but under its fingerprint.

recordings = TaskData(read=read_recording, fingerprint=fingerprint_of)
recordings(task)                 # what the task is made of, as it was when the task was planned

@cached_by_task(maxsize=16)
def masks(task, size): ...       # computed once per task and size
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, wraps
from pathlib import Path
from threading import Lock
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from worldgauge.core.errors import DataError
from worldgauge.core.io import Stamp, dumps, stamp_of
from worldgauge.engine.suite.contract import Task

T = TypeVar("T")
P = ParamSpec("P")
_FOLDERS = 2
"""Data folders whose indexes a process keeps."""


class TaskData(Generic[T]):
    """Finds what a task is made of. It is read again when that has another fingerprint than the task.

    Args:
        read: Reads what a task is made of, of a data folder and the task's id. A suite with a file per recording reads
            that recording alone; one with a file for all reads all. Returns what was read by task id, without that of
            `id` where it is gone.
        fingerprint: Fingerprint of that, with the content of files as it is now (`core.io.digest_of_file`).
        files: Files of which `read` takes more than the fingerprint holds; None for one that is missing.
    """

    def __init__(
        self,
        read: Callable[[Path, str], Mapping[str, T]],
        fingerprint: Callable[[T], str],
        files: Callable[[T], Iterable[Path | None]] = lambda _: (),
    ) -> None:
        self._read, self._fingerprint, self._files = read, fingerprint, files
        self._held: dict[str, dict[str, tuple[T, list[Stamp | None]]]] = {}
        self._lock = Lock()

    def __call__(self, task: Task) -> T:
        """Return what a task is made of. `task.sample["source"]` is the data folder.

        Raises:
            DataError: It is gone, or is not what it was when the task was planned.
        """
        source = str(task.sample["source"])
        found = self._find(self._held.get(source, {}), task)
        if found is None:
            read = self._read(Path(source), task.id)
            if task.id not in read:
                raise DataError(f"{source}: '{task.id}' is gone; run again")
            found = self._find(self.hold(source, read), task)
            if found is None:
                raise changed(task)
        return found[0]

    def hold(self, source: str, read: Mapping[str, T]) -> Mapping[str, tuple[T, list[Stamp | None]]]:
        """Cache what tasks are made of, so that the process that plans them does not read it again."""
        added = {name: (one, self._stamps(one)) for name, one in read.items()}
        with self._lock:
            self._held[source] = held = {**self._held.pop(source, {}), **added}
            if len(self._held) > _FOLDERS:
                del self._held[next(iter(self._held))]
        return held

    def _find(self, held: Mapping[str, tuple[T, list[Stamp | None]]], task: Task) -> tuple[T, ...] | None:
        """What is held of a task, alone in a tuple; None where it is missing or another one."""
        one, stamps = held.get(task.id, (None, None))
        if one is None or stamps != self._stamps(one) or self._fingerprint(one) != task.fingerprint:
            return None
        return (one,)

    def _stamps(self, one: T) -> list[Stamp | None]:
        return [None if path is None else stamp_of(path) for path in self._files(one)]


def changed(task: Task) -> DataError:
    """The error of a task whose data are not those that it was planned with."""
    return DataError(f"{task.sample['source']}: the data of '{task.id}' changed after the run was planned; run again")


def cached_by_task(maxsize: int) -> Callable[[Callable[Concatenate[Task, P], T]], Callable[Concatenate[Task, P], T]]:
    """Cache the last results of a function by its task's fingerprint and sample, and its other positional arguments.

    Keyword arguments are not part of the key.

    Args:
        maxsize: Number of results.
    """

    def decorate(function: Callable[Concatenate[Task, P], T]) -> Callable[Concatenate[Task, P], T]:
        @lru_cache(maxsize=maxsize)
        def held(call: _Call) -> T:
            return function(call.task, *call.args, **call.kwargs)

        @wraps(function)
        def cached(task: Task, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return held(_Call(task, args, kwargs))

        return cached

    return decorate


class _Call:
    """A call as a cache key."""

    def __init__(self, task: Task, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self.task, self.args, self.kwargs = task, args, kwargs
        self._key = (task.suite, task.id, task.fingerprint, dumps(task.sample), args)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Call) and self._key == other._key
