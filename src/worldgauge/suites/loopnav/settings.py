"""The options of the suite: the right thing by default, each known behaviour of the release by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.engine.options import option, options_of
from worldgauge.engine.suite.drift import HorizonSettings
from worldgauge.engine.suite.rollout import BridgeSettings
from worldgauge.engine.suite.settings import naming_setting, networks_digest, with_parity
from worldgauge.perception import estimators
from worldgauge.perception.network_source import What
from worldgauge.perception.networks import networks
from worldgauge.suites.loopnav.format import FPS

LEARNED: Mapping[str, What] = {"lpips": "lpips", "fvd": "video"}
"""Settings that name a network -> what it looks for."""

RELEASED: dict[str, Any] = {"empty": "zero", "matching": "padded_cost", "alignment": "start"}
"""Settings under which the scorer behaves as the released scripts do."""


@dataclass(frozen=True)
class LoopNavSettings(HorizonSettings, BridgeSettings):
    """Settings of the suite, as `--set` takes them."""

    context: int | None = option(
        None,
        "Maximum number of frames shown before the way back. By default all, of which a model keeps what it can hold. "
        "The paper's baselines saw 32.",
        low=1,
    )
    selection: Literal["all", "paper"] | None = option(
        None,
        "Which loops are used: all, or the paper's (the first three of each village with index 20). By default all of "
        "your own data, and the paper's of the published set.",
    )
    segment: Literal["released", "exact", "first"] = option(
        "released",
        "Where the way back begins: by the released rule, or exactly where the goal changes for the last time; of "
        "walks of several laps, at the end of the first way out (first).",
    )
    stride: int = option(5, "Score every Nth frame with SGCS.", low=1)
    tau: float = option(0.1, "Distance limit of SGCS, as a fraction of the diagonal.", above=0, high=1)
    segmenter: str | None = option(
        None,
        'Segmenter of truth and rollout: a registered name. "exact" uses exact masks for the truth (embedded worlds '
        'only). By default "balanced" for worlds that it knows, and no scene scores for others. "colour" does not '
        "correct colours: a tint looks like another scene.",
    )
    empty: Literal["null", "zero"] = option(
        "null", "A frame without any category is left out (null), or counts as 0 as in the release (zero)."
    )
    matching: Literal["maximum", "padded_cost"] = option(
        "maximum", "How instances are matched: as many pairs as possible, or by the release's padded assignment."
    )
    alignment: Literal["end", "start"] = option(
        "end",
        "Which frames of the truth pixel metrics use: the way back (end), or the look-around (start), as the release's "
        "table script does by mistake.",
    )
    parity: Literal["released"] | None = option(None, "Sets empty, matching and alignment as in the released scripts.")
    lpips: str | None = option(None, "Network of LPIPS. By default LPIPS is not computed.")
    fvd: str | None = option(None, "Network of FVD. By default FVD is not computed.")
    networks_digest: str | None = None
    """Of the weights that lpips, fvd and segmenter name, computed each time: other weights are another setting."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> LoopNavSettings:
        """Settings made of plain values."""
        settings = options_of(cls, "loopnav", options)
        if settings.frames_asked == 0:
            raise UsageError(
                f"loopnav setting 'horizon_s' must be at least one frame, {1 / FPS:g}, got {settings.horizon_s}"
            )
        if settings.segmenter is not None:
            with naming_setting("loopnav", "segmenter"):
                if settings.segmenter not in estimators or not _segments(settings.segmenter):
                    raise UnknownNameError("segmenter", settings.segmenter, filter(_segments, estimators.names()))
        segmenting = [name for name in (settings.segmenter,) if name is not None and name in networks]
        digest = networks_digest("loopnav", settings, LEARNED, segmenting)
        return with_parity(replace(settings, networks_digest=digest), options, RELEASED)

    @property
    def frames_asked(self) -> int | None:
        """Frames to imagine; None for all that were recorded."""
        return None if self.horizon_s is None else round(self.horizon_s * FPS)


def _segments(name: str) -> bool:
    """Whether an estimator segments; one that cannot be had does not."""
    try:
        found = estimators.get(name)
        return hasattr(found if isinstance(found, type) else found(), "segment")
    except Exception:  # of any package
        return False
