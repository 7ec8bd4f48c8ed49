import numpy as np
import pytest

from worldgauge.core.errors import ShapeError
from worldgauge.metrics.frame_pairs import prepared
from worldgauge.metrics.lpips_fvd import lpips, lpips_320x180, lpips_720p


def test_lpips_of_frames():
    # Learned distance is shown both frames at the common size.
    x, y = np.random.default_rng(3).integers(0, 256, (2, 18, 32, 3), dtype=np.uint8)
    assert lpips_720p(x, y, lambda a, b: a.mean() - b.mean()) == float(prepared(x).mean() - prepared(y).mean())
    assert lpips_720p(x, x, lambda a, b: abs(a - b).max()) == 0
    # Lpips sees frames as they are.
    x = np.full((4, 6, 3), 51, np.uint8)
    y = np.full((4, 6, 3), 102, np.uint8)
    assert lpips(x, y, lambda a, b: float(b.mean() - a.mean())) == pytest.approx(0.2)
    assert lpips(x, y, lambda a, b: float(a.shape[1])) == 6
    assert lpips_320x180(x, y, lambda a, b: float(a.shape[1])) == 320
    for function in (lpips, lpips_320x180):
        assert function(x, y, lambda a, b: float((b - a).mean())) == pytest.approx(0.2)
    with pytest.raises(ShapeError, match="differ"):
        lpips(x, y[1:], lambda a, b: 0.0)
