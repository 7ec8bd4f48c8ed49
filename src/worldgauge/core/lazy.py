"""Modules whose names are imported when they are first used: the public front stays light."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(module: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make `__getattr__` and `__dir__` of a front module."""
    places = {
        name: (f"worldgauge.{home}", other or name)
        for home, names in homes.items()
        for name, _, other in (one.partition("=") for one in names.split())
    }

    def getattribute(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        home, other = places[name]
        return getattr(import_module(home), other)

    return getattribute, lambda: sorted({*vars(sys.modules[module]), *places})
