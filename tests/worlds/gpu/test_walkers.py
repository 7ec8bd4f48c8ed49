"""Walkers that are drawn together on Warp's CPU device or on a GPU: they see what the processor's camera sees."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from support.view_batches import DEVICES

pytest.importorskip("warp")

SMALL = {"width": 48, "height": 32}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "voxel": ("worldgauge.worlds.voxel.env:worldgauge/Voxel-v0", {"worlds": 2, "labels": True}),
    "home": (
        "worldgauge.worlds.indoor.env:worldgauge/Home-v0",
        {"worlds": 2, "sensors": ("depth", "instance", "panorama"), "panorama": (32, 16)},
    ),
    "scan": ("worldgauge.worlds.scan.env:worldgauge/Scan-v0", {"sensors": ("depth",)}),
}


def seen_by(name: str, device: str | None, out: str) -> list[dict[str, Any]]:
    """What four walkers see at the start and after each of three steps."""
    env_id, settings = KINDS[name]
    envs = gymnasium.make_vec(
        env_id, num_envs=4, vectorization_mode="vector_entry_point", device=device, out=out, **SMALL, **settings
    )
    envs.action_space.seed(3)
    steps = [envs.reset(seed=2)]
    for _ in range(3):
        seen, *_, infos = envs.step(envs.action_space.sample())
        steps.append((seen, infos))
    labels = ("depth", "category", "instance")
    return [
        {**(seen if isinstance(seen, dict) else {"rgb": seen}), **{k: infos[k] for k in labels if k in infos}}
        for seen, infos in steps
    ]


@DEVICES
@pytest.mark.parametrize("out", ["numpy", "torch"])
@pytest.mark.parametrize("name", KINDS)
def test_they_see_what_the_processor_draws(name: str, out: str, device: str) -> None:
    if out == "torch":
        pytest.importorskip("torch")
    got, want = seen_by(name, device, out), seen_by(name, None, "numpy")
    for one, other in zip(got, want, strict=True):
        assert one.keys() == other.keys()
        for array in one:
            found = one[array] if out == "numpy" else one[array].cpu().numpy()
            assert isinstance(one[array], np.ndarray) == (out == "numpy")
            assert (np.isclose(found, other[array], rtol=1e-4, atol=0)).mean() >= 0.9999
            assert found.shape == other[array].shape
