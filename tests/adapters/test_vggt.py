"""VGGT: what reaches the network, pixel by pixel, and from a served process to a path."""

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from adapters.vggt import Vggt, height_of, prepared

from adapters import vggt
from support.served import MODELS, PYTHON
from support.upstream import ROOT, isolated
from worldgauge.perception.decoders import DecodedPath, DecodeRequest
from worldgauge.perception.decoders.served import ServedDecoder

IsTheWalk = Callable[..., None]


class Network:
    """Camera k stands k ahead; keeps what it was shown."""

    identity = {"weights": "none"}  # noqa: RUF012

    def __init__(self) -> None:
        self.seen: list[np.ndarray] = []

    def cameras(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.seen.append(images)
        poses = np.tile(np.eye(3, 4), (len(images), 1, 1))
        poses[:, 2, 3] = -np.arange(len(images))
        return poses, np.array([259.0] * (len(images) - 1) + [1.0])


@pytest.mark.parametrize(
    ("width", "height", "rows"),
    [
        (640, 360, 294),  # 291.375 is 20.8 patches
        (1280, 720, 294),
        (832, 480, 294),  # 298.8 is 21.3 patches
        (640, 480, 392),  # 388.5 is 27.75 patches
        (518, 21, 28),  # 1.5 patches: halves go to the even number
        (518, 35, 28),  # 2.5 patches
        (360, 640, 924),
    ],
)
def test_heights_by_hand(width: int, height: int, rows: int) -> None:
    assert height_of(width, height) == rows


def test_a_frame_without_a_patch_is_refused() -> None:
    with pytest.raises(ValueError, match="a frame of 1000x10 is too flat"):
        prepared([np.zeros((10, 1000, 3), np.uint8)])


def test_flat_frames_keep_their_colour() -> None:
    images = prepared([np.full((360, 640, 3), (0, 51, 255), np.uint8)] * 2)
    assert images.shape == (2, 3, 294, 518)
    assert images.dtype == np.float32
    assert images.flags.c_contiguous
    assert [np.unique(images[1, c]).tolist() for c in range(3)] == [[0.0], [np.float32(0.2)], [1.0]]


def test_a_ramp_stays_straight_at_the_centres_of_pixels() -> None:
    ramp = np.broadcast_to(np.arange(0, 250, 2, dtype=np.uint8)[None, :, None], (70, 125, 3))
    row = 255 * prepared([ramp])[0, 0, 100]
    expected = 2 * ((np.arange(518) + 0.5) * 125 / 518 - 0.5)
    assert np.abs(row - expected)[10:-10].max() <= 0.51, "rounded to 8 bits"


def test_an_impulse_by_hand_is_cubic_with_a_half() -> None:
    """Twice the size: new pixel centres lie a quarter from the old ones; the kernel of Keys, a = -1/2."""
    frame = np.zeros((14, 259, 3), np.uint8)
    frame[:, 100] = 200
    row = 255 * prepared([frame])[0, 0, 14]

    def keys(d: float) -> float:
        return 1.5 * d**3 - 2.5 * d**2 + 1 if d < 1 else -0.5 * d**3 + 2.5 * d**2 - 4 * d + 2

    expected = [200 * max(0.0, keys(abs((x + 0.5) / 2 - 100.5))) for x in range(198, 204)]
    np.testing.assert_allclose(row[198:204], expected, atol=0.51)


def test_portrait_is_cut_in_the_middle() -> None:
    rows = np.broadcast_to(np.arange(250, dtype=np.uint8)[:, None, None], (250, 140, 3))
    image = 255 * prepared([rows])[0, 0]  # 925 rows are 66.07 patches: 924, of which 203 go above and below
    assert image.shape == (518, 518)
    assert abs(image[0, 0] - ((203 + 0.5) * 250 / 924 - 0.5)) < 0.6
    assert abs(image[-1, 0] - ((203 + 517 + 0.5) * 250 / 924 - 0.5)) < 0.6


def test_white_above_and_below_what_is_less_high() -> None:
    images = prepared([np.zeros((360, 640, 3), np.uint8), np.zeros((480, 640, 3), np.uint8)])
    assert images.shape == (2, 3, 392, 518)
    assert (images[0, :, :49] == 1).all()
    assert (images[0, :, -49:] == 1).all()
    assert (images[0, :, 49:-49] == 0).all()
    assert (images[1] == 0).all()


def test_the_anchor_is_last_and_the_focal_length_is_the_videos() -> None:
    network = Network()
    frames = np.stack([np.full((36, 64, 3), level, np.uint8) for level in (10, 20, 30)])
    arrays, facts = Vggt(backend=network).estimate(
        {"frames": frames, "anchor": np.full((72, 128, 3), 99, np.uint8)}, {}
    )
    assert (255 * network.seen[0][:, 0, 0, 0]).round().tolist() == [10, 20, 30, 99]
    assert arrays["poses"].shape == (4, 3, 4)
    assert facts == {"focal_px": 259.0 * 64 / 518, "width": 518, "height": 294}


def test_declares_itself() -> None:
    spec = Vggt(backend=Network()).spec
    assert (spec.name, spec.kind, spec.layout) == ("vggt", "decoder", "vggt")
    assert spec.settings == {"weights": "none"}
    assert Vggt.needs == {"gpus": 1}


@pytest.mark.parametrize("compat", ["", "released"])
def test_from_a_served_process_to_a_path(
    compat: str, brightening: DecodeRequest, is_the_walk: Callable[[DecodedPath, float], None]
) -> None:
    at = f"cmd:{PYTHON} -m worldgauge_serve {MODELS / 'decoders.py'}:Vggt"
    with closing(ServedDecoder(at, compat=compat)) as decoder:
        path = decoder.decode(brightening)
        again = decoder.decode(brightening)
    if compat:  # relies on a first camera at the origin: the start keeps its own place
        assert path.xy is not None
        start = path.xy[0].copy()
        np.testing.assert_allclose(start, [0, 2.0], atol=1e-3)
        path.xy[:] -= start
    is_the_walk(path, 0.1)
    assert path.focal_px == pytest.approx(32)
    np.testing.assert_array_equal(again.xy if not compat else again.xy - start, path.xy)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ("/nowhere/model.pt", "vggt has no weights at '/nowhere/model.pt'; get model.pt at huggingface.co/facebook"),
        ("model.pt", "no weights at 'model.pt'"),
    ],
)
def test_says_which_weights_are_missing(weights: str, words: str) -> None:
    with pytest.raises(FileNotFoundError, match=words):
        Vggt(weights=weights)


def test_says_what_is_not_installed() -> None:
    with (
        isolated(),
        pytest.raises(ImportError, match=r"vggt cannot import '(torch|vggt.models.vggt)' .* give root=CLONE"),
    ):
        Vggt(weights="facebook/VGGT-1B")


def _weights(folder: Path, gain: float) -> Path:
    torch = pytest.importorskip("torch", reason="the repository's network is torch")
    folder.mkdir(exist_ok=True)
    torch.save({"gain": torch.tensor(gain)}, folder / "model.pt")
    return folder


@pytest.mark.parametrize("atomic_folder", [False, True])
def test_drives_the_repository(
    atomic_folder: bool, tmp_path: Path, brightening: DecodeRequest, is_the_walk: IsTheWalk
) -> None:
    folder = _weights(tmp_path / "weights", 3.0)
    weights = folder if atomic_folder else folder / "model.pt"
    place = tmp_path / "adapters"
    place.mkdir()
    shutil.copy(vggt.__file__, place)  # beside it, `import vggt` must find the repository all the same
    settings = f"root={ROOT / 'vggt'}&weights={weights}&device=cpu"
    at = f"cmd:sh -c 'cd {place} && exec {PYTHON} -m worldgauge_serve \"vggt.py:Vggt?{settings}\"'"
    with closing(ServedDecoder(at)) as decoder:
        path = decoder.decode(brightening)
        assert len(decoder.settings["settings"]["weights"]) == 64
    is_the_walk(path, 0.1)
    assert path.scale == pytest.approx(255 / 10 / 3, rel=1e-5)
    assert path.focal_px == pytest.approx(32, rel=1e-5), "90 degrees"


def test_other_weights_are_another_decoder(tmp_path: Path) -> None:
    with isolated():
        made: list[Any] = [
            Vggt(str(_weights(tmp_path / f"{gain}", gain)), root=str(ROOT / "vggt"), device="cpu")
            for gain in (1.0, 2.0)
        ]
    assert made[0].spec.settings != made[1].spec.settings
