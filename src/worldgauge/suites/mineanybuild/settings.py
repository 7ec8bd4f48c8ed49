"""Settings of the suite, and what of them parity=released stands for (MineAnyBuild)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from worldgauge.chat.endpoint import check_extra, model_and_url
from worldgauge.chat.prompts import Prompts
from worldgauge.core.errors import UsageError
from worldgauge.engine.options import option, options_of
from worldgauge.engine.suite.settings import chat_prices, check_chat_budget, naming_setting, with_parity
from worldgauge.suites.mineanybuild.answer_forms import form_digest
from worldgauge.suites.mineanybuild.critics import critics
from worldgauge.suites.mineanybuild.format import LIMITS, Kind
from worldgauge.suites.mineanybuild.metrics.blueprint_reading import Form

SUITE = "mineanybuild"
ACCESS = frozenset({"chat_recording", "chat_replay", "chat_budget", "chat_prices", "chat_key_env", "prompts"})
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
class BuildSettings:
    """All settings of the suite. The digests are computed from the others."""

    task: Kind | None = option(None, "Run only this kind of task. Default: all.")
    most: str = option("x".join(map(str, LIMITS)), "Maximum height x depth x width of an answer, in blocks.")
    critic: str = option("rules", 'Critic of builds and answers: "rules" is free, "chat" queries a language model.')
    chat: str | None = option(None, "Language model of the critic: MODEL@URL.")
    chat_recording: str | None = option(None, "Folder for recorded replies of the model.")
    chat_replay: Literal["use", "only", "off"] = option(
        "use", "Use of recorded replies: if there are any, only them, or never."
    )
    chat_budget: float | None = option(
        None, "Maximum cost of the language model, by chat_prices.", above=0, rule="more than 0"
    )
    chat_prices: str | None = option(None, "Prices of a million input and output tokens: IN,OUT.")
    chat_key_env: str | None = option(None, "Environment variable with the key of the endpoint.")
    prompts: str | None = option(None, "Folder of critics' prompts that replace ours, by file name.")
    prompts_digest: str = ""
    critic_digest: str = ""
    critic_tokens: int = option(1024, "Maximum number of tokens per reply of the critic.", low=1)
    answer: Form = option("matrix", "How builds are written: as published (matrix), or in fewer tokens.", later=True)
    rounds: int = option(
        1, "Answers per build, with feedback after each. The last one counts.", low=1, high=10, later=True
    )
    feedback: Literal["pictures", "differences"] = option(
        "pictures", "Feedback after a round: views of the build, or counts and examples of its errors.", later=True
    )
    answer_digest: str = option("", "", later=True)
    gradings: int = option(1, "Gradings per build. The median counts.", low=1)
    parser: Literal["ours", "first", "released"] = option(
        "ours", "Matrix of an answer that counts: last, first, or as released."
    )
    weights: Literal["paper", "released"] = option("paper", "Weights of the dimensions of a grade.")
    choices: Literal["read", "exact"] = option("read", 'How the choice is found in an answer. "exact": that word only.')
    failed_plans: FailedPlans = option("zero", "Plans that cannot be built: 0 (paper), or left out (released).")
    labels: Literal["right", "released"] = option(
        "right", 'Labels of judged statements. Released: "True" is misspelt and never matches.'
    )
    parity: Literal["released"] | None = option(
        None, "Sets parser, weights, choices, failed_plans and labels as released."
    )

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> BuildSettings:
        """Settings made of plain values."""
        settings = with_parity(options_of(cls, SUITE, given), given, RELEASED)
        settings.limits  # noqa: B018 - raises where they are none
        check_chat_budget(SUITE, settings.chat_budget, recording=settings.chat_recording, prices=settings.chat_prices)
        settings.prices  # noqa: B018 - raises where they are none
        with naming_setting(SUITE, "critic"):
            talks = critics.entry(settings.critic).facts["chat"]
        if talks and settings.chat is None:
            raise UsageError(
                f"the critic '{settings.critic}' asks a language model: say which with --set chat=MODEL@URL"
            )
        if talks:
            check_extra(settings.chat_replay)
        if settings.answer != "matrix" and settings.parser == "released":
            raise UsageError(f"answer={settings.answer} is not of the release; leave out parser=released and parity")
        if settings.feedback != "pictures" and settings.rounds == 1:
            raise UsageError(f"feedback={settings.feedback} needs a second round: give rounds=2 or more")
        words = "" if settings.as_published else form_digest()
        prompts = Prompts("worldgauge.suites.mineanybuild", settings.prompts)
        if settings.chat is not None:
            model_and_url(settings.chat)
        # A critic that grades otherwise than before is another one: its scores are made again.
        version = f"{settings.critic}@{critics.entry(settings.critic).facts['version']}"
        settings = replace(settings, prompts_digest=prompts.digest if talks else "", critic_digest=version)
        return replace(settings, answer_digest=words)

    @property
    def as_published(self) -> bool:
        """Whether each build is one answer with a matrix."""
        return self.answer == "matrix" and self.rounds == 1

    @property
    def limits(self) -> tuple[int, int, int]:
        """Largest height, depth and width of an answer, in blocks."""
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
        """Prices of a million tokens, in and out."""
        return chat_prices(SUITE, self.chat_prices)
