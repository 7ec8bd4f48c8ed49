"""A wide box of a running world, read through a bot that is sent only a few chunks around itself.

cells = survey(server, (700, 64, -330), 176)
cells = read_box(server, ((680, 60, -340), (900, 90, -300)))
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import WorldError
from worldgauge.worlds.blocks.blueprint import AIR_NAMES, base_name
from worldgauge.worlds.minecraft.bridge import BridgeError
from worldgauge.worlds.minecraft.cells import AIR, MOST_STATES, Cells
from worldgauge.worlds.minecraft.regions import Box, Corner, check_box
from worldgauge.worlds.minecraft.server import Player

DEPTH = 32
"""Layers kept below the lowest ground, when no heights are given."""
HEADROOM = 3
"""Layers of air kept above the highest block: a body that stands on it is inside."""

_HEIGHTS = (-64, 319)
"""Of all worlds of the versions that we know; what a world lacks of them is read as air."""
_FLY_Y = 250.0
"""Above all ground that is walked on, and below the top of every dimension."""
_CHUNK = 16
_TILE, _SMALL_TILE = 8, 4
"""Chunks along the side of what is read from one point: a bot that sees 4, or only 2, each way is sent all of them."""
_SEED = re.compile(r"Seed: \[(-?\d+)\]")


def survey(
    player: Player,
    centre: Corner,
    reach: int,
    heights: tuple[int, int] | None = None,
    *,
    dimension: str | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Cells:
    """Read the columns around a place (game coordinates) of a running world.
    Without `heights` (lowest and highest y, included), empty layers above are left out, and so are layers more than
    DEPTH below both `centre` and the lowest ground."""
    (x, y, z), (bottom, top) = centre, heights or _HEIGHTS
    box = (x - reach, bottom, z - reach), (x + reach - 1, top, z + reach - 1)
    cells = read_box(player, box, dimension=dimension, progress=progress)
    return cells if heights else _trimmed(cells, y)


def read_box(
    player: Player,
    box: Box,
    *,
    dimension: str | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Cells:
    """Read a box, both corners included and of any width, of a running world. The same world gives the same cells.
    The bot flies in creative mode and returns; if a dimension was given, to the air of that one."""
    low, high = check_box(box)
    index = np.zeros([b - a + 1 for a, b in zip(low, high, strict=True)], np.uint16)
    names, done, side = {AIR: 0}, 0, _TILE
    waiting = list(_tiles(low, high, side))
    with _back_again(player, dimension):
        while waiting:
            tile = (x, y, z), (i, j, k) = waiting.pop()
            # Where chunks meet, so that none of them is farther off than half the side.
            east, south = (_CHUNK * ((a // _CHUNK + b // _CHUNK + 1) // 2) for a, b in ((x, i), (z, k)))
            try:
                player.teleport(float(east), _FLY_Y, float(south), dimension=dimension)
                # Row by row of chunks: each is waited for, and an answer that holds too many would be late.
                for first, last in _spans(z, k, 1):
                    part = player.read(((x, y, first), (i, j, last)))
                    if len(names) + len(part.palette) > MOST_STATES:
                        raise WorldError(f"a box with more than {MOST_STATES} block states; survey a smaller one")
                    table = np.array([names.setdefault(name, len(names)) for name in part.palette], np.uint16)
                    own = (slice(a - b, a - b + n) for a, b, n in zip(part.origin, low, part.size, strict=True))
                    index[tuple(own)] = table[part.index]
            except BridgeError as error:
                if error.kind != "no-chunk" or side == _SMALL_TILE:
                    raise
                side = _SMALL_TILE
                waiting = [part for one in (*waiting, tile) for part in _tiles(*one, side)]
                continue
            done += (i - x + 1) * (k - z + 1)
            progress(done, index.shape[0] * index.shape[2])
    return _sorted(low, index, names)


def seed_of(player: Player) -> int | None:
    """The seed of the world, as its server tells the bot; None when it does not."""
    try:
        reply = _SEED.fullmatch(player.command("seed"))
    except BridgeError as error:
        if error.kind != "command":
            raise
        return None
    return int(reply[1]) if reply else None


def _tiles(low: Corner, high: Corner, side: int) -> Iterator[Box]:
    """Parts of a box that are read from one point each, up to `side` chunks wide."""
    for x, i in _spans(low[0], high[0], side):
        for z, k in _spans(low[2], high[2], side):
            yield (x, low[1], z), (i, high[1], k)


def _spans(low: int, high: int, chunks: int) -> Iterator[tuple[int, int]]:
    """From low to high in spans that end where every so many chunks end."""
    while low <= high:
        end = min((low // _CHUNK + chunks) * _CHUNK - 1, high)
        yield low, end
        low = end + 1


@contextmanager
def _back_again(player: Player, dimension: str | None) -> Iterator[None]:
    """The bot is where it was once this ends, as far as it still can."""
    x, y, z, yaw, pitch = player.state()[[0, 1, 2, 6, 7]].tolist()
    try:
        yield
    except WorldError:
        if dimension is None:
            with suppress(WorldError):
                player.teleport(x, y, z, yaw, pitch)
        raise
    if dimension is None:
        player.teleport(x, y, z, yaw, pitch)


def _trimmed(cells: Cells, y: int) -> Cells:
    """The layers worth keeping, with the states that they hold."""
    low, index = cells.origin, cells.index
    solid = np.array([base_name(name) not in AIR_NAMES for name in cells.palette])
    tops = np.full((index.shape[0], index.shape[2]), -1)
    filled = np.zeros(index.shape[1], np.bool_)
    for level in range(index.shape[1]):
        layer = solid[index[:, level]]
        tops[layer] = level
        filled[level] = layer.any()
    if not filled.any():
        raise WorldError(f"there is no block within {index.shape[0] // 2} of the centre: is this the world you mean?")
    ground = min(int(tops[tops >= 0].min()), max(y - low[1], 0))
    first = max(int(filled.argmax()), ground - DEPTH)
    kept = index[:, first : int(tops.max()) + 1 + HEADROOM].copy()
    return _sorted((low[0], low[1] + first, low[2]), kept, {name: at for at, name in enumerate(cells.palette)})


def _sorted(origin: Corner, index: NDArray[np.uint16], names: dict[str, int]) -> Cells:
    """Cells with the states that occur, in the order of their names; in place and plane by plane, to save memory."""
    used = np.zeros(len(names), np.bool_)
    for plane in index:
        used[plane] = True
    palette = (AIR, *sorted(name for name, number in names.items() if used[number] and name != AIR))
    table = np.zeros(len(names), np.uint16)
    for number, name in enumerate(palette):
        table[names[name]] = number
    for plane in index:
        plane[:] = table[plane]
    return Cells(origin, palette, index)
