"""LingBot-World: poses from the given image on, 4n + 1 of them, and what its division by the longest step does."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from adapters.lingbot import LingBot, _digest_folder

from adapters import lingbot
from support.upstream import ROOT, as_served, complaints, isolated, question, walk_rows
from worldgauge.core.errors import ModelError, NotApplicableError
from worldgauge.core.geometry import pose_from_yaw_pitch
from worldgauge.core.model import Needs, checked_rollout, fitted
from worldgauge.tools.check_model import check_model

CAPTION = "A village of wooden houses."


@pytest.fixture
def weights(tmp_path: Path) -> str:
    (tmp_path / "configuration.json").write_text("{}")
    return str(tmp_path)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames of a third of the width: tests of what is asked need no others."""
    monkeypatch.setattr(lingbot, "WIDTH", 256)
    monkeypatch.setattr(lingbot, "HEIGHT", 144)


@pytest.fixture
def model(weights: str, small: None) -> Iterator[LingBot]:
    with isolated():
        yield LingBot(weights, root=str(ROOT / "lingbot"), steps=4)


def asked_of(model: LingBot, rows: Any = None, **settings: Any) -> tuple[np.ndarray, Any, Any]:
    request = question(walk_rows(6) if rows is None else rows, seen=1, spec=model.spec, **settings)
    request = replace(request, caption=CAPTION)
    frames = np.concatenate(list(checked_rollout(model, request)))
    return frames, request, model._backend._model.asked[-1]


def test_poses_by_hand(model: LingBot) -> None:
    # Facing +y, two steps of 1 m ahead, then one of 2 m to the right; z of the camera is ahead, x to the right.
    request = replace(question(walk_rows(3), seen=1, spec=model.spec), caption=CAPTION)
    places = [(3, 4, 9), (3, 5, 9), (3, 6, 9), (5, 6, 9)]
    poses = np.stack([pose_from_yaw_pitch(place, np.pi / 2) for place in places])
    request = replace(request, context=replace(request.context, poses=poses[:1]), poses=poses[1:])
    list(checked_rollout(model, request))
    told = model._backend._model.asked[-1]["poses"]
    assert told[:, :3, 3] == pytest.approx(np.array([[0, 0, 0], [0, 0, 1], [0, 0, 2], [2, 0, 2], [2, 0, 2]]), abs=1e-6)
    assert told[:, :3, :3] == pytest.approx(np.broadcast_to(np.eye(3), (5, 3, 3)), abs=1e-6)


def test_poses_do_not_know_where_the_walk_was(model: LingBot) -> None:
    here, there = (asked_of(model, walk_rows(12), start_yaw=yaw)[2]["poses"] for yaw in (0.0, 2.0))
    assert here == pytest.approx(there, abs=1e-5)


def test_only_turning_is_no_walk(model: LingBot) -> None:
    """Far from the origin, the places of a camera that turns differ by rounding, which the model would blow up."""
    rows = np.zeros((16, 4), np.float32)
    rows[:, 2] = 0.05
    _, request, asked = asked_of(model, rows, start_yaw=0.7)
    shaken = request.poses + np.random.default_rng(0).normal(0, 1e-5, request.poses.shape) * (np.arange(4) == 3)
    list(checked_rollout(model, replace(request, poses=shaken)))
    for steps in (asked["steps"], model._backend._model.asked[-1]["steps"]):
        assert not steps[:, :3, 3].any()
    assert np.arctan2(asked["steps"][1:, 0, 2], asked["steps"][1:, 2, 2]) == pytest.approx(-0.2, abs=1e-5), "left"


def test_speed_is_lost_and_direction_is_not(model: LingBot) -> None:
    rows = np.zeros((8, 4), np.float32)
    rows[:, 0] = 1
    _, request, asked = asked_of(model, rows)
    faster = request.context.poses[-1, :3, 3] + 3 * (request.poses[:, :3, 3] - request.context.poses[-1, :3, 3])
    poses = request.poses.copy()
    poses[:, :3, 3] = faster
    list(checked_rollout(model, replace(request, poses=poses)))
    assert asked["steps"][1:, :3, 3] == pytest.approx(np.array([[0, 0, 1], [0, 0, 1]]), abs=1e-5)
    assert model._backend._model.asked[-1]["steps"] == pytest.approx(asked["steps"], abs=1e-5)
    assert model.spec.settings["translations"] == "divided by the longest step of the clip"
    assert "motion" not in model.spec.settings, "tables call its unit unknown"


def test_what_the_repository_is_asked(model: LingBot) -> None:
    frames, request, asked = asked_of(model)
    assert frames.shape == (6, 144, 256, 3)
    assert asked["caption"] == CAPTION
    assert asked["sampling"] == (4, 10.0)
    camera = request.context.camera
    assert asked["lens"] == pytest.approx([camera.fx, camera.fy, camera.cx, camera.cy])
    again = np.concatenate(list(checked_rollout(model, request)))
    other = np.concatenate(list(checked_rollout(model, replace(request, seed=-1))))
    assert np.array_equal(frames, again)
    assert not np.array_equal(frames, other)
    elsewhere = model.rollout(as_served(fitted(request, model.spec)))
    assert np.array_equal(np.concatenate(list(elsewhere))[:6], frames), "the same in an environment without worldgauge"


def test_the_given_image_is_not_given_back(model: LingBot) -> None:
    still = np.zeros((4, 4), np.float32)
    frames, request, _ = asked_of(model, still)
    off = np.abs(frames.astype(int) - request.context.clip[-1].astype(int))
    assert 0 < off.max() <= 4, "the noise of the stand-in, which the first frame of its clip has not"


def test_a_video_of_another_size_is_a_failure(model: LingBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model._backend, "generate", lambda *given: np.zeros((3, 9, 128, 256), np.float32))
    with pytest.raises(ModelError, match=r"made a video of \(3, 9, 128, 256\), not \(3, 9, 144, 256\)"):
        asked_of(model)


def test_a_clip_that_is_too_long_is_not_asked(weights: str, small: None) -> None:
    with isolated():
        model = LingBot(weights, root=str(ROOT / "lingbot"), longest=9)
        assert len(asked_of(model, walk_rows(8))[0]) == 8
        with pytest.raises(NotApplicableError, match=r"makes 4n.1 to 9 frames .* this task asks for 10"):
            asked_of(model, walk_rows(9))


def test_all_480_rows_are_drawn(weights: str) -> None:
    with isolated():
        model = LingBot(weights, root=str(ROOT / "lingbot"), steps=4)
        assert asked_of(model, walk_rows(1))[0].shape == (1, 480, 832, 3)


def test_declares_itself(weights: str) -> None:
    with isolated():
        spec = LingBot(weights, root=str(ROOT / "lingbot"), steps=4).spec
    assert (spec.control, spec.fps, spec.frame_size, spec.crop) == ("camera", 16, (832, 480), (26, 15))
    assert (spec.max_context, tuple(spec.inputs), spec.lengths) == (1, ("caption",), "4n+1 to 961")
    assert spec.settings["steps"] == 4
    assert len(spec.settings["weights"]) == 64
    assert Needs.of(LingBot).gpus == 1


def test_keeps_the_promises_of_a_model(model: LingBot) -> None:
    assert complaints(check_model(model)) == []


@pytest.mark.slow
def test_keeps_them_at_full_size_from_another_process(weights: str) -> None:
    file = f"{lingbot.__file__}:LingBot?root={ROOT / 'lingbot'}&weights={weights}"
    assert complaints(check_model(f"cmd:{sys.executable} -m worldgauge_serve {file}")) == []


def test_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no weights at .*robbyant/lingbot-world-base-cam.*weights=FOLDER"):
        LingBot(root=str(tmp_path))
    with isolated(), pytest.raises(ImportError, match=r"'wan.configs'.*root=CLONE"):
        LingBot(str(tmp_path), root=str(tmp_path))


def test_weights_count_by_what_is_in_them(tmp_path: Path) -> None:
    for name, contents in (("here", b"w" * 9), ("there", b"w" * 9), ("other", b"w" * 8 + b"v"), ("longer", b"w" * 10)):
        (tmp_path / name / "low_noise_model").mkdir(parents=True)
        (tmp_path / name / "low_noise_model" / "model.safetensors").write_bytes(contents)
    here, *others = (_digest_folder(str(tmp_path / name)) for name in ("here", "there", "other", "longer"))
    assert here == others[0]
    assert len({here, *others}) == 3
