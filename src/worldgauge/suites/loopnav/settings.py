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

    context: int | None = option(None, "Maximum number of context frames. Default: all. The paper uses 32.", low=1)
    selection: Literal["all", "paper"] | None = option(
        None, "Episodes: all, or those of the paper. Default: paper for the published data."
    )
    segment: Literal["released", "exact", "first"] = option(
        "released", "Start of the way back: by the released rule, goal, or first way out."
    )
    stride: int = option(5, "Score every Nth frame with SGCS.", low=1)
    tau: float = option(0.1, "Distance limit of SGCS, as a fraction of the image diagonal.", above=0, high=1)
    segmenter: str | None = option(
        None, 'Segmenter. Default: "balanced" in embedded worlds, none elsewhere. "colour" does not correct a tint.'
    )
    empty: Literal["null", "zero"] = option(
        "null", "Frames without a category: left out (null), or 0 as released (zero)."
    )
    matching: Literal["maximum", "padded_cost"] = option(
        "maximum", "Matching of instances: as many pairs as possible, or padded as released."
    )
    alignment: Literal["end", "start"] = option(
        "end", "Ground-truth frames of pixel metrics: way back (end), or look-around (start, as released)."
    )
    parity: Literal["released"] | None = option(None, "Sets empty, matching and alignment as released.")
    lpips: str | None = option(None, "Network of LPIPS. Default: not computed.")
    fvd: str | None = option(None, "Network of FVD. Default: not computed.")
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
