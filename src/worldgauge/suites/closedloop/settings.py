"""Settings of the suite, and the defaults of each task (World-in-World, tables of section 2)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal

from worldgauge.chat.endpoint import model_and_url
from worldgauge.chat.prompts import Prompts
from worldgauge.core.errors import UsageError
from worldgauge.engine.options import given_fields, merged, option, options_of
from worldgauge.engine.suite.network_settings import networks_digest
from worldgauge.engine.suite.settings import chat_prices, check_chat_budget, naming_setting, with_parity
from worldgauge.perception.naming import What
from worldgauge.suites.closedloop.policies.contract import proposers, revisers
from worldgauge.suites.closedloop.policies.person.desk import ADDRESS, PERSON, host_and_port
from worldgauge.suites.closedloop.task import TaskParameters, closed_loop_tasks, serves, task_names

SUITE = "closedloop"
REACHING = frozenset({"chat_recording", "chat_replay", "chat_budget", "chat_prices", "chat_key_env", "prompts"})
"""Settings on how a language model and its prompts are reached; what it says does not depend on them."""
LEARNED: Mapping[str, What] = {"lpips": "lpips", "aesthetic": "aesthetic", "imaging": "imaging"}
"""Settings that name a network -> what it looks for."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_NAME_RULE = "1 to 40 letters, digits or ._-, a letter or digit first"
_PRICES = "IN,OUT of a million tokens"


@dataclass(frozen=True)
class Settings:
    """Settings of the whole suite. `settings_type` adds those of each task (`ClosedLoopTask.OwnSettings`).

    Attributes:
        RELEASED: What parity=released stands for: each is a known behaviour of the release.
    """

    RELEASED: ClassVar[Mapping[str, str]] = {"kind": "rewrite", "protocol": "published"}

    protocol: Literal["default", "published"] = option(
        "default", "published stands for the paper's K, M, L, proposer and reviser of every task; options still win."
    )
    task: str | None = option(None, "Run only this task. By default all.", choices=lambda: task_names())
    proposer: str | None = option(None, "Policy that proposes plans: a registered name. By default the task's own.")
    reviser: str | None = option(None, "Policy that chooses among them: a registered name. By default the task's own.")
    policy: str | None = option(None, "Command or address of the policy that the proposer process asks.")
    who: str | None = option(
        None, f"Name of the person that the proposer {PERSON} asks. By default {PERSON}.", rule=_NAME_RULE
    )
    page: str | None = option(
        None,
        "Address of the page on which a person acts. By default on this machine, on any port that is free.",
        rule=ADDRESS,
    )
    chat: str | None = option(None, "Language model for policies and judges: MODEL@URL.")
    chat_recording: str | None = option(None, "Folder in which replies of the language model are recorded.")
    chat_replay: Literal["use", "only", "off"] = option(
        "use", "Whether recorded replies are used: where there are any, exclusively, or not at all."
    )
    chat_budget: float | None = option(None, "Maximum cost of the language model, by chat_prices.", above=0)
    chat_prices: str | None = option(None, "Prices of a million input and output tokens.", rule=_PRICES)
    chat_key_env: str | None = option(None, "Environment variable with the key of the endpoint.")
    prompts: str | None = option(None, "Folder of prompts that replace ours with the same file names.")
    prompts_digest: str = ""
    decisions: int | None = option(None, "K, decisions in an episode. By default the protocol's, by task.", low=1)
    candidates: int | None = option(
        None, "M, plans proposed at each decision. By default the protocol's, by task.", low=1
    )
    length: int | None = option(
        None, "L, maximum number of actions in a plan. By default the protocol's, by task.", low=1
    )
    tts_ratio: float = option(1.0, "Fraction of decisions at which the world model is asked.", low=0, high=1)
    view_px: int | None = option(None, "Height of the views in pixels. By default the task's own.", low=32, high=1024)
    lpips: str | None = option(
        None, "Network of LPIPS, for controllability and the reviser lpips. By default the metric is not computed."
    )
    aesthetic: str | None = option(
        None, "Network of the aesthetic score of imagined frames. By default it is not computed."
    )
    imaging: str | None = option(
        None, "Network of the imaging quality of imagined frames. By default it is not computed."
    )
    networks_digest: str | None = None
    kind: Literal["select", "rewrite"] = option(
        "select",
        "Whether a language model that revises selects among candidates or may write, as released, a plan of its own.",
    )
    parity: Literal["released"] | None = option(
        None, "released stands for the known behaviour of the release in every setting that offers it."
    )

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Settings:
        """Settings made of plain values.

        Raises:
            UsageError: For an option that is not allowed; names it.
        """
        settings = with_parity(options_of(settings_type(), SUITE, options), options, _released())
        check_chat_budget(SUITE, settings.chat_budget, recording=settings.chat_recording, prices=settings.chat_prices)
        settings.prices  # noqa: B018 - raises where they are none
        settings._check_policies()
        settings._check_person()
        for name in task_names():
            settings = replace(settings, **closed_loop_tasks.get(name).found_settings(settings))
        settings = replace(settings, networks_digest=settings._networks_digest())
        prompts = Prompts("worldgauge.suites.closedloop", settings.prompts)
        if settings.chat is None:
            return replace(settings, prompts_digest="")
        model_and_url(settings.chat)
        return replace(settings, prompts_digest=prompts.digest)

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
        """Prices of a million tokens, in and out.

        Raises:
            UsageError: For anything but two prices.
        """
        return chat_prices(SUITE, self.chat_prices)

    @property
    def talks(self) -> bool:
        """Whether any policy asks a language model."""
        own = [self.of_task(task) for task in self.asked]
        return any(proposers.entry(one.proposer).facts.get("chat") for one in own) or any(
            revisers.entry(one.reviser).facts.get("chat") for one in own
        )

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

    def _networks_digest(self) -> str | None:
        own = dict.fromkeys(name for task in self.asked for name in self.networks(task))
        return networks_digest(SUITE, self, LEARNED, own)

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
        if not _NAME.fullmatch(self.person):
            raise UsageError(f"{SUITE} setting 'who' must be {_NAME_RULE}, got {self.who!r}")
        if self.page is not None:
            host_and_port(self.page)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    def of_task(self, task: str) -> TaskParameters:
        """K, M, L and the policies of a task, as set or by default."""
        kind = closed_loop_tasks.get(task)
        own = kind.defaults if self.protocol == "default" else replace(kind.defaults, **kind.published)
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
def settings_type() -> type[Settings]:
    """The settings of a run: those of the suite, then those of each task."""
    return merged(Settings, *(closed_loop_tasks.get(name).OwnSettings for name in task_names()))


def _released() -> dict[str, str]:
    own = [closed_loop_tasks.get(name).OwnSettings.RELEASED for name in task_names()]
    return {name: value for released in (Settings.RELEASED, *own) for name, value in released.items()}
