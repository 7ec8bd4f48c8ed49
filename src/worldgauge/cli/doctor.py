"""`worldgauge doctor`: check whether the requirements of a part are installed, and say how to install them."""

from __future__ import annotations

from typing import Annotated

import typer

from worldgauge.core.errors import UnknownNameError
from worldgauge.terminal.options import FAILED, Json

PARTS = ("minecraft",)


def doctor(
    part: Annotated[str, typer.Argument(metavar="PART", help="minecraft: Node, its packages, a server.")],
    server: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="A Java server of yours, looked at too.")
    ] = None,
    json: Json = False,
) -> None:
    """Check whether everything that a part needs is installed.

    Says what to install where it is not, and then exits with 1.
    """
    from worldgauge.cli.show import examined
    from worldgauge.worlds.minecraft.doctor import examine

    if part not in PARTS:
        raise UnknownNameError("part to look at", part, PARTS)
    if not examined([finding._asdict() for finding in examine(server)], json=json):
        raise typer.Exit(FAILED)
