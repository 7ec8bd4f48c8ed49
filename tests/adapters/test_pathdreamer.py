"""Pathdreamer: straight ahead only, each frame from the shown one, or one jump as World-in-World does."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from adapters.pathdreamer import Pathdreamer, distances, resized, shares

from adapters import se3ds
from support.upstream import as_served, isolated
from support.viewpoint import DEPTH, checkpoint, moved, packages, steps
from worldgauge.core.model import checked_rollout
from worldgauge.serving.foreign import adopt
from worldgauge_serve import NotApplicable, forget_notes, notes

PARTS = ("structure_gen_ckpt", "image_gen_ckpt")


def rollout(letters: str, folder: Path, **settings: Any) -> tuple[np.ndarray, Any]:
    with packages() as models:
        model = adopt(Pathdreamer(weights=checkpoint(folder, *PARTS), **settings))
        return np.concatenate(list(checked_rollout(model, steps(letters)))), models[0]


def test_each_frame_is_predicted_at_its_distance_from_the_shown_one(tmp_path: Path) -> None:
    frames, model = rollout("FFF", tmp_path)
    assert [at[1] for at in model.asked] == pytest.approx([0.2, 0.4, 0.6])
    assert model.starts == len(model.given) == 1
    assert frames[:, 0, 0, 0].tolist() == [2, 4, 6]


def test_a_jump_repeats_the_shown_frame_and_the_record_says_so(tmp_path: Path) -> None:
    forget_notes()
    frames, model = rollout("F" * 12, tmp_path, jump=True)
    assert [at[1] for at in model.asked] == pytest.approx([2.4])
    shown = steps("F").context.clip[-1]
    np.testing.assert_array_equal(frames[:11], np.broadcast_to(shown, (11, *shown.shape)))
    assert (frames[11, ..., 0] == 24).all()
    assert notes() == ("pathdreamer: frames 1 to 11 repeat the shown one; only the last is predicted",)


def test_depth_is_a_share_of_ten_metres_or_of_the_pictures_own_range(tmp_path: Path) -> None:
    _, metric = rollout("F", tmp_path)
    assert metric.given[0][1][-1, [0, -1]] == pytest.approx([0.2, 1.0])
    _, stretched = rollout("F", tmp_path, scale="published")
    assert stretched.given[0][1][-1, [0, -1]] == pytest.approx([0.0, 1.0])
    assert (metric.config.depth_scale, stretched.config.depth_scale) == (10, 7)
    paths = (metric.config.ckpt_path, metric.config.spade_ckpt_path)
    assert paths == tuple(str(tmp_path / name) for name in PARTS)


@pytest.mark.parametrize("other", [{"ahead": -0.2}, {"left": 0.2}, {"up": 0.1}, {"turn": 0.3}, {}])
def test_what_is_not_straight_ahead_is_not_applicable(other: dict[str, float]) -> None:
    with pytest.raises(NotApplicable, match="step 1 does not lead straight ahead"):
        distances(as_served(steps("", poses=moved(**other))))
    with pytest.raises(NotApplicable, match="step 3 does not lead straight ahead"):
        distances(as_served(steps("FFLF")))


def test_it_sees_as_the_other_viewpoint_model() -> None:
    """Both adapters are files of their own, with the same two functions."""
    asked, frame = as_served(steps("F")), np.random.default_rng(4).integers(0, 256, (36, 64, 3), dtype=np.uint8)
    for scale in ("metric", "published"):
        own = shares(asked, (512, 1024), 20.0, scale)
        np.testing.assert_array_equal(own, se3ds.shares(asked, (512, 1024), 20.0, scale))
    np.testing.assert_array_equal(resized(frame, 32, 64), se3ds.resized(frame, 32, 64))
    assert own.shape == (512, 1024)
    assert DEPTH.max() == np.inf


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="scale is 'm'; give 'metric' or 'published'"):
        Pathdreamer(scale="m", backend=object())
    checkpoint(tmp_path, PARTS[0])
    with pytest.raises(FileNotFoundError, match=r"no checkpoint '.*image_gen_ckpt\.index'; get both"):
        Pathdreamer(weights=str(tmp_path))
    with isolated(), pytest.raises(ImportError, match=r"cannot import 'tensorflow'.*give root=PARENT"):
        Pathdreamer(weights=checkpoint(tmp_path, *PARTS), root=str(tmp_path))
