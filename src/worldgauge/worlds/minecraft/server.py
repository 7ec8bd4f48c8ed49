"""A server of ours with a bot on it, and what any bot on any server of the game can do.

Positions are the game's (x east, y up, z south), of the middle of the feet; yaw and pitch are the bot's, radians: yaw
0 looks to -z, positive left; pitch positive up (`cells.ours`, `cells.yaw_ours` change to our frame).
"""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from worldgauge.core.errors import DataError, UsageError, WorldError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.minecraft.bridge import Bridge, BridgeAnswer, BridgeError, Closing
from worldgauge.worlds.minecraft.cells import Cells, from_bytes, to_bytes
from worldgauge.worlds.minecraft.offline import COLUMNS, VERSION, Offline
from worldgauge.worlds.minecraft.regions import Box, check_box

_OPEN_S = 40.0
_JOIN_S = 40.0
_TELEPORT_S = 40.0
_READ_S = 120.0
_CHUNK_WAIT_S = 10.0
_REPLY_S = 3.0
"""Silence after which a server has nothing more to say to a command."""
_SLACK_S = 20.0


class Player:
    """An operator bot on a server. Its body moves only in a `teleport` and in what `Online` requests.
    All methods raise BridgeError when the server or the game refuses, or when the bot was kicked. BridgeLostError, with
    the whole bridge ended, means that the process behind it is late or gone."""

    def __init__(self, bridge: Bridge, name: str, version: str, spacing_s: float = 0.0) -> None:
        """Take over a bot that has joined. `spacing_s` follows each command: servers may kick who sends many."""
        self._bridge, self.name, self.version, self._spacing_s = bridge, name, version, spacing_s

    def state(self) -> FloatArray:
        """The bot's body: (15,) float64 as in `offline.COLUMNS`."""
        return _row(self.ask("look"))

    def teleport(
        self,
        x: float,
        y: float,
        z: float,
        yaw: float | None = None,
        pitch: float | None = None,
        *,
        dimension: str | None = None,
    ) -> FloatArray:
        """Put the bot's feet at rest at a place (game coordinates), and wait until its chunk has arrived and both have
        settled. Angles are in radians, None keeps one. `dimension` is such as "minecraft:the_nether"."""
        if not all(math.isfinite(v) for v in (x, y, z, yaw or 0.0, pitch or 0.0)):
            raise WorldError(f"a bot cannot be put at {(x, y, z)}, yaw {yaw}, pitch {pitch}: not finite")
        args = {"position": [float(x), float(y), float(z)], "yaw": yaw, "pitch": pitch, "dimension": dimension}
        return _row(self.ask("teleport", args, deadline_s=_TELEPORT_S))

    def command(self, text: str) -> str:
        """Send one command, without its slash, and return the server's reply, which may be empty."""
        return self.commands([text])[0]

    def commands(self, texts: Sequence[str]) -> list[str]:
        """Send commands in one go."""
        spacing_ms = 1000 * self._spacing_s
        slashed = [f"/{text.removeprefix('/')}" for text in texts]
        deadline_s = _SLACK_S + len(texts) * (self._spacing_s + 0.1)
        args = {"texts": slashed, "spacing_ms": spacing_ms, "wait_ms": 1000 * _REPLY_S}
        replies = self.ask("say", args, deadline_s=deadline_s).ok["messages"]
        for text, reply in zip(slashed, replies, strict=False):
            if reply["failed"]:
                raise BridgeError("command", f"'{text}': {reply['text']}")
        return [reply["text"] for reply in replies[: len(texts)]] + [""] * (len(texts) - len(replies))

    def full_states(self, states: Sequence[str]) -> list[str]:
        """Each state as the game writes it, keys left out at their default. BridgeError "unknown-block" otherwise."""
        full: list[str] = self.ask("states", {"texts": list(states)}).ok["texts"]
        return full

    def read(self, box: Box) -> Cells:
        """Read the cells of a box, as the bot was sent them."""
        low, high = check_box(box)
        size = [b - a + 1 for a, b in zip(low, high, strict=True)]
        args = {"origin": low, "size": size, "wait_ms": 1000 * _CHUNK_WAIT_S}
        return from_bytes(self.ask("read", args, deadline_s=_READ_S).data)

    def leave(self) -> None:
        """Take the bot off the server."""
        self.ask("leave")

    def ask(
        self, verb: str, args: Mapping[str, Any] | None = None, data: bytes = b"", *, deadline_s: float = _SLACK_S
    ) -> BridgeAnswer:
        """Query the bridge about this bot; the whole answer must arrive within `deadline_s` seconds."""
        return self._bridge.ask(f"bot.{verb}", {**(args or {}), "name": self.name}, data=data, deadline_s=deadline_s)


class JsServer(Player, Closing):
    """Our own server with a bot on it, both in one child process; a context manager. It listens to this machine only.
    Port 0 takes any free one; the attribute then holds it. `spawn` is by default on the middle of the cells, or where
    the saved world says. `seed` only answers the command /seed."""

    def __init__(
        self,
        cells: Cells | None = None,
        version: str = VERSION,
        *,
        world: Path | None = None,
        port: int = 0,
        spawn: tuple[float, float, float] | None = None,
        seed: int = 0,
        packages: Path | None = None,
    ) -> None:
        """Start the server and join it; see the class."""
        if cells is not None and world is not None:
            raise UsageError("a server is filled with cells or with a saved world, not with both")
        self._copy: TemporaryDirectory[str] | None = None
        self.name, self.version, self._spacing_s = "walker", version, 0.0
        self._bridge = Bridge.start(packages)
        try:
            data = b"" if cells is None else to_bytes(cells)
            args = {"version": version, "spawn": spawn, "seed": str(seed), "world": self._copied(world), "port": port}
            opened = self._bridge.ask("server.open", args, data=data, deadline_s=_OPEN_S).ok
            self.port: int = opened["port"]
            self._view: int = opened["view"]
            self.join(self.name)
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Of the process that the server and its bots live in."""
        return self._bridge.pid

    def join(self, name: str) -> Player:
        """Another bot on the same server; or, by `self.name`, this one again after it was kicked."""
        return join(self._bridge, name, port=self.port, version=self.version, view=self._view)

    def close(self) -> None:
        """End the server, its bots and the process they are in."""
        self._bridge.close()
        if self._copy is not None:
            self._copy.cleanup()

    def _copied(self, world: Path | None) -> str | None:
        """A copy of the saved world, without its players: the server writes into the folder that it serves."""
        if world is None:
            return None
        if not world.is_dir():
            raise DataError(f"{world}: no such folder")
        self._copy = TemporaryDirectory(prefix="worldgauge-", ignore_cleanup_errors=True)
        try:
            shutil.copy(world / "level.dat", self._copy.name)
            shutil.copytree(world / "region", Path(self._copy.name, "region"))
        except (OSError, shutil.Error) as error:
            raise DataError(f"{world}: no saved world that can be copied ({error})") from error
        return self._copy.name


def join(bridge: Bridge, name: str, **where: Any) -> Player:
    """Join a server with a bot. `where`: host (default: this machine), port, version, view distance in chunks."""
    joined = bridge.ask("bot.join", {"name": name, **where}, deadline_s=_JOIN_S).ok
    return Player(bridge, name, joined["version"])


def _row(answer: BridgeAnswer) -> FloatArray:
    return np.frombuffer(answer.data, "<f8").reshape(len(COLUMNS)).astype(np.float64)


_LATE_TICK_S = 0.2
_ACTION_BYTES = 72


class Online(Offline):
    """The body of a player in given cells of a dimension (None: the bot's own); `close` leaves the server running."""

    def __init__(self, player: Player, cells: Cells, *, dimension: str | None = None) -> None:
        self.cells = cells
        self._player, self._dimension = player, dimension
        self.state = self._states(player.state()[None])[0]

    def close(self) -> None:
        """Nothing: the server ends with its own `close`."""

    def _ask(self, verb: str, args: dict[str, Any], data: bytes = b"", deadline_s: float = 60.0) -> Any:
        if verb == "place":
            args = {**args, "dimension": self._dimension}
        ticks = args.get("ticks", len(data) // _ACTION_BYTES)
        return self._player.ask(verb, args, data, deadline_s=deadline_s + ticks * _LATE_TICK_S)


PORT = 25565
SPACING_S = 0.1
"""Between two commands: the game's server kicks who sends many at once."""
SERVER_VERSIONS = ("1.16.5", "1.20.4")

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
    The bot must be an operator, which is tried first; it is in creative mode from then on."""

    def __init__(
        self,
        host: str,
        port: int = PORT,
        *,
        name: str = "walker",
        spacing_s: float = SPACING_S,
        packages: Path | None = None,
    ) -> None:
        """Join a running server with a bot."""
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
    """Return the one of VERSIONS that a server's version counts as."""
    name = _SAME.get(version, version)
    if name not in SERVER_VERSIONS:
        raise WorldError(f"it runs {version}, whose blocks are not known here; run {' or '.join(SERVER_VERSIONS)}")
    return name


def try_commands(player: Player) -> None:
    """Try each of the commands that a bot needs, without effect."""
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
    """Parse "host" or "host:port"."""
    host, colon, port = text.partition(":")
    if not host or host.isdigit() or (colon and not (port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16)):
        raise UsageError(f"'{text}' is no server: write host:port, such as localhost:{PORT}")
    return host, int(port) if colon else PORT
