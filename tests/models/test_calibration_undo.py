"""What is sent to a model that moves wrongly makes it move rightly."""

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from support.calibration import content, start
from support.wrong_movers import WrongMover
from worldgauge.core.actions import LOOP_WALK, Actions, ActionSpace, camera_path, describe
from worldgauge.core.episode import Context
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import pose_from_yaw_pitch
from worldgauge.core.image import Frames
from worldgauge.core.model import RolloutRequest, checked_rollout
from worldgauge.core.video import Clip
from worldgauge.models.calibration import Calibrated, digest_of_spec, undone
from worldgauge.suites.mind.actions import walk_look

GAINS = {
    "forward": 0.5,
    "back": 2.0,
    "left": -1.25,
    "right": -0.8,
    "yaw_left": 3.0,
    "yaw_right": 1.5,
    "pitch_up": -0.5,
    "pitch_down": -2.0,
}
KEYS = [axis.name for axis in walk_look().axes]


def calibrated(folder: Path, model: WrongMover, delay: int = 0, whose: str = "asked", **a_frame: float) -> Calibrated:
    told = content(digest_of_spec(model.spec), **GAINS, delay=delay)
    told["control"] = model.spec.control
    told["space"]["axes"] = KEYS if model.spec.control == "actions" else []
    told["speed"] = {"moving": {"whose": whose}, "turning": {"whose": whose}}
    for name, value in a_frame.items():
        told["controls"][name]["a_frame"] = value
    (folder / "calibration.json").write_text(json.dumps(told))
    return Calibrated(model, folder)


def request_for(poses: np.ndarray | None = None, actions: Actions | None = None) -> RolloutRequest:
    first = start(2)
    shown = Context(Clip.from_array(first.image[None], 24.0), first.pose[None], _none(actions), first.camera)
    horizon = len(poses) if poses is not None else len(actions or ())
    return RolloutRequest(shown, horizon, 0, poses=poses, actions=actions, world=first.world)


def _none(actions: Actions | None) -> Actions:
    return Actions(walk_look(), np.zeros((0, 8), np.float32)) if actions is None else actions[:0]


def winding(n: int = 30) -> np.ndarray:
    """Poses of a walk that goes, turns and looks both ways."""
    rng = np.random.default_rng(5)
    moves = rng.uniform(-1, 1, (n, 4)) * [0.1, 0.1, math.radians(4), math.radians(2)]
    yaw, pitch, place, path = 1.4, 0.0, start(2).pose[:3, 3].copy(), []
    for forward, left, turn, tilt in moves:
        c, s = math.cos(yaw), math.sin(yaw)
        place = place + np.array([forward * c - left * s, forward * s + left * c, 0.0])
        yaw, pitch = yaw + turn, pitch + tilt
        path.append(pose_from_yaw_pitch(place, yaw, pitch))
    return np.stack(path)


@pytest.mark.parametrize("delay", [0, 4])
def test_poses_are_reached_exactly_and_on_time(delay: int, tmp_path: Path) -> None:
    model = WrongMover(GAINS, delay=delay)
    wanted = winding()
    path = calibrated(tmp_path, model, delay).camera_path(request_for(wanted))
    assert np.allclose(path, wanted, atol=1e-9)
    assert not np.allclose(model.camera_path(request_for(wanted)), wanted, atol=0.05)


def test_a_camera_that_rolls_keeps_its_roll(tmp_path: Path) -> None:
    model = WrongMover(GAINS)
    tipped = np.eye(4)
    tipped[:3, :3] = [[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1]]
    seen: list[np.ndarray] = []
    model.camera_path = lambda request: seen.append(request.poses) or winding()  # type: ignore[method-assign, func-returns-value]
    calibrated(tmp_path, model).camera_path(request_for(winding() @ tipped))
    level = pose_from_yaw_pitch(
        seen[0][:, :3, 3], np.arctan2(seen[0][:, 1, 2], seen[0][:, 0, 2]), np.arcsin(seen[0][:, 2, 2])
    )
    assert np.allclose(np.swapaxes(level[:, :3, :3], 1, 2) @ seen[0][:, :3, :3], tipped[:3, :3])


@pytest.mark.parametrize("delay", [0, 2])
def test_keys_are_swapped_scaled_and_sent_early(delay: int, tmp_path: Path) -> None:
    held = np.zeros((12, 8), np.float32)
    for t, key in enumerate(
        ["forward", "back", "left", "right", "look_up", "look_down", "look_left", "look_right"] * 2
    ):
        if t < 12:
            held[t, KEYS.index(key)] = 1
    actions = Actions(walk_look(), held)
    model = WrongMover(GAINS, control="actions", delay=delay)
    path = calibrated(tmp_path, model, delay).camera_path(request_for(actions=actions))
    assert np.allclose(path, camera_path(actions, start(2).pose), atol=1e-6)


def test_a_model_of_its_own_speed_is_held_for_a_share_of_the_frames(tmp_path: Path) -> None:
    held = np.zeros((40, 8), np.float32)
    held[:, KEYS.index("forward")] = 1
    actions = Actions(walk_look(speed_mps=1.2), held)  # 0.05 m a frame
    model = WrongMover({"forward": 1.0}, control="actions", fixed_m=0.2)
    path = calibrated(tmp_path, model, whose="own", forward=0.2).camera_path(request_for(actions=actions))
    walked = np.linalg.norm(path[-1, :2, 3] - start(2).pose[:2, 3])
    assert walked == pytest.approx(40 * 0.05, abs=0.2)
    steps = np.linalg.norm(np.diff(path[:, :2, 3], axis=0), axis=1)
    assert set(np.round(steps, 6).tolist()) == {0.0, 0.2}
    assert 9 <= (steps > 0.1).sum() <= 10


def test_a_model_that_is_too_slow_for_what_is_asked_is_not_asked(tmp_path: Path) -> None:
    held = np.zeros((4, 8), np.float32)
    held[:, 0] = 1
    model = WrongMover({"forward": 1.0}, control="actions", fixed_m=0.02)
    slow = calibrated(tmp_path, model, whose="own", forward=0.02)
    with pytest.raises(NotApplicableError, match=r"at its own speed, 0\.02 a frame by 'forward'"):
        slow.camera_path(request_for(actions=Actions(walk_look(speed_mps=2.0), held)))


def test_poses_of_a_model_of_its_own_speed_keep_their_size_and_get_their_sign(tmp_path: Path) -> None:
    model = WrongMover({name: math.copysign(1.0, gain) for name, gain in GAINS.items()})
    path = calibrated(tmp_path, model, whose="own").camera_path(request_for(winding()))
    assert np.allclose(path, winding(), atol=1e-9)


def test_angles_are_divided_and_unknown_motion_is_sent_as_it_is(tmp_path: Path) -> None:
    model = WrongMover(GAINS, control="actions")
    told = calibrated(tmp_path, model)
    values = np.array([[1, 1, 0.03, -0.02], [0, 0, -0.03, 0.02]], np.float32)
    actions = Actions(LOOP_WALK, values)
    with pytest.raises(NotApplicableError, match="calibrate it for these with --space"):
        told.camera_path(request_for(actions=actions))
    content_of = json.loads((tmp_path / "calibration.json").read_text())
    content_of["space"]["axes"] = [axis.name for axis in LOOP_WALK.axes]
    (tmp_path / "calibration.json").write_text(json.dumps(content_of))
    mended = Calibrated(model, tmp_path)
    path = mended.camera_path(request_for(actions=actions))
    assert np.allclose(path, camera_path(actions, start(2).pose), atol=1e-6)


def test_what_does_not_follow_is_sent_as_it_is(tmp_path: Path) -> None:
    model = WrongMover({"forward": 0.5})
    told = content(digest_of_spec(model.spec), forward=0.5)
    told["controls"]["left"] = {"status": "does not follow"}
    (tmp_path / "calibration.json").write_text(json.dumps(told))
    wanted = winding()
    path = Calibrated(model, tmp_path).camera_path(request_for(wanted))
    assert path is not None
    assert np.isfinite(path).all()
    aside = start(2).pose @ np.block([[np.eye(3), np.array([[0.4], [0], [0]])], [np.zeros((1, 3)), np.ones((1, 1))]])
    assert np.allclose(Calibrated(model, tmp_path).camera_path(request_for(aside[None])), aside[None])


def test_all_forms_of_a_future_still_say_the_same(tmp_path: Path) -> None:
    held = np.eye(8, dtype=np.float32)
    actions = Actions(walk_look(), held)
    model = WrongMover(GAINS)
    asked = replace(request_for(camera_path(actions, start(2).pose), actions), text=describe(actions))
    calibration = calibrated(tmp_path, model, delay=2)._calibration
    sent = undone(asked, calibration)
    assert sent.horizon == len(sent.actions) == len(sent.poses) == 10  # type: ignore[arg-type]
    assert np.allclose(camera_path(sent.actions, start(2).pose), sent.poses, atol=1e-6)  # type: ignore[arg-type]
    assert sent.text == describe(sent.actions)  # type: ignore[arg-type]
    assert sent.text != asked.text


def test_words_are_made_of_the_actions_again(tmp_path: Path) -> None:
    model = WrongMover(control="text", fps=20.0)
    right = calibrated(tmp_path, model, delay=2)
    space = replace(walk_look(), fps=20.0)
    values = np.zeros((8, len(KEYS)), np.float32)
    values[:, 0] = 1
    request = replace(asked_of(values, space), text="Walk forward 0.7 metres.")
    sent = undone(request, right._calibration)
    assert sent.horizon == 10
    metres = 8 * space.axes[0].motion.forward / GAINS["forward"]
    assert sent.text == f"Walk forward {metres:.1f} metres."
    with pytest.raises(NotApplicableError, match="told in words alone"):
        undone(replace(request, actions=None), right._calibration)


def asked_of(values: np.ndarray, space: ActionSpace) -> RolloutRequest:
    pose = start(0).pose
    context = Context(
        Clip.from_array(start(0).image[None], space.fps), pose[None], Actions(space, values[:0]), start(0).camera
    )
    actions = Actions(space, values)
    return RolloutRequest(context, len(values), 3, actions=actions, poses=camera_path(actions, pose), text="")


@pytest.mark.parametrize(("horizon", "made"), [(60, 80), (77, 80), (78, None)])
def test_a_delay_is_waited_for_within_the_lengths_of_a_model(tmp_path: Path, horizon: int, made: int | None) -> None:
    """A clip of 81 frames holds 60 and the 3 that are waited for: one clip is made, not two, and it is not refused."""
    asked: list[int] = []

    class Clips(WrongMover):
        def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
            asked.append(request.horizon)
            yield np.arange(request.horizon, dtype=np.uint8)[:, None, None, None] + np.zeros((1, 9, 16, 3), np.uint8)

    model = Clips(delay=3, lengths="80n+1 to 81")
    right = calibrated(tmp_path, model, delay=3)
    values = np.zeros((horizon, len(KEYS)), np.float32)
    values[:, 0] = 1
    request = replace(asked_of(values, walk_look()), world=start(0).world)
    if made is None:
        with pytest.raises(NotApplicableError, match=r"makes 80n.1 to 81 frames"):
            list(checked_rollout(right, request))
        return
    frames = np.concatenate(list(checked_rollout(right, request)))
    assert frames[:, 0, 0, 0].tolist() == list(range(3, 3 + horizon))
    (batch,) = right.rollout_batch([request])
    np.testing.assert_array_equal(np.concatenate(batch), frames)
    assert asked == [made, made]
