"""A model behind HTTP: one server or several, honest or not."""

import json
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest

from support.served import MODELS, Server, http_server, question, wait_until
from worldgauge.core.errors import LostError, ModelError, NotApplicableError, UsageError
from worldgauge.core.model import RolloutRequest, WorldModel, checked_rollout
from worldgauge.engine.model_entries import resolve_model
from worldgauge.serving import RemoteModel, open_model
from worldgauge.serving.http_channel import Replicas

JSON, HTML = {"Content-Type": "application/json"}, {"Content-Type": "text/html"}
HELLO = {"type": "hello", "version": 1, "spec": {"name": "liar"}, "source": "sha256:00:Liar", "given": {}, "needs": {}}


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as all_of_them:
        yield all_of_them


def frames_of(model: WorldModel, request: RolloutRequest) -> np.ndarray:
    return np.concatenate(list(checked_rollout(model, request)))


def opened(stack: ExitStack, *servers: str | Server, patience_s: float = 0.5) -> RemoteModel:
    """The model behind `servers`, which are waited for only briefly."""
    urls = [each if isinstance(each, str) else each.url for each in servers]
    who = f"model '{','.join(urls)}'"
    return stack.enter_context(closing(RemoteModel(Replicas(urls, who, patience_s), who)))


def test_a_server_draws_what_the_class_draws_here(stack: ExitStack) -> None:
    server = stack.enter_context(http_server("Fade?gain=0.8"))
    there, here = open_model(server.url + "/"), resolve_model(f"{MODELS / 'client_models.py'}:Fade?gain=0.8").model
    assert there.spec == here.spec
    for seed in (1, 2):
        assert np.array_equal(frames_of(there, question(7, seed=seed)), frames_of(here, question(7, seed=seed)))
    batch = there.rollout_batch([question(3), question(4)])
    assert [len(np.concatenate(chunks)) for chunks in batch] == [3, 4]
    there.close()
    assert len(frames_of(there, question())) == 6, "asked again it comes back"
    there.close()


@pytest.mark.parametrize("how", ["raises", "floats", "shape", "short", "more", "late"])
def test_errors_read_as_in_this_process(how: str, stack: ExitStack) -> None:
    there = opened(stack, stack.enter_context(http_server(f"Faulty?how={how}")))
    texts = []
    for model in (resolve_model(f"{MODELS / 'client_models.py'}:Faulty?how={how}").model, there, there):
        with pytest.raises(ModelError) as caught:
            frames_of(model, question())
        texts.append(str(caught.value))
    assert texts[0] == texts[1] == texts[2]


def test_limits_and_skips_of_a_server(stack: ExitStack) -> None:
    there = opened(stack, stack.enter_context(http_server("Fade", "--max-mb", "1")))
    with pytest.raises(ModelError, match=r"refuses: a message of \d+ bytes; the limit is 1048576"):
        frames_of(there, question(1, (640, 480)))
    assert len(frames_of(there, question())) == 6
    there = opened(stack, stack.enter_context(http_server("Faulty?how=inapplicable")))
    with pytest.raises(NotApplicableError, match=r"^needs a longer context$"):
        frames_of(there, question())


def test_a_token_is_sent_and_never_told(stack: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    server = stack.enter_context(http_server("Fade", token="s3cret"))
    for given, words in (
        ("", "wants a token; give the token in WORLDGAUGE_TOKEN"),
        ("other", "does not take the token"),
    ):
        monkeypatch.setenv("WORLDGAUGE_TOKEN", given)
        with pytest.raises(ModelError, match=words) as caught:
            open_model(server.url)
        assert "s3cret" not in str(caught.value)
    monkeypatch.setenv("WORLDGAUGE_TOKEN", "s3cret")
    model = opened(stack, server)
    assert len(frames_of(model, question())) == 6
    server.kill()
    with pytest.raises(ModelError) as caught:
        frames_of(model, question())
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("http://", "is no address; give http://host:port"),
        ("http://localhost:7000x", "an address that cannot be read"),
        ("http://localhost:7000,http://a@localhost", "the token goes into WORLDGAUGE_TOKEN"),
        ("http://localhost:7000?gain=1", "settings to where the server is started"),
        ("http://localhost:7000,http://localhost:7000/", "an address is given twice"),
        ("http://localhost:7000,localhost:7001", "'localhost:7001' is no address"),
    ],
)
def test_addresses_that_cannot_be_meant(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        open_model(text)


@pytest.mark.parametrize("login", ["me:s3cret", "me:s3/cret", "me:s3,cret", "me:s3?cret@", "s3cret"])
def test_a_password_in_an_address_is_refused_and_never_told(login: str) -> None:
    with pytest.raises(UsageError, match="the token goes into WORLDGAUGE_TOKEN") as caught:
        open_model(f"http://{login}@localhost:7000")
    assert "s3" not in str(caught.value)
    assert "cret" not in str(caught.value)
    assert "localhost:7000" in str(caught.value)


def test_a_token_with_a_line_break_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_TOKEN", "a\r\nHost: elsewhere")
    with pytest.raises(UsageError, match="WORLDGAUGE_TOKEN holds blanks"):
        open_model("http://127.0.0.1:7000")


class Liar(ThreadingHTTPServer):
    """Answers GET /v1/info with `info` (status, headers, body) and POST with what `post` writes."""

    daemon_threads = True

    def __init__(self, info: Any = HELLO, post: Callable[[Any, str], None] | None = None) -> None:
        self.post = post
        self.info = info if isinstance(info, tuple) else (200, JSON, json.dumps(info))
        self.paths: list[str] = []
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        """The client hangs up on it, as it should."""

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Liar

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        status, headers, body = self.server.info
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        name = json.loads(body[4 : 4 + struct.unpack("<I", body[:4])[0]])["id"]
        self.server.paths.append(self.path)
        if self.path == "/v1/rollout" and self.server.post:
            self.server.post(self, name)
        self.close_connection = True

    def begin(self, kind: str = "application/x-worldgauge", status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def put(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def log_message(self, *_: Any) -> None:
        pass


def message(**fields: Any) -> bytes:
    text = json.dumps(fields).encode()
    return struct.pack("<I", len(text)) + text


def chunk(name: str, n: int = 1) -> bytes:
    arrays = [{"name": "frames", "dtype": "uint8", "shape": [n, 12, 16, 3]}]
    return message(type="chunk", id=name, index=0, arrays=arrays) + bytes(n * 12 * 16 * 3)


@pytest.mark.parametrize(
    ("info", "words"),
    [
        ((200, HTML, "<html>welcome</html>"), "is no worldgauge server \\(status 200\\)"),
        ((404, HTML, "<html>not here</html>"), "is no worldgauge server \\(status 404\\)"),
        ((200, JSON, "[1, 2]"), "is no worldgauge server$"),
        ((200, JSON, "x" * 2_000_000), "is no worldgauge server$"),
        ((200, JSON, "[" * 100_000), "is no worldgauge server$"),
        ({"ok": True}, "says 'None' where a hello belongs: no worldgauge server"),
        ({**HELLO, "version": 9}, "speaks version 9 of the protocol, this worldgauge versions 1 and 2"),
        ((302, {"Location": "http://127.0.0.1:1/"}, ""), "redirects elsewhere"),
        (
            (500, {"Content-Type": "application/json"}, '{"message": "no \\u001b[2J disk"}'),
            "refuses: no \ufffd\\[2J disk",
        ),
        ((503, HTML, ""), "is not there .* answers 503"),
        ({**HELLO, "spec": {"name": "../.."}}, None),
    ],
)
def test_what_is_no_server_of_ours(info: Any, words: str | None, stack: ExitStack) -> None:
    liar = stack.enter_context(Liar(info))
    if words is None:
        with pytest.raises(UsageError, match="holds no letter or digit"):
            resolve_model(liar.url)
        return
    with pytest.raises(ModelError, match=words) as caught:
        open_model(liar.url)
    assert liar.url in str(caught.value)
    assert str(caught.value).isprintable()
    assert set(liar.paths) <= {"/v1/info"}, "no redirect is followed"


def test_no_http_at_all(stack: ExitStack) -> None:
    listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

    def answer() -> None:
        line, _ = listener.accept()
        with line:
            line.recv(1000)
            line.sendall(b"SSH-2.0-OpenSSH_9.6\r\n" * 3)

    threading.Thread(target=answer, daemon=True).start()
    with pytest.raises(ModelError, match="is no worldgauge server"):
        open_model(f"http://127.0.0.1:{listener.getsockname()[1]}")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("html", "is no worldgauge server \\(status 200\\)"),
        ("status", "is no worldgauge server \\(status 418\\)"),
        ("html in a body", "breaks the protocol: a header of 1836345404 bytes"),
        ("huge shape", "breaks the protocol: arrays of 3377699720527872 bytes"),
        ("wrong id", "answers question 'other', which was not asked"),
        ("endless", "returned more than the 6 frames asked for"),
        ("more than an answer", "breaks the protocol: more than an answer"),
        ("dribble", "timed out after 0.5 s without a frame"),
        ("dribbling head", "timed out after 0.5 s without a frame"),
        ("huge head", "closed the connection .*, 3 times before its first frame"),
        ("cut at once", "closed the connection .*, 3 times before its first frame"),
        ("cut within", "closed the connection .*, 3 times before its first frame"),
        ("busy", "busy with others for 0.5 s"),
    ],
)
def test_an_answer_that_was_not_asked_for(how: str, words: str, stack: ExitStack) -> None:
    ended = threading.Event()

    def post(handler: Any, name: str) -> None:
        if how == "html":
            return handler.begin("text/html")
        if how == "status":
            return handler.begin(status=418)
        if how == "cut at once":
            return None
        if how == "huge head":
            return handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"X-A: 1\r\n" * 1000)
        if how == "dribbling head":
            for byte in b"HTTP/1.1 200 OK\r\n" + b"X-A: 1\r\n" * 90:
                handler.wfile.write(bytes([byte]))
                if ended.wait(0.05):
                    return None
        handler.begin()
        if how == "html in a body":
            handler.put(b"<html>" * 99)
        if how == "huge shape":
            arrays = [{"name": "frames", "dtype": "uint8", "shape": [1 << 20, 1 << 30, 3]}]
            handler.put(message(type="chunk", id=name, index=0, arrays=arrays))
        if how == "wrong id":
            handler.put(chunk("other"))
        if how == "more than an answer":
            handler.put(message(type="done", id=name) + b"more")
        if how == "busy":
            handler.put(message(type="error", kind="busy", id=name, message="busy"))
            handler.wfile.write(b"0\r\n\r\n")
        if how == "cut within":
            handler.put(chunk(name)[:-20])
        if how == "dribble":
            for byte in chunk(name):
                handler.put(bytes([byte]))
                if ended.wait(0.05):
                    return None
        if how == "endless":
            try:
                while True:
                    handler.put(chunk(name))
            except OSError:
                pass
        return None

    stack.callback(ended.set)
    liar = stack.enter_context(Liar(post=post))
    model = opened(stack, liar.url)
    model.deadline_s = 0.5
    with pytest.raises(ModelError, match=words) as caught:
        frames_of(model, question())
    assert not isinstance(caught.value, LostError)
    if how in ("wrong id", "endless", "dribble"):
        assert liar.paths[-1] == "/v1/cancel"


def test_a_connection_lost_after_a_frame_is_a_lost_task(stack: ExitStack) -> None:
    def post(handler: Any, name: str) -> None:
        handler.begin()
        handler.put(chunk(name, 2))
        handler.put(chunk(name)[:-20])

    model = opened(stack, stack.enter_context(Liar(post=post)).url)
    with pytest.raises(LostError, match=r"closed the connection .* after 2 frames of a rollout"):
        frames_of(model, question())


def test_a_connection_lost_before_a_frame_is_asked_again_by_the_same_name(stack: ExitStack) -> None:
    names = []

    def post(handler: Any, name: str) -> None:
        names.append(name)
        if len(names) < 3:
            return
        handler.begin()
        handler.put(chunk(name, 6))
        handler.put(message(type="done", id=name))
        handler.wfile.write(b"0\r\n\r\n")

    model = opened(stack, stack.enter_context(Liar(post=post)).url)
    assert (len(frames_of(model, question())), len(names), len(set(names))) == (6, 3, 1)
    frames_of(model, question())
    assert names[3] != names[2], "another question has another name"


def test_a_server_that_ends_every_connection_is_reached_anew(stack: ExitStack) -> None:
    def post(handler: Any, name: str) -> None:
        handler.begin()
        handler.put(chunk(name, 6))
        handler.put(message(type="done", id=name))
        handler.wfile.write(b"0\r\n\r\n")

    liar = stack.enter_context(Liar((200, {**JSON, "Connection": "close"}, json.dumps(HELLO)), post))
    model = opened(stack, liar.url)
    for _ in range(2):
        assert len(frames_of(model, question())) == 6
    assert "/v1/cancel" not in liar.paths


def test_a_server_that_comes_back_is_asked_again(stack: ExitStack) -> None:
    server = stack.enter_context(http_server("Fade"))
    model = opened(stack, server, patience_s=60)
    before = frames_of(model, question())
    server.kill()
    back = threading.Timer(0.3, lambda: stack.enter_context(http_server("Fade", port=server.port)))
    back.start()
    assert np.array_equal(frames_of(model, question()), before)
    back.join()


def test_another_model_is_refused_in_place_or_as_a_replica(stack: ExitStack) -> None:
    server = stack.enter_context(http_server("Fade"))
    model = opened(stack, server, patience_s=60)
    server.kill()
    stack.enter_context(http_server("Fade?gain=0.5", port=server.port))
    with pytest.raises(ModelError, match=r"serves another model than .* did: its spec differs"):
        frames_of(model, question())
    a, b = stack.enter_context(http_server("Fade")), stack.enter_context(http_server("Fade?gain=0.5"))
    with pytest.raises(ModelError, match=f"{b.url} serves another model than {a.url} did: its spec differs"):
        opened(stack, a, b)


def test_a_rollout_can_be_left_early(stack: ExitStack) -> None:
    model = opened(stack, stack.enter_context(http_server("Fade")))
    whole = frames_of(model, question(60, (320, 180)))
    for _ in range(3):
        with closing(model.rollout(question(60, (320, 180)))) as rollout:
            next(rollout)
    assert np.array_equal(frames_of(model, question(60, (320, 180))), whole)


def test_a_silent_server_is_left(stack: ExitStack, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    model = opened(stack, stack.enter_context(http_server(f"Faulty?how=waits&log={tmp_path}")))
    model.deadline_s = 0.5
    taken = []
    with pytest.raises(ModelError, match=r"timed out after 0\.5 s without a frame"):
        taken.extend(checked_rollout(model, question()))
    assert len(taken) == 2


def test_a_question_goes_to_the_replica_that_is_free(stack: ExitStack, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    name = f"Faulty?how=waits+once&log={tmp_path}"
    a, b = stack.enter_context(http_server(name)), stack.enter_context(http_server(name))
    first, second = opened(stack, a, b), opened(stack, a, b)
    rollout = checked_rollout(first, question())
    taken = [next(rollout), next(rollout)]
    wait_until((tmp_path / "pid").exists)
    assert len(frames_of(second, question())) == 6, "one is held up, the other answers"
    assert len(frames_of(second, question())) == 6
    (tmp_path / "go").write_text("")
    assert len([*taken, *rollout]) == 6


def test_a_question_waits_until_a_replica_is_free(stack: ExitStack, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    server = stack.enter_context(http_server(f"Faulty?how=waits+once&log={tmp_path}"))
    first, second = opened(stack, server), opened(stack, server)
    rollout = checked_rollout(first, question())
    taken = [next(rollout), next(rollout)]
    wait_until((tmp_path / "pid").exists)
    answers: list[np.ndarray] = []
    waiting = threading.Thread(target=lambda: answers.append(frames_of(second, question())))
    waiting.start()
    (tmp_path / "go").write_text("")
    assert len([*taken, *rollout]) == 6
    waiting.join()
    assert len(answers[0]) == 6


@pytest.mark.parametrize("replicas", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_standing_in_a_line_that_moves_is_no_silence(stack: ExitStack, replicas: int) -> None:
    servers = [stack.enter_context(http_server("Slow?pause_s=0.1")) for _ in range(replicas)]
    askers = [opened(stack, *servers) for _ in range(5 * replicas)]
    waits: list[int] = []
    for number, asker in enumerate(askers):
        asker.deadline_s = 1.2  # an answer takes 0.6 s, so the last one stands in line for 2.4 s
        asker.on_wait = lambda number=number: waits.append(number)
    answers: dict[int, np.ndarray] = {}
    threads = [
        threading.Thread(target=lambda n=number, m=asker: answers.update({n: frames_of(m, question(seed=n))}))
        for number, asker in enumerate(askers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == list(range(len(askers)))
    assert len(set(waits)) >= 4, "whoever stands in line says so"


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_line_that_does_not_move_is_left(stack: ExitStack, tmp_path: Path, replicas: int) -> None:
    os.mkfifo(tmp_path / "go")
    servers = [stack.enter_context(http_server(f"Faulty?how=waits&log={tmp_path}")) for _ in range(replicas)]
    for server in servers:
        rollout = stack.enter_context(closing(opened(stack, server).rollout(question())))
        next(rollout), next(rollout)
        wait_until((tmp_path / "pid").exists)
        (tmp_path / "pid").unlink()
    late = opened(stack, *servers)
    late.deadline_s = 0.5
    words = r"timed out after 0\.5 s" if replicas == 1 else r"busy with others for 0\.5 s"
    with pytest.raises(ModelError, match=words):
        frames_of(late, question())


def test_whoever_hangs_up_leaves_the_line(stack: ExitStack, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    server = stack.enter_context(http_server(f"Faulty?how=waits+once&log={tmp_path}"))
    rollout = checked_rollout(opened(stack, server), question())
    taken = [next(rollout), next(rollout)]
    wait_until((tmp_path / "pid").exists)
    late = opened(stack, server)
    late.deadline_s = 0.5
    with pytest.raises(ModelError, match="timed out"):
        frames_of(late, question())
    wait_until(lambda: json.load(urlopen(server.url + "/v1/health"))["waiting"] == 0)
    (tmp_path / "go").write_text("")
    assert len([*taken, *rollout]) == 6


def test_a_replica_that_is_down_is_left_out_and_taken_back(stack: ExitStack, capfd: pytest.CaptureFixture[str]) -> None:
    a, b = stack.enter_context(http_server("Fade")), stack.enter_context(http_server("Fade"))
    b.kill()
    model = opened(stack, a, b)
    assert f"cannot be reached ({b.url}: Connection refused); left out" in capfd.readouterr().err
    expected = frames_of(model, question())
    again = stack.enter_context(http_server("Fade", port=b.port))
    a.kill()
    assert np.array_equal(frames_of(model, question()), expected)
    again.kill()
    with pytest.raises(ModelError) as caught:
        frames_of(model, question())
    assert f"{a.url}: Connection refused" in str(caught.value)
    assert f"{b.url}: " in str(caught.value)


def test_all_down_from_the_start_is_said_at_once(stack: ExitStack) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(ModelError, match=f"cannot be reached \\({url}: Connection refused\\)"):
        open_model(url)


def test_each_process_starts_its_round_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    urls = [f"http://127.0.0.1:{port}" for port in (7001, 7002, 7003)]
    firsts = []
    for pid in (30, 31, 32):
        monkeypatch.setattr(os, "getpid", lambda pid=pid: pid)
        firsts.append(Replicas(urls, "model").urls[0])
    assert sorted(firsts) == urls
