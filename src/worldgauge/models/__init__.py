"""World models that come with worldgauge: references whose scores are known, and adapters."""

from __future__ import annotations

from collections.abc import Callable

from worldgauge.core.model import WorldModel
from worldgauge.core.registry import Registry

models: Registry[Callable[..., WorldModel]] = Registry(
    "model", __name__, f"{__name__}.references", group="worldgauge.models", in_suites="models"
)
