""""""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import uniform_filter1d

from support.vectors import cases
from worldgauge.core.errors import ShapeError
from worldgauge.core.video import Clip
from worldgauge.metrics import metrics
from worldgauge.metrics.frame_pairs import mean_error, mse_720p, pair_error, prepared
from worldgauge.perception.score_device import Means
from worldgauge.suites.mind.metrics import scene_consistency
from worldgauge.suites.mind.metrics.scene_consistency import (
    MOTION_SHARE,
    aligned_pairs,
    moves,
    out_leg_motion,
    released_pairs,
    scene_distances,
    scene_errors,
    turn_frame,
)

SAME = (0.0, math.inf, 1.0)


def there_and_back(half, rows=18, columns=32, seed=0):
    """What a perfect renderer shows of `half` steps to the right and back: the start image, and a clip of 2 * half."""
    wide = np.random.default_rng(seed).integers(0, 256, (rows, columns + half, 3), dtype=np.uint8)
    places = [*range(half + 1), *range(half - 1, -1, -1)]
    states = np.stack([wide[:, p : p + columns] for p in places])
    return states[0], Clip.from_array(states[1:], 24)


@pytest.mark.parametrize("case", cases("mind_gsc", "cases"))
def test_vector_gsc(case):
    half, height, width = case["half"], case["H"], case["W"]
    r = np.random.default_rng(case["seed"])
    texture = r.integers(0, 256, (height, width + 4 * half + 8, 3)).astype(float)
    for axis in (0, 1):
        texture = uniform_filter1d(texture, 9, axis, mode="nearest")
    texture = np.rint(texture)
    assert texture.sum() == case["tex_sum"]
    states = [(texture[:, p : p + width] / 255).astype(np.float32) for p in (0, *case["positions"])]
    for pairs, name in (
        ([(k + 1, j + 1) for k, j in released_pairs(2 * half)], "released_pairing"),
        (aligned_pairs(2 * half), "aligned_pairing"),
    ):
        errors = [pair_error(states[k], states[j]) for k, j in pairs]
        expected = case[name]
        assert len(errors) == expected["length"]
        for field, tolerance in (("mse", 1e-6), ("psnr", 1e-3), ("ssim", 2e-4)):
            wanted = [float(value) for value in expected[field]]
            np.testing.assert_allclose([getattr(error, field) for error in errors], wanted, atol=tolerance, rtol=0)
            assert getattr(mean_error(errors), field) == pytest.approx(float(expected[f"avg_{field}"]), abs=tolerance)


def test_pairs_by_hand():
    assert (released_pairs(4), aligned_pairs(4), turn_frame(4)) == ([(0, 3), (1, 2)], [(0, 4), (1, 3)], 1)
    assert turn_frame(48) == 23
    for n in (0, 1, 47):
        for function in (released_pairs, aligned_pairs, turn_frame):
            with pytest.raises(ShapeError, match=f"even number of frames, at least 2, got {n}"):
                function(n)


@pytest.mark.parametrize(("half", "held", "threads"), [(1, 64, 1), (5, 2, 1), (4, 2, 2), (3, 64, 2)])
def test_equals_the_pairs_taken_one_by_one(half, held, threads, monkeypatch):
    monkeypatch.setattr(scene_consistency, "_HELD", held)
    frames = np.random.default_rng(half).integers(0, 256, (2 * half + 1, 9, 16, 3), dtype=np.uint8)
    states = [prepared(frame) for frame in frames]
    video = Clip.from_array(frames[1:], 24)
    found = scene_errors(video, frames[0], means=Means(threads))
    n = len(video)
    assert list(found.released) == [pair_error(states[k + 1], states[j + 1]) for k, j in released_pairs(n)]
    assert list(found.aligned) == [pair_error(states[k], states[j]) for k, j in aligned_pairs(n)]
    assert scene_errors(video, means=Means(threads)) == (found.released, ()), "without a start image nothing is aligned"


def test_a_perfect_renderer_returns_exactly_and_the_released_pairs_miss_it():
    start, video = there_and_back(4)
    found = scene_errors(video, start)
    assert set(found.aligned) == {SAME}
    assert all(error.mse > 0 and math.isfinite(error.psnr) and error.ssim < 1 for error in found.released)
    motion = out_leg_motion(start, video[turn_frame(len(video))])
    assert moves(motion, real_median=motion)


def test_a_frozen_video_gets_the_best_score_and_fails_the_gate():
    start, moving = there_and_back(3)
    frozen = Clip.from_array(np.stack([start] * 6), 24)
    found = scene_errors(frozen, start)
    assert set(found.released) == set(found.aligned) == {SAME}
    real = out_leg_motion(start, moving[turn_frame(6)])
    assert not moves(out_leg_motion(start, frozen[turn_frame(6)]), real_median=real)


@settings(max_examples=5, deadline=None)
@given(st.integers(1, 3), st.integers(0, 2**32))
def test_there_and_back_are_alike(half, seed):
    frames = np.random.default_rng(seed).integers(0, 256, (2 * half + 1, 9, 16, 3), dtype=np.uint8)
    found = scene_errors(Clip.from_array(frames[1:], 24), frames[0])
    # To single precision: which of a pair comes first changes the order of sums.
    back = scene_errors(Clip.from_array(frames[1:][::-1], 24))
    np.testing.assert_allclose(back.released, found.released, rtol=1e-6)
    back = scene_errors(Clip.from_array(frames[::-1][1:], 24), frames[-1])
    np.testing.assert_allclose(back.aligned, found.aligned, rtol=1e-6)


def test_registered_ones_are_the_means():
    frames = np.random.default_rng(8).integers(0, 256, (5, 9, 16, 3), dtype=np.uint8)
    video = Clip.from_array(frames[1:], 24)
    found = scene_errors(video, frames[0])
    for field in ("mse", "psnr", "ssim"):
        assert metrics.get(f"gsc_{field}")(video) == getattr(mean_error(found.released), field)
        assert metrics.get(f"gsc_aligned_{field}")(video, frames[0]) == getattr(mean_error(found.aligned), field)


def squared(x, y):
    return ((x - y) ** 2).mean((1, 2, 3), dtype=np.float64)


@pytest.mark.parametrize("batch", [1, 2, 10])
def test_learned_distances_are_of_the_same_pairs_in_any_batches(batch):
    frames = np.random.default_rng(5).integers(0, 256, (7, 9, 16, 3), dtype=np.uint8)
    video = Clip.from_array(frames[1:], 24)
    sizes = []

    def distances(x, y):
        sizes.append(len(x))
        return squared(x, y)

    found, errors = scene_distances(video, distances, frames[0], batch=batch), scene_errors(video, frames[0])
    assert max(sizes) == min(batch, 3)
    np.testing.assert_allclose(found.released, [error.mse for error in errors.released], rtol=1e-5)
    np.testing.assert_allclose(found.aligned, [error.mse for error in errors.aligned], rtol=1e-5)
    assert metrics.get("gsc_lpips")(video, squared) == pytest.approx(np.mean(found.released))
    assert metrics.get("gsc_aligned_lpips")(video, frames[0], squared) == pytest.approx(np.mean(found.aligned))


def test_learned_distances_by_hand_and_without_a_start():
    frames = np.zeros((4, 9, 16, 3), np.uint8) + np.uint8([51, 102, 204, 153])[:, None, None, None]
    video = Clip.from_array(frames, 24)
    np.testing.assert_allclose(scene_distances(video, squared).released, (0.4**2, 0.4**2), atol=1e-6)
    assert scene_distances(video, squared).aligned == ()
    black = np.zeros_like(frames[0])
    np.testing.assert_allclose(scene_distances(video, squared, black).aligned, (0.6**2, 0.6**2), atol=1e-6)
    start, perfect = there_and_back(3)
    assert scene_distances(perfect, squared, start).aligned == (0, 0, 0)
    assert min(scene_distances(perfect, squared, start).released) > 0


def test_an_odd_or_empty_video_is_refused():
    frames = np.zeros((3, 9, 16, 3), np.uint8)
    for n in (0, 3):
        with pytest.raises(ShapeError, match="even"):
            scene_errors(Clip.from_array(frames[:n], 24), frames[0])
        with pytest.raises(ShapeError, match="even"):
            scene_distances(Clip.from_array(frames[:n], 24), squared, frames[0])


def test_by_hand():
    start, turn = np.full((9, 16, 3), 51, np.uint8), np.full((18, 32, 3), 153, np.uint8)
    assert out_leg_motion(start, turn) == pytest.approx(0.16)
    assert moves(0.0201, real_median=0.2)
    assert not moves(0.0199, real_median=0.2)


def test_equals_the_error_of_the_pair():
    start, turn = np.random.default_rng(0).integers(0, 256, (2, 45, 80, 3), dtype=np.uint8)
    assert out_leg_motion(start, turn) == pytest.approx(mse_720p(start, turn), rel=1e-6)


def test_direction_and_place_do_not_matter():
    start, turn = np.random.default_rng(1).integers(0, 256, (2, 18, 32, 3), dtype=np.uint8)
    motion = out_leg_motion(start, turn)
    assert out_leg_motion(turn, start) == motion
    assert out_leg_motion(start[:, ::-1], turn[:, ::-1]) == pytest.approx(motion)
    assert moves(motion, 1.0) == moves(motion / 4, 0.25), "only the ratio counts"


def test_degenerate():
    still = np.random.default_rng(2).integers(0, 256, (9, 16, 3), dtype=np.uint8)
    assert out_leg_motion(still, still) == 0
    assert not moves(0.0, real_median=0.01)
    assert moves(MOTION_SHARE, real_median=1.0), "the bound itself moves"
    for motion, median in ((-1.0, 1.0), (math.nan, 1.0), (math.inf, 1.0), (0.1, 0.0), (0.1, math.nan)):
        with pytest.raises(ShapeError, match="median"):
            moves(motion, median)
    with pytest.raises(ShapeError):
        out_leg_motion(still, still[..., 0])
