"""Controllability, visual quality and regret: by hand, independent references, invariances, the degenerate."""

import math

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skimage.metrics import mean_squared_error, structural_similarity

from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.suites.closedloop import metrics as c
from worldgauge.worlds import worlds

VALUES = st.lists(st.floats(-100, 100), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def views() -> np.ndarray:
    """(4, 384, 384, 3) of a home."""
    home = worlds.get("indoor")(seed=3)
    x, y = home.floor.origin + 0.05 * np.argwhere(home.floor.clearance_m > 0.5).mean(0)
    camera = Camera.from_horizontal_fov(384, 384, 90)
    return np.stack([home.view(pose_from_yaw_pitch((x, y, 1.0), yaw), camera).rgb for yaw in (0.3, 1.9, 3.4, 5.0)])


def noisy(frames: np.ndarray, sigma: float) -> np.ndarray:
    noise = np.random.default_rng(0).normal(0, sigma, frames.shape)
    return np.clip(np.rint(frames + noise), 0, 255).astype(np.uint8)


def test_by_hand() -> None:
    black, grey = np.zeros((2, 384, 384, 3), np.uint8), np.full((2, 384, 384, 3), 51, np.uint8)
    grey[1] = 0
    assert c.controllability_psnr(black, grey) == pytest.approx(10 * math.log10(255**2 / (51**2 / 2)))
    c1 = (0.01 * 255) ** 2
    assert c.controllability_ssim(black, grey) == pytest.approx((c1 / (51**2 + c1) + 1) / 2, abs=1e-6)
    assert c.controllability_lpips([0.25, 0.75]) == 0.5


def test_agrees_with_scikit_image(views: np.ndarray) -> None:
    other = noisy(views, 12)
    expected = [
        structural_similarity(a, b, channel_axis=2, gaussian_weights=True, use_sample_covariance=False, data_range=255)
        for a, b in zip(views, other, strict=True)
    ]
    assert c.controllability_ssim(views, other) == pytest.approx(np.mean(expected), abs=1e-3)
    error = mean_squared_error(views, other)
    assert c.controllability_psnr(views, other) == pytest.approx(10 * math.log10(255**2 / error))


def test_controllability_is_symmetric_perfect_for_equal_frames_and_falls_with_the_error(views: np.ndarray) -> None:
    for measure, best in ((c.controllability_ssim, 1.0), (c.controllability_psnr, math.inf)):
        assert measure(views, views) == best
        found = [measure(views, noisy(views, sigma)) for sigma in (4, 12, 36)]
        assert found == sorted(found, reverse=True)
        assert measure(noisy(views, 12), views) == pytest.approx(found[1])
        assert measure(views[::-1], views) < found[0], "other places are further away than a little noise"
        order = [2, 0, 3, 1]
        assert measure(views[order], noisy(views, 12)[order]) == pytest.approx(found[1])


def test_frames_of_any_size_are_compared_at_one(views: np.ndarray) -> None:
    small = np.stack([cv2.resize(view, (192, 192), interpolation=cv2.INTER_AREA) for view in views])
    assert 0.5 < c.controllability_ssim(small, views) < 1


def test_quality_agrees_with_singular_values_of_every_patch(views: np.ndarray) -> None:
    grey = cv2.cvtColor(views[0], cv2.COLOR_RGB2GRAY).astype(float)
    down, across = np.gradient(grey)
    total = 0.0
    for y in range(0, 384, 8):
        for x in range(0, 384, 8):
            patch = slice(y, y + 8), slice(x, x + 8)
            s1, s2 = np.linalg.svd(np.column_stack([across[patch].ravel(), down[patch].ravel()]))[1]
            coherence = (s1 - s2) / (s1 + s2) if s1 > 0 else 0
            threshold = 0.001 ** (1 / 63)
            if coherence > math.sqrt((1 - threshold) / (1 + threshold)):
                total += s1 * coherence
    flat = grey - grey.mean()
    pairs = [(flat[y, x], flat[y + 48, x]) for y in range(0, 336) for x in range(384)]
    pairs += [(flat[y, x], flat[y, x + 48]) for y in range(384) for x in range(0, 336)]
    alike = np.prod(pairs, axis=1).mean() / flat.var()
    assert 0 < alike < 1
    assert c.visual_quality(views[0]) == pytest.approx(total / 48**2 * alike, rel=1e-6)


def test_blur_and_noise_both_lower_the_quality(views: np.ndarray) -> None:
    for view in views:
        clear = c.visual_quality(view)
        blurred = [c.visual_quality(cv2.GaussianBlur(view, (0, 0), sigma)) for sigma in (1, 2, 4)]
        assert [clear, *blurred] == sorted([clear, *blurred], reverse=True)
        assert c.visual_quality(noisy(view, 40)) < clear
    assert c.visual_quality(noisy(np.full((384, 384, 3), 128, np.uint8), 20)) < 1, "noise alone is no structure"


@pytest.mark.parametrize("side", [1, 2, 4, 8, 16, 32])
def test_squares_of_noise_do_not_win(views: np.ndarray, side: int) -> None:
    """The floor: of the reference `noise` 8 pixels at 384, 32 at 96."""
    rng = np.random.default_rng(side)
    worst = min(c.visual_quality(view) for view in views)
    for channels in (1, 3):
        cells = rng.integers(0, 256, (384 // side, 384 // side, channels), np.uint8)
        noise = np.broadcast_to(cells.repeat(side, 0).repeat(side, 1), (384, 384, 3))
        floor = c.visual_quality(np.ascontiguousarray(noise))
        assert floor < worst
        levels = [np.rint((1 - a) * views[0] + a * noise).astype(np.uint8) for a in (0.0, 0.25, 0.5, 0.75)]
        quality = [*map(c.visual_quality, levels), floor]
        assert quality[0] > max(quality[2:])


def test_quality_does_not_depend_on_brightness_or_on_a_quarter_turn(views: np.ndarray) -> None:
    dark = views[0] // 2
    assert c.visual_quality(dark + 100) == pytest.approx(c.visual_quality(dark))
    assert c.visual_quality(np.ascontiguousarray(np.rot90(views[0]))) == pytest.approx(c.visual_quality(views[0]))
    assert c.visual_quality(np.full((384, 384, 3), 77, np.uint8)) == 0


def test_regret_by_hand() -> None:
    assert c.decision_regret([-3.0, -1.0, -2.0], 2) == 1.0
    assert c.decision_regret([-3.0, -1.0], 1) == 0.0
    assert c.decision_regret([-math.inf, -1.0], 0) == math.inf
    assert c.decision_regret([-math.inf, -math.inf], 0) == 0.0
    assert c.decision_regret([1.0, None], 0) is None
    assert c.decision_regret([1.0, 2.0], None) is None


@given(VALUES, st.data())
def test_regret_is_the_gap_to_the_best(values: list[float], data: st.DataObject) -> None:
    chosen = data.draw(st.integers(0, len(values) - 1))
    found = c.decision_regret(values, chosen)
    assert found == np.max(values) - values[chosen]
    assert c.decision_regret([value + 5 for value in values], chosen) == pytest.approx(found, abs=1e-9)
    assert c.decision_regret(values, int(np.argmax(values))) == 0


def test_what_they_refuse(views: np.ndarray) -> None:
    with pytest.raises(ShapeError, match="n >= 1"):
        c.controllability_ssim(views, views[:-1])
    with pytest.raises(ShapeError, match="n >= 1"):
        c.controllability_psnr(views[:0], views[:0])
    with pytest.raises(ShapeError, match="uint8"):
        c.visual_quality(views[0] / 255)
    for distances in ([], [math.nan], [-0.1]):
        with pytest.raises(UsageError, match="distance"):
            c.controllability_lpips(distances)
    with pytest.raises(UsageError, match="candidate 2"):
        c.decision_regret([1.0, 2.0], 2)
    with pytest.raises(UsageError, match="-inf"):
        c.decision_regret([1.0, math.nan], 0)
