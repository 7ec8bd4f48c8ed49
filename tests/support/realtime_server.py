"""A server that speaks the realtime protocols of SGLang Diffusion and vLLM-Omni, and can speak them wrongly."""

import io
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgpack
import numpy as np
from PIL import Image
from websockets.sync.server import ServerConnection, serve

KEYS = set("wasdijkl")
FIELDS = {  # of SGLang's RealtimeVideoGenerationsRequest, as far as a client may want them
    *("type", "prompt", "first_frame", "size", "fps", "num_frames", "seed", "max_chunks", "guidance_scale"),
    *("num_inference_steps", "condition_inputs", "realtime_output_format", "realtime_output_pacing"),
}


class RealtimeServer:
    """Draws the first frame, one level brighter each frame, and shifted by what the keys or poses turn.

    fault: "drop", "swap" or "repeat" a chunk, "hang" or "close" or "error" before chunk 1, "short" chunks, "size",
    "garbage", "compressed" frames, "unsupported".
    """

    def __init__(self) -> None:
        self.asked: list[dict[Any, Any]] = []
        self.headers: list[Any] = []
        self.fault, self.url = "", ""
        self.stop = threading.Event()

    def answer(self, session: ServerConnection) -> None:
        assert session.request is not None
        self.headers.append(session.request.headers)
        try:
            if session.request.path == "/v1/realtime_video/generate":
                self._sglang(session)
            elif session.request.path == "/v1/realtime/world/camera":
                self._vllm(session)
        except (AssertionError, ValueError, TypeError, KeyError, OSError) as error:
            refusal = {"message": "Internal inference error"}
            if session.request.path == "/v1/realtime_video/generate":
                refusal = {"content": f"invalid generate request {error}"}
            session.send(msgpack.packb({"type": "error", **refusal}))
        except Exception as error:  # the client has gone
            if "close" not in type(error).__name__.lower():
                raise

    def _sglang(self, session: ServerConnection) -> None:
        asked = msgpack.unpackb(session.recv())
        self.asked.append(asked)
        if unknown := set(asked) - FIELDS:
            raise ValueError(unknown)
        assert asked["type"] == "init"
        assert isinstance(asked["seed"], int)
        assert isinstance(asked["fps"], int)
        assert asked["max_chunks"] >= 1
        width, height = (int(side) for side in asked["size"].split("x"))
        image = np.asarray(Image.open(io.BytesIO(asked["first_frame"])).convert("RGB"))
        assert image.shape == (height, width, 3)
        script = asked["condition_inputs"]["camera_actions"]
        assert all(isinstance(held, list) and set(held) <= KEYS for held in script)
        turns = [("l" in held) - ("j" in held) for held in script]
        done, chunks = 0, []
        for number in range(asked["max_chunks"]):
            count = 13 if number == 0 else 16
            shifts = [sum(turns[: (done + k) // 4]) for k in range(count)]
            chunks.append(np.stack([np.roll(image, -s, axis=1) + np.uint8(done + k) for k, s in enumerate(shifts)]))
            done += count
        for number, frames in self._order(chunks):
            if not self._may_go_on(session, number):
                return
            self._send_chunk(session, number, frames, width, height)
            session.send(msgpack.packb({"type": "chunk_stats", "chunk_index": number, "num_frames": len(frames)}))

    def _send_chunk(self, session: ServerConnection, number: int, frames: Any, width: int, height: int) -> None:
        frames = frames[:-1] if self.fault == "short" else frames
        parts = [frames[:10], frames[10:]]
        for at, part in enumerate(parts):
            payload = part.tobytes()
            header = {
                **{"type": "frame_batch_header", "request_id": "r", "chunk_index": number, "total_size": len(payload)},
                **{"content_type": "application/x-raw-rgb", "num_frames": len(part), "frame_batch_index": at},
                **{"num_frame_batches": 2, "is_final_frame_batch": at == 1, "format": "rgb24", "channels": 3},
                **{"width": width, "height": height, "bytes_per_frame": width * height * 3, "encoding": "raw"},
            }
            if self.fault == "size":
                header["width"] = width + 8
            if self.fault == "compressed":
                header["content_type"] = "image/webp"
            if at == 0:  # small payloads are part of the header's message, as in SGLang
                session.send(msgpack.packb({**header, "type": "frame_batch", "payload": payload}))
            else:
                session.send(msgpack.packb(header))
                session.send(b"1" if self.fault == "garbage" else payload)

    def _vllm(self, session: ServerConnection) -> None:
        if self.fault == "unsupported":
            session.send(json.dumps({"type": "error", "error": "Camera realtime API is not available"}))
            return
        session.send(msgpack.packb({"model_name": "lingbot"}))
        asked = msgpack.unpackb(session.recv(), object_hook=_array, strict_map_key=False)
        self.asked.append(asked)
        extra, image = asked["extra_body"], asked["image"]
        count, per = extra["num_frames"], extra["frames_per_chunk"]
        assert asked["camera"]["poses"].shape == (count, 4, 4)
        assert asked["camera"]["intrinsics"].shape == (count, 4)
        assert asked["camera"]["poses"].dtype == asked["camera"]["intrinsics"].dtype == np.float32
        assert count % 4 == 1
        assert image.shape == (extra["height"], extra["width"], 3)
        frames = np.stack([image + np.uint8(k) for k in range(count)])
        chunks = [frames[at : at + per] for at in range(0, count, per)]
        for number, part in self._order(chunks):
            if not self._may_go_on(session, number):
                return
            video = part / np.float32(255) if number % 2 else list(part)  # it sends both
            video = part[:, :-1] if self.fault == "size" else part.astype("<i8") if self.fault == "garbage" else video
            message = {"type": "frame", "index": number, "total": len(chunks), "video": video}
            session.send(msgpack.packb(message, default=_packed))

    def _order(self, chunks: list[Any]) -> list[tuple[int, Any]]:
        order = list(enumerate(chunks))
        if self.fault == "drop":
            del order[1]
        if self.fault == "swap":
            order[0], order[1] = order[1], order[0]
        if self.fault == "repeat":
            order.insert(1, order[0])
        return order

    def _may_go_on(self, session: ServerConnection, number: int) -> bool:
        if number and self.fault == "hang":
            self.stop.wait(20)
        if number and self.fault == "chatter":
            while not self.stop.wait(0.05):
                session.send(msgpack.packb({"type": "trace_event", "trace": {}}))
        if number and self.fault == "slow":
            time.sleep(0.2)
        if number and self.fault == "error":
            session.send(msgpack.packb({"type": "error", "content": "out of memory", "message": "out of memory"}))
        return not (number and self.fault in ("close", "hang", "chatter", "error"))


def _array(value: Any) -> Any:
    if b"__ndarray__" not in value:
        return value
    return np.ndarray(buffer=value[b"data"], dtype=np.dtype(value[b"dtype"]), shape=value[b"shape"])


def _packed(value: Any) -> Any:
    return {b"__ndarray__": True, b"data": value.tobytes(), b"dtype": value.dtype.str, b"shape": value.shape}


@contextmanager
def realtime_server() -> Iterator[RealtimeServer]:
    """A server on loopback, until the block ends."""
    made = RealtimeServer()
    with serve(made.answer, "127.0.0.1", 0, compression=None, max_size=None) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        made.url = f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        yield made
        made.stop.set()
        server.shutdown()
        thread.join()
