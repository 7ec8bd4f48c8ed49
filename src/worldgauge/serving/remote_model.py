"""Models and estimators in another process: used over a channel, and checked like those of this process."""

from __future__ import annotations

import secrets
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, NamedTuple

import numpy as np

from worldgauge.core.errors import LostError, ModelError, UsageError
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.serving.channel import Channel, ChannelRequest, GoneError, Message, SilentError
from worldgauge.serving.messages import (
    Hello,
    Receipt,
    Serves,
    Spec,
    gpu_peak_of,
    hello_of,
    named_spec,
    notes_of,
    parts_of,
    plain,
    rollout_message,
    said_by,
    short,
    spec_of,
)
from worldgauge_serve import ANSWERS, MAX_BYTES, Arrays, ArraySpec, Header, WireError, WorldSpec, encode

DEADLINE_S = 1800.0
"""Seconds without a frame, or an answer, after which a model counts as hung."""
RETRIES = 2
"""How often a request is repeated whose server was lost before its first message."""
_SAY_EVERY_S = 0.5


class RemoteServer(Generic[Spec]):
    """A server of a model or an estimator behind a channel. `given` (its settings) and `needs` (its share of the
    machine) are as the server states them."""

    serves: ClassVar[Serves]
    awaited: ClassVar[str]
    """What it waits for, in error messages."""

    def __init__(
        self, channel: Channel, who: str, deadline_s: float = DEADLINE_S, *, code: Callable[[], str] = str
    ) -> None:
        self.deadline_s = deadline_s
        self.on_wait: Callable[[], None] | None = None
        self._channel = channel
        self._who = who
        self._connected = False
        try:
            self._hello = self._greet()
        except GoneError as gone:
            raise ModelError(f"{who} {gone}") from None
        except BaseException:
            channel.close()
            raise
        self.spec = self._hello.spec
        self.source = self._hello.source
        if not self._hello.code and (found := code()):
            self.source = f"{self.source}@{found[:16]}"
        self.code = self._hello.code or self.source
        self.given = self._hello.given
        self.needs = self._hello.needs
        self.batch = self._hello.batch

    def close(self) -> None:
        """Close the connection; a child process is ended. The next request opens it again."""
        self._connected = False
        self._channel.close()

    def _spec_of(self, given: Any) -> Spec:
        raise NotImplementedError

    def _messages(self, header: Header, arrays: Arrays, judge: Callable[[], Receipt | _Receipt]) -> Generator[Message]:
        """The messages of an answer; a server that is lost before the first message gets the request again. Later only
        the whole task can be repeated, because frames that were passed on cannot be taken back."""
        given = 0
        for attempt in range(1 + RETRIES):
            held = judge()
            try:
                self._reconnect()
                question = ChannelRequest(header["id"], header, arrays, self.deadline_s, held.check, self.on_wait)
                with closing(self._channel.ask(question)) as messages:
                    for message in messages:
                        if message[0]["type"] == "error":
                            held.raise_error(message[0])
                        given += sum(sum(array.shape[:1]) for array in message[1].values())
                        yield message
                return
            except GoneError as gone:
                self._connected = False
                if given:
                    raise LostError(f"{self._who} {gone}, after {given} frames of a rollout") from None
                if attempt == RETRIES:
                    raise self._lost(
                        f"{self._who} {gone}, {attempt + 1} times before its first {self.awaited}"
                    ) from None
                print(f"{self._who} {gone}; asked again", file=sys.stderr, flush=True)
            except SilentError:
                self._connected = False
                article = "an" if self.awaited[0] in "aeiou" else "a"
                late = f"{self._who} timed out after {self.deadline_s:g} s without {article} {self.awaited}"
                raise self._lost(late) from None

    def _reconnect(self) -> None:
        if self._connected:
            return
        with _saying_so(self.on_wait):
            hello = self._greet()
        is_same_code = bool(hello.code) and hello.code == self._hello.code
        for fact in ("version", "spec", "source", "given"):
            now, before = getattr(hello, fact), getattr(self._hello, fact)
            if now != before and not (fact == "source" and is_same_code):
                self.close()
                raise ModelError(
                    f"{self._who} came back as another {self.serves}: "
                    f"its {fact} is {now!r}, was {before!r}; run it again"
                )

    def _greet(self) -> Hello[Spec]:
        try:
            hello = hello_of(self._channel.connect(), self._who, self.serves, self._spec_of)
        except ModelError:
            self.close()
            raise
        self._connected = True
        return hello

    def _finite(self, arrays: Arrays, expected: Mapping[str, Expected]) -> Arrays:
        for name, array in arrays.items():
            if expected[name].finite and array.dtype.kind == "f" and not np.isfinite(array).all():
                first = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
                raise EstimateError(f"{self._who}: '{name}' is not finite, first at {first}")
        return arrays

    def _lost(self, text: str) -> ModelError:
        return ModelError(text)


class RemoteModel(RemoteServer[ModelSpec]):
    """A WorldModel behind a channel. `exact`: frames of another form are refused on arrival. `notes`: the server's
    notes on its last answer; `gpu_peak_bytes`: GPU memory of that answer, if known."""

    serves = "model"
    awaited = "frame"
    exact = True
    gpu_peak_bytes: int | None = None
    notes: tuple[str, ...] = ()

    def rollout(self, request: RolloutRequest) -> Generator[Frames]:
        """Run one rollout. Closing the iterator early cancels the rest."""
        with closing(self._ask([request])) as chunks:
            for _, frames in chunks:
                yield frames

    def rollout_batch(self, requests: Sequence[RolloutRequest]) -> list[list[Frames]]:
        """Run several rollouts in as few messages as hold them; after a lost server once more. An error in one request
        is an error of the batch."""
        rollouts: list[list[Frames]] = []
        for part in parts_of(requests, self.spec):
            try:
                rollouts += self._together(part)
            except LostError as lost:
                print(f"{lost}; asked again", file=sys.stderr, flush=True)
                rollouts += self._together(part)
        return rollouts

    def _together(self, requests: Sequence[RolloutRequest]) -> list[list[Frames]]:
        rollouts: list[list[Frames]] = [[] for _ in requests]
        with closing(self._ask(requests)) as chunks:
            for index, frames in chunks:
                rollouts[index].append(frames)
        return rollouts

    def _spec_of(self, given: Any) -> ModelSpec:
        return spec_of(given)

    def _ask(self, requests: Sequence[RolloutRequest]) -> Generator[tuple[int, Frames]]:
        """(index of the request, frames) until all is said."""
        name = secrets.token_hex(8)
        version = self._hello.version
        header, arrays = rollout_message(requests, self.spec, name=name, deadline_s=self.deadline_s, version=version)

        def judge() -> Receipt:
            return Receipt(self._who, self.spec.name, name, requests, exact=self.exact)

        self.gpu_peak_bytes, self.notes = None, ()
        with closing(self._messages(header, arrays, judge)) as messages:
            for said, frames in messages:
                if said["type"] == "chunk":
                    yield said["index"], frames["frames"]
                elif said["type"] == "done":
                    self.gpu_peak_bytes = gpu_peak_of(said, self._who)
                    self.notes = notes_of(said, self._who)


@contextmanager
def _saying_so(on_wait: Callable[[], None] | None) -> Iterator[None]:
    """Call `on_wait` repeatedly, because loading weights again is not silence of the model."""
    over = threading.Event()
    if on_wait is None:
        yield
        return

    def call() -> None:
        while not over.wait(_SAY_EVERY_S):
            on_wait()

    caller = threading.Thread(target=call, daemon=True)
    caller.start()
    try:
        yield
    finally:
        over.set()
        caller.join()


MAX_ANSWER_BYTES = 64 << 20
"""Largest size of all arrays of an answer whose shapes are not fixed."""
MAX_NAME = 100


class EstimateError(ModelError):
    """The estimator itself failed: its own code raised, or it returned values that are not numbers."""


@dataclass(frozen=True)
class EstimatorSpec:
    """Identity of an estimator, as its server states it. `settings`: everything that changes its answers, as JSON
    values."""

    name: str
    kind: str = "decoder"
    layout: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Expected:
    """An array that an answer must hold. `shapes`: Allowed shapes; a side of None may have any length."""

    shapes: tuple[tuple[int | None, ...], ...]
    dtypes: tuple[str, ...] = ("float32", "float64")
    finite: bool = True

    def fits(self, array: ArraySpec) -> bool:
        """Whether an announced array has such a shape and dtype."""
        return array.dtype in self.dtypes and any(
            len(array.shape) == len(shape)
            and all(want in (None, side) for side, want in zip(array.shape, shape, strict=True))
            for shape in self.shapes
        )

    def __str__(self) -> str:
        sides = " or ".join("(" + ", ".join("n" if s is None else str(s) for s in shape) + ")" for shape in self.shapes)
        return f"{' or '.join(self.dtypes)} of {sides}"


class EstimatorAnswer(NamedTuple):
    """An answer of an estimator."""

    arrays: Arrays
    facts: Mapping[str, Any]


class RemoteEstimator(RemoteServer[EstimatorSpec]):
    """An estimator behind a channel; see `serving.open_estimator`."""

    serves = "estimator"
    awaited = "answer"

    def estimate(
        self,
        arrays: Arrays,
        options: Mapping[str, Any],
        expected: Mapping[str, Expected],
        *,
        max_bytes: int = MAX_ANSWER_BYTES,
    ) -> EstimatorAnswer:
        """Run the estimator. The request is repeated, at most RETRIES times, when the server is lost."""
        name = secrets.token_hex(8)
        header: Header = {
            **{"type": "estimate", "version": self._hello.version, "id": name, "deadline_s": self.deadline_s},
            **{"kind": self.spec.kind, "options": dict(options)},
        }
        size = sum(array.nbytes for array in arrays.values())
        if size > MAX_BYTES:
            raise UsageError(f"{self._who}: {size / 1e9:.1f} GB to send, and a message holds {MAX_BYTES / 1e9:.1f} GB")
        try:
            encode(header, arrays)
        except WireError as error:
            raise UsageError(f"{self._who} cannot be sent this: {error}") from None
        held = _Receipt(self._who, name, expected, max_bytes)
        with closing(self._messages(header, arrays, lambda: held)) as messages:
            for said, given in messages:
                return EstimatorAnswer(self._finite(given, expected), said.get("facts", {}))
        raise ModelError(f"{self._who} ended without an answer")

    def _spec_of(self, given: Any) -> EstimatorSpec:
        known = named_spec(given, "estimator", set(EstimatorSpec.__dataclass_fields__))
        for field_name in ("kind", "layout"):
            text = known.get(field_name, "")
            if not isinstance(text, str) or len(text) > MAX_NAME or not text.isprintable():
                raise ModelError(f"estimator '{known['name']}': {field_name} is {short(text)}; give a word")
        return EstimatorSpec(**known)

    def _lost(self, text: str) -> ModelError:
        return LostError(text)


class StateGoneError(Exception):
    """A table that is no longer open in its server, or a state that it no longer knows."""


class RemoteWorld(RemoteServer[WorldSpec]):
    """A world behind a channel: tables that are open in its server. See `serving.open_world_server`."""

    serves = "world"
    awaited = "answer"

    def ask(
        self, kind: str, fields: Mapping[str, Any], arrays: Arrays, expected: Mapping[str, Expected]
    ) -> tuple[Header, Arrays]:
        """The answer to one question; StateGoneError where the server does not know what it is about."""
        name = secrets.token_hex(8)
        facts = {"type": kind, "version": self._hello.version, "id": name, "deadline_s": self.deadline_s}
        held = _Receipt(self._who, name, expected, MAX_ANSWER_BYTES, ANSWERS[kind])
        with closing(self._messages({**facts, **fields}, arrays, lambda: held)) as messages:
            for said, given in messages:
                return said, self._finite(given, expected)
        raise ModelError(f"{self._who} ended without an answer")

    def pid(self) -> int | None:
        """Process id of the server, where it was started here."""
        return getattr(self._channel, "pid", None)

    def _spec_of(self, given: Any) -> WorldSpec:
        known = named_spec(given, "world", set(WorldSpec.__dataclass_fields__))
        try:
            tasks = [{"name": str(one["name"]), "variations": int(one["variations"])} for one in known["tasks"]]
            low, high = (tuple(float(value) for value in corner) for corner in known["workspace"])
            views = [float(one["camera"]["vfov_deg"]) for one in known["views"] if isinstance(one["name"], str)]
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"world '{known['name']}': its spec lacks or garbles {short(error)}") from None
        if not tasks or not views or (len(low), len(high)) != (3, 3) or not all(0 < fov < 180 for fov in views):
            raise ModelError(f"world '{known['name']}': it needs a task, a view and a workspace of two corners")
        return WorldSpec(**known)

    def _lost(self, text: str) -> ModelError:
        return LostError(text)


class _Receipt:
    """Checks the one message of an answer against what is expected, before any of it is allocated."""

    def __init__(
        self, who: str, id: str, expected: Mapping[str, Expected], max_bytes: int, answer: str = "estimated"
    ) -> None:
        self._who, self._id, self._expected, self._max_bytes = who, id, expected, max_bytes
        self._answer = answer

    def check(self, header: Header, announced: list[ArraySpec]) -> None:
        """Raise ModelError unless the message fits."""
        kind = header["type"]
        if kind == "error" and not announced and header.get("id", self._id) == self._id:
            return
        if header.get("id") != self._id:
            raise ModelError(f"{self._who} answers question {short(header.get('id'))}, which was not asked")
        names = [one.name for one in announced]
        if kind != self._answer or set(names) != set(self._expected) or not isinstance(header.get("facts", {}), dict):
            what = "an estimate" if self._answer == "estimated" else f"'{self._answer}'"
            raise ModelError(
                f"{self._who} answers with '{plain(kind)}' holding {short(names)}; "
                f"expected {what} with {short(sorted(self._expected))} and facts"
            )
        for one in announced:
            if not self._expected[one.name].fits(one):
                given = f"{one.dtype} of {short(one.shape)}"
                raise ModelError(f"{self._who} gives '{one.name}' as {given}; expected {self._expected[one.name]}")
        size = sum(one.nbytes for one in announced)
        if size > self._max_bytes:
            raise ModelError(f"{self._who} answers with {size} bytes; the limit is {self._max_bytes}")

    def raise_error(self, header: Header) -> None:
        """Raise what an "error" message says."""
        if header.get("kind") == "gone":
            raise StateGoneError(plain(header.get("message")))
        raise said_by(header, self._who, EstimateError)
