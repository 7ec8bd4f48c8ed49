"""Collections that draw in batches: on Warp's CPU device the files are those of the processor's camera."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from support.commands import command
from support.view_batches import NEEDS_GPU
from worldgauge.core.errors import MissingExtraError, UsageError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.core.video import Clip
from worldgauge.engine import collect as kernel
from worldgauge.engine.collect import collect, open_collection
from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.voxel import Voxel

CAMERA = Camera.from_vertical_fov(24, 16, 70)
SMALL: dict[str, dict[str, Any]] = {
    "loopnav": {"settlements": 1, "ranges": (5,), "types": ("ABA",), "per_combination": 1, "size": (48, 32)},
    "mind": {"train": 0, "mem": 1, "action_space": 0, "mirror": 1, "frames": 90, "size": (48, 32)},
    "targetbench": {"scenes": 1, "per_scene": 1, "size": (48, 32)},
    "coverage": {"scenes": 1, "points": 3, "size": (48, 24)},
}


def files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != "worldgauge.json"
    }


def drawn_on(root: Path) -> list[str] | None:
    found: list[str] | None = json.loads((root / "worldgauge.json").read_text())["settings"].get("drawn_on")
    return found


@pytest.mark.parametrize("name", SMALL)
def test_files_are_those_of_the_processor(name: str, tmp_path: Path) -> None:
    pytest.importorskip("warp")
    alone = collect(name, tmp_path / "alone", **SMALL[name])
    batched = collect(name, tmp_path / "batched", device="cpu", **SMALL[name])
    assert not alone.failures
    assert alone.frames == batched.frames > 0
    assert files(tmp_path / "alone") == files(tmp_path / "batched")
    assert drawn_on(tmp_path / "alone") is None
    assert drawn_on(tmp_path / "batched") == ["cpu"]


@NEEDS_GPU
@pytest.mark.parametrize("name", SMALL)
def test_on_a_gpu_only_some_pixels_are_off_by_a_level(name: str, tmp_path: Path) -> None:
    collect(name, tmp_path / "alone", **SMALL[name])
    collect(name, tmp_path / "batched", device="cuda", **SMALL[name])
    alone, batched = files(tmp_path / "alone"), files(tmp_path / "batched")
    assert alone.keys() == batched.keys()
    differ = [path for path in alone if alone[path] != batched[path]]
    assert {Path(path).suffix for path in differ} <= {".avi", ".mp4", ".png", ".jpg"}, "numbers are the processor's"
    for path in differ:
        one, other = (pictures(tmp_path / each / path).astype(int) for each in ("alone", "batched"))
        # Both were encoded after the one level by which they may differ.
        assert (np.abs(one - other) <= 2).mean() >= 0.999, path
    assert drawn_on(tmp_path / "batched") == ["cuda"]


def pictures(path: Path) -> np.ndarray:
    """Of a video or a picture, (T, H, W, 3)."""
    if path.suffix in (".png", ".jpg"):
        found = cv2.imread(str(path))
        assert found is not None
        return found[None]
    return np.stack(list(Clip.open(path)))


def test_the_manifest_names_all_devices_that_drew(tmp_path: Path) -> None:
    pytest.importorskip("warp")
    few = SMALL["targetbench"]
    collect("targetbench", tmp_path, **few)
    collect("targetbench", tmp_path, device="cpu", **{**few, "per_scene": 2})
    assert drawn_on(tmp_path) == ["cpu", "processor"]
    collect("targetbench", tmp_path, **{**few, "per_scene": 3})
    assert drawn_on(tmp_path) == ["cpu", "processor"]


def test_a_device_that_draws_nothing_is_not_named(tmp_path: Path) -> None:
    pytest.importorskip("warp")
    collect("targetbench", tmp_path, **SMALL["targetbench"])
    collect("targetbench", tmp_path, device="cpu", **SMALL["targetbench"])
    assert drawn_on(tmp_path) is None


def test_views_come_in_order_whatever_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("warp")
    monkeypatch.setattr(kernel, "_BATCH", 4)
    world = Voxel("plains", seed=1)
    poses = np.stack([pose_from_yaw_pitch([80.5, 80.5, 30.0], yaw, -0.3) for yaw in np.linspace(0, 6, 9)])
    told: list[tuple[int, int]] = []
    got = list(kernel.views(world, poses, CAMERA, lambda *step: told.append(step), "cpu"))
    want = list(kernel.views(world, poses, CAMERA, lambda *step: None, None))
    assert told == [(number, 9) for number in range(9)]
    assert len(got) == len(want) == 9
    for one, other in zip(got, want, strict=True):
        for name in ("rgb", "depth", "category", "instance"):
            assert np.array_equal(getattr(one, name), getattr(other, name))


def test_a_device_that_is_not_there_is_one_line_before_the_first_item(tmp_path: Path) -> None:
    done = command(tmp_path, "collect", "targetbench", "--out", "data", "--device", "cuda:99")
    assert done.returncode == 2
    wrong = [line for line in done.stderr.splitlines() if not line.startswith("Warp CUDA warning")]
    assert len(wrong) == 1
    assert "device 'cuda:99' is not here" in wrong[0] or ".[gpu]" in wrong[0]
    assert not (tmp_path / "data").exists()


def test_without_warp_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "warp", None)
    with pytest.raises(MissingExtraError, match=r"\.\[gpu\]"):
        collect("targetbench", tmp_path / "data", device="cuda")
    assert not (tmp_path / "data").exists()


def test_what_only_the_processor_draws_says_so(tmp_path: Path) -> None:
    pictures: dict[str, Any] = {"world": "minecraft", "mode": "offline", "pictures": "viewer", "size": (48, 32)}
    opened = open_collection("loopnav", tmp_path / "data", pictures)
    opened.device = "cpu"
    with pytest.raises(UsageError, match="only our own pictures"):
        opened.begin(local=False)
    with pytest.raises(UsageError, match="only workers of this machine"):
        collect("targetbench", tmp_path / "data", device="cuda", on="ray")
    with pytest.raises(UsageError, match="'demonstrations' is rendered on the CPU"):
        collect("demonstrations", tmp_path / "data", device="cpu")
    with pytest.raises(UsageError, match="'tabletop' is rendered on the CPU only"):
        next(kernel.views(Tabletop("push_buttons", 1), np.eye(4)[None], CAMERA, lambda *step: None, "cpu"))
