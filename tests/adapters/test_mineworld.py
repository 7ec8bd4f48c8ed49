"""MineWorld: tokens in the right order, turns in the right bins, and a window that slides."""

import json
from typing import Any

import numpy as np
import pytest
from adapters.mineworld import (
    MineWorld,
    action_rows,
    binned_deg,
    camera_bin,
    camera_deg,
    env_action,
    heading_error_deg,
    interleave,
)

from support.upstream import CAMERA_ROWS, ROOT, answered, isolated, question, walk_rows
from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import Episode
from worldgauge.core.model import Needs, checked_rollout


class Networks:
    """Image k of all is 336 times the token k; an action's tokens are its yaw in thousandths of a radian."""

    window = 32

    def __init__(self) -> None:
        self.identity: dict[str, str] = {}
        self.asked: list[tuple[np.ndarray, np.ndarray, float]] = []
        self.seeds: list[int] = []

    def seed(self, seed: int) -> None:
        self.seeds.append(seed)

    def action_tokens(self, action: dict[str, Any]) -> np.ndarray:
        return np.full(11, 1000 + round(-np.radians(action["camera"][1]) * 1000))

    def tokenize(self, images: np.ndarray) -> np.ndarray:
        assert images.shape[1:] == (3, 224, 384)
        assert -1 <= images.min() < -0.9 < 0.9 < images.max() <= 1
        self.images = len(images)
        return np.arange(self.images).repeat(336).reshape(-1, 336)

    def generate(self, prompt: np.ndarray, actions: np.ndarray, top_p: float) -> np.ndarray:
        self.asked.append((prompt, actions, top_p))
        return (prompt[-1] + 1 + np.arange(len(actions))).repeat(336).reshape(-1, 336)

    def image(self, tokens: np.ndarray) -> np.ndarray:
        return np.full((224, 384, 3), tokens[0], np.uint8)


def rollout(seen: int, horizon: int, **settings: Any) -> tuple[np.ndarray, Networks]:
    networks = Networks()
    model = MineWorld(backend=networks, **settings)
    request = question(walk_rows(seen - 1 + horizon), seen=seen, spec=model.spec, seed=5)
    return np.concatenate(list(checked_rollout(model, request))), networks


def runs(tokens: np.ndarray) -> list[int]:
    """The tokens of a prompt with repeats left out: image, action, image, ..."""
    return tokens[np.flatnonzero(np.diff(tokens, prepend=-1))].tolist()


def bin_in_words(angle_deg: float) -> int:
    """The same bins another way: the one whose two edges, found by bisection, hold the angle."""

    def bent(x: float) -> float:
        return float(np.log(1 + 11.4887 * x) / np.log(12.4887))

    edges = []
    for k in range(10):  # upper edge of the k-th bin from the centre, where the bent share is (k + 1/2) / 10
        low, high = 0.0, 1.0
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if bent(middle) < (k + 0.5) / 10 else (low, middle)
        edges.append(90 * low)
    steps = sum(abs(angle_deg) > edge for edge in edges)
    return 10 + int(np.sign(angle_deg)) * steps


@pytest.mark.parametrize("row", CAMERA_ROWS)
def test_camera_check_values(row: dict[str, float]) -> None:
    angle = camera_deg(row["delta_yaw_rad"])
    assert angle == pytest.approx(row["mineworld_input_deg"], abs=1e-6)
    assert camera_bin(angle) == row["mineworld_bin"]
    assert binned_deg(row["mineworld_bin"]) == pytest.approx(row["mineworld_decoded_deg"], abs=1e-6)


def test_bins_agree_with_their_edges_and_come_back() -> None:
    angles = np.random.default_rng(0).uniform(-89, 89, 300)
    assert camera_bin(angles).tolist() == [bin_in_words(angle) for angle in angles]
    assert np.array_equal(camera_bin(-angles), 20 - camera_bin(angles))
    assert np.array_equal(camera_bin(binned_deg(np.arange(21))), np.arange(21))
    assert camera_bin([-500, 0, 500]).tolist() == [0, 10, 20]


def test_heading_error_by_hand() -> None:
    # 0.1 rad is 5.729578 degrees and bin 8 says 5.146227: 0.583351 short a turn; 0.01 rad is lost altogether.
    assert heading_error_deg([0.1, 0.1]) == pytest.approx([-0.583351, -1.166702], abs=1e-5)
    assert heading_error_deg([0.1, -0.1])[-1] == pytest.approx(0)
    assert heading_error_deg([0.01] * 100)[-1] == pytest.approx(-57.2958, abs=1e-4)
    assert heading_error_deg([-0.03]) == pytest.approx(-heading_error_deg([0.03]))
    assert heading_error_deg(np.zeros(3)).tolist() == [0, 0, 0]


def test_an_action_in_the_models_words() -> None:
    action = env_action(np.array([1, 0, 0.1, -0.2], np.float32))  # forward, left by 0.1 rad, down by 0.2
    assert action.pop("camera") == pytest.approx(np.degrees([0.2, -0.1]), abs=1e-5), "[down, right]"
    assert action.pop("forward") == 1
    assert set(action.values()) == {0}
    assert len(action) == 19


def test_a_late_camera_leaves_the_keys_where_they_are() -> None:
    walk = Actions(LOOP_WALK, walk_rows(5))
    timely, late = action_rows(walk[:2], walk[2:]), action_rows(walk[:2], walk[2:], late_camera=True)
    assert np.array_equal(timely, walk_rows(5))
    assert np.array_equal(late[:, :2], timely[:, :2])
    assert np.array_equal(late[1:, 2:], timely[:-1, 2:])
    assert late[0, 2:].tolist() == [0, 0]


def test_interleave() -> None:
    images, actions = np.arange(3).repeat(336).reshape(3, 336), np.arange(10, 12).repeat(11).reshape(2, 11)
    tokens = interleave(images, actions)
    assert len(tokens) == 2 * 347 + 336
    assert runs(tokens) == [0, 10, 1, 11, 2]
    assert runs(interleave(images[:1], actions[:0])) == [0]


def test_one_frame_at_a_time_in_a_sliding_window() -> None:
    frames, networks = rollout(seen=5, horizon=4, context=6)
    assert frames[:, 0, 0, 0].tolist() == [5, 6, 7, 8]
    assert [runs(prompt) for prompt, _, _ in networks.asked] == [
        [0, 1000, 1, 1001, 2, 1002, 3, 1003, 4],
        [0, 1000, 1, 1001, 2, 1002, 3, 1003, 4, 1004, 5],
        [1, 1001, 2, 1002, 3, 1003, 4, 1004, 5, 1005, 6],
        [2, 1002, 3, 1003, 4, 1004, 5, 1005, 6, 1006, 7],
    ]
    assert [actions[:, 0].tolist() for _, actions, _ in networks.asked] == [[1004], [1005], [1006], [1007]]
    assert {top_p for _, _, top_p in networks.asked} == {0.8}
    assert networks.seeds == [5]


def test_the_documented_command_sees_one_frame() -> None:
    frames, networks = rollout(seen=4, horizon=40, context=1, step=31)
    assert networks.images == 1, "three of four frames are thrown away"
    assert [runs(prompt) for prompt, _, _ in networks.asked] == [[0], [31]]
    assert [len(actions) for _, actions, _ in networks.asked] == [31, 9], "the last chunk is cut"
    assert len(frames) == 40


def test_the_late_camera_reaches_the_tokens() -> None:
    _, networks = rollout(seen=3, horizon=2, late_camera=True)
    assert runs(networks.asked[0][0]) == [0, 1000, 1, 1000, 2]
    assert [actions[0, 0] for _, actions, _ in networks.asked] == [1001, 1002]


def test_says_how_far_the_heading_strays(capsys: pytest.CaptureFixture[str]) -> None:
    model = MineWorld(backend=Networks())
    turn = [0, 0, 0.1, 0]  # loses 0.58 degrees each time; the one before the first new frame does not count
    list(model.rollout(question([turn, turn, turn, [0, 0, -0.1, 0]], seen=2, spec=model.spec)))
    line = capsys.readouterr().err
    assert "a-task: the tokens' heading ends -0.6 degrees from the recorded one, 1.2 at most\n" in line
    list(model.rollout(question([[0, 0, 0, 0], [0, 0, 2.0, 0]], seen=2, spec=model.spec)))
    assert "1 turns pass 90 degrees" in capsys.readouterr().err


def test_declares_itself() -> None:
    spec = MineWorld(backend=Networks()).spec
    assert (spec.frame_size, spec.max_context, spec.chunk) == ((384, 224), 31, 1)
    assert spec.settings == {"context": 31, "step": 1, "top_p": 0.8, "late_camera": False}
    assert Needs.of(MineWorld).gpus == 1


@pytest.mark.parametrize(("context", "step"), [(32, 1), (31, 2), (0, 1), (1, 0)])
def test_context_and_step_must_fit(context: int, step: int) -> None:
    with pytest.raises(ValueError, match="window of 32 frames"):
        MineWorld(backend=Networks(), context=context, step=step)


@pytest.mark.parametrize("settings", [{}, {"context": 1, "step": 31}])
def test_answers_a_task(walk: tuple[Episode, int], settings: dict[str, int]) -> None:
    request = answered(lambda: MineWorld(backend=Networks(), **settings), walk)
    assert len(request.context) == settings.get("context", 31)


def test_says_what_is_missing(tmp_path: Any) -> None:
    with pytest.raises(FileNotFoundError, match=r"no weights at .*huggingface.co/microsoft/mineworld.*weights=FILE"):
        MineWorld(root=str(tmp_path))


def test_drives_the_repository(tmp_path: Any) -> None:
    torch = pytest.importorskip("torch", reason="the repository's networks are torch")
    torch.save({"state_dict": {"shift": torch.tensor(2)}}, tmp_path / "w.ckpt")
    params = {"params": {"transformer_config": {"params": {"max_position_embeddings": 32 * 347}}}}
    (tmp_path / "c.json").write_text(json.dumps({"model": params}))
    with isolated():
        model = MineWorld(
            str(tmp_path / "w.ckpt"), str(tmp_path / "c.json"), root=str(ROOT / "mineworld"), step=3, context=20
        )
        request = question(walk_rows(9), seen=3, spec=model.spec)
        frames = np.concatenate(list(checked_rollout(model, request)))
    bright = request.context.clip[-1].reshape(14, 16, 24, 16, 3).mean((1, 3, 4)).repeat(16, axis=0).repeat(16, axis=1)
    for k, frame in enumerate(frames):
        assert np.abs(frame[..., 0] - (bright + 2 * (k + 1))).max() <= 1.01, "the stub adds 2 a frame"
    assert set(model.spec.settings) >= {"weights", "config"}
