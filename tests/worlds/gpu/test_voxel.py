"""Views in batches against those of the CPU's kernel, on Warp's CPU device and on a GPU: surfaces, depths, colours."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import gpu as benchmark

from support.cells import litter
from support.view_batches import DEVICES, assert_alike
from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch
from worldgauge.worlds.third_person import ThirdPerson, figure_mask
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.blocks import LIQUID

warp = pytest.importorskip("warp")

CAMERA = Camera.from_vertical_fov(64, 48, 70)


@pytest.fixture(scope="module")
def world() -> Voxel:
    return Voxel.from_cells(litter(3))


def some_poses(world: Voxel, count: int = 40) -> np.ndarray:
    """Inside, outside, above and, the last one, under water."""
    rng = np.random.default_rng(0)
    far = np.array(world.voxels.shape) + 2.0
    places = rng.uniform([-2.0, -2.0, 0.2], far, (count, 3))
    wet = np.argwhere(LIQUID[world.voxels.states[:, :, 0]])[0]
    places[-1] = [wet[0] + 0.4, wet[1] + 0.6, 0.3]
    turns = rng.uniform([-3.0, -1.0], [3.0, 1.0], (count, 2))
    return np.stack([pose_from_yaw_pitch(place, *turn) for place, turn in zip(places, turns, strict=True)])


@DEVICES
@pytest.mark.parametrize("camera", [CAMERA, Panorama(64, 32)], ids=["pinhole", "panorama"])
def test_a_batch_sees_what_the_cpu_sees(world: Voxel, camera: Camera | Panorama, device: str) -> None:
    poses = some_poses(world)
    got = world.views(poses, camera, position=True, device=device)
    assert (got.rgb.dtype, got.depth.dtype, got.category.dtype) == (np.uint8, np.float32, np.uint16)
    assert_alike(got, [world.view(pose, camera, position=True) for pose in poses], instances=50)


@DEVICES
def test_the_walker_is_in_every_view(world: Voxel, device: str) -> None:
    followed = ThirdPerson.from_cells(world.voxels)
    poses = some_poses(world, 6)
    got = followed.views(poses, CAMERA, position=True, device=device)
    want = [followed.view(pose, CAMERA, position=True) for pose in poses]
    assert sum(figure_mask(view).any() for view in want) >= 3
    for name in ("rgb", "depth", "category", "instance", "position"):
        stacked = np.stack([getattr(view, name) for view in want])
        assert np.isclose(getattr(got, name), stacked, rtol=1e-4, equal_nan=True).mean() >= 0.9999
    with pytest.raises(UsageError, match="out is 'torch'; the figure"):
        followed.views(poses, CAMERA, out="torch", device=device)


@DEVICES
def test_tensors_hold_the_same_and_no_position_is_drawn_unasked(world: Voxel, device: str) -> None:
    torch = pytest.importorskip("torch")
    poses = some_poses(world, 3)
    plain = world.views(poses, CAMERA, device=device)
    tensors = world.views(poses, CAMERA, device=device, out="torch")
    assert plain.position is None
    assert tensors.position is None
    assert tensors.category.dtype == torch.uint16
    for name in ("rgb", "depth", "category", "instance"):
        assert getattr(tensors, name).device.type == device
        assert np.array_equal(getattr(tensors, name).cpu().numpy(), getattr(plain, name))


def test_too_little_memory_halves_the_batch_and_says_so(
    world: Voxel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    poses = some_poses(world, 7)
    want = world.views(poses, CAMERA, device="cpu")
    real, room = warp.empty, [2]

    def empty(shape: tuple[int, ...], **rest: Any) -> Any:
        if shape[0] > room[0]:
            raise RuntimeError("Failed to allocate")
        return real(shape, **rest)

    monkeypatch.setattr(warp, "empty", empty)
    with caplog.at_level(logging.WARNING):
        got = world.views(poses, CAMERA, device="cpu")
    assert caplog.messages == [
        "7 views at once have no room on cpu; now 3",
        "3 views at once have no room on cpu; now 1",
    ]
    assert np.array_equal(got.rgb, want.rgb)
    room[0] = 0
    with pytest.raises(UsageError, match="not one view of 64x48 has room on cpu"):
        world.views(poses, CAMERA, device="cpu")


def test_what_cannot_be_is_one_line(world: Voxel) -> None:
    poses = some_poses(world, 1)
    for device in ("cuda:99", "tpu"):
        with pytest.raises(UsageError, match=rf"^device '{device}' is not here.*Warp sees cpu[^\n]*$"):
            world.views(poses, CAMERA, device=device)
    with pytest.raises(UsageError, match="out is 'jax'; one of numpy, torch"):
        world.views(poses, CAMERA, device="cpu", out="jax")  # type: ignore[arg-type]
    for wrong in (poses[0], np.full((1, 4, 4), np.nan)):
        with pytest.raises(ShapeError, match=r"finite \(N, 4, 4\)"):
            world.views(wrong, CAMERA, device="cpu")


def test_a_cache_that_cannot_be_written_is_one_line() -> None:
    ask = "from worldgauge.worlds.gpu.batch import open_device; open_device('cpu')"
    environment = os.environ | {"WARP_CACHE_PATH": "/proc/none"}
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, env=environment)
    said = done.stderr.splitlines()[-1]
    assert "/proc/none" in said
    assert "Warp cannot keep compiled kernels there (" in said
    assert said.endswith("); set WARP_CACHE_PATH to a folder that can be written")


@pytest.mark.slow
def test_the_benchmark_measures_on_the_processor_too_and_says_that_it_did() -> None:
    pytest.importorskip("torch")
    found = benchmark.run(device="cpu", size=(32, 18), seconds=0.05, detail=0.02, walkers=(1, 3))
    assert found["device"] == "CPU"
    assert min(found["ours"], found["copied"], found["reference"]) > 0
    assert min(*found["home"].values(), *found["scan"].values()) > 0
    assert found["walkers"].keys() == found["walkers_processor"].keys() == {1, 3}
    assert min(*found["walkers"].values(), *found["walkers_processor"].values()) > 0
    assert min(found["collect_times_real_time"], found["collect_processor"]) > 0
    assert found["met"] is False
    assert "not here" in benchmark.run(device="cuda:99")["not_run"]


def test_the_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "howto" / "clusters_and_gpus.md").read_text("utf-8")
    example = next(found for found in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "world.views" in found)
    exec(example, {})
    assert capsys.readouterr().out == "(8, 36, 64, 3) float32\n"
