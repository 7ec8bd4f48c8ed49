"""A model in its own process, over each transport of docs/reference/protocol.md, with bare sockets and pipes."""

import fcntl
import http.client
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import worldgauge_serve
from worldgauge_serve import CONTENT_TYPE, SOCKET_VARIABLE, TOKEN_VARIABLE, encode, read_message, write_message

MODELS = Path(__file__).parent / "served_models"
PROBE = MODELS / "probe.py"
SPACE = {
    "name": "walk",
    "fps": 20.0,
    "axes": [
        {"name": "forward", "kind": "button", "motion": [0.2, 0, 0, 0, 0]},
        {"name": "camera_yaw", "kind": "angle", "motion": [0, 0, 0, 1, 0]},
    ],
}
CAMERA = {"width": 8, "height": 6, "fx": 7.0, "fy": 7.0, "cx": 4.0, "cy": 3.0}
Message = tuple[dict[str, Any], dict[str, Any]]


def question(
    id: str = "q1", horizon: int = 3, control: str = "actions", text: str | None = None, count: int = 1, **more: Any
) -> Message:
    """A rollout message of `count` requests that differ in everything."""
    requests, arrays = [], {}
    for n in range(count):
        rng = np.random.default_rng(n)
        one = {"horizon": horizon, "seed": 7 + n, "text": text, "fps": 20.0, "camera": CAMERA, "space": SPACE}
        requests.append({**one, "task": f"t{n}"})
        arrays[f"{n}/context/frames"] = rng.integers(0, 256, (4, 6, 8, 3), np.uint8)
        arrays[f"{n}/context/poses"] = np.tile(np.eye(4), (4, 1, 1))
        arrays[f"{n}/context/actions"] = rng.random((3, 2), np.float32)
        if control == "actions" and text is None:
            arrays[f"{n}/actions"] = rng.random((horizon, 2), np.float32) * 50
        elif control == "camera":
            arrays[f"{n}/poses"] = np.tile(np.eye(4), (horizon, 1, 1))
            arrays[f"{n}/poses"][:, :3, 3] = rng.random((horizon, 3)) * 50
    return {"type": "rollout", "id": id, "requests": requests, **more}, arrays


class Server:
    """A child that serves a model. hello: its first message."""

    hello: dict[str, Any]

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def ask(self, header: dict[str, Any], arrays: dict[str, Any] | None = None) -> list[Message]:
        """All messages that answer."""
        raise NotImplementedError

    def last(self, message: Message) -> dict[str, Any]:
        """The last message of the answer, which ends it."""
        return self.ask(*message)[-1][0]


class Stream(Server):
    def __init__(self, process: subprocess.Popen[bytes], readinto: Any, write: Any, hang_up: Any) -> None:
        super().__init__(process)
        self.readinto, self.write, self.hang_up = readinto, write, hang_up

    def say(self, header: dict[str, Any], arrays: dict[str, Any] | None = None) -> None:
        write_message(self.write, header, arrays)

    def hear(self) -> Message:
        return read_message(self.readinto)

    def ask(self, header: dict[str, Any], arrays: dict[str, Any] | None = None) -> list[Message]:
        self.say(header, arrays)
        messages = [self.hear()]
        while messages[-1][0]["type"] == "chunk":
            messages.append(self.hear())
        return messages


class Http(Server):
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        super().__init__(process)
        line = process.stdout.readline().decode()
        self.port = int(line.rpartition(":")[2])
        self.token = ""

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)

    def socket(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, Any]]:
        with closing(self.connection()) as connection:
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            return response.status, json.load(response)

    def post(self, path: str, body: bytes, **headers: str) -> tuple[int, bytes]:
        with closing(self.connection()) as connection:
            connection.request("POST", path, body, {"Content-Type": CONTENT_TYPE, **headers})
            response = connection.getresponse()
            return response.status, response.read()

    def begin(self, header: dict[str, Any], arrays: dict[str, Any] | None = None) -> http.client.HTTPResponse:
        """Ask, and leave the answer to be read."""
        connection = self.connection()
        connection.request("POST", "/v1/rollout", b"".join(encode(header, arrays)), {"Content-Type": CONTENT_TYPE})
        return connection.getresponse()

    def ask(self, header: dict[str, Any], arrays: dict[str, Any] | None = None) -> list[Message]:
        response = self.begin(header, arrays)
        assert response.status == 200, response.read()
        return rest(response)


def rest(response: http.client.HTTPResponse) -> list[Message]:
    """The messages that are left in an answer."""
    messages = []
    with suppress(EOFError):
        while True:
            messages.append(read_message(response.readinto))
    return messages


@contextmanager
def serving(transport: str, target: str, *options: str, folder: Path, **environment: str) -> Iterator[Any]:
    """A server of `target` in served_models/probe.py; afterwards it is gone. Its stderr: folder/stderr."""
    command = [sys.executable, "-m", "worldgauge_serve", f"{PROBE}:{target}", *options]
    settings: dict[str, Any] = {"cwd": folder, "env": {**os.environ, **environment}, "stdout": subprocess.PIPE}
    with (folder / "stderr").open("ab") as settings["stderr"]:
        if transport == "http":
            server: Any = Http(
                subprocess.Popen([*command, *([] if "--port" in options else ["--port", "0"])], **settings)
            )
        elif transport == "pipes":
            child = subprocess.Popen([*command, "--pipes"], stdin=subprocess.PIPE, bufsize=0, **settings)
            server = Stream(child, child.stdout.readinto, child.stdin.write, child.stdin.close)
        else:
            server = connected(command, folder, settings)
    try:
        if transport != "http":
            server.hello = server.hear()[0]
        elif TOKEN_VARIABLE not in environment:
            server.hello = server.get("/v1/info")[1]
        yield server
    finally:
        if transport == "http":
            server.process.terminate()
        else:
            server.hang_up()
        try:
            server.process.wait(20)
        finally:
            server.process.kill()
            server.process.stdout.close()


def connected(command: list[str], folder: Path, settings: dict[str, Any]) -> Stream:
    """A child on a Unix socket."""
    with socket.socket(socket.AF_UNIX) as listener:
        (folder / "s").unlink(missing_ok=True)
        listener.bind(str(folder / "s"))
        listener.listen()
        settings["env"][SOCKET_VARIABLE] = str(folder / "s")
        child = subprocess.Popen(command, **settings)
        listener.settimeout(20)
        line, _ = listener.accept()
    line.settimeout(20)
    return Stream(child, line.recv_into, line.send, line.close)


TRANSPORTS = ("pipes", "socket", "http")
STREAMS = ("pipes", "socket")


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_says_what_it_is(transport: str, tmp_path: Path) -> None:
    with serving(transport, "Echo?gain=0.5&control=camera", folder=tmp_path) as server:
        hello = server.hello
    assert (hello["type"], hello["version"], hello["batch"]) == ("hello", 2, False)
    assert (hello["spec"]["settings"], hello["spec"]["control"]) == ({"gain": 0.5}, "camera")
    assert (hello["given"], hello["needs"]) == ({"gain": 0.5, "control": "camera"}, {"cpus": 2})
    assert re.fullmatch("sha256:[0-9a-f]{64}:Echo", hello["source"])


def same(one: list[Message], other: list[Message]) -> bool:
    """Bit for bit, but for what names the question."""
    if [{**header, "id": ""} for header, _ in one] != [{**header, "id": ""} for header, _ in other]:
        return False
    pairs = zip((arrays for _, arrays in one), (arrays for _, arrays in other), strict=True)
    return all(a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a) for a, b in pairs)


QUESTIONS = {
    "actions": ("Echo", question()),
    "camera": ("Echo?control=camera", question(control="camera")),
    "text": ("Echo?control=text", question(text="Walk forward 4.3 metres. 前へ")),
    "one by one": ("Echo", question(count=3)),
    "batch": ("Batch", question(count=3)),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_same_answer_over_all_three_ways_and_in_this_process(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, (header, arrays) = QUESTIONS[name]
    answers = []
    for transport in TRANSPORTS:
        (tmp_path / transport).mkdir()
        with serving(transport, target, folder=tmp_path / transport) as server:
            answers.append(server.ask(header, arrays))
            assert same(server.ask(header, arrays), answers[0]), "a question holds all state"
    assert same(answers[0], answers[1])
    assert same(answers[0], answers[2])
    assert [one["type"] for one, _ in answers[0]] == ["chunk"] * (3 * len(header["requests"])) + ["done"]
    assert [one["index"] for one, _ in answers[0][:-1]] == sorted(list(range(len(header["requests"]))) * 3)
    firsts = [arrays["frames"][0, 0, 0, 0] for one, arrays in answers[0][:-1]]
    assert (firsts == [3] * 9) == (name == "batch")
    monkeypatch.setattr(worldgauge_serve, "GRACE_S", worldgauge_serve.GRACE_S)  # which the file of the model changes
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    model = worldgauge_serve.load(f"{PROBE}:{target}").model
    for n, request in enumerate(worldgauge_serve.requests_of(header, arrays)):
        here = np.concatenate(list(model.rollout(request)))
        there = np.concatenate([arrays["frames"] for one, arrays in answers[0][:-1] if one["index"] == n])
        assert np.array_equal(here[..., 1:, :], there[..., 1:, :])


def test_depth_and_prints_of_a_model(tmp_path: Path) -> None:
    header, arrays = question()
    depth = np.full((4, 6, 8), 5.0, np.float32)
    depth[:-1] = np.nan
    with serving("socket", "Echo?inputs=depth", folder=tmp_path) as server:
        assert server.hello["spec"]["inputs"] == ["depth"]
        without = server.ask(header, arrays)[0][1]["frames"]
        with_it = server.ask(header, {**arrays, "0/context/depth": depth})[0][1]["frames"]
    assert np.array_equal(with_it, without + np.uint8(5))
    with serving("pipes", "Echo", folder=tmp_path) as server:
        server.ask(*question())
    assert "thinking, with '' from standard input" in (tmp_path / "stderr").read_text()
    assert "straight to descriptor 1" in (tmp_path / "stderr").read_text()


ODD = {
    "list": ("subject", "frame 0: expected a numpy array, got list"),
    "bool": ("subject", "chunk at frame 1: expected uint8 frames in 0..255, got bool"),
    "surrogate": ("subject", "model 'odd' raised KeyError at frame 1: 'caf\\udce9 日本'"),
    "unprintable": ("subject", "model 'odd' raised Unprintable at frame 0: "),
    "exit": ("subject", "model 'odd' raised SystemExit at frame 0: bye"),
    "refuse": ("not_applicable", "not on Sundays"),
    "none": ("subject", "expected a numpy array, got uint8"),
    "nonsense": ("subject", "'Odd' object has no attribute '_nonsense'"),
}


def test_whatever_a_model_does_has_a_name_and_the_next_question_an_answer(tmp_path: Path) -> None:
    with serving("socket", "Odd", folder=tmp_path) as server:
        for text, (kind, words) in ODD.items():
            last = server.last(question(id=text, text=text))
            assert (last["type"], last["kind"], last["id"]) == ("error", kind, text)
            assert words in last["message"]
        last = server.last(question(text="raise"))
        assert len(last["message"]) + len(last["trace"]) < 50_000
        assert last["message"].startswith("model 'odd' raised ValueError at frame 1: xxx")
        assert "_raise" in last["trace"] or last["trace"].endswith("end\n")
        assert [one["type"] for one, _ in server.ask(*question(text="well"))] == ["chunk", "done"]


def test_arrays_of_every_make_arrive(tmp_path: Path) -> None:
    """Views, big-endian, without sides, without frames: what is asked for is the asker's to judge."""
    with serving("socket", "Odd", folder=tmp_path) as server:
        (_, views), _ = server.ask(*question(text="views"))
        assert views["frames"].dtype == np.int32
        assert (views["frames"] == 7).all()
        (_, zero), (_, empty), _ = server.ask(*question(text="zero"))
    assert zero["frames"].shape == ()
    assert zero["frames"] == 3
    assert empty["frames"].shape == (0, 6, 8, 3)


def test_a_generator_that_does_not_leave_is_the_models_failure(tmp_path: Path) -> None:
    with serving("socket", "Odd", folder=tmp_path) as server:
        server.say(*question(text="stubborn"))
        assert server.hear()[0]["type"] == "chunk"
        server.say({"type": "cancel", "id": "q1"})
        while (last := server.hear()[0])["type"] == "chunk":
            pass
        assert "generator ignored GeneratorExit" in last["message"]
        assert server.ask(*question(text="well"))[-1][0]["type"] == "done"


@pytest.fixture
def slow(tmp_path: Path) -> str:
    os.mkfifo(tmp_path / "gate")
    return f"Slow?gate={tmp_path / 'gate'}&log={tmp_path / 'log'}"


def open_gate(folder: Path) -> None:
    """Returns when a model waits at the gate, and lets it go on."""
    (folder / "gate").open("wb").close()


@pytest.mark.parametrize("transport", STREAMS)
def test_cancel_ends_a_rollout_and_the_model_has_left_it_when_the_asker_hears(
    transport: str, slow: str, tmp_path: Path
) -> None:
    with serving(transport, slow, folder=tmp_path) as server:
        server.say(*question())
        assert server.hear()[0]["type"] == "chunk"
        server.say({"type": "cancel", "id": "another"})
        server.say({"type": "cancel", "id": "q1"})
        server.say({"type": "ping"})
        pong, _ = server.hear()
        assert (pong["type"], pong["busy"], pong["done"]) == ("pong", True, 0)
        open_gate(tmp_path)
        last, _ = server.hear()
        assert (last["kind"], last["id"]) == ("cancelled", "q1")
        assert (tmp_path / "log").read_text() == "left\n"
        assert server.last(question("q2", horizon=1))["type"] == "done"


def test_cancel_over_http(slow: str, tmp_path: Path) -> None:
    with serving("http", slow, folder=tmp_path) as server:
        answer = server.begin(*question())
        assert read_message(answer.readinto)[0]["type"] == "chunk"
        status, body = server.post("/v1/cancel", b"".join(encode({"type": "cancel", "id": "q1"})))
        assert (status, json.loads(body)["busy"]) == (200, True)
        open_gate(tmp_path)
        ((last, _),) = rest(answer)
        assert (last["kind"], (tmp_path / "log").read_text()) == ("cancelled", "left\n")
        assert server.last(question("q2", horizon=1))["type"] == "done"


def test_asked_again_by_the_same_name_the_first_gives_way(slow: str, tmp_path: Path) -> None:
    with serving("http", slow, folder=tmp_path) as server:
        first = server.begin(*question())
        assert read_message(first.readinto)[0]["type"] == "chunk"
        second = server.begin(*question(horizon=1, wait_s=20))
        third = server.begin(*question("other", horizon=1, wait_s=20))
        while server.get("/v1/health")[1]["waiting"] < 2:
            pass
        open_gate(tmp_path)
        assert rest(first)[-1][0]["kind"] == "cancelled"
        assert [one["type"] for one, _ in rest(second)] == ["chunk", "done"]
        assert [one["type"] for one, _ in rest(third)] == ["chunk", "done"]


def test_questions_on_a_stream_wait_in_line_and_can_be_cancelled_there(slow: str, tmp_path: Path) -> None:
    with serving("socket", slow, folder=tmp_path) as server:
        server.say(*question("a", horizon=2))
        assert server.hear()[0]["id"] == "a"
        for name in "bcd":
            server.say(*question(name, horizon=1))
        server.say({"type": "cancel", "id": "c"})
        server.say({"type": "ping"})
        assert server.hear()[0]["type"] == "pong"
        open_gate(tmp_path)
        heard = [server.hear()[0] for _ in range(7)]
    assert [(one["id"], one["type"]) for one in heard] == [
        *(("a", "chunk"), ("a", "done"), ("b", "chunk"), ("b", "done")),
        *(("c", "error"), ("d", "chunk"), ("d", "done")),
    ]
    assert heard[4]["kind"] == "cancelled"


def test_a_question_with_a_senseless_deadline_ends_no_server() -> None:
    desk = worldgauge_serve._Desk()
    desk.ask(worldgauge_serve._Question({"id": "q", "deadline_s": -1e9}, {}, lambda *_: None))
    desk.current.sign = time.monotonic()
    assert not desk.overdue(), "it will be refused when it is read"


def test_an_asker_who_hangs_up_is_seen_whatever_the_number_of_its_descriptor() -> None:
    ours, theirs = socket.socketpair()
    handler = object.__new__(worldgauge_serve._Handler)
    with ours, theirs, socket.socket(fileno=fcntl.fcntl(ours, fcntl.F_DUPFD, 1500)) as handler.connection:
        assert not handler._is_left()
        theirs.close()
        assert handler._is_left()


@pytest.fixture
def handler() -> Iterator[Any]:
    """A handler with a question in hand; the asker holds `theirs`, and `asks` another question."""
    handler = object.__new__(worldgauge_serve._Handler)
    handler.server = SimpleNamespace(desk=worldgauge_serve._Desk())
    ours, handler.theirs = socket.socketpair()
    ours.settimeout(worldgauge_serve.QUIET_S)

    def asks(name: str) -> None:
        handler.server.desk.ask(worldgauge_serve._Question({"id": name}, {}, lambda *_: None))

    handler.asks = asks
    with ours, handler.theirs, ours as handler.connection:
        asks("in hand")
        yield handler


CHUNK = {"type": "chunk"}, {"frames": np.zeros(4 << 20, np.uint8)}


def test_an_asker_who_takes_little_is_left_when_others_wait(handler: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worldgauge_serve, "SLOW_S", 0.3)
    monkeypatch.setattr(worldgauge_serve._Handler, "patience_s", 0.3)

    def trickle() -> None:
        for _ in range(12):
            time.sleep(0.1)
            taken.append(len(handler.theirs.recv(4096)))

    taken: list[int] = []
    threading.Timer(2.0, handler.asks, ["in line"]).start()
    threading.Thread(target=trickle).start()
    began = time.monotonic()
    with pytest.raises(TimeoutError, match="too little"):
        handler._post(*CHUNK)
    assert 1.9 < time.monotonic() - began < 10, "as long as nobody waited it had time"
    assert sum(taken) > 0


@pytest.mark.parametrize("alone_s", [0.0, 2.0])
def test_an_asker_who_takes_just_enough_holds_the_model_for_a_while_only(
    alone_s: float, handler: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worldgauge_serve, "SLOWEST", 1000)
    monkeypatch.setattr(worldgauge_serve, "HELD_S", 1.5)

    def trickle() -> None:
        while not is_left.wait(0.05):
            taken.append(len(handler.theirs.recv(4096)))

    taken: list[int] = []
    is_left = threading.Event()
    reader, timer = threading.Thread(target=trickle), threading.Timer(alone_s, handler.asks, ["in line"])
    timer.start()
    reader.start()
    began = time.monotonic()
    try:
        with pytest.raises(TimeoutError, match="too little"):
            handler._post(*CHUNK)
        seconds = time.monotonic() - began
    finally:
        is_left.set()
        reader.join()
        timer.join()
    assert alone_s + 1.4 < seconds < 20, "what nobody waited for is not counted"
    assert handler.patience_s > 0, "it was never behind"
    assert sum(taken) > 0


def test_busy_when_asked_meanwhile_and_health_answers(slow: str, tmp_path: Path) -> None:
    with serving("http", slow, folder=tmp_path) as server:
        answer = server.begin(*question())
        read_message(answer.readinto)
        pong = {"type": "pong", "version": 2, "busy": True, "waiting": 0, "done": 0, "sent": 1}
        assert server.get("/v1/health") == (200, pong)
        assert server.last(question("q2"))["kind"] == "busy"
        assert server.last(question("q3", wait_s=0.01))["kind"] == "busy"
        patient = server.begin(*question("q4", horizon=1, wait_s=1e300))
        open_gate(tmp_path)
        assert (rest(answer)[-1][0]["type"], rest(patient)[-1][0]["type"]) == ("done", "done")
        assert server.get("/v1/health")[1] == {**pong, "busy": False, "done": 2, "sent": 0}


def test_no_busy_between_two_questions_of_one_asker(tmp_path: Path) -> None:
    with serving("http", "Odd", folder=tmp_path) as server:
        for n in range(50):
            assert server.last(question(f"q{n}", text="well"))["type"] == "done"


@pytest.mark.parametrize("transport", STREAMS)
def test_a_stream_that_ends_ends_the_server(transport: str, slow: str, tmp_path: Path) -> None:
    """Idle, within a message, at work, and hanging."""
    header, arrays = question()
    with serving(transport, "Echo", folder=tmp_path) as server:
        server.hang_up()
        assert server.process.wait(20) == 0
    with serving(transport, "Echo", folder=tmp_path) as server:
        server.write(b"".join(encode(header, arrays))[:100])
        server.hang_up()
        assert server.process.wait(20) == 1
    with serving(transport, slow, folder=tmp_path) as server:
        server.say(header, arrays)
        server.hear()
        server.hang_up()
        open_gate(tmp_path)
        assert (server.process.wait(20), (tmp_path / "log").read_text()) == (0, "left\n")
    with serving(transport, "Odd", folder=tmp_path) as server:
        server.say(*question(text="hang"))
        server.hear()
        server.hang_up()
        assert server.process.wait(20) == 1


def test_a_child_whose_asker_dies_while_it_loads_ends(tmp_path: Path) -> None:
    lines = ["import threading, worldgauge_serve", "worldgauge_serve.GRACE_S = 0.1", "print('here', flush=True)"]
    (tmp_path / "late.py").write_text("\n".join([*lines, "threading.Event().wait()"]))
    command = [sys.executable, "-m", "worldgauge_serve", "late.py:Late", "--pipes"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    )
    with process:
        assert process.stderr.readline() == b"here\n"
        process.stdin.close()
        assert process.wait(20) == 1


def test_garbage_on_a_stream_is_told_and_ends_it(tmp_path: Path) -> None:
    with serving("socket", "Echo", folder=tmp_path) as server:
        server.write(b"GET / HTTP/1.1\r\n\r\n")
        assert server.hear()[0]["kind"] == "too_large"
        server.hang_up()
        assert server.process.wait(20) == 1
    assert "error: a header of" in (tmp_path / "stderr").read_text()


def test_questions_that_do_not_fit_are_refused_by_name(tmp_path: Path) -> None:
    header, arrays = question()
    one = header["requests"][0]
    wrong: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({}, {"0/actions": None}, "its control"),
        ({}, {"0/poses": np.zeros((3, 4, 4))}, "poses: pose 0 is no rotation with a place: [[0.0"),
        ({}, {"0/poses": np.tile(np.diag([1.0, 1, -1, 1]), (3, 1, 1))}, "poses: pose 0 is no rotation"),
        ({}, {"0/context/poses": np.tile(2 * np.eye(4), (4, 1, 1))}, "context/poses: pose 0 is no rotation"),
        ({"requests": [{**one, "text": 3}]}, {}, "text: 3 is no text"),
        ({}, {"0/context/poses": None}, "0/context/poses"),
        ({}, {"0/context/poses": np.full((4, 4, 4), np.nan)}, "context/poses: its values are not all finite"),
        ({}, {"0/actions": np.zeros((2, 2), np.float32)}, "actions: it is float32 (2, 2), not float32 (3, 2)"),
        ({}, {"0/context/frames": np.zeros((4, 6, 8), np.uint8)}, "context/frames"),
        ({"requests": []}, {}, "requests"),
        ({"requests": None}, {}, "requests"),
        ({"requests": [3]}, {}, "not subscriptable"),
        *(({"requests": [{**one, name: value}]}, {}, name) for name, value in [("horizon", 0), ("horizon", True)]),
        *(
            ({"requests": [{**one, name: value}]}, {}, name)
            for name, value in [("seed", 1.5), ("fps", "20"), ("fps", -1)]
        ),
        ({"requests": [{**one, "camera": {**CAMERA, "width": 9}}]}, {}, "context/frames"),
        ({"requests": [{**one, "camera": {**CAMERA, "fx": "wide"}}]}, {}, "fx"),
        ({"deadline_s": -1}, {}, "deadline_s"),
        ({"deadline_s": "1 hour"}, {}, "deadline_s"),
        ({"wait_s": True}, {}, "wait_s"),
    ]
    with serving("socket", "Echo", folder=tmp_path) as server:
        for more, other, words in wrong:
            given = {name: array for name, array in {**arrays, **other}.items() if array is not None}
            last = server.last(({**header, **more}, given))
            assert (last["kind"], words in last["message"]) == ("request", True), (words, last)
        for version in (3, 0, "2", True):
            assert server.last(({**header, "version": version}, arrays))["kind"] == "version"
        both = {**arrays, "0/poses": np.tile(np.eye(4), (3, 1, 1))}
        assert server.last(({**header, "version": 2}, both))["type"] == "done"
        newer = {**header, "version": 1, "mood": "good", "requests": [{**one, "camera": {**CAMERA, "lens": 1}, "x": 2}]}
        server.say({"type": "song", "about": "types that nobody knows"})
        assert server.last((newer, {**arrays, "0/context/smell": np.zeros(3)}))["type"] == "done"


def test_http_keeps_a_connection_for_several_requests(tmp_path: Path) -> None:
    body = b"".join(encode(*question()))
    with serving("http", "Echo", folder=tmp_path) as server, closing(server.connection()) as connection:
        connection.connect()
        line = connection.sock
        for _ in range(3):
            connection.request("GET", "/v1/health")
            assert json.load(connection.getresponse())["type"] == "pong"
            connection.request("POST", "/v1/rollout", body, {"Content-Type": CONTENT_TYPE})
            assert [one["type"] for one, _ in rest(connection.getresponse())] == ["chunk"] * 3 + ["done"]
        assert connection.sock is line


LARGE = b"x" * (8 << 20)
REFUSED = {
    "another content type": ("POST", "/v1/rollout", {"Content-Type": "text/plain"}, LARGE, 400, "content type"),
    "a form of a web page": (
        *("POST", "/v1/cancel", {"Content-Type": "application/x-www-form-urlencoded", "Origin": "http://evil.example"}),
        *(b"id=q1", 400, "content type"),
    ),
    "another host": ("GET", "/v1/info", {"Host": "evil.example:7000"}, b"", 401, "localhost"),
    "no such address": ("POST", "/v1/rolout", {}, LARGE, 404, "/v1/rollout"),
    "nothing there to get": ("GET", "/v1/rollout", {}, b"", 404, "/v1/info"),
    "another method": ("DELETE", "/v1/rollout", {}, b"", 501, "Unsupported method"),
    "asking first, as pages must": ("OPTIONS", "/v1/rollout", {}, b"", 501, "Unsupported method"),
    "garbage": ("POST", "/v1/rollout", {}, LARGE, 413, "a header of"),
    "nothing": ("POST", "/v1/rollout", {}, b"", 400, "no message"),
    "a body to a GET": ("GET", "/v1/info", {}, b"GET /v1/info HTTP/1.1", 400, "no body"),
    "too large": ("POST", "/v1/rollout", {"Content-Length": str(1 << 40)}, b"xx", 413, "limit is"),
    "a length that is none": ("POST", "/v1/rollout", {"Content-Length": "1_0"}, b"x" * 10, 400, "Content-Length"),
    "no length": ("POST", "/v1/rollout", {"Content-Length": None}, b"", 400, "Content-Length"),
    "a length without end": ("POST", "/v1/rollout", {"Content-Length": "9" * 5000}, b"x", 400, "Content-Length"),
    "a host that is none": ("GET", "/v1/info", {"Host": "["}, b"", 401, "localhost"),
    "two ways to say the length": (
        "POST",
        "/v1/rollout",
        {"Transfer-Encoding": "chunked"},
        b"xx",
        400,
        "Content-Length",
    ),
    "less than announced": ("POST", "/v1/rollout", {}, b"".join(encode(*question()))[:-1], 400, "within a message"),
    "more than announced": ("POST", "/v1/rollout", {}, b"".join(encode(*question())) + b"!", 400, "1 bytes more"),
    "another type": ("POST", "/v1/cancel", {}, b"".join(encode(*question())), 400, "does not belong"),
}


def test_http_refuses_with_a_reason_and_stays_healthy(tmp_path: Path) -> None:
    with serving("http", "Echo", folder=tmp_path) as server:
        for name, (method, path, headers, body, status, words) in REFUSED.items():
            with closing(server.connection()) as connection:
                connection.putrequest(method, path, skip_host="Host" in headers)
                for key, value in {"Content-Type": CONTENT_TYPE, "Content-Length": str(len(body)), **headers}.items():
                    if value is not None:
                        connection.putheader(key, value)
                connection.endheaders(body)
                response = connection.getresponse()
                error = json.load(response)
                assert (response.status, error["type"]) == (status, "error"), name
                assert words in error["message"], (name, error)
                assert response.getheader("Connection") == "close", name
        assert server.last(question())["type"] == "done"
    assert "Traceback" not in (tmp_path / "stderr").read_text()


def test_a_message_longer_than_the_servers_limit_is_refused(tmp_path: Path) -> None:
    big = {"type": "rollout", "requests": []}, {"0/context/frames": np.zeros((3, 1 << 20), np.uint8)}
    with serving("http", "Echo", "--max-mb", "1", folder=tmp_path) as server:
        status, body = server.post("/v1/rollout", b"".join(encode(*big)))
        assert (status, json.loads(body)["kind"]) == (413, "too_large")
    with serving("socket", "Echo", "--max-mb", "1", folder=tmp_path) as line:
        line.say(*big)
        assert line.hear()[0]["kind"] == "too_large"
        line.hang_up()
        assert line.process.wait(20) == 1


def posting(body: bytes, *more: str) -> bytes:
    """The head of a POST of `body`."""
    lines = ["POST /v1/rollout HTTP/1.1", "Host: localhost", f"Content-Type: {CONTENT_TYPE}", *more]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode()


def test_a_client_that_asks_before_it_sends(tmp_path: Path) -> None:
    body = b"".join(encode(*question()))
    with serving("http", "Echo", folder=tmp_path) as server, server.socket() as line:
        line.sendall(posting(body, "Expect: 100-continue"))
        assert line.recv(100).startswith(b"HTTP/1.1 100 Continue")
        line.sendall(body)
        assert line.recv(15) == b"HTTP/1.1 200 OK"


def test_http_survives_askers_who_leave_at_any_time(slow: str, tmp_path: Path) -> None:
    body = b"".join(encode(*question()))
    head = posting(body)
    with serving("http", slow, folder=tmp_path) as server:
        for sent in (b"", b"POST /v1", head, head + b"\x10"):
            with server.socket() as line:
                line.sendall(sent)
        for sent in (b"\x00" * 100, b"\x16\x03\x01\x02\x00\x01", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"):
            with server.socket() as line:
                line.sendall(sent)
        answer = server.begin(*question())
        assert read_message(answer.readinto)[0]["type"] == "chunk"
        assert answer.fp.read(2) == b"\r\n"  # all of it: the server has nothing more to send, the model waits
        answer.close()
        open_gate(tmp_path)
        assert server.last(question("q2", horizon=1, wait_s=20))["type"] == "done"
        assert (tmp_path / "log").read_text() == "left\n" * 2
        assert server.get("/v1/health")[1]["done"] == 2
    assert "Traceback" not in (tmp_path / "stderr").read_text()


def test_tokens_are_required_and_made_beyond_loopback(tmp_path: Path) -> None:
    with serving("http", "Odd", folder=tmp_path, **{TOKEN_VARIABLE: "sésame"}) as server:
        for given in ({}, {"Authorization": "Bearer no"}, {"Authorization": "sésame"}, {"Authorization": "Basic x"}):
            status, error = server.get("/v1/health", **given)
            assert (status, error["kind"]) == (401, "unauthorized")
            assert server.post("/v1/rollout", LARGE, **given)[0] == 401
        right = {"Authorization": "Bearer sésame".encode()}
        assert server.get("/v1/health", **right)[0] == 200
        assert server.get("/v1/info", Host="model.example", **right)[1]["spec"]["name"] == "odd"
        assert server.post("/v1/rollout", b"".join(encode(*question(text="well"))), **right)[0] == 200
    with serving("http", "Odd", "--host", "0.0.0.0", folder=tmp_path, **{TOKEN_VARIABLE: ""}) as server:
        said = (tmp_path / "stderr").read_text()
        assert server.get("/v1/health")[0] == 401
        assert server.get("/v1/health", Authorization="Bearer " + said.split()[-1])[0] == 200
    assert len(said.split()[-1]) >= 32


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def test_supervised_servers_end_with_their_supervisor(tmp_path: Path) -> None:
    with serving("http", "Odd", folder=tmp_path) as server:
        answer = server.begin(*question(text="hang", deadline_s=0.1))
        assert read_message(answer.readinto)[0]["type"] == "chunk"
        with pytest.raises((http.client.IncompleteRead, worldgauge_serve.WireError, EOFError)):
            read_message(answer.readinto)
        assert server.process.wait(20) == 75
    assert "_hang" in (tmp_path / "stderr").read_text()
    with serving("http", "Odd", "--port", str(free_port()), "--restart", folder=tmp_path) as server:
        server.process.kill()
        assert server.process.stdout.read() == b"", "it ends when the last process that holds it does"


def test_restart_serves_again_after_a_hang_and_a_crash(tmp_path: Path) -> None:
    with serving("http", "Odd", "--port", str(free_port()), "--restart", folder=tmp_path) as server:
        for text in ("hang", "die"):
            with suppress(http.client.HTTPException, worldgauge_serve.WireError, OSError):
                server.ask(*question(text=text, deadline_s=0.1))
            assert server.process.stdout.readline().startswith(b"serving")
            assert server.last(question(text="well"))["type"] == "done"
        child = server.get("/v1/info")[1]["pid"]
        server.process.terminate()
        assert server.process.wait(20) == 128 + signal.SIGTERM
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)


UNLOADABLE = {
    "Unloadable": "making Unloadable raised RuntimeError: no weights",
    "Exits": "making Exits raised SystemExit: usage: none",
    "NoSpec": "model 'NoSpec' has no 'spec'; write self.spec = ModelSpec(\"nospec\", ...)",
    "NoRollout": "model 'NoRollout' has no method rollout(request)",
    "HalfSpec": "has a 'spec' without control, view",
    "BadSettings": "its spec or needs are no plain JSON values: descriptor 'item'",
    "NanSettings": "its spec or needs are no plain JSON values: Out of range float",
    "WantsTruth": "inputs is ('truth',); give any of actions, caption, depth, poses, text",
    "Ecko": "holds no 'Ecko'; did you mean 'Echo'?",
    "nothing": "holds no 'nothing'",
    "Echo?gian=1": "Echo has no setting 'gian'. Did you mean 'gain'? It is Echo(control=",
    "Slow?log=x": "Slow does not fit its settings: missing a required argument: 'gate'",
    "Echo?gain": "settings look like ?one=1&two=text, not '?gain'",
    "Echo?gain=1&gain=2": "a setting is given twice",
    "one": "'one' is a int, neither a class nor a model",
}


@pytest.mark.parametrize("target", UNLOADABLE)
def test_a_model_that_cannot_be_made_says_why(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worldgauge_serve, "GRACE_S", worldgauge_serve.GRACE_S)
    with pytest.raises(worldgauge_serve.LoadError) as caught:
        worldgauge_serve.load(f"{PROBE}:{target}").hello()
    assert UNLOADABLE[target] in str(caught.value)
    assert (caught.value.trace is not None) == ("raised" in str(caught.value))


def test_a_ready_object_can_be_served() -> None:
    assert worldgauge_serve.load(f"{PROBE}:ready").hello()["spec"]["settings"] == {"gain": 2.0}


NOT_LOADED = [
    ("probe.py:Echo", 2, "there is no file /"),
    ("Echo", 2, "name a model as file.py:Class"),
    ("no_such_module:Echo", 1, "importing 'no_such_module' raised ModuleNotFoundError"),
    (f"{PROBE}:Unloadable", 1, "no weights"),
]


@pytest.mark.parametrize(("target", "code", "words"), NOT_LOADED, ids=[target for target, _, _ in NOT_LOADED])
@pytest.mark.parametrize("way", ["--pipes", "--port=0"])
def test_a_failure_to_load_is_one_message_and_one_line(
    target: str, code: int, words: str, way: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "worldgauge_serve", target, way]
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, stdin=subprocess.DEVNULL, timeout=20)
    assert done.returncode == code
    last = done.stderr.decode().strip().split("\n")[-1]
    assert last.startswith("error: ")
    assert words in last
    assert ("Traceback" in done.stderr.decode()) == (code == 1)
    if way == "--pipes":
        header, _ = read_message(io.BytesIO(done.stdout).readinto)
        assert (header["type"], header["kind"]) == ("error", "load")
        assert words in header["message"]


def test_an_address_in_use_is_found_before_the_model_loads(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        command = [
            sys.executable,
            "-m",
            "worldgauge_serve",
            f"{PROBE}:Unloadable",
            "--port",
            str(taken.getsockname()[1]),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    assert done.returncode == 1
    assert "Address already in use" in done.stderr
    assert "loading" not in done.stdout


FILE = Path(worldgauge_serve.__file__)


@pytest.mark.parametrize("flags", [[], ["-I"]])
def test_one_module_however_it_is_started(flags: list[str], tmp_path: Path) -> None:
    """By path, from a folder that is not searched, under another name: a model's import finds the running server."""
    copy = tmp_path / "elsewhere" / "another_name.py"
    copy.parent.mkdir()
    copy.write_bytes(FILE.read_bytes())
    (tmp_path / "model.py").write_text(
        "import sys\nimport worldgauge_serve as served\nassert served is sys.modules['__main__']\n"
        "class Own:\n    spec = served.ModelSpec('own')\n    def rollout(self, request):\n"
        "        assert type(request) is served.Request\n        raise served.NotApplicable('found')\n"
    )
    command = [sys.executable, *flags, str(copy), "model.py:Own", "--pipes"]
    asked = b"".join(encode(*question()))
    done = subprocess.run(command, input=asked, capture_output=True, cwd=tmp_path, timeout=20)
    stream = io.BytesIO(done.stdout)
    assert read_message(stream.readinto)[0]["type"] == "hello", done.stderr
    assert read_message(stream.readinto)[0]["message"] in ("found", "cancelled by whoever asked")


SCRIPT = """
from worldgauge_serve import ModelSpec, serve
class Own:
    spec = ModelSpec("own")
    def rollout(self, request):
        yield request.context.clip[-2:].to_array()
if __name__ == "__main__":
    serve(Own())
"""


def test_a_script_serves_itself(tmp_path: Path) -> None:
    script = tmp_path / "own.py"
    script.write_text(SCRIPT)
    with (tmp_path / "stderr").open("wb") as errors:
        server = connected([sys.executable, str(script)], tmp_path, {"env": dict(os.environ), "stderr": errors})
    with server.process:
        hello, _ = server.hear()
        assert hello["source"].startswith("sha256:")
        assert hello["source"].endswith(":Own")
        assert worldgauge_serve.load(f"{script}:Own").source == hello["source"]
        header, arrays = question(horizon=2)
        (_, frames), _ = server.ask(header, arrays)
        assert np.array_equal(frames["frames"], arrays["0/context/frames"][-2:])
        server.hang_up()
    assert (tmp_path / "stderr").read_text() == ""


def test_a_model_finds_none_of_our_options_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(f"import sys\nassert len(sys.argv) == 1, sys.argv\n{SCRIPT}")
    command = [sys.executable, "-m", "worldgauge_serve", "own.py:Own", "--port", "0"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        assert process.stdout.readline().startswith("serving 'own' at http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20) == ("", "")
    assert process.returncode == 0


def test_started_alone_it_says_what_is_missing(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(FILE), f"{PROBE}:Echo"], capture_output=True, text=True, timeout=20)
    assert done.returncode == 2
    assert "give --port" in done.stderr
    for options, words in (([], "name a model"), (["x:X", "--restart"], "--restart needs --port")):
        done = subprocess.run([sys.executable, str(FILE), *options], capture_output=True, text=True, timeout=20)
        assert (done.returncode, words in done.stderr) == (2, True)
    done = subprocess.run([sys.executable, str(FILE), "--where"], capture_output=True, text=True, timeout=20)
    assert Path(done.stdout.strip()) == FILE
