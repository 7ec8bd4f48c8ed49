"""FastVideo: the conditions of every family of models, calls that are long enough, and blocks of a stream."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from adapters.fastvideo import MODELS, FastVideo, segments, straight

from adapters import fastvideo
from support.upstream import as_served, complaints, question, standing_in, walk_rows
from worldgauge.core.actions import HAND_POSES, LOOP_WALK, Actions
from worldgauge.core.model import checked_rollout
from worldgauge.suites.mind.actions import walk_look
from worldgauge.tools.check_model import check_model
from worldgauge_serve import NotApplicable

MG2 = "FastVideo/Matrix-Game-2.0-Base-Distilled-Diffusers"
MG3 = "FastVideo/Matrix-Game-3.0-Base-Distilled-Diffusers"
WORLDPLAY = "FastVideo/HY-WorldPlay-Bidirectional-Diffusers"
SCENE = "A street."


@pytest.fixture(autouse=True)
def engine() -> Iterator[Any]:
    with standing_in("fastvideo"):
        import fastvideo as package

        package.CALLS.clear()
        package.LOADED.clear()
        yield package


def asked(model: FastVideo, horizon: int, seen: int = 1, **fields: Any) -> Any:
    return replace(question(walk_rows(seen - 1 + horizon), seen=seen, spec=model.spec, seed=3), caption=SCENE, **fields)


def drawn(model: FastVideo, horizon: int, **fields: Any) -> np.ndarray:
    return np.concatenate(list(checked_rollout(model, asked(model, horizon, **fields))))


def turning(degrees: list[float], walk: float = 0.0) -> np.ndarray:
    """Moves that turn to the left by these angles, and walk ahead."""
    moves = np.zeros((len(degrees), 5))
    moves[:, 0], moves[:, 3] = walk, np.radians(degrees)
    return moves


def test_what_no_key_can_say_is_told(capsys: pytest.CaptureFixture[str], engine: Any) -> None:
    gta = FastVideo("FastVideo/Matrix-Game-2.0-GTA-Distilled-Diffusers", turn_deg=10)
    rows = np.zeros((9, 8), np.float32)
    rows[:2, 0], rows[2:4, 3], rows[4:7, 7], rows[7:, 4] = 1, 1, 1, 1
    request = replace(asked(gta, 9), actions=Actions(walk_look(2.0, 5.0), rows))
    list(checked_rollout(gta, request))
    (call,) = engine.CALLS
    assert call["keyboard_cond"][0, :9].tolist() == [[1, 0]] * 2 + [[0, 0]] * 7
    np.testing.assert_allclose(call["mouse_cond"][0, :9], [[0, 0]] * 4 + [[0, 0.1]] * 3 + [[0.1, 0]] * 2, atol=1e-6)
    said = capsys.readouterr().err
    assert "no key for the move of 2 frames" in said
    assert "5 turns pass 1 degrees a frame" in said
    hand = Actions(HAND_POSES, np.zeros((9, 7), np.float32))
    with pytest.raises(NotApplicable, match="'hand-poses' move no camera"):
        next(iter(gta.rollout(replace(request, actions=hand))))


@pytest.mark.parametrize(
    ("name", "frames", "lengths", "chunk"),
    [
        (MG2, 0, "9+12n", 596),
        (MG2, 33, "9+12n", 32),
        (MG3, 0, "57+40n", 56),
        (MG3, 97, "57+40n", 96),
        ("FastVideo/LingBot-World-Base-Cam", 0, "5+4n", 80),
        ("FastVideo/Wan2.2-TI2V-5B", 0, "120n+1", 120),
    ],
)
def test_lengths_are_declared(engine: Any, name: str, frames: int, lengths: str, chunk: int) -> None:
    spec = FastVideo(name, frames=frames).spec
    assert (spec.lengths, spec.chunk) == (lengths, chunk)


def test_calls_are_as_long_as_they_are_made(engine: Any) -> None:
    """8 + 12 n frames after the picture; a longest call of 33 frames, after which the last one is padded again."""
    for horizon, calls in ((1, [9]), (9, [21]), (32, [33]), (33, [33, 21]), (70, [33, 33, 21])):
        engine.CALLS.clear()
        assert len(drawn(FastVideo(MG2, frames=33, size="64x32"), horizon)) == horizon
        assert [call["num_frames"] for call in engine.CALLS] == calls


def test_matrix_game_2_in_one_call(engine: Any) -> None:
    model = FastVideo(MG2, turn_deg=10, mouse=9)
    spec = model.spec
    assert (spec.control, spec.frame_size, spec.fps, spec.max_context) == ("actions", (640, 352), 25.0, 1)
    assert tuple(spec.inputs) == ()
    frames = drawn(model, 30)
    (call,) = engine.CALLS
    assert call["num_frames"] == 33
    assert (call["prompt"], call["save_video"], call["return_frames"], call["fps"]) == ("", False, True, 25)
    rows = walk_rows(30)
    np.testing.assert_array_equal(call["keyboard_cond"][0, :30, 0], rows[:, 0])
    np.testing.assert_allclose(call["mouse_cond"][0, :30, 1], -np.degrees(rows[:, 2]) / 10, atol=1e-6)
    np.testing.assert_allclose(call["mouse_cond"][0, :30, 0], np.degrees(rows[:, 3]) / 10, atol=1e-6)
    assert not call["keyboard_cond"][0, 30:].any(), "beyond the future nobody walks"
    turned = 40 * np.cumsum(call["mouse_cond"][0, :, 1]) + 3 * np.cumsum(call["keyboard_cond"][0, :, 0])
    start = asked(model, 30).context.clip[-1]
    for t in (0, 14, 29):  # frame t of the answer is frame t + 1 of the call, whose frame 0 is the start image
        assert np.abs(frames[t].astype(int) - np.roll(start, -int(turned[t]), axis=1)).max() <= 1


def test_a_call_starts_from_the_last_frame_of_the_one_before(engine: Any) -> None:
    frames = drawn(FastVideo(MG2, frames=21), 30)
    assert len(frames) == 30
    assert [call["num_frames"] for call in engine.CALLS] == [21, 21]
    np.testing.assert_array_equal(engine.CALLS[1]["keyboard_cond"][0, :10, 0], walk_rows(30)[20:, 0])
    assert len({call["seed"] for call in engine.CALLS}) == 2


def test_matrix_game_3_makes_57_and_then_40_more(engine: Any) -> None:
    model = FastVideo(MG3, size="64x32")
    assert tuple(model.spec.inputs) == ("caption",)
    assert len(drawn(model, 60)) == 60
    (call,) = engine.CALLS
    assert (call["num_frames"], call["height"], call["width"], call["prompt"]) == (97, 32, 64, SCENE)
    assert call["keyboard_cond"].shape == (1, 97, 6)


def test_a_stream_gives_its_blocks_as_they_come(engine: Any) -> None:
    model = FastVideo(MG2, stream=True, mouse=9)
    chunks = list(checked_rollout(model, asked(model, 25)))
    assert [len(chunk) for chunk in chunks] == [8, 12, 5]
    reset, *steps = engine.CALLS
    assert reset["num_frames"] == 33
    assert not reset["keyboard_cond"].any()
    sent = np.concatenate([step["keyboard_cond"][0, :, 0] for step in steps])
    np.testing.assert_array_equal(sent[:25], walk_rows(25)[:, 0])
    whole = drawn(FastVideo(MG2, mouse=9), 25)
    assert np.abs(np.concatenate(chunks).astype(int) - whole).max() <= 1, "the same as in one call"


def test_a_stream_that_is_over_begins_another(engine: Any) -> None:
    chunks = list(checked_rollout(model := FastVideo(MG2, stream=True, frames=21), asked(model, 25)))
    assert [len(chunk) for chunk in chunks] == [8, 12, 5]
    assert sum("reset" in call for call in engine.CALLS) == 2


def test_worldplay_is_given_a_pose_for_each_latent_frame(engine: Any) -> None:
    model = FastVideo(WORLDPLAY, scale=2)
    assert model.spec.control == "camera"
    request = asked(model, 20, seen=3)
    assert len(next(iter(checked_rollout(model, request)))) == 20
    (call,) = engine.CALLS
    assert call["num_frames"] == 29
    whole = np.concatenate([request.context.poses[-1:], request.poses])
    relative = np.linalg.inv(whole[0]) @ whole
    relative[:, :3, 3] *= 2
    expected = relative[np.minimum(np.arange(0, 29, 4), 20)]
    np.testing.assert_allclose(call["poses"], expected, atol=1e-9)
    np.testing.assert_allclose(call["poses"][0], np.eye(4), atol=1e-12)
    camera = request.context.camera
    np.testing.assert_allclose(call["K"], [[camera.fx, 0, camera.cx], [0, camera.fy, camera.cy], [0, 0, 1]])


def test_lingbot_reads_poses_and_intrinsics_of_a_folder(engine: Any) -> None:
    two = FastVideo("robbyant/lingbot-world-v2-14b-causal-fast")
    assert engine.LOADED[0][1]["override_pipeline_cls_name"] == "LingBotWorld2CausalFastPipeline"
    drawn(two, 20)
    assert engine.CALLS[0]["poses"].shape == (29, 4, 4)
    camera = asked(two, 1).context.camera
    np.testing.assert_allclose(engine.CALLS[0]["K"][0], [camera.fx, camera.fy, camera.cx, camera.cy], rtol=1e-6)
    assert len(drawn(FastVideo("FastVideo/LingBot-World-Base-Cam-Diffusers"), 100)) == 100
    assert [call["num_frames"] for call in engine.CALLS[1:]] == [81, 21]


@pytest.mark.parametrize(
    ("model", "count"),
    [("HunyuanGameCraft", 33), ("DreamX-World-5B-Cam", 161), ("Wan2.1-I2V-14B-480P", 81), ("LTX2-Distilled", 121)],
)
def test_families_of_one_length(engine: Any, model: str, count: int) -> None:
    size = {"size": "64x32"}  # the rays of a full frame take a while
    made = FastVideo(f"FastVideo/{model}-Diffusers", **size)
    words = {"text": "Walk ahead."} if made.spec.control == "text" else {}
    assert len(drawn(made, count + 3, **words)) == count + 3
    assert [call["num_frames"] for call in engine.CALLS] == [count, count]
    assert engine.CALLS[0]["prompt"] == " ".join([SCENE, *words.values()])


def test_a_chain_gives_each_sentence_calls_of_its_own(engine: Any) -> None:
    made = FastVideo("FastVideo/Wan2.1-I2V-14B-480P-Diffusers", size="64x32", chain=True)
    assert made.spec.settings["chain"] is True
    walk = np.zeros((80, 4), np.float32)
    walk[:50, 0], walk[50:, 2] = 1, -0.02
    request = replace(asked(made, 80), actions=Actions(LOOP_WALK, walk), text="Walk, then turn.")
    assert request.prompts is not None
    assert [said.frame for said in request.prompts] == [0, 50]
    frames = np.concatenate(list(checked_rollout(made, request)))
    assert len(frames) == 80
    assert [call["prompt"] for call in engine.CALLS] == [f"{SCENE} {said.text}" for said in request.prompts]
    assert engine.CALLS[0]["seed"] != engine.CALLS[1]["seed"]
    whole = FastVideo("FastVideo/Wan2.1-I2V-14B-480P-Diffusers", size="64x32")
    list(checked_rollout(whole, request))
    assert [call["prompt"] for call in engine.CALLS[2:]] == [f"{SCENE} Walk, then turn."]
    with pytest.raises(NotApplicable, match="no sentences"):
        list(made.rollout(as_served(replace(request, actions=None))))
    with pytest.raises(ValueError, match="chain is for models that words drive"):
        FastVideo(MG2, chain=True)


def test_segments_walk_and_turn() -> None:
    actions, speeds = segments(turning([2.5] * 80 + [0] * 80, walk=0.1), 161, 40, 1.0)
    assert actions == ["wj", "wj", "w", "w"]
    # 161 frames in 4 segments of 41; 41 turns are 102.5 degrees, ten for each unit of speed.
    assert speeds[0] == pytest.approx(10.25)
    assert speeds[1] == pytest.approx((80 - 41) * 2.5 / 10)
    assert speeds[2:] == pytest.approx([4.1, 3.7])
    assert segments(np.zeros((160, 5)), 161, 80, 1.0) == (["w", "w"], [0.0, 0.0])
    both = np.tile([-0.1, -0.1, 0, 0, 0], (160, 1))
    assert segments(both, 161, 161, 2.0) == (["sd"], [32.0])


def test_gen3c_goes_straight_or_is_not_asked() -> None:
    path = np.tile(np.eye(4), (121, 1, 1))
    path[:, 2, 3] = np.linspace(0, 1.2, 121)
    assert straight(path) == {
        "trajectory_type": "zoom_in",
        "movement_distance": pytest.approx(1.21),
        "camera_rotation": "no_rotation",
    }
    assert straight(np.tile(np.eye(4), (9, 1, 1)))["trajectory_type"] == "none"
    aside = path.copy()
    aside[:, 0, 3] = -path[:, 2, 3]
    with pytest.raises(NotApplicable, match="along one axis"):
        straight(aside)
    path[-1, :3, :3] = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]
    with pytest.raises(NotApplicable):
        straight(path)


def test_every_known_model_declares_what_it_is() -> None:
    for name, known in MODELS.items():
        spec = FastVideo(f"x/{name}-Diffusers").spec
        assert (spec.frame_size, spec.fps) == (known.size, known.fps), name
        assert {"keys": "actions", "segments": "actions", "text": "text"}.get(known.takes, "camera") == spec.control


@pytest.mark.parametrize(
    ("settings", "because"),
    [
        ({"model": "FastVideo/Unheard-Of"}, "is not known; known are Matrix-Game-2.0-Base"),
        ({"model": MG2, "frames": 20}, r"frames is 20; a call makes 9\+12n to 597 frames, n from 0"),
        ({"model": MG2, "size": "650x352"}, "divisible by 16"),
        ({"model": MG2, "size": "640"}, "give WIDTHxHEIGHT"),
        ({"model": MG3, "stream": True}, "stream is for Matrix-Game 2.0"),
        ({"model": WORLDPLAY, "scale": 0}, "scale and segment are above 0"),
    ],
)
def test_settings_that_cannot_be_meant(settings: dict[str, Any], because: str) -> None:
    with pytest.raises(ValueError, match=because):
        FastVideo(**settings)


def test_frames_of_another_size_or_number_are_a_failure(monkeypatch: pytest.MonkeyPatch, engine: Any) -> None:
    model = FastVideo(MG2)
    monkeypatch.setattr(
        engine.VideoGenerator, "generate_video", lambda *_, **__: {"frames": [np.zeros((4, 4, 3), np.uint8)]}
    )
    with pytest.raises(ValueError, match=r"for 9 frames of 640x352, it drew 1 frames of 4x4 \(uint8\)"):
        next(iter(model.rollout(asked(model, 4))))


def test_the_same_in_an_environment_without_worldgauge() -> None:
    model = FastVideo(MG2)
    request = asked(model, 20)
    elsewhere = np.concatenate(list(model.rollout(as_served(request))))
    np.testing.assert_array_equal(elsewhere, np.concatenate(list(model.rollout(request))))


def test_weights_of_another_name(tmp_path: Any) -> None:
    (tmp_path / "weights.safetensors").write_bytes(b"1")
    spec = FastVideo(str(tmp_path), like="Matrix-Game-2.0-GTA").spec
    assert len(spec.settings["weights"]) == 64
    assert spec.frame_size == (640, 352)


def test_says_what_is_missing() -> None:
    sys.path[:] = [folder for folder in sys.path if "upstream" not in folder]
    for name in [name for name in sys.modules if name.split(".")[0] == "fastvideo"]:
        del sys.modules[name]
    with pytest.raises(ImportError, match="uv pip install fastvideo"):
        fastvideo._need("fastvideo.nothing")


@pytest.mark.parametrize(
    "name",
    [
        *("Matrix-Game-2.0-Base-Distilled", "Matrix-Game-3.0-Base-Distilled", "HY-WorldPlay-Bidirectional"),
        *("LingBot-World-Base-Cam", "lingbot-world-v2", "HunyuanGameCraft", "DreamX-World-5B-Cam"),
        *("Cosmos-Predict2.5-2B", "Wan2.1-I2V-14B-480P", "Wan2.2-TI2V-5B", "LTX2"),
    ],
)
def test_every_family_keeps_the_promises_of_a_model(name: str) -> None:
    """GEN3C is missing: it is asked no turn, and checks turn."""
    assert complaints(check_model(FastVideo(f"FastVideo/{name}-Diffusers", size="64x32"))) == []


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"stream": True}])
def test_keeps_the_protocol(settings: dict[str, Any]) -> None:
    report = check_model(FastVideo(MG2, size="128x64", **settings), suite="mind")
    found = {verdict.name: verdict.explanation for verdict in report.verdicts if verdict.status == "violated"}
    assert report.ok, found
