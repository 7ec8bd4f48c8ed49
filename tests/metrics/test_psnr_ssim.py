import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import correlate1d
from skimage.metrics import mean_squared_error, peak_signal_noise_ratio, structural_similarity

from support.vectors import cases
from worldgauge.core.errors import ShapeError
from worldgauge.metrics import metrics
from worldgauge.metrics.psnr_ssim import mse, psnr, sharpness, ssim_320x180, ssim_perturbation, ssim_table, ssim_uniform

PAIRS = [ssim_table, ssim_perturbation, ssim_uniform, mse, psnr]
SSIMS = [ssim_table, ssim_perturbation, ssim_uniform]


def frames(seed, height=40, width=56):
    """A blurred random picture and a noisy copy."""
    rng = np.random.default_rng(seed)
    coarse = rng.uniform(0, 255, (height // 8 + 2, width // 8 + 2, 3))
    base = np.repeat(np.repeat(coarse, 8, 0), 8, 1)[:height, :width]
    noisy = base + rng.normal(0, 15, base.shape)
    return base.astype(np.uint8), np.clip(noisy, 0, 255).astype(np.uint8)


def skimage_gaussian(a, b):
    return structural_similarity(
        a, b, gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=255, channel_axis=2
    )


def grey_of(a):
    """OpenCV's fixed-point BT.601, restated."""
    return ((a.astype(np.int64) @ np.array([9798, 19235, 3735]) + (1 << 14)) >> 15).astype(np.float64)


def ssim_map(x, y):
    """SSIM by the formula of Wang et al. in float64, mirrored borders; one channel."""
    taps = np.exp(-0.5 * (np.arange(-5, 6) / 1.5) ** 2)
    taps /= taps.sum()

    def mean(image):
        return correlate1d(correlate1d(image, taps, 0, mode="mirror"), taps, 1, mode="mirror")

    mx, my = mean(x), mean(y)
    vx, vy, cov = mean(x * x) - mx**2, mean(y * y) - my**2, mean(x * y) - mx * my
    c1, c2 = 2.55**2, 7.65**2
    return (2 * mx * my + c1) * (2 * cov + c2) / ((mx**2 + my**2 + c1) * (vx + vy + c2))


@pytest.mark.parametrize("case", cases("loopnav_", "ssim_cases"))
def test_vector_loopnav_ssim(case):
    a, b = (np.frombuffer(bytes.fromhex(case[k]), np.uint8).reshape(case["shape"]) for k in ("a_hex", "b_hex"))
    expected = case["expected"]
    if "table" in expected:
        assert ssim_table(a, b) == pytest.approx(expected["table"], abs=1e-6)
    if "perturbation" in expected:
        assert ssim_perturbation(a, b) == pytest.approx(expected["perturbation"], abs=1e-6)


@pytest.mark.parametrize(
    ("height", "width"), [(11, 11), (11, 400), (300, 11), (37, 160), (24, 161), (13, 170), (20, 171), (90, 333)]
)
def test_table_equals_scikit_image(height, width):
    a, b = frames(height * width, height, width)
    assert ssim_table(a, b) == pytest.approx(skimage_gaussian(a, b), abs=1e-6)
    assert ssim_uniform(a, b) == pytest.approx(structural_similarity(a, b, channel_axis=2, data_range=255), abs=1e-6)


@pytest.mark.parametrize("levels", [(0, 0), (255, 255), (0, 255), (128, 255), (254, 255)])
@pytest.mark.parametrize("offset", [0, 3, 120])
@pytest.mark.parametrize("noise", [0, 1, 20])
def test_table_holds_its_precision_on_flat_frames(levels, offset, noise):
    rng = np.random.default_rng(1)
    base = np.where(np.arange(200)[None, :, None] < 100, *levels) * np.ones((60, 1, 3), int)
    grain = rng.integers(-noise, noise + 1, (2, *base.shape))
    a = np.clip(base + grain[0], 0, 255).astype(np.uint8)
    b = np.clip(abs(base - offset) + grain[1], 0, 255).astype(np.uint8)
    assert ssim_table(a, b) == pytest.approx(skimage_gaussian(a, b), abs=1e-5)
    assert ssim_uniform(a, b) == pytest.approx(structural_similarity(a, b, channel_axis=2, data_range=255), abs=1e-5)


def test_common_size_compares_frames_of_any_size():
    a, b = frames(2, 180, 320)
    assert ssim_320x180(a, b) == ssim_table(a, b)
    double = [np.repeat(np.repeat(x, 2, 0), 2, 1) for x in (a, b)]
    # The area average of four equal pixels is that pixel.
    assert ssim_320x180(*double) == ssim_320x180(double[0], b) == ssim_table(a, b)
    assert ssim_320x180(a[:90], a[:90]) == 1


@pytest.mark.parametrize(("height", "width"), [(6, 6), (6, 90), (45, 170), (64, 64)])
def test_perturbation_equals_the_formula(height, width):
    a, b = frames(height + width, height, width)
    assert ssim_perturbation(a, b) == pytest.approx(ssim_map(grey_of(a), grey_of(b)).mean(), abs=1e-6)


def test_errors_and_sharpness():
    # Mse and psnr by hand.
    a = np.zeros((1, 2, 3), np.uint8)
    b = np.array([[[3, 0, 0], [0, 0, 255]]], np.uint8)
    assert mse(a, b) == mse(b, a) == (9 + 65025) / 6
    assert psnr(a, b) == pytest.approx(10 * math.log10(65025 / ((9 + 65025) / 6)))
    assert mse(a, a + np.uint8(255)) == 65025
    assert psnr(a, a + np.uint8(255)) == 0
    # Mse and psnr equal scikit image.
    a, b = frames(3, 50, 70)
    assert mse(a, b) == pytest.approx(mean_squared_error(a, b), rel=1e-12)
    assert psnr(a, b) == pytest.approx(peak_signal_noise_ratio(a, b, data_range=255), rel=1e-12)
    # Sharpness by hand.
    frame = np.zeros((5, 5, 3), np.uint8)
    frame[2, 2] = 10
    # The Laplacian is -40 at the point, 10 at its four neighbours, 0 at the other twenty; its mean is 0.
    assert sharpness(frame) == pytest.approx((40**2 + 4 * 10**2) / 25)
    assert sharpness(np.full((8, 8, 3), 77, np.uint8)) == 0
    # Sharpness tells detail from blur.
    a, noisy = frames(5)
    soft = ((a.astype(int) + np.roll(a, 1, 0) + np.roll(a, 1, 1) + np.roll(a, (1, 1), (0, 1))) // 4).astype(np.uint8)
    assert sharpness(soft) < sharpness(a) < sharpness(noisy)
    assert sharpness(a) == pytest.approx(sharpness(a[::-1])) == pytest.approx(sharpness(a[:, ::-1]))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(11, 40), st.integers(11, 40))
def test_symmetry_identity_mirror_and_bounds(seed, height, width):
    a, b = np.random.default_rng(seed).integers(0, 256, (2, height, width, 3)).astype(np.uint8)
    for ssim in SSIMS:
        value = ssim(a, b)
        assert -1 <= value <= 1
        assert value == pytest.approx(ssim(b, a), abs=1e-6)
        assert value == pytest.approx(ssim(a[::-1], b[::-1]), abs=1e-6)
        assert value == pytest.approx(ssim(a[:, ::-1], b[:, ::-1]), abs=1e-6)
        assert value == pytest.approx(ssim(a.transpose(1, 0, 2), b.transpose(1, 0, 2)), abs=1e-6)
        assert ssim(a, a) == 1
    assert ssim_table(a, b) == pytest.approx(ssim_table(a[..., ::-1], b[..., ::-1]), abs=1e-6)
    assert psnr(a, b) == psnr(b, a)
    assert psnr(a, a) == math.inf
    assert mse(a, a) == 0


def test_read_only_and_strided_frames_are_taken_and_left_alone():
    a, b = frames(7, 64, 64)
    for frame in (a, b):
        frame.setflags(write=False)
    kept = a.copy()
    for metric in PAIRS:
        assert metric(a[::2, ::2], b[::2, ::2]) == metric(a[::2, ::2].copy(), b[::2, ::2].copy())
    assert (a == kept).all()


@pytest.mark.parametrize("metric", PAIRS)
def test_pairs_refuse_what_they_cannot_take(metric):
    good = np.zeros((20, 20, 3), np.uint8)
    for bad in (good[:-1], good[..., :1], good[..., 0], good.astype(np.float32), good[:0]):
        with pytest.raises(ShapeError):
            metric(good, bad)
        with pytest.raises(ShapeError):
            metric(bad, good)


@pytest.mark.parametrize(("metric", "smallest"), [(ssim_table, 11), (ssim_perturbation, 6), (ssim_uniform, 7)])
def test_frames_below_the_window_are_refused(metric, smallest):
    frame = np.zeros((smallest, smallest, 3), np.uint8)
    assert metric(frame, frame) == 1
    with pytest.raises(ShapeError, match=f"{smallest} x {smallest}"):
        metric(frame[1:], frame[1:])
    with pytest.raises(ShapeError):
        metric(frame[:, 1:], frame[:, 1:])


def test_sharpness_refuses_other_than_rgb_bytes():
    for bad in (np.zeros((5, 5), np.uint8), np.zeros((5, 5, 3)), np.zeros((0, 5, 3), np.uint8)):
        with pytest.raises(ShapeError):
            sharpness(bad)


@pytest.mark.parametrize(
    "name", ["ssim_table", "ssim_320x180", "ssim_perturbation", "ssim_uniform", "psnr", "mse", "sharpness"]
)
def test_registered_with_its_facts(name):
    entry = metrics.entry(name)
    assert entry.facts.keys() >= {"unit", "better", "bounds", "version", "source"}
    assert entry.summary
