"""Validation: numbers of known answers, and what opposite keys are."""

import numpy as np
import pytest

from worldgauge.core.actions import CAMERA_MOTION, HAND_POSES, LOOP_WALK, Actions
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera
from worldgauge.models.baselines.tiny import Told, action_rows
from worldgauge.suites.mind.actions import walk_look
from worldgauge.suites.worldinworld.models import mirrored
from worldgauge.worlds.tabletop.pose_plans import as_actions, from_actions
from worldgauge.worlds.walking.primitives import NAV_STEPS
from worldgauge_train.training.cache import CachedClip
from worldgauge_train.training.validation import COLUMNS, RolloutInput, Validation, opposite_of, psnr, sideways_px

CAMERA = Camera.from_horizontal_fov(64, 36, 90)


def clip(seed: int, frames: int = 216) -> CachedClip:
    """A picture that runs to the right by half a pixel a frame."""
    rng = np.random.default_rng(seed)
    wide = np.repeat(rng.integers(0, 256, (36, 90, 3)), 2, axis=1).astype(np.float32)
    shown = [0.5 * (wide[:, 110 - (t + 1) // 2 :][:, :64] + wide[:, 110 - t // 2 :][:, :64]) for t in range(frames)]
    rows = np.zeros((frames, 9), np.float32)
    return CachedClip(f"{seed}", "s", "w", np.stack(shown).astype(np.uint8), rows, np.zeros((frames, 5)))


def test_the_truth_is_perfect_and_a_frozen_picture_is_not() -> None:
    validation = Validation([clip(0), clip(1)], 24.0, np.eye(9, dtype=np.float32))
    assert (validation.shown, validation.horizon) == (72, 144)
    truths = validation.truths()
    found, drawn = validation.measure(
        lambda asked: [truth[: len(one.rows)] for one, truth in zip(asked, truths, strict=True)]
    )
    assert tuple(found) == COLUMNS
    assert found["mse_6s"] == 0
    assert found["turn_sign"] == found["detail_1s"] == found["energy_3_6s"] == pytest.approx(1)
    assert found["gain_db"] == 0
    assert found["psnr_144"] == pytest.approx(-20 * np.log10(0.1 / 255))
    assert drawn[0].shape == (144, 36, 64, 3)

    def freeze(asked: list[RolloutInput]) -> list[np.ndarray]:
        return [np.repeat(one.past[-1:], len(one.rows), 0) for one in asked]

    found, _ = validation.measure(freeze)
    assert found["mse_2s"] == found["freeze_mse_2s"]
    assert found["turn_sign"] == 0
    assert found["turn_error_px"] == pytest.approx(2, abs=0.2)


def test_short_clips_leave_numbers_out() -> None:
    found, _ = Validation([clip(0, 60)], 24.0, np.eye(9, dtype=np.float32)).measure(
        lambda asked: [np.zeros((len(one.rows), 36, 64, 3), np.uint8) for one in asked]
    )
    assert found["mse_6s"] is None
    assert found["psnr_144"] is None
    assert found["mse_1s"] is not None
    with pytest.raises(UsageError, match="too short"):
        Validation([clip(0, 5)], 24.0, np.eye(9, dtype=np.float32))


@pytest.mark.parametrize("told", ["keys", "motion", "both"])
def test_opposites_of_keys(told: Told) -> None:
    def turned(space: object, one: int, other: int) -> None:
        values = np.eye(len(space), dtype=np.float32)  # type: ignore[arg-type]
        rows = action_rows(Actions(space, values), CAMERA, told)  # type: ignore[arg-type]
        np.testing.assert_allclose((rows @ opposite_of(space, told))[one], rows[other], atol=1e-6)  # type: ignore[arg-type]

    for one, other in ((0, 1), (2, 3), (4, 5), (7, 6)):
        turned(walk_look(), one, other)
    turned(NAV_STEPS, 1, 2)
    turned(NAV_STEPS, 0, 0)  # forward has no opposite
    turned(LOOP_WALK, 0, 0)
    for space, column in ((CAMERA_MOTION, 1), (LOOP_WALK, 2)):
        rows = action_rows(Actions(space, np.eye(len(space), dtype=np.float32)), CAMERA, told)
        np.testing.assert_allclose((rows @ opposite_of(space, told))[column], -rows[column], atol=1e-6)


@pytest.mark.parametrize("told", ["keys", "both"])
def test_the_opposite_of_a_hand_is_its_mirror_image(told: Told) -> None:
    asked = Actions(HAND_POSES, np.array([[0.5, 0.2, 0.9, 3.0, 0.1, 0.7, 1], [0.3, -0.1, 1.1, -2.8, 0, -2, 0]], "f4"))
    mirrors = as_actions(np.array([mirrored(pose) for pose in from_actions(asked)]))
    rows, others = (action_rows(one, CAMERA, told) for one in (asked, mirrors))
    np.testing.assert_allclose(rows @ opposite_of(HAND_POSES, told), others, atol=1e-5)


def test_shifts_are_found_below_a_pixel() -> None:
    rng = np.random.default_rng(2)
    wide = np.cumsum(rng.normal(0, 20, (36, 200, 3)), axis=1) % 255
    smooth = np.stack([np.convolve(wide[0, :, 0], np.ones(5) / 5, "same")] * 36)[..., None].repeat(3, 2)

    def seen(at: float) -> np.ndarray:
        x = np.arange(64) + 60 - at
        low, share = np.floor(x).astype(int), (x % 1)[None, :, None]
        return ((1 - share) * smooth[:, low] + share * smooth[:, low + 1]).astype(np.uint8)

    for shift in (-7.0, -2.5, 0.0, 3.0, 5.5):
        assert sideways_px(seen(0), seen(shift)) == pytest.approx(shift, abs=0.4)


def test_psnr_of_a_known_error() -> None:
    truth = np.full((1, 4, 4, 3), 100, np.uint8)
    assert psnr(truth + 10, truth) == pytest.approx(20 * np.log10(25.5))
