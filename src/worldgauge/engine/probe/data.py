"""The small data set that a probe asks: made once by the suite's own collection, then kept in the user's cache."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from worldgauge.core.errors import RunError, UsageError
from worldgauge.core.io import digest_of, dumps
from worldgauge.engine.collection.kernel import collect, open_collection
from worldgauge.engine.suite.base import Suite
from worldgauge.perception.cache import FOLDER_VARIABLE, cache_folder
from worldgauge.version import __version__

_MOST_WORKERS = 4


def small_data_set(suite: Suite, tasks: int) -> Path:
    """Folder of a small data set of a suite. It is made where it is missing, and shared by all processes."""
    options = dict(suite.probe_options(tasks))
    cache = cache_folder()
    if cache is None:
        raise UsageError(f"{FOLDER_VARIABLE} is off, so a probe has no place for its data; give a folder with data=")
    settings = open_collection(suite.name, cache, options).settings()
    made_of = dumps({"worldgauge": __version__, "suite": suite.name, "settings": settings})
    folder = cache / "probe" / f"{suite.name}-{digest_of(made_of)[:16]}"
    with _locked(folder):
        if not folder.exists():
            part = folder.with_name(f".{folder.name}.part")  # a collection that was stopped goes on
            collected = collect(suite.name, part, workers=min(_MOST_WORKERS, os.cpu_count() or 1), **options)
            if not collected.items:
                raise RunError(f"no data for a probe of '{suite.name}': {'; '.join(collected.failures[:1])}")
            os.replace(part, folder)
    return folder


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock beside a folder; other processes wait."""
    lock = folder.with_name(f".{folder.name}.lock")
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        file = lock.open("w")
    except OSError as error:
        raise UsageError(
            f"{lock.parent}: cannot be written ({error.strerror}); name another folder with {FOLDER_VARIABLE}, "
            "or give data="
        ) from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
