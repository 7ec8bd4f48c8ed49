"""A world model that is served elsewhere: a session of SGLang Diffusion or vLLM-Omni over a websocket.

    worldgauge run mind --data D --model "./realtime.py:Realtime?url=ws://127.0.0.1:30000"
    worldgauge run loopnav --data D --model "./realtime.py:Realtime?url=ws://127.0.0.1:8091&protocol=vllm-omni"

It needs no GPU here: numpy, `worldgauge_serve`, and the packages websockets and msgpack (`worldgauge[realtime]`).
"""

from __future__ import annotations

import importlib
import inspect
import io
import json
import os
import struct
import time
import zlib
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from worldgauge_serve import ModelSpec, NotApplicable, Request, camera_control, is_local_host, motions, proxy_note

PATHS = {"sglang": "/v1/realtime_video/generate", "vllm-omni": "/v1/realtime/world/camera"}
LATENT = 4
"""Frames that a model compresses into one in time."""
SCRIPT = 512
"""Longest script of camera actions that SGLang keeps."""
OTHER_BYTES = 1 << 20
"""Room for what is no frame in a message."""
BATCH = 16
"""Frames that one message may hold."""
DTYPES = ("|u1", "<f4", "<f8", "<f2")


class SessionError(Exception):
    """A session that cannot be believed; the message says what came and when."""


class Realtime:
    """One session for each question.

    Args:
        protocol: "sglang": keys per latent frame, the whole script at the start. "vllm-omni": camera poses.
        fps: Frames per second that it was made for.
        chunk: Latent frames per chunk (num_frames_per_block of the model); SGLang only.
        item: Frames per entry of the script: 4 for LingBot.
        yaw_deg: Degrees that a held key turns in an entry; `pitch_deg`: up and down.
        scale: Units of the model per metre, for camera poses.
        first_s: Longest wait for the first frames, since a server may compile; `chunk_s`: for the next ones.
        key_env: Environment variable that holds a key, sent as a bearer token.
        insecure: Allow ws:// to a host that is not this machine.
        call: Further fields of the request, such as {"num_inference_steps": 4}.
    """

    def __init__(
        self,
        url: str,
        protocol: str = "sglang",
        name: str = "",
        size: str = "832x480",
        fps: float = 16.0,
        chunk: int = 4,
        item: int = LATENT,
        yaw_deg: float = 6.0,
        pitch_deg: float = 4.0,
        scale: float = 1.0,
        prompt: str = "",
        first_s: float = 1800.0,
        chunk_s: float = 300.0,
        key_env: str = "",
        insecure: bool = False,
        call: Mapping[str, Any] | None = None,
    ) -> None:
        if protocol not in PATHS:
            raise ValueError(f"realtime: protocol is {protocol!r}; give one of {', '.join(PATHS)}")
        self._connect, self._msgpack = _need("websockets.sync.client").connect, _need("msgpack")
        self._closed = _need("websockets.exceptions").WebSocketException
        self._url, self._local = _checked_url(url, PATHS[protocol], insecure)
        if key_env and not os.environ.get(key_env):
            raise ValueError(f"realtime: the environment variable {key_env} holds no key")
        self._headers = {"Authorization": f"Bearer {os.environ[key_env]}"} if key_env else {}
        self._size = _size(size)
        if min(fps, chunk, item, yaw_deg, pitch_deg, scale, first_s, chunk_s) <= 0:
            raise ValueError("realtime: fps, chunk, item, degrees, scale and times are above 0")
        self._protocol, self._fps, self._chunk, self._item = protocol, fps, chunk, item
        self._turns, self._scale, self._prompt = (yaw_deg, pitch_deg), scale, prompt
        self._first_s, self._chunk_s, self._call = first_s, chunk_s, dict(call or {})
        keys = protocol == "sglang"
        turns = {"chunk": chunk, "item": item, "yaw_deg": yaw_deg, "pitch_deg": pitch_deg}
        self.spec = ModelSpec(
            name or protocol,
            control="actions" if keys else "camera",
            frame_size=self._size,
            fps=fps,
            max_context=1,
            chunk=chunk * LATENT if keys else None,
            inputs=("caption",),
            settings={
                **{"url": url, "protocol": protocol, "prompt": prompt},
                **(turns if keys else {"scale": scale}),
                "call": json.loads(json.dumps(self._call)),
            },
        )

    def rollout(self, request: Request) -> Iterator[NDArray[np.uint8]]:
        """Yield `horizon` frames; SessionError if chunks are missing, repeated, out of order or too late."""
        talk = self._sglang if self._protocol == "sglang" else self._vllm
        left = request.horizon
        # A reader of large messages: no compression, and no pings while the server computes.
        options: dict[str, Any] = {
            "compression": None,
            "ping_interval": None,
            "close_timeout": 2,
            "max_size": self._largest(),
        }
        if self._local and "proxy" in inspect.signature(self._connect).parameters:
            options["proxy"] = None
        try:
            with self._connect(self._url, additional_headers=self._headers, **options) as session:
                for frames in talk(session, request):
                    if left:
                        yield frames[:left]
                    left -= min(left, len(frames))
                    if not left:
                        return
        except (OSError, EOFError, self._closed) as error:
            done = request.horizon - left
            raise SessionError(
                f"the session with {self._url} ended after {done} of {request.horizon} frames: {_plain(error)}"
                f"{proxy_note(self._url)}"
            ) from error
        raise SessionError(f"the session ended after {request.horizon - left} of {request.horizon} frames")

    def _sglang(self, session: Any, request: Request) -> Iterator[NDArray[np.uint8]]:
        width, height = self._size
        first = 1 + (self._chunk - 1) * LATENT
        chunks = 1 + max(0, -(-(request.horizon + 1 - first) // (self._chunk * LATENT)))
        script = script_of(request.actions, self._item, *self._turns)
        if len(script) > SCRIPT * LATENT // self._item:
            raise NotApplicable(f"SGLang keeps {SCRIPT} camera actions, and this question has {len(script)}")
        self._send(
            session,
            {
                **{"type": "init", "prompt": self._words(request), "first_frame": png(request.context.clip[-1])},
                **{"size": f"{width}x{height}", "fps": round(self._fps), "seed": request.seed % (1 << 31)},
                **{"max_chunks": chunks, "realtime_output_format": "raw", "realtime_output_pacing": False},
                "condition_inputs": {"camera_actions": script},
                **self._call,
            },
        )
        for number in range(chunks):
            count = first if number == 0 else self._chunk * LATENT
            frames = self._chunk_of(session, number, count)
            yield frames[1:] if number == 0 else frames  # the first frame of all is the picture that was sent

    def _chunk_of(self, session: Any, number: int, count: int) -> NDArray[np.uint8]:
        """All frames of a chunk, which come in batches."""
        until = time.monotonic() + (self._first_s if number == 0 else self._chunk_s)
        batches: list[NDArray[np.uint8]] = []
        while True:
            header = self._message(session, until)
            kind = header.get("type")
            if kind == "error":
                raise SessionError(f"the server said: {_plain(header.get('content'))}")
            if kind not in ("frame_batch", "frame_batch_header"):
                continue  # its statistics
            payload = header.get("payload") if kind == "frame_batch" else self._received(session, until)
            index, batch, of = (header.get(key) for key in ("chunk_index", "frame_batch_index", "num_frame_batches"))
            if index != number or batch != len(batches) or not isinstance(of, int):
                raise SessionError(
                    f"batch {batch} of chunk {index} came where batch {len(batches)} of chunk {number} was due"
                )
            batches.append(self._decoded(header, payload))
            if len(batches) == of:
                break
        frames = np.concatenate(batches)
        if len(frames) != count:
            raise SessionError(
                f"chunk {number} has {len(frames)} frames, and {count} were due; give chunk=, the latent frames of a "
                "chunk of this model"
            )
        return frames

    def _decoded(self, header: Mapping[str, Any], payload: Any) -> NDArray[np.uint8]:
        width, height = self._size
        if header.get("content_type") != "application/x-raw-rgb":
            raise SessionError(f"frames came as {_plain(header.get('content_type'))}, and raw ones were asked for")
        if (header.get("width"), header.get("height"), header.get("channels")) != (width, height, 3):
            drawn = f"{_plain(header.get('width'))}x{_plain(header.get('height'))}"
            raise SessionError(f"it draws {drawn} where {width}x{height} was asked for; give size=")
        count, size = header.get("num_frames"), width * height * 3
        if not isinstance(payload, bytes) or not isinstance(count, int) or count < 1 or len(payload) != count * size:
            got = len(payload) if isinstance(payload, bytes) else type(payload).__name__
            raise SessionError(f"a batch of {_plain(count)} frames came with {got} bytes, not {size} each")
        return np.frombuffer(payload, np.uint8).reshape(count, height, width, 3)

    def _vllm(self, session: Any, request: Request) -> Iterator[NDArray[np.uint8]]:
        until = time.monotonic() + self._first_s
        hello = self._message(session, until)
        if hello.get("type") == "error":
            raise SessionError(f"the server said: {_plain(hello.get('error') or hello.get('message'))}")
        width, height = self._size
        wanted = (hello.get("image_width", width), hello.get("image_height", height))
        if wanted != (width, height):
            raise SessionError(f"it draws {_plain(wanted[0])}x{_plain(wanted[1])}; give that as size=")
        count = 1 + -(-request.horizon // LATENT) * LATENT
        name = f"worldgauge-{request.task or 'question'}-{request.seed}"
        extra = {
            **{"height": height, "width": width, "num_frames": count, "fps": round(self._fps), "session_id": name},
            **{"frames_per_chunk": BATCH, "seed": request.seed % (1 << 31), **self._call},
        }
        # LingBot's intrinsics refer to 832x480. Beyond the future the camera stands still.
        path = camera_control(request, scale=self._scale, size=(832, 480))
        kept = np.minimum(np.arange(count), len(path.poses) - 1)
        asked = {
            **{"prompt": self._words(request), "image": np.ascontiguousarray(request.context.clip[-1])},
            "camera": {
                "poses": path.poses[kept].astype(np.float32),
                "intrinsics": path.intrinsics[kept].astype(np.float32),
            },
            **{"extra_body": extra, "session_id": name},
        }
        self._send(session, asked)
        done, total = 0, -(-count // BATCH)
        for number in range(total):
            message = self._message(session, until)
            until = time.monotonic() + self._chunk_s
            if message.get("type") != "frame":
                raise SessionError(f"the server said: {_plain(message.get('message') or message)}")
            if (message.get("index"), message.get("total")) != (number, total):
                came = f"{_plain(message.get('index'))} of {_plain(message.get('total'))}"
                raise SessionError(f"chunk {came} came where {number} of {total} was due")
            frames = self._pixels(message.get("video"), min(BATCH, count - done))
            done += len(frames)
            yield frames[1:] if number == 0 else frames

    def _pixels(self, video: Any, count: int) -> NDArray[np.uint8]:
        width, height = self._size
        frames = np.stack(video) if isinstance(video, list) and video else np.asarray(video)
        if frames.shape != (count, height, width, 3):
            raise SessionError(f"frames of shape {frames.shape} came where {(count, height, width, 3)} were due")
        if frames.dtype == np.uint8:
            return frames
        if not np.isfinite(frames).all():
            raise SessionError("frames came with values that are not finite")
        return np.asarray((frames.clip(0, 1) * 255).round().astype(np.uint8))

    def _words(self, request: Request) -> str:
        return " ".join(each.strip() for each in (self._prompt, request.caption) if each)

    def _largest(self) -> int:
        """Bytes of the largest message that can be right; vLLM-Omni may send 8-byte numbers."""
        return self._size[0] * self._size[1] * 3 * BATCH * (1 if self._protocol == "sglang" else 8) + OTHER_BYTES

    def _send(self, session: Any, content: Mapping[str, Any]) -> None:
        session.send(self._msgpack.packb(content, default=pack_array))

    def _received(self, session: Any, until: float) -> Any:
        left = until - time.monotonic()
        try:
            if left <= 0:
                raise TimeoutError
            return session.recv(timeout=left)
        except TimeoutError:
            raise SessionError(
                "the server was silent for too long; first_s and chunk_s say how long it may be"
            ) from None

    def _message(self, session: Any, until: float) -> dict[str, Any]:
        came = self._received(session, until)
        try:
            found = json.loads(came) if isinstance(came, str) else self._unpacked(came)
        except (ValueError, TypeError, RecursionError, self._msgpack.UnpackException) as error:
            raise SessionError(f"a message that cannot be read came: {_plain(error)}") from error
        if not isinstance(found, dict):
            raise SessionError(f"a message that is no map came: {_plain(found)}")
        return found

    def _unpacked(self, came: bytes) -> Any:
        return self._msgpack.unpackb(came, object_hook=unpack_array, strict_map_key=False)


def script_of(actions: Any, item: int, yaw_deg: float, pitch_deg: float) -> list[list[str]]:
    """Keys held in each entry of `item` frames: w, s, a, d to walk, j, l, i, k to look left, right, up, down. Key turns
    have fixed steps; the rest carries over, so the heading is right to half a step unless turns are too fast."""
    moves = motions(actions)
    script: list[list[str]] = []
    owed = np.zeros(2)
    for start in range(0, len(moves), item):
        total = moves[start : start + item].sum(axis=0)
        held = [pair[int(by > 0)] for pair, by in (("sw", total[0]), ("da", total[1])) if abs(by) > 0.01]
        owed = owed + np.degrees(total[3:])
        for at, (pair, step) in enumerate((("lj", yaw_deg), ("ki", pitch_deg))):
            if abs(owed[at]) > step / 2 * (1 + 1e-6):
                held.append(pair[int(owed[at] > 0)])
                owed[at] -= np.copysign(step, owed[at])
            owed[at] = float(np.clip(owed[at], -step / 2, step / 2))
        script.append(held)
    return script


def png(picture: NDArray[np.uint8]) -> bytes:
    """A PNG file of a picture (H, W, 3)."""
    height, width = picture.shape[:2]
    rows = np.concatenate([np.zeros((height, 1), np.uint8), picture.reshape(height, width * 3)], axis=1)
    out = io.BytesIO(b"\x89PNG\r\n\x1a\n")
    out.seek(0, io.SEEK_END)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    for kind, data in ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b"")):
        out.write(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)))
    return out.getvalue()


def pack_array(value: Any) -> Any:
    """An array as a map of openpi's msgpack: what it holds, its type and its shape."""
    if not isinstance(value, np.ndarray):
        raise TypeError(f"cannot send a {type(value).__name__}")
    return {b"__ndarray__": True, b"data": value.tobytes(), b"dtype": value.dtype.str, b"shape": value.shape}


def unpack_array(value: dict[Any, Any]) -> Any:
    """The reverse of `pack_array`; other maps stay. ValueError for unknown types or bytes that do not fit."""
    if b"__ndarray__" not in value:
        return value
    dtype = value.get(b"dtype")
    dtype = dtype.decode() if isinstance(dtype, bytes) else dtype
    if dtype not in DTYPES:
        raise ValueError(f"an array of type {dtype!r}")
    return np.frombuffer(value[b"data"], np.dtype(dtype)).reshape([int(side) for side in value[b"shape"]])


def _checked_url(url: str, path: str, insecure: bool) -> tuple[str, bool]:
    """Address of the session, and whether it is this machine."""
    parts = urlsplit(url)
    if parts.scheme not in ("ws", "wss") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise ValueError("realtime: url is ws://HOST:PORT or wss://HOST:PORT, without a password or what follows '?'")
    local = is_local_host(parts.hostname)
    if parts.scheme == "ws" and not local and not insecure:
        raise ValueError("realtime: ws:// to another machine can be read on the way; give wss://, or insecure=true")
    return url.rstrip("/") + ("" if parts.path.rstrip("/").endswith(path) else path), local


def _size(given: str) -> tuple[int, int]:
    width, _, height = given.partition("x")
    if not (width.isdigit() and height.isdigit() and int(width) and int(height)):
        raise ValueError(f"realtime: size is {given!r}; give WIDTHxHEIGHT, such as 832x480")
    return int(width), int(height)


def _plain(text: Any) -> str:
    """What a server said, as one short line."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(text)[:600]).split())[:200]


def _need(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"realtime needs websockets and msgpack ({error}): pip install 'worldgauge[realtime]'"
        ) from error
