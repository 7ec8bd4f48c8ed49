"""The environments side by side in gymnasium.vector: seeds of each, pictures of each."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, VectorEnv

from worldgauge.core.errors import UsageError
from worldgauge.suites.mineanybuild.generate.structures import structures

SMALL = {"width": 48, "height": 32}
ENVS: dict[str, tuple[str, dict[str, Any]]] = {
    "voxel": ("worldgauge.worlds.voxel.env:worldgauge/Voxel-v0", SMALL),
    "home": ("worldgauge.worlds.indoor.env:worldgauge/Home-v0", SMALL),
    "build": ("worldgauge.worlds.blocks.env:worldgauge/Build-v0", {}),
    "scan": ("worldgauge.worlds.scan.env:worldgauge/Scan-v0", {"scene": "example/room", **SMALL}),
    "table": ("worldgauge.worlds.tabletop.env:worldgauge/Tabletop-v0", {"task": "push_buttons", "size_px": 32}),
}


@pytest.fixture(params=ENVS)
def envs(request: pytest.FixtureRequest) -> Any:
    name, settings = ENVS[request.param]
    if request.param == "build":
        settings = {"target": next(structures(seed=0)).blueprint}
    made = gymnasium.make_vec(name, num_envs=2, vectorization_mode="sync", render_mode="rgb_array", **settings)
    yield made
    made.close()


def flat(observation: Any) -> list[np.ndarray]:
    values = [observation[name] for name in sorted(observation)] if isinstance(observation, dict) else [observation]
    return [np.asarray(value) for value in values]  # an instruction is a tuple of texts


def test_each_has_its_own_seed_and_the_same_seed_gives_the_same(envs: Any) -> None:
    first, _ = envs.reset(seed=[3, 4])
    envs.action_space.seed(1)
    action = envs.action_space.sample()
    after = envs.step(action)
    again, _ = envs.reset(seed=[3, 4])
    for one, other in zip(flat(first), flat(again), strict=True):
        assert np.array_equal(one, other)
    for one, other in zip(flat(after[0]), flat(envs.step(action)[0]), strict=True):
        assert np.array_equal(one, other)
    swapped, _ = envs.reset(seed=[4, 3])
    for one, other in zip(flat(first), flat(swapped), strict=True):
        assert np.array_equal(one, other[::-1])


def test_each_is_drawn(envs: Any) -> None:
    envs.reset(seed=5)
    envs.step(np.array([7, 8]) if "cursor" in str(envs.observation_space) else envs.action_space.sample())
    pictures = envs.render()
    assert len(pictures) == 2
    for picture in pictures:
        assert picture.dtype == np.uint8
        assert picture.ndim == 3
        assert picture.std() > 0


@pytest.mark.parametrize("name", ["voxel", "home", "build"])
def test_processes_of_their_own_see_the_same(name: str) -> None:
    env_id, settings = ENVS[name]
    if name == "build":
        settings = {"target": next(structures(seed=0)).blueprint}
    told = []
    for mode in ("sync", "async"):
        envs = gymnasium.make_vec(env_id, num_envs=2, vectorization_mode=mode, render_mode="rgb_array", **settings)
        if mode == "async":
            assert isinstance(envs, AsyncVectorEnv)
        envs.action_space.seed(2)
        seen = [envs.reset(seed=[3, 4])[0]]
        for _ in range(3):
            seen.append(envs.step(envs.action_space.sample())[0])
        told.append([one for each in seen for one in flat(each)] + list(envs.render()))
        envs.close()
    for one, other in zip(*told, strict=True):
        assert np.array_equal(one, other)


TOGETHER: dict[str, tuple[str, dict[str, Any]]] = {
    "voxel": (ENVS["voxel"][0], SMALL),
    "voxel labels": (ENVS["voxel"][0], {"labels": True, **SMALL}),
    "home": (ENVS["home"][0], {"sensors": ("depth", "instance", "panorama"), "panorama": (32, 16), **SMALL}),
    "scan": ENVS["scan"],
}


def together(name: str, num_envs: int, **more: Any) -> Any:
    """Environments that are drawn together."""
    env_id, settings = TOGETHER[name]
    return gymnasium.make_vec(
        env_id, num_envs=num_envs, vectorization_mode="vector_entry_point", **{**settings, **more}
    )


def walk(envs: Any, steps: int = 5) -> list[Any]:
    """All that comes of some steps: observations, whether episodes ended, infos."""
    envs.action_space.seed(1)
    told = [envs.reset(seed=7)]
    for _ in range(steps):
        seen, rewards, ended, cut, infos = envs.step(envs.action_space.sample())
        assert not rewards.any()
        assert not cut.any()
        told.append((seen, infos, ended))
    return told


def assert_equal(one: Any, other: Any) -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            assert_equal(one[name], other[name])
    elif isinstance(one, tuple | list):
        for a, b in zip(one, other, strict=True):
            assert_equal(a, b)
    else:
        assert np.array_equal(one, other)


@pytest.mark.parametrize("name", TOGETHER)
def test_walkers_together_are_those_side_by_side(name: str) -> None:
    env_id, settings = TOGETHER[name]
    alone = gymnasium.make_vec(env_id, num_envs=4, vectorization_mode="sync", **settings)
    got, want = walk(together(name, 4)), walk(alone)
    assert_equal(got, want)
    if not name.startswith("voxel"):  # STOP was among the actions: the next step resets
        assert any(step[2].any() for step in got[1:-1])


def test_walkers_are_spread_over_worlds() -> None:
    envs: VectorEnv[Any, Any, Any] = together("voxel", 4, worlds=2, seed=5)
    seen, _ = envs.reset(seed=[1, 1, 1, 1])
    alone, _ = together("voxel", 1, seed=6).reset(seed=[1])
    assert np.array_equal(seen[0], seen[1])
    assert np.array_equal(seen[2], seen[3])
    assert not np.array_equal(seen[1], seen[2])
    assert np.array_equal(seen[2], alone[0])


def test_some_can_be_reset_alone() -> None:
    envs = together("home", 3)
    first, _ = envs.reset(seed=1)
    envs.step(np.array([2, 2, 2]))
    seen, _ = envs.reset(seed=[1, 2, 3], options={"reset_mask": np.array([False, True, False])})
    same = [np.array_equal(seen["rgb"][n], first["rgb"][n]) for n in range(3)]
    assert same == [False, True, False]


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"worlds": 3}, "worlds is 3: give 1 to 2"),
        ({"worlds": 0}, "worlds is 0"),
        ({"out": "jax"}, "out is 'jax'"),
        ({"out": "torch"}, "give a device"),
    ],
)
def test_what_cannot_be_is_told(settings: dict[str, Any], wrong: str) -> None:
    with pytest.raises(UsageError, match=wrong):
        together("voxel", 2, **settings)


def test_steps_that_cannot_be_taken_are_told() -> None:
    envs = together("voxel", 2)
    with pytest.raises(UsageError, match="reset"):
        envs.step(envs.action_space.sample())
    with pytest.raises(UsageError, match="3 seeds for 2"):
        envs.reset(seed=[1, 2, 3])
    envs.reset(seed=1)
    with pytest.raises(UsageError, match="not in"):
        envs.step({"keys": np.zeros((2, 7), np.int8), "camera": np.full((2, 2), 9.0, np.float32)})


def test_nobody_moves_where_one_action_is_wrong() -> None:
    envs = together("home", 2)
    envs.reset(seed=1)
    before = [env.pose for env in envs.unwrapped.envs]
    with pytest.raises(UsageError, match="of environment 1"):
        envs.step(np.array([1, 9]))
    assert_equal([env.pose for env in envs.unwrapped.envs], before)
    for mask in ([True], [1, 0]):
        with pytest.raises(UsageError, match="reset_mask"):
            envs.reset(seed=1, options={"reset_mask": mask})
    assert_equal([env.pose for env in envs.unwrapped.envs], before)


def test_the_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "clusters_and_gpus.md").read_text("utf-8")
    example = next(found for found in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "make_vec" in found)
    exec(example, {})
    assert capsys.readouterr().out == "(8, 64, 64, 3) (8, 4, 4)\n"


MADE_BY_NAME = """
import gymnasium
from worldgauge.worlds.blocks.blueprint import Blueprint
build = gymnasium.make("worldgauge.worlds.blocks.env:worldgauge/Build-v0", target=Blueprint.of([[[1]]], ["stone"]))
observation, info = build.reset(seed=0)
assert observation["grid"].tolist() == [[[-1]]], observation
assert build.step(7)[1:4] == (1.0, True, False)
home = gymnasium.make("worldgauge.worlds.indoor.env:worldgauge/Home-v0", seed=3, width=32, height=32)
assert home.reset(seed=0)[0]["rgb"].shape == (32, 32, 3)
assert home.unwrapped.home.seed == 3
voxel = gymnasium.make("worldgauge.worlds.voxel.env:worldgauge/Voxel-v0", kind="desert", seed=3, width=32, height=18)
assert voxel.reset(seed=0)[0].shape == (18, 32, 3)
assert voxel.unwrapped.world.facts.params["kind"] == "desert"
"""


def test_the_long_form_of_an_id_needs_no_import() -> None:
    done = subprocess.run([sys.executable, "-c", MADE_BY_NAME], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
