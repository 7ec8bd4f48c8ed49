"""Metrics: pure functions on arrays, each registered where its function is defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from worldgauge.core.registry import Registry

metrics: Registry[Callable[..., Any]] = Registry("metric", __name__, group="worldgauge.metrics", in_suites="metrics")
"""Facts of an entry: unit, better ("higher" | "lower" | "neither"), bounds (low, high), version, source."""
