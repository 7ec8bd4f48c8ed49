"""HY-WorldPlay: world-to-camera poses of latents and what they are called, in whole chunks."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from adapters.worldplay import WorldPlay, labels

from adapters import worldplay
from support.upstream import ROOT, as_served, complaints, question, standing_in, walk_rows
from worldgauge.core.errors import ModelError
from worldgauge.core.model import Needs, checked_rollout, fitted
from worldgauge.tools.check_model import check_model

CAPTION = "A village of wooden houses."


@pytest.fixture
def weights(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "base" / "transformer" / "480p_i2v").mkdir(parents=True)
    (tmp_path / "base" / "transformer" / "480p_i2v" / "config.json").write_text("{}")
    (tmp_path / "ar.safetensors").write_bytes(b"w")
    return {
        "weights": str(tmp_path / "base"),
        "action": str(tmp_path / "ar.safetensors"),
        "root": str(ROOT / "worldplay"),
    }


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames of a quarter of the width: tests of what is asked need no others."""
    monkeypatch.setattr(worldplay, "WIDTH", 208)
    monkeypatch.setattr(worldplay, "HEIGHT", 120)


@pytest.fixture
def model(weights: dict[str, str], small: None) -> Iterator[WorldPlay]:
    with standing_in():
        yield WorldPlay(**weights)


def asked_of(model: WorldPlay, rows: Any, **settings: Any) -> tuple[np.ndarray, Any, Any]:
    request = replace(question(rows, seen=1, spec=model.spec, **settings), caption=CAPTION)
    frames = np.concatenate(list(checked_rollout(model, request)))
    return frames, request, model._backend._pipeline.asked[-1]


def moved(*, ahead: float = 0, right: float = 0, down: float = 0, yaw: float = 0, pitch: float = 0) -> np.ndarray:
    """A step of a camera in its own axes; yaw to the right and pitch up, in degrees."""
    y, p = np.radians([yaw, pitch])
    about_y = np.array([[np.cos(y), 0, np.sin(y)], [0, 1, 0], [-np.sin(y), 0, np.cos(y)]])
    about_x = np.array([[1, 0, 0], [0, np.cos(p), -np.sin(p)], [0, np.sin(p), np.cos(p)]])
    step = np.eye(4)
    step[:3, :3], step[:3, 3] = about_y @ about_x, (right, down, ahead)
    return step


@pytest.mark.parametrize(
    ("step", "label"),
    [
        ({}, 0),
        ({"ahead": 0.08}, 9),
        ({"ahead": -0.08}, 18),
        ({"right": 0.08}, 27),
        ({"right": -0.08}, 36),
        ({"ahead": 0.08, "right": 0.08}, 45),
        ({"ahead": 0.08, "right": -0.08}, 54),
        ({"ahead": -0.08, "right": 0.08}, 63),
        ({"ahead": -0.08, "right": -0.08}, 72),
        ({"yaw": 3}, 1),
        ({"yaw": -3}, 2),
        ({"pitch": 3}, 3),
        ({"pitch": -3}, 4),
        ({"yaw": 3, "pitch": 3}, 5),
        ({"yaw": 3, "pitch": -3}, 6),
        ({"yaw": -3, "pitch": 3}, 7),
        ({"yaw": -3, "pitch": -3}, 8),
        ({"ahead": 0.08, "yaw": -3}, 11),
        ({"ahead": 1e-5, "yaw": 0.04}, 0),
        ({"down": 0.5}, 0),
    ],
)
def test_labels_by_hand(step: dict[str, float], label: int) -> None:
    start = np.linalg.inv(moved(ahead=3, right=1, yaw=70, pitch=-20))
    assert labels(np.stack([start, start @ moved(**step)])).tolist() == [0, label]


def test_what_the_repository_is_asked(model: WorldPlay) -> None:
    frames, request, asked = asked_of(model, walk_rows(14))
    assert frames.shape == (14, 120, 208, 3)
    assert asked["prompt"] == CAPTION
    assert asked["sampling"] == (True, 4, "ar")
    camera = request.context.camera
    assert asked["lens"] == pytest.approx(np.array([[camera.fx / 208, 0, 0.5], [0, camera.fy / 120, 0.5], [0, 0, 1]]))
    all_poses = np.concatenate([request.context.poses[-1:], request.poses])
    places = np.linalg.inv(all_poses[0]) @ all_poses
    assert np.linalg.inv(asked["views"])[:4] == pytest.approx(places[[0, 4, 8, 12]], abs=1e-6)
    assert np.linalg.inv(asked["views"])[4:] == pytest.approx(np.tile(places[14], (4, 1, 1)), abs=1e-6)
    assert np.array_equal(asked["labels"], labels(np.linalg.inv(asked["views"])))
    assert set(asked["labels"][1:4]) == {11 + 5}, "ahead, to the left and up"
    again = np.concatenate(list(checked_rollout(model, request)))
    assert np.array_equal(frames, again)
    assert not np.array_equal(frames, np.concatenate(list(checked_rollout(model, replace(request, seed=-1)))))
    elsewhere = model.rollout(as_served(fitted(request, model.spec)))
    assert np.array_equal(np.concatenate(list(elsewhere))[:14], frames), "the same in an environment without worldgauge"


def test_its_units(weights: dict[str, str], small: None) -> None:
    with standing_in():
        model = WorldPlay(**weights, scale=0.25)
        _, request, asked = asked_of(model, walk_rows(12))
    far = np.linalg.norm(request.poses[11, :3, 3] - request.context.poses[-1, :3, 3])
    assert np.linalg.norm(np.linalg.inv(asked["views"][3])[:3, 3]) == pytest.approx(0.25 * far)
    assert model.spec.settings["scale"] == 0.25


@pytest.mark.parametrize(("kind", "chunk", "sampling"), [("ar", 16, (False, 50, "ar")), ("bi", 64, (False, 50, "bi"))])
def test_other_checkpoints(
    weights: dict[str, str], small: None, kind: str, chunk: int, sampling: tuple[Any, ...]
) -> None:
    with standing_in():
        model = WorldPlay(**weights, kind=kind)
        frames, _, asked = asked_of(model, walk_rows(3))
    assert (model.spec.chunk, len(frames), asked["sampling"]) == (chunk, 3, sampling)
    assert model.spec.lengths == f"{chunk - 3}+{chunk}n"
    assert len(asked["views"]) == chunk // 4


def test_the_given_image_is_not_given_back(model: WorldPlay) -> None:
    frames, request, _ = asked_of(model, np.zeros((4, 4), np.float32))
    off = np.abs(frames.astype(int) - request.context.clip[-1].astype(int))
    assert 0 < off.max() <= 4, "the noise of the stand-in, which the first frame of its clip has not"


def test_a_video_of_another_size_is_a_failure(model: WorldPlay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model._backend, "generate", lambda *given: np.zeros((3, 12, 120, 208), np.float32))
    with pytest.raises(ModelError, match=r"made a video of \(3, 12, 120, 208\), not \(3, 13, 120, 208\)"):
        asked_of(model, walk_rows(3))


def test_declares_itself(weights: dict[str, str]) -> None:
    with standing_in():
        spec = WorldPlay(**weights).spec
    assert (spec.control, spec.fps, spec.frame_size, spec.crop) == ("camera", 24, (832, 480), (26, 15))
    assert (spec.max_context, spec.chunk, tuple(spec.inputs)) == (1, 16, ("caption",))
    assert len(spec.settings["weights"]) == len(spec.settings["action"]) == 64
    assert "motion" not in spec.settings, "nobody says how long its units are"
    assert Needs.of(WorldPlay).gpus == 1
    with pytest.raises(ValueError, match="'distilled' or 'ar' or 'bi'"):
        WorldPlay(kind="rl")


def test_keeps_the_promises_of_a_model(model: WorldPlay) -> None:
    assert complaints(check_model(model)) == []


@pytest.mark.slow
def test_keeps_them_at_full_size_from_another_process(weights: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "without_torch"), prepend=":")
    given = "&".join(f"{name}={value}" for name, value in weights.items())
    address = f"cmd:{sys.executable} -m worldgauge_serve {worldplay.__file__}:WorldPlay?{given}"
    assert complaints(check_model(address)) == []


def test_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no weights at .*download_models.py.*weights=FOLDER"):
        WorldPlay(root=str(tmp_path))
    (tmp_path / "HunyuanVideo-1.5").mkdir()
    with pytest.raises(FileNotFoundError, match=r"no checkpoint at .*action=FILE"):
        WorldPlay(root=str(tmp_path))
    (tmp_path / "ar.safetensors").write_bytes(b"w")
    with standing_in(), pytest.raises(ImportError, match=r"'hyvideo.commons.parallel_states'.*root=CLONE"):
        WorldPlay(root=str(tmp_path), action="ar.safetensors")
