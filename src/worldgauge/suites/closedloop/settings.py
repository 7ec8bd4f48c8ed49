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
from worldgauge.perception.networks import networks
from worldgauge.suites.closedloop.policies.contract import proposers, revisers
from worldgauge.suites.closedloop.policies.lpips import NETWORK
from worldgauge.suites.closedloop.questions.detecting import NETWORKS as DETECTORS
from worldgauge.suites.closedloop.questions.judge import judges
from worldgauge.suites.closedloop.recognition.box_tracking import NETWORK as TRACKER
from worldgauge.suites.closedloop.training_data.demonstrations.layout import read_index
from worldgauge.worlds.tabletop.picture import FRONT_FOV_DEG

SUITE = "closedloop"
REACHING = frozenset({"chat_recording", "chat_replay", "chat_budget", "chat_prices", "chat_key_env", "prompts"})
"""Settings on how a language model and its prompts are reached; what it says does not depend on them."""
LEARNED: Mapping[str, What] = {"lpips": "lpips", "aesthetic": "aesthetic", "imaging": "imaging"}
"""Settings that name a network -> what it looks for."""
TaskKind = Literal["recognition", "navigation", "questions", "manipulation"]
TASKS: tuple[TaskKind, ...] = ("recognition", "navigation", "questions", "manipulation")


@dataclass(frozen=True)
class Defaults:
    """Of one task. decisions: K; of questions the number of low-level actions, of manipulation that of poses.

    candidates: M. length: L. clip: frames of a clip after the first; steps beyond the plan are filled up with forward
    ones, since the answer is read from them too; poses are spread over it. 0: only the plan's own. view_px: height of
    the views.
    """

    decisions: int
    candidates: int
    length: int
    clip: int
    aspect: float
    hfov_deg: float
    view_px: int
    proposer: str
    reviser: str


DEFAULTS: Mapping[TaskKind, Defaults] = {
    "recognition": Defaults(10, 2, 4, 13, 1.0, 90.0, 384, "heuristic", "recogniser"),
    "navigation": Defaults(20, 3, 5, 0, 1.0, 90.0, 384, "heuristic", "similarity"),
    "questions": Defaults(250, 3, 13, 13, 448 / 384, 105.0, 384, "landmarks", "scripted-answerer"),
    "manipulation": Defaults(15, 5, 5, 13, 1.0, FRONT_FOV_DEG, 448, "scripted", "similarity"),
}

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

    task: TaskKind | None = None
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
        for name in ("decisions", "candidates", "length"):
            check_whole(SUITE, name, getattr(settings, name), least=1, optional=True)
        for name, least, most in (("view_px", 32, 1024), ("panorama_px", 64, 4096)):
            check_whole(SUITE, name, getattr(settings, name), least=least, optional=name == "view_px")
            if (getattr(settings, name) or least) > most:
                raise UsageError(f"{SUITE} setting '{name}' must be at most {most}, got {getattr(settings, name)}")
        check_chat_budget(SUITE, settings.chat_budget, recording=settings.chat_recording, prices=settings.chat_prices)
        settings.prices  # noqa: B018 - raises where they are none
        settings._check_manipulation()
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
    def asked(self) -> tuple[TaskKind, ...]:
        """The tasks that are asked."""
        return TASKS if self.task is None else (self.task,)

    def sees(self, task: TaskKind) -> bool:
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
        return any(self._by_named_network(task) for task in self.asked)

    def networks(self, task: TaskKind) -> tuple[str, ...]:
        """Networks that a task's policies look with, run here."""
        if task == "questions" and self.landmarks == "detected":
            return DETECTORS
        if task == "recognition" and self.tracker == "sam2":
            return (TRACKER,)
        named = self.lpips or NETWORK
        return (named,) if self._by_named_network(task) and named in networks else ()

    def _by_named_network(self, task: TaskKind) -> bool:
        return bool(revisers.entry(self.of_task(task).reviser).facts.get("network"))

    def _networks_digest(self) -> str | None:
        own = dict.fromkeys(name for task in self.asked for name in self.networks(task))
        return networks_digest(SUITE, self, LEARNED, own)

    def _check_manipulation(self) -> None:
        """Raises UsageError for errors of an expert that cannot be, and for policies that lack what they need."""
        for name, most in (("expert_noise_m", 1.0), ("expert_wrong", 1.0)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, (bool, str)) or not 0 <= value <= most):
                raise UsageError(f"{SUITE} setting '{name}' must be 0 to {most:g}, got {value!r}")
        if "manipulation" not in self.asked:
            return
        for proposer, name, what in (
            ("cloned", "demonstrations", "a folder that 'worldgauge collect demonstrations' has made"),
            ("process", "policy", "a policy of yours, such as cmd:python -m worldgauge_serve my_policy.py:Mine"),
        ):
            if self.of_task("manipulation").proposer == proposer and getattr(self, name) is None:
                raise UsageError(f"proposer '{proposer}' needs {what}: say which with --set {name}=...")

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
        if self.track == "declared_stop" and "navigation" in self.asked:
            name = self.of_task("navigation").reviser
            if not revisers.entry(name).facts.get("declares"):
                able = " or ".join(each.name for each in revisers if each.facts.get("declares"))
                raise UsageError(
                    f"track=declared_stop: the reviser '{name}' never says that it has arrived; take {able}"
                )
            if self.goal_check == "every_step":
                raise UsageError(
                    "goal_check=every_step is of the track oracle_stop; who must say so is asked at decisions"
                )
        if judges.entry(self.judge).facts["chat"] and self.chat is None:
            raise UsageError(f"the judge '{self.judge}' asks a language model: say which with --set chat=MODEL@URL")

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    def of_task(self, task: TaskKind) -> Defaults:
        """K, M, L and the policies of a task, as set or by default."""
        own = DEFAULTS[task]
        length = own.length if self.length is None else self.length
        return Defaults(
            self.decisions or own.decisions,
            self.candidates or own.candidates,
            length,
            _clip(own, length, task),
            own.aspect,
            own.hfov_deg,
            self.view_px or own.view_px,
            self.proposer or own.proposer,
            self.reviser or own.reviser,
        )


def _clip(own: Defaults, length: int, task: TaskKind) -> int:
    """Frames of a clip after the first: all steps of a walker are in it, poses are spread or thinned out."""
    return own.clip if task == "manipulation" or not own.clip else max(own.clip, length)
