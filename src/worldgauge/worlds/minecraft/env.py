"""A body in the real game as a gymnasium environment, `worldgauge/Minecraft-v0`, with the interface of the voxel one.

gymnasium knows the id once this module is imported; the long form of the id imports it by itself:

    env = gymnasium.make("worldgauge.worlds.minecraft.env:worldgauge/Minecraft-v0", kind="desert", seed=3)
"""

from __future__ import annotations

import gymnasium

from worldgauge.core.errors import UsageError
from worldgauge.worlds.minecraft.names import cells_of, voxels_of
from worldgauge.worlds.minecraft.offline import Offline
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.env import VoxelEnv
from worldgauge.worlds.voxel.player import Action, PlayerState

ENV_ID = "worldgauge/Minecraft-v0"


class MinecraftEnv(VoxelEnv):
    """`VoxelEnv` with a body that the game moves: the same actions, observations, info and options of `reset`.
    `mode` is a body that the game moves, whose cells are then used; it stays open after `close`. With it, `world` gives
    the objects of equal cells."""

    def __init__(
        self,
        kind: str = "plains",
        seed: int = 0,
        *,
        world: Voxel | None = None,
        mode: Offline | None = None,
        width: int = 640,
        height: int = 360,
        labels: bool = False,
        render_mode: str | None = None,
    ) -> None:
        if mode is not None:
            world = Voxel.from_cells(voxels_of(mode.cells, world.voxels if world is not None else None))
        super().__init__(kind, seed, world=world, width=width, height=height, labels=labels, render_mode=render_mode)
        self._own: Offline | None = Offline(cells_of(self.world.voxels)) if mode is None else None
        self._mode: Offline | None = self._own if mode is None else mode

    def _placed(self, state: PlayerState) -> PlayerState:
        return self._game.teleport(state.position, state.yaw, state.pitch)

    def _moved(self, state: PlayerState, action: Action) -> PlayerState:
        return self._game.step([action])[-1]

    def close(self) -> None:
        """End the game that was started for this environment; one that was given stays."""
        if self._own is not None:
            self._own.close()
        self._own = self._mode = None

    @property
    def _game(self) -> Offline:
        if self._mode is None:
            raise UsageError("this environment is closed: make another")
        return self._mode


if ENV_ID not in gymnasium.registry:
    gymnasium.register(ENV_ID, entry_point="worldgauge.worlds.minecraft.env:MinecraftEnv")
