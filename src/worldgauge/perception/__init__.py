"""Perception that metrics need: segmentation, embeddings and camera poses; the defaults need no weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from worldgauge.core.registry import Registry

estimators: Registry[Callable[..., Any]] = Registry("estimator", __name__, in_suites="perception")
