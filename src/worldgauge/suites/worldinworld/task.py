"""A task of the suite: where it happens, what the agent is asked, the rules, the outcome and how it is shown.

A task is a folder of the suite with a `task.py` in it, whose class registers itself. The format of its episodes, how
they are collected, its settings, policies and metrics lie in the same folder. Nothing else in the suite knows a task by
name.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

from worldgauge.chat.endpoint import model_and_url, open_chat
from worldgauge.chat.model import ChatModel
from worldgauge.chat.prompts import Prompts
from worldgauge.core.episode import Goal, WorldFacts
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera
from worldgauge.core.image import Image
from worldgauge.core.model import WorldModel
from worldgauge.core.registry import Registry
from worldgauge.core.video import Clip
from worldgauge.engine.options import given_fields, merged, option, options_of
from worldgauge.engine.suite.contract import Record, Score, TaskView
from worldgauge.engine.suite.scores import make_score
from worldgauge.engine.suite.settings import (
    chat_prices,
    check_chat_budget,
    naming_setting,
    networks_digest,
    with_parity,
)
from worldgauge.perception.network_source import What
from worldgauge.perception.networks import networks
from worldgauge.suites.worldinworld.format.contract import EpisodeFormat, EpisodeSampler, EpisodeSet
from worldgauge.suites.worldinworld.loop import Env, Imagination, Rules
from worldgauge.suites.worldinworld.metrics import Term
from worldgauge.suites.worldinworld.policies.cached_inference import check_networks
from worldgauge.suites.worldinworld.policies.contract import (
    TASK_ROOMS,
    ActionPlan,
    PolicyKit,
    Proposer,
    Reviser,
    proposers,
    revisers,
)
from worldgauge.suites.worldinworld.policies.person import ADDRESS, PERSON, host_and_port
from worldgauge.suites.worldinworld.policies.simple import NETWORK

SUITE = "worldinworld"
REACHING = frozenset({"chat_recording", "chat_replay", "chat_budget", "chat_prices", "chat_key_env", "prompts"})
"""Settings on how a language model and its prompts are reached; what it says does not depend on them."""
LEARNED: Mapping[str, What] = {"lpips": "lpips", "aesthetic": "aesthetic", "imaging": "imaging"}
"""Settings that name a network -> what it looks for."""
_PERSON_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_PERSON_NAME_RULE = "1 to 40 letters, digits or ._-, a letter or digit first"
_PRICES = "IN,OUT of a million tokens"

EpisodeT = TypeVar("EpisodeT")
EnvT = TypeVar("EnvT", bound="TaskEnv")
RulesT = TypeVar("RulesT", bound=Rules[Any])
Size = tuple[int, int]
FPS = 3.0
"""Of films of an episode: slow enough to read."""


@dataclass(frozen=True, kw_only=True)
class TaskParameters:
    """How the agent of a task is queried; policies are registered names, in `ClosedLoopTask.defaults` the default ones.

    Attributes:
        decisions: K; for questions the number of low-level actions, for manipulation that of poses.
        clip: Frames of a clip after the first, filled with forward steps that answers also use; 0: only the plan's own.
        hfov_deg: Horizontal field of view of the views.
        view_px: Height of the views.
        turns_around: Whether a model of single views must turn around after a plan, so that all of its end is seen.
    """

    decisions: int
    candidates: int
    length: int
    proposer: str
    reviser: str
    clip: int = 0
    aspect: float = 1.0
    hfov_deg: float = 90.0
    view_px: int = 384
    turns_around: bool = False


class TaskSettings(Protocol):
    """A dataclass of options."""

    RELEASED: ClassVar[Mapping[str, str]]


@dataclass(frozen=True)
class NoTaskSettings:
    """Settings of a task that has none."""

    RELEASED: ClassVar[Mapping[str, str]] = {}


class TaskEnv(Env[Any], Protocol):
    """What the suite needs of an environment in addition to the loop: tracing an episode and looking at it again."""

    text_renderer: str
    """By which plans become words for models that take text."""

    @property
    def camera(self) -> Camera:
        """Camera of the front view."""

    @property
    def position_m(self) -> tuple[float, ...]:
        """Position of the agent, metres: of a walker x and y, of a hand x, y and z."""

    def views_of_step(self) -> Sequence[Image]:
        """Front views (H, W, 3) of the step that was just taken; the last one shows where it ended."""

    def info(self, observation: Any, actions: int, view_steps: Sequence[int]) -> dict[str, Any]:
        """What is needed to look at a decision again, plain JSON values."""

    def plain_actions(self, actions: Sequence[Any]) -> Any:
        """Actions as plain JSON values."""

    def plain_plan(self, plan: ActionPlan) -> Any:
        """The actions of a plan as plain JSON values."""


class ClosedLoopTask(ABC, Generic[EpisodeT, EnvT, RulesT]):
    """One episode of a task, and by its class the task itself. Subclass it and register the class under its name.

    Attributes:
        order: Its place among the tasks in tables, the paper's; also part of the seeds of its episodes.
        published: The parameters of protocol=published; None for the defaults.
        columns: Columns of its table by name of the score, the paper's first.
        parts: Group keys by which success has its own tables, with the order of their values; others come first, by
            name.
        gain_parts: Those by which the gain over no world model has one too, with their words in the title.
        noise_levels: Of `degraded`, between which success falls, for the study `noise`.
        OwnSettings: Dataclass of settings that only some tasks have; its `RELEASED` are values of parity=released.
        noted_settings: Those of them that records and the table of success show.
        shared_proposers: Maker by name of a proposer of several tasks, or None for the registered one.
        policy_options: Setting by name of the policy option (`PolicyKit.options`) that is taken from it.
    """

    name: ClassVar[str]
    order: ClassVar[int]
    format: ClassVar[EpisodeFormat[Any]]
    sampler: ClassVar[EpisodeSampler]
    defaults: ClassVar[TaskParameters]
    published: ClassVar[TaskParameters | None] = None
    columns: ClassVar[Mapping[str, str]]
    is_rate: ClassVar[bool] = True
    regret_unit: ClassVar[str] = ""
    parts: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    gain_parts: ClassVar[Mapping[str, str]] = {}
    ends: ClassVar[Mapping[str, str]] = {}
    goal_words: ClassVar[str] = "the goal"
    noise_levels: ClassVar[tuple[float, ...]] = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
    fps: ClassVar[float] = FPS
    OwnSettings: ClassVar[type[TaskSettings]] = NoTaskSettings
    noted_settings: ClassVar[tuple[str, ...]] = ()
    scoring_settings: ClassVar[frozenset[str]] = frozenset()
    shared_proposers: ClassVar[Mapping[str, Callable[[PolicyKit], Proposer[Any]] | None]] = {}
    shared_revisers: ClassVar[Mapping[str, Callable[[PolicyKit], Reviser[Any]] | None]] = {}
    policy_options: ClassVar[Mapping[str, str]] = {}

    def __init__(self, episode: EpisodeT, world: WorldFacts, settings: LoopSettings) -> None:
        self.episode, self.world, self.settings = episode, world, settings
        self.parameters = settings.of_task(self.name, self.defaults_of(episode))

    # of the task

    @classmethod
    def episodes(cls, data: EpisodeSet) -> Sequence[Any]:
        """Its episodes in a folder, in order."""
        return data.episodes.get(cls.name, ())

    @classmethod
    def group(cls, episode: Any) -> dict[str, object]:
        """Groups by which its episodes are separated in tables, in addition to the task."""
        return {}

    @classmethod
    def defaults_of(cls, episode: Any) -> TaskParameters:
        """Default parameters of an episode; former designs of episodes keep theirs."""
        return cls.defaults

    @classmethod
    def clip_frames(cls, length: int, clip: int) -> int:
        """Frames of a clip after the first, for plans of `length` and the protocol's `clip`; it shows all steps."""
        return max(clip, length) if clip else 0

    @classmethod
    def found_settings(cls, settings: LoopSettings) -> dict[str, Any]:
        """Computed settings, such as digests of files; called for every task, also if it is not requested."""
        return {}

    @classmethod
    def check_settings(cls, settings: LoopSettings) -> None:
        """Check that the task can be run with these settings."""

    @classmethod
    def networks(cls, settings: LoopSettings) -> tuple[str, ...]:
        """Networks that its policies use on this machine."""
        named = settings.lpips or NETWORK
        return (named,) if settings.looks_by_named_network(cls.name) and named in networks else ()

    @classmethod
    def check_installed(cls, settings: LoopSettings) -> None:
        """Check that what its policies and environment need is installed."""
        check_networks(cls.networks(settings))

    @classmethod
    def policy_options_of(cls, settings: LoopSettings) -> dict[str, Any]:
        """Options of policies by name, as the settings give them."""
        names = {**_SHARED, **cls.policy_options}
        return {name: getattr(settings, setting) for name, setting in names.items()}

    @classmethod
    def kit(cls, settings: LoopSettings) -> PolicyKit:
        """What its policies are made from."""
        options = {name: value for name, value in cls.policy_options_of(settings).items() if value is not None}
        chat = None if settings.chat is None else _chat(settings)
        return PolicyKit(cls.name, settings.of_task(cls.name).length, chat, settings.prompts, options)

    @classmethod
    def lacks(cls, world: WorldFacts, settings: LoopSettings) -> str | None:
        """Why its episodes cannot be asked in a world that is at hand, in one line; None where they can."""
        return cls.format.lacks(world)

    # of an episode

    def policies(self) -> tuple[Proposer[Any], Reviser[Any]]:
        """Proposer and reviser."""
        kit = self.kit(self.settings)
        kit = replace(kit, length=self.parameters.length, options={**kit.options, **self.episode_options()})
        proposer, reviser = self.parameters.proposer, self.parameters.reviser
        return (
            (self.shared_proposers.get(proposer) or proposers.get(proposer))(kit),
            (self.shared_revisers.get(reviser) or revisers.get(reviser))(kit),
        )

    def episode_options(self) -> dict[str, Any]:
        """Options of policies that depend on the episode."""
        return {}

    @abstractmethod
    def make_env(self) -> EnvT:
        """The environment, at its start."""

    @abstractmethod
    def goal(self, env: EnvT) -> Goal:
        """What the agent is asked to do."""

    @abstractmethod
    def rules(self, env: EnvT, seed: int) -> RulesT:
        """The task's rules for the loop."""

    @abstractmethod
    def imagination(self, model: WorldModel, env: EnvT, seed: int, task_id: str) -> Imagination:
        """The object that queries a world model for rollouts."""

    def start_fault(self, env: EnvT) -> str | None:
        """Why the episode cannot begin; None where it can. It is then scored as failed, and takes no steps."""
        return None

    @abstractmethod
    def outcome(self, rules: RulesT, env: EnvT) -> dict[str, Any]:
        """Outcome of the episode for the scores, as plain JSON values."""

    @abstractmethod
    def scores(self, record: Record) -> Iterator[Score]:
        """Its success and the scores of its own table."""

    @abstractmethod
    def simulated(self, env: EnvT, line: Mapping[str, Any], candidate: Mapping[str, Any], camera: Camera) -> Clip:
        """What the simulator shows for a candidate's generated frames; `camera` sees as much as the model shows."""

    # of films and reports

    @property
    @abstractmethod
    def instruction(self) -> str:
        """The agent's instruction in words for people."""

    @property
    @abstractmethod
    def caption(self) -> str:
        """The instruction with the right result, as far as it can be written."""

    def goal_picture(self) -> Image | None:
        """The image (H, W, 3) that the agent is sent to, where there is one."""
        return None

    def marked(self, view: Image, trace: Sequence[Mapping[str, Any]], number: int, step: int, size: Size) -> Image:
        """A view (h, w, 3) after `step` steps of decision `number`, with marks; `size`: pixels of what was seen."""
        return view

    def end_words(self, end: str) -> str:
        """Why an episode ended, in words."""
        return {"budget": "the budget is used up", **self.ends}.get(end, end)

    @abstractmethod
    def outcome_words(self, facts: Mapping[str, Any]) -> Iterator[str]:
        """The outcome in words, one line each."""

    @abstractmethod
    def view(self) -> TaskView:
        """What a report shows of the episode: how it would be solved, from the agent's view."""


closed_loop_tasks: Registry[type[ClosedLoopTask[Any, Any, Any]]] = Registry("task", *TASK_ROOMS)
"""The tasks: `task.py` of each folder, and those that modules of `worldgauge.plugins` register."""


def task_names() -> tuple[str, ...]:
    """Names of all tasks, in the order of tables."""
    return tuple(sorted(closed_loop_tasks.names(), key=lambda name: closed_loop_tasks.get(name).order))


def noted_settings() -> tuple[str, ...]:
    """Settings that records keep, of all tasks."""
    return tuple(dict.fromkeys(one for name in task_names() for one in closed_loop_tasks.get(name).noted_settings))


def serves(registry: Registry[Any], name: str, task: str) -> bool:
    """Whether a proposer or reviser serves a task: it says so, or the task does."""
    kind = closed_loop_tasks.get(task)
    shared = kind.shared_proposers if registry is proposers else kind.shared_revisers
    return name in shared or task in registry.entry(name).facts["tasks"]


@dataclass(frozen=True)
class LoopSettings:
    """Settings of the whole suite. `settings_type` adds those of each task (`ClosedLoopTask.OwnSettings`)."""

    # What parity=released stands for: each is a known behaviour of the release.
    RELEASED: ClassVar[Mapping[str, str]] = {"kind": "rewrite", "protocol": "published"}

    protocol: Literal["default", "published"] = option(
        "default", "published: the paper's K, M, L, proposer and reviser. Other settings win."
    )
    task: str | None = option(None, "Run only this task. Default: all.", choices=lambda: task_names())
    proposer: str | None = option(None, "Policy that proposes plans. Default: that of the task.")
    reviser: str | None = option(None, "Policy that chooses among plans. Default: that of the task.")
    policy: str | None = option(None, "Command or address of the policy for the proposer process.")
    who: str | None = option(
        None, f"Name of the person that the proposer {PERSON} asks. By default {PERSON}.", rule=_PERSON_NAME_RULE
    )
    page: str | None = option(None, "Address of the page for a person. Default: any free local port.", rule=ADDRESS)
    chat: str | None = option(None, "Language model for policies and judges: MODEL@URL.")
    chat_recording: str | None = option(None, "Folder for recorded replies of the language model.")
    chat_replay: Literal["use", "only", "off"] = option(
        "use", "Use of recorded replies: if there are any, only them, or never."
    )
    chat_budget: float | None = option(None, "Maximum cost of the language model, by chat_prices.", above=0)
    chat_prices: str | None = option(None, "Prices of a million input and output tokens.", rule=_PRICES)
    chat_key_env: str | None = option(None, "Environment variable with the key of the endpoint.")
    prompts: str | None = option(None, "Folder of prompts that replace ours, by file name.")
    prompts_digest: str = ""
    decisions: int | None = option(None, "K, decisions per episode. Default: by protocol and task.", low=1)
    candidates: int | None = option(None, "M, plans per decision. Default: by protocol and task.", low=1)
    length: int | None = option(None, "L, maximum number of actions per plan. Default: by protocol and task.", low=1)
    tts_ratio: float = option(1.0, "Fraction of decisions that query the world model.", low=0, high=1)
    view_px: int | None = option(None, "Height of the views in pixels. Default: that of the task.", low=32, high=1024)
    lpips: str | None = option(
        None, "Network of LPIPS, for controllability and the reviser lpips. Default: not computed."
    )
    aesthetic: str | None = option(None, "Network of the aesthetic score of generated frames. Default: not computed.")
    imaging: str | None = option(None, "Network of the imaging quality of generated frames. Default: not computed.")
    networks_digest: str | None = None
    kind: Literal["select", "rewrite"] = option(
        "select", "Language model as reviser: it selects, or may write a plan (released)."
    )
    parity: Literal["released"] | None = option(None, "released: the known behaviour of the release in all settings.")

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> LoopSettings:
        """Settings made of plain values."""
        settings = with_parity(options_of(settings_type(), SUITE, options), options, _released())
        check_chat_budget(SUITE, settings.chat_budget, recording=settings.chat_recording, prices=settings.chat_prices)
        settings.prices  # noqa: B018 - raises where they are none
        settings._check_policies()
        settings._check_person()
        for name in task_names():
            settings = replace(settings, **closed_loop_tasks.get(name).found_settings(settings))
        own = dict.fromkeys(name for task in settings.asked for name in settings.networks(task))
        settings = replace(settings, networks_digest=networks_digest(SUITE, settings, LEARNED, own))
        prompts = Prompts("worldgauge.suites.worldinworld", settings.prompts)
        if settings.chat is None:
            return replace(settings, prompts_digest="")
        model_and_url(settings.chat)
        acting = {settings.of_task(task).reviser for task in settings.asked}
        others = [name for one in revisers if one.name not in acting for name in one.facts.get("prompts", ())]
        return replace(settings, prompts_digest=prompts.digest_without(others))

    def unused(self, tasks: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Settings that differ from their defaults and belong to none of `tasks`, each with the tasks that own it."""
        found = {}
        parts = {name: closed_loop_tasks.get(name).OwnSettings for name in task_names()}
        own = {name: {field.name for field in given_fields(part)} for name, part in parts.items()}
        for field in given_fields(type(self)):
            owners = tuple(name for name, settings in own.items() if field.name in settings)
            released = self.parity is not None and field.name in _released()
            if owners and not set(owners) & set(tasks) and getattr(self, field.name) != field.default and not released:
                found[field.name] = owners
        return found

    @property
    def asked(self) -> tuple[str, ...]:
        """The tasks in the run."""
        return task_names() if self.task is None else (self.task,)

    @property
    def is_acted(self) -> bool:
        """Whether a person acts."""
        return self.proposer == PERSON

    @property
    def person(self) -> str:
        """Name of the person who acts, where one does."""
        return self.who or PERSON

    @property
    def prices(self) -> tuple[float | None, float | None]:
        """Prices of a million tokens, in and out."""
        return chat_prices(SUITE, self.chat_prices)

    @property
    def talks(self) -> bool:
        """Whether any policy asks a language model."""
        used = [self.of_task(task) for task in self.asked]
        policies = [(proposers, one.proposer) for one in used] + [(revisers, one.reviser) for one in used]
        return any(registry.entry(name).facts.get("chat") for registry, name in policies)

    @property
    def sees_by_network(self) -> bool:
        """Whether a policy uses one of the networks that are named."""
        return any(self.looks_by_named_network(task) for task in self.asked)

    def networks(self, task: str) -> tuple[str, ...]:
        """Networks that a task's policies use on this machine."""
        return closed_loop_tasks.get(task).networks(self)

    def looks_by_named_network(self, task: str) -> bool:
        """Whether a task's reviser uses the network that `lpips` names."""
        return bool(revisers.entry(self.of_task(task).reviser).facts.get("network"))

    def _check_policies(self) -> None:
        """Raises UsageError for a policy that does not serve what is asked, or lacks its language model."""
        for task in self.asked:
            own = self.of_task(task)
            for registry, name in ((proposers, own.proposer), (revisers, own.reviser)):
                with naming_setting(SUITE, registry.kind):
                    facts = registry.entry(name).facts
                if not serves(registry, name, task):
                    fitting = [each.name for each in registry if serves(registry, each.name, task)]
                    served = " or ".join(f"task={each}" for each in task_names() if serves(registry, name, each))
                    raise UsageError(
                        f"{registry.kind} '{name}' does not serve {task}: set {served}, or take {' or '.join(fitting)}"
                    )
                if facts.get("chat") and self.chat is None:
                    raise UsageError(
                        f"{registry.kind} '{name}' asks a language model: say which with --set chat=MODEL@URL"
                    )
            if own.proposer == "process" and self.policy is None:
                what = "a policy of yours, such as cmd:python -m worldgauge_serve my_policy.py:Mine"
                raise UsageError(f"proposer 'process' needs {what}: say which with --set policy=...")
            closed_loop_tasks.get(task).check_settings(self)

    def _check_person(self) -> None:
        """Raises UsageError for what a person cannot be called or do."""
        given = {"who": self.who, "page": self.page, f"reviser={PERSON}": self.reviser == PERSON or None}
        if not self.is_acted:
            for name in [name for name, value in given.items() if value is not None]:
                raise UsageError(f"{SUITE}: {name} is for a person who acts: say so with --set proposer={PERSON}")
        if not _PERSON_NAME.fullmatch(self.person):
            raise UsageError(f"{SUITE} setting 'who' must be {_PERSON_NAME_RULE}, got {self.who!r}")
        if self.page is not None:
            host_and_port(self.page)

    def of_task(self, task: str, defaults: TaskParameters | None = None) -> TaskParameters:
        """K, M, L and the policies of a task, as set or by default; `defaults`: of an episode's design."""
        kind = closed_loop_tasks.get(task)
        usual = defaults or kind.defaults
        own = usual if self.protocol == "default" else kind.published or usual
        length = own.length if self.length is None else self.length
        return replace(
            own,
            decisions=self.decisions or own.decisions,
            candidates=self.candidates or own.candidates,
            length=length,
            clip=kind.clip_frames(length, own.clip),
            view_px=self.view_px or own.view_px,
            proposer=self.proposer or own.proposer,
            reviser=self.reviser or own.reviser,
        )


@lru_cache(maxsize=1)
def settings_type() -> type[LoopSettings]:
    """The settings of a run: those of the suite, then those of each task."""
    return merged(LoopSettings, *(closed_loop_tasks.get(name).OwnSettings for name in task_names()))


def _released() -> dict[str, str]:
    own = [closed_loop_tasks.get(name).OwnSettings.RELEASED for name in task_names()]
    return {name: value for released in (LoopSettings.RELEASED, *own) for name, value in released.items()}


def score_of_term(record: Record, metric: str, term: Term, reason: str = "", *, prefix: str) -> Score:
    """The score of a term, with its flags, and the reason if it has no value."""
    why = None if term.value is not None else reason
    return make_score(record, metric, term.value, reason=why, facts={"flags": list(term.flags)}, prefix=prefix)


def walked_facts(record: Record) -> dict[str, Any]:
    """How an episode ended and where the agent went, for tables and pictures."""
    return {name: record.facts[name] for name in ("end", "xy", "who", *noted_settings()) if name in record.facts}


_SHARED: Mapping[str, str] = {"kind": "kind", "lpips": "lpips", "policy": "policy"}
"""Options of policies that serve several tasks."""


@lru_cache(maxsize=2)
def _chat(settings: LoopSettings) -> ChatModel:
    """One for all episodes of a worker: its limits on calls a minute hold for all of them."""
    assert settings.chat is not None
    given, got = settings.prices
    return open_chat(
        settings.chat,
        settings.chat_recording,
        replay=settings.chat_replay,
        input_price=given,
        output_price=got,
        budget=settings.chat_budget,
        key_env=settings.chat_key_env,
    )
