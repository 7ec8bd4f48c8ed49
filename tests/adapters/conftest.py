"""What the adapters' tests share: a video that gets brighter, and the path that every stand-in reads from it."""

from collections.abc import Callable

import numpy as np
import pytest

from worldgauge.core.video import Clip
from worldgauge.perception.decoders import DecodedPath, DecodeRequest

LEVELS = np.linspace(20, 212, 25).astype(np.uint8)
"""Grey of every frame; the ninths of the video, and its seconds at 3 frames a second, are 24 levels apart."""


@pytest.fixture
def brightening() -> DecodeRequest:
    """A walk of 192 levels after an anchor that lies 10 levels behind its start: 1 m, so 19.2 m in all."""
    frames = np.broadcast_to(LEVELS[:, None, None, None], (25, 36, 64, 3))
    return DecodeRequest(Clip.from_array(frames, 3.0), np.full((36, 64, 3), 10, np.uint8), 1.0, hfov_deg=90.0)


@pytest.fixture
def is_the_walk() -> Callable[[DecodedPath, float], None]:
    def check(path: DecodedPath, metres_a_level: float, tolerance: float = 1e-3) -> None:
        assert path.status == "ok", path.reason
        ahead = (LEVELS[path.frame_indices].astype(float) - LEVELS[0]) * metres_a_level
        np.testing.assert_allclose(path.xy, np.stack([np.zeros(9), ahead], -1), atol=tolerance)
        assert path.frame_indices.tolist() == list(range(0, 25, 3))

    return check
