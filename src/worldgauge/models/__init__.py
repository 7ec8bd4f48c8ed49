"""World models that come with worldgauge: baselines whose scores are known, and adapters."""

from __future__ import annotations

from collections.abc import Callable

from worldgauge.core.model import WorldModel
from worldgauge.core.registry import Registry

models: Registry[Callable[..., WorldModel]] = Registry(
    "model", __name__, f"{__name__}.baselines", group="worldgauge.models", in_suites="models"
)
