"""Cells of a Minecraft world as Python holds them, the file the bridge reads them from, and the change of frames.

The game's frame is x east, y up, z south; ours is (X, Y, Z) = (x, -z, y), and yaw_ours = yaw_bot + pi / 2.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import WorldError
from worldgauge.core.io import write_file

AIR = "minecraft:air"
MOST_CELLS = 2**27
MOST_STATES = 2**16
MOST_COORDINATE = 30_000_000
"""The game's own limit on x and z."""

_MOST_HEADER_BYTES = 2**24
_STATE = re.compile(r"[a-z0-9_.-]+:[a-z0-9_./-]+(\[[a-z0-9_]+=[a-z0-9_]+(,[a-z0-9_]+=[a-z0-9_]+)*\])?")


@dataclass(frozen=True)
class Cells:
    """A box of cells, in the game's axes: x east, y up, z south."""

    origin: tuple[int, int, int]  # game coordinates x, y, z of cell [0, 0, 0]
    palette: tuple[str, ...]  # "minecraft:name[k=v,...]" with keys sorted, AIR first, none twice
    index: NDArray[np.uint16]  # (X, Y, Z) into the palette

    def __post_init__(self) -> None:
        _check_place(self.origin, self.index.shape)
        _check_palette(self.palette)
        if self.index.dtype != np.uint16:
            raise WorldError(f"cells need a uint16 index (X, Y, Z), got {self.index.dtype}")
        if int(self.index.max()) >= len(self.palette):
            raise WorldError(f"cell value {int(self.index.max())} is beyond the palette of {len(self.palette)} states")

    @property
    def size(self) -> tuple[int, int, int]:
        """Cells along x, y, z of the game."""
        x, y, z = self.index.shape
        return x, y, z

    def ours(self, position: tuple[float, float, float]) -> tuple[float, float, float]:
        """A point of the game in the frame of the voxel world that fills this box, metres."""
        (ox, oy, oz), (x, y, z) = self.origin, position
        return x - ox, -(z - (oz + self.size[2])), y - oy

    def game(self, position: tuple[float, float, float]) -> tuple[float, float, float]:
        """The opposite of `ours`."""
        (ox, oy, oz), (x, y, z) = self.origin, position
        return x + ox, z + oy, -y + (oz + self.size[2])


def yaw_ours(yaw_bot: float) -> float:
    """Our heading, 0 along +X and counter-clockwise, of a bot's yaw; radians, not wrapped."""
    return yaw_bot + math.pi / 2


def yaw_bot(yaw: float) -> float:
    """The opposite of `yaw_ours`."""
    return yaw - math.pi / 2


def state_text(name: str, states: dict[str, str] | None = None) -> str:
    """Write a block state as a palette does: with namespace, keys sorted."""
    full = name if ":" in name else f"minecraft:{name}"
    return full + (f"[{','.join(f'{key}={states[key]}' for key in sorted(states))}]" if states else "")


def split_state(text: str) -> tuple[str, dict[str, str]]:
    """Split a state of a palette into the name, without the game's namespace, and its values by key."""
    if not _STATE.fullmatch(text):
        raise WorldError(f"'{text[:80]}' is no block state: write minecraft:name[key=value,...]")
    name, _, rest = text.removesuffix("]").partition("[")
    return name.removeprefix("minecraft:"), dict(pair.split("=") for pair in rest.split(",") if pair)


def to_bytes(cells: Cells) -> bytes:
    """The grid file: one JSON line, then the index as little-endian uint16, x fastest, then z, then y."""
    header = {
        "format": "worldgauge-grid",
        "version": 1,
        "origin": [int(v) for v in cells.origin],
        "size": list(cells.size),
        "palette": list(cells.palette),
    }
    line = json.dumps(header, separators=(",", ":")).encode() + b"\n"
    return line + np.ascontiguousarray(cells.index.transpose(1, 2, 0)).astype("<u2", copy=False).tobytes()


def from_bytes(data: bytes) -> Cells:
    """Decode the bytes of a grid file."""
    end = data.find(b"\n", 0, _MOST_HEADER_BYTES)
    origin, size, palette = _header(data[: max(end, 0)])
    x, y, z = size
    if len(data) - end - 1 != 2 * x * y * z:
        raise WorldError(
            f"grid file holds {len(data) - end - 1} bytes of cells where {2 * x * y * z} belong: cut short?"
        )
    index = np.frombuffer(data, "<u2", x * y * z, end + 1).reshape(y, z, x).transpose(2, 0, 1)
    return Cells(origin, palette, np.ascontiguousarray(index, np.uint16))


def write(path: Path, cells: Cells) -> None:
    """Write a grid file, compressed by gzip, in one step. Same cells, same bytes."""
    write_file(path, gzip.compress(to_bytes(cells), mtime=0))


def read(path: Path) -> Cells:
    """Read a file of `write`."""
    try:
        with gzip.open(path) as file:
            header = file.readline(_MOST_HEADER_BYTES)
            _, size, _ = _header(header)
            return from_bytes(header + file.read(2 * math.prod(size) + 1))
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error
        raise WorldError(f"cannot read grid file {path}: {why}") from error


def _header(line: bytes) -> tuple[tuple[int, int, int], tuple[int, int, int], tuple[str, ...]]:
    """Origin, size and palette of the first line of a grid file; the palette is not looked at yet."""
    try:
        header: Any = json.loads(line)
        known = header["format"] == "worldgauge-grid" and header["version"] == 1
        origin, size, palette = (tuple(header[key]) for key in ("origin", "size", "palette"))
        whole = all(type(v) is int for v in (*origin, *size))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise WorldError(f"no grid file: its first line is not the header of one ({type(error).__name__})") from error
    if not (known and whole):
        raise WorldError("no grid file of version 1: write it again with this version of worldgauge")
    _check_place(origin, size)
    return origin, size, palette


def _check_place(origin: tuple[int, ...], size: tuple[int, ...]) -> None:
    if len(size) != 3 or min(size) < 1 or math.prod(size) > MOST_CELLS:
        raise WorldError(f"cells need a size (X, Y, Z) of 1 to {MOST_CELLS} cells in all, got {size}")
    if len(origin) != 3 or any(abs(v) > MOST_COORDINATE for v in origin):
        raise WorldError(f"cells need an origin x, y, z within {MOST_COORDINATE}, got {origin}")


def _check_palette(palette: tuple[str, ...]) -> None:
    if not palette or palette[0] != AIR or len(palette) > MOST_STATES:
        raise WorldError(f"a palette holds 1 to {MOST_STATES} states, {AIR} first, got {len(palette)}")
    for text in palette:
        if not isinstance(text, str) or state_text(*split_state(text)) != text:
            raise WorldError(f"state '{str(text)[:80]}' of the palette is not in the form minecraft:name[a=b,c=d]")
    if len(set(palette)) != len(palette):
        raise WorldError("a palette holds every state once")
