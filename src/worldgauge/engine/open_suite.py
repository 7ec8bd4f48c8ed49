"""Open a suite by its name, here or in a worker, and list its tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.user_modules import import_located, locate_module
from worldgauge.engine.collection import collection_of
from worldgauge.engine.store import check_file_slugs
from worldgauge.engine.suite.base import Suite, suites
from worldgauge.engine.suite.contract import Task
from worldgauge.serving.isolation import check_no_secret


def suite_name(text: str) -> str:
    """Registered name of the suite that `text` names: by that name, "./file.py:Class" or "package.module:Class"."""
    return suites.named(text).name


def open_suite(name: str, settings: Mapping[str, Any]) -> Suite:
    """Make the suite with a registered name."""
    kind = suites.get(name)
    if not (isinstance(kind, type) and issubclass(kind, Suite)):
        raise UsageError(f"what is registered as suite '{name}' is no subclass of worldgauge.engine.suite.base.Suite")
    for setting, value in settings.items():
        check_no_secret(f"{setting}={value}", "settings")
    try:
        made = kind(**settings)
    except TypeError as error:
        raise UsageError(f"suite '{name}' does not take the settings {dict(settings)}: {error}") from None
    if made.name != name:  # run folders and workers know it by its own word
        raise UsageError(f"the suite registered as '{name}' calls itself '{made.name}'; give both the same name")
    return made


def locate_suite(name: str) -> str:
    """Find what a worker has to import to know a suite, which may be registered by a user's module."""
    home = locate_module(suites.entry(name).origin.partition(":")[0])
    if home is None:
        raise UsageError(f"suite '{name}' is in no file that workers could import; put it into a module")
    return home


def import_suite(home: str, name: str, settings: Mapping[str, Any]) -> Suite:
    """Import and open a suite in a worker."""
    import_located(home, f"suite '{name}'")
    return open_suite(name, settings)


def list_tasks(suite: Suite, data: Path, limit: int | None) -> list[Task]:
    """List the tasks of a data set."""
    if limit is not None and limit < 1:
        raise UsageError(f"limit must be at least 1, got {limit}")
    try:
        tasks = list(suite.tasks(data))
    except DataError as error:
        if meant := _meant(suite, data):
            raise DataError(meant) from error
        raise DataError(f"{error}{_other_maker(suite, data)}") from error
    if not tasks:
        if meant := _meant(suite, data):
            raise DataError(meant)
        raise UsageError(f"{data}: holds no task for suite '{suite.name}'{_other_maker(suite, data)}")
    try:
        check_file_slugs(task.id for task in tasks)
    except UsageError as error:
        raise UsageError(f"suite '{suite.name}', task ids of {data}: {error}") from None
    return tasks[:limit]


def clusters_of(suite: Suite, tasks: Iterable[Task]) -> list[str]:
    """Cluster of each task that is not skipped."""
    return [task.cluster or suite.cluster_of(task.id, task.group) for task in tasks if task.skip is None]


def _meant(suite: Suite, data: Path) -> str:
    """The error about a folder that holds a folder of the suite's data, or lies beside it; empty for all others."""
    maker = collection_of(data)
    if maker == suite.name:
        return ""
    places = [data / suite.name] if maker is None else [data / suite.name, data.parent / suite.name]
    for place in places:
        if collection_of(place) == suite.name:
            return f"{data}: holds no data of suite '{suite.name}'{_other_maker(suite, data)}; did you mean {place}?"
    return ""


def _other_maker(suite: Suite, data: Path) -> str:
    """The end of an error about data that were made for something else; empty where that is not known."""
    maker = collection_of(data)
    return "" if maker in (None, suite.name) else f" (this folder was made by: worldgauge collect {maker})"
