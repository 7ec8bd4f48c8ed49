"""The text that names a model, taken apart once: `./wm.py:MyModel?gain=0.8&context_frames=1`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal
from urllib.parse import unquote_plus

from worldgauge.core.errors import UsageError
from worldgauge.models import models
from worldgauge.serving import is_served
from worldgauge.serving.isolation import check_no_secret
from worldgauge_serve import settings_of

CALIBRATION, CONTEXT_FRAMES = "calibration", "context_frames"
_EXAMPLES = {CALIBRATION: "file, such as calibration=c.json", CONTEXT_FRAMES: "number of frames, such as 1"}
_OLD_CONTEXT_FRAMES = "shown"
"""Former name of `context_frames`, accepted for one version."""


@dataclass(frozen=True)
class ModelAddress:
    """Where a model is and how it is set. It hashes and compares by its text.

    Attributes:
        text: The whole text, with current names of settings. A worker makes the same model from it.
        target: A registered name, "package.module:Class", "./file.py:Class", or the address of a served model.
        settings: Settings of the model itself; empty for a served model, whose server reads them.
    """

    text: str
    target: str = field(compare=False)
    settings: Mapping[str, Any] = field(compare=False)
    calibration: str | None = field(default=None, compare=False)
    context_frames: int | None = field(default=None, compare=False)
    is_served: bool = field(default=False, compare=False)

    @classmethod
    def parse(cls, text: str, kind: Literal["model", "agent"] = "model") -> ModelAddress:
        """Parse the text of a model or an agent; settings are JSON if valid, else text. "trained:ckpt/tiny" is short
        for "trained?folder=ckpt/tiny" (`short_form`)."""
        check_no_secret(text, kind)
        served = is_served(text)
        if kind == "agent" and served:
            raise UsageError(f"agent '{text}' is not reached this way; a language model is chat?model=NAME@URL")
        # The command of a served model may hold a "?"; its settings are behind the last one.
        target, mark, query = text.rpartition("?") if served else text.partition("?")
        own, wrapped = query.split("&") if mark else [], dict[str, str]()
        if kind == "model":
            # The settings with their current names, and whether one had an old name.
            old = f"{_OLD_CONTEXT_FRAMES}="
            found = [f"{CONTEXT_FRAMES}={part.removeprefix(old)}" if part.startswith(old) else part for part in own]
            if found != own:
                _say_renamed()
            own, renamed = found, found != own
            text = f"{target}?{'&'.join(own)}" if renamed else text
            own, wrapped = _wrapped(own, text)
        frames = wrapped.get(CONTEXT_FRAMES)
        if frames is not None and not (frames.isdecimal() and len(frames) <= 9):
            raise UsageError(f"model '{text}': {CONTEXT_FRAMES} must be a number of frames, got '{frames}'")
        settings: dict[str, Any] = {}
        if not served:
            try:
                settings = settings_of("&".join(own))
            except ValueError as error:
                raise UsageError(f"'{text}': {error}") from None
            target, settings = _without_short_form(target, settings, text)
        elif not wrapped:
            target = text
        elif own:
            target = f"{target}?{'&'.join(own)}"
        context_frames = None if frames is None else int(frames)
        return cls(text, target, settings, wrapped.get(CALIBRATION), context_frames, served)


@cache
def _say_renamed() -> None:
    """One line per process, however many models have the old name."""
    print(f"warning: {_OLD_CONTEXT_FRAMES}=N is now {CONTEXT_FRAMES}=N; the old name will be removed", file=sys.stderr)


def _wrapped(parts: list[str], text: str) -> tuple[list[str], dict[str, str]]:
    """The settings that are the model's own, and the values of those that any model takes."""
    own, wrapped = [], {}
    for part in parts:
        name, _, value = part.partition("=")
        if name not in _EXAMPLES or "=" not in part:
            own.append(part)
        elif name in wrapped:
            raise UsageError(f"'{text}': {name} is given twice")
        elif not value:
            raise UsageError(f"'{text}': {name} needs a {_EXAMPLES[name]}")
        else:
            wrapped[name] = unquote_plus(value)
    return own, wrapped


def _without_short_form(target: str, settings: dict[str, Any], text: str) -> tuple[str, dict[str, Any]]:
    """ "trained:ckpt" as "trained" and its setting "folder"; other targets as they are."""
    name, colon, value = target.partition(":")
    if not (colon and value and name.isidentifier() and name in models):
        return target, settings
    models.get(name)  # a model of another package states facts when it is imported
    setting = models.entry(name).facts.get("short_form")
    if setting is None:
        return target, settings
    if setting in settings:
        raise UsageError(f"'{text}': {setting} is given twice; after '{name}:' stands one already")
    return name, {setting: value, **settings}
