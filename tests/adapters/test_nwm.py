"""NWM: steps in the walker's own heading, the centre of the frame, and the release's four differences by name."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from adapters.nwm import NWM, centre, closed_loop_deltas, heading, published_deltas, to_signed, trained_deltas, wrapped

from support.upstream import ROOT, answered, isolated, question, records_of, walk_rows
from worldgauge.core.actions import LOOP_WALK, Actions, camera_path
from worldgauge.core.episode import Episode
from worldgauge.core.geometry import pose_from_yaw_pitch, wrap_angle
from worldgauge.core.model import Needs, checked_rollout, visible
from worldgauge.suites.loopnav.protocol import make_request
from worldgauge.suites.loopnav.settings import LoopNavSettings
from worldgauge.suites.worldinworld.trial_questions import StepQuestions
from worldgauge.worlds.walking.primitives import Primitive
from worldgauge.worlds.walking.primitives import poses_of as poses_ahead

LOW, HIGH = np.array([-2.5, -4.0]), np.array([5.0, 4.0])


class Networks:
    """Frame k of the rollout is 0.1 k in red, 0 in green, -0.1 k in blue."""

    def __init__(self) -> None:
        self.identity: dict[str, str] = {}
        self.asked: list[tuple[np.ndarray, np.ndarray]] = []
        self.seeds: list[int] = []

    def seed(self, seed: int) -> None:
        self.seeds.append(seed)

    def predict(self, frames: np.ndarray, move: np.ndarray) -> np.ndarray:
        assert frames.shape[1:] == (3, 224, 224)
        self.asked.append((frames, move))
        colour = 0.1 * len(self.asked) * np.array([1, 0, -1], np.float32)
        return np.broadcast_to(colour[:, None, None], (3, 224, 224))


def rollout(seen: int, horizon: int, **settings: Any) -> tuple[np.ndarray, Networks, Any]:
    networks = Networks()
    model = NWM(backend=networks, **settings)
    request = question(walk_rows(seen - 1 + horizon), seen=seen, spec=model.spec, seed=4, start_yaw=1.0)
    return np.concatenate(list(checked_rollout(model, request))), networks, visible(request, model.spec)


def poses_of(xyyaw: list[tuple[float, float, float]]) -> np.ndarray:
    return np.stack([pose_from_yaw_pitch((x, y, 7.0), yaw) for x, y, yaw in xyyaw])


def test_trained_deltas_by_hand() -> None:
    # Facing +y: 1 m forward; then 1 m to -x, which is left, while turning right by 0.1 rad; then nothing.
    poses = poses_of([(0, 0, np.pi / 2), (0, 1, np.pi / 2), (-1, 1, np.pi / 2 - 0.1), (-1, 1, np.pi / 2 - 0.1)])
    still = -1 / 3  # 0 of -2.5..5
    assert trained_deltas(poses, LOW, HIGH) == pytest.approx(
        np.array([[still + 2 / 7.5, 0, 0], [still, 0.25, -0.1], [still, 0, 0]]), abs=1e-6
    )


def test_trained_deltas_do_not_know_where_north_is() -> None:
    walk = camera_path(Actions(LOOP_WALK, walk_rows(30)), pose_from_yaw_pitch((0, 0, 0), 0.0))
    turned = camera_path(Actions(LOOP_WALK, walk_rows(30)), pose_from_yaw_pitch((50, -9, 0), 2.0))
    assert trained_deltas(walk, LOW, HIGH) == pytest.approx(trained_deltas(turned, LOW, HIGH), abs=1e-6)


def test_a_turn_through_the_half_circle_is_small() -> None:
    poses = poses_of([(0, 0, np.pi - 0.05), (0, 0, -np.pi + 0.05)])
    assert trained_deltas(poses, LOW, HIGH)[0, 2] == pytest.approx(0.1)
    assert wrapped(np.array([np.pi, -np.pi, 7.0])) == pytest.approx(wrap_angle([np.pi, -np.pi, 7.0]))


def test_pitch_does_not_matter() -> None:
    assert heading(pose_from_yaw_pitch((0, 0, 0), 2.5, -1.2)[None])[0] == pytest.approx(2.5)


def test_published_deltas_by_hand() -> None:
    # Game yaw 0 looks to -z, our +y. From it, one step of 1 m: (x, z) = (0, -1), not turned, normalised by 8 m.
    first = pose_from_yaw_pitch((2, 3, 0), np.pi / 2)
    poses = poses_of([(2, 3, np.pi / 2), (2, 4, np.pi / 2 + 0.2), (3, 4, np.pi / 2 + 0.2)])
    assert published_deltas(poses, first, LOW, HIGH) == pytest.approx(
        np.array([[0, -0.25, 0.2], [2 / 7.5, 0, 0]]), abs=1e-6
    )
    # Game yaw p: a step forward, (-sin p, -cos p), comes out as (-sin 2p, -cos 2p): turned twice, not undone.
    p = 0.4
    ahead = poses_of([(0, 0, np.pi / 2 + p), (-np.sin(p), np.cos(p), np.pi / 2 + p)])
    assert published_deltas(ahead, ahead[0], LOW, HIGH)[0] == pytest.approx(
        [-np.sin(2 * p) * 2 / 7.5, -np.cos(2 * p) / 4, 0], abs=1e-6
    )


def test_the_published_angle_jumps() -> None:
    first = pose_from_yaw_pitch((0, 0, 0), 0.0)
    poses = poses_of([(0, 0, np.pi - 0.05), (0, 0, np.pi + 0.05)])
    assert published_deltas(poses, first, LOW, HIGH)[0, 2] == pytest.approx(0.1 - 2 * np.pi, abs=1e-6)


def test_published_deltas_from_the_records_themselves(walk: tuple[Episode, int], walks: Path) -> None:
    episode, start = walk
    records = records_of(episode.id, walks)
    position = np.array([[record["x"], record["z"]] for record in records])
    yaw = np.array([record["yaw"] for record in records])
    turn = np.array([[np.cos(yaw[0]), -np.sin(yaw[0])], [np.sin(yaw[0]), np.cos(yaw[0])]])
    scaled = 2 * ((position - position[0]) @ turn - LOW) / (HIGH - LOW) - 1
    told = np.diff(np.column_stack([scaled, wrap_angle(yaw - yaw[0])]), axis=0)

    model = NWM(backend=Networks(), context=8, deltas="published")
    request = make_request(episode, start, model.spec, LoopNavSettings(), seed=3)
    for _ in model.rollout(request):
        pass
    moves = np.stack([move for _, move in model._backend.asked])
    assert moves == pytest.approx(told[start - 1 :], abs=1e-6)


def test_what_the_transformer_is_asked() -> None:
    frames, networks, request = rollout(seen=6, horizon=5, context=4)
    assert len(networks.asked) == 5
    told = trained_deltas(np.concatenate([request.context.poses[-1:], request.poses]), LOW, HIGH)
    assert np.array_equal(np.stack([move for _, move in networks.asked]), told)
    seen = to_signed(request.context.clip.to_array())
    assert np.array_equal(networks.asked[0][0], seen[2:])
    assert np.array_equal(networks.asked[1][0][:3], seen[3:])
    assert networks.asked[4][0][:, 0, 0, 0] == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert frames[:, 0, 0].tolist() == np.rint((1 + np.outer(np.arange(1, 6), [0.1, 0, -0.1])) * 127.5).tolist()
    assert networks.seeds == [4]


def test_a_short_context_is_filled_up() -> None:
    _, networks, request = rollout(seen=2, horizon=1, context=4)
    first, last = to_signed(request.context.clip.to_array())
    assert np.array_equal(networks.asked[0][0], np.stack([first, first, first, last]))


def test_one_frame_short_comes_late() -> None:
    frames, networks, request = rollout(seen=3, horizon=4, one_short=True)
    assert np.array_equal(frames[0], request.context.clip[-1])
    assert len(networks.asked) == 3
    assert np.array_equal(frames[1:], rollout(seen=3, horizon=4)[0][:3])
    assert len(rollout(seen=3, horizon=1, one_short=True)[0]) == 1


def test_red_and_blue_exchanged_go_in_and_come_back() -> None:
    frames, networks, request = rollout(seen=3, horizon=1, bgr=True)
    assert np.array_equal(networks.asked[0][0][-1], to_signed(request.context.clip.to_array())[-1, ::-1])
    assert np.array_equal(frames, rollout(seen=3, horizon=1)[0][..., ::-1])


def test_published_deltas_use_the_first_record() -> None:
    _, networks, request = rollout(seen=9, horizon=2, context=4, deltas="published")
    assert len(request.context) == 9
    assert len(networks.asked[0][0]) == 4
    poses = np.concatenate([request.context.poses[-1:], request.poses])
    told = published_deltas(poses, request.context.poses[0], LOW, HIGH)
    assert np.array_equal(np.stack([move for _, move in networks.asked]), told)


def test_the_published_crop_shows_the_centre_only() -> None:
    _, networks, request = rollout(seen=3, horizon=1, crop="published")
    seen = request.context.clip.to_array()
    level = 1 / 127.5  # 9/16 of 4/3 is 0.75 but for the last bit, and halves round either way
    assert networks.asked[0][0][-3:] == pytest.approx(to_signed(centre(seen, 0.75)), abs=1.01 * level)


def test_centre_by_hand() -> None:
    # 8 pixels, the middle half: new centres at 2.25, 2.75, 3.25, ... in the old pixels' centres.
    row = np.array([0, 10, 20, 30, 50, 60, 70, 80], np.uint8)
    frames = np.broadcast_to(row[None, None, :, None], (1, 2, 8, 3))
    expected = np.rint([17.5, 22.5, 27.5, 35, 45, 52.5, 57.5, 62.5])
    assert centre(frames, 0.5)[0, 1, :, 2].tolist() == expected.tolist()
    assert np.array_equal(centre(frames, 1.0), frames)


def test_declares_itself() -> None:
    spec = NWM(backend=Networks()).spec
    assert (spec.frame_size, spec.max_context, spec.control, spec.crop) == ((224, 224), 32, "camera", (4, 3))
    assert NWM(backend=Networks(), crop="published").spec.crop is None
    assert NWM(backend=Networks(), deltas="published").spec.max_context is None
    changed = {"deltas": "published", "crop": "published", "one_short": True, "bgr": True, "steps": 10}
    assert {name: NWM(backend=Networks(), **changed).spec.settings[name] for name in changed} == changed
    assert Needs.of(NWM).gpus == 1
    with pytest.raises(ValueError, match="deltas is 'released'; give 'trained' or 'published'"):
        NWM(backend=Networks(), deltas="released")


@pytest.mark.parametrize("settings", [{}, {"deltas": "published", "crop": "published", "one_short": True, "bgr": True}])
def test_answers_a_task(walk: tuple[Episode, int], settings: dict[str, Any]) -> None:
    answered(lambda: NWM(backend=Networks(), context=8, **settings), walk)


def test_says_what_is_missing(tmp_path: Any) -> None:
    with pytest.raises(FileNotFoundError, match=r"no weights at .*weights=FILE"):
        NWM(root=str(tmp_path))


def test_drives_the_repository(tmp_path: Any) -> None:
    torch = pytest.importorskip("torch", reason="the repository's networks are torch")
    import argparse

    stored = {"ema": {"_orig_mod.gain": torch.tensor(0.5)}, "args": argparse.Namespace(epochs=600)}
    torch.save(stored, tmp_path / "w.pth.tar")
    with isolated():
        model = NWM(str(tmp_path / "w.pth.tar"), root=str(ROOT / "nwm"), context=4, device="cpu")
        request = question(walk_rows(7), seen=5, spec=model.spec)
        frames = np.concatenate(list(checked_rollout(model, request)))
        again = np.concatenate(list(checked_rollout(model, request)))
        told = model._backend._network.told
    means = request.context.clip[-1].reshape(28, 8, 28, 8, 3).mean((1, 3)).repeat(8, axis=0).repeat(8, axis=1)
    for k, frame in enumerate(frames):
        assert np.abs(frame - ((means - 127.5) * 0.5 ** (k + 1) + 127.5)).max() < 5, "half of it a frame, and noise"
    assert np.array_equal(frames, again), "same seed, same noise"
    poses = np.concatenate([request.context.poses[-1:], request.poses])
    assert np.array(told[:3]) == pytest.approx(trained_deltas(poses, LOW, HIGH))


def test_closed_loop_deltas_by_hand() -> None:
    # Facing +y: 0.2 m forward, a turn to the left by 22.5 degrees, 0.2 m that way. Metres by 0.25 m of spacing.
    turn = np.pi / 8
    poses = poses_of([
        (0, 0, np.pi / 2), (0, 0.2, np.pi / 2), (0, 0.2, np.pi / 2 + turn),
        (-0.2 * np.sin(turn), 0.2 + 0.2 * np.cos(turn), np.pi / 2 + turn),
    ])  # fmt: skip
    deltas = closed_loop_deltas(poses, LOW / 4, HIGH / 4)
    ahead, aside = 0.8 * 2 / 7.5, 0.8 * 2 / 8
    assert deltas == pytest.approx(
        np.array([
            [-1 / 3, 0, 0], [ahead, 0, 0], [0, 0, turn], [ahead * np.cos(turn), aside * np.sin(turn), 0],
        ]), abs=1e-6,
    )  # fmt: skip


def test_a_decision_of_the_closed_loop_reaches_the_networks() -> None:
    """One view of 90 degrees, its centre 4:3 at 224x224, four times; a null step first, whose frame is not given."""
    networks = Networks()
    model = NWM(backend=networks, deltas="world-in-world", context=4, low=LOW / 4, high=HIGH / 4)
    asked = StepQuestions().question(model.spec, start=1, horizon=3, seed=4)
    steps = (Primitive.FORWARD, Primitive.TURN_LEFT, Primitive.FORWARD)
    asked = replace(asked, poses=poses_ahead(steps, asked.context.poses[-1]))
    frames = np.concatenate(list(checked_rollout(model, asked)))
    assert frames.shape == (3, 224, 224, 3)
    assert [tuple(move.shape) for _, move in networks.asked] == [(3,)] * 4
    first, null = networks.asked[0]
    assert null == pytest.approx([-1 / 3, 0, 0], abs=1e-6)
    np.testing.assert_array_equal(first[0], first[3])
    np.testing.assert_array_equal(first[3], to_signed(asked.context.clip.to_array())[0])
    # The null step's frame is gone on from, and the first that is given is the one after it: 0.2 in red.
    assert networks.asked[1][0][3, 0, 0, 0] == pytest.approx(0.1)
    assert frames[0, 0, 0, 0] == np.rint(1.2 * 127.5)
