"""Many walkers in settlements as one gymnasium environment: bodies move in one compiled loop and are drawn together."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch
from worldgauge.worlds.vector_env import WalkerVectorEnv, shared_worlds
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.env import VoxelEnv
from worldgauge.worlds.voxel.eye import EYE_HEIGHT_M
from worldgauge.worlds.voxel.physics.player import COLUMNS, IN_WATER, ON_GROUND, YAW, pack, tick_all


class VoxelVectorEnv(WalkerVectorEnv):
    """N walkers with keys and a camera, `worldgauge/Voxel-v0`: each does what a `VoxelEnv` does.

    Args:
        num_envs: Number of walkers.
        kind: Kind of the settlements.
        seed: Seed of the first; the next has one more.
        worlds: Number of settlements; each holds as many walkers.
        device: As for `WalkerVectorEnv`.
        out: As for `WalkerVectorEnv`.
        **each: Further arguments of `VoxelEnv`.

    Raises:
        UsageError: As `WalkerVectorEnv`; more worlds than walkers.
    """

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
