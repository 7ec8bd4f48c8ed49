"""Metrics: pure functions on arrays, each registered where its function is defined."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from worldgauge.core.registry import Registry

metrics: Registry[Callable[..., Any]] = Registry("metric", __name__, group="worldgauge.metrics", in_suites="metrics")
"""Facts of an entry: unit, better ("higher" | "lower" | "neither"), bounds (low, high), version, source."""


def metric_bounds(name: str) -> tuple[float, float]:
    """Values that a metric can have, beyond which no interval of it goes.

    Args:
        name: Name of a registered metric; a suite may put words and "/" before it.

    Returns:
        The lowest and the highest. Infinite both for a metric that is not registered.
    """
    known = next((one for one in (name, name.rpartition("/")[2]) if one in metrics), None)
    low, high = (-math.inf, math.inf) if known is None else metrics.entry(known).facts["bounds"]
    return low, high
