"""World models that come with worldgauge: references whose scores are known, and adapters."""

from __future__ import annotations

from collections.abc import Callable

from worldgauge.core.model import WorldModel
from worldgauge.core.registry import Registry

models: Registry[Callable[..., WorldModel]] = Registry(
    "model", f"{__name__}.references", f"{__name__}.outside", group="worldgauge.models", in_suites="models"
)
