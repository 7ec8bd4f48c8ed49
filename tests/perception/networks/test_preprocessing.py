"""What networks are shown, against what can be worked out by hand."""

from typing import Any

import numpy as np
import pytest

from worldgauge.perception.networks import ComputeDevice
from worldgauge.perception.networks._pretrained import clip_input, dino_input, framewise, musiq_input

IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
CLIP = ([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711])


def coloured(rows: int, columns: int, colour: list[float]) -> np.ndarray:
    return np.broadcast_to(np.float32(colour), (1, rows, columns, 3)).copy()


@pytest.mark.parametrize(("shown", "constants"), [(dino_input, IMAGENET), (clip_input, CLIP)])
def test_channels_stay_red_green_blue_each_with_its_own_constants(shown, constants) -> None:
    mean, deviation = constants
    seen = shown(coloured(72, 128, [1.0, 0.5, 0.0]))
    assert (seen.shape, seen.dtype) == ((1, 224, 224, 3), np.float32)
    expected = [(value - m) / d for value, m, d in zip((1.0, 0.5, 0.0), mean, deviation, strict=True)]
    np.testing.assert_allclose(seen, np.broadcast_to(expected, seen.shape), atol=1e-5)


def test_what_each_network_is_shown() -> None:
    seen = dino_input(coloured(72, 128, [1.0, 0.5, 0.0]), released=True)
    expected = [(v / 255 - m) / d for v, m, d in zip((1.0, 0.5, 0.0), *IMAGENET, strict=True)]
    np.testing.assert_allclose(seen[0, 100, 100], expected, atol=1e-5)
    frame = np.random.default_rng(0).random((2, 9, 16, 3), dtype=np.float32)
    np.testing.assert_allclose(musiq_input(frame), 2 * frame.astype(np.float64) - 1, atol=1e-6)
    frame = coloured(720, 1280, [0.5, 0.5, 0.5])
    frame[:, :, :270] = 1  # left of what CLIP's crop of 720 columns and its kernel reach
    assert dino_input(frame)[0, 100, 10, 0] == pytest.approx((1 - 0.485) / 0.229, abs=1e-4)
    assert np.ptp(clip_input(frame)[..., 0]) < 1e-4
    frame[:, :, :300] = 1
    assert np.ptp(clip_input(frame)[0, 100, :, 0]) > 1
    (frame,) = np.random.default_rng(2).random((1, 448, 448, 3), dtype=np.float32)
    seen = dino_input(frame[None])[0] * np.float32(IMAGENET[1]) + np.float32(IMAGENET[0])
    weights = np.outer([1, 3, 3, 1], [1, 3, 3, 1]) / 64
    for row, column in ((1, 1), (50, 200), (222, 7)):
        around = frame[2 * row - 1 : 2 * row + 3, 2 * column - 1 : 2 * column + 3]
        np.testing.assert_allclose(seen[row, column], np.einsum("ij,ijc->c", weights, around), atol=1e-5)


@pytest.mark.parametrize(("rows", "columns"), [(720, 1280), (300, 400), (100, 120)])
def test_clip_is_shown_cubic_values_by_hand(rows: int, columns: int) -> None:
    (frame,) = np.random.default_rng(1).random((1, rows, columns, 3), dtype=np.float32)
    short = min(rows, columns)
    height, width = 224 * rows // short, 224 * columns // short
    seen = clip_input(frame[None])[0].astype(np.float64) * CLIP[1] + CLIP[0]
    for row, column in ((0, 0), (17, 200), (112, 112), (223, 223)):
        down = taps((row + (height - 224) // 2 + 0.5) * rows / height - 0.5, rows)
        across = taps((column + (width - 224) // 2 + 0.5) * columns / width - 0.5, columns)
        by_hand = sum(a * b * frame[i, j].astype(np.float64) for i, a in down for j, b in across)
        np.testing.assert_allclose(seen[row, column], by_hand, atol=1e-4)


def taps(at: float, n: int) -> list[tuple[int, float]]:
    """The four pixels around `at` and their weights, a = -0.75."""
    found = []
    for index in range(int(np.floor(at)) - 1, int(np.floor(at)) + 3):
        d = abs(at - index)
        near, far = 1.25 * d**3 - 2.25 * d**2 + 1, -0.75 * (d**3 - 5 * d**2 + 8 * d - 4)
        found.append((min(max(index, 0), n - 1), near if d <= 1 else far))
    return found


@pytest.mark.parametrize(
    ("is_cuda", "on_gpu", "given"), [(False, 64, [2, 2, 1]), (True, 64, [5]), (True, None, [2, 2, 1])]
)
def test_a_gpu_gets_more_frames_at_a_time(
    is_cuda: bool, on_gpu: int | None, given: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(ComputeDevice, "is_cuda", is_cuda)
    frames, seen = np.random.default_rng(0).random((5, 4, 6, 3), np.float32), []

    def means(part: Any) -> Any:
        seen.append(len(part))
        return part.mean((2, 3))

    found = framewise(frames, ComputeDevice("cpu"), means, sides=(3,), at_once=2, on_gpu=on_gpu)
    np.testing.assert_allclose(found, frames.mean((1, 2)), rtol=1e-5)
    assert seen == given
