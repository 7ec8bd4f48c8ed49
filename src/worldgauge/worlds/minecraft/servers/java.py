"""A server that the user runs: any of the game's own that takes unregistered names, of version 1.16.5 or 1.20.4.

What sets it apart from a server of ours stands here: commands are spaced, the bot is put into creative mode and its
rights are tried first. The words of all commands are the same on both.
"""

from __future__ import annotations

import re
from pathlib import Path

from worldgauge.core.errors import UsageError, WorldError
from worldgauge.worlds.minecraft.servers.bridge import Bridge, BridgeError, Closing
from worldgauge.worlds.minecraft.servers.server import Player, join

SERVER_VARIABLE = "WORLDGAUGE_MINECRAFT_SERVER"
"""Names one for the tests, as host:port."""
PORT = 25565
SPACING_S = 0.1
"""Between two commands: the game's server kicks who sends many at once."""
VERSIONS = ("1.16.5", "1.20.4")

_SAME = {"1.16.4": "1.16.5", "1.20.3": "1.20.4"}
"""Versions that speak alike, so that a bot cannot tell them apart, and what we call them."""
_TRIED = {
    "gamemode": "gamemode creative",
    "tp": "tp ~ ~ ~",
    "execute": "execute run tp ~ ~ ~",
    "fill": "fill ~ ~ ~ ~ ~ ~ air keep",
    "setblock": "setblock ~ ~ ~ air keep",
}
"""Commands that the bot needs, each in a form that changes no block. In creative mode it is not hurt, and may fly."""
_NOT_KNOWN = re.compile(r"unknown( or incomplete)? command|command not found|permission|\[HERE\]", re.IGNORECASE)
"""How servers answer a command that the bot may not give; any other answer comes from the command itself."""


class JavaServer(Player, Closing):
    """A bot on a server that the user runs, to read, build and walk there; a context manager.

    The bot must be an operator, which is tried first; it is in creative mode from then on.
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
        """Join a running server with a bot.

        Args:
            host: Name or address.
            port: Its port.
            name: Name of the bot.
            spacing_s: Pause after each command, seconds.
            packages: Folder of the Node packages.

        Raises:
            WorldError: There is no server, it has another version, or it refuses commands; the message says what to
                set.
        """
        super().__init__(Bridge.start(packages), name, "", spacing_s)
        try:
            self.version = known(join(self._bridge, name, host=host, port=port).version)
            try_commands(self)
            self.teleport(*self.state()[:3].tolist())
        except BridgeError as error:
            self.close()
            if error.kind in ("no-server", "no-join"):
                raise WorldError(f"no server of the game answers at {host}:{port} ({error}): is it running?") from None
            hint = f"online-mode=false, spawn-protection=0 and allow-flight=true in server.properties, and '/op {name}'"
            raise WorldError(f"the server {host}:{port} cannot be used: {error}; it needs {hint}") from None
        except WorldError as error:
            self.close()
            raise WorldError(f"the server {host}:{port} cannot be used: {error}") from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Leave the server and end the process."""
        self._bridge.close()


def known(version: str) -> str:
    """Return the one of VERSIONS that a server's version counts as.

    Raises:
        WorldError: There is none.
    """
    name = _SAME.get(version, version)
    if name not in VERSIONS:
        raise WorldError(f"it runs {version}, whose blocks are not known here; run {' or '.join(VERSIONS)}")
    return name


def try_commands(player: Player) -> None:
    """Try each of the commands that a bot needs, without effect.

    Raises:
        WorldError: The bot may not use one; the message names it.
    """
    for command, text in _TRIED.items():
        try:
            player.command(text)
        except BridgeError as error:
            if error.kind != "command":
                raise
            if _NOT_KNOWN.search(str(error)):
                raise WorldError(
                    f"the bot '{player.name}' may not give the command /{command} ({error}); make it an operator: "
                    f"'op {player.name}' in the server's console"
                ) from None


def address(text: str) -> tuple[str, int]:
    """Parse "host" or "host:port".

    Raises:
        UsageError: It is neither.
    """
    host, colon, port = text.partition(":")
    if not host or host.isdigit() or (colon and not (port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16)):
        raise UsageError(f"'{text}' is no server: write host:port, such as localhost:{PORT}")
    return host, int(port) if colon else PORT
