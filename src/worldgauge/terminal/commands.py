"""Declaration of a command: its function, its heading in help, and an example."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Panel = Literal["Measure", "Models and data", "Publish", "Tools"]


@dataclass(frozen=True)
class Command:
    """One command.

    Attributes:
        run: A function whose parameters become the options, or an app with commands of its own.
        panel: Heading under which the command is listed.
        example: A complete command line that does something useful.
        name: Name of the command, by default that of the function.
        help: Help text, by default the docstring of the function.
        cls: Click class of the command, by default typer's own.
        group: Command that it is a subcommand of, such as "study". Empty for none.
    """

    run: Callable[..., Any]
    panel: Panel
    example: str
    name: str | None = None
    help: str | None = None
    cls: type[Any] | None = None
    group: str = ""
