"""SpatialTrackerV2: what reaches its networks, and from a served process to a path."""

import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from adapters.spatracker import SpaTracker, of_one_size, shrunk

from support.served import MODELS, PYTHON
from support.upstream import ROOT, isolated
from worldgauge.perception.decoders import DecodeRequest
from worldgauge.perception.decoders.served import ServedDecoder

IsTheWalk = Callable[..., None]
OTHER = Path(sys.prefix) / "other" / "bin" / "python"


class Networks:
    """Keeps what it was asked."""

    identity = {"front": "f", "weights": "w"}  # noqa: RUF012

    def __init__(self) -> None:
        self.asked: list[tuple[np.ndarray, int, object]] = []
        self.seeds: list[int] = []

    def seed(self, seed: int) -> None:
        self.seeds.append(seed)

    def cameras(self, images: np.ndarray, grid: int, size: object) -> tuple[np.ndarray, np.ndarray, int]:
        self.asked.append((images, grid, size))
        return np.tile(np.eye(4), (len(images), 1, 1)), np.full(len(images), 259.0), 518


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((360, 640), (189, 336)),
        ((720, 1280), (189, 336)),
        ((480, 832), (193, 336)),  # 193.8
        ((640, 360), (336, 189)),
        ((337, 337), (336, 336)),
        ((336, 336), (336, 336)),
        ((90, 160), (90, 160)),
    ],
)
def test_sizes_by_hand(before: tuple[int, int], after: tuple[int, int]) -> None:
    images = shrunk(np.full((2, *before, 3), (7, 0, 255), np.uint8))
    assert images.shape == (2, 3, *after)
    assert images.dtype == np.float32
    np.testing.assert_allclose(images[0, :, 3, 3], [7, 0, 255], rtol=1e-6)
    np.testing.assert_allclose(images.std((2, 3)), 0, atol=1e-3)


def test_halving_by_hand() -> None:
    """Twice the size: a triangle over four pixels, 1/8, 3/8, 3/8, 1/8."""
    frames = np.zeros((1, 8, 672, 3), np.uint8)
    frames[:, :, 10] = 80
    row = shrunk(frames)[0, 0, 2]
    np.testing.assert_allclose(row[3:8], [0, 10, 30, 0, 0], atol=1e-4)
    frames[:, :, 10], frames[:, :, 0] = 0, 70
    np.testing.assert_allclose(shrunk(frames)[0, 0, 2, :2], [70 * 3 / 7, 0], atol=1e-4)  # nothing lies beyond the edge


def test_it_is_torchs_bilinear_with_antialiasing() -> None:
    torch = pytest.importorskip("torch", reason="compares with torch")
    frames = np.random.default_rng(0).integers(0, 256, (2, 480, 832, 3), dtype=np.uint8)
    given = torch.from_numpy(frames).permute(0, 3, 1, 2).float()
    theirs = torch.nn.functional.interpolate(given, (193, 336), mode="bilinear", antialias=True)
    np.testing.assert_allclose(shrunk(frames), theirs.numpy(), atol=0.01)


def test_the_anchor_is_first_and_gives_the_size() -> None:
    frames = np.stack([np.full((36, 64, 3), level, np.uint8) for level in (10, 20)])
    joined = of_one_size(np.full((18, 24, 3), 99, np.uint8), frames)
    assert joined.shape == (3, 18, 24, 3)
    assert joined[:, 9, 12, 0].tolist() == [99, 10, 20]
    same = of_one_size(frames[0], frames)
    np.testing.assert_array_equal(same[1:], frames)


def test_another_size_comes_by_a_lanczos_filter() -> None:
    """An impulse, halved: the kernel sinc(d) sinc(d / 3) at twice the width, cut to 8 bits."""
    frames = np.zeros((1, 2, 64, 3), np.uint8)
    frames[:, :, 30] = 255
    row = of_one_size(np.zeros((1, 32, 3), np.uint8), frames)[1, 0, :, 0].astype(float)
    d = np.abs(30.5 - (np.arange(32) * 2 + 1)) / 2
    weights = np.where(d < 3, np.sinc(d) * np.sinc(d / 3), 0)
    reach = np.abs(np.arange(-12, 12) + 0.5) / 2
    total = np.where(reach < 3, np.sinc(reach) * np.sinc(reach / 3), 0).sum()
    np.testing.assert_allclose(row, np.clip(255 * weights / total, 0, 255), atol=1.1)


def test_the_grid_lies_over_what_is_seen_unless_asked_otherwise() -> None:
    arrays = {"anchor": np.zeros((360, 640, 3), np.uint8), "frames": np.zeros((9, 360, 640, 3), np.uint8)}
    networks = Networks()
    given, facts = SpaTracker(backend=networks).estimate(arrays, {"seed": 4})
    SpaTracker(backend=networks, grid_of="published", grid=5).estimate(arrays, {})
    assert [(images.shape, grid, size) for images, grid, size in networks.asked] == [
        ((10, 3, 189, 336), 10, None),
        ((10, 3, 189, 336), 5, (360, 640)),
    ]
    assert networks.seeds == [4, 0]
    assert given["poses"].shape == (10, 4, 4)
    assert facts == {"focal_px": 320.0}
    with pytest.raises(ValueError, match="grid_of is 'x'"):
        SpaTracker(backend=networks, grid_of="x")


def test_declares_itself() -> None:
    spec = SpaTracker(backend=Networks()).spec
    assert (spec.name, spec.kind, spec.layout) == ("spatracker", "decoder", "spatracker")
    told = {"grid": 10, "points": 756, "fps": 3, "grid_of": "seen", "front": "f", "weights": "w"}
    assert spec.settings == told
    assert SpaTracker.needs == {"gpus": 1}


@pytest.mark.parametrize("compat", ["", "released"])
@pytest.mark.parametrize("python", [PYTHON, str(OTHER)])
def test_from_a_served_process_to_a_path(
    python: str, compat: str, brightening: DecodeRequest, is_the_walk: IsTheWalk
) -> None:
    if not Path(python).exists():
        pytest.skip("the second environment is made by `make test`")
    at = f"cmd:{python} -m worldgauge_serve {MODELS / 'decoders.py'}:SpaTracker"
    with closing(ServedDecoder(at, compat=compat)) as decoder:
        path = decoder.decode(brightening)
    is_the_walk(path, 0.1)
    assert path.scale == pytest.approx(25.5, rel=1e-5)


def test_says_what_is_missing() -> None:
    with pytest.raises(FileNotFoundError, match="no folder of weights at '/nowhere'; they are at huggingface"):
        SpaTracker(weights="/nowhere")
    words = r"spatracker cannot import '(torch|models\..*)' .* give root=CLONE"
    with isolated(), pytest.raises(ImportError, match=words):
        SpaTracker()


def test_drives_the_repository(tmp_path: Path, brightening: DecodeRequest, is_the_walk: IsTheWalk) -> None:
    pytest.importorskip("torch", reason="the repository's networks are torch")
    for name in ("front", "offline"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_text(name)
    from adapters import spatracker

    settings = f"root={ROOT / 'spatracker'}&front={tmp_path / 'front'}&weights={tmp_path / 'offline'}&device=cpu"
    with closing(ServedDecoder(f"cmd:{PYTHON} -m worldgauge_serve {spatracker.__file__}:SpaTracker?{settings}")) as one:
        path = one.decode(brightening)
        assert len({one.settings["settings"][name] for name in ("front", "weights")}) == 2
    is_the_walk(path, 0.1)
    assert path.scale == pytest.approx(12.75, rel=1e-4), "the tracker's poses count, not the front's"
    assert path.focal_px == pytest.approx(32)


def test_what_the_tracker_is_asked(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the repository's networks are torch")
    frames = np.full((9, 36, 64, 3), 50, np.uint8)
    with isolated():
        places = {"front": str(tmp_path / "front"), "weights": str(tmp_path / "offline")}
        for place in places.values():
            Path(place).mkdir()
        model = SpaTracker(root=str(ROOT / "spatracker"), **places, points=99, grid=4, device="cpu")
        model.estimate({"anchor": frames[0], "frames": frames}, {})
        queries, fps, options, points = model._backend._tracker.asked[-1]
    assert queries.shape == (16, 3)
    assert (queries[:, 0] == 0).all()
    assert queries[:, 1].max() == pytest.approx(518 - 518 / 64)
    assert (fps, points, options["support_frame"], options["replace_ratio"]) == (3, 99, 9, 0.2)
    assert options["query_no_BA"]
    assert not options["fixed_cam"]
