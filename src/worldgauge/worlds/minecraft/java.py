"""A server that the user runs: any of the game's own that takes unregistered names, of version 1.16.5 or 1.20.4."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from worldgauge.errors import UsageError, WorldError
from worldgauge.worlds.minecraft.bridge import Bridge, BridgeError
from worldgauge.worlds.minecraft.server import Player, join

SERVER_VARIABLE = "WORLDGAUGE_MINECRAFT_SERVER"
"""Names one for the tests, as host:port."""
PORT = 25565
SPACING_S = 0.1
"""Between two commands: the game's server kicks who sends many at once."""


class JavaServer(Player):
    """A bot on a server that the user runs, to read, build and walk there; a context manager.

    The bot must be an operator, which is tried first.
    """

    def __init__(
        self,
        host: str,
        port: int = PORT,
        *,
        name: str = "walker",
        spacing_s: float = SPACING_S,
        packages: Path | None = None,
    ) -> None:
        """Raises WorldError, with what to set, when there is no such server or the bot may not teleport there."""
        super().__init__(Bridge.start(packages), name, spacing_s)
        try:
            join(self._bridge, name, host=host, port=port)
            self.teleport(*self.state()[:3].tolist())
        except BridgeError as error:
            self.close()
            hint = f"online-mode=false, spawn-protection=0 and allow-flight=true in server.properties, and '/op {name}'"
            raise WorldError(f"the server {host}:{port} cannot be used: {error}; it needs {hint}") from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Leave the server and end the process."""
        self._bridge.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def address(text: str) -> tuple[str, int]:
    """Host and port of "host" or "host:port". Raises UsageError for anything else."""
    host, colon, port = text.partition(":")
    if not host or (colon and not (port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16)):
        raise UsageError(f"'{text}' is no server: write host:port, such as localhost:{PORT}")
    return host, int(port) if colon else PORT
