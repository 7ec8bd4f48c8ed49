"""A model in a child process, over a Unix socket that it connects to, or over its stdin and stdout."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any

import worldgauge_serve
from worldgauge.core.errors import ModelError, UsageError
from worldgauge.serving.channel import (
    ENDS,
    LOAD_DEADLINE_S,
    ChannelRequest,
    GoneError,
    Message,
    SilentError,
    TimedSocket,
)
from worldgauge.serving.isolation import HIDDEN_VARIABLE, limited, memory_of_models, sandboxed, without_secrets
from worldgauge.serving.messages import plain
from worldgauge_serve import SOCKET_VARIABLE, ArraySpec, Header, WireError, read_message, write_message

_KEPT_BYTES = 8000
_MAX_TEXT = 300
_COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


def how_it_ended(code: int) -> str:
    """An exit code in words, as `subprocess` gives it: negative for a signal."""
    if code >= 0:
        return f"exited with code {code}"
    if -code == signal.SIGKILL:
        return "was killed by SIGKILL (out of memory?)"
    named = -code in {one.value for one in signal.Signals}  # not all signals have names
    return f"was killed by {signal.Signals(-code).name if named else f'signal {-code}'}"


class Tail:
    """The end of what a process prints, which may be any bytes."""

    def __init__(self) -> None:
        self._kept = b""

    def add(self, chunk: bytes) -> None:
        """Keep the next bytes that were printed."""
        self._kept = (self._kept + chunk)[-_KEPT_BYTES:]

    def last_words(self) -> str:
        """The last line that is not blank, for error messages, without control characters that move a cursor."""
        text = _COLOURS.sub("", self._kept.decode("utf-8", "replace"))
        lines = (plain(line).strip() for line in reversed(re.split(r"[\r\n]+", text)))
        last = next(filter(None, lines), "")[:_MAX_TEXT]
        return f"; its last words: {last}" if last else ""


OUTER_VARIABLE = "WORLDGAUGE_OUTER_ENVIRONMENT"
"""Earlier values of the environment variables that the pool set for a worker: JSON {name: text or null}."""
GRACE_S = 2.0
FOLDER_VARIABLE = "WORLDGAUGE_FOLDER"
"""Folder of one worker; the process that ends the worker removes it."""
BUFFER_BYTES = 4 << 20
_LOOK_S = 0.05


class ProcessChannel:
    """A child process, started when needed and again after it ends; it connects to a Unix socket unless `pipes`.
    Wrappers such as `conda run` use stdin and stdout themselves, and models print."""

    def __init__(self, command: str, *, pipes: bool, who: str) -> None:
        try:
            self._command = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"{who}: its command cannot be split into words: {error}") from None
        if not self._command:
            raise UsageError(f"{who}: give a command, such as cmd:python -m worldgauge_serve wan.py:Wan")
        self._pipes = pipes
        self._who = who
        self._child: _Child | None = None
        self._cancelled: set[str] = set()
        self._unread = 0

    @property
    def pid(self) -> int | None:
        """Process id of the child; None when there is none."""
        return None if self._child is None else self._child.process.pid

    def connect(self) -> Header:
        """See `Channel.connect`; starts a new child, in place of one that still runs."""
        self.close()
        self._child = child = _Child(self._command, self._pipes, self._who)
        try:
            child.accept()
            child.line.allow(max(0.0, child.began + LOAD_DEADLINE_S - time.monotonic()))
            hello, _ = read_message(child.line.recv_into, check=_no_arrays)
        except TimeoutError:
            self.close()
            raise ModelError(
                f"{self._who} was not ready within {LOAD_DEADLINE_S:g} s; does it start worldgauge_serve?"
            ) from None
        except WireError as error:
            hint = "; nothing but the server may write to its stdout" if self._pipes else ""
            raise self._broken(error, hint) from None
        except (EOFError, OSError) as error:
            raise self._gone() from error
        except BaseException:
            self.close()
            raise
        return hello

    def ask(self, question: ChannelRequest) -> Generator[Message]:
        """See `Channel.ask`."""
        child = self._child
        if child is None:
            raise GoneError("is not running")
        ended = False
        child.line.allow(question.deadline_s)
        try:
            write_message(child.line.send, question.header, question.arrays)
            while not ended:
                header, arrays = self._next(child.line, question)
                ended = header["type"] in ENDS
                yield header, arrays
                child.line.allow(question.deadline_s)
        except GeneratorExit:
            # Between two messages: the rest is skipped when the next question waits for its answer anyway.
            if not ended:
                self._cancel(child.line, question.id)
            raise
        except ModelError:
            self._cancel(child.line, question.id)
            raise
        except TimeoutError:
            child.signal(signal.SIGKILL)
            self.close()
            raise SilentError from None
        except WireError as error:
            raise self._broken(error) from None
        except (EOFError, OSError) as error:
            raise self._gone() from error
        except BaseException:
            self.close()  # anywhere within a message: nothing more can be understood
            raise

    def close(self) -> None:
        """See `Channel.close`."""
        if self._child is not None:
            self._child.end()
        self._child = None
        self._cancelled.clear()
        self._unread = 0

    def _next(self, line: TimedSocket, question: ChannelRequest) -> Message:
        """The next message that belongs to `question`; what is left of cancelled ones is skipped, never stored."""
        while True:
            _skip(line, self._unread)
            self._unread = 0

            def check(header: Header, announced: list[ArraySpec]) -> None:
                name = header.get("id")
                self._unread = sum(one.nbytes for one in announced)
                if isinstance(name, str) and name in self._cancelled:
                    if header["type"] in ENDS:
                        self._cancelled.discard(name)
                        line.allow(question.deadline_s)  # the model starts this request only now
                    raise _UnwantedError
                question.check(header, announced)

            with suppress(_UnwantedError):
                message = read_message(line.recv_into, check=check)
                self._unread = 0
                return message

    def _cancel(self, line: TimedSocket, name: str) -> None:
        self._cancelled.add(name)
        with suppress(OSError):  # the next request will notice it
            line.allow(GRACE_S)
            write_message(line.send, {"type": "cancel", "id": name})

    def _broken(self, error: WireError, hint: str = "") -> Exception:
        if error.kind == "cut":
            return self._gone()
        self.close()
        return ModelError(f"{self._who} breaks the protocol: {error}{hint}")

    def _gone(self) -> GoneError:
        assert self._child is not None
        words = self._child.last_words()
        self.close()
        return GoneError(words)


def private_folder(parent: str | None = None) -> str:
    """Make a new folder that only this user can read."""
    # The name of a Unix socket may have 108 bytes, and some temporary folders are long already.
    return tempfile.mkdtemp(prefix="worldgauge-", dir=parent or ("/tmp" if len(tempfile.gettempdir()) > 60 else None))


class _Child:
    """A process, the socket to it, and what it prints."""

    line: TimedSocket

    def __init__(self, command: list[str], pipes: bool, who: str) -> None:
        self.began = time.monotonic()
        folder = private_folder(os.environ.get(FOLDER_VARIABLE))
        self._sockets: list[socket.socket] = []
        try:
            shutil.copy(worldgauge_serve.__file__, folder)
            self.process, printed = self._start(command, pipes, who, folder)
        except BaseException:
            for one in self._sockets:
                one.close()
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self.end: Callable[[], object] = weakref.finalize(self, _end, os.getpid(), self.process, self._sockets, folder)
        self._tail = Tail()
        self._ear = threading.Thread(target=_listen, args=(printed, self._tail), daemon=True)
        self._ear.start()

    def accept(self) -> None:
        """Wait for the child to connect."""
        if hasattr(self, "line"):
            return
        (listener,) = self._sockets
        listener.settimeout(_LOOK_S)
        ended = False
        while True:
            with suppress(TimeoutError):
                line, _ = listener.accept()
                break
            if ended:
                raise EOFError
            ended = self.process.poll() is not None
            if time.monotonic() - self.began > LOAD_DEADLINE_S:
                raise TimeoutError
        self.line = TimedSocket.of(_roomy(line))
        self._sockets.append(self.line)

    def signal(self, number: int) -> None:
        """To the process and its group."""
        _signal(self.process, number)

    def last_words(self) -> str:
        """How the process ended, with the last line it printed."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(1.0)
        code = self.process.returncode
        self._ear.join(1.0)
        return ("closed its connection" if code is None else how_it_ended(code)) + self._tail.last_words()

    def _start(self, command: list[str], pipes: bool, who: str, folder: str) -> tuple[subprocess.Popen[bytes], int]:
        """The process, and the pipe that takes what it prints."""
        environment = _environment(folder, command)
        theirs: Any = None
        if pipes:
            ours, theirs = map(_roomy, socket.socketpair())
            self.line = TimedSocket.of(ours)
            self._sockets.append(self.line)
        else:
            listener = socket.socket(socket.AF_UNIX)
            self._sockets.append(listener)
            environment[SOCKET_VARIABLE] = os.path.join(folder, "socket")
            listener.bind(environment[SOCKET_VARIABLE])
            listener.listen(1)
        read, write = os.pipe()
        try:
            # process_group: a separate one, so that everything it starts can be ended; but the session of this process,
            # so that ending that session ends it too.
            process = subprocess.Popen(
                limited(sandboxed(command, folder, os.environ, who), memory_of_models(os.environ)),
                stdin=theirs or subprocess.DEVNULL,
                stdout=theirs or write,
                stderr=write,
                env=environment,
                process_group=0,
            )
        except OSError as error:
            os.close(read)
            reason = "there is no such program" if isinstance(error, FileNotFoundError) else error.strerror
            raise UsageError(f"{who}: '{command[0]}' cannot be started: {reason}; no shell reads this line") from None
        finally:
            os.close(write)
            if theirs is not None:
                theirs.close()
        return process, read


def _roomy(line: socket.socket) -> socket.socket:
    """Enlarge the buffer to a frame or more, so that a sender need not wait until it is read: saves 1 ms per frame."""
    line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
    return line


def _environment(folder: str, command: list[str]) -> dict[str, str]:
    """Our environment without secrets, nor the variables that the pool set for this worker, such as one thread."""
    environment = without_secrets(os.environ, command)
    for name in (SOCKET_VARIABLE, FOLDER_VARIABLE, HIDDEN_VARIABLE):
        environment.pop(name, None)
    for name, before in json.loads(environment.pop(OUTER_VARIABLE, "{}")).items():
        environment.pop(name, None)
        if before is not None:
            environment[name] = before
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, environment.get("PYTHONPATH")]))
    environment.setdefault("PYTHONUNBUFFERED", "1")  # so that its last output is read
    return environment


def _end(owner: int, process: subprocess.Popen[bytes], sockets: list[socket.socket], folder: str) -> None:
    """Close the connection and wait; then end the process and its group. Also runs when this process ends."""
    if os.getpid() != owner:
        return  # a fork of the process that started it
    for one in sockets:
        one.close()
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_S)
    for number in (signal.SIGTERM, signal.SIGKILL):
        _signal(process, number)
        with suppress(subprocess.TimeoutExpired):  # even SIGKILL may have to wait for a dead file system
            process.wait(GRACE_S)


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _skip(line: TimedSocket, size: int) -> None:
    """Read `size` bytes and discard them."""
    scratch = memoryview(bytearray(min(size, 1 << 20)))
    while size:
        count = line.recv_into(scratch[:size])
        if not count:
            raise EOFError
        size -= count


def _no_arrays(header: Header, announced: list[ArraySpec]) -> None:
    if announced:
        raise WireError("a hello that holds arrays")


def _listen(pipe: int, tail: Tail) -> None:
    """Pass on to our stderr what a child prints, until the pipe ends; whatever comes, so that it never blocks."""
    with open(pipe, "rb", 0) as source:
        while chunk := source.read(65536):
            tail.add(chunk)
            with suppress(OSError):
                os.write(2, chunk)


class _UnwantedError(Exception):
    """A message of a request that was cancelled."""
