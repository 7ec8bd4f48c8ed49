"""The voxel world as a gymnasium environment: a walker with keys and a camera, `worldgauge/Voxel-v0`.

gymnasium knows the id once this module is imported; the long form of the id imports it by itself:

    env = gymnasium.make("worldgauge.worlds.voxel.env:worldgauge/Voxel-v0", kind="desert", seed=3)
"""

from __future__ import annotations

from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from worldgauge.core.errors import UsageError, WorldError
from worldgauge.core.geometry import Camera, FloatArray, pose_from_yaw_pitch
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.blocks import GROUND
from worldgauge.worlds.voxel.player import (
    COLUMNS,
    IN_WATER,
    ON_GROUND,
    TICKS_PER_SECOND,
    YAW,
    Action,
    PlayerState,
    pack,
    step,
    tick_all,
)
from worldgauge.worlds.voxel.world import EYE_HEIGHT_M, VERTICAL_FOV_DEG
from worldgauge.worlds.walker_env import Sights, WalkerEnv, WalkerVectorEnv, shared_worlds

ENV_ID = "worldgauge/Voxel-v0"
LABELS = ("depth", "category", "instance")
KEYS = ("forward", "back", "left", "right", "jump", "sprint", "sneak")
MAX_TURN = 0.1
"""Radians of one tick, as in LoopNav."""

_SPAWN_REACH = 24


class VoxelEnv(WalkerEnv):
    """One tick (50 ms) per step in a settlement. There is no task: the reward is 0 and nothing terminates.

    Observation: (height, width, 3) uint8 RGB. Action: {"keys": (7,) int8 in the order of KEYS, "camera": (2,) float32
    turn to the left and up in radians, at most MAX_TURN each}. The keys move the body along its present heading, then
    the view turns. info: pose (4, 4) camera-to-world, position (3,) of the feet, yaw, pitch, on_ground, in_water; with
    labels=True also depth, category and instance (height, width).
    `reset(seed=...)` chooses the place of the walker; options={"position": (x, y, z), "yaw": ...} put it anywhere.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": TICKS_PER_SECOND}  # noqa: RUF012

    def __init__(
        self,
        kind: str = "plains",
        seed: int = 0,
        *,
        world: Voxel | None = None,
        width: int = 640,
        height: int = 360,
        labels: bool = False,
        render_mode: str | None = None,
    ) -> None:
        self.camera = Camera.from_vertical_fov(width, height, VERTICAL_FOV_DEG)
        seen: Sights = {name: (self.camera, name) for name in LABELS} if labels else {}
        super().__init__(
            world if world is not None else Voxel(kind, seed), {"rgb": (self.camera, "rgb")}, seen, render_mode
        )
        self._state: PlayerState | None = None
        self.observation_space = spaces.Box(0, 255, (height, width, 3), np.uint8)
        self.action_space = spaces.Dict(
            {"keys": spaces.MultiBinary(len(KEYS)), "camera": spaces.Box(-MAX_TURN, MAX_TURN, (2,), np.float32)}
        )

    def _spot(self, position: Any) -> tuple[float, ...]:
        spot = self._spawn() if position is None else tuple(float(v) for v in position)
        if len(spot) != 3:
            raise UsageError(f"option 'position' needs x, y, z in metres, got {position}")
        return spot

    def _stand(self, spot: Any, yaw: float) -> None:
        x, y, z = spot
        self._state = self._placed(PlayerState.standing((x, y, z), yaw))

    def _act(self, action: Any) -> bool:
        keys = dict(zip(KEYS, (bool(key) for key in action["keys"]), strict=True))
        yaw, pitch = (float(angle) for angle in action["camera"])
        self._state = self._moved(self.state, Action(**keys)._replace(yaw=yaw, pitch=pitch))
        return False

    def _placed(self, state: PlayerState) -> PlayerState:
        """What becomes of a body that is put somewhere."""
        return state

    def _moved(self, state: PlayerState, action: Action) -> PlayerState:
        """The body one tick later."""
        return step(self.world.voxels, state, action)

    @property
    def pose(self) -> FloatArray:
        """Camera-to-world pose (4, 4) of the eye."""
        x, y, z = self.state.position
        return pose_from_yaw_pitch([x, y, z + EYE_HEIGHT_M], self.state.yaw, self.state.pitch)

    @property
    def state(self) -> PlayerState:
        """The body, after the first reset."""
        if self._state is None:
            raise UsageError("call reset() first")
        return self._state

    @property
    def told(self) -> dict[str, Any]:
        """The info without pictures."""
        state = self.state
        return {
            "pose": self.pose,
            "position": np.array(state.position),
            "yaw": state.yaw,
            "pitch": state.pitch,
            "on_ground": state.on_ground,
            "in_water": state.in_water,
        }

    def _spawn(self) -> tuple[float, float, float]:
        voxels = self.world.voxels
        for _ in range(1000):
            dx, dy = self.np_random.integers(-_SPAWN_REACH, _SPAWN_REACH + 1, 2)
            x, y = voxels.centre[0] + int(dx), voxels.centre[1] + int(dy)
            if voxels.inside(x, y):
                surface = voxels.surface(x, y)
                if GROUND[voxels.states[x, y, surface]]:
                    return x + 0.5, y + 0.5, surface + 1.0
        raise WorldError(f"no open ground within {_SPAWN_REACH} m of the centre {voxels.centre}; give a position")


if ENV_ID not in gymnasium.registry:
    gymnasium.register(
        ENV_ID, entry_point=f"{__name__}:VoxelEnv", vector_entry_point="worldgauge.worlds.voxel.env:VoxelVectorEnv"
    )


# Many walkers in settlements as one gymnasium environment: bodies move in one compiled loop and are drawn together.


class VoxelVectorEnv(WalkerVectorEnv):
    """N walkers with keys and a camera, `worldgauge/Voxel-v0`, in `worlds` settlements with seeds from `seed` on."""

    def __init__(
        self,
        num_envs: int,
        kind: str = "plains",
        seed: int = 0,
        *,
        worlds: int = 1,
        device: str | None = None,
        out: Literal["numpy", "torch"] = "numpy",
        **each: Any,
    ) -> None:
        self._walkers = [
            VoxelEnv(world=world, **each) for world in shared_worlds(lambda n: Voxel(kind, seed + n), num_envs, worlds)
        ]
        super().__init__(self._walkers, device=device, out=out)
        self._bodies = np.full((num_envs, COLUMNS), np.nan)
        self._pitch = np.zeros(num_envs)

    def _begin(self, n: int, seed: int | None, options: dict[str, Any] | None) -> None:
        walker = self._walkers[n]
        walker.begin(seed=seed, options=options)
        self._bodies[n], self._pitch[n] = pack(walker.state), walker.state.pitch

    def _check(self, actions: Any) -> None:
        if np.isnan(self._bodies).any():
            raise UsageError("call reset() before step()")
        if not self.action_space.contains(actions):
            raise UsageError(f"actions {actions} are not in {self.action_space}")

    def _advance(self, actions: Any, moving: NDArray[np.bool_]) -> None:
        keys, turns = actions["keys"].astype(bool), actions["camera"].astype(np.float64)
        for start, end in self._rows_by_world():
            some = slice(start, end)
            tick_all(self.envs[start].world.voxels, self._bodies[some], keys[some], turns[some], self._pitch[some])

    def _told(self) -> dict[str, Any]:
        return {
            "pose": self._poses(0, self.num_envs),
            "position": self._bodies[:, :3].copy(),
            "yaw": self._bodies[:, YAW].copy(),
            "pitch": self._pitch.copy(),
            "on_ground": self._bodies[:, ON_GROUND] > 0,
            "in_water": self._bodies[:, IN_WATER] > 0,
        }

    def _poses(self, start: int, end: int) -> FloatArray:
        some = slice(start, end)
        eyes = self._bodies[some, :3] + np.array([0.0, 0.0, EYE_HEIGHT_M])
        return pose_from_yaw_pitch(eyes, self._bodies[some, YAW], self._pitch[some])
