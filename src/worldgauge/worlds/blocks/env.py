"""Building as a gymnasium environment: a cursor, a box of cells and a target, `worldgauge/Build-v0`.

gymnasium knows the id once this module is imported; the long form of the id imports it by itself:

    env = gymnasium.make("worldgauge.worlds.blocks.env:worldgauge/Build-v0", target=blueprint)
"""

from __future__ import annotations

import string
from typing import Any, Literal, SupportsFloat

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from worldgauge.core.errors import UsageError
from worldgauge.worlds.blocks.blueprint import AIR, AIR_NAMES, Blueprint, Cells, base_name

ENV_ID = "worldgauge/Build-v0"
MOVES = {
    "east": (0, 0, 1),
    "west": (0, 0, -1),
    "up": (1, 0, 0),
    "down": (-1, 0, 0),
    "south": (0, 1, 0),
    "north": (0, -1, 0),
}
"""What the first actions do to the cursor [y][z][x]."""
REMOVE = len(MOVES)
"""The action that empties the cell of the cursor."""
PLACE = REMOVE + 1
"""The action that puts the first material there; the others follow in their order."""
PICTURE_PX = 512

Observation = dict[str, Any]
Goal = Literal["target", "instruction"]

_LETTERS = string.printable + "".join(chr(code) for code in range(0xA0, 0x180))


class BuildEnv(gymnasium.Env[Observation, np.int64]):
    """One block or one move of the cursor per step, in the box of the target, which starts empty.

    Action: 0 to 5 move the cursor as in MOVES, and leave it in place at the edge. REMOVE empties its cell. PLACE + k
    puts material k + 1 there and replaces the present block.
    Observation: grid (height, depth, width) int32, -1 for air; cursor (3,) int32 [y, z, x]; and target like grid, or
    with goal="instruction" the texts instruction and materials (one per line).
    Reward: gain in F1 of typed blocks, 2 M / (N + P), minus `step_cost`. M counts cells with the target's base name. N
    and P are the numbers of blocks of target and build.
    The episode terminates at an F1 of 1 and is truncated after `most_steps` (default: 4 per cell). Nothing is random.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(
        self,
        target: Blueprint,
        *,
        goal: Goal = "target",
        instruction: str = "",
        step_cost: float = 0.0,
        most_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise UsageError(f"no render mode '{render_mode}'. Known: rgb_array")
        self._sought = target.blocks
        if not self._sought:
            raise UsageError("the target has no blocks; give one that has")
        if goal not in ("target", "instruction") or (goal == "instruction" and not instruction):
            raise UsageError("goal is 'target', or 'instruction' together with the text of one")
        if not 0 <= step_cost < np.inf or (most_steps is not None and most_steps < 1):
            raise UsageError(f"step_cost {step_cost} must be 0 or more, most_steps {most_steps} 1 or more")
        self.target = target
        self.render_mode = render_mode
        self.step_cost = step_cost
        self.most_steps = 4 * target.cells.size if most_steps is None else most_steps
        self._words = {"instruction": instruction, "materials": "\n".join(target.materials)}
        self._goal = goal
        # Numbers by name, so that a cell is compared in one step: 0 for air, equal for materials that match.
        names = [base_name(name) for name in target.materials]
        kinds = {name: number for number, name in enumerate(dict.fromkeys(names), 1)} | dict.fromkeys(AIR_NAMES, 0)
        self._kind = np.array([0, *(kinds[name] for name in names)])
        self._wanted = self._kind[np.maximum(target.cells, 0)]
        self._cells: Cells | None = None
        self._cursor, self._steps, self._shared, self._blocks = (0, 0, 0), 0, 0, 0
        self._over = False
        shape, last = target.cells.shape, np.array(target.cells.shape, np.int32) - 1
        grid = spaces.Box(AIR, max(1, len(names)), shape, np.int32)
        seen: dict[str, spaces.Space[Any]] = {
            "grid": grid,
            "cursor": spaces.Box(np.zeros(3, np.int32), last, dtype=np.int32),
        }
        if goal == "target":
            seen["target"] = grid
        else:
            letters = "".join(dict.fromkeys(_LETTERS + "".join(self._words.values())))
            seen |= {key: spaces.Text(max(1, len(text)), charset=letters) for key, text in self._words.items()}
        self.observation_space = spaces.Dict(seen)
        self.action_space = spaces.Discrete(PLACE + len(names))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start with an empty box and the cursor at its pivot. The seed has no effect, and no option is allowed."""
        super().reset(seed=seed)
        if options:
            raise UsageError(f"reset takes no options, got {sorted(options)}")
        self._cells = np.full_like(self.target.cells, AIR)
        self._cursor, self._steps, self._shared, self._blocks = (0, 0, 0), 0, 0, 0
        self._over = False
        return self._observe()

    def step(self, action: np.int64 | int) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """Carry out one action; see the class."""
        if self._cells is None or self._over:
            raise UsageError("call reset() before step()")
        if not self.action_space.contains(action):
            raise UsageError(f"action {action} is not in {self.action_space}")
        before, chosen = self.f1, int(action)
        if chosen < REMOVE:
            move = tuple(MOVES.values())[chosen]
            y, z, x = (
                min(max(at + by, 0), side - 1)
                for at, by, side in zip(self._cursor, move, self._cells.shape, strict=True)
            )
            self._cursor = (y, z, x)
        else:
            self._put(self._cells, AIR if chosen == REMOVE else chosen - PLACE + 1)
        self._steps += 1
        terminated = 2 * self._shared == self._sought + self._blocks
        truncated = not terminated and self._steps >= self.most_steps
        self._over = terminated or truncated
        observation, info = self._observe()
        return observation, self.f1 - before - self.step_cost, terminated, truncated, info

    def render(self) -> NDArray[np.uint8] | None:
        """The build as (512, 512, 3) uint8 in render mode rgb_array, else None."""
        if self.render_mode != "rgb_array":
            return None
        from worldgauge.worlds.blocks.views import picture  # compiles; an agent that never looks need not wait

        return picture(self.blueprint(), size_px=PICTURE_PX)

    @property
    def f1(self) -> float:
        """F1 of typed blocks of the build so far."""
        return 2 * self._shared / (self._sought + self._blocks)

    def blueprint(self) -> Blueprint:
        """The build so far, in the box of the target."""
        if self._cells is None:
            raise UsageError("call reset() first")
        return Blueprint(self._cells.copy(), self.target.materials)

    def _put(self, cells: Cells, number: int) -> None:
        """Change the cell of the cursor, and update the counts."""
        at = self._cursor
        old, new = self._kind[max(cells[at], 0)], self._kind[max(number, 0)]
        wanted = self._wanted[at]
        self._shared += int(new == wanted != 0) - int(old == wanted != 0)
        self._blocks += int(new != 0) - int(old != 0)
        cells[at] = number

    def _observe(self) -> tuple[Observation, dict[str, Any]]:
        assert self._cells is not None
        seen: Observation = {"grid": self._cells.copy(), "cursor": np.array(self._cursor, np.int32)}
        seen |= {"target": self.target.cells.copy()} if self._goal == "target" else self._words
        info = {
            "f1": self.f1,
            "shared": self._shared,
            "blocks": self._blocks,
            "steps": self._steps,
            "materials": self.target.materials,
        }
        return seen, info


if ENV_ID not in gymnasium.registry:
    gymnasium.register(ENV_ID, entry_point="worldgauge.worlds.blocks.env:BuildEnv")
