"""Suites: one folder a benchmark."""

from __future__ import annotations

from collections.abc import Callable

from worldgauge.registry import Registry
from worldgauge.suites.contract import Suite

suites: Registry[Callable[..., Suite]] = Registry("suite", package=__name__, group="worldgauge.suites")
