"""The options of the suite: the right thing by default, each known behaviour of the release by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from worldgauge.core.errors import UsageError
from worldgauge.engine.suite.network_settings import networks_digest
from worldgauge.engine.suite.settings import check_whole, settings_of, with_parity
from worldgauge.perception import estimators
from worldgauge.perception.naming import What
from worldgauge.perception.networks import networks

LEARNED: Mapping[str, What] = {"lpips": "lpips", "fvd": "video"}
"""Settings that name a network -> what it looks for."""

RELEASED: dict[str, Any] = {"empty": "zero", "matching": "padded_cost", "alignment": "start"}
"""Settings under which the scorer behaves as the released scripts do."""


@dataclass(frozen=True)
class Settings:
    """Options of LoopNav.

    context: at most this many frames before the way back; None gives all of them, and a model cuts
    what it cannot hold (`ModelSpec.max_context`). The paper's baselines saw 32.
    selection: "all" trajectories, or the "paper"'s first three a village of index 20; None means
    "all" for data collected here and "paper" for the published set.
    segment: where the way back begins: "released" rule, or "exact" by changes of the goal.
    stride: frames between two scored by SGCS. tau: its distance limit as a share of the diagonal.
    segmenter: name of a registered one for both sides, or "exact" masks for the truth (embedded worlds only). None
    means "colour" where the world is embedded, and no scene scores for recordings that it was not made for.
    empty: a frame with no category at all is left out ("null") or counts zero ("zero", release).
    matching: "maximum" cardinality, or the release's "padded_cost" assignment.
    alignment: frames of the truth compared, its "end", or its "start" (fault of the release's table
    script: it compared the way back with the look-around; pixel metrics only).
    parity: "released" sets empty, matching and alignment as the release has them.
    lpips, fvd: where the learned distances get their networks (`estimators.perception`); None leaves them out, and
    says so.
    networks_digest: of the weights that they and `segmenter` name, found anew, so that other weights count as another
    setting.
    """

    context: int | None = None
    selection: Literal["all", "paper"] | None = None
    segment: Literal["released", "exact"] = "released"
    stride: int = 5
    tau: float = 0.1
    segmenter: str | None = None
    empty: Literal["null", "zero"] = "null"
    matching: Literal["maximum", "padded_cost"] = "maximum"
    alignment: Literal["end", "start"] = "end"
    parity: Literal["released"] | None = None
    lpips: str | None = None
    fvd: str | None = None
    networks_digest: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Settings:
        """Settings of plain values. Raises UnknownNameError or UsageError naming the option."""
        settings = settings_of(cls, "loopnav", options)
        check_whole("loopnav", "context", settings.context, least=1, optional=True)
        check_whole("loopnav", "stride", settings.stride, least=1)
        if settings.segmenter is not None:
            _check_segmenter(settings.segmenter)
        if not (isinstance(settings.tau, (int, float)) and 0 < settings.tau <= 1):
            raise UsageError(f"loopnav setting 'tau' must be in (0, 1], got {settings.tau!r}")
        segmenting = [name for name in (settings.segmenter,) if name is not None and name in networks]
        digest = networks_digest("loopnav", settings, LEARNED, segmenting)
        return with_parity(replace(settings, networks_digest=digest), options, RELEASED)

    def as_dict(self) -> dict[str, Any]:
        """All options, plain JSON values."""
        return asdict(self)


def _check_segmenter(name: Any) -> None:
    found = estimators.get(str(name))
    if not hasattr(found if isinstance(found, type) else found(), "segment"):
        raise UsageError(f"loopnav setting 'segmenter' must name one, and '{name}' segments nothing")
