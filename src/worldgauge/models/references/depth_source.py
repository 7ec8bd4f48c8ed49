"""Estimated depth, for models that need depth where none is given."""

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
"""Metres beyond which estimated depth is taken for sky, since no network returns infinity. Outdoor ones end at 80 m."""


class DepthSource:
    """A network that estimates depth, run in this process or by a server.

    Depth is in the metres that the network estimates.

    Args:
        at: A network to run here ("depth-anything"), or the address of a server of kind "depth" ("cmd:...").

    Raises:
        AbsentWeightsError: The weights are missing; the message names the command that downloads them.
        UsageError: The network or server is of another kind.
    """

    def __init__(self, at: str) -> None:
        self._source = source_of(at, KIND, ("",))

    @property
    def settings(self) -> Mapping[str, Any]:
        """What changes the answers, as plain JSON values: digest of the weights, or identity of the server."""
        return {**self._source.settings, "sky_m": SKY_M}

    def added(self, context: Context) -> Context:
        """Add estimated depth to a context; a frame is estimated when its depth is read. Sky is infinite.

        Reading a depth raises SubjectError when a server returns none.

        Args:
            context: Perspective frames.

        Returns:
            The context with depth.

        Raises:
            NotApplicableError: The frames are panoramas.
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
