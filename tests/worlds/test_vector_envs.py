"""The environments side by side in gymnasium.vector: seeds of each, pictures of each."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from worldgauge.suites.build.generate.structures import structures

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
