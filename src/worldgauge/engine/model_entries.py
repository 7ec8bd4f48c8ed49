"""Make a model or an agent from its address, with the label and the identity that it has in a run."""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, cast

from worldgauge.core.agent import Agent, AgentSpec, agents
from worldgauge.core.errors import ModelError, UsageError, WorldgaugeError
from worldgauge.core.io import digest_of, dumps
from worldgauge.core.model import ModelSpec, TellsScenes, WorldModel
from worldgauge.core.registry import Registry, check_arguments
from worldgauge.core.user_modules import import_file, import_module, module_digest
from worldgauge.engine.resume import LIVE, model_identity, states_digest
from worldgauge.engine.store import file_slug
from worldgauge.engine.suite.base import AnswererKind
from worldgauge.engine.workers.pool import Job, Pool
from worldgauge.engine.workers.worker import Progress
from worldgauge.models import models
from worldgauge.models.address import ModelAddress
from worldgauge.models.calibration import Calibrated
from worldgauge.models.context_ablation import SHOWN, ContextAblation
from worldgauge.serving import LOAD_DEADLINE_S, SCHEMES, RemoteModel, open_model
from worldgauge.serving.foreign import adopt
from worldgauge_serve import LoadError, made_with_fingerprint

CROP = "crop"
"""Setting of every built-in model: "hedge?crop=4x3"."""


@dataclass(frozen=True)
class ResolvedModel:
    """A model or an agent that is ready for requests.

    Attributes:
        content: Fingerprint of a registered model of another package; empty for others.
        code: Fingerprint of the source without folders; empty if it has none.
    """

    model: WorldModel | Agent
    label: str
    source: str
    content: str = ""
    code: str = ""

    @property
    def steady(self) -> str:
        """Digest of what is the same in all workers of a run: its identity without folders in which it may write."""
        fixed = {"source": self.code, "content": ""} if self.code else {}
        return digest_of(dumps({**self.identity, **fixed}))

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that the output of the model depends on."""
        return model_identity(self.model.spec, self.source, self.content)

    @property
    def trained_scenes(self) -> Sequence[str]:
        """Digests of the scenes that it was trained on; empty where it does not tell them."""
        asked = getattr(self.model, "behind", self.model)
        return asked.trained_scenes if isinstance(asked, TellsScenes) else ()

    @property
    def unplaced_clips(self) -> int:
        """Number of clips that it was trained on whose scenes are not known, where it tells so."""
        return int(getattr(getattr(self.model, "behind", self.model), "unplaced_clips", 0))


def resolve_model(what: str | ModelAddress | WorldModel | Agent, kind: AnswererKind = "model") -> ResolvedModel:
    """Make the model or agent that an address names, or take a live one.

    Naming a module, a file or a command is consent to run its code. A class has one identity however it is reached.
    """
    what = ModelAddress.parse(what, kind) if isinstance(what, str) else what
    if isinstance(what, ModelAddress):
        return _wrapped(_resolve_named(what, kind), what)
    if isinstance(what, RemoteModel):
        return _served(what)
    model = _check_answerer(what, repr(what), kind)
    module = sys.modules[type(what).__module__]
    source = f"{module.__name__}@{module_digest(module)}:{type(what).__qualname__}"
    return ResolvedModel(model, _label(model.spec, {}), source if states_digest(model.spec) else f"{LIVE}{source}")


def _resolve_named(address: ModelAddress, kind: AnswererKind) -> ResolvedModel:
    """The model that an address names, without its calibration and with all context frames."""
    target, settings = address.target, address.settings
    if address.is_served:
        return _served(open_model(target))
    factory, file = find_factory(target, kind)
    place, colon, name = target.rpartition(":")
    if not colon and _module_of(factory).partition(".")[0] == "worldgauge":  # it states the digests of its files
        own = {name: value for name, value in settings.items() if name != CROP}
        model = _check_answerer(_make(factory, own, target), target, kind)
        if CROP in settings:
            _crop(model, settings[CROP])
        return ResolvedModel(model, _label(model.spec, settings), target)
    try:
        make = partial(_make, factory, settings, target)
        made, found, code = made_with_fingerprint(file, factory, settings, make)
    except LoadError as error:
        raise ModelError(f"model '{target}': {error}") from None
    model = _check_answerer(made, target, kind)
    if not colon:
        return ResolvedModel(model, _label(model.spec, settings), target, found, code)
    source = f"sha256:{found}" if place.endswith(".py") else f"{place}@{found}"
    return ResolvedModel(model, _label(model.spec, settings), f"{source}:{name}", code=code)


def _crop(model: WorldModel | Agent, ratio: Any) -> None:
    """Let a built-in model show only the centre part of the view, as a model beside it does."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)x(\d+(?:\.\d+)?)", str(ratio))
    if found is None or not isinstance(model.spec, ModelSpec):
        raise UsageError(f"model '{model.spec.name}': {CROP} takes a ratio of a world model's view, such as 4x3")
    cast("Any", model).spec = replace(model.spec, crop=cast("Any", (float(found[1]), float(found[2]))))


def _served(model: RemoteModel) -> ResolvedModel:
    with _closing(model):
        return ResolvedModel(model, _label(model.spec, model.given), model.source, code=model.code)


def _wrapped(resolved: ResolvedModel, address: ModelAddress) -> ResolvedModel:
    """The model with the calibration and the number of context frames of its address."""
    model, label = cast("WorldModel", resolved.model), resolved.label
    with _closing(model):
        if address.calibration is not None:
            model = Calibrated(model, address.calibration, f"{resolved.source} {resolved.content}".strip())
            label = run_label(f"{label}-calibrated-{model.spec.settings['calibration'][:8]}")
        if address.context_frames is not None:
            model = ContextAblation(model, address.context_frames)
            label = run_label(f"{label}-{SHOWN}-{address.context_frames}")
    return replace(resolved, model=model, label=label)


@contextmanager
def _closing(model: WorldModel | Agent) -> Iterator[None]:
    """Closes a served model if its label or its wrapper is refused."""
    try:
        yield
    except WorldgaugeError:
        if (served := find_served(model)) is not None:
            served.close()
        raise


@dataclass(frozen=True)
class ModelEntry:
    """A model of a run: who it is, and how to reach it. Without `text` and `model` only its records are used.

    Attributes:
        model: A live object, which runs in this process, even if `text` names it.
        unplaced_clips: Number of training clips whose scenes are not known.
        stands_in: Whether a built-in model plays the part of the user's, as in the demo.
    """

    label: str
    identity: Mapping[str, Any]
    text: str | None = None
    model: WorldModel | Agent | None = None
    steady: str = ""
    trained_scenes: Sequence[str] = ()
    unplaced_clips: int = 0
    stands_in: bool = False


def is_built_in(identity: Mapping[str, Any]) -> bool:
    """Whether an identity names a model that this package registers. No file, object, server or plugin does."""
    name = identity["source"]
    kind: Registry[Any] = agents if name in agents.names() else models
    if identity.get("content") or name not in kind.names():
        return False
    if name == "hedge" and "moves" not in identity["settings"]:
        return False  # former records hold the requested path, along which it does not move
    entry = kind.entry(name)
    file = getattr(sys.modules.get(entry.origin), "__file__", None)
    ours = Path(__file__).parents[1]
    return not isinstance(entry.target, EntryPoint) and file is not None and Path(file).is_relative_to(ours)


def resolve_entries(
    what: Sequence[ModelAddress | WorldModel | Agent], pool: Pool, kind: AnswererKind = "model"
) -> list[ModelEntry]:
    """One entry per model, in the same order. A model that is named is made in a worker: this process stays small."""
    if not what:
        raise UsageError(f"no {kind} was given; list them with: worldgauge list {kind}s")
    texts = dict.fromkeys(one.text for one in what if isinstance(one, ModelAddress))
    jobs = [
        Job(text, f"{__name__}:describe_model_job", {"text": text, "kind": kind}, LOAD_DEADLINE_S) for text in texts
    ]
    made: dict[str, ModelEntry] = {}
    for result in pool.run(jobs):
        result.raise_for(result.id)
        made[result.id] = ModelEntry(**result.value, text=result.id)
    return [made[one.text] if isinstance(one, ModelAddress) else live_entry(one, kind) for one in what]


def describe_model_job(*, text: str, kind: AnswererKind, progress: Progress) -> dict[str, Any]:
    """Job of the pool: label and identity of the model that `text` names."""
    resolved = resolve_cached(text, kind)
    try:
        json.dumps(resolved.identity, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{kind} '{text}': the settings of its spec are no plain JSON values: {error}") from None
    return {
        "label": resolved.label,
        "identity": resolved.identity,
        "steady": resolved.steady,
        "trained_scenes": list(resolved.trained_scenes),
        "unplaced_clips": resolved.unplaced_clips,
    }


def resolve_cached(text: str, kind: AnswererKind = "model") -> ResolvedModel:
    """`resolve_model` that caches the last model. It is reusable: all state of a rollout is in its request."""
    if (kind, text) not in _kept:
        for other in _kept.values():
            if (served := find_served(other.model)) is not None:
                served.close()  # two may be more than the memory holds
        _kept.clear()
        _kept[kind, text] = resolve_model(text, kind)
    return _kept[kind, text]


_kept: dict[tuple[AnswererKind, str], ResolvedModel] = {}


def find_served(model: WorldModel | Agent | None) -> RemoteModel | None:
    """The served model behind `model`: `model` itself, or its attribute `behind`. None where there is none."""
    asked = getattr(model, "behind", model)
    return asked if isinstance(asked, RemoteModel) else None


def live_entry(model: ModelAddress | WorldModel | Agent, kind: AnswererKind = "model") -> ModelEntry:
    """Entry of a live object, or of a model that is made in this process. Raises as `resolve_model`."""
    resolved = resolve_model(model, kind)
    return ModelEntry(
        resolved.label,
        resolved.identity,
        text=model.text if isinstance(model, ModelAddress) else None,
        model=resolved.model,
        trained_scenes=resolved.trained_scenes,
        unplaced_clips=resolved.unplaced_clips,
    )


def find_factory(target: str, kind: AnswererKind = "model") -> tuple[Callable[..., Any], str]:
    """The class or function that a target names, and the file of its module; empty if it has none."""
    module_name, colon, name = target.rpartition(":")
    if not colon and target.endswith(".py"):
        raise UsageError(f"model '{target}': name the class in it: {target}:Class")
    if colon and (not name.isidentifier() or " " in target):
        _suggest_served(target)
    if colon and not name.isidentifier():
        raise UsageError(
            f"model '{target}': '{name}' cannot be a class; name it as ./file.py:Class or package.module:Class, "
            "served models as cmd:, pipe: or http://"
        )
    if not colon:
        made = models.get(target) if kind == "model" else agents.get(target)
        return made, str(getattr(sys.modules.get(_module_of(made)), "__file__", None) or "")
    if module_name.endswith(".py"):
        module, _ = import_file(Path(module_name).expanduser(), "model")
    else:
        module = import_module(module_name, f"model '{target}'", "; or name its file: ./file.py:Class")
    found = getattr(module, name, None)
    if found is None:
        near = difflib.get_close_matches(name, [each for each in vars(module) if not each.startswith("_")], 1, 0.5)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise UsageError(f"model '{target}': '{module_name}' holds no '{name}'{hint}")
    return found, str(getattr(module, "__file__", None) or "")


def _module_of(factory: Any) -> str:
    return str(getattr(factory, "__module__", ""))


def _make(factory: Any, settings: Mapping[str, Any], target: str) -> Any:
    if not callable(factory):
        if settings:
            raise UsageError(f"model '{target}' is an object, not a class: it takes no settings")
        return factory
    check_arguments(factory, settings, f"model '{target}'")
    try:
        return factory(**settings)
    except WorldgaugeError:
        raise
    except (Exception, SystemExit) as error:
        raise ModelError(f"model '{target}' could not be made: {type(error).__name__}: {error}") from error


def _suggest_served(target: str) -> None:
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


def _check_answerer(model: Any, name: str, kind: AnswererKind) -> WorldModel | Agent:
    model = adopt(model) if kind == "model" else model
    spec, method, promise, called = _CONTRACTS[kind]
    lacks = [
        text
        for held, text in (
            (isinstance(getattr(model, "spec", None), spec), f"'spec', a {spec.__module__}.{spec.__name__}"),
            (callable(getattr(model, method, None)), f"'{method}({promise})'"),
        )
        if not held
    ]
    if lacks:
        raise UsageError(f"'{name}' is no {called}: it lacks {' and '.join(lacks)} (docs/reference/model_spec.md)")
    checked: WorldModel | Agent = model
    return checked


_CONTRACTS: Mapping[AnswererKind, tuple[type[Any], str, str, str]] = {
    "model": (ModelSpec, "rollout", "request", "world model"),
    "agent": (AgentSpec, "answer", "problem", "agent"),
}


def _label(spec: ModelSpec | AgentSpec, given: Mapping[str, Any]) -> str:
    """Label of a model: name and settings, with a digest if shortened, so that no two models share a run folder."""
    words, is_cut = [spec.name], False
    for key, value in sorted(given.items()):
        if value == spec.name:
            continue
        whole = str(value)
        shown = (Path(whole).stem if "/" in whole else whole)[:_LABEL_WORD]
        words.append(f"{key}-{shown}")
        is_cut |= shown != whole
    if is_cut:
        settings = json.dumps(dict(spec.settings), sort_keys=True, default=str)
        words.append(digest_of(settings)[:6])
    return run_label("-".join(words))


def run_label(name: str) -> str:
    """Turn the name of a model into a label, which is a valid file name. A name needs a letter or digit."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")
    if not plain:
        raise UsageError(f"model name '{name}' holds no letter or digit")
    return file_slug(plain)


_LABEL_WORD = 24
