"""The gymnasium environment of homes: its contract, its sensors and its starts."""

import math

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.geometry import Panorama
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.env import ENV_ID, HomeEnv
from worldgauge.worlds.walker_env import SENSORS
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import Primitive, Stance, walked


@pytest.fixture(scope="module")
def home() -> Home:
    return Home(1)


@pytest.fixture
def env(home: Home) -> HomeEnv:
    return HomeEnv(home=home, width=48, height=40, sensors=SENSORS, panorama=(64, 36), render_mode="rgb_array")


def test_it_keeps_gymnasiums_contract_and_starts_where_rooms_can_be_reached(home: Home) -> None:
    for sensors in ((), SENSORS):
        made = gymnasium.make(
            ENV_ID, home=home, width=48, height=40, sensors=sensors, panorama=(64, 36), render_mode="rgb_array"
        )
        check_env(made.unwrapped)
    # Same seed same start and every start leads to every room.
    geodesic = Geodesic(home.floor)
    env = HomeEnv(home=home, width=16, height=16)
    starts = [env.reset(seed=seed)[1] for seed in range(20)]
    again = HomeEnv(home=home, width=16, height=16).reset(seed=3)[1]
    np.testing.assert_array_equal(again["pose"], starts[3]["pose"])
    assert len({tuple(start["position"]) for start in starts}) == 20
    for start in starts:
        assert geodesic.main[tuple(home.floor.cells_of(start["position"]))]


def test_actions_are_the_primitives_and_only_stop_ends_it(env: HomeEnv, home: Home) -> None:
    env.reset(seed=4)
    rng = np.random.default_rng(0)
    for number in rng.integers(1, 4, size=25):
        expected, collided = walked(home.floor, env.stance, Primitive(int(number)))
        _, reward, terminated, truncated, info = env.step(int(number))
        assert (reward, terminated, truncated) == (0.0, False, False)
        assert env.stance == expected
        assert info["collided"] is collided
        assert info["room"] == home.room_at(expected[:2])
        np.testing.assert_array_equal(info["pose"], expected.eye())
    before = env.stance
    assert env.step(np.int64(Primitive.STOP))[2] is True
    assert env.stance == before


def test_sensors_and_options(env: HomeEnv, home: Home) -> None:
    seen, info = env.reset(seed=2)
    assert set(seen) == {"rgb", *SENSORS}
    view = home.view(info["pose"], env.camera)
    np.testing.assert_array_equal(seen["rgb"], view.rgb)
    np.testing.assert_array_equal(seen["depth"], view.depth)
    np.testing.assert_array_equal(seen["instance"], view.instance)
    np.testing.assert_array_equal(seen["panorama"], home.view(info["pose"], Panorama(64, 36)).rgb)
    np.testing.assert_array_equal(env.render(), view.rgb)
    assert env.camera.hfov_deg == pytest.approx(90)
    assert list(HomeEnv(home=home, width=32, height=32).reset(seed=2)[0]) == ["rgb"]
    # Options put the walker anywhere it fits.
    place = Geodesic(home.floor).random_point(np.random.default_rng(8))
    info = env.reset(options={"position": place, "yaw": math.pi / 2})[1]
    assert env.stance == Stance(float(place[0]), float(place[1]), math.pi / 2)
    np.testing.assert_allclose(info["pose"][:3, 3], [*place, 1.0])


def test_misuse_is_refused_in_plain_words(env: HomeEnv, home: Home) -> None:
    with pytest.raises(UsageError, match="reset"):
        HomeEnv(home=home).step(1)
    env.reset(seed=0)
    for action in (0, 5, 1.5):
        with pytest.raises(UsageError, match="not in"):
            env.step(action)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="start"):
        env.reset(options={"start": 3})
    for position in ((1, 2, 3), (-50.0, 0.0), np.array(home.floor.origin)):
        with pytest.raises(UsageError, match="room"):
            env.reset(options={"position": position})
    with pytest.raises(UsageError, match="human"):
        HomeEnv(home=home, render_mode="human")
    with pytest.raises(UsageError, match="hfov_deg"):
        HomeEnv(home=home, hfov_deg=180)
    with pytest.raises(UnknownNameError, match="Did you mean 'depth'"):
        HomeEnv(home=home, sensors=["dept"])
