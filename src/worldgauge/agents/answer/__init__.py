"""Agents that answer problems: language models, and references that need none."""

from __future__ import annotations

from collections.abc import Callable

from worldgauge.agent import Agent
from worldgauge.registry import Registry

agents: Registry[Callable[..., Agent]] = Registry("agent", package=__name__, group="worldgauge.agents")
