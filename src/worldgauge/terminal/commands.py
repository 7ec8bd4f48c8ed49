"""Declaration of commands, and what suites and other packages add to the command line."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal

from typer.core import TyperCommand, TyperGroup

from worldgauge.core.errors import check_neighbour

Panel = Literal["Measure", "Models and data", "Publish", "Tools"]


@dataclass(frozen=True)
class Command:
    """One command; `help` is by default the docstring, and `group` is its parent command, such as "study"."""

    run: Callable[..., Any]
    panel: Panel
    example: str
    name: str | None = None
    help: str | None = None
    cls: type[Any] | None = None
    group: str = ""


_Formatter: Any = TyperCommand.context_class.formatter_class


class _HelpFormatter(_Formatter):  # type: ignore[misc]
    """Help of all commands: a description that does not fit beside short names is below its option."""

    def write_dl(self, rows: Any, col_max: int = 22, col_spacing: int = 2) -> None:
        """Write names and their descriptions. Nothing is cut."""
        rows = list(rows)
        if all(len(name) <= col_max for name, _ in rows):
            super().write_dl(rows, col_max, col_spacing)
            return
        for name, text in rows:
            self.write(f"{'':>{self.current_indent}}{name}\n")
            with self.indentation(), self.indentation():
                self.write_text(text)


HELP_CONTEXT: Any = type("HelpContext", (TyperCommand.context_class,), {"formatter_class": _HelpFormatter})


def with_help(command: Any) -> Any:
    """A command, and those below it, with the layout that the help of all commands shares."""
    command.context_class, command.rich_markup_mode = HELP_CONTEXT, None
    command.short_help = summary_of(command)
    for inner in getattr(command, "commands", {}).values():
        with_help(inner)
    return command


def summary_of(command: Any) -> str:
    """The first sentence of a command's help."""
    return re.split(r"(?<=[.?])\s|\n", (command.help or "").strip())[0]


class CommandGroup(TyperGroup):
    """A group of commands. For a missing one it names the package that brings it."""

    context_class = HELP_CONTEXT

    def get_command(self, context: Any, name: str) -> Any:
        """The command of this name."""
        command = super().get_command(context, name)
        if command is None:
            # The root's own name may be words, such as `python -m worldgauge`.
            inner = context.command_path.removeprefix(context.find_root().command_path).split()
            check_neighbour("command", " ".join([*inner, name]))
        return None if command is None else with_help(command)


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
