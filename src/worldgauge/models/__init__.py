"""World models that come with worldgauge: references whose scores are known, and adapters."""

from __future__ import annotations

from collections.abc import Callable

from worldgauge.registry import Registry
from worldgauge.subject import WorldModel

models: Registry[Callable[..., WorldModel]] = Registry("model", package=__name__, group="worldgauge.models")
