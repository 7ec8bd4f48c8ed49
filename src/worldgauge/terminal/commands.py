"""Declaration of commands, and what suites and other packages add to the command line."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal

from typer.core import TyperGroup

from worldgauge.core.errors import check_neighbour

Panel = Literal["Measure", "Models and data", "Publish", "Tools"]


@dataclass(frozen=True)
class Command:
    """One command.

    Attributes:
        help: Help text, by default the docstring of the function.
        group: Command that it is a subcommand of, such as "study". Empty for none.
    """

    run: Callable[..., Any]
    panel: Panel
    example: str
    name: str | None = None
    help: str | None = None
    cls: type[Any] | None = None
    group: str = ""


class CommandGroup(TyperGroup):
    """A group of commands. For a missing one it names the package that brings it."""

    def get_command(self, context: Any, name: str) -> Any:
        """The command of this name."""
        command = super().get_command(context, name)
        if command is None:
            # The root's own name may be words, such as `python -m worldgauge`.
            inner = context.command_path.removeprefix(context.find_root().command_path).split()
            check_neighbour("command", " ".join([*inner, name]))
        return command


GROUP = "worldgauge.commands"
"""Entry points of other packages, `worldgauge-train` and `worldgauge-lab` among them: tuples of `Command`."""


def commands() -> tuple[Command, ...]:
    """Commands of all suites, `COMMANDS` of each module; then those of other packages."""
    sets = [module.COMMANDS for module in _modules()]
    for point in entry_points(group=GROUP):
        try:
            sets.append(point.load())
        except Exception as error:  # a broken package takes no command of ours away
            why = f"{type(error).__name__}: {error}"[:300]
            print(
                f"warning: commands of {point.value} cannot be loaded ({why}); update or uninstall it", file=sys.stderr
            )
    return tuple(command for each in sets for command in each)


def listed_kinds() -> dict[str, str]:
    """Kinds of components that `worldgauge list` shows: `LISTED` of each module, name to module of the registry."""
    return {kind: place for module in _modules() for kind, place in module.LISTED.items()}


@cache
def _modules() -> tuple[Any, ...]:
    files = sorted((Path(__file__).parents[1] / "suites").glob("*/commands.py"))
    return tuple(importlib.import_module(f"worldgauge.suites.{file.parent.name}.commands") for file in files)
