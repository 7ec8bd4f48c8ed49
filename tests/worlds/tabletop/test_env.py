"""The table as a gymnasium environment: its contract, its two kinds of actions and its ends."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.worlds.tabletop.env import ENV_ID, SENSORS, TabletopEnv
from worldgauge.worlds.tabletop.simulation import Simulation, UnstableError


@pytest.mark.parametrize("options", [{}, {"bins": True}, {"sensors": SENSORS, "task": "stack_cups"}])
def test_it_keeps_gymnasiums_contract(options: dict[str, Any], recwarn: pytest.WarningsRecorder) -> None:
    made = gymnasium.make(ENV_ID, size_px=32, render_mode="rgb_array", **options)
    check_env(made.unwrapped)
    # Its actions are metres and radians on purpose.
    told = [str(one.message) for one in recwarn if "gymnasium" in one.filename]
    assert not [text for text in told if "symmetric and normalized" not in text]


MADE_BY_NAME = """
import gymnasium
env = gymnasium.make("worldgauge.worlds.tabletop.env:worldgauge/Tabletop-v0", task="slide_block", size_px=32)
observation, info = env.reset(seed=0)
assert observation["front"].shape == (32, 32, 3), observation["front"].shape
assert info["task"] == "slide_block", info
"""


def test_the_long_form_of_the_id_needs_no_import() -> None:
    done = subprocess.run([sys.executable, "-c", MADE_BY_NAME], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("bins", [False, True])
def test_an_expert_solves_it_and_its_rewards_sum_to_one(bins: bool) -> None:
    env = TabletopEnv("push_buttons", bins=bins, size_px=32)
    observation, info = env.reset(seed=3, options={"variation": 2})
    assert (info["task"], info["variation"], info["progress"]) == ("push_buttons", 2, 0.0)
    assert observation["instruction"] == env.simulation.task.instruction
    rewards, terminated = [], False
    while not terminated:
        pose = env.simulation.task.plan(env.simulation)[0]
        action = env.action_of(pose)
        assert env.action_space.contains(action)
        observation, reward, terminated, truncated, info = env.step(action)
        rewards.append(float(reward))
        assert not truncated
        np.testing.assert_allclose(observation["hand"][:3], pose[:3], atol=0.012 if bins else 0.003)
    assert sum(rewards) == pytest.approx(1.0)
    assert info["progress"] == 1.0
    assert info["steps"] == len(rewards)
    with pytest.raises(UsageError, match="reset"):
        env.step(action)


def test_seeds_choose_and_options_override() -> None:
    env = TabletopEnv(size_px=32)
    chosen = [env.reset(seed=seed) for seed in (5, 5, 6)]
    np.testing.assert_array_equal(chosen[0][0]["front"], chosen[1][0]["front"])
    assert chosen[0][1] == chosen[1][1]
    assert chosen[0][1] != chosen[2][1]
    info = env.reset(seed=5, options={"task": "stack_cups", "variation": 1})[1]
    assert (info["task"], info["variation"]) == ("stack_cups", 1)
    assert env.reset(seed=5)[1] == chosen[0][1]


def test_a_pose_that_cannot_be_costs_a_step_and_moves_nothing() -> None:
    env = TabletopEnv(size_px=32, most_steps=2)
    before, _ = env.reset(seed=1)
    action = np.array([0.69, 0.49, 1.59, 0.0, 0.0, 0.0, 1.0], np.float32)
    after, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert "reach" in info["reason"]
    np.testing.assert_array_equal(before["front"], after["front"])
    np.testing.assert_array_equal(before["hand"], after["hand"])
    assert env.step(action)[2:4] == (False, True)


def test_an_instability_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    env = TabletopEnv(size_px=32)
    before, _ = env.reset(seed=1)

    def blow_up(self: Simulation) -> None:
        raise UnstableError("it blew up")

    monkeypatch.setattr(Simulation, "_tick", blow_up)
    action = np.array([0.3, 0.1, 1.0, np.pi, 0.0, 0.0, 1.0], np.float32)
    after, reward, terminated, truncated, info = env.step(np.minimum(action, env.action_space.high))  # type: ignore[attr-defined]
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert (info["reason"], info["unstable"]) == ("it blew up", True)
    np.testing.assert_array_equal(before["front"], after["front"])


def test_sensors_are_those_of_the_table() -> None:
    env = TabletopEnv("slide_block", size_px=64, sensors=SENSORS, render_mode="rgb_array")
    seen, _ = env.reset(seed=2)
    assert list(seen) == ["front", "hand", "instruction", *SENSORS]
    assert set(np.unique(seen["instance"])) == set(range(len(env.simulation.task.things) + 1))
    assert 0.5 < np.median(seen["depth"]) < 3
    np.testing.assert_array_equal(env.render(), seen["front"])
    assert TabletopEnv(size_px=32).render_mode is None


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: TabletopEnv("fold_towel"), UnknownNameError),
        (lambda: TabletopEnv(sensors=("smell",)), UnknownNameError),
        (lambda: TabletopEnv(most_steps=0), UsageError),
        (lambda: TabletopEnv(size_px=0), UsageError),
        (lambda: TabletopEnv(size_px=5000), UsageError),
        (lambda: TabletopEnv(render_mode="human"), UsageError),
        (lambda: TabletopEnv().step(np.zeros(7, np.float32)), UsageError),
        (lambda: TabletopEnv().reset(options={"colour": "red"}), UsageError),
        (lambda: TabletopEnv().reset(options={"variation": 999}), UsageError),
        (lambda: TabletopEnv().reset(options={"task": "fold_towel"}), UnknownNameError),
    ],
)
def test_what_cannot_be_meant_is_refused(wrong: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        wrong()


def test_an_action_outside_the_space_is_refused() -> None:
    env = TabletopEnv(size_px=32)
    env.reset(seed=1)
    with pytest.raises(UsageError, match="is not in"):
        env.step(np.full(7, 9.0, np.float32))
