"""Converts requests to messages, and checks what comes back (docs/reference/protocol.md)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import SimpleNamespace
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from worldgauge.core.actions import Actions
from worldgauge.core.errors import DataError, ModelError, NotApplicableError, UsageError, WorldgaugeError
from worldgauge.core.model import FORM_OF, PRIVILEGED, ModelSpec, Needs, RolloutRequest, check_chunk
from worldgauge_serve import (
    MAX_BYTES,
    MAX_HEADER_BYTES,
    MAX_NOTE,
    MAX_NOTES,
    VERSION,
    VERSIONS,
    Arrays,
    ArraySpec,
    Header,
)

TABLE_VARIABLE = "WORLDGAUGE_TABLE"
"""Environment variable that names the server of tables. No data set and no run does: it may be a command."""
MAX_NAME = 200
MAX_TEXT = 10_000
MAX_TOGETHER = 128
"""Requests of one message: of its 1024 arrays each has up to six, of its header each about a kilobyte."""
_REST_BYTES = 1 << 14
_HEADER_BYTES, _LETTER_BYTES, _PROMPT_LETTERS = 1 << 12, 12, 3
"""Of the header: what a request takes besides its words, and the most that a letter of those does."""

Serves = Literal["model", "estimator", "world"]
Spec = TypeVar("Spec")


@dataclass(frozen=True)
class Hello(Generic[Spec]):
    """Identity of a server: checked, not trusted. `code`: its fingerprint without folders, empty for older servers."""

    version: int
    spec: Spec
    source: str
    given: Mapping[str, Any]
    needs: Needs = field(compare=False)
    batch: bool = field(compare=False)
    code: str = field(compare=False)


def hello_of(header: Header, who: str, serves: Serves, spec_of: Callable[[Any], Spec]) -> Hello[Spec]:
    """Check the hello of a server."""
    if header.get("type") == "error":
        raise with_trace(ModelError(f"{who}: {plain(header.get('message'))}"), header)
    if header.get("type") != "hello":
        raise ModelError(f"{who} says '{plain(header.get('type'))}' where a hello belongs: no worldgauge server")
    version = header.get("version")
    if type(version) is not int or version not in VERSIONS:
        raise ModelError(
            f"{who} speaks version {plain(version)} of the protocol, this worldgauge versions "
            f"{' and '.join(map(str, VERSIONS))}; copy worldgauge_serve.py to it again (worldgauge-serve --where)"
        )
    if header.get("serves", "model") != serves:
        hints = {"model": "give it as --model", "world": f"name it in {TABLE_VARIABLE}"}
        hint = hints.get(str(header.get("serves", "model")), "name it where a decoder is asked for")
        raise ModelError(f"{who} serves {short(header.get('serves', 'model'))}, not '{serves}'; {hint}")
    source, given, needs = header.get("source"), header.get("given", {}), header.get("needs", {})
    # Models of ours have a registered name for their source: what comes from outside must not pass for one.
    if not isinstance(source, str) or len(source) > 2 * MAX_NAME or not source.isprintable() or ":" not in source:
        raise ModelError(f"{who} names its source as {short(source)}; expected digest and class")
    if not isinstance(given, dict) or not isinstance(needs, dict):
        raise ModelError(f"{who}: 'given' and 'needs' of its hello must be objects")
    try:
        spec = spec_of(header.get("spec"))
        if version == 1 and (unsent := sorted(set(getattr(spec, "inputs", ())) - {"depth"})):
            raise ModelError(f"it wants {unsent}, which version 1 of the protocol does not carry")
        declared = Needs.of(SimpleNamespace(__name__=getattr(spec, "name", who), needs=needs))
        code = header.get("code", "")
        return Hello(version, spec, source, given, declared, bool(header.get("batch")), str(code)[:MAX_NAME])
    except WorldgaugeError as error:
        raise ModelError(f"{who}: {error}") from None


def rollout_message(
    requests: Sequence[RolloutRequest], spec: ModelSpec, *, name: str, deadline_s: float, version: int = VERSION
) -> tuple[Header, Arrays]:
    """Make the message for a batch of rollouts."""
    size = sum(_size(request, "depth" in spec.inputs) for request in requests)  # before any frame is decoded
    if size > MAX_BYTES:
        raise ModelError(
            f"model '{spec.name}': {size / 1e9:.1f} GB of context, and a message holds {MAX_BYTES / 1e9:.1f} GB; "
            "give its ModelSpec a max_context"
        )
    arrays: dict[str, Any] = {}
    asked = []
    for number, request in enumerate(requests):
        if version == 1:  # only the form of the future that drives the model
            others: dict[str, Any] = {form: None for form in FORM_OF.values() if form != FORM_OF[spec.control]}
            request = replace(request, **others)
        header, own = _request(request, "depth" in spec.inputs)
        if version == 1:
            del header["caption"], header["prompts"], header["posed"]
        asked.append(header)
        arrays.update({f"{number}/{key}": array for key, array in own.items()})
    return {"type": "rollout", "version": version, "id": name, "requests": asked, "deadline_s": deadline_s}, arrays


def parts_of(requests: Sequence[RolloutRequest], spec: ModelSpec) -> Iterator[Sequence[RolloutRequest]]:
    """Split requests into as few messages as possible, in order."""
    start, size, words = 0, 0, 0
    for at, request in enumerate(requests):
        own = _size(request, "depth" in spec.inputs) + _REST_BYTES
        letters = len(request.text or "") + len(request.caption or "")
        letters += sum(len(prompt.text) + _PROMPT_LETTERS for prompt in request.prompts or ())
        told = _LETTER_BYTES * letters + _HEADER_BYTES
        full = size + own > MAX_BYTES // 2 or words + told > MAX_HEADER_BYTES or at - start == MAX_TOGETHER
        if at > start and full:
            yield requests[start:at]
            start, size, words = at, 0, 0
        size, words = size + own, words + told
    if start < len(requests):
        yield requests[start:]


class Receipt:
    """Checks the answer to a batch of rollouts before any of it is allocated. `exact=False` accepts frames of any
    dtype, shape and number, up to a multiple of the requested bytes."""

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
        """Check an announced message."""
        kind, index, names = header["type"], header.get("index"), [one.name for one in announced]
        if kind == "error" and "id" not in header and not names:
            return  # about the connection
        if header.get("id") != self._id:
            raise ModelError(f"{self._who} answers question {short(header.get('id'))}, which was not asked")
        if kind in ("done", "error") and not names:
            gpu_peak_of(header, self._who)
            notes_of(header, self._who)
            return
        if kind != "chunk" or names != ["frames"] or type(index) is not int or not 0 <= index < len(self._done):
            raise ModelError(
                f"{self._who} answers with '{plain(kind)}' of request {short(index)} holding {short(names)}; "
                "expected a chunk of frames"
            )
        request, done, frames = self._requests[index], self._done[index], announced[0]
        self._check_rate(header.get("fps"), request.context.clip.fps)
        if not self._exact:
            self._bytes_left -= frames.nbytes + _CHUNK_BYTES
            if self._bytes_left < 0:
                raise ModelError(f"model '{self._model}' returned many times what was asked for")
            return
        if done == request.horizon:
            raise ModelError(f"model '{self._model}' returned more than the {request.horizon} frames asked for")
        width, height = request.frame_size
        check_chunk(self._model, _stand_in(frames), done, request.horizon, (height, width))
        self._done[index] += frames.shape[0]

    def _check_rate(self, given: Any, asked: float) -> None:
        """Refuse frames of another rate than was asked for. A chunk need not tell its rate."""
        is_number = isinstance(given, (int, float)) and not isinstance(given, bool)
        if given is not None and not (is_number and math.isclose(given, asked, rel_tol=1e-3)):
            raise ModelError(
                f"model '{self._model}' answers at {short(given)} frames/s where {asked:g} were asked for; declare the "
                "rate that it makes as fps of its ModelSpec"
            )

    def raise_error(self, header: Header) -> None:
        """Raise the error of an "error" message, with the request that it names."""
        error, index, count = said_by(header, self._who), header.get("index"), len(self._requests)
        if count > 1 and type(index) is int and 0 <= index < count:
            error.args = (f"{error} (request {index + 1} of a batch of {count})",)
        raise error


def gpu_peak_of(header: Header, who: str) -> int | None:
    """GPU memory that a server tells at the end of an answer."""
    given = header.get("gpu_peak_bytes")
    if given is not None and (type(given) is not int or not 0 <= given < 1 << 50):
        raise ModelError(f"{who}: gpu_peak_bytes is {short(given)}; give a whole number of bytes, or leave it out")
    return given


def notes_of(header: Header, who: str) -> tuple[str, ...]:
    """What a server tells about an answer at its end."""
    given = header.get("notes", [])
    fine = isinstance(given, list) and len(given) <= MAX_NOTES
    if not fine or not all(isinstance(one, str) and len(one) <= MAX_NOTE for one in given):
        raise ModelError(
            f"{who}: notes is {short(given)}; give at most {MAX_NOTES} texts of {MAX_NOTE} characters, or leave it out"
        )
    return tuple(" ".join(plain(one).split()) for one in given)


def said_by(header: Header, who: str, own: type[ModelError] = ModelError) -> WorldgaugeError:
    """The error of an "error" message, to be raised."""
    text = plain(header.get("message"))
    if header.get("kind") == "not_applicable":
        return NotApplicableError(text)
    if header.get("kind") == "subject":
        return with_trace(own(text), header)
    return with_trace(ModelError(f"{who} refuses: {text}"), header)


def with_trace(error: ModelError, header: Header) -> ModelError:
    """Add the traceback that the server sent to an error, for the record."""
    trace = header.get("trace")
    if isinstance(trace, str):
        error.add_note("in the model's process:\n" + plain(trace))
    return error


def spec_of(given: Any) -> ModelSpec:
    """Parse the spec in the hello of a model."""
    name, inputs = named_spec(given, "model", set(ModelSpec.__dataclass_fields__))["name"], given.get("inputs", [])
    if not isinstance(inputs, list) or not all(isinstance(one, str) for one in inputs):
        raise ModelError(f"model '{name}': inputs is {short(inputs)}; give names")
    pairs = {key: tuple(given[key]) for key in _LISTED if isinstance(given.get(key), list)}
    spec = ModelSpec(**{**given, **pairs, "inputs": frozenset(inputs)})
    if spec.privileged:
        wanted = sorted(spec.inputs & PRIVILEGED)
        raise UsageError(f"model '{name}' wants {wanted}: world and truth are for references in this process")
    return spec


def named_spec(given: Any, what: Serves, fields: set[str]) -> dict[str, Any]:
    """Check the JSON value of a spec: its name, its settings and the names of its fields."""
    if not isinstance(given, dict) or not isinstance(given.get("name"), str):
        raise ModelError("its hello holds no spec with a name")
    name, settings = given["name"], given.get("settings", {})
    if len(name) > MAX_NAME or not name.isprintable():
        raise ModelError(f"it calls itself {short(name)}; expected a name of at most {MAX_NAME} plain characters")
    unknown = set(given) - fields
    if unknown:
        raise ModelError(f"its spec has unknown fields: {short(sorted(unknown))}")
    if not isinstance(settings, dict):
        raise ModelError(f"{what} '{name}': settings is {short(settings)}; give an object")
    return given


def _request(request: RolloutRequest, wants_depth: bool) -> tuple[Header, dict[str, Any]]:
    context, space = request.context, request.context.actions.space
    axes = [{"name": axis.name, "kind": axis.kind, "motion": list(axis.motion)} for axis in space.axes]
    header: Header = {
        "task": request.task,
        "horizon": request.horizon,
        "seed": request.seed,
        "text": request.text,
        "caption": request.caption,
        "prompts": None if request.prompts is None else [prompt._asdict() for prompt in request.prompts],
        "fps": context.clip.fps,
        "camera": {**_NO_INTRINSICS, **asdict(context.camera)},
        "space": {"name": space.name, "axes": axes, "fps": space.fps},
        "posed": context.poses is not None,
    }
    arrays = {
        "context/frames": context.clip.to_array(),
        # A server of an older copy needs poses: a camera that stands still.
        "context/poses": np.tile(np.eye(4), (len(context), 1, 1)) if context.poses is None else context.poses,
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
    """Bytes of the frames and the depth of a context, which are nearly all of a message."""
    clip = request.context.clip
    return len(clip) * clip.height * clip.width * (7 if wants_depth and request.context.depth is not None else 3)


def _values(actions: Actions) -> Any:
    return np.asarray(actions.values, np.float32)


_LISTED = ("frame_size", "crop", "lengths", "context_lengths", "action_spaces")
"""Fields of a spec that are tuples here, and lists on the wire."""

_NO_INTRINSICS = dict.fromkeys(("fx", "fy", "cx", "cy"))
"""Intrinsics of a panorama, whose camera has only a size."""

_LARGER, _ANY_BYTES, _CHUNK_BYTES = 16, 1 << 20, 256
"""What an answer that is not held to its question may take: times what was asked, plus some, counting each chunk."""


def _stand_in(frames: ArraySpec) -> Any:
    """An array of the announced kind that takes no memory; of a wrong dtype the shape does not matter."""
    try:
        return np.broadcast_to(np.zeros((), frames.dtype), frames.shape if frames.dtype == "uint8" else ())
    except ValueError:  # numpy counts the other sides even where one is 0
        return np.zeros((0,) * len(frames.shape), frames.dtype)


def short(given: Any) -> str:
    """Shorten a value from outside for a message, to at most 80 characters."""
    text = repr(given)
    return text if len(text) <= 80 else text[:77] + "..."


def without_login(text: str) -> str:
    """Remove user names and passwords from the addresses in a text, to show it."""
    return re.sub(r"//(?:(?!//)\S)*@", "//", text)


def plain(given: Any) -> str:
    """Make text from outside safe for a terminal and a log."""
    return "".join(each if each.isprintable() or each in "\n\t" else "\ufffd" for each in str(given)[:MAX_TEXT])
