"""Serve a world model to worldgauge from its own environment: numpy, the standard library, Python 3.8 or newer.

This one file is all that the model's environment needs; copy it there. It speaks the protocol of docs/protocol.md.

    from worldgauge_serve import ModelSpec, serve

    class Wan:
        spec = ModelSpec("wan", control="actions", frame_size=(832, 480), max_context=32)

        def rollout(self, request):
            yield frames  # chunks (n, height, width, 3) uint8, request.horizon frames in all

    if __name__ == "__main__":
        serve(Wan())

    worldgauge run loopnav --data DIR --model "cmd:conda run -n wan python serve_wan.py"
    worldgauge run loopnav --data DIR --model "cmd:conda run -n wan python -m worldgauge_serve wan.py:Wan?steps=20"
    python -m worldgauge_serve wan.py:Wan --port 7000        then  --model http://127.0.0.1:7000
"""

from __future__ import annotations

import argparse
import hashlib
import hmac
import importlib
import importlib.util
import json
import os
import queue
import secrets
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence
from urllib.parse import parse_qsl

import numpy as np

__all__ = ["VERSION", "Actions", "Clip", "Context", "ModelSpec", "NotApplicable", "Request", "main", "serve"]

VERSION = 1
SOCKET_VARIABLE = "WORLDGAUGE_SOCKET"
TOKEN_VARIABLE = "WORLDGAUGE_TOKEN"
CONTENT_TYPE = "application/x-worldgauge"
DTYPES = ("uint8", "uint16", "int32", "int64", "float32", "float64")
MAX_HEADER_BYTES = 1 << 20
MAX_ARRAYS = 1024
MAX_SIDES = 5
MAX_BYTES = 4 << 30
GRACE_S = 5.0
HUNG = 75

Header = Dict[str, Any]
Arrays = Dict[str, "np.ndarray[Any, Any]"]
Post = Callable[[Header, Optional[Arrays]], None]


# What a model is and what it is asked -------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelSpec:
    """What a world model takes and gives; the fields of `worldgauge.subject.ModelSpec`, which explains them."""

    name: str
    control: str = "actions"
    view: str = "perspective"
    frame_size: tuple[int, int] | None = None
    fps: float | None = None
    max_context: int | None = None
    chunk: int | None = None
    inputs: Sequence[str] = ()
    crop: tuple[int, int] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


class NotApplicable(Exception):
    """Raise it from `rollout` for a request that this model cannot be asked: it is skipped, not failed."""


class Clip:
    """Frames (T, H, W, 3) uint8 RGB in memory, with a rate."""

    def __init__(self, frames: np.ndarray[Any, Any], fps: float) -> None:
        self._frames = frames
        self.fps = fps
        self.height, self.width = frames.shape[1:3]

    def __len__(self) -> int:
        return len(self._frames)

    def __getitem__(self, index: Any) -> Any:
        return Clip(self._frames[index], self.fps) if isinstance(index, slice) else self._frames[index]

    def __iter__(self) -> Iterator[np.ndarray[Any, Any]]:
        return iter(self._frames)

    def take(self, indices: Sequence[int]) -> Iterator[np.ndarray[Any, Any]]:
        """Frames at `indices`, in that order."""
        return (self._frames[i] for i in indices)

    def to_array(self) -> np.ndarray[Any, Any]:
        """All frames (T, H, W, 3)."""
        return self._frames


@dataclass(frozen=True)
class Axis:
    """One column of an action array: kind "button" (0 or 1) or "angle" (radians).

    motion: (forward, left, up in metres, yaw, pitch in radians) that the value 1 causes.
    """

    name: str
    kind: str
    motion: tuple[float, ...]


@dataclass(frozen=True)
class ActionSpace:
    """Named columns of an action array and the frame rate they are meant for."""

    name: str
    axes: tuple[Axis, ...]
    fps: float


@dataclass(frozen=True)
class Actions:
    """values (T, K) float32 in the columns of `space`; row t drives frame t to frame t + 1."""

    space: ActionSpace
    values: np.ndarray[Any, Any]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice) -> Actions:
        return Actions(self.space, self.values[rows])

    def column(self, name: str) -> np.ndarray[Any, Any]:
        """One column (T,) by the name of its axis."""
        return self.values[:, [axis.name for axis in self.space.axes].index(name)]


@dataclass(frozen=True)
class Camera:
    """Intrinsics in pixels; a panorama has a size only (fx to cy are None)."""

    width: int
    height: int
    fx: float | None = None
    fy: float | None = None
    cx: float | None = None
    cy: float | None = None


@dataclass(frozen=True)
class Context:
    """What the model may see: C frames, poses (C, 4, 4) camera-to-world, C - 1 actions, depth(i) -> (H, W) metres."""

    clip: Clip
    poses: np.ndarray[Any, Any]
    actions: Actions
    camera: Camera
    depth: Callable[[int], np.ndarray[Any, Any]] | None = None

    def __len__(self) -> int:
        return len(self.clip)

    def last(self, n: int) -> Context:
        """The last n frames, all when there are fewer."""
        start, inner = max(0, len(self) - n), self.depth
        depth = None if inner is None else (lambda i: inner(start + i))
        return Context(self.clip[start:], self.poses[start:], self.actions[start:], self.camera, depth)


@dataclass(frozen=True)
class Request:
    """One question; the fields of `worldgauge.subject.RolloutRequest`, which explains them."""

    context: Context
    horizon: int
    seed: int
    actions: Actions | None = None
    poses: np.ndarray[Any, Any] | None = None
    text: str | None = None
    world: None = None
    truth: None = None
    task: str = ""

    @property
    def frame_size(self) -> tuple[int, int]:
        """(width, height) in pixels of the frames that are asked for."""
        return self.context.camera.width, self.context.camera.height


# Messages: 4 bytes header length, JSON header, arrays back to back ---------------------------------------------------


class WireError(Exception):
    """A message that breaks the protocol. kind: one of the error kinds of docs/protocol.md."""

    def __init__(self, text: str, kind: str = "protocol") -> None:
        super().__init__(text)
        self.kind = kind


@dataclass(frozen=True)
class ArraySpec:
    """An array that a header announces."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes it takes; plain integers, so nothing overflows."""
        size = np.dtype(self.dtype).itemsize
        for side in self.shape:
            size *= side
        return size


def encode(header: Mapping[str, Any], arrays: Mapping[str, Any] | None = None) -> list[memoryview]:
    """The buffers of one message; arrays are not copied. Raises WireError for dtypes that do not travel."""
    little = {name: _little(name, array) for name, array in (arrays or {}).items()}
    announced = [{"name": n, "dtype": a.dtype.name, "shape": list(a.shape)} for n, a in little.items()]
    text = json.dumps({**header, "arrays": announced}, allow_nan=False).encode("utf-8")
    if len(text) > MAX_HEADER_BYTES:
        raise WireError("a header of %d bytes; the limit is %d" % (len(text), MAX_HEADER_BYTES), "too_large")
    whole = [array.reshape(-1) for array in little.values() if array.nbytes]
    return [memoryview(struct.pack("<I", len(text)) + text), *(memoryview(array).cast("B") for array in whole)]  # type: ignore[arg-type]


def write_message(
    write: Callable[[Any], Any], header: Mapping[str, Any], arrays: Mapping[str, Any] | None = None
) -> None:
    """Send one message through `write(view) -> bytes written`, which may write a part."""
    for view in encode(header, arrays):
        while view:
            view = view[write(view) or 0 :]


def read_message(
    readinto: Callable[[Any], Any],
    *,
    limit: int = MAX_BYTES,
    check: Callable[[Header, list[ArraySpec]], None] | None = None,
) -> tuple[Header, Arrays]:
    """One message from `readinto(view) -> bytes read`, 0 at the end.

    Nothing larger than a header is allocated before its size has passed: at most `limit` bytes of arrays, and
    whatever `check(header, arrays announced)` demands by raising. Raises EOFError where the stream ends between two
    messages, WireError for everything that is no message.
    """
    length = _read(readinto, 4, first=True)
    (size,) = struct.unpack("<I", length)
    if size > MAX_HEADER_BYTES:
        raise WireError("a header of %d bytes; the limit is %d" % (size, MAX_HEADER_BYTES), "too_large")
    header, announced = _parse(bytes(_read(readinto, size)))
    total = sum(one.nbytes for one in announced)
    if total > limit:
        raise WireError("arrays of %d bytes; the limit is %d" % (total, limit), "too_large")
    if check is not None:
        check(header, announced)
    arrays = {}
    for one in announced:
        array = np.empty(one.shape, np.dtype(one.dtype).newbyteorder("<"))
        if array.nbytes:
            _fill(readinto, memoryview(array.reshape(-1)).cast("B"))  # type: ignore[arg-type]
        arrays[one.name] = array.astype(one.dtype, copy=False)
    return header, arrays


def _little(name: str, array: Any) -> np.ndarray[Any, Any]:
    if not isinstance(array, np.ndarray) or array.dtype.name not in DTYPES or array.ndim > MAX_SIDES:
        kind = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
        raise WireError("array '%s' is %s; %s travel, with up to %d sides" % (name, kind, ", ".join(DTYPES), MAX_SIDES))
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)


def _read(readinto: Callable[[Any], Any], size: int, first: bool = False) -> bytearray:
    data = bytearray(size)
    if size:
        _fill(readinto, memoryview(data), first)
    return data


def _fill(readinto: Callable[[Any], Any], view: memoryview, first: bool = False) -> None:
    done = 0
    while done < len(view):
        count = readinto(view[done:])
        if not count:
            if first and done == 0:
                raise EOFError("the stream has ended")
            raise WireError("the stream ended within a message, %d bytes before its end" % (len(view) - done), "cut")
        done += count


def _parse(text: bytes) -> tuple[Header, list[ArraySpec]]:
    def refuse(constant: str) -> None:
        raise ValueError(constant + " is no JSON")

    try:
        header = json.loads(text.decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise WireError(f"a header that is no strict JSON: {error}") from None
    if not isinstance(header, dict) or not isinstance(header.get("type"), str):
        raise WireError("a header must be a JSON object with a 'type'")
    announced = header.pop("arrays", [])
    if not isinstance(announced, list) or len(announced) > MAX_ARRAYS:
        raise WireError("'arrays' must be a list of at most %d" % MAX_ARRAYS)
    specs = [_array_spec(one) for one in announced]
    if len({one.name for one in specs}) < len(specs):
        raise WireError("two arrays have one name")
    return header, specs


def _array_spec(given: Any) -> ArraySpec:
    if not isinstance(given, dict):
        raise WireError("an entry of 'arrays' is no object")
    name, dtype, shape = given.get("name"), given.get("dtype"), given.get("shape")
    whole = isinstance(shape, list) and all(type(side) is int and 0 <= side < 1 << 31 for side in shape)
    if not isinstance(name, str) or dtype not in DTYPES or not whole or len(shape) > MAX_SIDES:
        raise WireError(
            "array {!r}: needs a name, a dtype of {}, a shape of whole numbers".format(name, ", ".join(DTYPES))
        )
    return ArraySpec(name, dtype, tuple(shape))


# Requests ------------------------------------------------------------------------------------------------------------


def requests_of(header: Mapping[str, Any], arrays: Arrays) -> list[Request]:
    """The questions of a rollout message. Raises WireError for what is missing or does not fit."""
    try:
        given = header["requests"]
        return [_request(one, arrays, "%d/" % number) for number, one in enumerate(given)]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise WireError(f"a rollout that lacks or garbles {error}", "request") from None


def _request(given: Mapping[str, Any], arrays: Arrays, prefix: str) -> Request:
    def actions(name: str, rows: int) -> Actions:
        space = given["space"]
        axes = tuple(Axis(axis["name"], axis["kind"], tuple(axis["motion"])) for axis in space["axes"])
        return Actions(ActionSpace(space["name"], axes, space["fps"]), array(name, "float32", (rows, len(axes))))

    def array(name: str, dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        found = arrays[prefix + name]
        if found.dtype != dtype or found.shape != shape:
            raise ValueError(f"{name}: {found.dtype} {found.shape}, not {dtype} {shape}")
        if found.dtype.kind == "f" and name != "context/depth" and not np.isfinite(found).all():
            raise ValueError(f"{name}: values that are not finite")
        return found

    camera = Camera(**given["camera"])
    frames = arrays[prefix + "context/frames"]
    seen = len(frames)
    array("context/frames", "uint8", (seen, camera.height, camera.width, 3))
    depths = None
    if prefix + "context/depth" in arrays:
        depths = array("context/depth", "float32", frames.shape[:3])
    horizon = int(given["horizon"])
    context = Context(
        Clip(frames, float(given["fps"])),
        array("context/poses", "float64", (seen, 4, 4)),
        actions("context/actions", max(seen - 1, 0)),
        camera,
        None if depths is None else depths.__getitem__,
    )
    return Request(
        context,
        horizon,
        int(given["seed"]),
        actions("actions", horizon) if prefix + "actions" in arrays else None,
        array("poses", "float64", (horizon, 4, 4)) if prefix + "poses" in arrays else None,
        given.get("text"),
        task=str(given.get("task", "")),
    )


# Loading -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Served:
    """A model that is ready. source: where it comes from, with a digest of its file. given: settings it was made with."""

    model: Any
    source: str
    given: Mapping[str, Any] = field(default_factory=dict)

    def hello(self) -> Header:
        """What it is: the first message of a server."""
        spec = self.model.spec
        told = asdict(spec) if isinstance(spec, ModelSpec) else {**vars(spec), "settings": dict(spec.settings)}
        return {
            "type": "hello",
            "version": VERSION,
            "spec": {**told, "inputs": sorted(told["inputs"])},
            "source": self.source,
            "given": dict(self.given),
            "needs": dict(getattr(self.model, "needs", {})),
            "batch": hasattr(self.model, "rollout_batch"),
            "pid": os.getpid(),
        }


def load(target: str) -> Served:
    """The model that "file.py:Class?setting=value" or "package.module:Class?setting=value" means."""
    path, _, query = target.partition("?")
    module_name, _, name = path.rpartition(":")
    if not module_name:
        raise ValueError(f"name the class: file.py:Class or package.module:Class, not '{target}'")
    given = {key: _value(text) for key, text in parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))}
    if module_name.endswith(".py"):
        sys.path.insert(0, str(Path(module_name).resolve().parent))
        spec = importlib.util.spec_from_file_location(Path(module_name).stem, module_name)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[module.__name__] = module
        spec.loader.exec_module(module)
        source = "sha256:" + _digest(module_name)
    else:
        sys.path.insert(0, os.getcwd())
        module = importlib.import_module(module_name)
        source = "{}@{}".format(module_name, _digest(getattr(module, "__file__", None)))
    made = getattr(module, name)
    return Served(made(**given) if callable(made) else made, f"{source}:{name}", given)


def _digest(path: Any) -> str:
    try:
        return hashlib.sha256(Path(str(path)).read_bytes()).hexdigest()
    except OSError:
        return ""


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


# Answering -----------------------------------------------------------------------------------------------------------


class _Gone(Exception):
    """Whoever asked is gone."""


class _Question:
    """A rollout message in hand: where its answer goes, and whether anybody still wants it."""

    def __init__(self, header: Header, arrays: Arrays, post: Post) -> None:
        self.id = str(header.get("id", ""))
        self.header, self.arrays = header, arrays
        self.cancelled = threading.Event()
        self.ended = threading.Event()
        self.sign = time.monotonic()
        self._post = post

    def send(self, header: Header, arrays: Arrays | None = None) -> None:
        self.sign = time.monotonic()
        try:
            self._post({**header, "id": self.id}, arrays)
        except OSError as error:
            raise _Gone(str(error)) from error
        self.sign = time.monotonic()

    def fail(self, kind: str, text: str, trace: str | None = None) -> None:
        self.send({"type": "error", "kind": kind, "message": text, "trace": trace})

    def overdue(self) -> bool:
        """True when the model has given no sign of life for longer than whoever asked would wait."""
        limit = self.header.get("deadline_s")
        late = isinstance(limit, (int, float)) and time.monotonic() - self.sign > limit + GRACE_S
        return bool(late) and not self.ended.is_set()


class _Desk:
    """Hands questions to the model, one at a time, in the thread that calls `work`: the one that made the model."""

    def __init__(self, served: Served) -> None:
        self.hello = served.hello()
        self.current: _Question | None = None
        self._done = 0
        self._model = served.model
        self._turn = threading.Lock()
        self._waiting: queue.SimpleQueue[_Question | None] = queue.SimpleQueue()

    def work(self) -> None:
        """Answer until `close`."""
        while True:
            question = self._waiting.get()
            if question is None:
                return
            try:
                self._answer(question)
            except _Gone:
                pass
            finally:
                self.current = None
                self._done += 1
                question.ended.set()
                self._turn.release()

    def ask(self, question: _Question) -> None:
        """Take a question in, or fail it as busy. One with the id of the one in hand takes its place."""
        wait_s = question.header.get("wait_s", 0.0)
        running = self.current
        if running is not None and question.id and running.id == question.id:
            running.cancelled.set()
            wait_s = max(wait_s, GRACE_S)
        if not self._turn.acquire(timeout=min(max(0.0, wait_s), threading.TIMEOUT_MAX)):
            question.ended.set()
            return question.fail("busy", "the model is answering another question")
        question.sign = time.monotonic()
        self.current = question
        self._waiting.put(question)

    def cancel(self, name: str) -> None:
        """Stop the question `name` after its next chunk, if it is the one in hand."""
        running = self.current
        if running is not None and running.id == name:
            running.cancelled.set()

    def health(self) -> Header:
        """A sign of life."""
        return {"type": "pong", "version": VERSION, "busy": self.current is not None, "done": self._done}

    def close(self) -> None:
        """Make `work` return once the question in hand has ended."""
        self._waiting.put(None)

    def _answer(self, question: _Question) -> None:
        name = self._model.spec.name
        done = 0
        try:
            for index, rollout in enumerate(self._rollouts(requests_of(question.header, question.arrays))):
                done = 0
                for chunk in rollout:
                    if question.cancelled.is_set():
                        return question.fail("cancelled", "cancelled by whoever asked")
                    if not isinstance(chunk, np.ndarray):
                        text = "model '%s', chunk at frame %d: expected a numpy array, got %s"
                        return question.fail("subject", text % (name, done, type(chunk).__name__))
                    question.send({"type": "chunk", "index": index}, {"frames": chunk})
                    done += len(chunk) if chunk.ndim else 1
            return question.send({"type": "done"})
        except _Gone:
            raise
        except NotApplicable as error:
            question.fail("not_applicable", str(error))
        except WireError as error:
            question.fail(error.kind, str(error))
        except Exception as error:
            text = "model '%s' raised %s at frame %d: %s" % (name, type(error).__name__, done, error)
            question.fail("subject", text, traceback.format_exc())

    def _rollouts(self, requests: list[Request]) -> Any:
        if len(requests) > 1 and hasattr(self._model, "rollout_batch"):
            return self._model.rollout_batch(requests)
        return map(self._model.rollout, requests)


# Over a stream: a Unix socket that the harness listens on, or the pipes of this process -----------------------------


def _serve_stream(make: Callable[[], Served], readinto: Callable[[Any], Any], write: Callable[[Any], Any]) -> None:
    """Say hello, then answer until the stream ends; a question in hand is then given up, so nothing outlives it."""
    turn = threading.Lock()

    def post(header: Header, arrays: Arrays | None = None) -> None:
        with turn:
            write_message(write, header, arrays)

    try:
        desk = _Desk(make())
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        post({"type": "error", "kind": "load", "message": text, "trace": traceback.format_exc()})
        raise

    def listen() -> None:
        try:
            while True:
                header, arrays = read_message(readinto)
                if header["type"] == "rollout":
                    desk.ask(_Question({**header, "wait_s": threading.TIMEOUT_MAX}, arrays, post))
                elif header["type"] == "cancel":
                    desk.cancel(str(header.get("id")))
                elif header["type"] == "ping":
                    post(desk.health())
        except EOFError:
            pass
        except Exception:
            traceback.print_exc()
        desk.close()
        time.sleep(GRACE_S)
        os._exit(1)  # still here: the model hangs, or is at work for nobody

    post(desk.hello)
    threading.Thread(target=listen, daemon=True).start()
    desk.work()


def _serve_socket(make: Callable[[], Served], path: str) -> None:
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(path)
        _serve_stream(make, channel.recv_into, channel.send)


def _serve_pipes(make: Callable[[], Served]) -> None:
    # The pipes are taken away from descriptors 0 and 1, so that neither prints nor reads of a model break in.
    source, sink = os.fdopen(os.dup(0), "rb", 0), os.fdopen(os.dup(1), "wb", 0)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    _serve_stream(make, source.readinto, sink.write)  # type: ignore[attr-defined]


# Over HTTP -----------------------------------------------------------------------------------------------------------


class _Handler(BaseHTTPRequestHandler):
    """GET /v1/info and /v1/health answer JSON; POST /v1/rollout and /v1/cancel take a message.

    A rollout is answered by messages in a chunked body, one a chunk of it.
    """

    protocol_version = "HTTP/1.1"
    server_version = "worldgauge_serve/%d" % VERSION
    sys_version = ""
    timeout = 60.0
    disable_nagle_algorithm = True
    server: _HttpServer

    def do_GET(self) -> None:
        if self._is_allowed():
            answers = {"/v1/info": lambda: self.server.desk.hello, "/v1/health": self.server.desk.health}
            answer = answers.get(self.path)
            if answer is None:
                return self._refuse(404, "request", "no such address; known: " + ", ".join(answers))
            self._json(200, answer())

    def do_POST(self) -> None:
        if not self._is_allowed():
            return
        try:
            header, arrays = self._message()
        except (WireError, EOFError) as error:
            self.close_connection = True
            return self._refuse(400, getattr(error, "kind", "cut"), str(error))
        if self.path == "/v1/cancel":
            self.server.desk.cancel(str(header.get("id")))
            self._json(200, self.server.desk.health())
        elif self.path == "/v1/rollout":
            self.send_response(200)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            question = _Question(header, arrays, self._post)
            self.server.desk.ask(question)
            question.ended.wait()
            self.wfile.write(b"0\r\n\r\n")
        else:
            self._refuse(404, "request", "no such address; known: /v1/rollout, /v1/cancel")

    def _is_allowed(self) -> bool:
        token = self.server.token
        given = self.headers.get("Authorization", "")
        if token and not hmac.compare_digest(given.encode("utf-8", "replace"), ("Bearer " + token).encode("utf-8")):
            self.close_connection = True
            self._refuse(401, "unauthorized", f"give the server's token in {TOKEN_VARIABLE}")
            return False
        return True

    def _message(self) -> tuple[Header, Arrays]:
        # A web page cannot send this type without asking first, so no page can drive a server on loopback.
        if self.headers.get("Content-Type") != CONTENT_TYPE:
            raise WireError("the content type must be " + CONTENT_TYPE, "request")
        try:
            left = int(self.headers.get("Content-Length", ""))
        except ValueError:
            raise WireError("a Content-Length is needed", "request") from None

        def readinto(view: Any) -> int:
            nonlocal left
            count: int = self.rfile.readinto(view[:left]) if left > 0 else 0  # type: ignore[attr-defined]
            left -= count
            return count

        header, arrays = read_message(readinto, limit=min(max(left, 0), MAX_BYTES))
        if left:
            raise WireError("%d bytes more than the message" % left)
        return header, arrays

    def _post(self, header: Header, arrays: Arrays | None = None) -> None:
        buffers = encode(header, arrays)
        self.wfile.write(b"%x\r\n" % sum(len(buffer) for buffer in buffers))
        for buffer in buffers:
            self.wfile.write(buffer)
        self.wfile.write(b"\r\n")

    def _refuse(self, status: int, kind: str, text: str) -> None:
        self._json(status, {"type": "error", "kind": kind, "message": text})

    def _json(self, status: int, value: Mapping[str, Any]) -> None:
        text = json.dumps(value).encode("utf-8")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the model's own prints are what matters on the terminal."""


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], desk: _Desk, token: str) -> None:
        self.desk = desk
        self.token = token
        super().__init__(address, _Handler)


def _serve_http(served: Served, host: str, port: int, token: str) -> None:
    """Answer over HTTP until interrupted; the model runs in this thread."""
    if not token and host not in ("127.0.0.1", "::1", "localhost"):
        token = secrets.token_urlsafe(24)
        print(f"token (set {TOKEN_VARIABLE} on the asking side): {token}", file=sys.stderr)
    desk = _Desk(served)
    with _HttpServer((host, port), desk, token) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        threading.Thread(target=_watch, args=(desk,), daemon=True).start()
        print("serving '%s' at http://%s:%d" % (served.model.spec.name, host, server.server_address[1]), flush=True)
        try:
            desk.work()
        except KeyboardInterrupt:
            pass
        finally:
            server.shutdown()


def _watch(desk: _Desk) -> None:
    """End the process when the model hangs: a thread cannot be stopped, a process can be started again."""
    while True:
        time.sleep(1.0)
        question = desk.current
        if question is not None and question.overdue():
            print("the model gave no sign of life before the deadline; exiting", file=sys.stderr, flush=True)
            os._exit(HUNG)


# Starting ------------------------------------------------------------------------------------------------------------


def serve(model: Any, *, port: int | None = None, host: str = "127.0.0.1", pipes: bool = False) -> None:
    """Serve `model` until nobody asks any more.

    Over HTTP where a port is given (0 takes a free one), over the pipes of this process where `pipes` is true, else
    over the socket that `worldgauge run --model "cmd:..."` names to its child. The token of a server beyond loopback
    is read from the environment variable WORLDGAUGE_TOKEN, or made and printed.
    """
    module = sys.modules[type(model).__module__]
    digest, name = _digest(getattr(module, "__file__", None)), type(model).__qualname__
    source = "sha256:" + digest if module.__name__ == "__main__" else f"{module.__name__}@{digest}"
    _start(lambda: Served(model, f"{source}:{name}"), host, port, pipes)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line: python -m worldgauge_serve file.py:Class."""
    parser = argparse.ArgumentParser("worldgauge-serve", description="Serve a world model to worldgauge.")
    parser.add_argument("target", nargs="?", help="file.py:Class or package.module:Class, with settings as ?name=value")
    parser.add_argument("--port", type=int, help="serve over HTTP; 0 takes a free port")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; a token is needed beyond loopback")
    parser.add_argument("--pipes", action="store_true", help="serve over stdin and stdout")
    parser.add_argument("--restart", action="store_true", help="start again when the process dies or hangs (HTTP)")
    parser.add_argument("--where", action="store_true", help="print where this file lies, to copy it")
    given = parser.parse_args(arguments)
    if given.where:
        return print(Path(__file__).resolve())
    if given.target is None:
        parser.error("name a model: file.py:Class or package.module:Class")
    if given.restart:
        sys.exit(_supervise([each for each in arguments or sys.argv[1:] if each != "--restart"]))
    _start(lambda: load(given.target), given.host, given.port, given.pipes)


def _start(make: Callable[[], Served], host: str, port: int | None, pipes: bool) -> None:
    path = os.environ.get(SOCKET_VARIABLE)
    if port is not None:
        _serve_http(make(), host, port, os.environ.get(TOKEN_VARIABLE, ""))
    elif pipes:
        _serve_pipes(make)
    elif path:
        _serve_socket(make, path)
    else:
        sys.exit("nobody to serve: give a port, or start this from  worldgauge run --model 'cmd:...'")


def _supervise(arguments: Sequence[str]) -> int:
    """Run this file again and again until it ends of its own will; waits longer after each quick death."""
    pause_s = 1.0
    while True:
        began = time.monotonic()
        code = subprocess.call([sys.executable, os.path.abspath(__file__), *arguments])
        if code in (0, 2):
            return code
        pause_s = 1.0 if time.monotonic() - began > 60.0 else min(2 * pause_s, 60.0)
        print("the server ended with code %d; again in %g s" % (code, pause_s), file=sys.stderr, flush=True)
        time.sleep(pause_s)


if __name__ == "__main__":
    # As the module of this name, so that a model's own `import worldgauge_serve` finds the very same classes.
    from worldgauge_serve import main as run

    run()
