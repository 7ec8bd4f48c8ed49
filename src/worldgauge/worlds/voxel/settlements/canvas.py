"""Where a world is drawn: cells with their objects, and frames that let a building be drawn facing any way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from worldgauge.worlds.voxel.blocks import AIR, FACINGS, KINDS, STATES, block
from worldgauge.worlds.voxel.world import Drawn

SIDES = ("right", "back", "left", "front")
"""Directions of a frame's own axes +u, +v, -u, -v, in the order of blocks.FACINGS."""

_WOOD = np.array([KINDS[state.kind].name.endswith("_log") for state in STATES])
_LEAVES = np.array([KINDS[state.kind].name.endswith("_leaves") for state in STATES])
_DIRECTED = {kind.name for kind in KINDS if kind.shape == "stairs"}


@dataclass
class Canvas:
    """The cells of a world in the making; objects are numbered as they are begun."""

    states: NDArray[np.uint8]
    instances: NDArray[np.uint16]
    drawn: list[Drawn] = field(default_factory=list)
    """What the objects are, in the order of their numbers."""

    @classmethod
    def blank(cls, size: tuple[int, int, int]) -> Canvas:
        """Air only."""
        return cls(np.zeros(size, np.uint8), np.zeros(size, np.uint16))

    def begin(self, kind: str = "", ground: int = 0) -> int:
        """Start a new object.

        Args:
            kind: Name of its kind.
            ground: z of the ground cell it stands on; see `world.Drawn`.

        Returns:
            Its number.
        """
        self.drawn.append(Drawn(kind, ground))
        return len(self.drawn)

    def renumber(self) -> None:
        """Make the numbers 1, 2, ... without gaps, since an object may have been built over."""
        flat = self.instances.reshape(-1)
        # Few cells belong to an object, so the rest is looked at once.
        owned = np.flatnonzero(flat)
        of = flat[owned] * (self.states.reshape(-1)[owned] != AIR)
        used = np.bincount(of, minlength=len(self.drawn) + 1) > 0
        used[0] = False
        flat[owned] = (np.cumsum(used) * used).astype(np.uint16)[of]
        self.drawn = [one for one, kept in zip(self.drawn, used[1:], strict=True) if kept]

    def put(self, x: int, y: int, z: int, name: str, instance: int = 0) -> None:
        """Set one cell.

        Args:
            x: Cell.
            y: Cell.
            z: Cell.
            name: Block.
            instance: Object number; 0 for none.
        """
        self.states[x, y, z] = block(name)
        self.instances[x, y, z] = instance

    def stamp(self, x: int, y: int, z: int, shape: Stamp, instance: int) -> None:
        """Set the cells of a stamp that are air; its wood also grows through leaves.

        Args:
            x: Cell of the stamp's origin.
            y: Cell of the stamp's origin.
            z: Cell of the stamp's origin.
            shape: The stamp.
            instance: Object number.
        """
        i, j, k = shape.offsets[:, 0] + x, shape.offsets[:, 1] + y, shape.offsets[:, 2] + z
        there = self.states[i, j, k]
        free = (there == AIR) | (_WOOD[shape.states] & _LEAVES[there])
        i, j, k = i[free], j[free], k[free]
        self.states[i, j, k] = shape.states[free]
        self.instances[i, j, k] = instance


@dataclass(frozen=True)
class Stamp:
    """A small shape to be set many times.

    Attributes:
        offsets: (N, 3) int64, cells from its origin.
        states: (N,) uint8.
    """

    offsets: NDArray[np.int64]
    states: NDArray[np.uint8]

    @classmethod
    def of(cls, cells: Iterable[tuple[int, int, int, str]]) -> Stamp:
        """From (dx, dy, dz, block name); a later cell replaces an earlier one."""
        table = {(x, y, z): block(name) for x, y, z, name in cells}
        return cls(np.array(list(table), np.int64), np.array(list(table.values()), np.uint8))


@dataclass(frozen=True)
class Frame:
    """A plot seen from the street: u to the right, v away from the street, w up from the ground cell, which is w = 0.

    Attributes:
        canvas: What is drawn on.
        x: Smallest x of the plot.
        y: Smallest y of the plot.
        z: Ground cell.
        width: Cells along u.
        depth: Cells along v.
        turn: Quarter turns counter-clockwise; with 0 the street lies to the south.
        instance: Object number of what is drawn.
    """

    canvas: Canvas
    x: int
    y: int
    z: int
    width: int
    depth: int
    turn: int
    instance: int

    def cell(self, u: int, v: int) -> tuple[int, int]:
        """Convert a cell of the plot to the world.

        Args:
            u: Along the front.
            v: Away from the front.

        Returns:
            World (x, y).
        """
        last_u, last_v = self.width - 1, self.depth - 1
        dx, dy = ((u, v), (last_v - v, u), (last_u - u, last_v - v), (v, last_u - u))[self.turn]
        return self.x + dx, self.y + dy

    def put(self, u: int, v: int, w: int, name: str, side: str | None = None) -> None:
        """Set one cell.

        Args:
            u: Along the front.
            v: Away from the front.
            w: Up.
            name: Block.
            side: One of SIDES, where a stair is high.
        """
        x, y = self.cell(u, v)
        self.canvas.put(x, y, self.z + w, self._state(name, side), self.instance if name != "air" else 0)

    def box(self, u: range, v: range, w: range, name: str, side: str | None = None) -> None:
        """Fill a box.

        Args:
            u: Cells along the front.
            v: Cells away from the front.
            w: Cells up.
            name: Block.
            side: One of SIDES, where a stair is high.
        """
        if not (len(u) and len(v) and len(w)):
            return
        (xa, ya), (xb, yb) = self.cell(u[0], v[0]), self.cell(u[-1], v[-1])
        where = (
            slice(min(xa, xb), max(xa, xb) + 1),
            slice(min(ya, yb), max(ya, yb) + 1),
            slice(self.z + w[0], self.z + w[-1] + 1),
        )
        self.canvas.states[where] = block(self._state(name, side))
        self.canvas.instances[where] = self.instance if name != "air" else 0

    def get(self, u: int, v: int, w: int) -> str:
        """Return the kind of the block in a cell.

        Args:
            u: Along the front.
            v: Away from the front.
            w: Up.
        """
        x, y = self.cell(u, v)
        return KINDS[STATES[int(self.canvas.states[x, y, self.z + w])].kind].name

    def _state(self, name: str, side: str | None) -> str:
        if name not in _DIRECTED:
            return name
        return f"{name}[facing={FACINGS[(SIDES.index(side or 'back') + self.turn) % 4]}]"
