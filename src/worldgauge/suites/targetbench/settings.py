"""The options of the suite: what is asked and how it is worded, how a path is found, by which constants it is scored.

Prompts of text-driven models are the scenario's sentence in a wording of ours, versioned, replaceable by a file. The
prompts of the published videos are not public, so every record keeps its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from worldgauge.core.errors import DataError, UnknownNameError, UsageError
from worldgauge.core.io import digest_of, digest_of_file, read_caption
from worldgauge.engine.options import option, options_of
from worldgauge.engine.suite.rollout import BridgeSettings
from worldgauge.engine.suite.settings import naming_setting
from worldgauge.perception.decoders import digest_of as decoder_digest_of
from worldgauge.perception.decoders import settings_taken
from worldgauge.suites.targetbench.format.scenario import HORIZONS_S
from worldgauge.suites.targetbench.metrics import PROFILES, RELEASED, profile_of
from worldgauge.suites.targetbench.planners import PLANNERS

DEFAULT = "robot-v1"
MAX_CHARACTERS = 20_000


@dataclass(frozen=True)
class TargetPrompt:
    """A prompt that holds {target} where the sentence goes, and may hold {seconds}."""

    name: str
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the text."""
        return digest_of(self.text)

    def filled(self, target: str, seconds: float) -> str:
        """Fill in the prompt for one scenario; braces in the sentence stay as they are."""
        before, _, after = self.text.partition("{target}")
        length = f"{seconds:g}"
        return before.replace("{seconds}", length) + target + after.replace("{seconds}", length)


def template_of(name: str) -> TargetPrompt:
    """The template called `name`, or the one in the file of that name."""
    folder = files(__package__) / "prompts"
    known = {entry.name.removesuffix(".txt"): entry for entry in folder.iterdir() if entry.name.endswith(".txt")}
    if name in known:
        return TargetPrompt(name, known[name].read_text("utf-8").strip())
    path = Path(name).expanduser()
    if path.suffix != ".txt" and not path.is_file():
        raise UnknownNameError("prompt", name, known)
    try:
        text = "\n".join(read_caption(path).splitlines())
    except DataError as error:
        raise UsageError(f"target setting 'prompt': the file cannot be read ({error})") from error
    if len(text) > MAX_CHARACTERS:
        raise UsageError(f"target setting 'prompt': {path} has more than {MAX_CHARACTERS} characters")
    if text.count("{target}") != 1:
        raise UsageError(f"target setting 'prompt': {path} must hold {{target}} once, where the sentence goes")
    return TargetPrompt(name, text)


_HORIZONS = ", ".join(f"{one:g}" for one in HORIZONS_S)


@dataclass(frozen=True)
class TargetSettings(BridgeSettings):
    """Options of Target-Bench."""

    profile: str = option(
        "aligned",
        "Constants of the headline: paper or released code. All are computed.",
        rule="one of " + ", ".join(PROFILES),
    )
    decoder: str = option(
        "sfm-global", 'Decoder of camera paths: name, "sfm-global?frames=33", or address.', rule="a name or an address"
    )
    cross_check: Literal["auto", "always", "never"] = option(
        "auto", "Whether a second decoder must confirm a path. auto: paths with a scale."
    )
    horizon_s: float = option(
        HORIZONS_S[0], "Seconds to generate.", low=min(HORIZONS_S), high=max(HORIZONS_S), rule=f"one of {_HORIZONS}"
    )
    fps: float | None = option(
        None, "Frames per second to generate. Default: rate of the model, else of the recording.", low=1, high=240
    )
    context: int = option(1, "Number of context frames. The paper uses 1.", low=1)
    planner: str | None = option(
        None,
        "Planner of the path for a model. Default: walker in known worlds, else straight.",
        rule="one of " + ", ".join(PLANNERS),
    )
    prompt: str = option(DEFAULT, "Prompt template for text models: name or text file.", rule="a name or a file")
    labels: str | None = option(None, "CSV file of explicit and implicit targets. Default: that of the data.")
    mode: Literal["gt", "pred", "max", "min"] = option("gt", "Which lengths of the paths are compared.")
    extras: bool = option(False, "Whether to compute metrics that are not in the paper.")
    parity: Literal["released"] | None = option(None, "released: no corrections of decoding, horizons and edge cases.")
    protocol: Literal["once", "replan"] = option(
        "once", "once: one video per scene. replan: drive in an embedded world, then plan again."
    )
    asks: int = option(8, "Maximum number of plans with protocol=replan.", low=1)
    # Digests of what the settings name: an edited file, or a decoder that may give other paths, counts as another one.
    labels_digest: str | None = None
    prompt_digest: str | None = None
    decoder_digest: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> TargetSettings:
        """Settings made of plain values, with the digests of what they name."""
        current = {name: value for name, value in options.items() if name not in _FORMER}
        settings = options_of(cls, "targetbench", current)
        if settings.parity == "released" and "profile" not in options:
            settings = replace(settings, profile=RELEASED.name)
        with naming_setting("targetbench", "profile"):
            profile_of(settings.profile)
        with naming_setting("targetbench", "decoder"):
            decoder_digest = decoder_digest_of(settings.decoder)
        with naming_setting("targetbench", "prompt"):
            prompt_digest = template_of(settings.prompt).digest
        if settings.cross_check == "always" and "cross_check" not in settings_taken(settings.decoder):
            raise UsageError(
                f"target setting 'cross_check': decoder '{settings.decoder}' has none; take decoder=sfm-global"
            )
        if settings.planner is not None and settings.planner not in PLANNERS:
            with naming_setting("targetbench", "planner"):
                raise UnknownNameError("planner", settings.planner, PLANNERS)
        if settings.horizon_s not in HORIZONS_S:
            raise UsageError(f"target setting 'horizon_s' must be one of {_HORIZONS}, got {settings.horizon_s!r}")
        if settings.protocol == "replan" and settings.horizon_s != HORIZONS_S[0]:
            raise UsageError("protocol=replan begins with the whole history: it goes with horizon_s=8 only")
        return replace(
            settings,
            horizon_s=float(settings.horizon_s),
            labels_digest=_labels_digest(settings.labels),
            prompt_digest=prompt_digest,
            decoder_digest=decoder_digest,
        )


_FORMER = frozenset({"decoder_version"})
"""Stand in the settings of earlier runs, which can be reported and scored again; `decoder_digest` has taken over."""


def _labels_digest(labels: str | None) -> str | None:
    if labels is None:
        return None
    try:
        return digest_of_file(Path(labels).expanduser())
    except (OSError, ValueError) as error:
        raise UsageError(f"target setting 'labels': {labels} cannot be read ({error})") from error
