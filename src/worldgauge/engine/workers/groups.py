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
    resolve_cached,
    resolve_entries,
)
from worldgauge.engine.suite.base import SubjectKind
from worldgauge.engine.workers.pool import Job, Pool
from worldgauge.engine.workers.site import Site
from worldgauge.engine.workers.worker import Progress
from worldgauge.models.address import ModelAddress
from worldgauge.serving import LOAD_DEADLINE_S

AnyModel = ModelAddress | WorldModel | Agent
"""A model or an agent: its address, or a live object."""


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
    models: Sequence[AnyModel],
    site: Site,
    workers: int,
    gpus: float | None,
    stack: ExitStack,
    kind: SubjectKind = "model",
) -> tuple[list[SubjectEntry], list[WorkerGroup]]:
    """The entries of models in their order, and the groups of workers in which they run. `stack` ends the pools."""
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
        who = next((_called(models[n], kind) for n in members), f"a {kind}")
        pool = plain if group == Needs() else stack.enter_context(site.pool(workers, group, who))
        # In a worker of its own group: making a model may load its weights onto a GPU.
        entries.update(zip(members, resolve_entries([models[number] for number in members], pool, kind), strict=True))
        made.append(WorkerGroup(pool, members))
        if len(groups) > 1:
            pool.close()
    ordered = [entries[number] for number in range(len(models))]
    _check_labels(ordered)
    return ordered, made


def entries_here(models: Sequence[AnyModel], stack: ExitStack, kind: SubjectKind = "model") -> list[SubjectEntry]:
    """The entries of models that all run in this process. `stack` ends served models that are made here."""
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
    address = ModelAddress.parse(text, kind)
    made = resolve_cached(text).model if address.is_served else find_factory(address.target, kind)[0]
    return asdict(Needs.of(made))


def _called(model: AnyModel, kind: SubjectKind = "model") -> str:
    """A model in a message."""
    return f"{kind} '{model.text if isinstance(model, ModelAddress) else model}'"


def _declared_by(models: Sequence[AnyModel], pool: Pool, gpus: float | None, kind: SubjectKind) -> list[Needs]:
    """Needs of each model. Live models, which are loaded already, and those behind http: get the default.

    With `gpus` given a command is not asked, since it may fail to start where it sees no GPU.
    """
    asked = dict.fromkeys(
        one.text
        for one in models
        if isinstance(one, ModelAddress) and (not one.is_served or (gpus is None and not one.target.startswith("http")))
    )
    found = {}
    call = f"{__name__}:declared_needs_job"
    for result in pool.run(Job(text, call, {"text": text, "kind": kind}, LOAD_DEADLINE_S) for text in asked):
        result.raise_for(result.id)
        found[result.id] = Needs(**result.value)
    return [
        checked_needs(found.get(one.text, Needs()), _called(one), gpus) if isinstance(one, ModelAddress) else Needs()
        for one in models
    ]


def checked_needs(needs: Needs, who: str, gpus: float | None) -> Needs:
    """Needs with `gpus` GPUs, if given. Raises UsageError for fewer than none, or more than one and a part."""
    needs = needs if gpus is None else replace(needs, gpus=gpus)
    if not 0 <= needs.gpus < float("inf") or (needs.gpus > 1 and needs.gpus % 1):
        raise UsageError(f"{who} needs {needs.gpus:g} GPUs; give a share of one, such as 0.5, or whole ones")
    return needs


def _check_labels(entries: Sequence[SubjectEntry]) -> None:
    try:
        check_file_slugs(entry.label for entry in entries)
    except UsageError as error:
        raise UsageError(f"two models have the same label: {error}; rename one in its ModelSpec") from None
