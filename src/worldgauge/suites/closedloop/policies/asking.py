"""Common parts of policies that ask a language model."""

from __future__ import annotations

from typing import Literal

from worldgauge.chat.prompt_runner import Asker
from worldgauge.chat.prompts import Prompts
from worldgauge.core.errors import UsageError
from worldgauge.suites.closedloop.policies.contract import PolicyKit


def asker_of(kit: PolicyKit) -> Asker:
    """The object with which a policy asks its language model.

    Raises:
        UsageError: Without a model, and for settings out of range.
    """
    if kit.chat is None:
        raise UsageError("this policy asks a language model; name one with chat=MODEL@URL")
    prompts = kit.prompts if isinstance(kit.prompts, Prompts) else Prompts("worldgauge.suites.closedloop", kit.prompts)
    given = {name: kit.options[name] for name in ("temperature", "top_p", "max_tokens") if name in kit.options}
    return Asker(kit.chat, prompts, **given)


def kind_of(kit: PolicyKit) -> Literal["select", "rewrite"]:
    """Whether a reviser selects a candidate, the paper's common form, or may write a plan, as released.

    Raises:
        UsageError: For another kind.
    """
    kind = kit.options.get("kind", "select")
    if kind not in ("select", "rewrite"):
        raise UsageError(f"the kind of a reviser that asks a language model is select or rewrite, got {kind!r}")
    return "select" if kind == "select" else "rewrite"
