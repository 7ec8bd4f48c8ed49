"""A command as its room declares it: what runs, under which heading it is listed, and an example."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Panel = Literal["Measure", "Models and data", "Tools"]


@dataclass(frozen=True)
class Command:
    """One command.

    Attributes:
        run: A function that typer makes options of.
        panel: The heading it is listed under.
        example: A whole command line that does something useful.
        name: What it is called; the function's own name unless given.
        help: What it does, where that is not the function's docstring.
        cls: The click class that it needs, where that is not typer's own.
    """

    run: Callable[..., Any]
    panel: Panel
    example: str
    name: str | None = None
    help: str | None = None
    cls: type[Any] | None = None
