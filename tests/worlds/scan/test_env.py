from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from worldgauge.core.errors import UnknownNameError, UsageError, WorldError
from worldgauge.worlds.scan.env import ENV_ID, ScanEnv
from worldgauge.worlds.walking.primitives import Primitive


def make(**given: object) -> ScanEnv:
    return ScanEnv("example/room", width=48, height=36, panorama=(64, 32), **given)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore")
def test_it_is_an_environment_of_gymnasium() -> None:
    check_env(make(sensors=("depth", "instance", "panorama")), skip_render_check=True)
    by_name = gymnasium.make("worldgauge.worlds.scan.env:" + ENV_ID, width=16, height=16)
    assert by_name.reset(seed=0)[0]["rgb"].shape == (16, 16, 3)


def test_the_same_seed_is_the_same_walk() -> None:
    walks = []
    for _ in range(2):
        env = make(render_mode="rgb_array")
        first, info = env.reset(seed=4)
        places = [info["position"]]
        for action in (1, 1, 2, 1, 3, 1, 1, 1):
            seen, reward, ended, cut, info = env.step(action)
            assert (reward, ended, cut) == (0.0, False, False)
            places.append(info["position"])
        assert np.array_equal(env.render(), seen["rgb"])  # type: ignore[arg-type]
        walks.append((first["rgb"], np.array(places)))
    assert np.array_equal(walks[0][0], walks[1][0])
    assert np.array_equal(walks[0][1], walks[1][1])
    assert env.step(int(Primitive.STOP))[2]


def test_a_wall_is_met_and_the_eye_is_a_metre_up() -> None:
    env = make()
    _, info = env.reset(options={"position": (2.5, 1.5, 0.0), "yaw": -np.pi / 2})
    assert info["pose"][2, 3] == pytest.approx(1.0, abs=0.01)
    collided = [env.step(1)[4]["collided"] for _ in range(10)]
    assert collided[-1]
    assert not collided[0]


def test_bad_arguments_are_one_line() -> None:
    env = make()
    with pytest.raises(UsageError, match="call reset"):
        env.step(1)
    with pytest.raises(UsageError, match="a walker has room"):
        env.reset(options={"position": (1.0, 2.4, 0.0)})
    with pytest.raises(UsageError, match="'position' and 'yaw'"):
        env.reset(options={"place": 1})
    with pytest.raises(UnknownNameError, match="depth"):
        make(sensors=("deph",))
    with pytest.raises(WorldError, match="worldgauge world add nowhere DIR"):
        ScanEnv("nowhere/x")
