"""The options of the suite: what is asked, how a path is found in the answer, and by which constants it is scored."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.engine.options import option, options_of
from worldgauge.perception.decoders import digest_of, settings_taken
from worldgauge.suites.target.format.scenario import HORIZONS_S
from worldgauge.suites.target.metrics.waypoints import PROFILES, profile_of
from worldgauge.suites.target.planners import PLANNERS
from worldgauge.suites.target.prompts import DEFAULT, template_of

_HORIZONS = ", ".join(f"{one:g}" for one in HORIZONS_S)


@dataclass(frozen=True)
class Settings:
    """Options of Target-Bench."""

    profile: str = option(
        "released",
        "Constants of the headline; the scores of all profiles are computed.",
        rule="one of " + ", ".join(PROFILES),
    )
    decoder: str = option(
        "sfm-global",
        'What finds the camera\'s path in a video: a registered decoder, with settings as in "sfm-global?frames=33", '
        "or the address of a served one.",
        rule="a name or an address",
    )
    cross_check: Literal["auto", "always", "never"] = option(
        "auto", "Whether a second decoder is run as a check: auto does where few points carry the path."
    )
    horizon_s: float = option(
        HORIZONS_S[0],
        "Seconds from the frame shown to the end.",
        low=min(HORIZONS_S),
        high=max(HORIZONS_S),
        rule=f"one of {_HORIZONS}",
    )
    fps: float | None = option(
        None,
        "Frames a second asked for; None means the model's own rate, else the recording's.",
        low=1,
        high=240,
    )
    context: int = option(1, "Frames of history shown, with the current one; the paper showed 1.", low=1)
    planner: str | None = option(
        None,
        "Whose path a model driven by camera or actions is given; None means walker where the world is known and "
        "straight elsewhere.",
        rule="one of " + ", ".join(PLANNERS),
    )
    prompt: str = option(
        DEFAULT, "Template of the prompt of models driven by text: a name or a text file.", rule="a name or a file"
    )
    labels: str | None = option(None, "CSV file of explicit and implicit targets; None takes that of the data.")
    mode: Literal["gt", "pred", "max", "min"] = option("gt", "Which lengths of the paths are compared.")
    extras: bool = option(False, "Whether metrics beyond the paper's are computed as well.")
    parity: Literal["released"] | None = option(
        None, "released switches our corrections of decoding, horizons and edge cases off."
    )
    protocol: Literal["once", "replan"] = option(
        "once",
        "One video a scenario, or replan, which drives the beginning of each plan in an embedded world and asks again "
        "from there.",
    )
    asks: int = option(8, "How often replan asks at most.", low=1)
    # Digests of what the settings name: an edited file, or a decoder that may give other paths, counts as another one.
    labels_digest: str | None = None
    prompt_digest: str | None = None
    decoder_digest: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Settings:
        """Settings made of plain values, with the digests of what they name.

        Args:
            options: Values by name; what is left out keeps its default.

        Raises:
            UnknownNameError: For a setting, profile, planner, prompt or decoder that is not known.
            UsageError: For a value that is not allowed, or settings that do not go together.
        """
        settings = options_of(cls, "target", {name: value for name, value in options.items() if name not in _FORMER})
        profile_of(settings.profile)
        if settings.cross_check == "always" and "cross_check" not in settings_taken(settings.decoder):
            raise UsageError(
                f"target setting 'cross_check': decoder '{settings.decoder}' has none; take decoder=sfm-global"
            )
        if settings.planner is not None and settings.planner not in PLANNERS:
            raise UnknownNameError("planner", settings.planner, PLANNERS)
        if settings.horizon_s not in HORIZONS_S:
            raise UsageError(f"target setting 'horizon_s' must be one of {_HORIZONS}, got {settings.horizon_s!r}")
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


def _labels_digest(labels: str | None) -> str | None:
    if labels is None:
        return None
    try:
        return hashlib.sha256(Path(labels).expanduser().read_bytes()).hexdigest()
    except (OSError, ValueError) as error:
        raise UsageError(f"target setting 'labels': {labels} cannot be read ({error})") from error
