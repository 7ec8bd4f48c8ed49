"""SANA-WM: arrays in, arrays out; 8k + 1 frames, with and without the first one, which the refiner leaves out."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from adapters.sana_wm import SanaWM, _digest

from adapters import sana_wm
from support.upstream import ROOT, as_served, complaints, isolated, question, walk_rows
from worldgauge.core.errors import ModelError, NotApplicableError
from worldgauge.core.geometry import pose_from_yaw_pitch
from worldgauge.core.model import Needs, checked_rollout, fitted
from worldgauge.tools.check_model import check_model

CAPTION = "A village of wooden houses."


@pytest.fixture
def weights(tmp_path: Path) -> str:
    (tmp_path / "dit").mkdir()
    (tmp_path / "refiner" / "text_encoder").mkdir(parents=True)
    (tmp_path / "dit" / "sana_wm_1600m_720p.safetensors").write_bytes(b"w")
    (tmp_path / "config.yaml").write_text('{"model": "m", "vae": "v", "text_encoder": "t", "scheduler": "s"}')
    return str(tmp_path)


@pytest.fixture
def models(weights: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes models of a fifth of the width: tests of what is asked need no others."""
    with isolated():
        sys.path.insert(0, str(ROOT / "sana_wm"))
        from inference_video_scripts.wm import inference_sana_wm as package

        for module, names in ((sana_wm, ("WIDTH", "HEIGHT")), (package, ("TARGET_WIDTH", "TARGET_HEIGHT"))):
            for name, side in zip(names, (240, 132), strict=True):
                monkeypatch.setattr(module, name, side)
        yield lambda **settings: SanaWM(weights, root=str(ROOT / "sana_wm"), **settings)


def asked_of(model: SanaWM, rows: Any, **settings: Any) -> tuple[np.ndarray, Any, Any]:
    request = replace(question(rows, seen=1, spec=model.spec, **settings), caption=CAPTION)
    frames = np.concatenate(list(checked_rollout(model, request)))
    return frames, request, model._backend._pipeline.asked[-1]


def test_poses_by_hand(models: Any) -> None:
    # Facing +y: 2 m ahead; then 1 m up; then 3 m to the right. x right, y down, z ahead.
    model = models()
    request = replace(question(walk_rows(3), seen=1, spec=model.spec), caption=CAPTION)
    places = [(3, 4, 9), (3, 6, 9), (3, 6, 10), (6, 6, 10)]
    poses = np.stack([pose_from_yaw_pitch(place, np.pi / 2) for place in places])
    request = replace(request, context=replace(request.context, poses=poses[:1]), poses=poses[1:])
    list(checked_rollout(model, request))
    told = model._backend._pipeline.asked[-1]["c2w"]
    expected = np.array([[0, 0, 0], [0, 0, 2], [0, -1, 2], *[[3, -1, 2]] * 6])
    assert told[:, :3, 3] == pytest.approx(expected, abs=1e-6)
    assert told[:, :3, :3] == pytest.approx(np.broadcast_to(np.eye(3), (9, 3, 3)), abs=1e-6)


@pytest.mark.parametrize("refiner", [True, False])
def test_what_the_repository_is_asked(models: Any, refiner: bool) -> None:
    model = models(refiner=refiner, steps=7, guidance=3.0)
    frames, request, asked = asked_of(model, walk_rows(10), seed=5)
    assert frames.shape == (10, 132, 240, 3)
    assert asked["prompt"] == CAPTION
    params = asked["params"]
    told = (params.num_frames, params.fps, params.step, params.cfg_scale, params.seed, params.sampling_algo)
    assert told == (17, 16, 7, 3.0, 5, "flow_euler_ltx")
    assert asked["refiner_seed"] == (5 if refiner else None)
    camera = request.context.camera
    expected = np.tile([camera.fx, camera.fy, camera.cx, camera.cy], (17, 1))
    assert asked["lens"] == pytest.approx(expected, rel=1e-6)
    assert np.array_equal(frames, np.concatenate(list(checked_rollout(model, request))))
    assert not np.array_equal(frames, np.concatenate(list(checked_rollout(model, replace(request, seed=-1)))))
    elsewhere = model.rollout(as_served(fitted(request, model.spec)))
    assert np.array_equal(np.concatenate(list(elsewhere))[:10], frames), "the same in an environment without worldgauge"


def test_frames_are_the_same_with_and_without_the_given_one(models: Any) -> None:
    with_it, without = (asked_of(models(refiner=refiner), walk_rows(10))[0] for refiner in (False, True))
    assert np.array_equal(with_it, without)


def test_metres_stay_metres(models: Any) -> None:
    model = models()
    _, request, asked = asked_of(model, walk_rows(8))
    far = np.linalg.norm(request.poses[7, :3, 3] - request.context.poses[-1, :3, 3])
    assert np.linalg.norm(asked["c2w"][8, :3, 3]) == pytest.approx(far, rel=1e-6)
    assert model.spec.settings["motion"] == "metres"


@pytest.mark.parametrize("shape", [(8, 128, 240, 3), (10, 132, 240, 3), (7, 132, 240, 3)])
def test_another_video_is_a_failure(models: Any, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...]) -> None:
    model = models()
    monkeypatch.setattr(model._backend, "generate", lambda *given: np.zeros(shape, np.uint8))
    with pytest.raises(ModelError, match=r"made a video of .* uint8, not \(9, 132, 240, 3\) uint8, or one"):
        asked_of(model, walk_rows(3))


def test_a_clip_that_is_too_long_is_not_asked(models: Any) -> None:
    model = models(longest=9)
    assert len(asked_of(model, walk_rows(8))[0]) == 8
    with pytest.raises(NotApplicableError, match=r"makes 8n.1 to 9 frames .* this task asks for 10"):
        asked_of(model, walk_rows(9))


def test_declares_itself(weights: str) -> None:
    with isolated():
        spec = SanaWM(weights, root=str(ROOT / "sana_wm")).spec
    assert (spec.control, spec.fps, spec.frame_size, spec.crop) == ("camera", 16, (1280, 704), (20, 11))
    assert (spec.max_context, tuple(spec.inputs), spec.lengths) == (1, ("caption",), "8n+1 to 961")
    assert len(spec.settings["weights"]) == 64
    assert Needs.of(SanaWM).gpus == 1


def test_keeps_the_promises_of_a_model(models: Any) -> None:
    assert complaints(check_model(models())) == []


@pytest.mark.slow
def test_keeps_them_at_full_size_from_another_process(weights: str) -> None:
    file = f"{sana_wm.__file__}:SanaWM?root={ROOT / 'sana_wm'}&weights={weights}"
    assert complaints(check_model(f"cmd:{sys.executable} -m worldgauge_serve {file}")) == []


def test_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no weights at .*SANA-WM_bidirectional and give weights=FOLDER"):
        SanaWM(str(tmp_path / "none"))
    with isolated(), pytest.raises(ImportError, match=r"inference_sana_wm.*root=CLONE"):
        SanaWM(str(tmp_path), root=str(tmp_path))


def test_weights_count_by_what_is_in_them(tmp_path: Path) -> None:
    for name, contents in (("here", b"w" * 9), ("there", b"w" * 9), ("other", b"w" * 8 + b"v"), ("longer", b"w" * 10)):
        (tmp_path / name / "dit").mkdir(parents=True)
        (tmp_path / name / "dit" / "model.safetensors").write_bytes(contents)
    here, *others = (_digest(str(tmp_path / name)) for name in ("here", "there", "other", "longer"))
    assert here == others[0]
    assert len({here, *others}) == 3
