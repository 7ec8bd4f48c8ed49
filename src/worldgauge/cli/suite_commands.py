"""What suites add to the command line, in the module `commands` of their folders."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import Any

from worldgauge.terminal.commands import Command


def commands() -> tuple[Command, ...]:
    """Commands of all suites: `COMMANDS` of each module."""
    return tuple(command for module in _modules() for command in module.COMMANDS)


def listed_kinds() -> dict[str, str]:
    """Kinds of components that `worldgauge list` shows: `LISTED` of each module, name to module of the registry."""
    return {kind: place for module in _modules() for kind, place in module.LISTED.items()}


@cache
def _modules() -> tuple[Any, ...]:
    files = sorted((Path(__file__).parents[1] / "suites").glob("*/commands.py"))
    return tuple(importlib.import_module(f"worldgauge.suites.{file.parent.name}.commands") for file in files)
