"""A policy server that speaks openpi's protocol for policies of LIBERO's form, and refuses what they cannot read."""

import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgpack
import numpy as np
from websockets.sync.server import ServerConnection, serve

PICTURES = ("observation/image", "observation/wrist_image")
NAMES = {*PICTURES, "observation/state", "prompt"}
SIDE = 224


class PolicyServer:
    """Sends its metadata, then an answer for each observation; `answer` may be an array, a text or bytes."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.url = answer, ""
        self.asked: list[dict[str, Any]] = []
        self.headers: list[Any] = []

    def handle(self, session: ServerConnection) -> None:
        assert session.request is not None
        self.headers.append(session.request.headers)
        session.send(msgpack.packb({}))
        for message in session:
            try:
                self.asked.append(observed(msgpack.unpackb(message, object_hook=_array, strict_map_key=False)))
            except Exception:
                session.send(traceback.format_exc())
                return
            text = isinstance(self.answer, (str, bytes))
            if text and self.answer == "silence":
                continue
            if text and self.answer == "gone":
                return
            session.send(self.answer if text else msgpack.packb({"actions": self.answer}, default=_packed))


def observed(given: dict[str, Any]) -> dict[str, Any]:
    """An observation as the policy takes it apart."""
    if set(given) != NAMES:
        raise KeyError(f"observations have {sorted(NAMES)}, not {sorted(given)}")
    for name in PICTURES:
        picture = given[name]
        if picture.shape != (SIDE, SIDE, 3) or picture.dtype != np.uint8:
            raise ValueError(f"{name} of shape {picture.shape} ({picture.dtype})")
    state = given["observation/state"]
    if state.shape != (8,) or state.dtype.kind != "f" or not np.isfinite(state).all():
        raise ValueError(f"a state of shape {state.shape} ({state.dtype})")
    if not isinstance(given["prompt"], str):
        raise TypeError(f"a prompt of type {type(given['prompt']).__name__}")
    return given


@contextmanager
def policy_server(answer: Any) -> Iterator[PolicyServer]:
    """A server on loopback, until the block ends."""
    made = PolicyServer(answer)
    with serve(made.handle, "127.0.0.1", 0, compression=None, max_size=None) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        made.url = f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        yield made
        server.shutdown()
        thread.join()


def _array(value: Any) -> Any:
    if b"__ndarray__" not in value:
        return value
    return np.ndarray(buffer=value[b"data"], dtype=np.dtype(value[b"dtype"]), shape=value[b"shape"])


def _packed(value: Any) -> Any:
    return {b"__ndarray__": True, b"data": value.tobytes(), b"dtype": value.dtype.str, b"shape": value.shape}
