"""The bridge to Node: a child process that answers one question at a time over its stdin and stdout.

A question is one JSON object a line, {"id", "op", ...}, its answer {"id", "ok": {...}} or {"id", "error": {type,
message, hint}}; "bytes": n in either announces n bytes right after the line. Its first line is a hello with the
protocol's number and versions. A child whose stdin ends, ends itself.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from worldgauge.core.errors import WorldError
from worldgauge.serving.channel import TimedSocket
from worldgauge.serving.isolation import limited, only_needed
from worldgauge.serving.process import how_it_ended
from worldgauge.worlds.minecraft.install import BRIDGE_FOLDER, INSTALL_HINT, find_node, find_packages, mismatch

PROTOCOL = 1
DEADLINE_S = 30.0
KEPT_LINES = 200
"""Lines of the child's stderr that a lost bridge's error holds."""

_START_S = 20.0
_GRACE_S = 3.0
_MOST_LINE_BYTES = 64 << 20
_MOST_DATA_BYTES = 1 << 30
_BUFFER_BYTES = 1 << 20
_HEAP_MB = 4096
"""Of what the Node program may hold, which is a few hundred."""
_CONTROLS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_STACK = ("at ", "Node.js v", "}")
"""How lines begin with which Node ends a report, below the words that say what happened."""


class BridgeError(WorldError):
    """The child refused a question and lives on. `kind` is one word, such as "unknown-block"."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class BridgeLostError(WorldError):
    """The child has ended, or was ended because it was late or broke the protocol."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


@dataclass(frozen=True)
class BridgeAnswer:
    """An answer of the child."""

    ok: dict[str, Any]
    data: bytes = b""


class Closing(ABC):
    """A context manager whose end is its `close`."""

    @abstractmethod
    def close(self) -> None:
        """Leave nothing behind; again is nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Bridge(Closing):
    """Our child process; a context manager, for one thread. After a BridgeLostError, start another.
    `pid` is that of the child, which leads its own process group; `hello` is its first line."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Start the child process."""
        (out, their_in), (into, their_out) = socket.socketpair(), socket.socketpair()
        try:
            process = subprocess.Popen(
                limited(command),
                stdin=their_in.fileno(),
                stdout=their_out.fileno(),
                stderr=subprocess.PIPE,
                env={**only_needed(os.environ), **(environment or {})},
                process_group=0,
            )
        except OSError as error:
            out.close()
            into.close()
            raise BridgeLostError(f"'{command[0]}' cannot be started: {error.strerror}") from None
        finally:
            their_in.close()
            their_out.close()
        self._out, self._in = TimedSocket.of(out), TimedSocket.of(into)
        self._process = process
        self._end = weakref.finalize(self, _end, os.getpid(), process, [self._out, self._in])
        self._log: list[str] = []
        self._ear = threading.Thread(target=_listen, args=(process, self._log), daemon=True)
        self._ear.start()
        self._held = bytearray()
        self._chunk = memoryview(bytearray(_BUFFER_BYTES))
        self._asked = 0
        self.pid = process.pid
        self.hello: dict[str, Any] = self._guarded("hello", _START_S, self._greet)

    @classmethod
    def start(cls, packages: Path | None = None) -> Bridge:
        """Start our Node program with the packages in a folder, by default the installed ones."""
        folder = find_packages(packages)
        command = [str(find_node()), f"--max-old-space-size={_HEAP_MB}", str(BRIDGE_FOLDER / "main.js")]
        bridge = cls(command, {"NODE_PATH": str(folder / "node_modules")})
        if wrong := mismatch(bridge.hello.get("packages", {})):
            bridge.close()
            raise WorldError(f"the Node packages in {folder} are not those of this version ({wrong}): {INSTALL_HINT}")
        return bridge

    def ask(
        self, op: str, args: Mapping[str, Any] | None = None, *, data: bytes = b"", deadline_s: float = DEADLINE_S
    ) -> BridgeAnswer:
        """Send one query "family.verb"; the whole answer must arrive within `deadline_s` seconds."""
        if not self._end.alive:
            raise BridgeLostError(f"{op}: the bridge has ended; start another")
        self._asked += 1
        question = {**(args or {}), "id": self._asked, "op": op, **({"bytes": len(data)} if data else {})}
        line = json.dumps(question, allow_nan=False).encode() + b"\n"
        answer: BridgeAnswer = self._guarded(op, deadline_s, lambda: self._exchange(op, line + data))
        return answer

    def close(self) -> None:
        """Hang up: the child ends itself, with its server; one that does not is ended."""
        self._end()

    def _guarded(self, op: str, deadline_s: float, act: Callable[[], Any]) -> Any:
        """The outcome of `act` within the deadline; whatever leaves half a message behind ends the child."""
        self._out.allow(deadline_s)
        self._in.allow(deadline_s)
        try:
            return act()
        except BridgeError:
            raise
        except TimeoutError:
            _signal(self._process, signal.SIGKILL)
            raise self._lost(f"{op}: no answer within {deadline_s:g} s, so the bridge was ended") from None
        except (EOFError, OSError):
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1.0)
            code = self._process.returncode
            how = "closed its connection" if code is None else how_it_ended(code)
            raise self._lost(f"{op}: the bridge {how}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise self._lost(f"{op}: the bridge breaks its protocol: {error}") from None
        except BaseException:
            self.close()
            raise

    def _greet(self) -> dict[str, Any]:
        hello = json.loads(self._line())["hello"]
        if hello["protocol"] != PROTOCOL:
            raise ValueError(f"it speaks number {hello['protocol']}, expected {PROTOCOL}")
        return dict(hello)

    def _exchange(self, op: str, question: bytes) -> BridgeAnswer:
        self._out.sendall(question)
        answer = json.loads(self._line())
        if answer["id"] != self._asked:
            raise ValueError(f"an answer to question {answer['id']}, expected {self._asked}")
        if "error" in answer:
            error = answer["error"]
            hint = error.get("hint")
            said = error["message"] + (f"; {hint}" if hint else "")
            if error["type"] == "crash":
                raise self._lost(f"{op}: {said} (the bridge has ended)")
            raise BridgeError(error["type"], said)
        return BridgeAnswer(dict(answer["ok"]), self._take(answer.get("bytes", 0)))

    def _line(self) -> bytes:
        scanned = 0
        while (end := self._held.find(b"\n", scanned)) < 0:
            scanned = len(self._held)
            if scanned > _MOST_LINE_BYTES:
                raise ValueError("a line without end")
            self._more()
        return self._cut(end + 1)

    def _take(self, count: int) -> bytes:
        if type(count) is not int or not 0 <= count <= _MOST_DATA_BYTES:
            raise ValueError(f"{count} bytes announced")
        while len(self._held) < count:
            self._more()
        return self._cut(count)

    def _more(self) -> None:
        if not (count := self._in.recv_into(self._chunk)):
            raise EOFError
        self._held += self._chunk[:count]

    def _cut(self, count: int) -> bytes:
        taken = bytes(self._held[:count])
        del self._held[:count]
        return taken

    def _lost(self, message: str) -> BridgeLostError:
        self.close()
        self._ear.join(1.0)
        log = list(self._log)
        last = next((line for line in reversed(log) if line and not line.lstrip().startswith(_STACK)), "")
        return BridgeLostError(message + (f"; its last words: {last[:300]}" if last else ""), "\n".join(log))


def _listen(process: subprocess.Popen[bytes], log: list[str]) -> None:
    """Keep the last lines that the child prints, until it ends; nothing in them can move a cursor."""
    assert process.stderr is not None
    with process.stderr as source:
        for line in iter(lambda: source.readline(1 << 16), b""):
            text = _CONTROLS.sub("", line.decode("utf-8", "replace"))
            log.append("".join(c if c.isprintable() else " " for c in text).rstrip())
            del log[:-KEPT_LINES]


def _end(owner: int, process: subprocess.Popen[bytes], sockets: list[TimedSocket]) -> None:
    """Hang up and give it time; then end it and all of its group. Also run when this process ends."""
    if os.getpid() != owner:
        return  # a fork of the process that started it
    for one in sockets:
        one.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_S)
    for number in (signal.SIGTERM, signal.SIGKILL):
        _signal(process, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
