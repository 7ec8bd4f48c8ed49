"""Matrix-Game 2.0: keys and mouse of every frame, whole blocks, and a memory that is filled with what was seen."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from adapters.matrix_game2 import MatrixGame2

from support.upstream import ROOT, as_served, question, standing_in, walk_rows
from worldgauge.core.actions import Actions
from worldgauge.core.model import Needs, checked_rollout
from worldgauge.suites.mind.actions import walk_look
from worldgauge.tools.check_model import check_model

CLONE = str(ROOT / "matrix_game2")


@pytest.fixture(autouse=True)
def calls() -> Iterator[list[dict[str, np.ndarray]]]:
    with standing_in("matrix_game2"):
        import pipeline

        pipeline.CALLS.clear()
        yield pipeline.CALLS


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A folder with the two files in the form that is read: safetensors, and tensors saved by torch."""
    import torch

    (tmp_path / "base_distilled_model").mkdir()
    header = json.dumps({"net": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    content = len(header).to_bytes(8, "little") + header + bytes(4)
    (tmp_path / "base_distilled_model" / "base_distill.safetensors").write_bytes(content)
    if hasattr(torch, "save"):
        torch.save({key: torch.zeros(1) for key in ("decoder.a", "conv2.a", "encoder.a")}, tmp_path / "Wan2.1_VAE.pth")
    else:
        (tmp_path / "Wan2.1_VAE.pth").write_bytes(b"1")
    return tmp_path


def model(weights: Path, **settings: Any) -> MatrixGame2:
    return MatrixGame2(CLONE, str(weights), device="cpu", **settings)


def asked(made: MatrixGame2, horizon: int, seen: int = 1) -> Any:
    return question(walk_rows(seen - 1 + horizon), seen=seen, spec=made.spec, seed=3)


def test_lengths_are_declared(weights: Path) -> None:
    one, several = model(weights).spec, model(weights, context=33).spec
    assert (one.lengths, tuple(one.context_lengths or ())) == ("9+12n", (1,))
    assert (several.lengths, tuple(several.context_lengths or ())) == (None, (1, 9, 21, 33))


@pytest.mark.parametrize(
    ("seen", "horizon", "frames", "latents"),
    [
        (1, 8, 597, [3]),
        (1, 9, 597, [6]),
        (1, 20, 597, [6]),
        (1, 21, 21, [6, 6]),  # beyond the longest call, the last one is padded to what was declared
        (9, 12, 597, [3 + 3]),
        (9, 13, 597, [3 + 6]),
        (9, 13, 21, [3 + 3, 6]),
    ],
)
def test_latents_of_calls(
    weights: Path, calls: list[Any], seen: int, horizon: int, frames: int, latents: list[int]
) -> None:
    """One latent frame for a picture and one for each 4 frames more, in blocks of 3."""
    made = model(weights, context=max(seen, 1), frames=frames)
    assert len(np.concatenate(list(checked_rollout(made, asked(made, horizon, seen=seen))))) == horizon
    assert [call["cond_concat"].shape[2] for call in calls] == latents


def test_one_picture(weights: Path, calls: list[Any]) -> None:
    made = model(weights, turn_deg=10, mouse=0)
    spec = made.spec
    assert (spec.control, spec.frame_size, spec.fps, spec.max_context) == ("actions", (640, 352), 25.0, 1)
    assert Needs.of(MatrixGame2).gpus == 1
    request = asked(made, 13)
    frames = np.concatenate(list(checked_rollout(made, request)))
    (call,) = calls
    rows = walk_rows(13)
    assert call["keyboard_cond"].shape == (1, 21, 4)
    np.testing.assert_array_equal(call["keyboard_cond"][0, :13, 0], rows[:, 0])
    assert not call["keyboard_cond"][0, 13:].any()
    np.testing.assert_allclose(call["mouse_cond"][0, :13, 0], np.degrees(rows[:, 3]) / 10, atol=1e-3)
    np.testing.assert_allclose(call["mouse_cond"][0, :13, 1], -np.degrees(rows[:, 2]) / 10, atol=1e-3)
    shown = request.context.clip[-1].reshape(44, 8, 80, 8, 3).mean((1, 3)) / 127.5 - 1
    np.testing.assert_allclose(call["cond_concat"][0, 4:7, 0], shown.transpose(2, 0, 1), atol=1e-2)
    level = frames.reshape(13, -1).mean(1)
    assert level[12] > level[0], "keys make it brighter"


def test_a_longer_horizon_goes_on_from_the_last_frame(weights: Path, calls: list[Any]) -> None:
    made = model(weights, frames=21)
    assert [len(chunk) for chunk in checked_rollout(made, asked(made, 30))] == [20, 10]
    np.testing.assert_array_equal(calls[1]["keyboard_cond"][0, :10, 0], walk_rows(30)[20:, 0])
    assert not np.array_equal(calls[0]["noise"], calls[1]["noise"])


def test_memory_is_filled_with_what_was_seen(weights: Path, calls: list[Any]) -> None:
    made = model(weights, context=21)
    request = asked(made, 14, seen=15)
    frames = np.concatenate(list(checked_rollout(made, request)))
    assert frames.shape == (14, 352, 640, 3)
    (call,) = calls
    assert call["cond_concat"].shape == (1, 20, 9, 44, 80), "9 frames of 15 are 3 latent frames; 14 new ones 6"
    np.testing.assert_array_equal(call["keyboard_cond"][0, :22, 0], walk_rows(28)[6:, 0], "what led there comes first")
    last = request.context.clip.to_array()[-4:].reshape(4, 44, 8, 80, 8, 3).mean((0, 2, 4))
    expected = np.repeat(np.repeat(last, 8, axis=0), 8, axis=1)
    assert abs(float(frames[0].mean()) - float(expected.mean())) < 4, "it goes on from the last latent frame"


def test_fewer_frames_than_a_block_are_one_picture(weights: Path, calls: list[Any]) -> None:
    made = model(weights, context=21)
    assert len(np.concatenate(list(checked_rollout(made, asked(made, 8, seen=5))))) == 8
    assert calls[0]["cond_concat"].shape[2] == 3


def test_fast_turns_are_clipped_and_told(weights: Path, calls: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    made = model(weights)
    rows = np.zeros((8, 8), np.float32)
    rows[:3, 6] = 1
    request = replace(asked(made, 8), actions=Actions(walk_look(2.0, 3.0), rows))
    list(checked_rollout(made, request))
    np.testing.assert_allclose(calls[0]["mouse_cond"][0, :8, 1], [-0.1] * 3 + [0] * 5, atol=1e-3)
    assert "3 turns pass 1.5 degrees a frame; clipped" in capsys.readouterr().err


def test_the_seed_alone_decides_the_noise(weights: Path, calls: list[Any]) -> None:
    made = model(weights)
    for seed in (3, 3, 4):
        list(made.rollout(replace(asked(made, 4), seed=seed)))
    np.testing.assert_array_equal(calls[0]["noise"], calls[1]["noise"])
    assert not np.array_equal(calls[0]["noise"], calls[2]["noise"])


def test_the_same_in_an_environment_without_worldgauge(weights: Path) -> None:
    made = model(weights, context=9)
    request = asked(made, 14, seen=9)
    elsewhere = np.concatenate(list(made.rollout(as_served(request))))
    np.testing.assert_array_equal(elsewhere, np.concatenate(list(made.rollout(request))))


@pytest.mark.parametrize(
    ("settings", "because"),
    [
        ({"context": 5}, "context is 5; give 1, or 9, 21, 33"),
        ({"frames": 100}, "frames is 100; give 9, 21, 33"),
        ({"frames": 9, "context": 9}, "after a context of several give at least 21"),
        ({"turn_deg": 0}, "turn_deg is above 0"),
        ({"config": "configs/inference_yaml/inference_templerun.yaml"}, "'templerun' runs by itself"),
    ],
)
def test_settings_that_cannot_be_meant(weights: Path, settings: dict[str, Any], because: str) -> None:
    with pytest.raises(ValueError, match=because):
        model(weights, **settings)


def test_says_what_is_missing(weights: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"Skywork/Matrix-Game-2\.0 and give checkpoint="):
        MatrixGame2(CLONE, str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError, match=r"no config at .*; give root=CLONE/Matrix-Game-2"):
        model(weights, config="configs/nothing.yaml")


@pytest.mark.slow
def test_keeps_the_protocol(weights: Path) -> None:
    report = check_model(model(weights, context=21), suite="mind")
    found = {verdict.name: verdict.explanation for verdict in report.verdicts if verdict.status == "violated"}
    assert report.ok, found
