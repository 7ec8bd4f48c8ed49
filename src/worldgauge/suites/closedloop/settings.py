"""Settings of the suite and what each task takes when nothing is said (World-in-World, tables of section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from worldgauge.chat.endpoint import model_and_url
from worldgauge.chat.prompts import Prompts
from worldgauge.core.errors import UsageError
from worldgauge.engine.suite.network_settings import networks_digest
from worldgauge.engine.suite.settings import chat_prices, check_chat_budget, check_whole, settings_of, with_parity
from worldgauge.perception.naming import What
from worldgauge.suites.closedloop.policies.contract import proposers, revisers
from worldgauge.suites.closedloop.questions.judge import judges
from worldgauge.suites.closedloop.task import TaskParameters, closed_loop_tasks, task_names
from worldgauge.suites.closedloop.training_data.demonstrations.layout import read_index

SUITE = "closedloop"
REACHING = frozenset({"chat_recording", "chat_replay", "chat_budget", "chat_prices", "chat_key_env", "prompts"})
"""Settings on how a language model and its prompts are reached; what it says does not depend on them."""
LEARNED: Mapping[str, What] = {"lpips": "lpips", "aesthetic": "aesthetic", "imaging": "imaging"}
"""Settings that name a network -> what it looks for."""
_RELEASED = {
    "budget": "inclusive",
    "panorama_rule": "released",
    "heuristic_seeds": "zero",
    "open_heading": "linear",
    "kind": "rewrite",
}
"""What parity=released stands for: each is a known behaviour of the release."""


@dataclass(frozen=True)
class Settings:
    """All options.

    task: only this one, None for all. proposer, reviser, judge: names; None is the task's own. chat: MODEL@URL of
    the language model that policies ask; how it is reached: chat_recording, the folder that keeps all it says,
    chat_replay, whether that is used, chat_budget with chat_prices ("IN,OUT" of a million tokens), chat_key_env,
    the environment variable that holds the key. prompts: folder whose files replace our templates. decisions,
    candidates, length: K, M, L; None is the paper's. tts_ratio: share of decisions at which the world model is
    asked. leading_turns: "exact" turns the real panorama, "model" leaves them to the model. view_px: height of the
    views; None is the task's own. panorama_px: width of panoramas, their height is 9/16 of it. track: who says that
    navigation has arrived. goal_check: when that is looked at. kind: whether a language model selects among
    candidates or may write a plan of its own. Of manipulation: expert_noise_m, expert_wrong: how far and how often
    the proposer `scripted` errs, None its own; demonstrations: folder that `cloned` learned from, and its digest;
    cloned_moves: what of a remembered plan moves with a thing; policy: command or address of the policy behind
    `process`; revision: whether a language model that revises is shown the frames in which poses are reached, or
    its own words for the last ones. landmarks: whether those of questions are the exact things in sight, or what
    networks detect. tracker: whether the target of recognition is followed through imagined frames by geometry and
    colours, or by the network SAM 2. lpips, aesthetic, imaging: where learned metrics of imagined frames, and the
    reviser `lpips`, get their networks (`estimators.perception`); None leaves them out, and says so. networks_digest:
    of their weights, found anew.
    """

    task: str | None = None
    proposer: str | None = None
    reviser: str | None = None
    judge: str = "rules"
    chat: str | None = None
    chat_recording: str | None = None
    chat_replay: Literal["use", "only", "off"] = "use"
    chat_budget: float | None = None
    chat_prices: str | None = None
    chat_key_env: str | None = None
    prompts: str | None = None
    prompts_digest: str = ""
    decisions: int | None = None
    candidates: int | None = None
    length: int | None = None
    tts_ratio: float = 1.0
    leading_turns: Literal["exact", "model"] = "exact"
    view_px: int | None = None
    panorama_px: int = 1024
    expert_noise_m: float | None = None
    expert_wrong: float | None = None
    demonstrations: str | None = None
    demonstrations_digest: str = ""
    cloned_moves: Literal["together", "apart"] | None = None
    policy: str | None = None
    revision: Literal["frames", "described"] | None = None
    landmarks: Literal["exact", "detected"] = "exact"
    tracker: Literal["geometry", "sam2"] = "geometry"
    lpips: str | None = None
    aesthetic: str | None = None
    imaging: str | None = None
    networks_digest: str | None = None
    track: Literal["oracle_stop", "declared_stop"] = "oracle_stop"
    goal_check: Literal["decision", "every_step"] = "decision"
    kind: Literal["select", "rewrite"] = "select"
    budget: Literal["paper", "inclusive"] = "paper"
    panorama_rule: Literal["clean", "released"] = "clean"
    heuristic_seeds: Literal["decision", "zero"] = "decision"
    open_heading: Literal["pinhole", "linear"] = "pinhole"
    parity: Literal["released"] | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Settings:
        """Settings of plain values. Raises UsageError naming the option that cannot be meant."""
        settings = with_parity(settings_of(cls, SUITE, options), options, _RELEASED)
        if settings.task is not None and settings.task not in closed_loop_tasks:
            raise UsageError(f"{SUITE} setting 'task' must be one of {', '.join(task_names())}, got {settings.task!r}")
        for name in ("decisions", "candidates", "length"):
            check_whole(SUITE, name, getattr(settings, name), least=1, optional=True)
        for name, least, most in (("view_px", 32, 1024), ("panorama_px", 64, 4096)):
            check_whole(SUITE, name, getattr(settings, name), least=least, optional=name == "view_px")
            if (getattr(settings, name) or least) > most:
                raise UsageError(f"{SUITE} setting '{name}' must be at most {most}, got {getattr(settings, name)}")
        check_chat_budget(SUITE, settings.chat_budget, recording=settings.chat_recording, prices=settings.chat_prices)
        settings.prices  # noqa: B018 - raises where they are none
        settings._check_expert()
        if isinstance(settings.tts_ratio, (bool, str)) or not 0 <= settings.tts_ratio <= 1:
            raise UsageError(f"{SUITE} setting 'tts_ratio' must be 0 to 1, got {settings.tts_ratio!r}")
        settings._check_policies()
        learned = "" if settings.demonstrations is None else read_index(Path(settings.demonstrations)).split_hash
        settings = replace(settings, demonstrations_digest=learned)
        settings = replace(settings, networks_digest=settings._networks_digest())
        prompts = Prompts("worldgauge.suites.closedloop", settings.prompts)
        if settings.chat is None:
            return replace(settings, prompts_digest="")
        model_and_url(settings.chat)
        return replace(settings, prompts_digest=prompts.digest)

    @property
    def asked(self) -> tuple[str, ...]:
        """The tasks that are asked."""
        return task_names() if self.task is None else (self.task,)

    def sees(self, task: str) -> bool:
        """Whether a task's policies look with the recogniser."""
        return bool(revisers.entry(self.of_task(task).reviser).facts.get("recogniser"))

    @property
    def prices(self) -> tuple[float | None, float | None]:
        """Of a million tokens in and out. Raises UsageError for what are no two prices."""
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
        """Whether a policy looks with one of the networks that are named."""
        return any(self.looks_by_named_network(task) for task in self.asked)

    def networks(self, task: str) -> tuple[str, ...]:
        """Networks that a task's policies look with, run here."""
        return closed_loop_tasks.get(task).networks(self)

    def looks_by_named_network(self, task: str) -> bool:
        """Whether a task's reviser looks with the network that `lpips` names."""
        return bool(revisers.entry(self.of_task(task).reviser).facts.get("network"))

    def _networks_digest(self) -> str | None:
        own = dict.fromkeys(name for task in self.asked for name in self.networks(task))
        return networks_digest(SUITE, self, LEARNED, own)

    def _check_expert(self) -> None:
        """Raises UsageError for errors of the scripted expert that are out of range."""
        for name, most in (("expert_noise_m", 1.0), ("expert_wrong", 1.0)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, (bool, str)) or not 0 <= value <= most):
                raise UsageError(f"{SUITE} setting '{name}' must be 0 to {most:g}, got {value!r}")

    def _check_policies(self) -> None:
        """Raises UsageError for a policy that does not serve what is asked, or lacks its language model."""
        judges.entry(self.judge)
        for task in self.asked:
            own = self.of_task(task)
            for registry, name in ((proposers, own.proposer), (revisers, own.reviser)):
                facts = registry.entry(name).facts
                if task not in facts["tasks"]:
                    fitting = [each.name for each in registry if task in each.facts["tasks"]]
                    served = " or ".join(f"task={each}" for each in facts["tasks"])
                    raise UsageError(
                        f"{registry.kind} '{name}' does not serve {task}: set {served}, or take {' or '.join(fitting)}"
                    )
                if facts.get("chat") and self.chat is None:
                    raise UsageError(
                        f"{registry.kind} '{name}' asks a language model: say which with --set chat=MODEL@URL"
                    )
            closed_loop_tasks.get(task).check_settings(self)
        if judges.entry(self.judge).facts["chat"] and self.chat is None:
            raise UsageError(f"the judge '{self.judge}' asks a language model: say which with --set chat=MODEL@URL")

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    def of_task(self, task: str) -> TaskParameters:
        """K, M, L and the policies of a task, as set or by default."""
        kind = closed_loop_tasks.get(task)
        own = kind.defaults
        length = own.length if self.length is None else self.length
        return replace(
            own,
            decisions=self.decisions or own.decisions,
            candidates=self.candidates or own.candidates,
            length=length,
            clip=kind.clip_frames(length),
            view_px=self.view_px or own.view_px,
            proposer=self.proposer or own.proposer,
            reviser=self.reviser or own.reviser,
        )
