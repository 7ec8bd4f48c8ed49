"""Group models that need the same resources. Each group gets a pool of workers of its own."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from typing import Any

from worldgauge.core.agent import Agent
from worldgauge.core.errors import UsageError
from worldgauge.core.model import Needs, WorldModel
from worldgauge.engine.store import check_file_slugs
from worldgauge.engine.subjects import (
    SubjectEntry,
    find_factory,
    find_served,
    live_entry,
    parse_subject,
    resolve_cached,
    resolve_entries,
)
from worldgauge.engine.suite.base import SubjectKind
from worldgauge.engine.workers.pool import Job, Pool
from worldgauge.engine.workers.site import Site
from worldgauge.engine.workers.worker import Progress
from worldgauge.serving import LOAD_DEADLINE_S, RemoteModel, is_served
from worldgauge.serving.isolation import check_no_secret

SubjectLike = str | WorldModel | Agent


@dataclass(frozen=True)
class WorkerGroup:
    """A pool, and the models that run in its workers.

    Attributes:
        pool: The pool.
        members: Positions of the models in the order in which they were given.
    """

    pool: Pool
    members: tuple[int, ...]


def worker_groups(
    models: Sequence[SubjectLike],
    site: Site,
    workers: int,
    gpus: float | None,
    stack: ExitStack,
    kind: SubjectKind = "model",
) -> tuple[list[SubjectEntry], list[WorkerGroup]]:
    """Make the entries of models, and the groups of workers in which they run.

    Args:
        models: Live objects, or text that names models.
        site: Where workers run.
        workers: Largest number of processes per group.
        gpus: GPUs per worker, whatever the models declare. None to use what they declare.
        stack: Ends the pools.
        kind: "model" or "agent".

    Returns:
        The entries in the order of `models`, and the groups.

    Raises:
        SubjectError: For a model that cannot be made.
        UsageError: When there is no room for a model, two have the same label, or a text holds a secret.
    """
    for text in models:
        if isinstance(text, str):
            check_no_secret(text, kind)
    plain = stack.enter_context(site.pool(workers))
    needs = _declared_by(models, plain, gpus, kind)
    entries: dict[int, SubjectEntry] = {}
    made = []
    groups = list(dict.fromkeys(needs)) or [Needs()]
    # Where there are several, one group after another has the machine: workers end, and start when it is their turn.
    if groups != [Needs()]:
        plain.close()
    for group in groups:
        members = tuple(number for number, its in enumerate(needs) if its == group)
        who = next((f"{kind} '{models[n]}'" for n in members), f"a {kind}")
        pool = plain if group == Needs() else stack.enter_context(site.pool(workers, group, who))
        # In a worker of its own group: making a model may load its weights onto a GPU.
        entries.update(zip(members, resolve_entries([models[number] for number in members], pool, kind), strict=True))
        made.append(WorkerGroup(pool, members))
        if len(groups) > 1:
            pool.close()
    ordered = [entries[number] for number in range(len(models))]
    _check_labels(ordered)
    return ordered, made


def entries_here(models: Sequence[SubjectLike], stack: ExitStack, kind: SubjectKind = "model") -> list[SubjectEntry]:
    """Make the entries of models that are all asked in this process, one after another.

    Args:
        models: Live objects, or text that names models.
        stack: Ends the processes of served models that are made here.
        kind: "model" or "agent".

    Returns:
        The entries, in the same order.

    Raises:
        SubjectError: For a model that cannot be made.
        UsageError: When two have the same label, or a text holds a secret.
    """
    entries = []
    for one in models:
        entry = live_entry(one, kind)
        if entry.text is not None and (served := find_served(entry.model)) is not None:
            stack.callback(served.close)
        entries.append(entry)
    _check_labels(entries)
    return entries


def declared_needs_job(*, text: str, kind: SubjectKind, progress: Progress) -> dict[str, Any]:
    """Job of the pool: the needs that a model declares, plain JSON values.

    A command has to be started for that. Of all others only the module is imported, and the model is not made.
    """
    if is_served(text) and kind == "model":
        model = resolve_cached(text).model
        assert isinstance(model, RemoteModel)
        return asdict(model.needs)
    target, _ = parse_subject(text)
    return asdict(Needs.of(find_factory(target, kind)[0]))


def _declared_by(models: Sequence[SubjectLike], pool: Pool, gpus: float | None, kind: SubjectKind) -> list[Needs]:
    """Needs of each model. Live models, which are loaded already, and those behind http: get the default.

    With `gpus` given a command is not asked, since it may fail to start where it sees no GPU.
    """
    asked = dict.fromkeys(
        one
        for one in models
        if isinstance(one, str) and (not is_served(one) or (gpus is None and not one.startswith("http")))
    )
    found = {}
    call = f"{__name__}:declared_needs_job"
    for result in pool.run(Job(text, call, {"text": text, "kind": kind}, LOAD_DEADLINE_S) for text in asked):
        result.raise_for(result.id)
        found[result.id] = Needs(**result.value)
    return [
        checked_needs(found.get(one, Needs()), f"model '{one}'", gpus) if isinstance(one, str) else Needs()
        for one in models
    ]


def checked_needs(needs: Needs, who: str, gpus: float | None) -> Needs:
    """Needs with other GPUs, where they are given.

    Args:
        needs: The needs.
        who: Whose they are, for messages.
        gpus: GPUs per worker. None for those of `needs`.

    Returns:
        The needs.

    Raises:
        UsageError: For more than one GPU and a part of one, or fewer than none.
    """
    needs = needs if gpus is None else replace(needs, gpus=gpus)
    if not 0 <= needs.gpus < float("inf") or (needs.gpus > 1 and needs.gpus % 1):
        raise UsageError(f"{who} needs {needs.gpus:g} GPUs; give a share of one, such as 0.5, or whole ones")
    return needs


def _check_labels(entries: Sequence[SubjectEntry]) -> None:
    try:
        check_file_slugs(entry.label for entry in entries)
    except UsageError as error:
        raise UsageError(f"two models have the same label: {error}; rename one in its ModelSpec") from None
