"""WorldMem: the memory holds the exploration with its true poses, in the game's axes; turns as it was taught them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from adapters.worldmem import WorldMem, action_rows, game_poses, to_unit

from support.upstream import ROOT, as_served, complaints, isolated, question, records_of, walk_rows
from worldgauge.core.actions import HAND_POSES, LOOP_WALK, Actions
from worldgauge.core.episode import Episode
from worldgauge.core.geometry import pose_from_yaw_pitch
from worldgauge.core.model import Needs, checked_rollout, visible
from worldgauge.suites.loopnav.protocol import make_request
from worldgauge.suites.loopnav.settings import LoopNavSettings
from worldgauge.suites.mind.actions import walk_look
from worldgauge.tools.check_model import check_model
from worldgauge_serve import NotApplicable


class Networks:
    """The first frame that was seen, moved aside by every turn so far, as bright as the seed says."""

    def __init__(self) -> None:
        self.identity: dict[str, str] = {}
        self.asked: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def seed(self, seed: int) -> None:
        self.bright = 0.5 + seed % 17 / 34

    def imagine(self, images: np.ndarray, rows: np.ndarray, poses: np.ndarray) -> np.ndarray:
        assert images.shape[1:] == (3, 360, 640)
        assert rows.shape == (len(poses), 25)
        assert poses.shape == (len(rows), 5)
        self.asked.append((images, rows, poses))
        turned = np.cumsum(rows[len(images) :, 16])
        return np.stack([np.roll(images[0], round(30 * float(turn)), axis=2) for turn in turned]) * self.bright


def both(request: Any) -> Any:
    """The same question with its poses next to its actions: the walk goes straight on."""
    ahead = np.repeat(request.context.poses[-1:], request.horizon, axis=0)
    return replace(request, poses=ahead)


def test_rows_by_hand() -> None:
    # A step and a look to the left by 3 degrees, then a jump with a look up by 15.
    values = np.array([[1, 0, np.radians(3), 0], [0, 1, 0, np.radians(15)]], np.float32)
    rows = action_rows(Actions(LOOP_WALK, values[:1]), Actions(LOOP_WALK, values[1:]))
    expected = np.zeros((3, 25))
    expected[1, [11, 16]] = 1, -0.2
    expected[2, [17, 15]] = 1, -1
    assert rows == pytest.approx(expected, abs=1e-6)
    assert rows.dtype == np.float32


def test_rows_of_other_keys() -> None:
    space = walk_look(turn_deg=1.5)
    values = np.eye(8, dtype=np.float32)  # forward, back, left, right, then looks: up, down, left, right
    rows = action_rows(Actions(space, values[:0]), Actions(space, values))
    expected = np.zeros((9, 25))
    expected[[1, 2, 3, 4], [11, 12, 13, 14]] = 1
    expected[[5, 6, 7, 8], [15, 15, 16, 16]] = -0.1, 0.1, -0.1, 0.1
    assert rows == pytest.approx(expected, abs=1e-6)


def test_a_hand_is_no_walker() -> None:
    hand = Actions(HAND_POSES, np.zeros((1, 7), np.float32))
    with pytest.raises(NotApplicable, match="move no camera"):
        action_rows(hand, hand)


def test_whole_turns_keep_the_heading() -> None:
    turns = np.random.default_rng(0).uniform(-np.radians(6), np.radians(6), (200, 2))
    walk = Actions(LOOP_WALK, np.column_stack([np.zeros((200, 2)), turns]).astype(np.float32))  # yaw, then pitch
    whole = action_rows(walk[:80], walk[80:], "whole")[1:, [16, 15]]
    assert set(np.unique(whole)) == {-1, 0, 1}
    assert np.abs(np.cumsum(whole, axis=0) * 15 + np.degrees(np.cumsum(turns, axis=0))).max() <= 7.5 + 1e-4
    share = action_rows(walk[:80], walk[80:])[1:, [16, 15]]
    assert share * -15 == pytest.approx(np.degrees(turns), abs=1e-4)


def test_turns_that_are_too_fast_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    fast = Actions(LOOP_WALK, np.array([[0, 0, np.radians(-40), 0]], np.float32))
    assert action_rows(fast[:0], fast)[1, 15:17].tolist() == [0, 1]
    assert "1 of 2 turns pass 15 degrees a frame" in capsys.readouterr().err


@pytest.mark.parametrize(("yaw", "pitch"), [(0.0, 0.0), (1.0, 0.3), (-2.5, -1.2), (3.1, 0.0)])
def test_poses_are_the_ones_that_its_rays_are_made_of(yaw: float, pitch: float) -> None:
    """Its camera: x to the left, y up, z ahead, turned by the pitch about x and then by the yaw about y."""
    pose = pose_from_yaw_pitch((5.0, -2.0, 9.0), yaw, pitch)
    first = pose_from_yaw_pitch((4.0, 1.0, 8.0), 0.3)
    told = game_poses(np.stack([first, pose]))[1].astype(float)
    p, y = np.radians(told[3:])
    about_x = np.array([[1, 0, 0], [0, np.cos(p), -np.sin(p)], [0, np.sin(p), np.cos(p)]])
    about_y = np.array([[np.cos(y), 0, np.sin(y)], [0, 1, 0], [-np.sin(y), 0, np.cos(y)]])
    right, down, ahead = pose[:3, :3].T
    game = np.stack([-right, -down, ahead], axis=1)[[0, 2, 1]] * [[1], [1], [-1]]  # east, up, south
    assert about_y @ about_x == pytest.approx(game, abs=1e-6)
    assert told[:3] == pytest.approx([1, 1, 3], abs=1e-6)


def test_poses_from_the_records_themselves(walk: tuple[Episode, int], walks: Path) -> None:
    episode, _ = walk
    records = records_of(episode.id, walks)
    told = game_poses(np.asarray(episode.poses[: len(records)]))
    place = np.array([[record[axis] for axis in "xyz"] for record in records])[: len(told)]
    yaw = np.degrees([record["yaw"] for record in records])[: len(told)] + 180  # there 0 looks to the north
    assert told[:, :3] == pytest.approx(place - place[0], abs=1e-3)
    assert np.abs((told[:, 4] - yaw + 180) % 360 - 180).max() < 1e-3


def test_the_memory_is_the_exploration() -> None:
    networks = Networks()
    model = WorldMem(backend=networks)
    request = visible(both(question(walk_rows(11), seen=7, spec=model.spec, seed=3)), model.spec)
    frames = np.concatenate(list(checked_rollout(model, request)))
    (asked,) = networks.asked
    assert np.array_equal(asked[0], to_unit(request.context.clip.to_array()))
    assert np.array_equal(asked[1], action_rows(request.context.actions, request.actions))
    assert np.array_equal(asked[2], game_poses(np.concatenate([request.context.poses, request.poses])))
    assert frames.shape == (5, 360, 640, 3)
    assert frames.max() <= 255 * (0.5 + 3 / 34) + 1
    elsewhere = WorldMem(backend=Networks()).rollout(as_served(request))
    assert np.array_equal(np.concatenate(list(elsewhere)), frames), "the same in an environment without worldgauge"


def test_declares_itself() -> None:
    spec = WorldMem(backend=Networks(), turns="whole").spec
    assert (spec.control, tuple(spec.inputs), spec.fps) == ("actions", ("poses",), 20)
    assert (spec.frame_size, spec.max_context) == ((640, 360), None)
    told = {"window": 8, "memory": 8, "steps": 20, "turns": "whole"}
    assert spec.settings == {**told, "motion": "blocks of a metre"}
    assert Needs.of(WorldMem).gpus == 1
    with pytest.raises(ValueError, match="'share' or 'whole'"):
        WorldMem(backend=Networks(), turns="half")
    with pytest.raises(ValueError, match="give 2 or more"):
        WorldMem(backend=Networks(), window=1)


def test_answers_a_task(walk: tuple[Episode, int]) -> None:
    episode, start = walk
    model = WorldMem(backend=Networks())
    request = make_request(episode, start, model.spec, LoopNavSettings(), seed=3)
    assert len(request.context) == start, "all of the exploration"
    frames = np.concatenate(list(checked_rollout(model, request)))
    assert len(frames) == len(episode) - start


@pytest.mark.slow
def test_keeps_the_promises_of_a_model() -> None:
    assert complaints(check_model(WorldMem(backend=Networks()))) == []


def test_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no weights at .*zeqixiao/worldmem_checkpoints.*weights=FILE"):
        WorldMem(root=str(tmp_path))
    for name in ("diffusion_only.ckpt", "vae_only.ckpt"):
        (tmp_path / name).write_bytes(b"")
    with isolated(), pytest.raises(ImportError, match="root=CLONE"):
        WorldMem(root=str(tmp_path), device="cpu")


def test_drives_the_repository(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="the repository's networks are torch")
    paths = [str(tmp_path / name) for name in ("diffusion_only.ckpt", "vae_only.ckpt")]
    for path in paths:
        torch.save({"state_dict": {"gain": torch.ones(())}}, path)
    with isolated():
        model = WorldMem(*paths, root=str(ROOT / "worldmem"), steps=4, device="cpu")
        request = question(walk_rows(9), seen=6, spec=model.spec)
        back = request.context.poses[[4, 2, 0, 3]]
        request = replace(request, poses=back)
        frames = np.concatenate(list(checked_rollout(model, request)))
        again = np.concatenate(list(checked_rollout(model, request)))
        upstream = model._backend._model
    seen = request.context.clip.to_array()
    assert np.array_equal(frames[:, 1:], seen[[4, 2, 0, 3], 1:]), "what it saw there, by the true poses"
    assert np.array_equal(frames, again), "same seed, same noise"
    assert (upstream.n_tokens, upstream.memory_condition_length) == (8, 8)
    assert upstream.cfg.diffusion.sampling_timesteps == 4
    assert len(model.spec.settings["weights"]) == 64


def test_keeps_the_promises_of_a_model_with_the_repository(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="the repository's networks are torch")
    paths = [str(tmp_path / name) for name in ("diffusion_only.ckpt", "vae_only.ckpt")]
    for path in paths:
        torch.save({"state_dict": {"gain": torch.ones(())}}, path)
    with isolated():
        model = WorldMem(*paths, root=str(ROOT / "worldmem"), steps=4, device="cpu")
        assert complaints(check_model(model)) == []
