"""Depth for models that need it, where nobody gives it: estimated from the frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import Context
from worldgauge.core.errors import NotApplicableError, SubjectError
from worldgauge.core.geometry import Panorama
from worldgauge.perception.network_source import source_of

KIND = "depth"
SKY_M = 60.0
"""No network knows of infinity: what it puts farther than this is taken for sky. The ones for outdoors end at 80 m."""


class DepthSource:
    """A network that estimates depth, run here ("depth-anything") or by a server of kind "depth" ("cmd:...").

    Its metres are what it takes for metres. Raises as `source_of`: AbsentWeightsError with the command that brings
    them, UsageError for a network or a server of something else.
    """

    def __init__(self, at: str) -> None:
        self._source = source_of(at, KIND, ("",))

    @property
    def settings(self) -> Mapping[str, Any]:
        """What changes its answers, plain JSON values: digest of the weights, or what the server says of itself."""
        return {**self._source.settings, "sky_m": SKY_M}

    def added(self, context: Context) -> Context:
        """`context` with estimated depth, of any frame when it is asked for; infinite where it is sky.

        Raises NotApplicableError for panoramas; asking for depth raises SubjectError where a server gives none.
        """
        if isinstance(context.camera, Panorama):
            raise NotApplicableError(f"'{self._source.name}' estimates depth of perspective views, not of panoramas")

        def depth(index: int) -> NDArray[np.float32]:
            frame = context.clip[index]
            arrays: dict[str, Any] = {"frames": frame[None]}
            found = self._source.rows(arrays, KIND, frame.shape[:2])[0].astype(np.float32)
            if not (found > 0).all():
                raise SubjectError(f"'{self._source.name}' gives a depth of {found.min():g} m; all must lie ahead")
            return np.where(found < SKY_M, found, np.float32(np.inf))

        return replace(context, depth=depth)
