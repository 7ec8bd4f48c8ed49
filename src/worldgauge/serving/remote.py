"""What runs in another process: asked over a channel, checked like one of this process."""

from __future__ import annotations

import secrets
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, ClassVar, Generic, Protocol

from worldgauge.core.errors import LostError, SubjectError
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.serving.channel import Channel, GoneError, Message, Question, SilentError
from worldgauge.serving.messages import Hello, Receipt, Serves, Spec, hello_of, parts_of, rollout_message, spec_of
from worldgauge_serve import Arrays, ArraySpec, Header

DEADLINE_S = 1800.0
"""Seconds without a frame, or an answer, after which a model counts as hung."""
RETRIES = 2
"""How often a question is asked again whose server was lost before it gave anything."""
_SAY_EVERY_S = 0.5


class Judge(Protocol):
    """Holds an answer to what was asked; see `messages.Receipt`."""

    def check(self, header: Header, announced: list[ArraySpec]) -> None:
        """Raises SubjectError for a message that does not fit, before any of it is read."""

    def raise_error(self, header: Header) -> None:
        """Raise what an "error" message says."""


class Remote(Generic[Spec]):
    """A server behind `channel`, of a model or of an estimator.

    spec: what it says it is. source, given: where it comes from and the settings it was made with, as its server says.
    batch: whether it gains from several requests at once. deadline_s: longest silence in seconds. on_wait: called every
    few seconds while a question waits in line at servers that are busy with others, which is no silence.
    """

    serves: ClassVar[Serves]
    awaited: ClassVar[str]
    """What it is silent without, in messages."""

    def __init__(self, channel: Channel, who: str, deadline_s: float = DEADLINE_S) -> None:
        """Reaches the server; who: names it in messages. Raises SubjectError or UsageError when it is no good."""
        self.deadline_s = deadline_s
        self.on_wait: Callable[[], None] | None = None
        self._channel = channel
        self._who = who
        self._connected = False
        try:
            self._hello = self._greet()
        except GoneError as gone:
            raise SubjectError(f"{who} {gone}") from None
        except BaseException:
            channel.close()
            raise
        self.spec = self._hello.spec
        self.source = self._hello.source
        self.given = self._hello.given
        self.needs = self._hello.needs
        self.batch = self._hello.batch

    def close(self) -> None:
        """Leave the server; a child process is ended. Asked again, it comes back."""
        self._connected = False
        self._channel.close()

    def _spec_of(self, given: Any) -> Spec:
        raise NotImplementedError

    def _messages(self, header: Header, arrays: Arrays, judge: Callable[[], Judge]) -> Generator[Message]:
        """The messages of an answer.

        A server that is lost before the first is asked again. After it only the whole task can be: frames that
        were handed over cannot be taken back, and a model that is not repeatable to the bit would be spliced from two.
        """
        given = 0
        for attempt in range(1 + RETRIES):
            held = judge()
            try:
                self._reconnect()
                question = Question(header["id"], header, arrays, self.deadline_s, held.check, self.on_wait)
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
        for field in ("spec", "source", "given"):
            now, before = getattr(hello, field), getattr(self._hello, field)
            if now != before:
                self.close()
                raise SubjectError(
                    f"{self._who} came back as another {self.serves}: "
                    f"its {field} is {now!r}, was {before!r}; run it again"
                )

    def _greet(self) -> Hello[Spec]:
        try:
            hello = hello_of(self._channel.connect(), self._who, self.serves, self._spec_of)
        except SubjectError:
            self.close()
            raise
        self._connected = True
        return hello

    def _lost(self, text: str) -> SubjectError:
        return SubjectError(text)


class RemoteModel(Remote[ModelSpec]):
    """A WorldModel behind `channel`; see `serving.open_model`.

    exact: whether frames that are not what was asked for are refused on arrival; a check that judges them wants to see
    them.
    """

    serves = "model"
    awaited = "frame"
    exact = True

    def rollout(self, request: RolloutRequest) -> Generator[Frames]:
        """Chunks as they come. Closing the iterator early cancels the rest.

        Raises SubjectError, NotApplicableError, LostError when the server is lost after the first frame, and
        DataError for a request that holds values that are not finite.
        """
        with closing(self._ask([request])) as chunks:
            for _, frames in chunks:
                yield frames

    def rollout_batch(self, requests: Sequence[RolloutRequest]) -> list[list[Frames]]:
        """The chunks of each request, all asked in one message, or in as few as hold them.

        A server that is lost on the way is asked once more. An error of one request is an error of all, and says of
        which where the model makes them one by one. Raises as `rollout` does.
        """
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
        header, arrays = rollout_message(requests, self.spec, name=name, deadline_s=self.deadline_s)

        def judge() -> Receipt:
            return Receipt(self._who, self.spec.name, name, requests, exact=self.exact)

        with closing(self._messages(header, arrays, judge)) as messages:
            for said, frames in messages:
                if said["type"] == "chunk":
                    yield said["index"], frames["frames"]


@contextmanager
def _saying_so(on_wait: Callable[[], None] | None) -> Iterator[None]:
    """Calls `on_wait` again and again: loading weights once more is no silence of the model."""
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
