"""Settings of the suite, and what of them parity=released stands for (MineAnyBuild)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from worldgauge.chat.endpoint import check_extra, model_and_url
from worldgauge.chat.prompts import Prompts
from worldgauge.core.agent import Kind
from worldgauge.core.errors import UsageError
from worldgauge.engine.suite.settings import chat_prices, check_chat_budget, check_whole, settings_of, with_parity
from worldgauge.suites.build.critics import critics

SUITE = "build"
REACHING = frozenset({"chat_recording", "chat_replay", "chat_budget", "chat_prices", "chat_key_env", "prompts"})
"""Settings on how the critic's language model and its prompts are reached; what it says does not depend on them."""
MOST_SIDE = 256
FailedPlans = Literal["zero", "left_out"]
"""What a plan that cannot be built is worth: 0, as in the paper, or nothing that is averaged, as in its code."""

RELEASED = {
    "parser": "released",
    "weights": "released",
    "choices": "exact",
    "failed_plans": "left_out",
    "labels": "released",
}
"""What parity=released stands for: each is a known behaviour of the release."""


@dataclass(frozen=True)
class Settings:
    """All options.

    task: only this kind, None for all. most: height x depth x width in blocks that an answer may have. critic: who
    grades builds and marks answers in words; "rules" needs nothing, "chat" asks `chat`, MODEL@URL. How that is reached:
    chat_recording, the folder that keeps all it says, chat_replay, whether that is used, chat_budget with chat_prices
    ("IN,OUT" of a million tokens), chat_key_env, the environment variable that holds the key. prompts: folder whose
    files replace our templates for critics. critic_tokens: most tokens of a reply of it. gradings: how often each build
    is graded; the median counts. parser: how answers are read. weights: of the grades' dimensions. choices: how a
    chosen option is read, "exact" as the very word alone. failed_plans: whether plans that cannot be built are scored
    0, as in the paper, or left out.
    labels: of judged statements; the released ones misspell "True", so that nobody is right on it.
    """

    task: Kind | None = None
    most: str = "50x80x80"
    critic: str = "rules"
    chat: str | None = None
    chat_recording: str | None = None
    chat_replay: Literal["use", "only", "off"] = "use"
    chat_budget: float | None = None
    chat_prices: str | None = None
    chat_key_env: str | None = None
    prompts: str | None = None
    prompts_digest: str = ""
    critic_digest: str = ""
    critic_tokens: int = 1024
    gradings: int = 1
    parser: Literal["ours", "released"] = "ours"
    weights: Literal["paper", "released"] = "paper"
    choices: Literal["read", "exact"] = "read"
    failed_plans: FailedPlans = "zero"
    labels: Literal["right", "released"] = "right"
    parity: Literal["released"] | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Settings:
        """Settings of plain values. Raises UsageError naming the option that cannot be meant,
        MissingExtraError for a language model without its extra.
        """
        settings = with_parity(settings_of(cls, SUITE, options), options, RELEASED)
        for name in ("gradings", "critic_tokens"):
            check_whole(SUITE, name, getattr(settings, name), least=1)
        settings.limits  # noqa: B018 - raises where they are none
        check_chat_budget(SUITE, settings.chat_budget, recording=settings.chat_recording, prices=settings.chat_prices)
        settings.prices  # noqa: B018 - raises where they are none
        talks = critics.entry(settings.critic).facts["chat"]
        if talks and settings.chat is None:
            raise UsageError(
                f"the critic '{settings.critic}' asks a language model: say which with --set chat=MODEL@URL"
            )
        if talks:
            check_extra(settings.chat_replay)
        prompts = Prompts("worldgauge.suites.build", settings.prompts)
        if settings.chat is not None:
            model_and_url(settings.chat)
        # A critic that grades otherwise than before is another one: its scores are made again.
        version = f"{settings.critic}@{critics.entry(settings.critic).facts['version']}"
        return replace(settings, prompts_digest=prompts.digest if talks else "", critic_digest=version)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    @property
    def limits(self) -> tuple[int, int, int]:
        """Most height, depth and width of an answer, in blocks."""
        match = re.fullmatch(r"(\d{1,3})x(\d{1,3})x(\d{1,3})", str(self.most))
        sides = tuple(int(side) for side in match.groups()) if match else ()
        if len(sides) != 3 or not all(1 <= side <= MOST_SIDE for side in sides):
            raise UsageError(
                f"{SUITE} setting 'most' must be height x depth x width, each 1 to {MOST_SIDE}, such as 50x80x80, "
                f"got {self.most!r}"
            )
        height, depth, width = sides
        return height, depth, width

    @property
    def prices(self) -> tuple[float | None, float | None]:
        """Of a million tokens in and out. Raises UsageError for what are no two prices."""
        return chat_prices(SUITE, self.chat_prices)
