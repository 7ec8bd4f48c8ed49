"""Who is tested: a model or an agent by its name, "package.module:Class" or "./file.py:Class"; models also served."""

from __future__ import annotations

import difflib
import hashlib
import inspect
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from worldgauge.core.agent import Agent, AgentSpec, agents
from worldgauge.core.errors import SubjectError, UsageError, WorldgaugeError
from worldgauge.core.model import ModelSpec, WorldModel
from worldgauge.engine.identity import subject_identity
from worldgauge.engine.modules import digest_of, import_file, import_module
from worldgauge.engine.store import slug
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.workers.pool import Job, Pool
from worldgauge.engine.workers.worker import Progress
from worldgauge.models import models
from worldgauge.serving import LOAD_DEADLINE_S, SCHEMES, RemoteModel, is_served, open_model
from worldgauge.serving.foreign import adopt
from worldgauge_serve import settings_of

Asks = Literal["model", "agent"]
"""Whom a suite asks: its attribute `asks`."""


def asks_of(suite: Suite) -> Asks:
    """Whom `suite` asks."""
    return suite.subject_kind


@dataclass(frozen=True)
class Subject:
    """A model, or an agent, that is ready to be asked.

    label: names its run folder and its rows. source: where it comes from, part of its identity.
    """

    model: WorldModel | Agent
    label: str
    source: str

    @property
    def identity(self) -> dict[str, Any]:
        """What its output depends on."""
        return subject_identity(self.model.spec, self.source)


def resolve(what: str | WorldModel | Agent, asks: Asks = "model") -> Subject:
    """The subject that `what` means: a live model or agent, or a string with its settings as a query.

    "drift", "drift?step_m=0.02", "my_pkg.wm:MyModel", "./wm.py:MyModel?gain=0.8". Values are read as
    JSON where they are JSON, else as text. Naming a module, a file or a command is consent to run its code.
    "cmd:...", "pipe:..." and "http://..." are served models (`serving.open_model`): a file's class has the same label
    and identity however it is reached.
    Raises UnknownNameError with the nearest name; UsageError or SubjectError for what is no model, or no agent where
    these are asked.
    """
    if asks == "agent" and isinstance(what, str) and is_served(what):
        raise UsageError(f"agent '{what}' is not reached this way; a language model is chat?model=NAME@URL")
    served = open_model(what) if isinstance(what, str) and is_served(what) else what
    if isinstance(served, RemoteModel):
        return Subject(served, _served_label(served), served.source)
    if not isinstance(what, str):
        model = _checked(what, repr(what), asks)
        module = sys.modules[type(what).__module__]
        source = f"{module.__name__}@{digest_of(module)}:{type(what).__qualname__}"
        return Subject(model, _label(model.spec, {}), source)
    target, settings = parse(what)
    factory, source = factory_of(target, asks)
    model = _checked(_make(factory, settings, target), target, asks)
    return Subject(model, _label(model.spec, settings), source)


@dataclass(frozen=True)
class SubjectEntry:
    """A subject as a run sees it: who it is, and how to reach it.

    text: makes it in a worker. model: the live object, asked in this process. Neither: records only.
    """

    label: str
    identity: Mapping[str, Any]
    text: str | None = None
    model: WorldModel | Agent | None = None


def enter_subjects(what: Sequence[str | WorldModel | Agent], pool: Pool, asks: Asks = "model") -> list[SubjectEntry]:
    """Entrants for models, or for agents; those given as text are made in a worker, so that this process stays small.

    Raises SubjectError for one that cannot be made.
    """
    if not what:
        raise UsageError(f"no {asks} was given; list them with: worldgauge list {asks}s")
    texts = list(dict.fromkeys(one for one in what if isinstance(one, str)))
    jobs = [Job(text, f"{__name__}:introduce", {"text": text, "asks": asks}, LOAD_DEADLINE_S) for text in texts]
    made: dict[str, SubjectEntry] = {}
    for result in pool.run(jobs):
        result.raise_for(result.id)
        made[result.id] = SubjectEntry(**result.value, text=result.id)
    return [made[one] if isinstance(one, str) else _live(one, asks) for one in what]


def introduce(*, text: str, asks: Asks, progress: Progress) -> dict[str, Any]:
    """Job of the pool: label and identity of the subject that `text` means."""
    subject = resolve_once(text, asks)
    try:
        json.dumps(subject.identity, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{asks} '{text}': the settings of its spec are no plain JSON values: {error}") from None
    return {"label": subject.label, "identity": subject.identity}


def resolve_once(text: str, asks: Asks = "model") -> Subject:
    """`resolve`, the last one kept: loading weights may take minutes, and all state of a rollout is in its request."""
    if (asks, text) not in _kept:
        for other in _kept.values():
            if (served := served_behind(other.model)) is not None:
                served.close()  # two may be more than the memory holds
        _kept.clear()
        _kept[asks, text] = resolve(text, asks)
    return _kept[asks, text]


_kept: dict[tuple[Asks, str], Subject] = {}


def served_behind(model: WorldModel | Agent | None) -> RemoteModel | None:
    """The served model that is asked in the end: this one, or that `behind` a model that passes for it."""
    asked = getattr(model, "behind", model)
    return asked if isinstance(asked, RemoteModel) else None


def _live(model: WorldModel | Agent, asks: Asks) -> SubjectEntry:
    subject = resolve(model, asks)
    return SubjectEntry(subject.label, subject.identity, model=model)


def parse(text: str) -> tuple[str, dict[str, Any]]:
    """Target and settings of "target?name=value&name=value"; those of a served model are its server's affair."""
    if is_served(text):
        return text, {}
    target, _, query = text.partition("?")
    try:
        return target, settings_of(query)
    except ValueError as error:
        raise UsageError(f"'{text}': {error}") from None


def factory_of(target: str, asks: Asks = "model") -> tuple[Callable[..., Any], str]:
    """The class or function behind a target, and its source for the identity."""
    module_name, colon, name = target.rpartition(":")
    if not colon and target.endswith(".py"):
        raise UsageError(f"model '{target}': name the class in it: {target}:Class")
    if colon and (not name.isidentifier() or " " in target):
        _refuse_what_looks_served(target)
    if colon and not name.isidentifier():
        raise UsageError(
            f"model '{target}': '{name}' cannot be a class; name it as ./file.py:Class or package.module:Class, "
            "served models as cmd:, pipe: or http://"
        )
    if not colon:
        return (models.get(target) if asks == "model" else agents.get(target)), target
    if module_name.endswith(".py"):
        module, source = import_file(Path(module_name).expanduser(), "model")
    else:
        module = import_module(module_name, f"model '{target}'", "; or name its file: ./file.py:Class")
        source = f"{module_name}@{digest_of(module)}"
    found = getattr(module, name, None)
    if found is None:
        near = difflib.get_close_matches(name, [each for each in vars(module) if not each.startswith("_")], 1, 0.5)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise UsageError(f"model '{target}': '{module_name}' holds no '{name}'{hint}")
    return found, f"{source}:{name}"


def _make(factory: Any, settings: Mapping[str, Any], target: str) -> Any:
    if not callable(factory):
        if settings:
            raise UsageError(f"model '{target}' is an object, not a class: it takes no settings")
        return factory
    with suppress(ValueError):  # a class without a readable signature speaks for itself
        signature = inspect.signature(factory)
        try:
            signature.bind(**settings)
        except TypeError as error:
            takes = ", ".join(
                p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in signature.parameters.values()
            )
            raise UsageError(f"model '{target}' takes ({takes}): {error}") from None
    try:
        return factory(**settings)
    except WorldgaugeError:
        raise
    except Exception as error:
        raise SubjectError(f"model '{target}' could not be made: {type(error).__name__}: {error}") from error


def _refuse_what_looks_served(target: str) -> None:
    """Raises UsageError for a target that was meant as a command or an address."""
    scheme, _, rest = target.partition(":")
    near = difflib.get_close_matches(scheme.lower(), SCHEMES, n=1)
    meant = ""
    if near:
        meant = f"{near[0]}://{rest.lstrip('/')}" if near[0].startswith("http") else f"{near[0]}:{rest}"
    elif re.fullmatch(r"[\w.-]+:\d+/?", target):
        meant = f"http://{target}"
    if meant:
        raise UsageError(f"no model '{target}'. Did you mean '{meant}'?")


def _checked(model: Any, name: str, asks: Asks) -> WorldModel | Agent:
    model = adopt(model) if asks == "model" else model
    spec, method, promise, called = _PROMISES[asks]
    lacks = [
        text
        for held, text in (
            (isinstance(getattr(model, "spec", None), spec), f"'spec', a {spec.__module__}.{spec.__name__}"),
            (callable(getattr(model, method, None)), f"'{method}({promise})'"),
        )
        if not held
    ]
    if lacks:
        raise UsageError(f"'{name}' is no {called}: it lacks {' and '.join(lacks)} (docs/adding.md shows one)")
    checked: WorldModel | Agent = model
    return checked


_PROMISES: Mapping[Asks, tuple[type[Any], str, str, str]] = {
    "model": (ModelSpec, "rollout", "request", "world model"),
    "agent": (AgentSpec, "answer", "problem", "agent"),
}


def _served_label(model: RemoteModel) -> str:
    try:
        return _label(model.spec, model.given)
    except UsageError:
        model.close()
        raise


def _label(spec: ModelSpec | AgentSpec, given: Mapping[str, Any]) -> str:
    """The model's name with what it was given, so that no two share a run folder.

    Of a path the last part stands, of what is long the beginning; where that happens, a digest of what the model tells
    of itself, such as one of its weights, says the rest.
    """
    words, is_cut = [spec.name], False
    for key, value in sorted(given.items()):
        if value == spec.name:
            continue
        whole = str(value)
        shown = (Path(whole).stem if "/" in whole else whole)[:_LABEL_WORD]
        words.append(f"{key}-{shown}")
        is_cut |= shown != whole
    if is_cut:
        told = json.dumps(dict(spec.settings), sort_keys=True, default=str)
        words.append(hashlib.sha256(told.encode()).hexdigest()[:6])
    return plain_label("-".join(words))


def plain_label(name: str) -> str:
    """`name` as the label of a run. Raises UsageError for one without a letter or digit."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")
    if not plain:
        raise UsageError(f"model name '{name}' holds no letter or digit")
    return slug(plain)


_LABEL_WORD = 24
