"""I3D as a program: run only where it is the known one; what it is shown, and what comes of it."""

import hashlib
import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")

from worldgauge.core.errors import DataError, ShapeError  # noqa: E402
from worldgauge.perception.networks import choose_device, networks, open_network  # noqa: E402
from worldgauge.perception.networks.i3d import i3d_input  # noqa: E402
from worldgauge.weights import catalogue  # noqa: E402

FILE = "i3d_torchscript.pt"


class Tiny(torch.nn.Module):
    """Takes what the published program takes, and tells what it was shown."""

    def forward(
        self, x: torch.Tensor, rescale: bool = True, resize: bool = True, return_features: bool = False
    ) -> torch.Tensor:
        if rescale:
            x = 2 * x / 255 - 1
        if resize:
            x = x[:, :, :, ::2, ::2]
        told = torch.cat([x.mean(dim=[2, 3, 4]), x[:, :, 0].mean(dim=[2, 3]), x[:, :, -1, 0, 1]], dim=1)
        told = torch.nn.functional.pad(told, [0, 391])
        return told if return_features else torch.softmax(told, dim=1)


class Other(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean(dim=[2, 3, 4])


class Short(torch.nn.Module):
    def forward(self, x: torch.Tensor, rescale: bool, resize: bool, return_features: bool) -> torch.Tensor:
        return x.mean(dim=[2, 3, 4])


def program(module: Any, path: Path) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.save(torch.jit.script(module), str(path))
    return path


def known(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the catalogue know this file as the published one."""
    (file,) = catalogue["i3d"].files
    data = path.read_bytes()
    file = replace(file, bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    monkeypatch.setitem(catalogue, "i3d", replace(catalogue["i3d"], files=(file,)))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "i3d"
    folder.mkdir()
    known(program(Tiny(), folder / FILE), monkeypatch)
    return folder


def made(folder: Path) -> Any:
    return networks.get("i3d")(folder, choose_device("cpu"))


def test_features_of_what_is_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(folder.parent))
    network = open_network("i3d", device="cpu")
    assert networks.entry("i3d").facts["what"] == "video"
    video = np.random.default_rng(0).uniform(-1, 1, (2, 10, 224, 224, 3)).astype(np.float32)
    features = network.answer({"video": video})["features"]
    assert (features.shape, features.dtype) == ((2, 400), np.float32)
    # Channels and frames where they belong, and nothing rescaled, resized or made a probability.
    told = [video.mean((1, 2, 3)), video[:, 0].mean((1, 2)), video[:, -1, 0, 1]]
    np.testing.assert_allclose(features[:, :9], np.concatenate(told, 1), atol=1e-5)
    assert (features[:, 9:] == 0).all()
    alone = network.answer({"video": video[1:]})["features"]
    assert alone.tobytes() == features[1:].tobytes()
    assert network.answer({"video": video[:0]})["features"].shape == (0, 400)


def test_the_program_is_the_published_one(folder: Path) -> None:
    (file,) = catalogue["i3d"].files
    assert file.name == FILE
    assert file.published
    assert file.bytes
    assert catalogue["i3d"].runs_code
    right = (folder / FILE).read_bytes()
    (folder / FILE).write_bytes(right[:-1] + bytes([right[-1] ^ 1]))
    with pytest.raises(DataError, match=rf"{FILE}: expected sha256 .*not run"):
        made(folder)
    (folder / FILE).write_bytes(right + b" ")
    with pytest.raises(DataError, match=rf"{FILE}: expected {len(right)} bytes, got {len(right) + 1}"):
        made(folder)
    (folder / FILE).unlink()
    with pytest.raises(DataError, match=f"{FILE}: no such weight file"):
        made(folder)


def test_only_the_known_program_is_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file,) = catalogue["i3d"].files
    for sha256 in ("", file.sha256[:8]):  # its first copy would be taken at its word
        known_set = replace(catalogue["i3d"], files=(replace(file, sha256=sha256),))
        monkeypatch.setitem(catalogue, "i3d", known_set)
        with pytest.raises(DataError, match="the digest of the one that may be run is not known; not run"):
            made(folder)
    torch.save({"weight": torch.zeros(3)}, folder / FILE)
    known(folder / FILE, monkeypatch)
    with pytest.raises(DataError, match=f"{FILE}: not a TorchScript program"):
        made(folder)
    (folder / FILE).write_bytes(b"neither")
    known(folder / FILE, monkeypatch)
    with pytest.raises(DataError, match=f"{FILE}: not a TorchScript program"):
        made(folder)
    known(program(Other(), folder / FILE), monkeypatch)
    with pytest.raises(DataError, match=f"{FILE}: .*rescale, resize, return_features"):
        made(folder)
    known(program(Short(), folder / FILE), monkeypatch)
    with pytest.raises(DataError, match=r"\(1, 3\), expected \(1, 400\)"):
        made(folder).answer({"video": np.zeros((1, 10, 224, 224, 3), np.float32)})


def test_videos_it_does_not_take(folder: Path) -> None:
    network = made(folder)
    video = np.zeros((1, 10, 224, 224, 3), np.float32)
    for bad in (video[0], video[:, :9], video.astype(np.float64), video[..., :223, :], video[..., :1]):
        with pytest.raises(ShapeError, match="10 frames or more"):
            network.answer({"video": bad})
    with pytest.raises(ShapeError, match="expected video"):
        network.answer({})
    with pytest.raises(ShapeError, match="not finite"):
        network.answer({"video": np.full_like(video, np.nan)})


@pytest.mark.parametrize(("rows", "columns"), [(360, 640), (224, 384), (180, 320), (224, 224), (640, 360), (100, 100)])
def test_input_is_the_centre_at_224(rows: int, columns: int) -> None:
    frames = np.random.default_rng(1).integers(0, 256, (3, rows, columns, 3), dtype=np.uint8)
    shown = i3d_input(iter(frames))
    x = torch.from_numpy(frames).permute(0, 3, 1, 2).double() / 255
    scale = 224 / min(rows, columns)
    size = tuple(224 if side == min(rows, columns) else math.ceil(side * scale) for side in (rows, columns))
    resized = torch.nn.functional.interpolate(x, size=size, mode="bilinear", align_corners=False)
    top, left = ((side - 224) // 2 for side in size)
    expected = (resized[:, :, top : top + 224, left : left + 224] * 2 - 1).permute(0, 2, 3, 1).numpy()
    assert (shown.shape, shown.dtype) == ((3, 224, 224, 3), np.float32)
    np.testing.assert_allclose(shown, expected, atol=1e-6)


def test_input_by_hand_and_of_other_frames() -> None:
    # Four columns of which the middle two are seen twice as wide: halved in between, the last one never.
    frame = np.zeros((112, 224, 3), np.uint8)
    frame[:, 112:] = (255, 51, 0)
    shown = i3d_input([frame])[0]
    # Column 112 of the original begins at 224 of 448, which is 112 of the crop; at its edge a quarter is the other's.
    for column, share in ((110, 0), (111, 0.25), (112, 0.75), (113, 1)):
        np.testing.assert_allclose(shown[:, column], np.tile([2 * share - 1, 0.4 * share - 1, -1], (224, 1)), atol=1e-6)
    assert (i3d_input([np.full((50, 90, 3), 255, np.uint8)]) == 1).all()
    for bad in ([], [np.zeros((4, 4), np.uint8)], [np.zeros((4, 4, 3), np.float32)], [np.zeros((0, 4, 3), np.uint8)]):
        with pytest.raises(ShapeError, match="i3d: "):
            i3d_input(bad)
