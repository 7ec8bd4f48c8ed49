"""Perception that metrics need: segment, embed, recover poses; defaults need no weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from worldgauge.registry import Registry

estimators: Registry[Callable[..., Any]] = Registry("estimator", package=__name__, group="worldgauge.estimators")
