"""Open a suite by its name, here or in a worker, and list its tasks."""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.user_modules import import_located, locate_module
from worldgauge.engine.collection import collection_of
from worldgauge.engine.store import check_file_slugs
from worldgauge.engine.suite.base import Suite, suites
from worldgauge.engine.suite.contract import Task
from worldgauge.engine.suite.decoy import arms_of
from worldgauge.metrics._registry import metrics
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
    if kind.summarize is Suite.summarize and (unknown := [one for one in made.titles if one not in metrics]):
        raise UsageError(f"suite '{name}': the title '{unknown[0]}' is no metric; register a function with @metric")
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


def list_tasks(suite: Suite, data: Path, limit: int | str | None = None, only: Collection[str] = ()) -> list[Task]:
    """Tasks of a data set, those with the ids `only` if given; `limit` (5, "10%") spreads over clusters and kinds."""
    share = None if limit is None else _share(limit)
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
    tasks = [task for task in tasks if task.id in only] if only else tasks
    if share is None or limit is None:
        return tasks
    return spread_tasks(suite, tasks, math.ceil(share * len(tasks)) if isinstance(limit, str) else int(limit))


def tasks_of_run(suite: Suite, data: Path, ids: Collection[str]) -> list[Task]:
    """The tasks of a data set that a run was about."""
    tasks = [task for task in list_tasks(suite, data) if task.id in ids]
    if not tasks:
        raise UsageError(f"{data}: holds none of the tasks of this run")
    return tasks


def list_arms(suite: Suite, data: Path, tasks: Sequence[Task]) -> list[Task]:
    """The arms of the decoy test that models run beside these tasks."""
    return arms_of(suite, tasks, list_tasks(suite, data))


def spread_tasks(suite: Suite, tasks: Sequence[Task], number: int) -> list[Task]:
    """Choose tasks evenly over clusters, then over kinds, in their order. A larger number keeps what a smaller has."""
    fine = [str(sorted((k, str(v)) for k, v in task.group.items() if k != "location")) for task in tasks]
    kinds = list(zip(map(kind_of, tasks), fine, strict=True))
    chosen: list[int] = []
    used = Counter[str | tuple[str, str]]()
    for skipped in (False, True):
        clusters: dict[str, dict[tuple[str, str], deque[int]]] = {}
        first: dict[str, list[str]] = {}
        for place, task in enumerate(tasks):
            if (task.skip is not None) == skipped:
                cluster = task.cluster or suite.cluster_of(task.id, task.group)
                if cluster not in clusters:
                    first.setdefault(kinds[place][0], []).append(cluster)
                clusters.setdefault(cluster, {}).setdefault(kinds[place], deque()).append(place)
        # Clusters in turn by the kind of their first task: some kinds may share none with others.
        clusters = {one: clusters[one] for row in zip_longest(*first.values()) for one in row if one is not None}
        while clusters and len(chosen) < number:
            for cluster, queues in list(clusters.items()):
                _, _, place, kind = min((used[kind[0]], used[kind], queue[0], kind) for kind, queue in queues.items())
                chosen.append(place)
                used.update((kind, kind[0]))
                queues[kind].popleft()
                clusters[cluster] = {kind: queue for kind, queue in queues.items() if queue}
            clusters = {cluster: queues for cluster, queues in clusters.items() if queues}
    return [tasks[place] for place in sorted(chosen[:number])]


def kind_of(task: Task) -> str:
    """The kind of a task: the first part of its group, such as "navigation"."""
    return str(next(iter(task.group.values()), ""))


def _share(limit: int | str) -> float:
    """A limit as a share, or 1 where it is a number of tasks."""
    if isinstance(limit, str):
        share = float(limit[:-1]) / 100 if re.fullmatch(r"\d{1,3}(\.\d+)?%", limit) else 0.0
        if not 0 < share <= 1:
            raise UsageError(f"limit '{limit}' is neither a number of tasks nor a share of them such as '10%'")
        return share
    if limit < 1:
        raise UsageError(f"limit must be at least 1, got {limit}")
    return 1.0


def clusters_of(suite: Suite, tasks: Iterable[Task]) -> list[str]:
    """Cluster of each task that is not skipped and counts in the headline."""
    counted = (task for task in tasks if task.skip is None and suite.counts_in_headline(task))
    return [task.cluster or suite.cluster_of(task.id, task.group) for task in counted]


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
