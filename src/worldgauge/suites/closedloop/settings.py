"""Settings of the suite, and the defaults of each task (World-in-World, tables of section 2)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from worldgauge.chat.endpoint import model_and_url
from worldgauge.chat.prompts import Prompts
from worldgauge.core.errors import UsageError
from worldgauge.engine.options import given_fields, option, options_of
from worldgauge.engine.suite.network_settings import networks_digest
from worldgauge.engine.suite.settings import chat_prices, check_chat_budget, with_parity
from worldgauge.perception.naming import What
from worldgauge.suites.closedloop.policies.contract import proposers, revisers
from worldgauge.suites.closedloop.questions.judge import judges
from worldgauge.suites.closedloop.task import TaskParameters, closed_loop_tasks, task_names
from worldgauge.suites.closedloop.training_data.demonstrations.index import read_index

SUITE = "closedloop"
REACHING = frozenset({"chat_recording", "chat_replay", "chat_budget", "chat_prices", "chat_key_env", "prompts"})
"""Settings on how a language model and its prompts are reached; what it says does not depend on them."""
LEARNED: Mapping[str, What] = {"lpips": "lpips", "aesthetic": "aesthetic", "imaging": "imaging"}
"""Settings that name a network -> what it looks for."""
_PRICES = "IN,OUT of a million tokens"
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
    """Options of the suite. Some are of one task or a few: `ClosedLoopTask.own_settings` names them."""

    task: str | None = option(None, "Only this task; None means all.", choices=lambda: task_names())
    proposer: str | None = option(None, "Who proposes plans: a registered name; None means the task's own.")
    reviser: str | None = option(None, "Who decides among them: a registered name; None means the task's own.")
    judge: str = option("rules", "Who marks answers to questions: a registered name.")
    chat: str | None = option(None, "The language model that policies and judges ask: MODEL@URL.")
    chat_recording: str | None = option(None, "Folder that keeps all that the language model says.")
    chat_replay: Literal["use", "only", "off"] = option(
        "use", "Whether what was kept is used: where it is there, exclusively, or not at all."
    )
    chat_budget: float | None = option(None, "Most money spent on the language model, by chat_prices.", above=0)
    chat_prices: str | None = option(None, "Prices of a million tokens, in and out.", rule=_PRICES)
    chat_key_env: str | None = option(None, "Environment variable that holds the key of the endpoint.")
    prompts: str | None = option(None, "Folder whose files replace our prompts of the same names.")
    prompts_digest: str = ""
    decisions: int | None = option(None, "K, decisions of an episode; None means the paper's, by task.", low=1)
    candidates: int | None = option(None, "M, plans proposed at each; None means the paper's, by task.", low=1)
    length: int | None = option(None, "L, most actions of a plan; None means the paper's, by task.", low=1)
    tts_ratio: float = option(1.0, "Share of decisions at which the world model is asked.", low=0, high=1)
    leading_turns: Literal["exact", "model"] = option(
        "exact", "Turns that a plan begins with: exact turns the real panorama, model leaves them to the model."
    )
    view_px: int | None = option(None, "Height of the views; None means the task's own.", low=32, high=1024)
    panorama_px: int = option(1024, "Width of panoramas; their height is 9/16 of it.", low=64, high=4096)
    expert_noise_m: float | None = option(
        None, "How far the proposer scripted errs, in metres; None means its own.", low=0, high=1
    )
    expert_wrong: float | None = option(
        None, "How often the proposer scripted takes a wrong thing; None means its own.", low=0, high=1
    )
    demonstrations: str | None = option(None, "Folder of demonstrations that the proposer cloned learns from.")
    demonstrations_digest: str = ""
    cloned_moves: Literal["together", "apart"] | None = option(
        None, "What of a remembered plan moves with a thing; None means the proposer's own."
    )
    policy: str | None = option(None, "Command or address of the policy behind the proposer process.")
    revision: Literal["frames", "described"] | None = option(
        None,
        "Whether a language model that revises is shown the frames in which poses are reached, or its own words for "
        "the last ones; None means by the length of plans.",
    )
    landmarks: Literal["exact", "detected"] = option(
        "exact", "Landmarks of questions: the exact things in sight, or what networks detect."
    )
    tracker: Literal["geometry", "sam2"] = option(
        "geometry", "How the target is followed through imagined frames: by geometry and colours, or by SAM 2."
    )
    lpips: str | None = option(
        None, "Network of LPIPS, for controllability and the reviser lpips; None leaves the metric out."
    )
    aesthetic: str | None = option(None, "Network of the aesthetic score of imagined frames; None leaves it out.")
    imaging: str | None = option(None, "Network of the imaging quality of imagined frames; None leaves it out.")
    networks_digest: str | None = None
    track: Literal["oracle_stop", "declared_stop"] = option("oracle_stop", "Who says that navigation has arrived.")
    goal_check: Literal["decision", "every_step"] = option(
        "decision", "When the oracle checks whether navigation has arrived."
    )
    kind: Literal["select", "rewrite"] = option(
        "select", "Whether a language model that revises selects among candidates or may write a plan of its own."
    )
    budget: Literal["paper", "inclusive"] = option(
        "paper", "How decisions and steps are counted against K: as in the paper, or as released."
    )
    panorama_rule: Literal["clean", "released"] = option("clean", "How views are cut out of panoramas.")
    heuristic_seeds: Literal["decision", "zero"] = option(
        "decision", "Seed of the proposer heuristic: new at every decision, or 0 as released."
    )
    open_heading: Literal["pinhole", "linear"] = option(
        "pinhole", "How a column of a view becomes a heading: by the pinhole, or linearly as released."
    )
    parity: Literal["released"] | None = option(
        None, "released stands for " + ", ".join(f"{name}={value}" for name, value in _RELEASED.items()) + "."
    )

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Settings:
        """Settings made of plain values.

        Raises:
            UsageError: For an option that is not allowed; names it.
        """
        settings = with_parity(options_of(cls, SUITE, options), options, _RELEASED)
        check_chat_budget(SUITE, settings.chat_budget, recording=settings.chat_recording, prices=settings.chat_prices)
        settings.prices  # noqa: B018 - raises where they are none
        settings._check_policies()
        learned = "" if settings.demonstrations is None else read_index(Path(settings.demonstrations)).split_hash
        settings = replace(settings, demonstrations_digest=learned)
        settings = replace(settings, networks_digest=settings._networks_digest())
        prompts = Prompts("worldgauge.suites.closedloop", settings.prompts)
        if settings.chat is None:
            return replace(settings, prompts_digest="")
        model_and_url(settings.chat)
        return replace(settings, prompts_digest=prompts.digest)

    def unused(self, tasks: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Settings that differ from their defaults and belong to none of `tasks`, each with the tasks that own it."""
        found = {}
        for field in given_fields(Settings):
            owners = tuple(name for name in task_names() if field.name in closed_loop_tasks.get(name).own_settings)
            released = self.parity is not None and field.name in _RELEASED
            if owners and not set(owners) & set(tasks) and getattr(self, field.name) != field.default and not released:
                found[field.name] = owners
        return found

    @property
    def asked(self) -> tuple[str, ...]:
        """The tasks in the run."""
        return task_names() if self.task is None else (self.task,)

    def sees(self, task: str) -> bool:
        """Whether a task's policies use the recogniser."""
        return bool(revisers.entry(self.of_task(task).reviser).facts.get("recogniser"))

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
