"""DIAMOND: one-hot turns, the rows that stand beside each frame, and a bicubic that is torch's."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from adapters.diamond import Diamond, action_rows, bicubic, camera_bin, one_hot, to_frames, to_signed

from support.upstream import CAMERA_ROWS, ROOT, answered, isolated, question, records_of, walk_rows
from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import Episode
from worldgauge.core.model import Needs, checked_rollout
from worldgauge.core.video import resize


class Networks:
    """Small frame k of the rollout is full of 0.01 k; the upsampler repeats it."""

    def __init__(self) -> None:
        self.identity: dict[str, str] = {}
        self.asked: list[tuple[np.ndarray, np.ndarray]] = []
        self.previous: list[np.ndarray] = []
        self.seeds: list[int] = []

    def seed(self, seed: int) -> None:
        self.seeds.append(seed)

    def sample(self, frames: np.ndarray, actions: np.ndarray) -> np.ndarray:
        self.asked.append((frames, actions))
        return np.full((3, 36, 64), 0.01 * len(self.asked), np.float32)

    def upsample(self, previous: np.ndarray, small: np.ndarray) -> np.ndarray:
        self.previous.append(previous)
        return np.full((3, 180, 320), small[0, 0, 0], np.float32)


def rollout(seen: int, horizon: int, **settings: Any) -> tuple[np.ndarray, Networks, Any]:
    networks = Networks()
    model = Diamond(backend=networks, **settings)
    request = question(walk_rows(seen - 1 + horizon), seen=seen, spec=model.spec, seed=9)
    return np.concatenate(list(checked_rollout(model, request))), networks, request


def binned_rad(number: Any) -> Any:
    """The turn in radians of a bin."""
    bent = np.asarray(number, np.float64) / 5 - 1
    return np.asarray(np.sign(bent) * (6 ** np.abs(bent) - 1) / 50)


@pytest.mark.parametrize("row", CAMERA_ROWS)
def test_camera_check_values(row: dict[str, float]) -> None:
    assert camera_bin(row["delta_yaw_rad"]) == row["diamond_bin"]
    assert camera_bin(np.float32(row["delta_yaw_rad"])) == row["diamond_bin"]
    assert binned_rad(row["diamond_bin"]) == pytest.approx(row["diamond_decoded_rad"], abs=1e-6)


def test_bins_are_even_and_come_back() -> None:
    turns = np.random.default_rng(0).uniform(0, 0.2, 300)
    assert np.array_equal(camera_bin(-turns), 10 - camera_bin(turns))
    assert np.array_equal(camera_bin(binned_rad(np.arange(11))), np.arange(11))
    # Another way: the bin is the number of edges passed; an edge is the turn that bends to half a step.
    edges = 0.1 * (6 ** ((np.arange(5) + 0.5) / 5) - 1) / 5
    assert np.array_equal(camera_bin(turns), 5 + (turns[:, None] > edges).sum(1))


def test_one_hot_by_hand() -> None:
    actions = one_hot(np.array([[1, 0, 0.1, 0.0], [0, 1, -0.03, 0.0]]))
    expected = np.zeros((2, 24))
    expected[0, [0, 2 + 10, 13 + 5]] = 1
    expected[1, [1, 2 + 2, 13 + 5]] = 1
    assert np.array_equal(actions, expected)


def test_turns_past_the_limit_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    def rows(yaw: float) -> np.ndarray:
        walk = Actions(LOOP_WALK, np.array([[0, 0, yaw, 0]], np.float32))
        return action_rows(walk[:0], walk)

    rows(0.1)
    assert capsys.readouterr().err == "", "0.1 in single precision is no turn past 0.1"
    assert camera_bin(rows(-0.15)[0, 2]) == 0
    assert "1 turns pass 0.1 rad a frame; clipped" in capsys.readouterr().err


def test_bicubic_by_hand() -> None:
    flat = np.full((1, 3, 180, 320), 0.25, np.float32)
    assert bicubic(flat, (36, 64)) == pytest.approx(np.full((1, 3, 36, 64), 0.25))
    ramp = np.broadcast_to(np.arange(320, dtype=np.float32), (1, 1, 180, 320))
    inner = bicubic(ramp, (36, 64))[0, 0, 18, 2:-2]
    assert inner == pytest.approx(5 * np.arange(2, 62) + 2, abs=1e-4), "a straight line stays straight, at the centres"
    # Halving 16 to 8: pixel 3 has its centre at 6.5 of the old ones, and an impulse at 7 is a quarter unit away.
    impulse = np.zeros((1, 1, 2, 16), np.float32)
    impulse[..., 7] = 1
    weights = [
        1.5 * d**3 - 2.5 * d**2 + 1 if d < 1 else -0.5 * d**3 + 2.5 * d**2 - 4 * d + 2 for d in (0.25, 0.75, 1.25, 1.75)
    ]
    assert bicubic(impulse, (1, 8))[0, 0, 0, 3] == pytest.approx(weights[0] / (2 * sum(weights)))


def test_bicubic_is_torchs() -> None:
    torch = pytest.importorskip("torch", reason="compares with torch")
    images = np.random.default_rng(0).uniform(-1, 1, (2, 3, 180, 320)).astype(np.float32)
    theirs = torch.nn.functional.interpolate(torch.from_numpy(images), (36, 64), mode="bicubic", antialias=True)
    assert bicubic(images, (36, 64)) == pytest.approx(theirs.numpy(), abs=2e-6)


def test_halving_by_area_is_the_loaders_bilinear() -> None:
    frame = np.random.default_rng(0).integers(0, 256, (360, 640, 3), dtype=np.uint8)
    assert np.array_equal(resize(frame, 320, 180), cv2.resize(frame, (320, 180), interpolation=cv2.INTER_LINEAR))


def test_what_the_denoiser_is_asked() -> None:
    frames, networks, request = rollout(seen=6, horizon=6)
    assert frames[:, 0, 0, 0].tolist() == np.rint((1 + 0.01 * np.arange(1, 7)) * 127.5).tolist()
    acts = one_hot(walk_rows(11))
    small = bicubic(to_signed(request.context.clip.to_array()), (36, 64))
    for t, (past, given) in enumerate(networks.asked):
        assert np.array_equal(given, acts[2 + t : 6 + t]), "the last row leads to the new frame"
        kept = max(0, 4 - t)
        assert past.shape == (4, 3, 36, 64)
        assert np.array_equal(past[:kept], small[6 - kept :])
        assert past[kept:, 0, 0, 0] == pytest.approx(0.01 * np.arange(t + 1)[-(4 - kept) :] if kept < 4 else [])
    assert np.array_equal(networks.previous[0], to_signed(request.context.clip.to_array())[-1])
    assert [full[0, 0, 0] for full in networks.previous[1:]] == pytest.approx(0.01 * np.arange(1, 6))
    assert networks.seeds == [9]


def test_a_short_context_stands_still_before() -> None:
    _, networks, request = rollout(seen=2, horizon=1)
    past, acts = networks.asked[0]
    first, last = bicubic(to_signed(request.context.clip.to_array()), (36, 64))
    assert [np.array_equal(frame, first) for frame in past] == [True, True, True, False]
    assert np.array_equal(past[3], last)
    idle = np.zeros(24)
    idle[[7, 18]] = 1
    assert np.array_equal(acts[:2], [idle, idle])
    assert np.array_equal(acts[2:], one_hot(walk_rows(2)))


def test_the_late_camera_of_the_loader() -> None:
    _, networks, _ = rollout(seen=5, horizon=3, late_camera=True)
    rows = walk_rows(7)
    rows[1:, 2:] = walk_rows(7)[:-1, 2:]
    assert np.array_equal(networks.asked[-1][1], one_hot(rows)[3:])


def test_the_late_camera_is_the_record_as_it_is(walk: tuple[Episode, int], walks: Path) -> None:
    episode, _ = walk
    rows = action_rows(episode.actions[:0], episode.actions, late_camera=True)
    raw = [record["action"] for record in records_of(episode.id, walks)]
    expected = np.array([[one["forward"], one["jump"], *one["camera"]] for one in raw], np.float32)
    assert np.array_equal(rows[1:], expected[1:-1])


def test_to_frames_rounds() -> None:
    frames = np.arange(256, dtype=np.uint8).repeat(3).reshape(1, 16, 16, 3)
    assert np.array_equal(to_frames(to_signed(frames)), frames)


def test_declares_itself() -> None:
    spec = Diamond(backend=Networks()).spec
    assert (spec.frame_size, spec.max_context) == ((320, 180), 4)
    assert spec.settings == {"context": 4, "late_camera": False}
    assert Diamond(backend=Networks(), context=32).spec.max_context == 32
    assert Needs.of(Diamond).gpus == 1
    with pytest.raises(ValueError, match="context is 0"):
        Diamond(backend=Networks(), context=0)


def test_answers_a_task(walk: tuple[Episode, int]) -> None:
    request = answered(lambda: Diamond(backend=Networks()), walk)
    assert len(request.context) == 4


def test_says_what_is_missing(tmp_path: Any) -> None:
    with pytest.raises(FileNotFoundError, match=r"no weights at .*train branch csgo"):
        Diamond(root=str(tmp_path))


def test_drives_the_repository(tmp_path: Any) -> None:
    torch = pytest.importorskip("torch", reason="the repository's networks are torch")
    torch.save({"denoiser.gain": torch.tensor(0.5), "upsampler.gain": torch.tensor(1.0)}, tmp_path / "w.pt")
    with isolated():
        model = Diamond(str(tmp_path / "w.pt"), root=str(ROOT / "diamond"), device="cpu")
        request = question(walk_rows(6), seen=5, spec=model.spec, seed=2)
        frames = np.concatenate(list(checked_rollout(model, request)))
        again = np.concatenate(list(checked_rollout(model, request)))
    small = bicubic(to_signed(request.context.clip[-1][None]), (36, 64))
    for k in range(2):
        large = torch.nn.functional.interpolate(
            torch.from_numpy(small) * 0.5 ** (k + 1), scale_factor=5, mode="bicubic"
        )
        assert np.abs(frames[k] - ((large[0].numpy() + 1) * 127.5).transpose(1, 2, 0)).max() < 0.08 * 127.5
    assert np.array_equal(frames, again), "same seed, same noise"
    upsampler = model._backend._upsampler
    assert upsampler.cfg.s_churn == 10
    assert upsampler.denoiser.cfg.inner_model.num_actions == 24
    assert model._backend._next.cfg.sigma_max == 20
