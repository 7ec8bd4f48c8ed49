"""The options of the suite: the right thing by default, each known behaviour of the release by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from worldgauge.core.errors import UsageError
from worldgauge.engine.options import option, options_of
from worldgauge.engine.suite.network_settings import networks_digest
from worldgauge.engine.suite.settings import with_parity
from worldgauge.perception import estimators
from worldgauge.perception.naming import What
from worldgauge.perception.networks import networks

LEARNED: Mapping[str, What] = {"lpips": "lpips", "fvd": "video"}
"""Settings that name a network -> what it looks for."""

RELEASED: dict[str, Any] = {"empty": "zero", "matching": "padded_cost", "alignment": "start"}
"""Settings under which the scorer behaves as the released scripts do."""


@dataclass(frozen=True)
class LoopNavSettings:
    """Settings of the suite, as `--set` takes them."""

    context: int | None = option(
        None,
        "Frames shown before the way back, at most; all of them by default, of which a model keeps what it can hold. "
        "The paper's baselines saw 32.",
        low=1,
    )
    selection: Literal["all", "paper"] | None = option(
        None,
        "Which loops are asked: all, or the paper's first three of each village with index 20. By default all of data "
        "collected here, and the paper's of the published set.",
    )
    segment: Literal["released", "exact"] = option(
        "released", "Where the way back begins: by the released rule, or exactly, where the goal changes."
    )
    stride: int = option(5, "Frames from one that SGCS scores to the next.", low=1)
    tau: float = option(0.1, "Distance limit of SGCS as a share of the diagonal.", above=0, high=1)
    segmenter: str | None = option(
        None,
        'A registered segmenter for both sides, or "exact" for exact masks of the truth (embedded worlds only). By '
        'default "colour" where it knows the world, and no scene scores elsewhere.',
    )
    empty: Literal["null", "zero"] = option(
        "null", "A frame without any category is left out (null), or counts zero as in the release (zero)."
    )
    matching: Literal["maximum", "padded_cost"] = option(
        "maximum", "How instances are matched: as many pairs as possible, or by the release's padded assignment."
    )
    alignment: Literal["end", "start"] = option(
        "end",
        "Which frames of the truth pixel metrics compare: the way back (end), or the look-around, a fault of the "
        "release's table script (start).",
    )
    parity: Literal["released"] | None = option(
        None, "Sets empty, matching and alignment as the released scripts have them."
    )
    lpips: str | None = option(None, "Where LPIPS gets its network; left out by default.")
    fvd: str | None = option(None, "Where FVD gets its network; left out by default.")
    networks_digest: str | None = None
    """Of the weights that lpips, fvd and segmenter name, computed each time: other weights are another setting."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> LoopNavSettings:
        """Settings made of plain values.

        Raises:
            UnknownNameError: For a setting that does not exist.
            UsageError: For a value that is not allowed; names the setting.
        """
        settings = options_of(cls, "loopnav", options)
        if settings.segmenter is not None:
            _check_segmenter(settings.segmenter)
        segmenting = [name for name in (settings.segmenter,) if name is not None and name in networks]
        digest = networks_digest("loopnav", settings, LEARNED, segmenting)
        return with_parity(replace(settings, networks_digest=digest), options, RELEASED)


def _check_segmenter(name: str) -> None:
    found = estimators.get(name)
    if not hasattr(found if isinstance(found, type) else found(), "segment"):
        raise UsageError(f"loopnav setting 'segmenter' must name one, and '{name}' segments nothing")
