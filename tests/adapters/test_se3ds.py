"""SE3DS: poses as turns and straight runs, where each run begins, and which depth it is given."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from adapters.se3ds import SE3DS, motions, resized

from support.upstream import as_served, isolated
from support.viewpoint import DEPTH, checkpoint, moved, packages, steps
from worldgauge.core.model import checked_rollout
from worldgauge.serving.foreign import adopt
from worldgauge.suites.worldinworld.trial_questions import StepQuestions
from worldgauge_serve import NotApplicable

QUARTER = np.pi / 8


def rollout(letters: str, folder: Path, **settings: Any) -> tuple[np.ndarray, Any]:
    with packages() as models:
        model = adopt(SE3DS(weights=checkpoint(folder, "ckpt") + "/ckpt", **settings))
        return np.concatenate(list(checked_rollout(model, steps(letters)))), models[0]


def test_poses_are_turns_and_steps_ahead() -> None:
    found = np.array(motions(as_served(steps("FLRRF"))))
    np.testing.assert_allclose(found, [[0, 0.2], [QUARTER, 0], [-QUARTER, 0], [-QUARTER, 0], [0, 0.2]], atol=1e-6)
    round_and_round = np.array(motions(as_served(steps("L" * 16))))
    np.testing.assert_allclose(round_and_round, [[QUARTER, 0]] * 16, atol=1e-6)
    assert motions(as_served(steps("S"))) == [(pytest.approx(0, abs=1e-9), 0.0)]


@pytest.mark.parametrize("other", [{"ahead": -0.2}, {"left": 0.2}, {"up": 0.1}, {"ahead": 0.2, "turn": 0.3}])
def test_other_motions_are_not_applicable(other: dict[str, float], tmp_path: Path) -> None:
    asked = as_served(steps("", poses=moved(**other)))
    with packages():
        model = SE3DS(weights=checkpoint(tmp_path, "ckpt") + "/ckpt")
    with pytest.raises(NotApplicable, match="step 1 is neither a turn on the spot nor straight ahead"):
        list(model.rollout(asked))


def test_each_run_begins_from_what_is_seen_after_the_turn(tmp_path: Path) -> None:
    frames, model = rollout("FFLFR", tmp_path)
    assert [at[1] for at in model.asked] == pytest.approx([0.2, 0.4, 0.2])
    assert {at[::2] for at in model.asked} == {(0.0, 0.0)}
    assert model.starts == len(model.given) == 2
    (first, near), (second, far) = model.given
    assert frames[:2, ..., 0].tolist() == np.broadcast_to([[[2]], [[4]]], (2, 18, 32)).tolist()
    turned = np.roll(first, 64, axis=1)
    np.testing.assert_array_equal(second[..., 1:], turned[..., 1:])
    assert (second[..., 0] == 4).all(), "what was predicted last, turned"
    np.testing.assert_array_equal(far, np.roll(near, 64, axis=1))
    np.testing.assert_array_equal(frames[2], resized(second, 18, 32))
    np.testing.assert_array_equal(frames[4][..., 1:], resized(np.roll(second, -64, 1), 18, 32)[..., 1:])
    assert (frames[3:, ..., 0] == 2).all()


def test_a_run_of_more_than_fourteen_steps_begins_again(tmp_path: Path) -> None:
    _, straight = rollout("F" * 15, tmp_path)
    assert [at[1] for at in straight.asked] == pytest.approx([0.2 * n for n in range(1, 15)] + [0.2])
    assert (straight.given[1][0][..., 0] == 28).all()
    _, after_a_turn = rollout("L" + "F" * 14, tmp_path)
    assert [at[1] for at in after_a_turn.asked] == pytest.approx([0.2 * n for n in range(1, 14)] + [0.2])


def test_depth_is_a_share_of_twenty_metres_or_of_the_pictures_own_range(tmp_path: Path) -> None:
    _, metric = rollout("F", tmp_path)
    shares = metric.given[0][1]
    assert (shares[0] == 1).all(), "nothing there is as far as can be"
    assert shares[-1, [0, -1]] == pytest.approx([0.1, 0.6])
    assert set(np.unique(shares[100])) == {np.float32(d / np.float32(20)) for d in DEPTH[4]}, "no depth between two"
    _, stretched = rollout("F", tmp_path, scale="published")
    assert (stretched.given[0][1].min(), stretched.given[0][1].max()) == (0, 1)
    assert stretched.given[0][1][-1, -1] == pytest.approx((0.6 - 0.1) / 0.9)
    assert metric.config.depth_scale == 20


def test_without_depth_or_poses_it_is_not_applicable(tmp_path: Path) -> None:
    with packages():
        model = SE3DS(weights=checkpoint(tmp_path, "ckpt") + "/ckpt")
    cases = ((steps("F", depth=None), "depth of the context"), (replace(steps("F"), poses=None), "camera path"))
    for asked, what in cases:
        with pytest.raises(NotApplicable, match=f"{what} is not known"):
            list(model.rollout(as_served(asked)))


def test_frames_are_resized_as_by_another_library() -> None:
    frame = np.random.default_rng(3).integers(0, 256, (36, 64, 3), dtype=np.uint8)
    for height, width in ((32, 64), (36, 128), (18, 32), (7, 11)):
        other = cv2.resize(frame.astype(np.float32), (width, height), interpolation=cv2.INTER_LINEAR)
        assert np.abs(resized(frame, height, width) - other).max() <= 0.51
    np.testing.assert_array_equal(resized(frame, 36, 64), frame)


def test_the_closed_loop_asks_it_with_depth(tmp_path: Path) -> None:
    with packages() as models:
        model = adopt(SE3DS(weights=checkpoint(tmp_path, "ckpt") + "/ckpt"))
        asked = StepQuestions().question(model.spec, start=5, horizon=4, seed=1, size=(64, 36))
        assert np.concatenate(list(checked_rollout(model, asked))).shape == (4, 36, 64, 3)
        metres = models[0].given[0][1] * 20
    assert 0.1 < metres.min() < metres.max() <= 20


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="scale is 'm'; give 'metric' or 'published'"):
        SE3DS(scale="m", backend=object())
    with pytest.raises(FileNotFoundError, match=r"no checkpoint '.*ckpt\.index'; get it as the repository says"):
        SE3DS(weights=str(tmp_path / "ckpt"))
    with isolated(), pytest.raises(ImportError, match=r"cannot import 'tensorflow'.*install what it lists"):
        SE3DS(weights=checkpoint(tmp_path, "ckpt") + "/ckpt", root=str(tmp_path))


def test_its_weights_and_scale_are_its_identity(tmp_path: Path) -> None:
    with packages():
        folder = checkpoint(tmp_path, "ckpt", "other")
        specs = [SE3DS(weights=f"{folder}/{name}").spec for name in ("ckpt", "other")]
        assert specs[0].settings["weights"] != specs[1].settings["weights"]
        assert specs[0].settings["motion"] == "metres"
        assert "motion" not in SE3DS(weights=f"{folder}/ckpt", scale="published").spec.settings
    assert (specs[0].frame_size, specs[0].crop) == (None, None), "else the closed loop gives an estimated depth"
