"""The gymnasium environment: its contract, its controls and what it tells."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from support.toyworld import meadow
from worldgauge.core.errors import UsageError, WorldError
from worldgauge.core.geometry import yaw_pitch_from_pose
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.env import ENV_ID, KEYS, MAX_TURN, VoxelEnv

BLOCKS = {(30, y, z): "oak_planks" for y in range(20, 28) for z in (4, 5, 6)}


@pytest.fixture(scope="module")
def world():
    return Voxel.from_cells(meadow(blocks=BLOCKS))


@pytest.fixture
def env(world):
    return VoxelEnv(world=world, width=64, height=36, labels=True, render_mode="rgb_array")


def act(*keys, yaw=0.0, pitch=0.0):
    return {"keys": np.array([key in keys for key in KEYS], np.int8), "camera": np.array([yaw, pitch], np.float32)}


def test_it_keeps_gymnasiums_contract_and_its_seeds(world):
    env = gymnasium.make(ENV_ID, world=world, width=64, height=36, render_mode="rgb_array")
    check_env(env.unwrapped)
    assert env.unwrapped.metadata["render_fps"] == 20
    # Same seed same start and same pictures.
    runs = []
    for _ in range(2):
        env = VoxelEnv(world=world, width=64, height=36)
        first, info = env.reset(seed=5)
        frames = [first] + [env.step(act("forward", yaw=0.05))[0] for _ in range(10)]
        runs.append((info["position"], np.array(frames)))
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    np.testing.assert_array_equal(runs[0][1], runs[1][1])
    assert not np.array_equal(VoxelEnv(world=world).reset(seed=6)[1]["position"], runs[0][0])
    # Without labels info holds no images.
    info = VoxelEnv(world=world, width=64, height=36).reset(seed=0)[1]
    assert set(info) == {"pose", "position", "yaw", "pitch", "on_ground", "in_water"}


def test_keys_and_camera_do_what_they_say(env):
    env.reset(options={"position": (24.5, 24.5, 4.0), "yaw": np.pi / 2})
    _, reward, terminated, truncated, info = env.step(act("forward", yaw=MAX_TURN, pitch=0.05))
    assert (reward, terminated, truncated) == (0.0, False, False)
    np.testing.assert_allclose(info["position"], [24.5, 24.598, 4.0], atol=1e-6)
    assert info["yaw"] == pytest.approx(np.pi / 2 + MAX_TURN)
    assert info["pitch"] == pytest.approx(0.05)
    yaw, pitch = yaw_pitch_from_pose(info["pose"])
    assert (yaw, pitch) == (pytest.approx(info["yaw"]), pytest.approx(info["pitch"]))
    np.testing.assert_allclose(info["pose"][:3, 3] - info["position"], [0, 0, 1.6], atol=1e-9)
    # Every key does what it says.
    moves = {}
    for key in KEYS:
        env.reset(options={"position": (24.5, 24.5, 4.0), "yaw": 0.0})
        for _ in range(3):
            info = env.step(act("forward", key) if key in ("sprint", "sneak") else act(key))[4]
        moves[key] = info["position"] - [24.5, 24.5, 4.0]
    assert moves["forward"][0] > 0 > moves["back"][0]
    assert moves["left"][1] > 0 > moves["right"][1]
    assert moves["jump"][2] > 1
    assert moves["sprint"][0] > moves["forward"][0] > moves["sneak"][0] > 0


def test_labels_are_those_of_the_view_and_starts_are_on_open_ground(env, world):
    observation, info = env.reset(options={"position": (26.5, 24.5, 4.0), "yaw": 0.0})
    view = world.view(info["pose"], env.camera)
    np.testing.assert_array_equal(observation, view.rgb)
    np.testing.assert_array_equal(info["depth"], view.depth)
    assert info["depth"][18, 32] == pytest.approx(3.5, abs=1e-3)
    assert world.categories[info["category"][18, 32]] == "building"
    assert info["instance"].shape == (36, 64)
    np.testing.assert_array_equal(env.render(), observation)
    # The walker starts on open ground.
    for seed in range(30):
        x, y, z = env.reset(seed=seed)[1]["position"]
        assert world.voxels.surface(int(x), int(y)) == z - 1 == 3


def test_misuse_is_refused_in_plain_words(env, world):
    with pytest.raises(UsageError, match="reset"):
        VoxelEnv(world=world).step(act())
    env.reset(seed=0)
    with pytest.raises(UsageError, match="not in"):
        env.step(act(yaw=1.0))
    with pytest.raises(UsageError, match="start"):
        env.reset(options={"start": 3})
    with pytest.raises(UsageError, match="x, y, z"):
        env.reset(options={"position": (1, 2)})
    with pytest.raises(UsageError, match="human"):
        VoxelEnv(world=world, render_mode="human")
    flooded = meadow(blocks={(x, y, 3): "water" for x in range(48) for y in range(48)})
    with pytest.raises(WorldError, match="no open ground"):
        VoxelEnv(world=Voxel.from_cells(flooded), width=64, height=36).reset(seed=0)
