"""The options of the suite: what is asked, how a path is found in the answer, and by which constants it is scored."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.engine.suite.settings import check_whole, settings_of
from worldgauge.perception.decoders import digest_of, settings_taken
from worldgauge.suites.target.format.layout import HORIZONS_S
from worldgauge.suites.target.metrics.waypoints import Mode, profile_of
from worldgauge.suites.target.prompts import DEFAULT, template_of
from worldgauge.suites.target.replan.planners import PLANNERS

CrossCheck = Literal["auto", "always", "never"]


@dataclass(frozen=True)
class Settings:
    """Options of Target-Bench.

    profile: constants of the headline, "released", "aligned", "paper_text" or "vipe_config"; all are computed.
    decoder: a registered one, with settings as in "sfm-global?frames=33", or the address of a served one.
    cross_check: whether a second decoder is run beside it: "auto" where few points carry the path, "always", "never".
    horizon_s: 8, 6 or 4 seconds from the frame shown to the end. fps: of the frames asked for; None means the model's
    own rate, else the recording's. context: frames of history shown, the current one counted; the paper showed 1.
    planner: whose path a camera- or action-driven model is given (`planners.PLANNERS`); None means "walker" where the
    world is known and "straight" elsewhere. prompt: name of a template or a text file, for text-driven ones.
    labels: csv of explicit and implicit targets. mode: which lengths are compared. extras: further metrics.
    parity: "released" switches our corrections of decoding, horizons and edge cases off.
    protocol: "once", a single video a scenario; "replan", which drives the beginning of each plan in an embedded world
    and asks again from there, `asks` times at most.
    labels_digest, prompt_digest, decoder_digest: of what those name, found anew, so that an edited file, or a decoder
    that may give other paths, counts as another one.
    """

    profile: str = "released"
    decoder: str = "sfm-global"
    cross_check: CrossCheck = "auto"
    horizon_s: float = 8.0
    fps: float | None = None
    context: int = 1
    planner: str | None = None
    prompt: str = DEFAULT
    labels: str | None = None
    mode: Mode = "gt"
    extras: bool = False
    parity: Literal["released"] | None = None
    protocol: Literal["once", "replan"] = "once"
    asks: int = 8
    labels_digest: str | None = None
    prompt_digest: str | None = None
    decoder_digest: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Settings:
        """Settings of plain values. Raises UnknownNameError or UsageError naming the option."""
        options = {name: value for name, value in options.items() if name not in _FORMER}
        settings = settings_of(cls, "target", options)
        for name in ("profile", "decoder", "prompt", "planner"):
            if name == "planner" and settings.planner is None:
                continue
            if not isinstance(getattr(settings, name), str):
                raise UsageError(f"target setting '{name}' must be a name, got {getattr(settings, name)!r}")
        profile_of(settings.profile)
        if settings.cross_check == "always" and "cross_check" not in settings_taken(settings.decoder):
            raise UsageError(
                f"target setting 'cross_check': decoder '{settings.decoder}' has none; take decoder=sfm-global"
            )
        if settings.planner is not None and settings.planner not in PLANNERS:
            raise UnknownNameError("planner", str(settings.planner), PLANNERS)
        if not _is_number(settings.horizon_s) or settings.horizon_s not in HORIZONS_S:
            allowed = ", ".join(f"{one:g}" for one in HORIZONS_S)
            raise UsageError(f"target setting 'horizon_s' must be one of {allowed}, got {settings.horizon_s!r}")
        if settings.fps is not None and not (_is_number(settings.fps) and 1 <= settings.fps <= 240):
            raise UsageError(f"target setting 'fps' must be 1 to 240 frames a second, got {settings.fps!r}")
        check_whole("target", "context", settings.context, least=1)
        check_whole("target", "asks", settings.asks, least=1)
        if not isinstance(settings.extras, bool):
            raise UsageError(f"target setting 'extras' must be true or false, got {settings.extras!r}")
        if settings.protocol == "replan" and settings.horizon_s != HORIZONS_S[0]:
            raise UsageError("protocol=replan begins with the whole history: it goes with horizon_s=8 only")
        return replace(
            settings,
            horizon_s=float(settings.horizon_s),
            labels_digest=_labels_digest(settings.labels),
            prompt_digest=template_of(settings.prompt).digest,
            decoder_digest=digest_of(settings.decoder),
        )

    def as_dict(self) -> dict[str, Any]:
        """All options, plain JSON values."""
        return asdict(self)


_FORMER = frozenset({"decoder_version"})
"""Stand in the settings of earlier runs, which can be reported and scored again; `decoder_digest` has taken over."""


def _labels_digest(labels: Any) -> str | None:
    if labels is None:
        return None
    try:
        return hashlib.sha256(Path(str(labels)).expanduser().read_bytes()).hexdigest()
    except (OSError, ValueError) as error:
        raise UsageError(f"target setting 'labels': {labels} cannot be read ({error})") from error


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
