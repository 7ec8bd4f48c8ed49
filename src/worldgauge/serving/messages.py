"""Between our requests and messages: what is asked, and what may come back (docs/protocol.md)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from worldgauge.actions import Actions, ActionSpace
from worldgauge.errors import DataError, NotApplicableError, SubjectError, UsageError, WorldgaugeError
from worldgauge.serving.channel import ENDS
from worldgauge.subject import ModelSpec, Needs, RolloutRequest, check_chunk
from worldgauge_serve import MAX_BYTES, VERSION, Arrays, ArraySpec, Header

MAX_NAME = 200
MAX_TEXT = 10_000


@dataclass(frozen=True)
class Hello:
    """What a server says it is. source, given: see `worldgauge_serve.Served`; both checked, none trusted."""

    spec: ModelSpec
    source: str
    given: Mapping[str, Any]
    needs: Needs = field(compare=False)
    batch: bool = field(compare=False)


def hello_of(header: Header, who: str) -> Hello:
    """The hello in `header`. Raises SubjectError, naming the server as `who`, for one that cannot be meant."""
    if header.get("type") == "error":
        raise with_trace(SubjectError(f"{who}: {plain(header.get('message'))}"), header)
    if header.get("type") != "hello":
        raise SubjectError(f"{who} says '{plain(header.get('type'))}' where a hello belongs: no worldgauge server")
    if header.get("version") != VERSION:
        raise SubjectError(
            f"{who} speaks version {plain(header.get('version'))} of the protocol, this worldgauge version {VERSION}; "
            "copy worldgauge_serve.py to it again (worldgauge-serve --where)"
        )
    source, given, needs = header.get("source"), header.get("given", {}), header.get("needs", {})
    # Models of ours have a registered name for their source: what comes from outside must not pass for one.
    if not isinstance(source, str) or len(source) > 2 * MAX_NAME or not source.isprintable() or ":" not in source:
        raise SubjectError(f"{who} names its source as {_short(source)}; expected digest and class")
    if not isinstance(given, dict) or not isinstance(needs, dict):
        raise SubjectError(f"{who}: 'given' and 'needs' of its hello must be objects")
    try:
        spec = _spec_of(header.get("spec"))
        declared = Needs.of(SimpleNamespace(__name__=spec.name, needs=needs))
        return Hello(spec, source, given, declared, bool(header.get("batch")))
    except WorldgaugeError as error:
        raise SubjectError(f"{who}: {error}") from None


def rollout_message(
    requests: Sequence[RolloutRequest], spec: ModelSpec, *, name: str, deadline_s: float
) -> tuple[Header, Arrays]:
    """The message that asks `requests`, as question `name`.

    Raises DataError for poses and actions that are not finite, SubjectError for more than a message may hold.
    """
    size = sum(_size(request, "depth" in spec.inputs) for request in requests)  # before any frame is decoded
    if size > MAX_BYTES:
        raise SubjectError(
            f"model '{spec.name}': {size / 1e9:.1f} GB of context, and a message holds {MAX_BYTES / 1e9:.1f} GB; "
            "give its ModelSpec a max_context"
        )
    arrays: dict[str, Any] = {}
    asked = []
    for number, request in enumerate(requests):
        header, own = _request(request, "depth" in spec.inputs)
        asked.append(header)
        arrays.update({f"{number}/{key}": array for key, array in own.items()})
    return {"type": "rollout", "version": VERSION, "id": name, "requests": asked, "deadline_s": deadline_s}, arrays


class Receipt:
    """Holds the answer to question `id` to what was asked, before anything of it is allocated.

    exact: False lets frames of any kind, shape and number through, for whoever judges them, as long as all of them
    are not many times what was asked for.
    """

    def __init__(
        self, who: str, model: str, id: str, requests: Sequence[RolloutRequest], *, exact: bool = True
    ) -> None:
        self._exact = exact
        asked = sum(3 * request.horizon * math.prod(request.frame_size) for request in requests)
        self._bytes_left = _LARGER * asked + _ANY_BYTES
        self._done = [0] * len(requests)
        self._who = who
        self._model = model
        self._id = id
        self._requests = requests

    def check(self, header: Header, announced: list[ArraySpec]) -> None:
        """Raises SubjectError; for a chunk the same that a model in this process gets."""
        kind, index, names = header["type"], header.get("index"), [one.name for one in announced]
        if kind == "error" and "id" not in header and not names:
            return  # about the connection
        if header.get("id") != self._id:
            raise SubjectError(f"{self._who} answers question {_short(header.get('id'))}, which was not asked")
        if kind in ENDS and not names:
            return
        if kind != "chunk" or names != ["frames"] or type(index) is not int or not 0 <= index < len(self._done):
            raise SubjectError(
                f"{self._who} answers with '{plain(kind)}' of request {_short(index)} holding {_short(names)}; "
                "expected a chunk of frames"
            )
        request, done, frames = self._requests[index], self._done[index], announced[0]
        if not self._exact:
            self._bytes_left -= frames.nbytes + _CHUNK_BYTES
            if self._bytes_left < 0:
                raise SubjectError(f"model '{self._model}' returned many times what was asked for")
            return
        if done == request.horizon:
            raise SubjectError(f"model '{self._model}' returned more than the {request.horizon} frames asked for")
        width, height = request.frame_size
        check_chunk(self._model, _stand_in(frames), done, request.horizon, (height, width))
        self._done[index] += frames.shape[0]

    def raise_error(self, header: Header) -> None:
        """Raise what an "error" message says."""
        text = plain(header.get("message"))
        if header.get("kind") == "not_applicable":
            raise NotApplicableError(text)
        if header.get("kind") == "subject":
            raise with_trace(SubjectError(text), header)
        raise with_trace(SubjectError(f"{self._who} refuses: {text}"), header)


def with_trace(error: SubjectError, header: Header) -> SubjectError:
    """`error` with the traceback that the server sent, for whoever looks into the record."""
    trace = header.get("trace")
    if isinstance(trace, str):
        error.add_note("in the model's process:\n" + plain(trace))
    return error


def _spec_of(given: Any) -> ModelSpec:
    if not isinstance(given, dict) or not isinstance(given.get("name"), str):
        raise SubjectError("its hello holds no spec with a name")
    name, inputs, settings = given["name"], given.get("inputs", []), given.get("settings", {})
    if len(name) > MAX_NAME or not name.isprintable():
        raise SubjectError(f"it calls itself {_short(name)}; expected a name of at most {MAX_NAME} plain characters")
    unknown = set(given) - set(ModelSpec.__dataclass_fields__)
    if unknown:
        raise SubjectError(f"its spec has unknown fields: {_short(sorted(unknown))}")
    if not isinstance(inputs, list) or not all(isinstance(one, str) for one in inputs):
        raise SubjectError(f"model '{name}': inputs is {_short(inputs)}; give names")
    if not isinstance(settings, dict):
        raise SubjectError(f"model '{name}': settings is {_short(settings)}; give an object")
    pairs = {key: tuple(given[key]) for key in ("frame_size", "crop") if isinstance(given.get(key), list)}
    spec = ModelSpec(**{**given, **pairs, "inputs": frozenset(inputs)})
    if spec.privileged:
        raise UsageError(f"model '{name}' wants {sorted(spec.inputs)}; of these only 'depth' is sent to served models")
    return spec


def _request(request: RolloutRequest, wants_depth: bool) -> tuple[Header, dict[str, Any]]:
    context = request.context
    header: Header = {
        "task": request.task,
        "horizon": request.horizon,
        "seed": request.seed,
        "text": request.text,
        "fps": context.clip.fps,
        "camera": asdict(context.camera),
        "space": _space(context.actions.space),
    }
    arrays = {
        "context/frames": context.clip.to_array(),
        "context/poses": np.asarray(context.poses, np.float64),
        "context/actions": _values(context.actions),
    }
    if wants_depth and context.depth is not None:
        arrays["context/depth"] = np.stack([np.asarray(context.depth(i), np.float32) for i in range(len(context))])
    if request.actions is not None:
        arrays["actions"] = _values(request.actions)
    if request.poses is not None:
        arrays["poses"] = np.asarray(request.poses, np.float64)
    for name in ("context/poses", "context/actions", "actions", "poses"):
        if name in arrays and not np.isfinite(arrays[name]).all():
            raise DataError(f"task '{request.task}': {name} hold values that are not finite")
    return header, arrays


def _size(request: RolloutRequest, wants_depth: bool) -> int:
    """Bytes of the frames and the depth of a context, nearly all there is in a message."""
    clip = request.context.clip
    return len(clip) * clip.height * clip.width * (7 if wants_depth and request.context.depth is not None else 3)


def _space(space: ActionSpace) -> dict[str, Any]:
    axes = [{"name": axis.name, "kind": axis.kind, "motion": list(axis.motion)} for axis in space.axes]
    return {"name": space.name, "axes": axes, "fps": space.fps}


def _values(actions: Actions) -> Any:
    return np.asarray(actions.values, np.float32)


_LARGER, _ANY_BYTES, _CHUNK_BYTES = 16, 1 << 20, 256
"""What an answer that is not held to its question may take: times what was asked, plus some, counting each chunk."""


def _stand_in(frames: ArraySpec) -> Any:
    """An array of the announced kind that takes no memory; of a wrong dtype the shape does not matter."""
    try:
        return np.broadcast_to(np.zeros((), frames.dtype), frames.shape if frames.dtype == "uint8" else ())
    except ValueError:  # numpy counts the other sides even where one is 0
        return np.zeros((0,) * len(frames.shape), frames.dtype)


def _short(given: Any) -> str:
    text = repr(given)
    return text if len(text) <= 80 else text[:77] + "..."


def without_login(text: str) -> str:
    """`text` without names and passwords in the addresses it holds, to be shown."""
    return re.sub(r"//(?:(?!//)\S)*@", "//", text)


def plain(given: Any) -> str:
    """Text from outside, safe for a terminal and a log."""
    return "".join(each if each.isprintable() or each in "\n\t" else "\ufffd" for each in str(given)[:MAX_TEXT])
