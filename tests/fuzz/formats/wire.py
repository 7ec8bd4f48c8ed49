"""The wire protocol in both directions, and what models answer within one process."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.format import Format
from support.served import question
from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest, checked_rollout
from worldgauge.serving.channel import ENDS, ChannelRequest, GoneError, Message
from worldgauge.serving.messages import rollout_message
from worldgauge.serving.remote_model import RemoteModel
from worldgauge_serve import Header, WireError, encode, read_message, requests_of

MODEL = ModelSpec("fuzzed", control="actions")
REQUEST = question()
ID = "0123456789abcdef"
"""Where the id of a request belongs, which the client draws anew each time; of the same length."""
HELLO = {
    "type": "hello",
    "version": 2,
    "serves": "model",
    "spec": {"name": "fuzzed", "control": "actions", "settings": {"a": 1}},
    "source": "sha256:00:Fuzzed",
    "given": {"steps": 3},
    "needs": {"gpus": 0.5},
    "batch": True,
}


class _Stream:
    """A channel to a server that says what a file holds."""

    def __init__(self, data: bytes) -> None:
        self._data, self._stream = data, io.BytesIO(data)

    def connect(self) -> Header:
        self._stream = io.BytesIO(self._data)
        return self._next()[0]

    def ask(self, question: ChannelRequest) -> Generator[Message]:
        rest = self._stream.read().replace(ID.encode(), question.id.encode())
        self._stream = io.BytesIO(rest)
        while True:
            header, arrays = self._next(question)
            yield header, arrays
            if header["type"] in ENDS:
                return

    def close(self) -> None:
        pass

    def _next(self, question: ChannelRequest | None = None) -> Message:
        try:
            return read_message(self._stream.readinto, check=None if question is None else question.check)
        except EOFError:
            raise GoneError("is gone") from None


def _make_answers(folder: Path) -> None:
    frames = np.zeros((3, 12, 16, 3), np.uint8)
    said: list[tuple[Header, dict[str, Any]]] = [
        (HELLO, {}),
        ({"type": "chunk", "id": ID, "index": 0}, {"frames": frames}),
        ({"type": "chunk", "id": ID, "index": 0}, {"frames": frames}),
        ({"type": "done", "id": ID, "seconds": 0.5, "gpu_peak_bytes": 7, "notes": ["a note"]}, {}),
    ]
    (folder / "server.wire").write_bytes(b"".join(b"".join(encode(*one)) for one in said))


def _read_answers(folder: Path) -> None:
    model = RemoteModel(_Stream((folder / "server.wire").read_bytes()), "server")
    for chunk in checked_rollout(model, REQUEST):
        assert chunk.dtype == np.uint8


def _make_questions(folder: Path) -> None:
    header, arrays = rollout_message([REQUEST, REQUEST], MODEL, name="a", deadline_s=9.0)
    (folder / "client.wire").write_bytes(b"".join(encode(header, arrays)))


def _read_questions(folder: Path) -> None:
    stream = io.BytesIO((folder / "client.wire").read_bytes())
    with suppress(EOFError):
        while True:
            header, arrays = read_message(stream.readinto, limit=1 << 26)
            for request in requests_of(header, arrays, "actions"):
                assert request.horizon > 0


class _Odd:
    """A model in this process that returns the arrays that a file describes."""

    spec = ModelSpec("odd")

    def __init__(self, described: list[Any]) -> None:
        self._described = described

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        for one in self._described:
            if not isinstance(one, dict):
                yield one
                continue
            shape = one.get("shape")
            if math.prod(shape) > 1 << 16:  # what a model allocates is its own affair
                raise MemoryError
            yield np.full(shape, one.get("fill"), one.get("dtype"))


def _make_chunks(folder: Path) -> None:
    chunk = {"dtype": "uint8", "shape": [3, 12, 16, 3], "fill": 7}
    (folder / "chunks.json").write_text(json.dumps([chunk, chunk]))


def _read_chunks(folder: Path) -> None:
    try:
        described = json.loads((folder / "chunks.json").read_bytes())
    except (ValueError, RecursionError):
        return
    for chunk in checked_rollout(_Odd(described if isinstance(described, list) else [described]), REQUEST):
        assert chunk.shape[1:] == (12, 16, 3)


FORMATS = (
    Format("wire-answers", _make_answers, _read_answers, refusals=(WorldgaugeError, WireError)),
    Format("wire-questions", _make_questions, _read_questions, refusals=(WireError,)),
    Format("model-answers", _make_chunks, _read_chunks),
)
