"""The environment over a body that the game moves; most of it with a fake game."""

import re
import subprocess
import sys
from contextlib import closing

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from support.places import DOCS
from support.toyworld import meadow
from worldgauge.core.errors import UsageError, WorldError
from worldgauge.worlds.minecraft.cells import Cells
from worldgauge.worlds.minecraft.env import ENV_ID, MinecraftEnv
from worldgauge.worlds.minecraft.install import PACKAGES_VARIABLE
from worldgauge.worlds.minecraft.names import cells_of
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.env import KEYS, VoxelEnv
from worldgauge.worlds.voxel.player import PlayerState, step

BLOCKS = {(30, y, z): "oak_planks" for y in range(20, 28) for z in (4, 5, 6)}


class Embedded:
    """A game played by the embedded physics."""

    def __init__(self, voxels):
        self.cells: Cells = cells_of(voxels)
        self.closed = False
        self._voxels = voxels
        self._state = None

    def teleport(self, position, yaw=0.0, pitch=0.0):
        self._state = PlayerState.standing(position, yaw, pitch)
        return self._state

    def step(self, actions):
        states = []
        for action in actions:
            self._state = step(self._voxels, self._state, action)
            states.append(self._state)
        return tuple(states)

    def close(self):
        self.closed = True


@pytest.fixture(scope="module")
def voxels():
    return meadow(blocks=BLOCKS)


def act(*keys, yaw=0.0, pitch=0.0):
    return {"keys": np.array([key in keys for key in KEYS], np.int8), "camera": np.array([yaw, pitch], np.float32)}


def walked(env):
    first, info = env.reset(seed=5)
    frames, infos = [first], [info]
    for action in [act("forward", yaw=0.05)] * 6 + [act("jump", "left", pitch=0.1)] * 6:
        observation, _, _, _, info = env.step(action)
        frames.append(observation)
        infos.append(info)
    return np.array(frames), infos


def same_walks(ours, voxel):
    (frames, infos), (others, other_infos) = walked(ours), walked(voxel)
    for info, other in zip(infos, other_infos, strict=True):
        assert set(info) == set(other)
        np.testing.assert_allclose(info["pose"], other["pose"], atol=1e-9)
        assert (info["on_ground"], info["in_water"]) == (other["on_ground"], other["in_water"])
    # Poses equal to rounding: a pixel on an edge may differ.
    assert np.mean(frames != others) < 0.001


def test_it_is_the_voxel_environment_over_another_body(voxels):
    world = Voxel.from_cells(voxels)
    game = Embedded(voxels)
    env = MinecraftEnv(world=world, mode=game, width=64, height=36, labels=True)
    same_walks(env, VoxelEnv(world=world, width=64, height=36, labels=True))
    env.close()
    assert not game.closed
    with pytest.raises(UsageError, match="closed"):
        env.reset()


def test_a_game_that_runs_is_looked_at_through_its_cells(voxels):
    env = MinecraftEnv(mode=Embedded(voxels), width=32, height=18)
    np.testing.assert_array_equal(env.world.voxels.states, voxels.states)
    assert env.world.voxels.kind == "minecraft"
    assert env.world.voxels.instances[30, 20, 4] > 0


def test_misuse_is_refused_in_plain_words(voxels, tmp_path, monkeypatch):
    env = MinecraftEnv(mode=Embedded(voxels), width=32, height=18)
    with pytest.raises(UsageError, match="reset"):
        env.step(act())
    env.reset(seed=0)
    with pytest.raises(UsageError, match="not in"):
        env.step(act(yaw=1.0))
    with pytest.raises(UsageError, match="start"):
        env.reset(options={"start": 3})
    monkeypatch.setenv(PACKAGES_VARIABLE, str(tmp_path))
    with pytest.raises(WorldError, match=r"Node|node"):
        MinecraftEnv(world=Voxel.from_cells(voxels))


@pytest.mark.minecraft
def test_without_a_server_it_keeps_gymnasiums_contract_and_walks_as_the_voxel_one(packages, voxels, monkeypatch):
    monkeypatch.setenv(PACKAGES_VARIABLE, str(packages))
    world = Voxel.from_cells(voxels)
    with closing(gymnasium.make(ENV_ID, world=world, width=64, height=36, render_mode="rgb_array")) as env:
        check_env(env.unwrapped)
    with closing(MinecraftEnv(world=world, width=64, height=36, labels=True)) as env:
        same_walks(env, VoxelEnv(world=world, width=64, height=36, labels=True))


@pytest.mark.parametrize("vector", [SyncVectorEnv, AsyncVectorEnv])
def test_several_side_by_side_are_those_alone(voxels, vector) -> None:
    def made():
        return gymnasium.make(ENV_ID, mode=Embedded(voxels), width=32, height=18, render_mode="rgb_array")

    alone = [made(), made()]
    envs = vector([made, made])
    try:
        seen, _ = envs.reset(seed=[3, 4])
        assert np.array_equal(
            seen, np.stack([one.reset(seed=seed)[0] for one, seed in zip(alone, (3, 4), strict=True)])
        )
        envs.action_space.seed(1)
        for _ in range(3):
            action = envs.action_space.sample()
            seen = envs.step(action)[0]
            each = [{name: action[name][k] for name in action} for k in range(2)]
            want = [one.step(own)[0] for one, own in zip(alone, each, strict=True)]
            assert np.array_equal(seen, np.stack(want))
        assert not np.array_equal(seen[0], seen[1])
    finally:
        envs.close()


@pytest.mark.minecraft
def test_environment_of_the_page_steps(packages, tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", (DOCS / "howto" / "minecraft.md").read_text("utf-8"), re.DOTALL)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("(90, 160, 3)")
