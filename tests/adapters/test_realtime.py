"""Sessions of SGLang Diffusion and vLLM-Omni: what is asked, what comes back, and each way in which it goes wrong."""

import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from adapters.realtime import Realtime, png, script_of, unpack_array
from PIL import Image

from adapters import realtime
from support.realtime_server import RealtimeServer, realtime_server
from support.upstream import question, walk_rows
from worldgauge.core.actions import HAND_POSES, LOOP_WALK, Actions
from worldgauge.core.errors import ModelError
from worldgauge.core.model import checked_rollout
from worldgauge.engine.model_entries import resolve_model
from worldgauge.tools.check_model import check_model
from worldgauge_serve import NotApplicable

SIZE = {"size": "64x32"}
BOTH = pytest.mark.parametrize("protocol", ["sglang", "vllm-omni"])


@pytest.fixture
def server() -> Iterator[RealtimeServer]:
    with realtime_server() as made:
        yield made


def asked(model: Realtime, horizon: int) -> Any:
    return replace(question(walk_rows(2 + horizon), seen=3, spec=model.spec, seed=3), caption="A street.")


def drawn(model: Realtime, horizon: int) -> np.ndarray:
    return np.concatenate(list(checked_rollout(model, asked(model, horizon))))


def turning(degrees: list[float]) -> Actions:
    rows = np.zeros((len(degrees), 4), np.float32)
    rows[:, 2] = np.radians(degrees)
    return Actions(LOOP_WALK, rows)


def test_a_script_keeps_the_heading_to_half_a_step() -> None:
    script = script_of(turning([1.0] * 40), 4, 6, 4)
    heading = np.cumsum([6 * ("j" in held) for held in script])
    np.testing.assert_array_less(np.abs(heading - 4 * np.arange(1, 11)), 3.001)
    assert script_of(turning([-1.5] * 8), 4, 6, 4) == [["l"], ["l"]]
    assert script_of(turning([9.0] * 4 + [0.0] * 8), 4, 6, 4) == [["j"], [], []], "the rest is lost"
    walk = Actions(LOOP_WALK, np.array([[1, 0, 0, 0]] * 4 + [[0, 0, 0, np.radians(-4)]] * 4, np.float32))
    assert script_of(walk, 4, 6, 16) == [["w"], ["k"]]
    with pytest.raises(NotApplicable):
        script_of(Actions(HAND_POSES, np.zeros((2, 7), np.float32)), 4, 6, 4)


def test_a_session_of_sglang(server: RealtimeServer) -> None:
    model = Realtime(server.url, call={"num_inference_steps": 4}, **SIZE)
    spec = model.spec
    assert (spec.control, spec.frame_size, spec.fps, tuple(spec.inputs)) == ("actions", (64, 32), 16.0, ("caption",))
    request = asked(model, 30)
    chunks = list(checked_rollout(model, request))
    assert [len(chunk) for chunk in chunks] == [12, 16, 2]
    (init,) = server.asked
    assert (init["prompt"], init["size"], init["fps"], init["seed"]) == ("A street.", "64x32", 16, 3)
    assert (init["max_chunks"], init["realtime_output_format"], init["num_inference_steps"]) == (3, "raw", 4)
    script = init["condition_inputs"]["camera_actions"]
    assert script == script_of(request.actions, 4, 6, 4)
    start = request.context.clip[-1]
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(init["first_frame"]))), start)
    turned = np.cumsum([("l" in held) - ("j" in held) for held in script])
    for t, frame in enumerate(np.concatenate(chunks)):
        shift = turned[(t + 1) // 4 - 1] if t >= 3 else 0
        np.testing.assert_array_equal(frame, np.roll(start, -shift, axis=1) + np.uint8(t + 1))


def test_a_session_of_vllm_omni(server: RealtimeServer) -> None:
    model = Realtime(server.url, protocol="vllm-omni", scale=2.0, name="lingbot", **SIZE)
    assert (model.spec.control, model.spec.name) == ("camera", "lingbot")
    request = asked(model, 30)
    frames = np.concatenate(list(checked_rollout(model, request)))
    start = request.context.clip[-1]
    for t, frame in enumerate(frames):
        np.testing.assert_array_equal(frame, start + np.uint8(t + 1))
    (given,) = server.asked
    assert given["extra_body"]["num_frames"] == 33
    whole = np.concatenate([request.context.poses[-1:], request.poses])
    relative = np.linalg.inv(whole[0]) @ whole
    relative[:, :3, 3] *= 2
    np.testing.assert_allclose(given["camera"]["poses"][:31], relative, atol=1e-5)
    np.testing.assert_array_equal(given["camera"]["poses"][31:], given["camera"]["poses"][30:31].repeat(2, axis=0))
    camera = request.context.camera
    np.testing.assert_allclose(
        given["camera"]["intrinsics"][0], [camera.fx * 13, camera.fy * 15, camera.cx * 13, camera.cy * 15], rtol=1e-6
    )


@BOTH
@pytest.mark.parametrize(
    ("fault", "because"),
    [
        ("drop", "2.* came where .*1.* was due"),
        ("swap", "came where .*0.* was due"),
        ("repeat", "0.* came where .*1.* was due"),
        ("close", "ended after (12|15) of 30 frames"),
        ("error", "the server said: out of memory"),
        ("hang", "silent for too long"),
        ("size", "64x32 was asked for|were due"),
        ("garbage", "not 6144 each|cannot be read"),
    ],
)
def test_a_session_that_goes_wrong_fails_its_task(
    server: RealtimeServer, protocol: str, fault: str, because: str
) -> None:
    server.fault = fault
    with pytest.raises(ModelError, match=because):
        drawn(Realtime(server.url, protocol=protocol, chunk_s=1.0, **SIZE), 30)
    server.fault = ""
    server.stop.set()
    assert len(drawn(Realtime(server.url, protocol=protocol, **SIZE), 5)) == 5, "the next question is asked anew"


@pytest.mark.parametrize(
    ("protocol", "fault", "because"),
    [
        ("sglang", "short", "has 12 frames, and 13 were due; give chunk="),
        ("sglang", "compressed", "frames came as image/webp"),
        ("sglang", "chatter", "silent for too long"),
        ("vllm-omni", "unsupported", "Camera realtime API is not available"),
    ],
)
def test_faults_of_one_protocol(server: RealtimeServer, protocol: str, fault: str, because: str) -> None:
    server.fault = fault
    with pytest.raises(ModelError, match=because):
        drawn(Realtime(server.url, protocol=protocol, chunk_s=0.5, **SIZE), 30)


@BOTH
def test_a_slow_session_is_waited_for(server: RealtimeServer, protocol: str) -> None:
    server.fault = "slow"
    assert len(drawn(Realtime(server.url, protocol=protocol, chunk_s=2.0, **SIZE), 40)) == 40


def test_nobody_there() -> None:
    with pytest.raises(ModelError, match="ended after 0 of 5 frames"):
        drawn(Realtime("ws://127.0.0.1:9", **SIZE), 5)


def test_a_field_that_the_server_does_not_know(server: RealtimeServer) -> None:
    with pytest.raises(ModelError, match="invalid generate request"):
        drawn(Realtime(server.url, call={"nothing": 1}, **SIZE), 5)


def test_a_script_that_sglang_would_cut_is_not_asked(server: RealtimeServer) -> None:
    model = Realtime(server.url, **SIZE)
    with pytest.raises(NotApplicable, match="keeps 512 camera actions"):
        next(iter(model.rollout(asked(model, 2049))))


def test_a_key_goes_to_the_server(server: RealtimeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "abc")
    model = Realtime(server.url, key_env="MY_KEY", **SIZE)
    drawn(model, 3)
    assert server.headers[0]["Authorization"] == "Bearer abc"
    assert "abc" not in str(model.spec)


@pytest.mark.parametrize(
    ("settings", "because"),
    [
        ({"url": "http://127.0.0.1:1"}, "url is ws://HOST:PORT"),
        ({"url": "ws://user:word@127.0.0.1:1"}, "without a password"),
        ({"url": "ws://10.0.0.2:1"}, "give wss://, or insecure=true"),
        ({"url": "ws://127.0.0.1:1", "protocol": "grpc"}, "give one of sglang, vllm-omni"),
        ({"url": "ws://127.0.0.1:1", "size": "64"}, "give WIDTHxHEIGHT"),
        ({"url": "ws://127.0.0.1:1", "chunk": 0}, "are above 0"),
        ({"url": "ws://127.0.0.1:1", "key_env": "NOT_SET_HERE"}, "NOT_SET_HERE holds no key"),
    ],
)
def test_settings_that_cannot_be_meant(settings: dict[str, Any], because: str) -> None:
    with pytest.raises(ValueError, match=because):
        Realtime(**settings)


def test_arrays_that_are_not_frames_are_refused() -> None:
    with pytest.raises(ValueError, match="an array of type"):
        unpack_array({b"__ndarray__": True, b"data": b"", b"dtype": "|O", b"shape": [1]})
    with pytest.raises(ValueError, match="reshape"):
        unpack_array({b"__ndarray__": True, b"data": b"123", b"dtype": "|u1", b"shape": [1 << 40]})
    assert unpack_array({"type": "frame"}) == {"type": "frame"}


def test_a_png_is_read_by_others() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (7, 5, 3), dtype=np.uint8)
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(png(picture)))), picture)


def test_is_a_model_by_its_file(server: RealtimeServer) -> None:
    found = resolve_model(f"{realtime.__file__}:Realtime?url={server.url}&size=64x32&name=lingbot")
    assert found.model.spec.control == "actions"


@pytest.mark.slow
@BOTH
def test_keeps_the_protocol(server: RealtimeServer, protocol: str) -> None:
    report = check_model(Realtime(server.url, protocol=protocol, **SIZE), suite="mind")
    found = {verdict.name: verdict.explanation for verdict in report.verdicts if verdict.status == "violated"}
    assert report.ok, found
