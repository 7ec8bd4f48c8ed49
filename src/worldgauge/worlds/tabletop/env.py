"""The table as a gymnasium environment: an arm that is told where to move its hand, `worldgauge/Tabletop-v0`.

gymnasium knows the id once this module is imported; the long form of the id imports it by itself:

    env = gymnasium.make("worldgauge.worlds.tabletop.env:worldgauge/Tabletop-v0", task="push_buttons")
"""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from worldgauge.core.actions import HAND_POSES, Actions
from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.tabletop import MOST_POSES, Tabletop
from worldgauge.worlds.tabletop.contract import SEEDS, table_tasks
from worldgauge.worlds.tabletop.engine import LARGEST_PX
from worldgauge.worlds.tabletop.pose_plans import (
    POSITION_BINS,
    ROTATION_BINS,
    WORKSPACE_HIGH_M,
    WORKSPACE_LOW_M,
    HandPose,
    as_actions,
    bins_from_poses,
    from_actions,
    poses_from_bins,
)
from worldgauge.worlds.tabletop.simulation import FAR_M, Simulation, UnstableError, front_camera, front_pose

ENV_ID = "worldgauge/Tabletop-v0"
SENSORS = ("depth", "instance")
"""What an observation can hold besides front, hand and instruction."""

Observation = dict[str, Any]

_LONGEST = 256
_LETTERS = string.ascii_letters + string.digits + string.punctuation + " "


class TabletopEnv(gymnasium.Env[Observation, NDArray[Any]]):
    """One pose of the hand per step, in a variation of a task.

    Action: (7,) x, y, z in metres, roll, pitch, yaw in radians about fixed axes, gripper (0.5 or more is open). With
    `bins` (7,) whole numbers: 100 bins per coordinate, 120 per angle, and the gripper 0 or 1.
    Observation: front (size, size, 3) uint8, hand (8,) float32 as a `HandPose`, instruction, and, if in `sensors`,
    depth (size, size) float32 metres and instance (size, size) uint16, numbered as the task's things.
    Reward: gain of progress. The episode terminates when solved. It is truncated after `most_steps`, and when the
    physics becomes unstable. A pose that cannot be carried out moves nothing and costs its step. info: progress,
    steps, reason (what went wrong, else ""), unstable, task, variation, seed (of the world).
    `reset(seed=...)` draws variation and places; options={"task": ..., "variation": ...} choose them.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 1}  # noqa: RUF012

    def __init__(
        self,
        task: str = "push_buttons",
        *,
        bins: bool = False,
        size_px: int = 224,
        sensors: Sequence[str] = (),
        most_steps: int = MOST_POSES,
        meshes: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise UsageError(f"no render mode '{render_mode}'. Known: rgb_array")
        for sensor in sensors:
            if sensor not in SENSORS:
                raise UnknownNameError("sensor", sensor, SENSORS)
        if most_steps < 1:
            raise UsageError(f"most_steps is 1 or more, got {most_steps}")
        if not 1 <= size_px <= LARGEST_PX:
            raise UsageError(f"a picture is 1 to {LARGEST_PX} px wide and high, got {size_px}")
        table_tasks.entry(task)
        self.task = task
        self.most_steps = most_steps
        self.render_mode = render_mode
        self.camera = front_camera(size_px)
        self._bins = bins
        self._meshes = meshes
        self._sensors = tuple(sensors)
        self._simulation: Simulation | None = None
        self._chosen: dict[str, Any] = {}
        self._steps, self._reason, self._unstable, self._over = 0, "", False, False
        self.action_space = (
            spaces.MultiDiscrete([POSITION_BINS] * 3 + [ROTATION_BINS] * 3 + [2])
            if bins
            else spaces.Box(
                np.array([*WORKSPACE_LOW_M, *[-math.pi] * 3, 0], np.float32),
                np.array([*WORKSPACE_HIGH_M, *[math.pi] * 3, 1], np.float32),
            )
        )
        every: dict[str, spaces.Space[Any]] = {
            "front": spaces.Box(0, 255, (size_px, size_px, 3), np.uint8),
            # The hand may be pushed out of the workspace.
            "hand": spaces.Box(
                np.array([-2] * 3 + [-1] * 4 + [0], np.float32), np.array([2] * 3 + [1] * 5, np.float32)
            ),
            "instruction": spaces.Text(_LONGEST, charset=_LETTERS),
            "depth": spaces.Box(0.0, FAR_M, (size_px, size_px), np.float32),
            "instance": spaces.Box(0, np.iinfo(np.uint16).max, (size_px, size_px), np.uint16),
        }
        self._names = ("front", "hand", "instruction", *sensors)
        self.observation_space = spaces.Dict({name: every[name] for name in self._names})

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode on a new table. `options` may hold 'task' and 'variation'."""
        super().reset(seed=seed)
        options = options or {}
        if unknown := set(options) - {"task", "variation"}:
            raise UsageError(f"reset takes the options 'task' and 'variation', not {sorted(unknown)}")
        task = options.get("task", self.task)
        drawn = int(self.np_random.integers(table_tasks.entry(task).facts["variations"]))
        own = SEEDS["train"]
        places = int(self.np_random.integers(own.start, own.stop))
        self._chosen = {"task": task, "variation": options.get("variation", drawn), "seed": places}
        self._simulation = Simulation(Tabletop(**self._chosen, meshes=self._meshes))
        self._steps, self._reason, self._unstable, self._over = 0, "", False, False
        return self._observe()

    def step(self, action: NDArray[Any]) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """Carry out one pose."""
        simulation = self.simulation
        if self._over:
            raise UsageError("call reset() before step()")
        if not self.action_space.contains(action):
            raise UsageError(f"action {action} is not in {self.action_space}")
        progress = simulation.progress
        try:
            self._reason = simulation.move(self._pose(action)).reason or ""
        except UnstableError as error:
            self._reason, self._unstable = str(error), True
        self._steps += 1
        terminated = simulation.solved
        truncated = self._unstable or (not terminated and self._steps >= self.most_steps)
        self._over = terminated or truncated
        observation, info = self._observe()
        return observation, simulation.progress - progress, terminated, truncated, info

    def render(self) -> NDArray[np.uint8] | None:
        """The front view as (size, size, 3) uint8 in render mode rgb_array, else None."""
        return self.simulation.front(self.camera.width) if self.render_mode == "rgb_array" else None

    def action_of(self, pose: HandPose) -> NDArray[Any]:
        """The action that asks for a pose, such as one of an expert's plan."""
        action: NDArray[Any] = bins_from_poses([pose])[0] if self._bins else as_actions([pose]).values[0]
        return action

    @property
    def simulation(self) -> Simulation:
        """The table as it is."""
        if self._simulation is None:
            raise UsageError("call reset() first")
        return self._simulation

    def _pose(self, action: NDArray[Any]) -> FloatArray:
        rows = action[None]
        poses = poses_from_bins(rows) if self._bins else from_actions(Actions(HAND_POSES, rows.astype(np.float32)))
        pose: FloatArray = poses[0]
        return pose

    def _observe(self) -> tuple[Observation, dict[str, Any]]:
        simulation = self.simulation
        hand, instruction = np.array(simulation.hand, np.float32), simulation.task.instruction
        seen: Observation = {"hand": hand, "instruction": instruction}
        if self._sensors:
            view = simulation.view(front_pose(), self.camera)
            seen |= {"front": view.rgb, "depth": np.minimum(view.depth, np.float32(FAR_M)), "instance": view.instance}
        else:
            seen["front"] = simulation.front(self.camera.width)
        info = {"progress": simulation.progress, "steps": self._steps, "reason": self._reason}
        info |= {"unstable": self._unstable, **self._chosen}
        return {name: seen[name] for name in self._names}, info


if ENV_ID not in gymnasium.registry:
    gymnasium.register(ENV_ID, entry_point="worldgauge.worlds.tabletop.env:TabletopEnv")
