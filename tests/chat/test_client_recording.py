"""The recording: everything is kept, answers come back from it, a kill does not harm it."""

import fcntl
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from support.chat_endpoint import FakeEndpoint, error, likely, ok, raw
from worldgauge.chat.model import ChatModel
from worldgauge.chat.question import Message
from worldgauge.chat.reply import AnswerError, EndpointError
from worldgauge.chat.transport import ChatRecording, Prices
from worldgauge.core.errors import RunError

Make = Callable[..., ChatModel]
IMAGE = np.random.default_rng(1).integers(0, 256, (6, 4, 3), np.uint8)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "asks.jsonl").read_text().splitlines()]


def test_everything_is_kept(chat: Make, endpoint: FakeEndpoint, tmp_path: Path) -> None:
    endpoint.then(error(500, "busy"), ok("what?"), ok('{"n": 3}', usage=(5, 2)))
    model = chat(recording=tmp_path, prices=Prices(1.0, 10.0))
    talk = [Message("system", "count"), Message("user", ["these:", IMAGE])]
    reply = model.ask(talk, schema=SCHEMA, seed=2, temperature=0.5, prompt_version="count-2")
    (line,) = lines(tmp_path)
    assert (line["key"], line["status"], line["error"]) == (reply.key, "answer", None)
    assert line["asked"] == model.identity
    question = line["question"]
    assert question["messages"][0] == {"role": "system", "parts": [{"text": "count"}]}
    picture = question["messages"][1]["parts"][1]
    assert (picture["shape"], picture["sent"]) == ([6, 4, 3], [4, 6])
    assert json.loads(question["schema"]) == SCHEMA
    assert (question["seed"], question["temperature"], question["prompt_version"]) == (2, 0.5, "count-2")
    first, second, third = line["attempts"]
    assert (first["status"], first["error"]) == (500, "answered 500: busy")
    assert first["wait"] > 0
    assert json.loads(first["body"])["error"]["message"] == "busy"
    assert second["error"].startswith("not JSON")
    assert json.loads(second["body"])["choices"][0]["message"]["content"] == "what?"
    assert (third["error"], third["input_tokens"], third["output_tokens"], third["cost"]) == (None, 5, 2, 25e-6)
    assert (third["model"], third["fingerprint"]) == ("fake-model-2025", "fp_1")
    assert len({attempt["seed"] for attempt in (second, third)}) == 2
    assert all(attempt["at"].endswith("+00:00") and attempt["seconds"] >= 0 for attempt in line["attempts"])
    assert line["answer"] == {"text": '{"n": 3}', "value": {"n": 3}, "finish": "stop"}
    stored = cv2.imread(str(tmp_path / "images" / f"{picture['image']}.png"))[..., ::-1]
    assert np.array_equal(stored, IMAGE)


def test_the_same_picture_is_stored_once(chat: Make, tmp_path: Path) -> None:
    model = chat(recording=tmp_path)
    model.ask("a", images=[IMAGE, IMAGE.copy()])
    model.ask("b", images=[IMAGE])
    assert len(list((tmp_path / "images").iterdir())) == 1


def test_replay_gives_the_same_reply_without_a_call(chat: Make, endpoint: FakeEndpoint, tmp_path: Path) -> None:
    endpoint.then(error(503), ok('{"n": 4}'), ok("B", logprobs=likely({"B": -0.5, "A": -2.0})))
    asks: list[dict[str, Any]] = [
        {"prompt": "x", "schema": SCHEMA, "images": [IMAGE]},
        {"prompt": "y", "choices": ["A", "B", "C"]},
    ]
    first = [chat(recording=tmp_path, prices=Prices(1, 1)).ask(**ask) for ask in asks]
    assert len(endpoint.asked) == 3
    for replay in ("use", "only"):
        again = [chat(recording=tmp_path, replay=replay, base_url="http://127.0.0.1:9/v1").ask(**ask) for ask in asks]
        for one, other in zip(first, again, strict=True):
            assert other.replayed
            assert vars(other) | {"replayed": False} == vars(one)
    assert len(endpoint.asked) == 3


def test_replay_needs_neither_key_nor_client(chat: Make, tmp_path: Path) -> None:
    chat(recording=tmp_path).ask("x")
    code = (
        "import sys; sys.modules['openai'] = None\n"
        "from worldgauge.chat.model import ChatModel\n"
        f"model = ChatModel('m', api_key_env='ABSENT', endpoint='fake', recording={str(tmp_path)!r}, replay='only')\n"
        "print(model.ask('x').text)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=os.environ)
    assert done.stdout == "hello\n", done.stderr


def test_only_names_the_key_of_what_is_absent(chat: Make, endpoint: FakeEndpoint, tmp_path: Path) -> None:
    model = chat(recording=tmp_path, replay="only")
    with pytest.raises(EndpointError, match=r"no recorded answer of m at fake to question [0-9a-f]{64}; ask it with"):
        model.ask("x")
    assert not endpoint.asked
    assert not (tmp_path / "asks.jsonl").exists()


def test_off_asks_anew_and_the_latest_answer_is_replayed(chat: Make, endpoint: FakeEndpoint, tmp_path: Path) -> None:
    endpoint.then(ok("first"), ok("second"))
    model = chat(recording=tmp_path, replay="off")
    assert [model.ask("x").text, model.ask("x").text] == ["first", "second"]
    assert chat(recording=tmp_path).ask("x").text == "second"


def test_each_ingredient_makes_another_question(chat: Make, endpoint: FakeEndpoint, tmp_path: Path) -> None:
    other = IMAGE.copy()
    other[0, 0, 0] ^= 1
    base: dict[str, Any] = {"prompt": "x", "images": [IMAGE]}
    changes: list[dict[str, Any]] = [
        {},
        {"prompt": "x "},
        {"prompt": [Message("system", "s"), Message("user", "x")]},
        {"images": [other]},
        {"images": [IMAGE.reshape(4, 6, 3)]},
        {"images": [IMAGE, IMAGE]},
        {"seed": 0},
        {"seed": 1},
        {"sample": 1},
        {"temperature": 0.0},
        {"top_p": 1.0},
        {"max_tokens": 9},
        {"allow_truncated": True},
        {"prompt_version": "2"},
        {"schema": SCHEMA},
        {"schema": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}},
        {"choices": ["A"]},
        {"choices": ["A", "B"]},
        {"choices": ["A"], "top_logprobs": 5},
    ]
    endpoint.always = ok('{"n": 1}', logprobs=likely({"A": -1.0}))
    model = chat(recording=tmp_path)
    keys = {model.ask(**base | change).key for change in changes}
    keys |= {chat(recording=tmp_path, endpoint="elsewhere").ask(**base).key}
    keys |= {chat(recording=tmp_path, structured="prompt").ask(**base).key}
    assert len(keys) == len(changes) + 2 == len(endpoint.asked)
    for change in changes:
        model.ask(**base | change)
    assert len(endpoint.asked) == len(changes) + 2
    assert model.key.__doc__


def test_samples_send_other_seeds_and_repeats_of_one_do_not(chat: Make, endpoint: FakeEndpoint) -> None:
    for sample in (0, 1, 2, 1):
        chat().ask("x", seed=7, sample=sample)
    seeds = [asked.body["seed"] for asked in endpoint.asked]
    assert (seeds[0], len(set(seeds)), seeds[1]) == (7, 3, seeds[3])


def test_failed_asks_are_kept_and_never_replayed(chat: Make, endpoint: FakeEndpoint, tmp_path: Path) -> None:
    endpoint.then(error(401, "who?"), ok(""), ok("fine"))
    model = chat(recording=tmp_path, reasks=0)
    with pytest.raises(EndpointError):
        model.ask("x")
    with pytest.raises(AnswerError):
        model.ask("x")
    with pytest.raises(EndpointError, match="no recorded answer"):
        chat(recording=tmp_path, replay="only").ask("x")
    assert model.ask("x").text == "fine"
    assert [line["status"] for line in lines(tmp_path)] == ["failed", "failed", "answer"]
    assert [line["error"] and line["error"]["type"] for line in lines(tmp_path)] == [
        "EndpointError",
        "NoAnswerError",
        None,
    ]


def test_answers_of_another_process_are_found(chat: Make, endpoint: FakeEndpoint, tmp_path: Path) -> None:
    early, late = chat(recording=tmp_path), chat(recording=tmp_path)
    early.ask("x")
    assert late.ask("x").replayed


def test_a_kill_at_any_byte_loses_only_what_was_being_written(
    chat: Make, endpoint: FakeEndpoint, tmp_path: Path
) -> None:
    model = chat(recording=tmp_path)
    for prompt in ("one", "two", "three"):
        model.ask(prompt)
    path = tmp_path / "asks.jsonl"
    whole = path.read_bytes()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    for length in range(ends[0], len(whole)):
        path.write_bytes(whole[:length])
        reader = chat(recording=tmp_path, replay="only")
        for prompt, end in zip(("one", "two", "three"), ends, strict=True):
            if end <= length:
                assert reader.ask(prompt).text == "hello"
            else:
                with pytest.raises(EndpointError, match="no recorded answer"):
                    reader.ask(prompt)
    for length in range(ends[1] - 1, len(whole), 97):
        path.write_bytes(whole[:length])
        writer = ChatRecording(tmp_path)
        writer.add({"key": "new", "status": "answer"})
        found = lines(tmp_path)
        assert [line["key"] for line in found][-1] == "new"
        assert len(found) == 1 + sum(end <= length for end in ends)


def test_a_reader_goes_on_after_another_has_healed_a_torn_line(tmp_path: Path) -> None:
    writer, reader = ChatRecording(tmp_path), ChatRecording(tmp_path)
    writer.add({"key": "a", "status": "answer", "n": 1})
    with open(tmp_path / "asks.jsonl", "ab") as file:
        file.write(b'{"version": 1, "key": "torn", "sta')
    assert reader.find("torn") is None
    writer.add({"key": "b", "status": "answer", "n": 2})
    found = reader.find("b")
    assert found["n"] == 2


def test_a_writer_waits_for_another_in_the_middle_of_a_line(tmp_path: Path) -> None:
    """Without waiting it would take the half line for torn, and drop it."""
    recording = ChatRecording(tmp_path)
    late = threading.Thread(target=recording.add, args=({"key": "late", "status": "answer"},))
    with open(tmp_path / "asks.jsonl", "ab", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(b'{"key": "early",')
        late.start()
        late.join(0.2)
        assert late.is_alive()
        file.write(b' "version": 1}\n')
    late.join(30)
    assert [line["key"] for line in lines(tmp_path)] == ["early", "late"]


@pytest.mark.parametrize("damage", [b"nonsense\n", b"[]\n", b'{"version": 9, "key": "a"}\n', b"{}\n", b"\x00\x00\n"])
def test_a_damaged_line_within_is_said(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "asks.jsonl").write_bytes(damage)
    with pytest.raises(RunError, match=r"asks.jsonl: .*line"):
        ChatRecording(tmp_path).find("a")


def test_a_full_disk_leaves_no_part_of_a_line(tmp_path: Path) -> None:
    """In a process whose files may not grow past a limit, as on a full disk."""
    code = f"""
import resource, signal
from pathlib import Path
from worldgauge.chat.transport import ChatRecording
from worldgauge.core.errors import RunError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
recording = ChatRecording(Path({str(tmp_path)!r}))
recording.add({{"key": "a", "status": "answer"}})
resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
try:
    recording.add({{"key": "b", "status": "answer", "text": "x" * 1000}})
except RunError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "make room" in done.stdout, done.stderr
    assert [line["key"] for line in lines(tmp_path)] == ["a"]


def test_processes_and_threads_write_into_one_folder(tmp_path: Path) -> None:
    code = f"""
import threading
from pathlib import Path
from worldgauge.chat.transport import ChatRecording
import sys
recording = ChatRecording(Path({str(tmp_path)!r}))
def work(t):
    for n in range(20):
        recording.add({{"key": f"{{sys.argv[1]}}-{{t}}-{{n}}", "status": "answer", "text": "y" * 5000}})
threads = [threading.Thread(target=work, args=(t,)) for t in range(3)]
[t.start() for t in threads]; [t.join() for t in threads]
"""
    running = [subprocess.Popen([sys.executable, "-c", code, str(n)]) for n in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    keys = {line["key"] for line in lines(tmp_path)}
    assert keys == {f"{p}-{t}-{n}" for p in range(3) for t in range(3) for n in range(20)}


KEY = "sk-test-0123456789abcdef"


def test_the_key_is_in_no_file_and_no_message(
    chat: Make, endpoint: FakeEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the endpoint says it back, and where it stands in a prompt."""
    monkeypatch.setenv("MY_KEY", KEY)
    endpoint.then(
        error(500, f"Bearer {KEY} {'x' * 260}{KEY}"),
        raw(f"<p>{KEY}</p>", 502),
        ok(f"your key is {KEY}"),
        error(401, KEY),
    )
    model = chat(recording=tmp_path, api_key_env="MY_KEY", prices=Prices(1, 1))
    reply = model.ask(f"is {KEY} secret?", images=[IMAGE])
    assert reply.text == "your key is [key]"
    assert (
        chat(recording=tmp_path, api_key_env="MY_KEY", replay="only").ask(f"is {KEY} secret?", images=[IMAGE]).text
        == reply.text
    )
    with pytest.raises(EndpointError) as caught:
        model.ask("again")
    assert "sk-test" not in str(caught.value)
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert b"sk-test" not in path.read_bytes()
            assert b"MY_KEY" not in path.read_bytes()


def test_a_placeholder_key_garbles_no_answer(
    chat: Make, endpoint: FakeEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "EMPTY")
    endpoint.always = ok("the bucket is EMPTY")
    assert chat(recording=tmp_path, api_key_env="MY_KEY").ask("x").text == "the bucket is EMPTY"


def test_threads_record_through_one_model(chat: Make, endpoint: FakeEndpoint, tmp_path: Path) -> None:
    model = chat(recording=tmp_path, prices=Prices(1, 1))
    threads = [threading.Thread(target=model.ask, args=(f"q{n}",)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len({line["key"] for line in lines(tmp_path)}) == 12
    assert model.spent == pytest.approx(12 * 18e-6)


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot hold a recording"):
        ChatRecording(tmp_path / "file")
