"""`worldgauge view`: look at runs in a browser while they grow."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from worldgauge.terminal.options import Json


def view(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Run folder, or a folder with runs in it.")],
    host: Annotated[
        str, typer.Option(help="Address to listen on. Any but that of this machine needs the token of the link.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 for any that is free.", min=0, max=65535)] = 8600,
    json: Json = False,
) -> None:
    """Show runs in a browser while they grow: progress, all films of a task in step, worst cases, blind votes."""
    from worldgauge.terminal.output import print_json
    from worldgauge.tools.viewer import Viewer

    viewer = Viewer(folder, host, port)
    if json:
        print_json(link=viewer.link)
    else:
        print(f"{viewer.link}: open it in a browser; Ctrl-C ends it", flush=True)
    with suppress(KeyboardInterrupt):
        viewer.serve()
