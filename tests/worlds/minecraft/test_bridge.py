"""The bridge with a child of a few lines of Python in place of Node."""

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from worldgauge.worlds.minecraft.bridge import PROTOCOL, Bridge, BridgeError, BridgeLostError

HELLO = json.dumps({"hello": {"protocol": PROTOCOL, "node": "20.0.0", "packages": {}}})
FAKE = """
import json, os, signal, subprocess, sys, time
source, target = sys.stdin.buffer, sys.stdout.buffer
def send(header, data=b""):
    target.write(json.dumps(header).encode() + b"\\n" + data)
    target.flush()
target.write(HELLO.encode() + b"\\n")
target.flush()
for line in source:
    asked = json.loads(line)
    data = source.read(asked.get("bytes", 0))
    verb = asked["op"].split(".")[1]
    if verb == "echo":
        send({"id": asked["id"], "ok": {"said": asked["said"]}, "bytes": len(data)}, data)
    elif verb == "refuse":
        send({"id": asked["id"], "error": {"type": "no-chunk", "message": "it is far", "hint": "go there"}})
    elif verb == "crash":
        send({"id": asked["id"], "error": {"type": "crash", "message": "it threw", "hint": ""}})
        sys.exit(1)
    elif verb == "die":
        print("at a loss", file=sys.stderr)
        for number in range(300):
            print("line", number, file=sys.stderr)
        print("\\x1b[31mout of\\x07blocks\\x1b[0m", file=sys.stderr)
        sys.exit(3)
    elif verb == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif verb == "half":
        target.write(b'{"id": 1, "ok"')
        target.flush()
        time.sleep(60)
    elif verb == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        open(asked["note"], "w").write(str(other.pid))
        time.sleep(60)
    elif verb == "other":
        send({"id": 99, "ok": {}})
    elif verb == "babble":
        target.write(b"Using version 1.16.5\\n")
        target.flush()
    elif verb == "flood":
        send({"id": asked["id"], "ok": {}, "bytes": 1 << 40})
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Bridge]]:
    """start(hello): a bridge to the fake child; after the test no child may be left."""
    started: list[Bridge] = []

    def start(hello: str = HELLO) -> Bridge:
        fake = tmp_path / "fake.py"
        fake.write_text(f"HELLO = {hello!r}\n" + textwrap.dedent(FAKE))
        started.append(Bridge([sys.executable, str(fake)]))
        return started[-1]

    yield start
    for bridge in started:
        bridge.close()
        assert not alive(bridge.pid)


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pid: int) -> bool:
    """Whether a process that nobody here can wait for ends within a while."""
    for _ in range(500):
        if not alive(pid):
            return True
        time.sleep(0.02)
    return False


def test_a_question_is_answered_with_its_bytes(start: Callable[..., Bridge]) -> None:
    data = os.urandom(3 << 20)
    with start() as bridge:
        assert bridge.hello["node"] == "20.0.0"
        for said in ("first", "second ü\n"):
            answer = bridge.ask("fake.echo", {"said": said}, data=data)
            assert answer.ok == {"said": said}
            assert answer.data == data
    assert not alive(bridge.pid)


def test_a_refusal_leaves_the_child_alive(start: Callable[..., Bridge]) -> None:
    bridge = start()
    with pytest.raises(BridgeError, match=r"^it is far; go there$") as refused:
        bridge.ask("fake.refuse")
    assert refused.value.kind == "no-chunk"
    assert bridge.ask("fake.echo", {"said": 1}).ok == {"said": 1}


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("die", "exited with code 3; its last words: out of blocks"),
        ("killed", "killed by SIGKILL"),
        ("crash", r"it threw \(the bridge has ended\)"),
        ("other", "an answer to question 99, expected 1"),
        ("babble", "breaks its protocol"),
        ("flood", "1099511627776 bytes announced"),
    ],
)
def test_a_lost_child_is_a_clear_error_and_gone(start: Callable[..., Bridge], verb: str, words: str) -> None:
    bridge = start()
    with pytest.raises(BridgeLostError, match=words):
        bridge.ask(f"fake.{verb}")
    assert not alive(bridge.pid)
    with pytest.raises(BridgeLostError, match="start another"):
        bridge.ask("fake.echo", {"said": 1})
    assert start().ask("fake.echo", {"said": 2}).ok == {"said": 2}


def test_the_last_lines_of_a_lost_child_are_kept(start: Callable[..., Bridge]) -> None:
    with pytest.raises(BridgeLostError) as lost:
        start().ask("fake.die")
    lines = lost.value.log.splitlines()
    assert len(lines) == 200
    assert lines[0] == "line 101"


def test_half_an_answer_ends_the_child_at_the_deadline(start: Callable[..., Bridge]) -> None:
    bridge = start()
    before = time.monotonic()
    with pytest.raises(BridgeLostError, match=r"fake.half: no answer within 0.3 s"):
        bridge.ask("fake.half", deadline_s=0.3)
    assert time.monotonic() - before < 30
    assert not alive(bridge.pid)


def test_a_deaf_child_is_ended_with_all_that_it_started(start: Callable[..., Bridge], tmp_path: Path) -> None:
    note = tmp_path / "note"
    bridge = start()
    with pytest.raises(BridgeLostError, match="no answer within 2 s"):
        bridge.ask("fake.deaf", {"note": str(note)}, deadline_s=2)
    assert gone(bridge.pid)
    assert gone(int(note.read_text()))


@pytest.mark.parametrize(
    ("hello", "words"),
    [
        ('{"hello": {"protocol": 2}}', "speaks number 2, expected 1"),
        ("Using version 1.16.5", "breaks its protocol"),
        ("[]", "breaks its protocol"),
    ],
)
def test_another_protocol_is_refused(start: Callable[..., Bridge], hello: str, words: str) -> None:
    with pytest.raises(BridgeLostError, match=words):
        start(hello)


def test_no_such_program_is_a_clear_error() -> None:
    with pytest.raises(BridgeLostError, match="cannot be started: No such file"):
        Bridge(["/nowhere/node"])


def test_what_is_no_json_is_not_sent(start: Callable[..., Bridge]) -> None:
    bridge = start()
    with pytest.raises(ValueError, match="JSON"):
        bridge.ask("fake.echo", {"said": float("nan")})
    assert bridge.ask("fake.echo", {"said": 1}).ok == {"said": 1}


def test_the_child_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    fake = tmp_path / "fake.py"
    fake.write_text(f"HELLO = {HELLO!r}\n" + textwrap.dedent(FAKE))
    program = f"""
        import os, signal
        from worldgauge.worlds.minecraft.bridge import Bridge
        bridge = Bridge([{sys.executable!r}, {str(fake)!r}])
        print(bridge.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60)
    pid = int(ran.stdout)
    assert gone(pid)
