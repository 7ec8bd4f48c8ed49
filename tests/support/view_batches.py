"""Where views are drawn in batches, and what they may differ by from those of the processor's camera."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from worldgauge.core.errors import WorldgaugeError
from worldgauge.worlds import View
from worldgauge.worlds.gpu.batch import Views, open_device


def _has_gpu() -> bool:
    try:
        return bool(open_device("cuda").is_cuda)
    except WorldgaugeError:
        return False


NEEDS_GPU = pytest.mark.skipif(not _has_gpu(), reason="there is no GPU, or no Warp")
DEVICES = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=NEEDS_GPU)])
"""Devices of Warp: the processor, and a GPU where there is one."""


def assert_alike(got: Views, want: list[View], *, instances: int) -> None:
    """Labels equal in 99.99 % of pixels, depth to 1e-4, colour to one level where labels agree.

    Args:
        got: Drawn in a batch.
        want: Drawn one by one.
        instances: How many things are at least to be seen, so that something is compared.
    """
    stacked: dict[str, Any] = {
        name: np.stack([getattr(view, name) for view in want]) for name in ("rgb", "depth", "category", "instance")
    }
    same = (got.category == stacked["category"]) & (got.instance == stacked["instance"])
    assert same.mean() >= 0.9999
    assert len(np.unique(stacked["instance"])) >= instances
    assert np.array_equal(np.isinf(got.depth)[same], np.isinf(stacked["depth"])[same])
    hit = same & np.isfinite(stacked["depth"])
    np.testing.assert_allclose(got.depth[hit], stacked["depth"][hit], rtol=1e-4, atol=0)
    assert np.abs(got.rgb.astype(int) - stacked["rgb"])[same].max() <= 1
    if got.position is not None:
        points = np.stack([view.position for view in want])
        np.testing.assert_allclose(got.position[hit], points[hit], rtol=1e-4, atol=1e-4)
        assert np.isnan(got.position[np.isinf(got.depth)]).all()
