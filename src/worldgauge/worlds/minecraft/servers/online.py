"""A bot on a server with the interface of `Offline`: our frame, the same questions, the same rows, in real time."""

from __future__ import annotations

from typing import Any

from worldgauge.worlds.minecraft.cells.cells import Cells
from worldgauge.worlds.minecraft.servers.offline import Offline
from worldgauge.worlds.minecraft.servers.server import Player

_LATE_TICK_S = 0.2
_ACTION_BYTES = 72


class Online(Offline):
    """The body of `player` in `cells`; `close` leaves it to whoever has the server.

    dimension: where the cells are, such as "minecraft:the_nether"; None for where the body is.
    """

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
