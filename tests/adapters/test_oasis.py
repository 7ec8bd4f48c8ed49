"""Oasis: what reaches the transformer, and that the sampler solves what it is given."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from adapters.oasis import Oasis, action_rows, ddim_step, to_frames, to_grid, to_signed, to_tokens

from support.upstream import CAMERA_ROWS, ROOT, answered, isolated, question, walk_rows
from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import Episode
from worldgauge.core.model import Needs, checked_rollout

KEPT = np.linspace(0.9999, 0.0001, 1000)


class Networks:
    """Networks that know the answer: frame k of the rollout is the latent full of 0.01 k."""

    kept = KEPT

    def __init__(self) -> None:
        self.identity: dict[str, str] = {}
        self.asked: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.made = 0

    def encode(self, images: np.ndarray) -> np.ndarray:
        assert images.shape[1:] == (3, 360, 640)
        assert -1 <= images.min() < -0.9 < 0.9 < images.max() <= 1
        self.images = images
        marks = np.arange(len(images), dtype=np.float32) - len(images)
        return np.broadcast_to(marks[:, None, None, None], (len(images), 16, 18, 32)).copy()

    def velocity(self, latents: np.ndarray, levels: np.ndarray, rows: np.ndarray) -> np.ndarray:
        self.asked.append((latents.copy(), levels.copy(), rows.copy()))
        v = np.zeros_like(latents)
        v[-1] = (np.sqrt(KEPT[levels[-1]]) * latents[-1] - 0.01 * self.made) / np.sqrt(1 - KEPT[levels[-1]])
        return v

    def decode(self, latents: np.ndarray) -> np.ndarray:
        self.made += 1
        return np.broadcast_to(latents.mean((1, 2, 3))[:, None, None, None], (1, 3, 360, 640))


def rollout(seen: int, horizon: int, seed: int = 0, **settings: Any) -> tuple[np.ndarray, Networks]:
    networks = Networks()
    model = Oasis(backend=networks, **settings)
    request = question(walk_rows(seen - 1 + horizon), seen=seen, spec=model.spec, seed=seed)
    return np.concatenate(list(checked_rollout(model, request))), networks


@pytest.mark.parametrize("row", CAMERA_ROWS)
def test_camera_check_values(row: dict[str, float]) -> None:
    yaw = row["delta_yaw_rad"]
    turn = Actions(LOOP_WALK, np.array([[0, 0, yaw, 0]], np.float32))
    assert action_rows(turn[:0], turn, "published")[1, 16] == pytest.approx(row["oasis_value_as_published"])
    assert action_rows(turn[:0], turn)[1, 16] == pytest.approx(row["oasis_value_linear_20deg"], abs=1e-6)


def yaw_values(*degrees: float) -> np.ndarray:
    """What the model is given for turns to the left."""
    turns = Actions(LOOP_WALK, np.array([[0, 0, np.radians(each), 0] for each in degrees], np.float32))
    return action_rows(turns[:0], turns)[1:, 16]


def test_values_of_turns_are_odd_and_clipped(capsys: pytest.CaptureFixture[str]) -> None:
    assert np.array_equal(yaw_values(0, -5, -19.9), -yaw_values(0, 5, 19.9))
    assert capsys.readouterr().err == ""
    assert yaw_values(25, -90, 10).tolist() == pytest.approx([-1, 1, -0.5])
    assert "2 of 6 turns pass 20 degrees" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("camera", "pitch", "yaw"), [("degrees", -0.1, 0.2), ("published", np.radians(2), -np.radians(4))]
)
def test_rows_say_how_each_frame_was_reached(camera: str, pitch: float, yaw: float) -> None:
    up_and_right = Actions(LOOP_WALK, np.array([[1, 0, -np.radians(4), np.radians(2)], [0, 1, 0, 0]], np.float32))
    rows = action_rows(up_and_right[:1], up_and_right[1:], camera)
    expected = np.zeros((3, 25))  # nothing is known of how the first frame was reached
    expected[1, [11, 15, 16]] = 1, pitch, yaw
    expected[2, 17] = 1
    assert rows == pytest.approx(expected, abs=1e-7)


def test_ddim_step_by_hand() -> None:
    # 64% signal: sqrt 0.8 and 0.6. clean = 0.8 * 1 - 0.6 * 0.5 = 0.5, noise = 0.6 * 1 + 0.8 * 0.5 = 1.
    assert ddim_step(np.array([1.0]), np.array([0.5]), 0.64, 1.0) == pytest.approx(0.5)
    assert ddim_step(np.array([1.0]), np.array([0.5]), 0.64, 0.36) == pytest.approx(0.6 * 0.5 + 0.8 * 1.0)
    assert ddim_step(np.array([1.0]), np.array([0.5]), 0.64, 0.64) == pytest.approx(1.0), "no step, no change"


def test_frames_come_back_and_latents_keep_their_places() -> None:
    frames = np.arange(256, dtype=np.uint8).repeat(3).reshape(1, 16, 16, 3)
    assert np.array_equal(to_frames(to_signed(frames)), frames)
    assert to_frames(np.array([-2.0, 0.0, 2.0]).reshape(1, 3, 1, 1)).tolist() == [[[[0, 128, 255]]]]
    tokens = np.zeros((1, 576, 16), np.float32)
    tokens[0, 5 * 32 + 7, 3] = 1.0
    assert to_grid(tokens)[0, 3, 5, 7] == pytest.approx(0.07843137255)
    assert to_tokens(to_grid(tokens)) == pytest.approx(tokens)


@pytest.mark.parametrize("steps", [1, 3, 10])
def test_the_sampler_finds_what_the_network_means(steps: int) -> None:
    frames, _ = rollout(seen=4, horizon=5, steps=steps)
    wanted = np.rint((1 + 0.01 * np.arange(5)) * 127.5)
    assert np.array_equal(frames, np.broadcast_to(wanted[:, None, None, None], frames.shape))


def test_what_the_transformer_is_asked() -> None:
    _, networks = rollout(seen=4, horizon=3)
    rows = action_rows(*(Actions(LOOP_WALK, part) for part in np.split(walk_rows(6), [3])))
    assert len(networks.asked) == 30
    assert [levels[-1] for _, levels, _ in networks.asked[:10]] == list(range(999, 0, -100))
    for k, (latents, levels, given) in enumerate(networks.asked):
        frame = 4 + k // 10
        assert latents.shape == (frame + 1, 16, 18, 32)
        assert latents[:4, 0, 0, 0].tolist() == [-4, -3, -2, -1], "the past stays clean"
        assert levels[:-1].tolist() == [14] * frame
        assert np.array_equal(given, rows[: frame + 1])


def test_the_window_slides() -> None:
    _, networks = rollout(seen=32, horizon=3, steps=1)
    for frame, (latents, _, given) in enumerate(networks.asked):
        assert latents.shape[0] == 32, "the new frame included"
        assert given[:, 15] == pytest.approx(-np.degrees((np.arange(32) + frame) / 2000) / 20, abs=1e-6)
    assert networks.asked[2][0][-3:-1, 0, 0, 0] == pytest.approx([0.0, 0.01], abs=1e-4), "it sees what it made"


def test_a_single_frame_is_enough_and_more_than_32_are_cut() -> None:
    frames, networks = rollout(seen=1, horizon=1, steps=1)
    assert frames.shape == (1, 360, 640, 3)
    assert not networks.asked[0][2][0].any(), "nothing led to the only frame"
    _, networks = rollout(seen=40, horizon=1, steps=1)
    assert len(networks.images) == 32


def test_the_seed_alone_decides_the_noise() -> None:
    def noise(seed: int) -> np.ndarray:
        return rollout(seen=2, horizon=1, seed=seed, steps=1)[1].asked[0][0][-1]

    assert np.array_equal(noise(3), noise(3))
    assert not np.array_equal(noise(3), noise(4))
    assert noise(3).std() == pytest.approx(1, abs=0.05)


def test_declares_itself() -> None:
    spec = Oasis(backend=Networks(), steps=4).spec
    assert (spec.frame_size, spec.max_context, spec.control) == ((640, 360), 32, "actions")
    assert spec.settings == {"camera": "degrees", "steps": 4, "stabilization": 15}
    assert Needs.of(Oasis).gpus == 1
    with pytest.raises(ValueError, match="'degrees' or 'published'"):
        Oasis(backend=Networks(), camera="radians")


def test_answers_a_task(walk: tuple[Episode, int]) -> None:
    request = answered(lambda: Oasis(backend=Networks(), steps=1), walk)
    assert len(request.context) == 32


def test_says_what_is_missing(tmp_path: Any) -> None:
    with pytest.raises(FileNotFoundError, match=r"no weights at .*huggingface.co/Etched/oasis-500m.*weights=FILE"):
        Oasis(root=str(tmp_path))
    for name in ("w.pt", "v.pt"):
        (tmp_path / name).write_bytes(b"")
    with isolated(), pytest.raises(ImportError, match="root=CLONE"):
        Oasis(weights="w.pt", vae="v.pt", root=str(tmp_path), device="cpu")


def test_drives_the_repository(tmp_path: Any) -> None:
    torch = pytest.importorskip("torch", reason="the repository's networks are torch")
    paths = _checkpoints(tmp_path, torch.save)
    with isolated():
        model = Oasis(*paths, root=str(ROOT / "open_oasis"), device="cpu")
        request = question(walk_rows(5), seen=3, spec=model.spec)
        frames = np.concatenate(list(checked_rollout(model, request)))
    patches = request.context.clip[-1].reshape(18, 20, 32, 20, 3).mean((1, 3))
    expected = patches.repeat(20, axis=0).repeat(20, axis=1)
    assert np.abs(frames - expected).max() <= 1, "the stub repeats the last frame, patch by patch"
    assert len(model.spec.settings["weights"]) == 64


def test_reads_safetensors(tmp_path: Any) -> None:
    pytest.importorskip("torch", reason="the repository's networks are torch")
    save_file = pytest.importorskip("safetensors.torch", reason="the published checkpoints are safetensors").save_file
    with isolated():
        model = Oasis(*_checkpoints(tmp_path, save_file, ".safetensors"), root=str(ROOT / "open_oasis"), device="cpu")
    assert len(model.spec.settings["weights"]) == 64


def _checkpoints(folder: Any, save: Callable[[Any, str], None], suffix: str = ".pt") -> list[str]:
    import torch

    paths = [str(folder / (name + suffix)) for name in ("dit", "vae")]
    for path in paths:
        save({"gain": torch.ones(())}, path)
    return paths
