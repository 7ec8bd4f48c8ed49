"""The game's own physics and planner without a server: a body in given cells, more than 100 times faster than the game.

Positions, headings and goals are in our frame (see `cells`); `BotWalk.rows` holds the values of the bridge, bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.minecraft.bridge import Bridge, Closing
from worldgauge.worlds.minecraft.cells import Cells, to_bytes, yaw_bot, yaw_ours
from worldgauge.worlds.voxel.player import Action, PlayerState

VERSION = "1.16.5"
COLUMNS = (
    *("x", "y", "z", "vx", "vy", "vz", "yaw", "pitch", "onGround", "inWater", "jumpTicks"),
    *("forward", "jump", "turn", "leg"),
)
"""Of a row: the body after a tick in the game's frame, what was decided then, and the number of the goal."""

TURN_LIMIT = 0.1
"""Radians of one tick, as in LoopNav; the game's clients turn at most 0.15."""
MOST_TICKS = 6000

_OPEN_S = 60.0
_PLAN_S = 120.0
_TICKS_PER_SECOND = 400
"""A machine that is slower than this has hung."""


class BotGoal(NamedTuple):
    """A cell to stand in, (x, y, z), or a column to come near to: (x, y) with range_sq in square metres. Our frame."""

    x: int
    y: int
    z: int | None = None
    range_sq: int | None = None


@dataclass(frozen=True)
class BotWalk:
    """What a walk did, tick by tick."""

    status: str  # "arrived", "no-path", "stuck" or "walking" (ran out of ticks)
    leg: int
    rows: FloatArray  # (T, 15), with the columns COLUMNS
    states: tuple[PlayerState, ...]  # T bodies in our frame


class Offline(Closing):
    """A body in given cells; a context manager, for one thread."""

    def __init__(self, cells: Cells, *, version: str = VERSION, packages: Path | None = None) -> None:
        self.cells = cells
        self._bridge = Bridge.start(packages)
        try:
            said = self._ask("open", {"version": version}, to_bytes(cells), _OPEN_S).ok
            if tuple(said["columns"]) != COLUMNS or tuple(said["keys"]) != Action._fields[:-2]:
                raise WorldError(f"the bridge answers with columns {said['columns']}, not with {COLUMNS}")
            x, y, z = cells.size
            self.state = self.teleport((x / 2, z / 2, float(y)), on_ground=False)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the child process."""
        self._bridge.close()

    def teleport(
        self, position: tuple[float, float, float], yaw: float = 0.0, pitch: float = 0.0, *, on_ground: bool = True
    ) -> PlayerState:
        """Put the body at rest at a place in our frame, metres: the middle of its feet; angles in radians."""
        if not np.isfinite((*position, yaw, pitch)).all():
            raise WorldError(f"a body cannot be put at {position}, yaw {yaw}, pitch {pitch}: not finite")
        place = [float(v) for v in self.cells.game(position)]
        args = {"position": place, "yaw": yaw_bot(float(yaw)), "pitch": float(pitch), "onGround": on_ground}
        self.state = self._states(_rows(self._ask("place", args).data))[0]
        return self.state

    def step(self, actions: Sequence[Action]) -> tuple[PlayerState, ...]:
        """Move the body by one tick per action: keys move it, then the view turns."""
        if not actions:
            return ()
        rows = np.array(actions, "<f8")
        if not np.isfinite(rows).all():
            raise WorldError("a body cannot turn by an angle that is not finite")
        states = self._states(_rows(self._ask("step", {}, rows.tobytes(), _limit_s(len(actions))).data))
        self.state = states[-1]
        return states

    def walk(self, goals: Sequence[BotGoal], *, turn: float = TURN_LIMIT, most_ticks: int = MOST_TICKS) -> BotWalk:
        """Walk to goals in turn, one action at a time; `turn`, up to 0.15 radians, is the largest per tick."""
        args = {"goals": [self._goal(goal) for goal in goals], "turn": turn, "ticks": most_ticks}
        answer = self._ask("walk", args, deadline_s=_PLAN_S * max(len(goals), 1) + _limit_s(most_ticks))
        rows = _rows(answer.data)
        states = self._states(rows)
        self.state = states[-1] if states else self.state
        return BotWalk(answer.ok["status"], answer.ok["leg"], rows, states)

    def _ask(self, verb: str, args: dict[str, Any], data: bytes = b"", deadline_s: float = _OPEN_S) -> Any:
        return self._bridge.ask(f"offline.{verb}", args, data=data, deadline_s=deadline_s)

    def _goal(self, goal: BotGoal) -> dict[str, int]:
        (ox, oy, oz), (_, _, depth) = self.cells.origin, self.cells.size
        x, z = ox + int(goal.x), oz + depth - 1 - int(goal.y)
        if goal.range_sq is not None:
            return {"x": x, "z": z, "rangeSq": int(goal.range_sq)}
        if goal.z is None:
            raise WorldError(f"goal {goal} needs a z or a range_sq")
        return {"x": x, "y": oy + int(goal.z), "z": z}

    def _states(self, rows: FloatArray) -> tuple[PlayerState, ...]:
        return tuple(state_of_row(self.cells, row) for row in rows.tolist())


def state_of_row(cells: Cells, row: Sequence[float]) -> PlayerState:
    """Convert a row of COLUMNS to a body in our frame."""
    x, y, z, vx, vy, vz, yaw, pitch, ground, water, cooldown = row[:11]
    return PlayerState(
        cells.ours((x, y, z)), (vx, -vz, vy), yaw_ours(yaw), pitch, bool(ground), bool(water), int(cooldown)
    )


def _rows(data: bytes) -> FloatArray:
    return np.frombuffer(data, "<f8").reshape(-1, len(COLUMNS)).astype(np.float64)


def _limit_s(ticks: int) -> float:
    return 30.0 + ticks / _TICKS_PER_SECOND
