import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import correlate1d, map_coordinates

from support.vectors import cases
from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.video import Clip
from worldgauge.metrics import metrics
from worldgauge.metrics.frame_pairs import (
    PairError,
    mean_error,
    mse_720p,
    pair_error,
    pair_errors,
    prepared,
    prepared_pair,
    psnr_720p,
    scored_frames,
    ssim_720p,
)


def values(frames):
    """uint8 frames as floats in [0, 1], at their own size."""
    return np.asarray(frames, np.float32) / np.float32(255)


def noise8(r, F, H, W, k, **_):
    gt = r.integers(0, 256, (F, H, W, 3), dtype=np.uint8)
    d = r.integers(-k, k + 1, (F, H, W, 3), dtype=np.int16)
    return gt, np.clip(gt.astype(np.int16) + d, 0, 255).astype(np.uint8)


def blocks8(r, F, b, k, dy, dx, **_):
    gt = np.rint(255 * np.kron(r.random((F, 6, 8, 3)), np.ones((1, b, b, 1)))).astype(np.uint8)
    d = r.integers(-k, k + 1, gt.shape, dtype=np.int16)
    return gt, np.clip(np.roll(gt, (dy, dx), (1, 2)).astype(np.int16) + d, 0, 255).astype(np.uint8)


def plain_errors(x, y):
    """MSE and SSIM by their formulas in float64."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    taps = np.exp(-0.5 * (np.arange(-5, 6) / 1.5) ** 2)
    taps /= taps.sum()

    def mean(image):
        return correlate1d(correlate1d(image, taps, 0, mode="mirror"), taps, 1, mode="mirror")

    mx, my = mean(x), mean(y)
    vx, vy = (np.maximum(mean(v * v) - m * m, 0) for v, m in ((x, mx), (y, my)))
    ssim = (2 * mx * my + 1e-4) * (2 * (mean(x * y) - mx * my) + 9e-4) / ((mx**2 + my**2 + 1e-4) * (vx + vy + 9e-4))
    return ((x - y) ** 2).mean(), ssim.mean()


def plain_prepared(frame, width, height):
    """The frame preparation in float64, by places in the picture."""
    rows, columns = frame.shape[:2]
    scale = max(width / columns, height / rows)
    grid = round(rows * scale), round(columns * scale)
    skipped = round((grid[0] - height) / 2), round((grid[1] - width) / 2)
    at = [
        np.maximum((np.arange(n) + s + 0.5) * side / whole - 0.5, 0)
        for n, s, side, whole in zip((height, width), skipped, (rows, columns), grid, strict=True)
    ]
    places = np.meshgrid(*at, indexing="ij")
    colours = [map_coordinates(frame[..., c].astype(np.float64), places, order=1, mode="nearest") for c in range(3)]
    return np.stack(colours, -1) / 255


@pytest.mark.parametrize(("case", "probes"), cases("mind_preprocess", "cases", beside="probes_at"))
def test_vector_preprocess(case, probes):
    frame = np.random.default_rng(case["seed"]).integers(0, 256, (1, case["h"], case["w"], 3), dtype=np.uint8)[0]
    assert frame.sum() == case["input_sum"]
    found = prepared(frame)
    assert (found.shape, found.dtype) == ((720, 1280, 3), np.float32)
    np.testing.assert_allclose(
        [found[row, col, c] for c, row, col in probes["channel,row,col"]], case["probes"], atol=2e-4, rtol=0
    )
    np.testing.assert_allclose(found.mean((0, 1), dtype=np.float64), case["mean_rgb"], atol=2e-5, rtol=0)
    np.testing.assert_allclose(found.std(dtype=np.float64), case["std_all"], atol=2e-5, rtol=0)


@pytest.mark.parametrize("case", cases("mind_frame_metrics", "cases"))
def test_vector_frame_metrics(case):
    recipe = {"noise8": noise8, "blocks8": blocks8}[case["recipe"]]
    truth, predicted = recipe(np.random.default_rng(case["seed"]), **case)
    assert truth.sum() == case["input_check"]["gt_sum"]
    assert predicted.sum() == case["input_check"]["pred_sum"]
    errors = [pair_error(x, y) for x, y in zip(values(predicted), values(truth), strict=True)]
    means = mean_error(errors)
    for name, tolerance in (("mse", 1e-6), ("psnr", 1e-3), ("ssim", 3e-5)):
        expected = [float(value) for value in case["expected"][name]]
        np.testing.assert_allclose([getattr(error, name) for error in errors], expected, atol=tolerance, rtol=0)
        assert getattr(means, name) == pytest.approx(float(case["expected"][f"avg_{name}"]), abs=tolerance)


@pytest.mark.parametrize("case", cases("mind_window", "rows"))
def test_vector_window(case):
    limit = math.inf if case["video_max_time"] is None else case["video_max_time"]
    n = int(min(case["generated_frames"], case["total_minus_mark"], limit))
    assert scored_frames(n) == case["frames_scored_recommended"]
    assert scored_frames(n, "released") == case["frames_scored_released"]


def test_by_hand():
    black, grey = np.zeros((6, 8, 3), np.float32), np.full((6, 8, 3), 0.5, np.float32)
    mse, psnr, ssim = pair_error(grey, black)
    assert mse == 0.25
    assert psnr == pytest.approx(6.0206, abs=1e-4)
    assert ssim == pytest.approx(1e-4 / (0.25 + 1e-4), abs=1e-7), "no structure: only the term of brightness is left"
    assert pair_error(grey, grey) == pair_error(grey, grey.copy()) == (0.0, math.inf, 1.0)
    assert mean_error([PairError(0.2, 10.0, 0.5), PairError(0.4, 20.0, 0.7)]) == pytest.approx((0.3, 15.0, 0.6))


@pytest.mark.parametrize("size", [(6, 6), (7, 160), (13, 161), (40, 320), (6, 170), (200, 7), (90, 333)])
@pytest.mark.parametrize("step", [1, 40])
def test_equals_the_formula_in_double_precision(size, step):
    rng = np.random.default_rng(step)
    x = np.clip(np.cumsum(rng.normal(0, 0.02, (*size, 3)), 1) + 0.5, 0, 1).astype(np.float32)
    y = np.clip(x + rng.normal(0, step / 255, x.shape), 0, 1).astype(np.float32)
    mse, _, ssim = pair_error(x, y)
    assert (mse, ssim) == pytest.approx(plain_errors(x, y), rel=1e-5, abs=2e-6)


@pytest.mark.parametrize("level", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("noise", [0, 1, 3])
def test_holds_its_precision_on_nearly_flat_frames(level, noise):
    rng = np.random.default_rng(2)
    base = np.where(np.arange(200)[None, :, None] < 100, round(255 * level), 128) * np.ones((40, 1, 3), int)
    x, y = (values(np.clip(base + rng.integers(-noise, noise + 1, base.shape), 0, 255)) for _ in range(2))
    assert pair_error(x, y).ssim == pytest.approx(plain_errors(x, y)[1], abs=5e-6)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(6, 30), st.integers(6, 30))
def test_invariances(seed, rows, columns):
    x, y = np.random.default_rng(seed).random((2, rows, columns, 3), dtype=np.float32)
    error = pair_error(x, y)
    assert pair_error(y, x) == error, "to the bit"
    assert pair_error(x, x) == (0.0, math.inf, 1.0)
    for same in (lambda a: a[::-1], lambda a: a[:, ::-1], lambda a: a[..., ::-1], lambda a: a.transpose(1, 0, 2)):
        assert pair_error(same(x), same(y)) == pytest.approx(error, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("size", [(1080, 1920), (90, 160), (1, 1), (3, 500), (500, 3), (97, 131), (1440, 2560)])
def test_preparation_equals_interpolation_at_places(size):
    frame = np.random.default_rng(3).integers(0, 256, (*size, 3), dtype=np.uint8)
    for width, height in ((1280, 720), (64, 36)):
        np.testing.assert_allclose(prepared(frame, (width, height)), plain_prepared(frame, width, height), atol=2e-5)


def test_frames_of_any_size():
    # Preparation keeps what needs no scaling.
    frame = np.random.default_rng(4).integers(0, 256, (720, 1280, 3), dtype=np.uint8)
    np.testing.assert_array_equal(prepared(frame), values(frame))
    np.testing.assert_array_equal(prepared(frame[:, ::-1]), values(frame)[:, ::-1])
    white = np.full((333, 777, 3), 255, np.uint8)
    assert prepared(white).min() == prepared(white).max() == 1.0
    # The registered ones take frames of any size.
    rng = np.random.default_rng(5)
    small, large = (rng.integers(0, 256, (h, w, 3), dtype=np.uint8) for h, w in ((36, 64), (90, 120)))
    error = pair_error(prepared(small), prepared(large))
    assert (mse_720p(small, large), psnr_720p(small, large), ssim_720p(small, large)) == error
    assert (mse_720p(large, large), psnr_720p(large, large), ssim_720p(large, large)) == (0.0, math.inf, 1.0)
    one, other = prepared_pair(large, large.copy())
    assert one is other
    np.testing.assert_array_equal(prepared_pair(small, large), [prepared(small), prepared(large)])
    assert [metrics.entry(f"{name}_720p").facts["unit"] for name in PairError._fields] == ["1", "dB", "1"]


@pytest.fixture(scope="module")
def clips():
    rng = np.random.default_rng(6)
    one, other = (rng.integers(0, 256, (7, h, w, 3), dtype=np.uint8) for h, w in ((18, 32), (20, 32)))
    return Clip.from_array(one, 24), Clip.from_array(other, 24)


@pytest.mark.parametrize("threads", [1, 3])
def test_pairs_of_clips_in_order_on_any_number_of_threads(clips, threads):
    one, other = clips
    expected = [pair_error(prepared(x), prepared(y)) for x, y in zip(one, other, strict=True)]
    assert list(pair_errors(one, other, threads=threads)) == expected
    assert list(pair_errors(one[:1], other[:1], threads=threads)) == expected[:1], "a clip of one frame"
    assert list(pair_errors(one[:0], other[:0], threads=threads)) == []


@pytest.mark.parametrize("threads", [1, 2])
def test_only_a_few_pairs_are_read_ahead(clips, threads):
    frame, read = clips[0][0], 0

    def endless():
        nonlocal read
        while True:
            read += 1
            yield frame

    errors = pair_errors(endless(), endless(), threads=threads)
    for _ in range(5):
        next(errors)
    errors.close()
    assert read <= 2 * (5 + 2 * threads)


@pytest.mark.parametrize("threads", [1, 2])
def test_sides_of_different_length_are_refused_after_what_both_have(clips, threads):
    one, other = clips
    errors = pair_errors(one[:2], other[:3], threads=threads)
    if threads == 1:
        assert len([next(errors), next(errors)]) == 2
    with pytest.raises(ShapeError, match="2 predicted frames, and more reference ones"):
        list(errors)
    with pytest.raises(ShapeError, match="2 reference frames, and more predicted ones"):
        list(pair_errors(one[:3], other[:2], threads=threads))


def test_what_cannot_be_compared_is_refused():
    x = np.zeros((8, 8, 3), np.float32)
    for wrong in (x[:5], x[..., :2], x.astype(np.float64), x[0]):
        with pytest.raises(ShapeError, match="float32"):
            pair_error(wrong, wrong)
    with pytest.raises(ShapeError, match="differ"):
        pair_error(x, x[:7])
    with pytest.raises(ShapeError, match="not finite"):
        pair_error(x, x * np.float32("nan"))
    unknown = x * np.float32("nan")
    with pytest.raises(ShapeError, match="not finite"):
        pair_error(unknown, unknown)
    for wrong in (np.zeros((8, 8, 3), np.float32), np.zeros((8, 8), np.uint8), np.zeros((0, 8, 3), np.uint8)):
        with pytest.raises(ShapeError, match="uint8"):
            prepared(wrong)
    with pytest.raises(ShapeError, match="no pair"):
        mean_error([])
    for n, rule in ((-1, "all"), (5, "half")):
        with pytest.raises(UsageError):
            scored_frames(n, rule)
    with pytest.raises(UsageError, match="threads"):
        list(pair_errors([], [], threads=0))
